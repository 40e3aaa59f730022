"""Which cells stand where after a batch, and the splices that bring them there.

A batch's positions name gaps of the notebook *as it was*: gap ``n`` is before cell ``n``, gap
``len(document)`` is the end. What is put into one gap stands there in the order of the operations.
A position beside a cell that the batch itself inserted or moved is relative to where that cell
comes to stand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.style import Style

#: A place among the cells. Compared as tuples: ``(gap, n, ±k…)`` for what is put into a gap.
Place = tuple[int, ...]


@dataclass
class Arrangement:
    """The order of a notebook's cells while a batch is applied to it.

    Cells are named by tokens: those of the document by their index, new ones by negative numbers
    that `insert` hands out.
    """

    document: Document
    _gone: set[int] = field(default_factory=set)
    _placed: dict[int, Place] = field(default_factory=dict)
    _count: int = 0

    def gap(self, index: int) -> Place:
        """Give the next free place in a gap."""
        self._count += 1
        return (index, self._count, 0)

    def beside(self, token: int, *, after: bool) -> Place:
        """Give the next free place before or after a cell."""
        if token not in self._placed:
            return self.gap(token + after)
        self._count += 1
        # A cell's own place ends with 0, so these sort right before and right after it.
        side = (1, self._count, 0) if after else (-1, self._count, 0)
        return self._placed[token][:-1] + side

    def insert(self, place: Place) -> int:
        """Put a new cell into a place and give its token."""
        token = -1 - self._count
        self._placed[token] = place
        return token

    def move(self, token: int, place: Place) -> None:
        """Put a cell that is there already into another place."""
        if token >= 0:
            self._gone.add(token)
        self._placed[token] = place

    def delete(self, token: int) -> None:
        """Take a cell out."""
        if token >= 0:
            self._gone.add(token)
        self._placed.pop(token, None)

    def __len__(self) -> int:
        """Count the cells there are after the batch."""
        return len(self.document) - len(self._gone) + len(self._placed)

    def index(self, token: int) -> int:
        """Tell where a cell stands after the batch."""
        place = self._placed.get(token, (token,))
        gone_before = sum(1 for gone in self._gone if gone < place[0])
        placed_before = sum(
            1
            for other, at in self._placed.items()
            # What is put into gap n stands before cell n itself.
            if (at < place if token in self._placed else at[0] <= token) and other != token
        )
        return place[0] - gone_before + placed_before

    def splices(self, style: Style, written: Callable[[int], bytes]) -> list[Splice]:
        """Give the splices that put the cells in order.

        Parameters
        ----------
        style
            Tells what separates cells where the file has no example of its own.
        written
            Gives the bytes of a new or moved cell.
        """
        stretches = list(self._stretches())
        # A separator that one place no longer needs serves another, so that moving a cell and
        # moving it back leaves even an oddly laid out file as it was.
        spare: deque[bytes] = deque()
        for stretch in stretches:
            spare.extend(stretch.spare)
        return [
            splice
            for stretch in stretches
            for splice in stretch.splices(self.document, style, spare, written)
        ]

    def _stretches(self) -> Iterator[_Stretch]:
        """Group what changes into runs of neighbouring gaps, joined by cells that go."""
        placed = sorted((place, token) for token, place in self._placed.items())
        touched = {place[0] for place, _ in placed}
        touched |= self._gone | {token + 1 for token in self._gone}
        done = -1
        for first in sorted(touched):
            if first <= done:
                continue
            last = first
            while last in self._gone:
                last += 1
            done = last
            start = bisect_left(placed, ((first,), 0))
            stop = bisect_left(placed, ((last + 1,), 0))
            tokens = [token for _, token in placed[start:stop]]
            if tokens != list(range(first, last)):
                yield _Stretch.of(self.document, first, last, tokens)


@dataclass(frozen=True)
class _Stretch:
    """The gaps ``first`` to ``last``; every cell between them goes, and ``tokens`` come."""

    first: int
    last: int
    tokens: list[int]
    gaps: list[bytes]
    needed: int

    @classmethod
    def of(cls, document: Document, first: int, last: int, tokens: list[int]) -> _Stretch:
        gaps = [_gap(document, index) for index in range(first, last + 1)]
        if last == len(document):
            # The white space before the closing bracket stays where it is.
            gaps.pop()
        return cls(first, last, tokens, gaps, len(tokens) + (last < len(document)))

    @property
    def spare(self) -> list[bytes]:
        return self.gaps[self.needed :]

    def splices(
        self,
        document: Document,
        style: Style,
        spare: deque[bytes],
        written: Callable[[int], bytes],
    ) -> list[Splice]:
        start, _ = _gap_range(document, self.first)
        stop = _gap_range(document, self.last)[self.last < len(document)]
        cells = [written(token) for token in self.tokens]
        if not document.cell_spans:
            return [
                Splice(start, stop + len(_gap(document, 0)), style.cells.wrap(cells, b"[]")[1:-1])
            ]
        if not cells and self.first == 0 and self.last == len(document):
            return [Splice(start, _gap_range(document, self.last)[1], b"")]
        gaps = self.gaps[: self.needed]
        while len(gaps) < self.needed:
            gaps.append(spare.popleft() if spare else style.cells.separator)
        parts = [part for pair in zip(gaps, cells, strict=False) for part in pair]
        parts += gaps[len(cells) :]
        if self.gaps and self.needed:
            # The first gap is where it was; without it a splice is a pure insertion or deletion.
            start += len(parts.pop(0))
        return [Splice(start, stop, b"".join(parts))]


def _gap_range(document: Document, index: int) -> tuple[int, int]:
    """Tell where the bytes before a cell begin and end; behind the last one, before the bracket."""
    cells = document.cell_spans
    start = cells[index - 1].stop if index else document.cells_span.start + 1
    stop = cells[index].start if index < len(cells) else document.cells_span.stop - 1
    return start, stop


def _gap(document: Document, index: int) -> bytes:
    start, stop = _gap_range(document, index)
    return document.text[start:stop]
