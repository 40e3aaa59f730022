"""The difference of two notebooks as changes of cells.

For notebooks that are not stored as text: a live room stores cells, not bytes. A patch contains
only the cells that change; all others stay as they are, also for the people who edit them.
"""

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.document_diff import match_cells
from jupyter_nbedit.notebook.sequence_diff import find_increasing_subsequence, is_still_applied

#: The new value of a removed member.
ABSENT: Final = object()


@dataclass(frozen=True)
class PatchedCell:
    """A cell that stays and changes.

    ``source`` and ``metadata`` have the values before and after, or are None if they do not change;
    ``members`` has the new values of other changed members by name, or `ABSENT`.
    """

    index_before: int
    index_after: int
    cell_id: str | None
    source: tuple[str, str] | None
    metadata: tuple[dict[str, Any], dict[str, Any]] | None
    members: dict[str, Any]


@dataclass(frozen=True)
class RemovedCell:
    """A cell that is removed: its index before, and its content."""

    index: int
    cell_id: str | None
    source: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class MovedCell:
    """A cell that moves: its index after, the ids of its neighbours there, and its index before."""

    index: int
    cell_id: str | None
    previous_id: str | None
    next_id: str | None
    old_index: int


@dataclass(frozen=True)
class InsertedCell:
    """A new cell: its index after, and its value with the source as one string.

    ``replaced_cell`` is the value before if the cell existed and has to be created anew.
    """

    index: int
    cell_id: str | None
    cell: dict[str, Any]
    replaced_cell: dict[str, Any] | None = None


@dataclass(frozen=True)
class CellPatch:
    """The steps from one notebook to another.

    They apply in this order: `changed_cells`, at their indexes before; removal of `removed_cells`
    and of the old positions of moved cells; `insertions` in their order, at their indexes after.
    """

    changed_cells: list[PatchedCell]
    removed_cells: list[RemovedCell]
    insertions: list[MovedCell | InsertedCell]
    metadata: tuple[dict[str, Any], dict[str, Any]] | None
    total_cells: int

    @property
    def removed_indexes(self) -> list[int]:
        """The indexes before of all cells that are removed or moved, sorted."""
        moved_indexes = [step.old_index for step in self.insertions if isinstance(step, MovedCell)]
        return sorted([*moved_indexes, *(step.index for step in self.removed_cells)])


def compute_patch(
    before: Document, after: Document, edited_indexes: Collection[int] = ()
) -> CellPatch:
    """Compute the steps from one notebook to another; only cells and metadata count.

    ``edited_indexes`` are the indexes before of the cells that the edit addressed. If cells must
    move, these do.
    """
    old_cells, new_cells = _list_cells(before), _list_cells(after)
    pairs = match_cells(before, after, old_cells, new_cells)
    old_indexes = {new_index: old_index for old_index, new_index in pairs.items()}
    recreated_cells: dict[int, dict[str, Any]] = {}
    changed_cells: list[PatchedCell] = []
    for old_index, new_index in sorted(pairs.items()):
        if old_cells[old_index] != new_cells[new_index]:
            value = _read_cell(before, old_index)
            change = _compute_change((old_index, new_index), value, _read_cell(after, new_index))
            if change is None:
                del old_indexes[new_index]
                recreated_cells[new_index] = value
            elif change.source or change.metadata or change.members:
                changed_cells.append(change)
    unmoved = _find_unmoved(sorted(old_indexes.items()), edited_indexes)
    removed_cells = []
    for index in sorted(set(range(len(before))) - set(old_indexes.values())):
        cell = _read_cell(before, index)
        metadata = cell.get("metadata") or {}
        removed_cells.append(RemovedCell(index, before.headers[index][0], cell["source"], metadata))
    insertions: list[MovedCell | InsertedCell] = []
    for new_index in range(len(after)):
        if new_index not in old_indexes:
            new_cell = _read_cell(after, new_index)
            insertions.append(
                InsertedCell(
                    new_index, after.headers[new_index][0], new_cell, recreated_cells.get(new_index)
                )
            )
        elif new_index not in unmoved:
            previous_id = after.headers[new_index - 1][0] if new_index else None
            next_id = after.headers[new_index + 1][0] if new_index + 1 < len(after) else None
            cell_id, old_index = after.headers[new_index][0], old_indexes[new_index]
            insertions.append(MovedCell(new_index, cell_id, previous_id, next_id, old_index))
    metadata_pair = (before.metadata, after.metadata)
    return CellPatch(
        changed_cells,
        removed_cells,
        insertions,
        metadata_pair if metadata_pair[0] != metadata_pair[1] else None,
        len(after),
    )


def is_applied(patch: CellPatch, document: Document) -> bool:
    """Return whether a notebook contains the changes of a patch, whatever else was changed since.

    If all cells of the patch have ids, other cells may have been inserted or removed as well.
    """
    inserted_ids = {step.cell_id for step in patch.insertions}
    removed_ids = {step.cell_id for step in patch.removed_cells} - {None, *inserted_ids}
    has_ids = all(step.cell_id is not None for step in patch.removed_cells)
    return (
        removed_ids.isdisjoint(document.ids)
        and (has_ids or len(document) == patch.total_cells)
        and all(
            _is_step_applied(change, _find_cell(patch, document, change))
            for change in patch.changed_cells
        )
        and all(
            _is_in_place(step, _find_cell(patch, document, step), document)
            for step in patch.insertions
        )
        and (patch.metadata is None or _is_metadata_applied(*patch.metadata, document.metadata))
    )


def _find_cell(
    patch: CellPatch, document: Document, step: PatchedCell | MovedCell | InsertedCell
) -> Cell | None:
    """Find the cell of a step in a notebook to which the patch was applied."""
    if step.cell_id is not None:
        index = next(iter(document.ids.get(step.cell_id, [])), None)
    else:
        index_after = step.index_after if isinstance(step, PatchedCell) else step.index
        index = index_after if len(document) == patch.total_cells else None
    return None if index is None else document.get_cell(index)


def _is_step_applied(change: PatchedCell, cell: Cell | None) -> bool:
    """Return whether a cell contains a change."""
    if cell is None:
        return False
    if change.source is not None:
        before, after = change.source
        # Text that was typed since must not touch the change.
        if not is_still_applied(before, after, cell.source):
            return False
    if change.metadata is not None and not _is_metadata_applied(*change.metadata, cell.metadata):
        return False
    return all(cell.read_value(name, ABSENT) == value for name, value in change.members.items())


def _is_in_place(step: MovedCell | InsertedCell, cell: Cell | None, document: Document) -> bool:
    """Return whether a cell has the position that a step gave it."""
    if cell is None:
        return False
    if isinstance(step, InsertedCell):
        if step.replaced_cell is not None and not _is_recreated(
            step.replaced_cell, step.cell, cell
        ):
            return False
        return step.cell_id is not None or cell.source == step.cell["source"]
    previous_indexes = [] if step.previous_id is None else document.ids.get(step.previous_id, [])
    next_indexes = [] if step.next_id is None else document.ids.get(step.next_id, [])
    return all(index < cell.index for index in previous_indexes) and all(
        index > cell.index for index in next_indexes
    )


def _is_recreated(before: dict[str, Any], after: dict[str, Any], cell: Cell) -> bool:
    """Return whether a cell no longer has the old type and outputs that a step replaced."""
    return all(
        cell.read_value(name, ABSENT) != before.get(name, ABSENT)
        for name in _list_changed(before, after)
        if name in {"cell_type", "outputs"}
    )


def _compute_change(
    indexes: tuple[int, int], before: dict[str, Any], after: dict[str, Any]
) -> PatchedCell | None:
    """Return how a cell changes; None if it must be created anew.

    JupyterLab cannot change the type of a cell, and replacing outputs costs as much as a new cell.
    """
    old, new = dict(before), dict(after)
    if old.get("cell_type") != new.get("cell_type") or old.get("id") != new.get("id"):
        return None
    if old.get("outputs") != new.get("outputs") and new.get("outputs") != []:
        return None
    sources = (old.pop("source"), new.pop("source"))
    metadata = (old.pop("metadata", None) or {}, new.pop("metadata", None) or {})
    members = {name: new.get(name, ABSENT) for name in _list_changed(old, new)}
    return PatchedCell(
        *indexes,
        old.get("id"),
        sources if sources[0] != sources[1] else None,
        metadata if metadata[0] != metadata[1] else None,
        members,
    )


def _is_metadata_applied(
    before: dict[str, Any], after: dict[str, Any], current: dict[str, Any]
) -> bool:
    """Return whether metadata contains the changes between two versions of it."""
    return all(
        current.get(name, ABSENT) == after.get(name, ABSENT)
        for name in _list_changed(before, after)
    )


def _list_changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the names of the members that differ, sorted."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name, ABSENT) != after.get(name, ABSENT)]


def _find_unmoved(pairs: list[tuple[int, int]], edited_indexes: Collection[int]) -> set[int]:
    """Return the new indexes of the cells that need not move; cells of the edit move first."""
    unmoved = find_increasing_subsequence(pairs)
    if len(unmoved) < len(pairs) and edited_indexes:
        others = find_increasing_subsequence(
            [pair for pair in pairs if pair[1] not in edited_indexes]
        )
        new_indexes = [pair[0] for pair in others]
        old_indexes = [pair[1] for pair in others]
        # The cells of the edit that are in place among them.
        in_place = [
            (new_index, old_index)
            for new_index, old_index in pairs
            if old_index in edited_indexes
            and bisect_left(new_indexes, new_index) == bisect_left(old_indexes, old_index)
        ]
        unmoved = find_increasing_subsequence(sorted([*others, *in_place]))
    return {new_index for new_index, _ in unmoved}


def _read_cell(document: Document, index: int) -> dict[str, Any]:
    value: dict[str, Any] = json_spans.decode(document.text, document.cell_spans[index])
    return {**value, "source": document.get_cell(index).source}


def _list_cells(document: Document) -> list[bytes]:
    return [document.text[span.start : span.stop] for span in document.cell_spans]
