"""Find the original order of cells from undo records, although neighbours were removed or moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Literal

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo.known_history import KnownHistory, PastEdit, _is_position_changed
from jupyter_nbedit.notebook.undo.record import CellUndo, NeighbourKey, UndoRecord

#: A position of a cell: its id, and the number of the position.
CellSlot = tuple[str, int]

# Start and end of the notebook; no cell has an empty id.
_START: CellSlot = ("", -1)
_END: CellSlot = ("", -2)


@dataclass(frozen=True)
class OriginalOrder:
    """Finds which cells precede and follow the cells that an edit deleted or moved.

    If a neighbour was deleted or moved since, its own neighbours replace it; they are in the record
    of the edit that deleted or moved it. Thus edits that are undone in any order restore the
    original order.

    Each position that a cell has had is a slot of its own. An edit that inserts or moves a cell
    gives it a new slot; the undo gives it its previous slot back.

    Parameters
    ----------
    document
        The current notebook.
    record
        The record of the edit.
    """

    document: Document
    record: UndoRecord
    _current_slots: dict[str, int]
    # By cell id: the numbers of the slots before and after the edit.
    _changes: dict[str, tuple[int, int]]
    # The slots of all cells directly after the edit.
    _slots_at_edit: dict[str, int] = field(default_factory=dict)
    # Slots of moved cells that may or may not have been moved back: further neighbours are used as
    # well.
    _uncertain_slots: set[CellSlot] = field(default_factory=set)
    _slots_after: dict[CellSlot, list[CellSlot]] = field(default_factory=lambda: defaultdict(list))
    _slots_before: dict[CellSlot, list[CellSlot]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def build(
        cls,
        document: Document,
        record: UndoRecord,
        history: KnownHistory,
        part_numbers: Collection[int],
    ) -> OriginalOrder:
        """Build the order from the known history.

        Parameters
        ----------
        document, record
            The current notebook, and the record of the edit.
        history
            The known edits, and the parts that were undone.
        part_numbers
            The numbers of the parts to undo now; others may have been undone before.
        """
        current_slots: dict[str, int] = {}
        changes_by_edit: dict[int, dict[str, tuple[int, int]]] = {}
        order = cls(document, record, current_slots, {})
        undone_edits: dict[int, int] = {}
        numbers = count(1)
        for edit in history.edits or [PastEdit(0, None, record)]:
            if edit.record is None:
                continue
            restored_changes = {} if edit.undoes is None else changes_by_edit.get(edit.undoes, {})
            parts = [part for part in edit.record.parts if _has_id(part)]
            order._add_order(edit.record, parts)
            changes = changes_by_edit[edit.number] = {}
            # A batch may delete a cell and insert another with its id.
            for part in sorted(parts, key=lambda undo_part: undo_part.index is not None):
                cell_id = part.cell_id or ""
                old_slot = current_slots.get(cell_id, 0)
                new_slot = old_slot
                if part.index is not None and _is_position_changed(part):
                    new_slot = (
                        restored_changes[cell_id][0]
                        if cell_id in restored_changes
                        else next(numbers)
                    )
                changes[cell_id] = (old_slot, new_slot)
                current_slots[cell_id] = new_slot
            for cell_id, (old_slot, new_slot) in restored_changes.items():
                # A cell that returned to its previous slot without being moved is in no record.
                if cell_id not in changes and current_slots[cell_id] == new_slot:
                    changes[cell_id] = (new_slot, old_slot)
                    current_slots[cell_id] = old_slot
            order._link([order._get_slot(part.cell_id) for part in _sort_parts(parts, "index")])
            if edit.undoes in undone_edits:
                # This is a redo: to undo that edit now means to undo this one.
                changes_by_edit[undone_edits[edit.undoes]] = changes
            if edit.undoes is not None:
                undone_edits[edit.number] = edit.undoes
            if edit.record is record:
                order._changes.update(changes)
                order._slots_at_edit.update(current_slots)
        order._note_reverted_parts(part_numbers, history.reverted_parts)
        return order

    def compute_bounds(self, parts: Iterable[CellUndo]) -> list[tuple[int | None, int | None]]:
        """Return the smallest and the largest gap for each cell; None where there is no bound."""
        positions = self._find_positions()
        sorted_positions = sorted((index, slot) for slot, index in positions.items())
        lower_sources = [
            *((index + 1, slot) for index, slot in reversed(sorted_positions)),
            (0, _START),
        ]
        upper_sources = [*sorted_positions, (len(self.document), _END)]
        fixed_slots = positions.keys() - self._uncertain_slots
        low = _propagate_bounds(self._slots_after, fixed_slots, lower_sources)
        high = _propagate_bounds(self._slots_before, fixed_slots, upper_sources)
        slots = [self._get_slot_before_edit(part) for part in parts]
        return [(low.get(slot), high.get(slot)) for slot in slots]

    def is_in_same_slot(self, cell_id: str) -> bool:
        """Return whether a cell that the edit did not move has not been moved since."""
        return self._current_slots.get(cell_id, 0) == self._slots_at_edit.get(cell_id, 0)

    def is_moved_again(self, part: CellUndo) -> bool:
        """Return whether a later edit moved a cell that the edit moved."""
        cell_id = part.cell_id or ""
        return part.is_moved and self._current_slots[cell_id] != self._changes[cell_id][1]

    def _get_slot_before_edit(self, part: CellUndo) -> CellSlot:
        cell_id = part.cell_id or ""
        return cell_id, self._changes[cell_id][0]

    def _find_positions(self) -> dict[CellSlot, int]:
        """Return the indexes of the cells that are in a slot of a record."""
        positions: dict[CellSlot, int] = {}
        for cell_id, number in {*self._slots_after, *self._slots_before}:
            indexes = self.document.ids.get(cell_id, [])
            if len(indexes) == 1 and self._current_slots.get(cell_id, 0) == number:
                positions[cell_id, number] = indexes[0]
        return positions

    def _get_slot(self, cell_id: str | None) -> CellSlot:
        return cell_id or "", self._current_slots.get(cell_id or "", 0)

    def _add_order(self, record: UndoRecord, parts: Sequence[CellUndo]) -> None:
        """Add the order of cells before an edit from its record."""
        sorted_parts = _sort_parts(parts, "index_before")
        self._link([self._get_slot(part.cell_id) for part in sorted_parts])
        cells_by_gap: dict[int, list[CellSlot]] = {number: [] for number in range(len(record.gaps))}
        for part in sorted_parts:
            if part.gap_number is not None:
                cells_by_gap[part.gap_number].append(self._get_slot(part.cell_id))
        for number, cells in cells_by_gap.items():
            gap = record.gaps[number]
            slots_before, slots_after = (
                self._list_anchor_slots(gap.keys_before),
                self._list_anchor_slots(gap.keys_after),
            )
            start = [] if gap.keys_before else [_START]
            end = [] if gap.keys_after else [_END]
            self._link([*start, *slots_before[::-1], *cells, *slots_after, *end])

    def _list_anchor_slots(self, anchors: Sequence[NeighbourKey]) -> list[CellSlot]:
        return [self._get_slot(anchor.id) for anchor in anchors if anchor.id is not None]

    def _link(self, slots: Sequence[CellSlot]) -> None:
        for first, second in pairwise(slots):
            self._slots_after[first].append(second)
            self._slots_before[second].append(first)

    def _note_reverted_parts(
        self, part_numbers: Collection[int], reverted_parts: Collection[int] | None
    ) -> None:
        """Move cells back to their old slots if their parts were undone before.

        This happens when a proposal is accepted part by part.
        """
        other_parts = [
            part
            for number, part in enumerate(self.record.parts)
            if part.is_moved
            and number not in part_numbers
            and _has_id(part)
            and (reverted_parts is None or number in reverted_parts)
        ]
        for part, (low, high) in zip(other_parts, self.compute_bounds(other_parts), strict=True):
            indexes = self.document.ids.get(part.cell_id or "", [])
            if len(indexes) == 1 and (low or 0) <= indexes[0] < _get_or_default(
                high, len(self.document)
            ):
                slot = self._get_slot_before_edit(part)
                self._current_slots[slot[0]] = slot[1]
                if reverted_parts is None:
                    self._uncertain_slots.add(slot)


def _has_id(part: CellUndo) -> bool:
    return part.cell_id is not None and not part.is_notebook_metadata


def _get_or_default(value: int | None, default: int) -> int:
    return default if value is None else value


def _sort_parts(
    parts: Iterable[CellUndo], name: Literal["index", "index_before"]
) -> list[CellUndo]:
    """Return the parts that have an index, sorted by it."""
    indexed_parts = [(index, part) for part in parts if (index := getattr(part, name)) is not None]
    return [part for _, part in sorted(indexed_parts, key=lambda pair: pair[0])]


def _propagate_bounds(
    edges: Mapping[CellSlot, Sequence[CellSlot]],
    fixed_slots: Collection[CellSlot],
    sources: Sequence[tuple[int, CellSlot]],
) -> dict[CellSlot, int]:
    """Return, for each slot, the value of the first source that reaches it along the edges.

    Slots of cells that are in place end a path.
    """
    bounds: dict[CellSlot, int] = {}
    for value, source in sources:
        pending = [source]
        while pending:
            for slot in edges.get(pending.pop(), ()):
                if slot not in bounds and slot not in fixed_slots:
                    bounds[slot] = value
                    pending.append(slot)
    return bounds
