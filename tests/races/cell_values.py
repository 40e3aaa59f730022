"""The values of each cell, one after the other, and the edits that they require.

Where an edit finds a value that no known edit has left, one without an answer must have left it. It
was made in a gap of the chain, between the last known edit of that cell and this one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.races.chain import Chain
from tests.races.history import CellStep, Edit, RefusedEdit


@dataclass(frozen=True)
class _PlacedEdit:
    """An edit without an answer that was made; the first and last position where it can be."""

    edit: Edit
    first: int
    last: int


@dataclass(frozen=True)
class _Value:
    """A value that a cell had, and the edit that has left it; None for the first."""

    value: str
    edit: Edit | None


class CellHistories:
    """The values of all cells of a notebook.

    They follow from those of the first version's cells, the chain of known edits, and edits of
    which nobody knows whether they were made.
    """

    def __init__(
        self, start: Sequence[tuple[str, str]], chain: Chain, unanswered: Iterable[Edit]
    ) -> None:
        self._chain = chain
        self._now: dict[str, str] = dict(start)
        self._lines = defaultdict[str, list[_Value]](list)
        for cell, value in start:
            self._lines[cell].append(_Value(value, None))
        self._touched: dict[str, int] = {}
        # What an edit without an answer would leave, or bring.
        self._leaving: dict[tuple[str, str], Edit] = {}
        self._new: dict[str, Edit] = {}
        self._removing = defaultdict[str, list[Edit]](list)
        for edit in unanswered:
            for step in edit.steps:
                if step.cell is None:
                    self._new[str(step.after)] = edit
                elif step.after is None:
                    self._removing[step.cell].append(edit)
                else:
                    self._leaving[step.cell, step.after] = edit
        self._placed: dict[str, _PlacedEdit] = {}
        self._wrong = list(self._follow_chain())

    def find_violations(self, final: Sequence[tuple[str, str]]) -> Iterator[str]:
        """List impossible values, given the cells of the last version."""
        yield from self._wrong
        yield from self._check_final(final)
        yield from self._check_gaps()

    def _follow_chain(self) -> Iterator[str]:
        for position, edit in enumerate(self._chain.edits):
            for step in edit.steps:
                yield from self._check_value(edit, step, position)
                self._set(step, edit, position + 1)

    def _set(self, step: CellStep, edit: Edit, position: int) -> None:
        if step.cell is None:
            # Its id can be seen in the last version alone.
            self._new[str(step.after)] = edit
        elif step.after is None:
            self._now.pop(step.cell, None)
        else:
            self._now[step.cell] = step.after
            self._touched[step.cell] = position
            self._lines[step.cell].append(_Value(step.after, edit))

    def _check_value(self, edit: Edit, step: CellStep, position: int) -> Iterator[str]:
        """Check that the cell had the value that the edit expected."""
        cell, expected = step.cell, step.before
        if cell is None:
            return
        had = self._now.get(cell)
        way: list[Edit] = []
        value = expected
        while value is not None and value != had and (cell, value) in self._leaving:
            way.append(self._leaving[cell, value])
            (value,) = (other.before for other in way[-1].steps if other.cell == cell)
        if value != had:
            then = "nothing" if had is None else had[:8]
            yield f"{edit.name} found {str(expected)[:8]} in {cell}, which then had {then}"
            return
        since = self._touched.get(cell, 0)
        for unanswered in reversed(way):
            self._narrow_position(unanswered, since, position)
            for other in unanswered.steps:
                self._set(other, unanswered, position)

    def _narrow_position(self, edit: Edit, first: int, last: int) -> None:
        known = self._placed.get(edit.name)
        if known is not None:
            first, last = max(first, known.first), min(last, known.last)
        self._placed[edit.name] = _PlacedEdit(edit, first, last)

    def _check_final(self, final: Sequence[tuple[str, str]]) -> Iterator[str]:
        """Compare the result of the edits with the file."""
        end = len(self._chain.edits)
        looking = Edit("the last reader", (), 0.0)
        left = dict(self._now)
        came: set[str] = set()
        for cell, value in final:
            if cell in left:
                yield from self._check_value(looking, CellStep(cell, value, value), end)
                del left[cell]
            elif value in self._new and value not in came:
                came.add(value)
                edit = self._new[value]
                if edit.hash is None:
                    self._narrow_position(edit, 0, end)
            else:
                yield f"the file has {cell} with {value[:8]}, and twice or from nowhere"
        for cell in left:
            removing = (edit for edit in self._removing[cell] if edit.name in self._placed)
            if cell in self._now and not any(removing):
                yield f"the file has no {cell}, which nobody has removed"
        for value, edit in self._new.items():
            if edit.hash is not None and value not in came:
                yield f"{edit.name} has brought {value[:8]}, which the file does not have"

    def _check_gaps(self) -> Iterator[str]:
        """Check that each gap is filled, and that each unanswered edit fits into one."""
        chain = self._chain
        begun, answered = chain.list_latest_calls(), chain.list_first_replies()

        def fits(placed: _PlacedEdit, gap: int) -> bool:
            edit = placed.edit
            in_time = edit.called_at <= answered[gap] and begun[gap] <= edit.returned_at
            return placed.first <= gap <= placed.last and in_time

        # Of those that fit into a gap the one fills it that fits into none so late.
        waiting: list[tuple[int, str]] = []
        for name, placed in self._placed.items():
            fitting = [gap for gap in chain.gaps if fits(placed, gap)]
            if fitting:
                waiting.append((fitting[-1], name))
            else:
                yield f"{name} was made, and there is no version that it has led to"
        waiting.sort()
        for gap in chain.gaps:
            filling = next((one for one in waiting if fits(self._placed[one[1]], gap)), None)
            if filling is None:
                where = (
                    f"before {chain.edits[gap].name}" if gap < len(chain.edits) else "at the end"
                )
                yield f"a version {where} comes from nothing that was asked for"
            else:
                waiting.remove(filling)

    def check_refusals(self, refusals: Iterable[RefusedEdit]) -> Iterator[str]:
        """Compare the values in errors with those that the cells had at that time."""
        places = {
            (cell, entry.value): place
            for cell, line in self._lines.items()
            for place, entry in enumerate(line)
        }
        for error in refusals:
            place = places.get((error.cell, error.value))
            what = f"an error has {error.value[:8]} of {error.cell}"
            if place is None:
                yield f"{what}, which it never had"
                continue
            line = self._lines[error.cell]
            by = line[place].edit
            later = line[place + 1].edit if place + 1 < len(line) else None
            if by is not None and by.called_at > error.returned_at:
                yield f"{what} before anybody asked for that"
            if later is not None and later.returned_at < error.called_at:
                yield f"{what} when that had been replaced"
