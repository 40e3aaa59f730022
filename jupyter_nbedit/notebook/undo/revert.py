"""Revert an edit, immediately or after further edits of the notebook.

An accepted proposal is applied in the same way. Its record is an undo record, in which the proposed
state of a cell is the state before the edit.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from typing import Any, NoReturn

from msgspec import UNSET
from msgspec.structs import replace

from jupyter_nbedit.errors import InvalidNotebook, UndoConflict
from jupyter_nbedit.notebook import json_edit
from jupyter_nbedit.notebook.apply_batch import build_plan
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import CellResult, EditPlan, OperationResult
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.members import compute_short_hash, is_same_member
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.cell_locator import CellLocator, CellNotLocated
from jupyter_nbedit.notebook.undo.known_history import NO_KNOWN_HISTORY, KnownHistory
from jupyter_nbedit.notebook.undo.part_members import (
    PartVersions,
    RestoredCell,
    merge_source,
    needs_merge,
    restore_members,
)
from jupyter_nbedit.notebook.undo.record import CellState, CellUndo, UndoRecord
from jupyter_nbedit.notebook.working_copy import WorkingCopy

# Members that are restored in a way of their own.
_OTHER_MEMBERS = frozenset(("id", "source", "cell_type"))


@dataclass(frozen=True)
class ChosenSource:
    """The source that a person wants in a cell, and the source hash that the cell has now.

    The hash is None for a new cell. A source of None removes the cell.
    """

    source_hash: str | None
    source: str | None


@dataclass(frozen=True)
class Resolution:
    """What becomes of cells that were changed since the edit.

    ``chosen_sources`` has the sources for some parts. Without ``merges_lines``, the cells of the
    other parts are conflicts if their sources have changed, even in other lines.
    """

    chosen_sources: Mapping[int, ChosenSource] = field(default_factory=dict)
    merges_lines: bool = True


#: Sources are merged by line; the request chooses no source.
NO_RESOLUTION = Resolution()


def revert(  # noqa: PLR0913 -- each argument says something else about the reversal
    document: Document,
    record: UndoRecord,
    *,
    op: str,
    is_exact: bool = False,
    part_numbers: Collection[int] | None = None,
    history: KnownHistory = NO_KNOWN_HISTORY,
    resolution: Resolution = NO_RESOLUTION,
    is_same_change_allowed: bool = False,
) -> EditPlan:
    """Revert an edit, or some of its parts.

    Members that the edit did not touch stay as they are now. A member that was changed since is a
    conflict, unless ``resolution`` says what becomes of the cell; sources are merged by line.
    `editable: false` is ignored: the restored state is from before it was set, or is the state in
    which it was set.

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
    resolution
        What becomes of cells that were changed since the edit.
    is_same_change_allowed
        Whether it is no conflict if others have done already what is to be done.

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
    conflicts: dict[int, dict[str, Any]] = {}
    sources: dict[int, str] = {}
    if is_exact or history.is_complete:
        # In exactly these bytes, no part is undone.
        complete_history = NO_KNOWN_HISTORY if is_exact else history
        cells, gaps = CellLocator(document, record, parts, complete_history).compute_positions()
    else:
        same_change_allowed: Collection[int] = parts if is_same_change_allowed else ()
        if later_parts is not None:
            parts, unchanged_parts = _list_remaining_parts(document, record, parts, history)
            same_change_allowed = same_change_allowed or unchanged_parts
        # The cells of the other parts tell apart the places beside them.
        all_parts = {**history.list_open_parts(record), **parts}
        locator = CellLocator(document, record, all_parts, history, same_change_allowed)
        cells, gaps, conflicts = locator.find()
        changed_cells = locator.find_changed_cells(parts, conflicts)
        resolved = {n: changed_cells[n] for n in resolution.chosen_sources if n in changed_cells}
        if resolved:
            cells, gaps, conflicts = locator.find(resolved)
        conflicts = {number: each for number, each in conflicts.items() if number in parts}
        conflicts |= {
            # The cell may be back already, which its contents do not tell.
            number: CellNotLocated(parts[number], "changed", None).conflict
            for number in history.list_undone_parts(record) & parts.keys()
            if parts[number].cell_id is None
        }
        sources, unmerged = _merge_sources(document, parts, cells, resolution)
        conflicts |= unmerged
    sources |= _list_chosen_sources(document, parts, cells, conflicts, resolution)
    metadata, names = restore_metadata(
        document, record, parts.values(), later_parts, is_exact=is_exact
    )
    if conflicts or names:
        _raise_conflict([*conflicts.values()], names, has_later_edits=later_parts != [])
    working_copy = WorkingCopy(document, fresh_id=_forbid_new_id)
    working_copy.metadata = metadata
    _merge_cells(working_copy, record, cells, sources)
    order = _restore_cells(working_copy, record, parts, cells, gaps)
    for number in sources.keys() - cells.keys():
        working_copy.cells[-1 - number].source = sources[number]
    plan = build_plan(
        working_copy,
        order,
        [_build_result(op, working_copy, order)],
        _build_reverse_splices(document, record) if is_exact and is_whole and not sources else None,
    )
    return replace_fields(plan, reverted_indexes=_list_new_indexes(parts, cells, order))


@dataclass(frozen=True)
class Reversal:
    """An edit that was reverted as far as possible."""

    record: UndoRecord
    plan: EditPlan
    #: By part number: the index of the cell in the document, and its index in the notebook without
    #: the edit; None where the cell does not exist. Both are None for the notebook's metadata.
    indexes: Mapping[int, tuple[int | None, int | None]]
    #: The numbers of the parts that cannot be reverted, because their cells were changed since.
    conflicts: Collection[int]


def revert_possible_parts(document: Document, record: UndoRecord, *, is_exact: bool) -> Reversal:
    """Revert the parts of an edit that were not changed since; see `revert`."""
    is_exact = is_exact and record.reverse_splices is not None
    parts = dict(enumerate(record.parts))
    conflicts: dict[int, dict[str, Any]] = {}
    sources: dict[int, str] = {}
    locator = CellLocator(document, record, parts, NO_KNOWN_HISTORY)
    if is_exact:
        cells, gaps = locator.compute_positions()
    else:
        cells, gaps, conflicts = locator.find()
        sources, _ = _merge_sources(document, parts, cells, NO_RESOLUTION)
    metadata, names = restore_metadata(document, record, parts.values(), None, is_exact=is_exact)
    possible_parts = {
        number: part
        for number, part in parts.items()
        if number not in conflicts and not (names and part.is_notebook_metadata)
    }
    working_copy = WorkingCopy(document, fresh_id=_forbid_new_id)
    possible_sources = {n: source for n, source in sources.items() if n in possible_parts}
    _merge_cells(working_copy, record, cells, possible_sources)
    order = _restore_cells(working_copy, record, possible_parts, cells, gaps)
    if not names:
        working_copy.metadata = metadata
    plan = build_plan(
        working_copy, order, [], _build_reverse_splices(document, record) if is_exact else None
    )
    new_indexes = _list_new_indexes(possible_parts, cells, order)
    indexes = {number: (cells.get(number), new_indexes[number]) for number in possible_parts}
    return Reversal(record, plan, indexes, parts.keys() - possible_parts.keys())


def _list_new_indexes(
    parts: Mapping[int, CellUndo], cells: Mapping[int, int], order: FinalOrder
) -> dict[int, int | None]:
    """Return, by part number, the index of its cell after some parts are reverted, or None.

    The notebook's metadata have no index, and a removed cell has no index.
    """
    return {
        number: None
        if part.is_notebook_metadata or part.before is None
        else order.get_index(cells.get(number, -1 - number))
        for number, part in parts.items()
    }


def _list_chosen_sources(
    document: Document,
    parts: Mapping[int, CellUndo],
    cells: Mapping[int, int],
    conflicts: dict[int, dict[str, Any]],
    resolution: Resolution,
) -> dict[int, str]:
    """Return the sources that a person has chosen; add a conflict where the cell is another now."""
    sources: dict[int, str] = {}
    for number, chosen in resolution.chosen_sources.items():
        if number in conflicts:
            continue
        index = cells.get(number)
        current = None if index is None else document.get_cell(index)
        if chosen.source_hash != (None if current is None else current.source_hash):
            source = None if current is None else current.source
            error = CellNotLocated(parts[number], "changed", index, source)
            conflicts[number] = error.conflict
        elif chosen.source is not None:
            sources[number] = chosen.source
    return sources


def _merge_sources(
    document: Document,
    parts: Mapping[int, CellUndo],
    cells: Mapping[int, int],
    resolution: Resolution,
) -> tuple[dict[int, str], dict[int, dict[str, Any]]]:
    """Return the merged sources of cells whose sources have changed since, and conflicts, by part.

    Cells for which a source is chosen are left out.
    """
    sources: dict[int, str] = {}
    conflicts: dict[int, dict[str, Any]] = {}
    for number, part in parts.items():
        if number not in cells or number in resolution.chosen_sources:
            continue
        cell = document.get_cell(cells[number])
        if needs_merge(part, cell):
            source = merge_source(part, cell) if resolution.merges_lines else None
            if source is None:
                error = CellNotLocated(part, "changed", cell.index, cell.source)
                conflicts[number] = error.conflict
            else:
                sources[number] = source
    return sources, conflicts


def _merge_cells(
    working_copy: WorkingCopy,
    record: UndoRecord,
    cells: Mapping[int, int],
    sources: Mapping[int, str],
) -> None:
    """Give existing cells of some parts their sources, and restore their other members.

    A member stays as it is now if others have changed it since the edit.
    """
    for number, source in sources.items():
        if number not in cells:
            continue
        part, edited_cell = record.parts[number], working_copy.get_cell_by_token(cells[number])
        edited_cell.source = source
        cell, before, after = edited_cell.cell, part.before, part.after
        if cell is None or before is None or after is None or part.fragments is None:
            continue
        values = restore_members(record, part, cell, working_copy.style)
        if "cell_type" in values and cell.cell_type == after.cell_type:
            edited_cell.change_type(before.cell_type or "")
        for name in values.keys() - _OTHER_MEMBERS:
            if name == "metadata" or edited_cell.cell_type == before.cell_type:
                edited_cell.members[name] = values[name]


def is_in_conflict(document: Document, record: UndoRecord) -> bool:
    """Return whether later changes of the same members prevent the undo of an edit.

    Cells without ids, and positions, are not compared.
    """
    if restore_metadata(document, record, record.parts, [], is_exact=False)[1]:
        return True
    return any(
        _is_part_in_conflict(document, record, part)
        for part in record.parts
        if part.cell_id is not None
    )


def _is_part_in_conflict(document: Document, record: UndoRecord, part: CellUndo) -> bool:
    indexes = document.ids.get(part.cell_id or "", [])
    if not indexes:
        # An insertion may have been undone by hand.
        return part.before is not None and part.after is not None
    if len(indexes) > 1:
        return True
    try:
        versions = PartVersions.read(record, part, document.get_cell(indexes[0]))
    except InvalidNotebook:
        return True
    if versions.is_undone:
        return False
    return part.after is None or bool(versions.list_conflicts(is_same_change_allowed=True))


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
) -> tuple[dict[int, CellUndo], set[int]]:
    """Return parts by number, without the parts that somebody has undone by hand.

    A cell that a later edit changed is not left out: undoing the other edit could restore what this
    edit did. Also return the numbers of the parts with cells that no later edit has changed.
    """
    changed_ids = {part.cell_id for part in history.list_later_parts(record) or ()}
    # Without ids, cells are identified by position: the order must be as after the edit.
    is_same_size = (
        not history.has_later_rearrangement(record) and len(document) == record.total_cells
    )
    remaining_parts: dict[int, CellUndo] = {}
    unchanged_parts: set[int] = set()
    for number, part in parts.items():
        if part.cell_id is None:
            is_identified = is_same_size and not changed_ids and not part.is_moved
            indexes: Sequence[int] = [] if part.index is None else [part.index]
        else:
            indexes = document.ids.get(part.cell_id, [])
            is_identified = part.cell_id not in changed_ids and len(indexes) <= 1
        remaining_part: CellUndo | None = part
        if is_identified:
            unchanged_parts.add(number)
            remaining_part = _compute_remaining_part(document, record, part, indexes)
        if remaining_part is not None:
            remaining_parts[number] = remaining_part
    return remaining_parts, unchanged_parts


def _compute_remaining_part(
    document: Document, record: UndoRecord, part: CellUndo, indexes: Sequence[int]
) -> CellUndo | None:
    """Return the rest of a part whose cell has an index, or does not exist; None if nothing."""
    if part.is_notebook_metadata:
        return part
    if not indexes:
        return None if part.before is None else part
    cell = document.get_cell(indexes[0])
    try:
        state = CellState.from_cell(cell)
        is_undone = PartVersions.read(record, part, cell).is_undone
    except InvalidNotebook:
        return part
    if not (is_undone and part.is_moved):
        return None if is_undone else part
    # Of a moved cell, only the position remains to be restored.
    return replace(
        part, fragments=None, added_members=[], before=state, after=state, attachments=None
    )


def _restore_cells(
    working_copy: WorkingCopy,
    record: UndoRecord,
    parts: Mapping[int, CellUndo],
    cells: Mapping[int, int],
    gaps: Mapping[int, int],
) -> FinalOrder:
    """Restore the cells and return their order; ``cells`` and ``gaps`` have the indexes of parts.

    Cells that are already in the working copy do not change.
    """
    document = working_copy.document
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
        elif part.fragments is not None and token not in working_copy.cells:
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
    return FinalOrder(document, sorted(removed_indexes), tokens_by_gap)


def _forbid_new_id() -> NoReturn:
    raise AssertionError("An undo restores ids and creates none.")


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


def restore_metadata(
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
    names = [name for name in {**before, **after} if not is_same_member(before, after, name)]
    if later_parts is not None and not any(later.is_notebook_metadata for later in later_parts):
        # No edit did this, so these values were restored by hand.
        names = [name for name in names if not is_same_member(current, before, name)]
    if not names:
        return current_bytes, []
    values = json_edit.read_values(old_bytes)
    metadata = json_edit.set_members(
        current_bytes or b"{}",
        {name: values.get(name) for name in names},
        Style(document).get_notebook_style(),
    )
    return metadata, [name for name in names if not is_same_member(current, after, name)]


def _build_result(op: str, working_copy: WorkingCopy, order: FinalOrder) -> OperationResult:
    """Return the result with a description of each cell."""
    cells = [
        CellResult.from_cell(cell, order, 0, is_clearing=True)
        for cell in working_copy.cells.values()
    ]
    if len(cells) == 1:
        return OperationResult.from_cells(op, cells[0])
    return OperationResult.from_cells(op, None, cells or UNSET)
