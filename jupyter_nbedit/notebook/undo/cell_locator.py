"""Find the cells and positions of an undo record in a notebook that was changed since the edit."""

import sys
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from operator import eq
from typing import Any

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.members import SIDE_METADATA, list_changed_keys
from jupyter_nbedit.notebook.undo.known_history import KnownHistory, OriginalOrder
from jupyter_nbedit.notebook.undo.part_members import PartVersions
from jupyter_nbedit.notebook.undo.record import (
    CellState,
    CellUndo,
    GapAnchor,
    NeighbourKey,
    UndoRecord,
)

# A conflict contains the current source, shortened to so many characters.
_MAX_SHOWN_CHARACTERS = 2000
_BOTH_NEIGHBOURS = 2
# If there are more similar cells, the search gives up, because it takes quadratic time.
_MAX_SIMILAR_CELLS = 100


class CellNotLocated(Exception):
    """A cell or a gap was not found with certainty; ``conflict`` describes it for the reply."""

    def __init__(
        self, part: CellUndo, reason: str, index: int | None, source: str | None = None
    ) -> None:
        super().__init__(reason)
        self.conflict: dict[str, Any] = {"cell_id": part.cell_id, "index": index, "why": reason}
        if source is not None:
            self.conflict["source"] = source[:_MAX_SHOWN_CHARACTERS]


@dataclass
class CellLocator:
    """Finds the cells and gaps of a record in a notebook that was changed since the edit.

    A cell is found by its id. A cell without id is found by its content, if a neighbour or its
    index confirms it. A gap between such cells is found by two neighbours, or by its index and one
    neighbour.
    """

    document: Document
    record: UndoRecord
    parts: Mapping[int, CellUndo]
    history: KnownHistory
    #: The parts to whose cells others may have done what is to be done; that is no conflict.
    same_change_allowed: Collection[int] = ()
    _states: dict[int, CellState | None] = field(default_factory=dict)
    _known_keys: dict[int, str] = field(default_factory=dict)
    #: The indexes of the found cells that the edit inserted or moved, in ascending order.
    _moved_indexes: list[int] = field(default_factory=list)

    def find(
        self, changed_cells: Mapping[int, int] | None = None
    ) -> tuple[dict[int, int], dict[int, int], dict[int, dict[str, Any]]]:
        """Return cell indexes, gap indexes and conflicts by part number.

        ``changed_cells`` are the indexes of cells that may have been changed since the edit.
        """
        cells: dict[int, int] = dict(changed_cells or {})
        gaps: dict[int, int] = {}
        conflicts: dict[int, dict[str, Any]] = {}
        gaps_by_id = self._find_gaps_by_id()
        for number, part in self.parts.items():
            if part.index is not None and number not in cells:
                try:
                    cells[number] = self._find_cell(number, part)
                except CellNotLocated as error:
                    conflicts[number] = error.conflict
        # Gaps are between cells that the edit did not move.
        self._moved_indexes = sorted(
            {index for number, index in cells.items() if self.parts[number].changes_position}
        )
        for number, part in self.parts.items():
            if part.gap_number is None or (part.index is not None and number not in cells):
                continue
            try:
                gap = gaps_by_id[number] if number in gaps_by_id else self._find_gap(part)
                gaps[number] = self._check_gap(part, gap, cells.get(number))
            except CellNotLocated as error:
                conflicts[number] = error.conflict
        counts = Counter(cells.values())
        uncertain = [(number, "no_place") for number in self._list_misplaced(gaps, gaps_by_id)]
        uncertain += [(number, "ambiguous") for number, index in cells.items() if counts[index] > 1]
        for number, reason in uncertain:
            conflict = CellNotLocated(self.parts[number], reason, None).conflict
            conflicts.setdefault(number, conflict)
        return cells, gaps, conflicts

    def compute_positions(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return cell indexes and gap indexes by part number, for a history that is complete."""
        cells: dict[int, int] = {}
        gaps: dict[int, int] = {}
        for number, part in self.parts.items():
            index_before = part.index_before or 0
            if part.index is not None:
                cells[number] = self._shift_index(part.index, sys.maxsize)
            if (gap := self.record.get_gap_index(part)) is not None:
                gaps[number] = self._shift_index(gap, index_before)
        return cells, gaps

    def find_changed_cells(
        self, numbers: Collection[int], conflicts: Mapping[int, Mapping[str, Any]]
    ) -> dict[int, int]:
        """Return the indexes of cells of some parts that were changed since the edit, by part.

        A cell without id is only known by its index and both of its neighbours.
        """
        indexes = {
            number: self._find_changed_cell(self.parts[number])
            for number, conflict in conflicts.items()
            if conflict["why"] == "changed" and number in numbers
        }
        return {number: index for number, index in indexes.items() if index is not None}

    def _find_changed_cell(self, part: CellUndo) -> int | None:
        if part.cell_id is not None:
            indexes = self.document.ids.get(part.cell_id, [])
            return indexes[0] if len(indexes) == 1 else None
        if part.index is None:
            return None
        index = self._compute_expected_index(part.index, sys.maxsize)
        is_certain = index is not None and self._count_neighbours(part, index) == _BOTH_NEIGHBOURS
        return index if is_certain else None

    def _list_misplaced(
        self, gaps: Mapping[int, int], gaps_by_id: Mapping[int, int | None]
    ) -> list[int]:
        """Return the parts without ids whose gap differs from that of parts with ids beside them.

        All these cells were in the same gap: one of the two ways of finding the gap is wrong.
        """
        places: dict[int | None, set[int]] = defaultdict(set)
        for number in gaps_by_id:
            if number in gaps:
                places[self.parts[number].gap_number].add(gaps[number])
        return [
            number
            for number, gap in gaps.items()
            if number not in gaps_by_id and not places[self.parts[number].gap_number] <= {gap}
        ]

    @cached_property
    def _order(self) -> OriginalOrder:
        return OriginalOrder(self.document, self.record, self.history)

    @cached_property
    def _is_rearranged(self) -> bool:
        """Whether later edits have changed the order of the cells."""
        return self.history.has_later_rearrangement(self.record)

    def _find_cell(self, number: int, part: CellUndo) -> int:
        if part.cell_id is None:
            return self._find_by_content(number, part)
        indexes = self.document.ids.get(part.cell_id, [])
        if len(indexes) != 1:
            raise CellNotLocated(part, "ambiguous" if indexes else "gone", None)
        [index] = indexes
        if self._has_conflict(number, part, index) or (
            part.is_moved and self._order.is_moved_again(part)
        ):
            raise CellNotLocated(part, "changed", index, self.document.get_cell(index).source)
        return index

    def _find_by_content(self, number: int, part: CellUndo) -> int:
        """Find an unchanged cell without id that has the same index, or a neighbour, as expected.

        A single matching cell is not enough: the right cell may have been changed, and this one may
        be a copy. A cell that has changed is found by its index and both neighbours.
        """
        is_partly_reverted = bool(self.history.reverted_parts)
        key = part.after.content_key if part.after else ""
        expected = self._compute_expected_index(part.index or 0, sys.maxsize)
        if (
            expected is not None
            and self._is_as_after_edit(part, expected)
            and (is_partly_reverted or self._count_neighbours(part, expected) == _BOTH_NEIGHBOURS)
        ):
            return expected
        similar = self._indexes_by_key.get(key, [])
        found = [
            index for index in similar[:_MAX_SIMILAR_CELLS] if self._is_as_after_edit(part, index)
        ]
        if expected is None and len(found) == 1 and not self._is_rearranged:
            expected = part.index
        scores = {
            index: self._count_neighbours(part, index) + (index == expected) for index in found
        }
        best_score = max(scores.values(), default=0)
        best = [index for index in found if scores[index] == best_score]
        required, max_similar = (1, _MAX_SIMILAR_CELLS)
        if self._is_rearranged:
            required, max_similar = (_BOTH_NEIGHBOURS, 1)
        # If one of two equal neighbours is left, it may be the wrong neighbour.
        is_unlike = key not in (part.neighbour_keys or ()) and len(similar) <= max_similar
        if is_unlike and not is_partly_reverted and len(best) == 1 and best_score >= required:
            return best[0]
        if found:
            raise CellNotLocated(part, "ambiguous", None)
        if (
            expected is not None
            and self._count_neighbours(part, expected) == _BOTH_NEIGHBOURS
            and not self._has_conflict(number, part, expected)
        ):
            return expected
        state = None if expected is None else self._read_state(expected)
        if state is None:
            raise CellNotLocated(part, "gone", None)
        raise CellNotLocated(part, "changed", expected, state.source)

    def _count_neighbours(self, part: CellUndo, index: int) -> int:
        """Count the neighbours that a cell still has."""
        neighbours = (self._get_key(index - 1), self._get_key(index + 1))
        return sum(map(eq, neighbours, part.neighbour_keys or ()))

    def _find_gaps_by_id(self) -> dict[int, int | None]:
        """Return the gaps of the parts that have ids, as have all of their neighbours."""
        parts = {
            number: part
            for number, part in self.parts.items()
            if part.gap_number is not None
            and part.cell_id is not None
            and all(key.id is not None for key in self._list_anchors(part.gap_number))
        }
        if not parts:
            return {}
        gaps: dict[int, int | None] = dict(
            zip(parts, self._order.find_gaps(parts.values()), strict=True)
        )
        for number, part in parts.items():
            ids = [key.id or "" for key in self._list_anchors(part.gap_number or 0)]
            if any(len(self.document.ids.get(cell_id, [])) > 1 for cell_id in ids):
                gaps[number] = None
        return gaps

    def _list_anchors(self, gap_number: int) -> Sequence[NeighbourKey]:
        gap = self.record.gaps[gap_number]
        return (*gap.keys_before, *gap.keys_after)

    def _find_gap(self, part: CellUndo) -> int | None:
        """Return the gap of a cell between neighbours without ids; None if it is not certain."""
        anchor = self.record.gaps[part.gap_number or 0]
        expected = self._compute_expected_index(anchor.gap_index, part.index_before or 0)
        is_confirmed = expected is not None and any(self._count_matches(anchor, expected))
        if self.history.reverted_parts:
            return expected if is_confirmed or self._has_part_beside(expected) else None
        if expected is not None and all(self._count_matches(anchor, expected)):
            return expected
        full = (len(anchor.keys_before) or 1) + (len(anchor.keys_after) or 1)
        required = full if self._is_rearranged else _BOTH_NEIGHBOURS
        gaps_after = [index + 1 for index in self._list_candidates(anchor.keys_before, -1)]
        gaps_before = self._list_candidates(anchor.keys_after, len(self.document))
        if max(len(gaps_after), len(gaps_before)) > _MAX_SIMILAR_CELLS:
            return None
        scores = {gap: sum(self._count_matches(anchor, gap)) for gap in (*gaps_after, *gaps_before)}
        best_score = max(scores.values(), default=0)
        if best_score < required:
            return expected if is_confirmed else None
        best = [gap for gap in gaps_after if scores[gap] == best_score] or [
            gap for gap in gaps_before if scores[gap] == best_score
        ]
        return best[0] if len(set(map(self._count_unmoved, best))) == 1 else None

    def _list_candidates(self, keys: Sequence[NeighbourKey], end: int) -> list[int]:
        """Return the indexes of the cells that may be the nearest neighbour, or the end."""
        if not keys:
            return [end]
        if keys[0].id is not None:
            return list(self.document.ids.get(keys[0].id, []))
        return self._indexes_by_key.get(keys[0].key or "-", [])

    def _has_part_beside(self, gap: int | None) -> bool:
        """Return whether a cell beside a gap may be one that the edit changed."""
        return gap is not None and not self._keys_of_parts.isdisjoint(
            {self._get_key(gap - 1), self._get_key(gap)}
        )

    @cached_property
    def _keys_of_parts(self) -> set[str]:
        states = [state for part in self.record.parts for state in (part.before, part.after)]
        return {state.content_key for state in states if state is not None}

    def _count_matches(self, anchor: GapAnchor, gap: int) -> tuple[int, int]:
        """Count the neighbours directly beside a gap; an end of the notebook counts as one, too."""
        size = len(self.document)
        before, after = range(gap - 1, -1, -1), range(gap, size)
        rank, last_rank = self._count_unmoved(gap), self._count_unmoved(size)
        return (
            self._count_equal(anchor.keys_before, before) if anchor.keys_before else rank == 0,
            self._count_equal(anchor.keys_after, after) if anchor.keys_after else rank == last_rank,
        )

    def _count_unmoved(self, gap: int) -> int:
        """Count the cells before a gap that the edit neither inserted nor moved."""
        return gap - bisect_left(self._moved_indexes, gap)

    def _count_equal(self, keys: Sequence[NeighbourKey], indexes: range) -> int:
        moved = self._moved_indexes
        unmoved = (i for i in indexes if bisect_left(moved, i) == bisect_right(moved, i))
        pairs = zip(keys, unmoved, strict=False)
        return sum(1 for _ in takewhile(lambda pair: self._matches(*pair), pairs))

    def _matches(self, key: NeighbourKey, index: int) -> bool:
        if key.id is not None:
            return self.document.headers[index][0] == key.id
        return bool(key.key) and self._get_key(index) == key.key

    def _check_gap(self, part: CellUndo, gap: int | None, index: int | None) -> int:
        """Return the gap where a cell is to be put; raise if that is not possible."""
        indexes = [] if part.cell_id is None else self.document.ids.get(part.cell_id, [])
        if part.index is None and indexes:
            # A cell with its id exists already.
            source = self.document.get_cell(indexes[0]).source
            raise CellNotLocated(part, "ambiguous", indexes[0], source)
        if gap is None:
            raise CellNotLocated(part, "no_place", index)
        return gap

    def _compute_expected_index(self, index: int, index_before: int) -> int | None:
        """Return where an index after the edit is now; None if the notebook has other cells.

        Only the parts that were undone before have moved cells. Among the cells that are restored
        in one gap, the cells with a smaller ``index_before`` are before this index.
        """
        removed, restored = self._reverted_positions
        size = self.record.total_cells - len(removed) + len(restored)
        if self._is_rearranged or len(self.document) != size:
            return None
        return self._shift_index(index, index_before)

    def _shift_index(self, index: int, index_before: int) -> int:
        """Return an index after the edit, shifted by the parts that were undone before."""
        removed, restored = self._reverted_positions
        return index - bisect_left(removed, index) + bisect_left(restored, (index, index_before))

    @cached_property
    def _reverted_positions(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The indexes after the edit of the removed cells, and the gaps of the restored cells."""
        parts = [self.record.parts[number] for number in self.history.reverted_parts]
        removed = [part.index for part in parts if part.index is not None and part.changes_position]
        restored = [
            (gap, part.index_before or 0)
            for part in parts
            if (gap := self.record.get_gap_index(part)) is not None
        ]
        return sorted(removed), sorted(restored)

    def _has_conflict(self, number: int, part: CellUndo, index: int) -> bool:
        """Return whether a cell was changed since in a member that the edit touched."""
        if self._read_state(index) is None:
            return True
        versions = PartVersions.read(self.record, part, self.document.get_cell(index))
        is_allowed = number in self.same_change_allowed
        return bool(versions.list_conflicts(is_same_change_allowed=is_allowed))

    def _is_as_after_edit(self, part: CellUndo, index: int) -> bool:
        """Return whether a cell has the content that it had after the edit."""
        state = self._read_state(index)
        if state is None or part.after is None or state.content_key != part.after.content_key:
            return False
        changed_keys = list_changed_keys(part.after.metadata, state.metadata)
        return SIDE_METADATA.issuperset(changed_keys)

    @cached_property
    def _indexes_by_key(self) -> dict[str, list[int]]:
        indexes_by_key: dict[str, list[int]] = defaultdict(list)
        for index in range(len(self.document)):
            indexes_by_key[self._get_key(index)].append(index)
        return indexes_by_key

    def _get_key(self, index: int) -> str:
        """Return the content key of a cell; empty if there is none, or it cannot be read."""
        if index not in self._known_keys:
            state = self._read_state(index)
            self._known_keys[index] = "" if state is None else state.content_key
        return self._known_keys[index]

    def _read_state(self, index: int) -> CellState | None:
        """Return the content of a cell; None if it cannot be read: other cells may be enough."""
        if index not in self._states:
            self._states[index] = None
            if 0 <= index < len(self.document):
                with suppress(InvalidNotebook):
                    self._states[index] = CellState.from_cell(self.document.get_cell(index))
        return self._states[index]
