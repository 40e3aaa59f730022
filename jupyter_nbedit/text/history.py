"""The edit history and proposals as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jupyter_nbedit.history.models import CellDiff, HistoryEdit, TouchedCellEntry
from jupyter_nbedit.history.service import AllHistoryReply, DetailedEdit, HistoryReply
from jupyter_nbedit.notebook.cell_names import CellName
from jupyter_nbedit.notebook.diff import render_hunks
from jupyter_nbedit.notebook.text_cells import make_line
from jupyter_nbedit.notebook.undo.record import CellState
from jupyter_nbedit.proposals.models import Proposal

_LONGEST_PATH = 1_000
_LONGEST_LABEL = 200
_LONGEST_DETAILS = 8_000
_SHOWN_OPERATIONS = 8


def render_history(reply: HistoryReply | AllHistoryReply) -> str:
    """Return a page of the history as text: one line for each edit."""
    name, count = "all notebooks", len(reply.edits)
    if isinstance(reply, HistoryReply):
        name = make_line(reply.path, _LONGEST_PATH)
    lines = [f"{name} | {count} edit{'' if count == 1 else 's'}"]
    for edit in reply.edits:
        is_named = isinstance(reply, HistoryReply)
        path = "" if is_named else f"{make_line(edit.path, _LONGEST_PATH)} | "
        lines.append(f"{path}{_describe_edit(edit)}")
    if reply.next is not None:
        lines.append(f"<note>There are older edits, before {reply.next}.</note>")
    return "\n".join(lines)


def _describe_edit(edit: HistoryEdit) -> str:
    facts = [f"{edit.edit_id} {edit.time:%Y-%m-%d %H:%M} {_describe_author(edit)}"]
    if edit.kind == "edit":
        facts.append(_describe_operations(edit.operations, is_cut=edit.truncated))
    else:
        facts.append(edit.kind if edit.undoes is None else f"{edit.kind} of {edit.undoes}")
    if edit.undone_by is not None:
        facts.append(f"undone by {edit.undone_by}")
    elif not edit.undoable:
        facts.append("cannot be undone")
    return " | ".join(facts)


def _describe_author(edit: HistoryEdit) -> str:
    author = make_line(edit.client or edit.user, _LONGEST_LABEL)
    return f"{author}: {make_line(edit.message, _LONGEST_LABEL)}" if edit.message else author


def _describe_operations(operations: Sequence[TouchedCellEntry], *, is_cut: bool) -> str:
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
    lines = [f"{make_line(edit.path, _LONGEST_PATH)} | {_describe_edit(edit)}", *_cut(parts)]
    return "\n".join(lines)


def render_proposal(proposal: Proposal) -> str:
    """Return a proposal as text: its status, and what it would do as a diff."""
    facts = [
        make_line(proposal.path, _LONGEST_PATH),
        f"proposal {proposal.proposal_id}",
        proposal.status.replace("_", " "),
    ]
    if proposal.edit_ids:
        facts.append(f"edits {', '.join(map(str, proposal.edit_ids))}")
    lines = [" | ".join(facts)]
    lines += [
        f"part {part.part}: {part.status}" for part in proposal.parts if part.status != "pending"
    ]
    return "\n".join([*lines, *_cut(iter(proposal.diff.splitlines()))])


def _describe_part(part: CellDiff) -> Iterator[str]:
    before, after = part.before, part.after
    yield f"{_name_cell(part.index_before, before)} -> {_name_cell(part.index, after)}"
    if part.moved:
        yield "# moved"
    if part.outputs_cleared:
        yield "# outputs cleared"
    if before is not None and after is not None and before.metadata != after.metadata:
        yield "# metadata changed"
    old = (before.source if before else None) or ""
    new = (after.source if after else None) or ""
    for line in render_hunks(old.splitlines(), new.splitlines()):
        yield line.removesuffix("\n")


def _name_cell(index: int | None, state: CellState | None) -> str:
    if state is None:
        return "nothing"
    if index is None or state.source is None:
        return "notebook"
    return f"{CellName.from_source(index, state.source)} {state.cell_type}"


def _cut(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines up to a limit of characters."""
    remaining = _LONGEST_DETAILS
    for line in lines:
        remaining -= len(line) + 1
        if remaining < 0:
            yield "<note>The rest is not shown.</note>"
            return
        yield line
