"""Find the cells and positions of an undo record in a notebook that was changed since the edit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from operator import eq
from typing import Any

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo.known_history import KnownHistory
from jupyter_nbedit.notebook.undo.locate_without_ids import PartSelection, locate_cells
from jupyter_nbedit.notebook.undo.original_order import OriginalOrder
from jupyter_nbedit.notebook.undo.record import (
    CellContent,
    CellUndo,
    GapAnchor,
    NeighbourKey,
    UndoRecord,
    compute_content_key,
    drop_execution_metadata,
    is_json_equal,
)

# A conflict contains the current source, shortened to so many characters.
_SHOWN = 2000


# The start or the end of the notebook counts as much as all neighbours on one side.
_END_SCORE = 3


_NEIGHBOUR_COUNT = 2


class CellNotLocated(Exception):
    """A cell or a gap was not found with certainty; ``conflict`` describes it for the reply."""

    def __init__(
        self, part: CellUndo, reason: str, index: int | None, source: str | None = None
    ) -> None:
        super().__init__(reason)
        self.conflict: dict[str, Any] = {"cell_id": part.cell_id, "index": index, "why": reason}
        if source is not None:
            self.conflict["source"] = source[:_SHOWN]


class CellLocator:
    """Finds the cells and gaps of a record in a notebook that was changed since the edit.

    Parameters
    ----------
    document
        The current notebook.
    record
        The record of the edit.
    parts
        The parts to locate, by number.
    history
        The known edits since.
    """

    def __init__(
        self,
        document: Document,
        record: UndoRecord,
        parts: Mapping[int, CellUndo],
        history: KnownHistory,
    ) -> None:
        self._document = document
        self._record = record
        self._parts = parts
        self._history = history
        self._states: dict[int, CellContent | None] = {}
        self._known_keys: dict[int, str] = {}

    def find(self) -> tuple[dict[int, int], dict[int, int], list[CellNotLocated]]:
        """Return cell indexes and gap indexes by part number, and the parts that were not found."""
        if not (self.has_ids or self._history.has_later_rearrangement(self._record)):
            selection = PartSelection(self._record, set(self._parts), self._history.reverted_parts)
            locations = locate_cells(selection, len(self._document), self)
            if locations is not None:
                return locations.cells, locations.gaps, []
        cells, not_located = self._find_cells()
        gaps = self._find_gaps()
        for number, part in self._parts.items():
            if part.gap_number is None:
                continue
            same_id_indexes = (
                [] if part.cell_id is None else self._document.ids.get(part.cell_id, [])
            )
            if part.index is None and same_id_indexes:
                # A cell with its id exists already.
                source = self._document.get_cell(same_id_indexes[0]).source
                not_located.append(CellNotLocated(part, "ambiguous", same_id_indexes[0], source))
            elif gaps[number] is None and (part.index is None or number in cells):
                not_located.append(CellNotLocated(part, "no_place", cells.get(number)))
        return cells, {number: gap for number, gap in gaps.items() if gap is not None}, not_located

    def is_unchanged_since_edit(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the cell of a part, as after the edit."""
        return self._document.headers[index][0] == part.cell_id and self._has_content_after_edit(
            part, index
        )

    def has_content_before_edit(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the cell of a part, as before the edit."""
        if self._document.headers[index][0] != part.cell_id or part.before is None:
            return False
        state, before = self._read_state(index), part.before
        return state is not None and (
            (state.cell_type, state.source) == (before.cell_type, before.source)
            and is_json_equal(
                drop_execution_metadata(state.metadata), drop_execution_metadata(before.metadata)
            )
        )

    def matches_neighbour(self, anchor: NeighbourKey, index: int) -> bool:
        """Return whether the cell at an index may be a neighbour."""
        if anchor.id is not None:
            return self._document.headers[index][0] == anchor.id
        return bool(anchor.key) and self._get_key(index) == anchor.key

    @cached_property
    def has_ids(self) -> bool:
        """Whether all located cells and all neighbours have ids."""
        parts = self._parts.values()
        gaps = [self._record.gaps[part.gap_number] for part in parts if part.gap_number is not None]
        return all(part.cell_id is not None or part.is_notebook_metadata for part in parts) and all(
            anchor.id is not None for gap in gaps for anchor in (*gap.keys_before, *gap.keys_after)
        )

    @cached_property
    def _is_rearranged(self) -> bool:
        """Whether known edits have changed the order of cells without ids."""
        if self._history.has_later_rearrangement(self._record):
            return True
        return len(self._parts) < len(self._record.parts) and self._history.reverted_parts != set()

    @cached_property
    def _order(self) -> OriginalOrder:
        part_numbers = set(self._parts)
        return OriginalOrder.build(self._document, self._record, self._history, part_numbers)

    def _find_cells(self) -> tuple[dict[int, int], list[CellNotLocated]]:
        """Find the cells of the parts."""
        indexes: dict[int, int] = {}
        not_located: list[CellNotLocated] = []
        for number, part in self._parts.items():
            if part.index is None:
                continue
            try:
                indexes[number] = (
                    self._find_by_content(part) if part.neighbour_keys else self._find_by_id(part)
                )
            except CellNotLocated as error:
                not_located.append(error)
        claims = Counter(indexes.values())
        not_located += [
            CellNotLocated(self._parts[number], "ambiguous", None)
            for number, index in indexes.items()
            if claims[index] > 1
        ]
        return indexes, not_located

    def _find_gaps(self) -> dict[int, int | None]:
        """Return the gap index of each part, or None."""
        parts = {
            number: part for number, part in self._parts.items() if part.gap_number is not None
        }
        gap_numbers = {part.gap_number or 0 for part in parts.values()}
        gaps_by_neighbours = {number: self._find_gap(number) for number in gap_numbers}
        gaps: dict[int, int | None] = {
            n: gaps_by_neighbours[part.gap_number or 0] for n, part in parts.items()
        }
        parts_with_ids = {n: part for n, part in parts.items() if part.cell_id is not None}
        if not parts_with_ids:
            return gaps
        for number, bounds in zip(
            parts_with_ids, self._order.compute_bounds(parts_with_ids.values()), strict=True
        ):
            gap = gaps[number]
            # The bounds come from unique ids only, so that they would be a guess here.
            if gap is not None or not self._has_repeated_neighbour(parts[number].gap_number or 0):
                gaps[number] = _clamp(gap, *bounds)
        return gaps

    def _has_repeated_neighbour(self, gap_number: int) -> bool:
        """Return whether several cells have the id of a neighbour of a gap."""
        gap = self._record.gaps[gap_number]
        anchors = (*gap.keys_before, *gap.keys_after)
        return any(
            len(self._document.ids.get(anchor.id, [])) > 1
            for anchor in anchors
            if anchor.id is not None
        )

    def _find_gap(self, number: int) -> int | None:
        """Return a gap index; None if it is not certain.

        The nearest remaining neighbours decide. Among several equal candidates, those with the most
        matching neighbours win.
        """
        anchor = self._record.gaps[number]
        if self._is_rearranged and not self.has_ids:
            return self._find_unambiguous_gap(anchor)
        for rank in range(max(len(anchor.keys_before), len(anchor.keys_after), 1)):
            gaps_after = [index + 1 for index in self._find_candidates(anchor.keys_before, rank)]
            gaps_before = self._find_candidates(anchor.keys_after, rank)
            if rank == 0:
                gaps_after += [] if anchor.keys_before else [0]
                gaps_before += [] if anchor.keys_after else [len(self._document)]
            if gaps_after or gaps_before:
                return self._choose_gap(anchor, rank, gaps_after, gaps_before)
        return None

    def _find_unambiguous_gap(self, anchor: GapAnchor) -> int | None:
        """Return the gap between two adjacent neighbours that match no other cell, or None."""
        size = len(self._document)
        indexes_before = (
            self._find_candidates(anchor.keys_before, 0) if anchor.keys_before else [-1]
        )
        indexes_after = self._find_candidates(anchor.keys_after, 0) if anchor.keys_after else [size]
        if len(indexes_before) != 1 or indexes_after != [indexes_before[0] + 1]:
            return None
        gap = indexes_after[0]
        score = self._compute_score(anchor, 0, gap)
        full_score = (len(anchor.keys_before) or _END_SCORE) + (
            len(anchor.keys_after) or _END_SCORE
        )
        return gap if score == full_score else None

    def _choose_gap(
        self, anchor: GapAnchor, rank: int, gaps_after: list[int], gaps_before: list[int]
    ) -> int | None:
        scores = {
            gap: self._compute_score(anchor, rank, gap) for gap in (*gaps_after, *gaps_before)
        }
        best_score = max(scores.values())
        for side in (gaps_after, gaps_before):
            best_gaps = [gap for gap in side if scores[gap] == best_score]
            if anchor.gap_index in best_gaps and len(self._document) == self._record.total_cells:
                return anchor.gap_index
            if best_gaps:
                return best_gaps[0] if len(best_gaps) == 1 else None
        return None

    def _compute_score(self, anchor: GapAnchor, rank: int, gap: int) -> int:
        """Count the neighbours, from one rank on, that are next to a gap."""
        score = 0
        for anchors, first, step, end in (
            (anchor.keys_before, gap - 1, -1, -1),
            (anchor.keys_after, gap, 1, len(self._document)),
        ):
            if not anchors:
                score += _END_SCORE if first == end else 0
            for number, index in zip(
                range(rank, len(anchors)), range(first, end, step), strict=False
            ):
                if not self.matches_neighbour(anchors[number], index):
                    break
                score += 1
        return score

    def _find_candidates(self, anchors: list[NeighbourKey], rank: int) -> list[int]:
        """Return the indexes of the cells that may be a neighbour."""
        if rank >= len(anchors):
            return []
        anchor = anchors[rank]
        if anchor.id is not None:
            is_in_same_slot = self._order.is_in_same_slot(anchor.id)
            return list(self._document.ids.get(anchor.id, [])) if is_in_same_slot else []
        return self._keys.get(anchor.key or "", [])

    @cached_property
    def _keys(self) -> dict[str, list[int]]:
        indexes_by_key: dict[str, list[int]] = defaultdict(list)
        for index in range(len(self._document)):
            if key := self._get_key(index):
                indexes_by_key[key].append(index)
        return dict(indexes_by_key)

    def _find_by_id(self, part: CellUndo) -> int:
        indexes = self._document.ids.get(part.cell_id or "", [])
        if len(indexes) != 1:
            raise CellNotLocated(part, "ambiguous" if indexes else "gone", None)
        [index] = indexes
        if not self._has_content_after_edit(part, index) or (
            part.is_moved and self._order.is_moved_again(part)
        ):
            raise CellNotLocated(part, "changed", index, self._document.get_cell(index).source)
        return index

    def _find_by_content(self, part: CellUndo) -> int:
        """Find an unchanged cell that has the same index, or a neighbour, as after the edit.

        A single matching cell is not enough: the right cell may have been changed, and this one may
        be a copy.
        """
        document, index = self._document, part.index or 0
        is_same_size = len(document) == self._record.total_cells and not self._is_rearranged
        after = part.after
        key = compute_content_key(after.cell_type or "", after.source or "") if after else ""
        candidates = [
            candidate
            for candidate in self._keys.get(key, [])
            if self._has_content_after_edit(part, candidate)
        ]
        is_index_reliable = is_same_size or len(candidates) == 1
        scores = {
            candidate: self._count_neighbours(part, candidate)
            + (is_index_reliable and candidate == index)
            for candidate in candidates
        }
        if key in (part.neighbour_keys or ()):
            # If two neighbours are equal, the remaining one may be the other one.
            certain_candidates = [
                candidate
                for candidate in candidates
                if is_same_size and self._count_neighbours(part, candidate) == _NEIGHBOUR_COUNT
            ]
            scores = {
                candidate: scores[candidate] if candidate in certain_candidates else 0
                for candidate in candidates
            }
        if self._is_rearranged:
            is_only_candidate = len(self._keys.get(key, [])) == 1
            scores = {
                candidate: _NEIGHBOUR_COUNT
                if is_only_candidate and self._count_neighbours(part, candidate) == _NEIGHBOUR_COUNT
                else 0
                for candidate in candidates
            }
        best_score = max(scores.values(), default=0)
        best_candidates = [candidate for candidate, score in scores.items() if score == best_score]
        if best_score and len(best_candidates) == 1:
            return best_candidates[0]
        if best_candidates:
            raise CellNotLocated(part, "ambiguous", None)
        state = self._read_state(index) if is_same_size else None
        if state is None:
            raise CellNotLocated(part, "gone", None)
        raise CellNotLocated(part, "changed", index, state.source)

    def _count_neighbours(self, part: CellUndo, index: int) -> int:
        """Count the neighbours that a cell still has."""
        neighbours = (self._get_key(index - 1), self._get_key(index + 1))
        return sum(map(eq, neighbours, part.neighbour_keys or ()))

    def _get_key(self, index: int) -> str:
        if index not in self._known_keys:
            state = self._read_state(index) if 0 <= index < len(self._document) else None
            key = "" if state is None else compute_content_key(state.cell_type, state.source)
            self._known_keys[index] = key
        return self._known_keys[index]

    def _has_content_after_edit(self, part: CellUndo, index: int) -> bool:
        state = self._read_state(index) if index < len(self._document) else None
        if state is None or part.after is None or state.source != part.after.source:
            return False
        return state.fingerprint == part.fingerprint

    def _read_state(self, index: int) -> CellContent | None:
        """Return the content of a cell; None if it cannot be read, which may not matter here."""
        if index not in self._states:
            self._states[index] = None
            with suppress(InvalidNotebook):
                self._states[index] = CellContent.from_cell(self._document.get_cell(index))
        return self._states[index]


def _clamp(gap: int | None, low: int | None, high: int | None) -> int | None:
    """Return the gap within bounds that is nearest to a gap."""
    if low is not None and high is not None and low > high:
        # Later edits have changed the order.
        return gap
    if gap is None:
        return high if low is None else low
    if low is not None and gap < low:
        return low
    return high if high is not None and gap > high else gap
