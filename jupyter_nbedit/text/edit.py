"""The reply to an edit as text: what the cells are called now, and what others changed."""

from collections.abc import Iterator

from msgspec import UNSET

from jupyter_nbedit.notebook.cell_names import CellName
from jupyter_nbedit.notebook.document import REV_LENGTH
from jupyter_nbedit.notebook.edit_plan import CellResult, OperationResult
from jupyter_nbedit.notebook.shown_text import count_noun, make_line, quote_path
from jupyter_nbedit.services.replies import EditReply, RevisionChanges
from jupyter_nbedit.services.requests import MAX_LABEL_LENGTH
from jupyter_nbedit.services.tabs import TabCounts
from jupyter_nbedit.text.notebook import NO_SERVER

_MAX_WARNING_LENGTH = 500
_MAX_DIFF_LENGTH = 4_000
_SAME_DIFF = "<note>The diff is that of your dry run.</note>"
_SHOWN_CELLS = 20
_SHOWN_UNDONE = 5
_SHOWN_OPERATIONS = 100


def render_edit(
    reply: EditReply,
    *,
    shows_diff: bool = False,
    has_server: bool = True,
    is_diff_known: bool = False,
) -> str:
    """Return the reply to a change as text.

    ``shows_diff`` is whether the client did not send what the change does, as for an undo. A dry
    run shows its diff, too. ``has_server`` is whether a server makes the change, and
    ``is_diff_known`` whether the client has just seen the diff.
    """
    lines = [
        _render_head(reply, has_server=has_server),
        *_render_undone(reply),
        *map(_render_operation, reply.operations[:_SHOWN_OPERATIONS]),
    ]
    if len(reply.operations) > _SHOWN_OPERATIONS:
        lines.append(f"<note>And {len(reply.operations) - _SHOWN_OPERATIONS} more.</note>")
    if (shows_diff or reply.dry_run) and reply.diff:
        lines.append(_SAME_DIFF if is_diff_known else _cut_diff(reply.diff))
    if reply.changed_since is not UNSET:
        lines += _render_changes(reply.changed_since)
    lines += [f"Warning: {make_line(warning, _MAX_WARNING_LENGTH)}" for warning in reply.warnings]
    return "\n".join(lines)


def _render_head(reply: EditReply, *, has_server: bool) -> str:
    # A proposal has the hash and the number of cells of the notebook as it is now.
    cells = reply.total_cells - (0 if reply.proposal_id is UNSET else reply.cells_delta)
    facts = [quote_path(reply.path), count_noun(cells, "cell"), f"rev {reply.hash[:REV_LENGTH]}"]
    if reply.proposal_id is not UNSET:
        facts.append(
            f"proposed as {reply.proposal_id}: nothing is changed until a person decides in "
            "JupyterLab; the names below are those that the cells would have"
        )
    elif reply.dry_run:
        facts.append("dry run: nothing was written")
    elif not reply.is_written:
        facts.append("nothing to change")
    else:
        facts += [] if reply.edit_id is None else [f"edit {reply.edit_id}"]
        facts += _describe_tabs(reply.tabs)
    if not has_server:
        facts.append(NO_SERVER)
    return " | ".join(facts)


def _render_undone(reply: EditReply) -> Iterator[str]:
    """Return whose edits are undone or redone, a line for each."""
    undone = [] if reply.undone is UNSET else reply.undone
    for edit in undone[:_SHOWN_UNDONE]:
        author = make_line(edit.client or edit.user or "an unknown client", MAX_LABEL_LENGTH)
        reason = f": {make_line(edit.message, MAX_LABEL_LENGTH)}" if edit.message else ""
        yield f"of edit {edit.edit_id} by {author}{reason}"
    if len(undone) > _SHOWN_UNDONE:
        yield f"<note>And of {len(undone) - _SHOWN_UNDONE} more edits.</note>"


def _describe_tabs(tabs: TabCounts) -> Iterator[str]:
    if tabs.shown:
        yield f"shown in {count_noun(tabs.shown, 'tab')}"
    if tabs.merged:
        yield f"merged with unsaved changes in {count_noun(tabs.merged, 'tab')}"
    if tabs.waiting:
        yield f"waiting in {count_noun(tabs.waiting, 'tab')}: its user has changed the cell"
    unknown = tabs.open - tabs.shown - tabs.merged - tabs.waiting
    if unknown > 0:
        yield f"open in {count_noun(unknown, 'tab')}"


def _render_operation(result: OperationResult) -> str:
    cells: list[CellResult | OperationResult] = [result]
    if result.cells is not UNSET:
        cells = [*result.cells]
    names = [_name_cell(cell) for cell in cells[:_SHOWN_CELLS]]
    if len(cells) > _SHOWN_CELLS:
        names.append(f"and {len(cells) - _SHOWN_CELLS} more")
    is_cleared = result.outputs_cleared is True or any(
        cell.outputs_cleared is True for cell in cells
    )
    notes = " (outputs cleared)" if is_cleared and result.op != "clear_outputs" else ""
    return f"{result.op} {' '.join(names)}{notes}".rstrip()


def _name_cell(cell: CellResult | OperationResult) -> str:
    if cell.index is None or cell.source_hash is None:
        return "notebook"
    return str(CellName.from_hash(cell.index, cell.source_hash))


def _cut_diff(diff: str) -> str:
    text = diff.removesuffix("\n")
    if len(text) <= _MAX_DIFF_LENGTH:
        return text
    return (
        f"{text[:_MAX_DIFF_LENGTH]}\n<note>{len(text) - _MAX_DIFF_LENGTH} more characters.</note>"
    )


def _render_changes(changes: RevisionChanges) -> Iterator[str]:
    if changes.cells is None:
        yield f"What else was changed since {changes.rev} is unknown to the server."
    elif changes.count:
        more = changes.count - len(changes.cells)
        names = ", ".join(changes.cells)
        yield (
            f"Changed since {changes.rev}, not by this edit: {names}"
            f"{f' and {more} more' if more else ''}."
        )
