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
from jupyter_nbedit.notebook.undo.known_history import Past
from jupyter_nbedit.notebook.undo.locate_without_ids import Choice, find_layout
from jupyter_nbedit.notebook.undo.original_order import Precedence
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

# A conflict shows what the cell says now, for people to decide by.
_SHOWN = 2000


# Where the notebook begins and ends is as good to go by as all neighbours on one side.
_END = 3


# A cell has two neighbours.
_BOTH = 2


class CellNotLocated(Exception):
    """A cell or a place that cannot be told; ``conflict`` is what a refusal says of it."""

    def __init__(
        self, part: CellUndo, why: str, index: int | None, source: str | None = None
    ) -> None:
        super().__init__(why)
        self.conflict: dict[str, Any] = {"cell_id": part.cell_id, "index": index, "why": why}
        if source is not None:
            self.conflict["source"] = source[:_SHOWN]


class CellLocator:
    """Finds cells and places of a record in a notebook that has been changed since.

    Parameters
    ----------
    document
        The notebook.
    record
        What the edit did.
    parts
        The parts whose cells and places are looked for, by their numbers.
    past
        What is known of the time since.
    """

    def __init__(
        self,
        document: Document,
        record: UndoRecord,
        parts: Mapping[int, CellUndo],
        past: Past,
    ) -> None:
        self._document = document
        self._record = record
        self._parts = parts
        self._past = past
        self._states: dict[int, CellContent | None] = {}
        self._known_keys: dict[int, str] = {}

    def find(self) -> tuple[dict[int, int], dict[int, int], list[CellNotLocated]]:
        """Find cells and gaps by the numbers of the parts, and what was not found."""
        if not (self.has_ids or self._past.is_rearranged_since(self._record)):
            choice = Choice(self._record, set(self._parts), self._past.accepted)
            layout = find_layout(choice, len(self._document), self)
            if layout is not None:
                return layout.cells, layout.gaps, []
        cells, lost = self._find_cells()
        gaps = self._find_gaps()
        for number, part in self._parts.items():
            if part.place is None:
                continue
            others = [] if part.cell_id is None else self._document.ids.get(part.cell_id, [])
            if part.index is None and others:
                # A cell with its id is there already.
                source = self._document.get_cell(others[0]).source
                lost.append(CellNotLocated(part, "ambiguous", others[0], source))
            elif gaps[number] is None and (part.index is None or number in cells):
                lost.append(CellNotLocated(part, "no_place", cells.get(number)))
        return cells, {number: gap for number, gap in gaps.items() if gap is not None}, lost

    def is_as_left(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the one of a part, as the edit left it."""
        return self._document.heads[index][0] == part.cell_id and self._is_as_left(part, index)

    def is_as_before(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the one of a part, as before the edit."""
        if self._document.heads[index][0] != part.cell_id or part.before is None:
            return False
        state, before = self._read_state(index), part.before
        return state is not None and (
            (state.cell_type, state.source) == (before.cell_type, before.source)
            and is_json_equal(
                drop_execution_metadata(state.metadata), drop_execution_metadata(before.metadata)
            )
        )

    def is_like(self, anchor: NeighbourKey, index: int) -> bool:
        """Return whether the cell at an index may be a neighbour."""
        if anchor.id is not None:
            return self._document.heads[index][0] == anchor.id
        return bool(anchor.key) and self._get_key(index) == anchor.key

    @cached_property
    def has_ids(self) -> bool:
        """Whether all cells and neighbours that are looked for have ids."""
        parts = self._parts.values()
        places = [self._record.places[part.place] for part in parts if part.place is not None]
        return all(part.cell_id is not None or part.of_notebook for part in parts) and all(
            anchor.id is not None for place in places for anchor in (*place.behind, *place.ahead)
        )

    @cached_property
    def _is_rearranged(self) -> bool:
        """Whether edits that are known of have changed the order of cells without ids."""
        if self._past.is_rearranged_since(self._record):
            return True
        return len(self._parts) < len(self._record.parts) and self._past.accepted != set()

    @cached_property
    def _order(self) -> Precedence:
        chosen = set(self._parts)
        return Precedence.build(self._document, self._record, self._past, chosen)

    def _find_cells(self) -> tuple[dict[int, int], list[CellNotLocated]]:
        """Find the cells of parts."""
        found: dict[int, int] = {}
        lost: list[CellNotLocated] = []
        for number, part in self._parts.items():
            if part.index is None:
                continue
            try:
                found[number] = (
                    self._find_by_likeness(part) if part.beside else self._find_by_id(part)
                )
            except CellNotLocated as failure:
                lost.append(failure)
        claims = Counter(found.values())
        lost += [
            CellNotLocated(self._parts[number], "ambiguous", None)
            for number, at in found.items()
            if claims[at] > 1
        ]
        return found, lost

    def _find_gaps(self) -> dict[int, int | None]:
        """Find the places of parts, as numbers of cells that stand before them."""
        parts = {number: part for number, part in self._parts.items() if part.place is not None}
        places = {part.place or 0 for part in parts.values()}
        near = {number: self._find_gap(number) for number in places}
        found: dict[int, int | None] = {n: near[part.place or 0] for n, part in parts.items()}
        named = {n: part for n, part in parts.items() if part.cell_id is not None}
        if not named:
            return found
        for number, bounds in zip(named, self._order.compute_bounds(named.values()), strict=True):
            found[number] = _clamp(found[number], *bounds)
        return found

    def _find_gap(self, number: int) -> int | None:
        """Find a place; None if it cannot be told.

        The nearest neighbours that are left tell it. If there are several that look alike, those
        tell it that have the most neighbours of the place with them.
        """
        place = self._record.places[number]
        if self._is_rearranged and not self.has_ids:
            return self._find_unambiguous_gap(place)
        for rank in range(max(len(place.behind), len(place.ahead), 1)):
            after = [at + 1 for at in self._find_candidates(place.behind, rank)]
            before = self._find_candidates(place.ahead, rank)
            if rank == 0:
                after += [] if place.behind else [0]
                before += [] if place.ahead else [len(self._document)]
            if after or before:
                return self._choose_gap(place, rank, after, before)
        return None

    def _find_unambiguous_gap(self, place: GapAnchor) -> int | None:
        """Find a place between two neighbours that are beside each other and like no other cell."""
        size = len(self._document)
        behind = self._find_candidates(place.behind, 0) if place.behind else [-1]
        ahead = self._find_candidates(place.ahead, 0) if place.ahead else [size]
        if len(behind) != 1 or ahead != [behind[0] + 1]:
            return None
        gap = ahead[0]
        whole = self._compute_score(place, 0, gap)
        full = (len(place.behind) or _END) + (len(place.ahead) or _END)
        return gap if whole == full else None

    def _choose_gap(
        self, place: GapAnchor, rank: int, after: list[int], before: list[int]
    ) -> int | None:
        scores = {gap: self._compute_score(place, rank, gap) for gap in (*after, *before)}
        most = max(scores.values())
        for side in (after, before):
            best = [gap for gap in side if scores[gap] == most]
            if place.gap in best and len(self._document) == self._record.total_cells:
                return place.gap
            if best:
                return best[0] if len(best) == 1 else None
        return None

    def _compute_score(self, place: GapAnchor, rank: int, gap: int) -> int:
        """Count the neighbours of a place, from one of a rank on, that stand beside a gap."""
        score = 0
        for anchors, first, step, end in (
            (place.behind, gap - 1, -1, -1),
            (place.ahead, gap, 1, len(self._document)),
        ):
            if not anchors:
                score += _END if first == end else 0
            for number, at in zip(range(rank, len(anchors)), range(first, end, step), strict=False):
                if not self.is_like(anchors[number], at):
                    break
                score += 1
        return score

    def _find_candidates(self, anchors: list[NeighbourKey], rank: int) -> list[int]:
        """Find the cells that may be a neighbour."""
        if rank >= len(anchors):
            return []
        anchor = anchors[rank]
        if anchor.id is not None:
            is_there = self._order.is_in_slot(anchor.id)
            return list(self._document.ids.get(anchor.id, [])) if is_there else []
        return self._keys.get(anchor.key or "", [])

    @cached_property
    def _keys(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for index in range(len(self._document)):
            if key := self._get_key(index):
                found[key].append(index)
        return dict(found)

    def _find_by_id(self, part: CellUndo) -> int:
        indexes = self._document.ids.get(part.cell_id or "", [])
        if len(indexes) != 1:
            raise CellNotLocated(part, "ambiguous" if indexes else "gone", None)
        [index] = indexes
        if not self._is_as_left(part, index) or (part.moved and self._order.is_moved_since(part)):
            raise CellNotLocated(part, "changed", index, self._document.get_cell(index).source)
        return index

    def _find_by_likeness(self, part: CellUndo) -> int:
        """Find a cell that is as it was left and stands where it did, or beside a neighbour.

        That there is but one such cell is not enough: the one that is meant may have been changed,
        and this be another that says the same.
        """
        document, index = self._document, part.index or 0
        same_size = len(document) == self._record.total_cells and not self._is_rearranged
        after = part.after
        key = compute_content_key(after.cell_type or "", after.source or "") if after else ""
        alike = [at for at in self._keys.get(key, []) if self._is_as_left(part, at)]
        stays = same_size or len(alike) == 1
        scores = {at: self._count_neighbours(part, at) + (stays and at == index) for at in alike}
        if key in (part.beside or ()):
            # Of two neighbours that say the same, whichever is left may be the other one.
            sure = [at for at in alike if same_size and self._count_neighbours(part, at) == _BOTH]
            scores = {at: scores[at] if at in sure else 0 for at in alike}
        if self._is_rearranged:
            alone = len(self._keys.get(key, [])) == 1
            scores = {
                at: _BOTH if alone and self._count_neighbours(part, at) == _BOTH else 0
                for at in alike
            }
        most = max(scores.values(), default=0)
        best = [at for at, score in scores.items() if score == most]
        if most and len(best) == 1:
            return best[0]
        if best:
            raise CellNotLocated(part, "ambiguous", None)
        state = self._read_state(index) if same_size else None
        if state is None:
            raise CellNotLocated(part, "gone", None)
        raise CellNotLocated(part, "changed", index, state.source)

    def _count_neighbours(self, part: CellUndo, index: int) -> int:
        """Count the neighbours that a cell still has."""
        neighbours = (self._get_key(index - 1), self._get_key(index + 1))
        return sum(map(eq, neighbours, part.beside or ()))

    def _get_key(self, index: int) -> str:
        if index not in self._known_keys:
            state = self._read_state(index) if 0 <= index < len(self._document) else None
            key = "" if state is None else compute_content_key(state.cell_type, state.source)
            self._known_keys[index] = key
        return self._known_keys[index]

    def _is_as_left(self, part: CellUndo, index: int) -> bool:
        state = self._read_state(index) if index < len(self._document) else None
        if state is None or part.after is None or state.source != part.after.source:
            return False
        return state.fingerprint == part.fingerprint

    def _read_state(self, index: int) -> CellContent | None:
        """Return what a cell is; None if it cannot be read, which need not matter to the edit."""
        if index not in self._states:
            self._states[index] = None
            with suppress(InvalidNotebook):
                self._states[index] = CellContent.from_cell(self._document.get_cell(index))
        return self._states[index]


def _clamp(gap: int | None, low: int | None, high: int | None) -> int | None:
    """Return the gap that is nearest to another one and within bounds."""
    if low is not None and high is not None and low > high:
        # Others have put the cells in another order.
        return gap
    if gap is None:
        return high if low is None else low
    if low is not None and gap < low:
        return low
    return high if high is not None and gap > high else gap
