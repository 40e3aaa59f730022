"""The edit history, proposals and what a user has not seen, as text."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET

from jupyter_nbedit.notebook.cell_names import CellName
from jupyter_nbedit.notebook.diff import render_hunks
from jupyter_nbedit.notebook.document import REV_LENGTH
from jupyter_nbedit.notebook.edit_plan import AffectedCell
from jupyter_nbedit.notebook.shown_text import count_noun, make_line, quote_path
from jupyter_nbedit.notebook.undo.record import CellState
from jupyter_nbedit.services.history.models import (
    UNDOABLE_KINDS,
    AllHistoryReply,
    CellDiff,
    DetailedEdit,
    EditOrigin,
    HistoryEdit,
    HistoryReply,
)
from jupyter_nbedit.services.proposals.models import Proposal, ProposedPart
from jupyter_nbedit.services.requests import MAX_LABEL_LENGTH
from jupyter_nbedit.services.unseen.models import UnseenCell, UnseenNotebooks, UnseenReply

_MAX_REASON_LENGTH = 1_000
_MAX_DETAILS_LENGTH = 8_000
_SHOWN_OPERATIONS = 8


def render_history(reply: HistoryReply | AllHistoryReply) -> str:
    """Return a page of the history as text: one line for each edit."""
    is_of_notebook = isinstance(reply, HistoryReply)
    name = quote_path(reply.path) if isinstance(reply, HistoryReply) else "all notebooks"
    lines = [f"{name} | {count_noun(len(reply.edits), 'edit')}"]
    for edit in reply.edits:
        path = "" if is_of_notebook else f"{quote_path(edit.path)} | "
        lines.append(f"{path}{_describe_edit(edit)}")
    if reply.next is not None:
        lines.append(f"<note>There are older edits, before {reply.next}.</note>")
    return "\n".join(lines)


def _describe_edit(edit: HistoryEdit) -> str:
    facts = [f"{edit.edit_id} {edit.time:%Y-%m-%d %H:%M} {_describe_author(edit)}"]
    if edit.kind in UNDOABLE_KINDS:
        facts.append(_describe_operations(edit.operations, is_cut=edit.truncated))
    else:
        facts.append(edit.kind if edit.undoes is None else f"{edit.kind} of {edit.undoes}")
    if edit.lines_added or edit.lines_removed:
        facts.append(f"+{edit.lines_added} -{edit.lines_removed}")
    if edit.undone_by is not None:
        facts.append(f"undone by {edit.undone_by}")
    elif not edit.undoable:
        facts.append("cannot be undone")
    return " | ".join(facts)


def _describe_author(edit: EditOrigin) -> str:
    """Return who made an edit, and why."""
    author = make_line(edit.client or edit.user, MAX_LABEL_LENGTH)
    return f"{author}: {make_line(edit.message, MAX_LABEL_LENGTH)}" if edit.message else author


def _describe_operations(operations: Sequence[AffectedCell], *, is_cut: bool) -> str:
    shown = [
        f"{entry.op} {'notebook' if entry.index is None else entry.index}"
        for entry in operations[:_SHOWN_OPERATIONS]
    ]
    if is_cut or len(operations) > _SHOWN_OPERATIONS:
        shown.append("...")
    return ", ".join(shown)


def render_detailed_edit(edit: DetailedEdit) -> str:
    """Return an edit as text: each cell that it changed, as a diff."""
    parts = (part for cell in edit.parts for part in _describe_part(cell))
    lines = [f"{quote_path(edit.path)} | {_describe_edit(edit)}", *_cut_lines(parts)]
    return "\n".join(lines)


def render_proposal(proposal: Proposal) -> str:
    """Return a proposal as text: its status, and what it would do as a diff."""
    facts = [
        quote_path(proposal.path),
        f"proposal {proposal.proposal_id}",
        proposal.status.replace("_", " "),
    ]
    if proposal.edit_ids:
        facts.append(f"edits {', '.join(map(str, proposal.edit_ids))}")
    lines = [" | ".join(facts)]
    if proposal.reason is not None:
        lines.append(f"reason: {make_line(proposal.reason, _MAX_REASON_LENGTH)}")
    for part in proposal.parts:
        lines += _describe_proposed_part(part, proposal.reason)
    return "\n".join([*lines, *_cut_lines(iter(proposal.diff.split("\n")[:-1]))])


def _describe_proposed_part(part: ProposedPart, reason: str | None) -> Iterator[str]:
    """Yield what is to be known of a part, if anything; ``reason`` is shown already."""
    if part.status != "pending":
        own_reason = None if part.reason == reason else part.reason
        suffix = f": {make_line(own_reason, _MAX_REASON_LENGTH)}" if own_reason else ""
        yield f"part {part.part}: {part.status}{suffix}"
    elif part.state == "changed" and part.merged is UNSET:
        yield f"part {part.part}: these metadata have changed since"
    elif part.state == "changed":
        suffix = "the changes conflict" if part.merged is None else "both changes can be merged"
        yield f"part {part.part}: the cell has changed since; {suffix}"
    elif part.state == "gone":
        yield f"part {part.part}: the cell is gone"
    elif part.state == "ambiguous":
        yield f"part {part.part}: the cell or its place is not certain any more"


def _describe_part(part: CellDiff) -> Iterator[str]:
    """Yield the lines of the change of a cell."""
    before, after = part.before, part.after
    yield f"{_name_cell(part.index_before, before)} -> {_name_cell(part.index, after)}"
    if part.moved:
        yield "# moved"
    if part.outputs_cleared:
        yield "# outputs cleared"
    elif before == after and not part.moved:
        yield "# outputs, execution count or attachments changed"
    if before is not None and after is not None and before.metadata != after.metadata:
        yield "# metadata changed"
    old = (before.source if before else None) or ""
    new = (after.source if after else None) or ""
    for line in render_hunks(old, new):
        yield line.removesuffix("\n")


def _name_cell(index: int | None, state: CellState | None) -> str:
    if state is None:
        return "nothing"
    if index is None or state.source is None:
        return "notebook"
    return f"{CellName.from_source(index, state.source)} {state.cell_type}"


def _cut_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines up to a limit of characters."""
    remaining = _MAX_DETAILS_LENGTH
    for line in lines:
        remaining -= len(line) + 1
        if remaining < 0:
            yield "<note>The rest is not shown.</note>"
            return
        yield line


def render_unseen(reply: UnseenReply) -> str:
    """Return what a user has not seen: each change with its key and its edits, as a diff."""
    head = (
        f"{quote_path(reply.path)} | {count_noun(len(reply.cells), 'change')}"
        f" that you have not kept | until {reply.until} | rev {reply.hash[:REV_LENGTH]}"
    )
    edits = {edit.edit_id: edit for edit in reply.edits}
    lines = [line for cell in reply.cells for line in _describe_unseen_cell(cell, edits)]
    note = ["<note>Older edits are left out.</note>"] if reply.truncated else []
    return "\n".join([head, *_cut_lines(iter(lines)), *note])


def _describe_unseen_cell(cell: UnseenCell, edits: Mapping[int, EditOrigin]) -> Iterator[str]:
    authors = dict.fromkeys(_describe_author(edits[number]) for number in cell.edit_ids)
    numbers = ", ".join(map(str, cell.edit_ids))
    noun = "edit" if len(cell.edit_ids) == 1 else "edits"
    yield f"change {cell.key} | {noun} {numbers} | {'; '.join(authors)}"
    if cell.gap is not None:
        yield f"# it was after {cell.gap} of the cells"
    yield from _describe_part(cell)


def render_unseen_notebooks(reply: UnseenNotebooks) -> str:
    """Return the notebooks with unseen edits, one line for each."""
    count = count_noun(len(reply.notebooks), "notebook")
    lines = [f"{count} with edits that you have not kept"]
    for notebook in reply.notebooks:
        facts = [
            quote_path(notebook.path),
            count_noun(notebook.edits, "edit"),
            f"{notebook.time:%Y-%m-%d %H:%M}",
            *(make_line(client, MAX_LABEL_LENGTH) for client in notebook.clients),
        ]
        lines.append(" | ".join(facts))
    return "\n".join(lines)
