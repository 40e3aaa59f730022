"""Where cells without ids are if only parts of one record have been taken back since the edit."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from jupyter_nbedit.notebook.undo.record import CellUndo, NeighbourKey, UndoRecord

# More possibilities at one cell are not worth the time.
_MOST_STATES = 256

# How many cells more there are so far than right after the edit, and which of the moved cells that
# stand further down in one of their positions have been taken back.
_State = tuple[int, frozenset[int]]


class Comparison(Protocol):
    """Compares the cells of the notebook with what a record says of them."""

    def is_as_left(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the one of a part, as the edit left it."""

    def is_as_before(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the one of a part, as before the edit."""

    def is_like(self, anchor: NeighbourKey, index: int) -> bool:
        """Return whether the cell at an index may be a neighbour."""


@dataclass(frozen=True)
class Layout:
    """Where cells and places are, by the numbers of their parts."""

    cells: dict[int, int]
    gaps: dict[int, int]


@dataclass(frozen=True)
class _Step:
    """What is looked at next on the way through the notebook.

    Parameters
    ----------
    rank
        How many cells that the edit left where they were stand before it.
    number
        The part it is about, if it is about one.
    is_former
        Whether this is where the part's cell was before the edit, and not where it is after it.
    anchors
        What is known of the cell, if it is one that stayed.
    """

    rank: int
    number: int | None = None
    is_former: bool = False
    anchors: list[NeighbourKey] = field(default_factory=list)


@dataclass(frozen=True)
class Choice:
    """Which parts of a record are looked for.

    Parameters
    ----------
    record
        What the edit did.
    chosen
        The numbers of the parts whose cells and places are looked for; none has been taken back.
    accepted
        The numbers of the parts that have been taken back; None if that is not known.
    """

    record: UndoRecord
    chosen: Collection[int]
    accepted: Collection[int] | None

    def list_options(self, number: int) -> list[bool]:
        """Return whether a part may have been taken back, or may not have been."""
        if number in self.chosen:
            return [False]
        return [False, True] if self.accepted is None else [number in self.accepted]


def find_layout(choice: Choice, size: int, comparison: Comparison) -> Layout | None:
    """Return where the cells and places of parts are; None if that is not certain.

    It goes through the notebook once, with all possibilities which of the other parts have been
    taken back, and leaves those out that do not go with the cells that are there.

    Parameters
    ----------
    choice
        Which parts.
    size
        How many cells the notebook has.
    comparison
        Compares its cells.
    """
    steps, stayed = _list_steps(choice.record)
    walk = _Walk(choice, size, comparison)
    states: list[set[_State]] = [{(0, frozenset())}]
    for step in steps:
        states.append({after for state in states[-1] for after in walk.iterate_next(step, state)})
        if len(states[-1]) > _MOST_STATES:
            return None
    alive = {state for state in states.pop() if stayed + state[0] == size}
    layout = Layout({}, {})
    for step in reversed(steps):
        alive = {
            state for state in states.pop() if not alive.isdisjoint(walk.iterate_next(step, state))
        }
        if step.number is not None and step.number in choice.chosen:
            indexes = {step.rank + shift for shift, _ in alive}
            if len(indexes) != 1:
                return None
            (layout.gaps if step.is_former else layout.cells)[step.number] = indexes.pop()
    return layout if alive else None


@dataclass(frozen=True)
class _Walk:
    """The way through a notebook."""

    choice: Choice
    size: int
    comparison: Comparison

    def iterate_next(self, step: _Step, state: _State) -> Iterator[_State]:
        """Yield the states that a step can lead to."""
        shift, back = state
        index = step.rank + shift
        if step.number is None:
            if index < self.size and all(
                self.comparison.is_like(anchor, index) for anchor in step.anchors
            ):
                yield state
            return
        part, options = self.choice.record.parts[step.number], self.choice.list_options(step.number)
        if part.moved:
            is_first = step.is_former == self._comes_back_earlier(part)
            options = options if is_first else [step.number in back]
        for is_back in options:
            if is_back == step.is_former or self._stays(part):
                # The cell stands here.
                if self._is_as(part, index, is_back=is_back):
                    stands = not self._stays(part)
                    yield shift + stands, self._note_moved(step, part, back, is_back=is_back)
            else:
                yield shift, self._note_moved(step, part, back, is_back=is_back)

    def _note_moved(
        self, step: _Step, part: CellUndo, back: frozenset[int], *, is_back: bool
    ) -> frozenset[int]:
        """Note where a moved cell stands until its other position is passed."""
        number = {step.number or 0}
        if part.moved and is_back and step.is_former == self._comes_back_earlier(part):
            return back | number
        return back - number

    def _comes_back_earlier(self, part: CellUndo) -> bool:
        """Return whether the cell stood before the place where the edit took it."""
        place = self.choice.record.places[part.place or 0]
        return place.gap <= (part.index or 0)

    @staticmethod
    def _stays(part: CellUndo) -> bool:
        """Return whether the edit left the cell where it was."""
        return part.index is not None and part.index_before is not None and not part.moved

    def _is_as(self, part: CellUndo, index: int, *, is_back: bool) -> bool:
        compare = self.comparison.is_as_before if is_back else self.comparison.is_as_left
        return index < self.size and compare(part, index)


def _list_steps(record: UndoRecord) -> tuple[list[_Step], int]:
    """Return the steps through a notebook, and how many cells the edit left where they were."""
    taken = sorted(
        part.index
        for part in record.parts
        if part.index is not None and (part.moved or part.index_before is None)
    )
    known: dict[int, list[NeighbourKey]] = defaultdict(list)
    ranks = [place.gap - bisect_left(taken, place.gap) for place in record.places]
    for place, rank in zip(record.places, ranks, strict=True):
        for number, anchor in enumerate(place.behind):
            known[rank - 1 - number].append(anchor)
        for number, anchor in enumerate(place.ahead):
            known[rank + number].append(anchor)
    found: list[tuple[tuple[int, int, int], _Step]] = []
    for number, part in enumerate(record.parts):
        if part.place is not None:
            rank = ranks[part.place]
            # A new cell comes right behind the cell that stayed, before others in that gap.
            found.append(((rank, 0, part.index_before or 0), _Step(rank, number, is_former=True)))
        if part.index is not None:
            rank = part.index - bisect_left(taken, part.index)
            stays = part.index_before is not None and not part.moved
            found.append(((rank, 2 if stays else 1, part.index), _Step(rank, number)))
            if stays:
                # What it says may be other than a neighbour's record tells.
                known.pop(rank, None)
    found += [((rank, 2, 0), _Step(rank, anchors=anchors)) for rank, anchors in known.items()]
    found.sort(key=lambda one: one[0])
    return [step for _, step in found], record.total_cells - len(taken)
