"""Where the cells and places that a record speaks of are by now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from operator import eq
from typing import Any

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edits import State
from jupyter_nbedit.notebook.record import Anchor, Part, Place, likeness

# A conflict shows what the cell says now, for people to decide by.
_SHOWN = 2000
# Where the notebook begins and ends is as good to go by as all neighbours on one side.
_END = 3
# A cell has two neighbours.
_BOTH = 2


class Lost(Exception):
    """A cell or a place that cannot be told; ``conflict`` is what a refusal says of it."""

    def __init__(self, part: Part, why: str, index: int | None, source: str | None = None) -> None:
        super().__init__(why)
        self.conflict: dict[str, Any] = {"cell_id": part.cell_id, "index": index, "why": why}
        if source is not None:
            self.conflict["source"] = source[:_SHOWN]


class Whereabouts:
    """Finds cells and places of a record in a notebook that has been changed since.

    Parameters
    ----------
    document
        The notebook.
    total_cells
        How many cells there were right after the edit.
    """

    def __init__(self, document: Document, total_cells: int) -> None:
        self._document = document
        self._total_cells = total_cells
        self._states: dict[int, State | None] = {}
        self._known_keys: dict[int, str] = {}

    def cells(self, parts: Sequence[Part]) -> tuple[dict[int, int], list[Lost]]:
        """Find the cells of parts: indexes by the numbers of the parts, and what was not found."""
        found: dict[int, int] = {}
        lost: list[Lost] = []
        for number, part in enumerate(parts):
            if part.index is None:
                continue
            try:
                found[number] = self._by_likeness(part) if part.beside else self._by_id(part)
            except Lost as failure:
                lost.append(failure)
        claims = Counter(found.values())
        lost += [Lost(parts[n], "ambiguous", None) for n, at in found.items() if claims[at] > 1]
        return found, lost

    def gap(self, place: Place) -> int | None:
        """Find a place, as a number of cells that stand before it; None if it cannot be told.

        The nearest neighbours that are left tell it. If there are several that look alike, those
        tell it that have the most neighbours of the place with them.
        """
        for rank in range(max(len(place.behind), len(place.ahead), 1)):
            after = [at + 1 for at in self._like(place.behind, rank)]
            before = self._like(place.ahead, rank)
            if rank == 0:
                after += [] if place.behind else [0]
                before += [] if place.ahead else [len(self._document)]
            if after or before:
                return self._choice(place, rank, after, before)
        return None

    def _choice(self, place: Place, rank: int, after: list[int], before: list[int]) -> int | None:
        scores = {gap: self._score(place, rank, gap) for gap in (*after, *before)}
        most = max(scores.values())
        for side in (after, before):
            best = [gap for gap in side if scores[gap] == most]
            if place.gap in best:
                return place.gap
            if best:
                return best[0] if len(best) == 1 else None
        return None

    def _score(self, place: Place, rank: int, gap: int) -> int:
        """Count the neighbours of a place, from one of a rank on, that stand beside a gap."""
        score = 0
        for anchors, first, step, end in (
            (place.behind, gap - 1, -1, -1),
            (place.ahead, gap, 1, len(self._document)),
        ):
            if not anchors:
                score += _END if first == end else 0
            for number, at in zip(range(rank, len(anchors)), range(first, end, step), strict=False):
                if not self._is_like(anchors[number], at):
                    break
                score += 1
        return score

    def _like(self, anchors: list[Anchor], rank: int) -> list[int]:
        """Find the cells that may be a neighbour."""
        if rank >= len(anchors):
            return []
        anchor = anchors[rank]
        if anchor.id is not None:
            return list(self._document.ids.get(anchor.id, []))
        return self._keys.get(anchor.key or "", [])

    def _is_like(self, anchor: Anchor, index: int) -> bool:
        if anchor.id is not None:
            return self._document.heads[index][0] == anchor.id
        return bool(anchor.key) and self._key(index) == anchor.key

    @cached_property
    def _keys(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for index in range(len(self._document)):
            if key := self._key(index):
                found[key].append(index)
        return dict(found)

    def _by_id(self, part: Part) -> int:
        indexes = self._document.ids.get(part.cell_id or "", [])
        if len(indexes) != 1:
            raise Lost(part, "ambiguous" if indexes else "gone", None)
        [index] = indexes
        if not self._is_as_left(part, index):
            raise Lost(part, "changed", index, self._document.cell(index).source)
        return index

    def _by_likeness(self, part: Part) -> int:
        """Find a cell that is as it was left and stands where it did, or beside a neighbour.

        That there is but one such cell is not enough: the one that is meant may have been changed,
        and this be another that says the same.
        """
        document, index = self._document, part.index or 0
        same_size = len(document) == self._total_cells
        after = part.after
        key = likeness(after.cell_type or "", after.source or "") if after else ""
        alike = [at for at in self._keys.get(key, []) if self._is_as_left(part, at)]
        stays = same_size or len(alike) == 1
        scores = {at: self._beside(part, at) + (stays and at == index) for at in alike}
        if key in (part.beside or ()):
            # Of two neighbours that say the same, whichever is left may be the other one.
            sure = [at for at in alike if same_size and self._beside(part, at) == _BOTH]
            scores = {at: scores[at] if at in sure else 0 for at in alike}
        most = max(scores.values(), default=0)
        best = [at for at, score in scores.items() if score == most]
        if most and len(best) == 1:
            return best[0]
        if best:
            raise Lost(part, "ambiguous", None)
        state = self._state(index) if same_size else None
        if state is None:
            raise Lost(part, "gone", None)
        raise Lost(part, "changed", index, state.source)

    def _beside(self, part: Part, index: int) -> int:
        """Count the neighbours that a cell still has."""
        neighbours = (self._key(index - 1), self._key(index + 1))
        return sum(map(eq, neighbours, part.beside or ()))

    def _key(self, index: int) -> str:
        if index not in self._known_keys:
            state = self._state(index) if 0 <= index < len(self._document) else None
            key = "" if state is None else likeness(state.cell_type, state.source)
            self._known_keys[index] = key
        return self._known_keys[index]

    def _is_as_left(self, part: Part, index: int) -> bool:
        state = self._state(index) if index < len(self._document) else None
        if state is None or part.after is None or state.source != part.after.source:
            return False
        return state.fingerprint == part.fingerprint

    def _state(self, index: int) -> State | None:
        """Tell what a cell is; None if it cannot be read, which need not matter to the edit."""
        if index not in self._states:
            self._states[index] = None
            with suppress(InvalidNotebook):
                self._states[index] = State.of(self._document.cell(index))
        return self._states[index]
