"""The order of cells, some of which are not in the notebook, from the records of edits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Literal

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo.known_history import Past, PastEdit, _is_position_changed
from jupyter_nbedit.notebook.undo.record import CellUndo, NeighbourKey, UndoRecord

#: A cell in one of the positions it has had: its id, and the number of the position.
Slot = tuple[str, int]

# No cell of a notebook has these: they are not ids but ends.
_START: Slot = ("", -1)
_END: Slot = ("", -2)


@dataclass(frozen=True)
class Precedence:
    """Tells which cells precede and follow those that an edit deleted or moved.

    A neighbour that has been deleted since, or moved, is replaced by its own neighbours, which the
    record of the edit tells that deleted or moved it. So edits that are undone in any order give
    the original order back.

    Each position that a cell has had is a slot of its own. An edit that inserts or moves a cell
    gives it a new slot; an undo gives it back the slot that it had.

    Parameters
    ----------
    document
        The notebook as it is now.
    record
        The record of the edit.
    """

    document: Document
    record: UndoRecord
    _current: dict[str, int]
    # The numbers of the slots before the edit and after it.
    _changes: dict[str, tuple[int, int]]
    # The slots of all cells right after the edit.
    _at_edit: dict[str, int] = field(default_factory=dict)
    # Of moved cells it is not known for certain whether they came back: others are looked at, too.
    _uncertain: set[Slot] = field(default_factory=set)
    _after: dict[Slot, list[Slot]] = field(default_factory=lambda: defaultdict(list))
    _before: dict[Slot, list[Slot]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def build(
        cls,
        document: Document,
        record: UndoRecord,
        known_past: Past,
        chosen: Collection[int],
    ) -> Precedence:
        """Build it from what is known of the time since.

        Parameters
        ----------
        document, record
            As above.
        known_past
            The edits to go by, and the parts that were taken back.
        chosen
            The numbers of the parts that are to be taken back; others may have been before.
        """
        current: dict[str, int] = {}
        known: dict[int, dict[str, tuple[int, int]]] = {}
        built = cls(document, record, current, {})
        undone_edits: dict[int, int] = {}
        numbers = count(1)
        for past in known_past.history or [PastEdit(0, None, record)]:
            if past.record is None:
                continue
            restored = {} if past.undoes is None else known.get(past.undoes, {})
            parts = [part for part in past.record.parts if _has_id(part)]
            built._add_order(past.record, parts)
            changes = known[past.number] = {}
            # A batch may delete a cell and insert another one with its id.
            for part in sorted(parts, key=lambda one: one.index is not None):
                cell_id = part.cell_id or ""
                old = current.get(cell_id, 0)
                new = old
                if part.index is not None and _is_position_changed(part):
                    new = restored[cell_id][0] if cell_id in restored else next(numbers)
                changes[cell_id] = (old, new)
                current[cell_id] = new
            for cell_id, (old, new) in restored.items():
                # A cell that stands in its former slot without being moved is in no record.
                if cell_id not in changes and current[cell_id] == new:
                    changes[cell_id] = (new, old)
                    current[cell_id] = old
            built._link([built._get_slot(part.cell_id) for part in _sort_parts(parts, "index")])
            if past.undoes in undone_edits:
                # It makes that edit again; to undo that one now is to undo this one.
                known[undone_edits[past.undoes]] = changes
            if past.undoes is not None:
                undone_edits[past.number] = past.undoes
            if past.record is record:
                built._changes.update(changes)
                built._at_edit.update(current)
        built._note_accepted(chosen, known_past.accepted)
        return built

    def compute_bounds(self, parts: Iterable[CellUndo]) -> list[tuple[int | None, int | None]]:
        """Return the smallest and the largest gap for each cell; None where nothing limits it."""
        positions = self._find_positions()
        ordered = sorted((at, slot) for slot, at in positions.items())
        behind = [*((at + 1, slot) for at, slot in reversed(ordered)), (0, _START)]
        ahead = [*ordered, (len(self.document), _END)]
        fixed = positions.keys() - self._uncertain
        low = _spread(self._after, fixed, behind)
        high = _spread(self._before, fixed, ahead)
        slots = [self._get_former_slot(part) for part in parts]
        return [(low.get(slot), high.get(slot)) for slot in slots]

    def is_in_slot(self, cell_id: str) -> bool:
        """Return whether a cell that the edit left where it was has not been moved since."""
        return self._current.get(cell_id, 0) == self._at_edit.get(cell_id, 0)

    def is_moved_since(self, part: CellUndo) -> bool:
        """Return whether a cell that the edit moved has been moved again by a later edit."""
        cell_id = part.cell_id or ""
        return part.moved and self._current[cell_id] != self._changes[cell_id][1]

    def _get_former_slot(self, part: CellUndo) -> Slot:
        cell_id = part.cell_id or ""
        return cell_id, self._changes[cell_id][0]

    def _find_positions(self) -> dict[Slot, int]:
        """Return where the cells are that stand in a slot that a record speaks of."""
        found: dict[Slot, int] = {}
        for cell_id, number in {*self._after, *self._before}:
            indexes = self.document.ids.get(cell_id, [])
            if len(indexes) == 1 and self._current.get(cell_id, 0) == number:
                found[cell_id, number] = indexes[0]
        return found

    def _get_slot(self, cell_id: str | None) -> Slot:
        return cell_id or "", self._current.get(cell_id or "", 0)

    def _add_order(self, record: UndoRecord, parts: Sequence[CellUndo]) -> None:
        """Add what a record says of the order before the edit; slots are those before it."""
        ordered = _sort_parts(parts, "index_before")
        self._link([self._get_slot(part.cell_id) for part in ordered])
        placed: dict[int, list[Slot]] = {number: [] for number in range(len(record.places))}
        for part in ordered:
            if part.place is not None:
                placed[part.place].append(self._get_slot(part.cell_id))
        for number, cells in placed.items():
            place = record.places[number]
            behind, ahead = (
                self._list_anchor_slots(place.behind),
                self._list_anchor_slots(place.ahead),
            )
            start = [] if place.behind else [_START]
            end = [] if place.ahead else [_END]
            self._link([*start, *behind[::-1], *cells, *ahead, *end])

    def _list_anchor_slots(self, anchors: Sequence[NeighbourKey]) -> list[Slot]:
        return [self._get_slot(anchor.id) for anchor in anchors if anchor.id is not None]

    def _link(self, slots: Sequence[Slot]) -> None:
        for first, second in pairwise(slots):
            self._after[first].append(second)
            self._before[second].append(first)

    def _note_accepted(self, chosen: Collection[int], accepted: Collection[int] | None) -> None:
        """Note which moved cells, of those not chosen, are where the edit took them from.

        Their parts have been taken back before, as those of a proposal are that is accepted part by
        part.
        """
        others = [
            part
            for number, part in enumerate(self.record.parts)
            if part.moved
            and number not in chosen
            and _has_id(part)
            and (accepted is None or number in accepted)
        ]
        for part, (low, high) in zip(others, self.compute_bounds(others), strict=True):
            indexes = self.document.ids.get(part.cell_id or "", [])
            if len(indexes) == 1 and (low or 0) <= indexes[0] < _get_or_default(
                high, len(self.document)
            ):
                slot = self._get_former_slot(part)
                self._current[slot[0]] = slot[1]
                if accepted is None:
                    self._uncertain.add(slot)


def _has_id(part: CellUndo) -> bool:
    return part.cell_id is not None and not part.of_notebook


def _get_or_default(value: int | None, default: int) -> int:
    return default if value is None else value


def _sort_parts(
    parts: Iterable[CellUndo], name: Literal["index", "index_before"]
) -> list[CellUndo]:
    """Return the parts that have an index, in its order."""
    found = [(index, part) for part in parts if (index := getattr(part, name)) is not None]
    return [part for _, part in sorted(found, key=lambda one: one[0])]


def _spread(
    edges: Mapping[Slot, Sequence[Slot]],
    fixed: Collection[Slot],
    sources: Sequence[tuple[int, Slot]],
) -> dict[Slot, int]:
    """Return for each slot the value of the first source from which edges lead to it.

    No way goes on behind a slot that a cell is fixed in, as it comes into it.
    """
    found: dict[Slot, int] = {}
    for value, source in sources:
        waiting = [source]
        while waiting:
            for slot in edges.get(waiting.pop(), ()):
                if slot not in found and slot not in fixed:
                    found[slot] = value
                    waiting.append(slot)
    return found
