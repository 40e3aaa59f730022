"""Revert an edit, immediately or after further edits of the notebook."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from msgspec import UNSET
from msgspec.structs import replace

from jupyter_nbedit.errors import InvalidNotebook, UndoConflict
from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.apply_batch import build_plan
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import CellResult, EditPlan, OperationResult
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.cell_locator import CellLocator
from jupyter_nbedit.notebook.undo.known_history import NO_KNOWN_HISTORY, KnownHistory
from jupyter_nbedit.notebook.undo.record import (
    CellState,
    CellUndo,
    UndoRecord,
    compute_fingerprint,
    compute_short_hash,
    is_json_equal,
)
from jupyter_nbedit.notebook.undo.restored_cell import RestoredCell
from jupyter_nbedit.notebook.working_copy import WorkingCopy


def revert(  # noqa: PLR0913 -- each says something else of the one thing that is done
    document: Document,
    record: UndoRecord,
    *,
    op: str,
    is_exact: bool = False,
    part_numbers: Collection[int] | None = None,
    history: KnownHistory = NO_KNOWN_HISTORY,
) -> EditPlan:
    """Revert an edit, or some of its parts.

    A cell is restored if it is unchanged since the edit. Members that the edit did not change stay
    as they are now, such as the outputs of a later run. `editable: false` is ignored: the state
    that is restored is one from before it was set, or the one in which it was set.

    Parameters
    ----------
    op
        The operation's name in the reply.
    is_exact
        Whether the document has exactly the bytes after the edit. Then its bytes before the edit
        are restored exactly.
    part_numbers
        The numbers of the parts to revert; None for all.
    history
        What is known of later edits. It determines the positions of cells whose neighbours were
        removed or restored since.

    Raises
    ------
    UndoConflict
        If a part was changed since. The details contain all conflicts.
    """
    # Without reverse splices for these bytes, the indexes of the parts are not valid either.
    is_exact = is_exact and record.reverse_splices is not None
    parts = {
        number: part
        for number, part in enumerate(record.parts)
        if part_numbers is None or number in part_numbers
    }
    is_whole = len(parts) == len(record.parts)
    later_parts = history.list_later_parts(record)
    conflicts: list[dict[str, Any]] = []
    if is_exact:
        cells = {number: part.index for number, part in parts.items() if part.index is not None}
        gaps = {
            number: record.gaps[part.gap_number].gap_index
            for number, part in parts.items()
            if part.gap_number is not None
        }
    else:
        if later_parts is not None:
            parts = _list_remaining_parts(document, record, parts, history)
        cells, gaps, conflicts = CellLocator(document, record, parts, history).find()
    metadata, names = _restore_metadata(
        document, record, parts.values(), later_parts, is_exact=is_exact
    )
    if conflicts or names:
        _raise_conflict(conflicts, names, has_later_edits=later_parts != [])
    working_copy, order = _restore_cells(document, record, parts, cells, gaps)
    working_copy.metadata = metadata
    return build_plan(
        working_copy,
        order,
        [_build_result(op, working_copy, order)],
        _build_reverse_splices(document, record) if is_exact and is_whole else None,
    )


def _build_reverse_splices(document: Document, record: UndoRecord) -> list[Splice]:
    """Return the splices that restore the bytes before the edit."""
    blob, current = record.blob, document.text
    return [
        Splice(
            reverse_splice.start,
            reverse_splice.stop,
            b"".join(
                (current if byte_range.is_in_notebook else blob)[byte_range.start : byte_range.stop]
                for byte_range in reverse_splice.ranges
            ),
        )
        for reverse_splice in record.reverse_splices or ()
    ]


def _list_remaining_parts(
    document: Document, record: UndoRecord, parts: Mapping[int, CellUndo], history: KnownHistory
) -> dict[int, CellUndo]:
    """Return parts by number, without those that somebody has undone by hand.

    A cell that a later edit changed is not left out: undoing that one could restore what this did.
    """
    changed_ids = {part.cell_id for part in history.list_later_parts(record) or ()}
    # Without ids, cells are identified by position: the order must be as after the edit.
    is_same_size = (
        not history.has_later_rearrangement(record) and len(document) == record.total_cells
    )
    remaining_parts: dict[int, CellUndo] = {}
    for number, part in parts.items():
        if part.cell_id is None:
            can_tell = is_same_size and not changed_ids and not part.is_moved
            indexes: Sequence[int] = [] if part.index is None else [part.index]
        else:
            indexes = document.ids.get(part.cell_id, [])
            can_tell = part.cell_id not in changed_ids and len(indexes) <= 1
        rest = _compute_remaining_part(document, record, part, indexes) if can_tell else part
        if rest is not None:
            remaining_parts[number] = rest
    return remaining_parts


def _compute_remaining_part(
    document: Document, record: UndoRecord, part: CellUndo, indexes: Sequence[int]
) -> CellUndo | None:
    """Return what remains of a part whose cell has an index, or does not exist; None if nothing."""
    if part.is_notebook_metadata:
        return part
    if not indexes:
        return None if part.before is None else part
    cell = document.get_cell(indexes[0])
    try:
        state = CellState.from_cell(cell)
    except InvalidNotebook:
        return part
    if part.before is None:
        return part
    attachments = None if "attachments" in part.added_members else cell.attachments
    stored_members = record.read_members(part)
    if "attachments" in stored_members:
        attachments = json_spans.decode(stored_members["attachments"])
    fingerprint = compute_fingerprint(state, cell.attachments)
    is_undone = compute_fingerprint(part.before, attachments) == fingerprint
    if not is_undone or (part.index is not None and fingerprint == part.fingerprint):
        # If both states are equal, the edit changed what is not part of them, such as outputs.
        return part
    # Of a moved cell, only the position remains to be restored.
    return (
        replace(part, fragments=None, after=state, fingerprint=fingerprint)
        if part.is_moved
        else None
    )


def _restore_cells(
    document: Document,
    record: UndoRecord,
    parts: Mapping[int, CellUndo],
    cells: Mapping[int, int],
    gaps: Mapping[int, int],
) -> tuple[WorkingCopy, FinalOrder]:
    """Restore the cells and their positions; ``cells`` and ``gaps`` have the indexes of parts."""
    working_copy = WorkingCopy(document, fresh_id=_forbid_new_id)
    removed_indexes: list[int] = []
    cells_by_gap: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, part in parts.items():
        if part.is_notebook_metadata:
            continue
        token = cells.get(number, -1 - number)
        cell: EditedCell
        if token < 0:
            cell = working_copy.cells[token] = RestoredCell.from_record(
                record, part, token, gaps[number]
            )
        elif part.fragments is not None:
            cell = working_copy.cells[token] = RestoredCell.from_cell(
                record, part, document.get_cell(token), working_copy.style
            )
        else:
            cell = working_copy.get_cell_by_token(token)
        cell.removed_by = 0 if part.before is None else None
        if token >= 0 and (part.is_moved or part.before is None):
            removed_indexes.append(token)
        if number in gaps:
            cells_by_gap[gaps[number]].append((part.index_before or 0, token))
    tokens_by_gap = {
        gap: [token for _, token in sorted(cells_by_gap[gap])] for gap in sorted(cells_by_gap)
    }
    return working_copy, FinalOrder(document, sorted(removed_indexes), tokens_by_gap)


def _forbid_new_id() -> NoReturn:
    message = "An undo restores ids and creates none."
    raise AssertionError(message)


def _raise_conflict(
    cells: list[dict[str, Any]], names: list[str], *, has_later_edits: bool
) -> NoReturn:
    cell_names = [
        repr(conflict["index"] if conflict["cell_id"] is None else conflict["cell_id"])
        for conflict in cells
    ]
    descriptions = [f"the cell {name}" for name in cell_names[:3] if name != "None"]
    if len(cells) > len(descriptions):
        descriptions.append(f"{len(cells) - len(descriptions)} more cells")
    descriptions += [f"{name!r} in the notebook's metadata" for name in names[:3]]
    advice = "change it by an edit of your own, or undo another edit by its number, `edit_id`"
    if has_later_edits:
        advice = "undo later edits first, or change it with an edit of your own"
    message = (
        f"This cannot be undone, because of later changes of {', '.join(descriptions)}. Nothing "
        f"was written. `details` has the current state; {advice}."
    )
    raise UndoConflict(message, cells=cells, metadata=names)


def _restore_metadata(
    document: Document,
    record: UndoRecord,
    parts: Iterable[CellUndo],
    later_parts: Sequence[CellUndo] | None,
    *,
    is_exact: bool,
) -> tuple[bytes | None, list[str]]:
    """Return the restored metadata of the notebook, and the names that were changed since."""
    current_bytes = document.written_metadata
    part = next((part for part in parts if part.is_notebook_metadata), None)
    if part is None or part.before is None or part.after is None:
        return current_bytes, []
    old_bytes = b"".join(text for _, text in record.list_texts(part) if text is not None) or None
    current_hash = None if current_bytes is None else compute_short_hash(current_bytes)
    if is_exact or current_hash == part.fingerprint:
        return old_bytes, []
    before, after, current = part.before.metadata, part.after.metadata, document.metadata
    names = [name for name in {**before, **after} if not _is_same(before, after, name)]
    if later_parts is not None and not any(later.is_notebook_metadata for later in later_parts):
        # No edit did this, so these values were restored by hand.
        names = [name for name in names if not _is_same(current, before, name)]
    if not names:
        return current_bytes, []
    values = json_edit.read_values(old_bytes)
    metadata = json_edit.set_members(
        current_bytes or b"{}",
        {name: values.get(name) for name in names},
        Style(document).get_notebook_style(),
    )
    return metadata, [name for name in names if not _is_same(current, after, name)]


def _is_same(first: dict[str, Any], second: dict[str, Any], name: str) -> bool:
    return (name in first) == (name in second) and is_json_equal(first.get(name), second.get(name))


def _build_result(op: str, working_copy: WorkingCopy, order: FinalOrder) -> OperationResult:
    """Return the result with a description of each cell."""
    cells = [
        CellResult.from_cell(cell, order, 0, is_clearing=True)
        for cell in working_copy.cells.values()
    ]
    if len(cells) == 1:
        return OperationResult.from_cells(op, cells[0])
    return OperationResult.from_cells(op, None, cells or UNSET)
