"""Locate cells without ids if only parts of one record have been undone since the edit."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from jupyter_nbedit.notebook.undo.record import CellUndo, NeighbourKey, UndoRecord

# The limit of possible states at one step.
_MOST_STATES = 256

# The difference in the number of cells so far, compared with directly after the edit; and the moved
# cells that were moved back and whose other position is still to come.
_State = tuple[int, frozenset[int]]


class CellComparator(Protocol):
    """Compares the cells of the current notebook with a record."""

    def is_unchanged_since_edit(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the cell of a part, as after the edit."""

    def has_content_before_edit(self, part: CellUndo, index: int) -> bool:
        """Return whether the cell at an index may be the cell of a part, as before the edit."""

    def matches_neighbour(self, anchor: NeighbourKey, index: int) -> bool:
        """Return whether the cell at an index may be a neighbour."""


@dataclass(frozen=True)
class Locations:
    """The indexes of cells and gaps, by the numbers of their parts."""

    cells: dict[int, int]
    gaps: dict[int, int]


@dataclass(frozen=True)
class _Step:
    """One step through the notebook.

    Parameters
    ----------
    rank
        How many cells that the edit did not move come before it.
    number
        The number of its part, or None.
    is_old_position
        Whether this is the position of the cell before the edit, not the one after it.
    anchors
        What is known of the cell, if the edit did not change it.
    """

    rank: int
    number: int | None = None
    is_old_position: bool = False
    anchors: list[NeighbourKey] = field(default_factory=list)


@dataclass(frozen=True)
class PartSelection:
    """The parts of a record whose cells are located.

    Parameters
    ----------
    record
        The record of the edit.
    numbers
        The numbers of the parts to locate; none of them has been undone.
    reverted_parts
        The numbers of the parts that have been undone; None if that is not known.
    """

    record: UndoRecord
    numbers: Collection[int]
    reverted_parts: Collection[int] | None

    def list_possible_states(self, number: int) -> list[bool]:
        """Return the possible values of whether a part has been undone."""
        if number in self.numbers:
            return [False]
        return [False, True] if self.reverted_parts is None else [number in self.reverted_parts]


def locate_cells(
    selection: PartSelection, size: int, comparator: CellComparator
) -> Locations | None:
    """Return the locations of parts; None if they are not certain.

    This visits the notebook once and follows all possibilities of which other parts were undone,
    dropping those that do not fit the cells.

    Parameters
    ----------
    selection
        The parts.
    size
        The number of cells of the notebook.
    comparator
        Compares its cells with the record.
    """
    steps, unmoved_count = _list_steps(selection.record)
    search = _LocationSearch(selection, size, comparator)
    states: list[set[_State]] = [{(0, frozenset())}]
    for step in steps:
        states.append(
            {next_state for state in states[-1] for next_state in search.iterate_next(step, state)}
        )
        if len(states[-1]) > _MOST_STATES:
            return None
    possible_states = {state for state in states.pop() if unmoved_count + state[0] == size}
    locations = Locations({}, {})
    for step in reversed(steps):
        possible_states = {
            state
            for state in states.pop()
            if not possible_states.isdisjoint(search.iterate_next(step, state))
        }
        if step.number is not None and step.number in selection.numbers:
            indexes = {step.rank + shift for shift, _ in possible_states}
            if len(indexes) != 1:
                return None
            (locations.gaps if step.is_old_position else locations.cells)[step.number] = (
                indexes.pop()
            )
    return locations if possible_states else None


@dataclass(frozen=True)
class _LocationSearch:
    """The search through one notebook."""

    selection: PartSelection
    size: int
    comparator: CellComparator

    def iterate_next(self, step: _Step, state: _State) -> Iterator[_State]:
        """Yield the states after a step."""
        shift, reverted_moves = state
        index = step.rank + shift
        if step.number is None:
            if index < self.size and all(
                self.comparator.matches_neighbour(anchor, index) for anchor in step.anchors
            ):
                yield state
            return
        part, options = (
            self.selection.record.parts[step.number],
            self.selection.list_possible_states(step.number),
        )
        if part.is_moved:
            is_first = step.is_old_position == self._has_old_position_first(part)
            options = options if is_first else [step.number in reverted_moves]
        for is_reverted in options:
            if is_reverted == step.is_old_position or self._is_in_place(part):
                # The cell is at this position.
                if self._has_expected_content(part, index, is_reverted=is_reverted):
                    is_counted = not self._is_in_place(part)
                    yield (
                        shift + is_counted,
                        self._update_pending_moves(
                            step, part, reverted_moves, is_reverted=is_reverted
                        ),
                    )
            else:
                yield (
                    shift,
                    self._update_pending_moves(step, part, reverted_moves, is_reverted=is_reverted),
                )

    def _update_pending_moves(
        self, step: _Step, part: CellUndo, reverted_moves: frozenset[int], *, is_reverted: bool
    ) -> frozenset[int]:
        """Remember where a moved cell is until its other position has been passed."""
        number = {step.number or 0}
        if (
            part.is_moved
            and is_reverted
            and step.is_old_position == self._has_old_position_first(part)
        ):
            return reverted_moves | number
        return reverted_moves - number

    def _has_old_position_first(self, part: CellUndo) -> bool:
        """Return whether the cell's position before the edit precedes the one after it."""
        gap = self.selection.record.gaps[part.gap_number or 0]
        return gap.gap_index <= (part.index or 0)

    @staticmethod
    def _is_in_place(part: CellUndo) -> bool:
        """Return whether the edit did not move the cell."""
        return part.index is not None and part.index_before is not None and not part.is_moved

    def _has_expected_content(self, part: CellUndo, index: int, *, is_reverted: bool) -> bool:
        matches = (
            self.comparator.has_content_before_edit
            if is_reverted
            else self.comparator.is_unchanged_since_edit
        )
        return index < self.size and matches(part, index)


def _list_steps(record: UndoRecord) -> tuple[list[_Step], int]:
    """Return the steps through a notebook, and how many cells the edit did not move."""
    new_indexes = sorted(
        part.index
        for part in record.parts
        if part.index is not None and (part.is_moved or part.index_before is None)
    )
    neighbours_by_rank: dict[int, list[NeighbourKey]] = defaultdict(list)
    ranks = [gap.gap_index - bisect_left(new_indexes, gap.gap_index) for gap in record.gaps]
    for gap, rank in zip(record.gaps, ranks, strict=True):
        for number, anchor in enumerate(gap.keys_before):
            neighbours_by_rank[rank - 1 - number].append(anchor)
        for number, anchor in enumerate(gap.keys_after):
            neighbours_by_rank[rank + number].append(anchor)
    ranked_steps: list[tuple[tuple[int, int, int], _Step]] = []
    for number, part in enumerate(record.parts):
        if part.gap_number is not None:
            rank = ranks[part.gap_number]
            # A restored cell directly follows the preceding unmoved cell, before others in that
            # gap.
            ranked_steps.append(
                ((rank, 0, part.index_before or 0), _Step(rank, number, is_old_position=True))
            )
        if part.index is not None:
            rank = part.index - bisect_left(new_indexes, part.index)
            is_in_place = part.index_before is not None and not part.is_moved
            ranked_steps.append(((rank, 2 if is_in_place else 1, part.index), _Step(rank, number)))
            if is_in_place:
                # Its content may differ from what a neighbour's record contains.
                neighbours_by_rank.pop(rank, None)
    ranked_steps += [
        ((rank, 2, 0), _Step(rank, anchors=anchors)) for rank, anchors in neighbours_by_rank.items()
    ]
    ranked_steps.sort(key=lambda ranked_step: ranked_step[0])
    return [step for _, step in ranked_steps], record.total_cells - len(new_indexes)
