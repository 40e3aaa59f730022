"""Where many cells stand and what they are, in columns.

A notebook may have a hundred thousand cells. An object for each of them would take ten times the
memory, and the garbage collector would go through all of them while everybody waits.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import starmap
from typing import overload

from jupyter_nbedit.notebook.json_spans import Span, list_bounds
from jupyter_nbedit.notebook.lazy.buffer import Buffer

#: The id of a cell, if it has one, and its type.
CellHeader = tuple[str | None, str]


class CellSpans(Sequence[Span]):  # noqa: PLW1641 -- cells can be added
    """Where each cell stands, in order.

    Of cells that are known to follow one another in a range of the text, each is found when
    somebody asks for one of them: an edit asks for few.

    Parameters
    ----------
    starts, stops
        Where each begins and ends.
    text
        The text, if some are to be found in it.
    """

    __slots__ = ("_firsts", "_left", "_starts", "_stops", "_text")

    def __init__(
        self, starts: Iterable[int] = (), stops: Iterable[int] = (), text: Buffer = b""
    ) -> None:
        self._starts = array("q", starts)
        self._stops = array("q", stops)
        # Of each range, the index of its first cell; and while nobody has asked, the index behind
        # its last one and where it stands.
        self._firsts: list[int] = []
        self._left: dict[int, tuple[int, Span]] = {}
        self._text = text

    @classmethod
    def from_spans(cls, spans: Iterable[Span]) -> CellSpans:
        """Make columns of single ones."""
        found = cls()
        for start, stop in spans:
            found._starts.append(start)
            found._stops.append(stop)
        return found

    def bind(self, text: Buffer) -> CellSpans:
        """Return the same in a text of the same bytes; what is found in one is known in both."""
        same = copy(self)
        same._text = text  # noqa: SLF001 -- it is one of this class
        return same

    def add(self, count: int, span: Span) -> None:
        """Add so many cells, which fill a range but for what is between them."""
        first = len(self)
        nowhere = bytes(count * self._starts.itemsize)
        self._starts.frombytes(nowhere)
        self._stops.frombytes(nowhere)
        self._firsts.append(first)
        self._left[first] = first + count, span

    def extend(self, more: CellSpans, by: int = 0) -> None:
        """Add others, each of them so much further behind."""
        # First, for what is found meanwhile is only looked for once more.
        for first, (last, (start, stop)) in sorted(more._left.copy().items()):
            self._firsts.append(first + len(self))
            self._left[first + len(self)] = last + len(self), Span(start + by, stop + by)
        self._starts.extend([one + by for one in more._starts] if by else more._starts)
        self._stops.extend([one + by for one in more._stops] if by else more._stops)

    def count_ending_before(self, offset: int) -> int:
        """Count the cells that end before an offset."""
        return bisect_left(self, offset, *self._find_bounds(offset), key=lambda cell: cell.stop)

    def count_starting_at_or_before(self, offset: int) -> int:
        """Count the cells that begin before an offset, or there."""
        return bisect_right(self, offset, *self._find_bounds(offset), key=lambda cell: cell.start)

    def _find_bounds(self, offset: int) -> tuple[int, int]:
        """Return between which cells an offset is, as far as that is known."""
        first, last = 0, len(self)
        for begin, (end, (start, stop)) in self._left.copy().items():
            if stop < offset:
                first = max(first, end)
            elif start > offset:
                last = min(last, begin)
        return first, last

    def _find(self, index: int) -> None:
        """Find a cell, and those around it."""
        at = bisect_right(self._firsts, index) - 1
        first = self._firsts[at] if at >= 0 else -1
        last, span = self._left.get(first, (-1, Span(0, 0)))
        if index >= last:
            return
        cells = bytearray(2 + span.stop - span.start)
        cells[:1], cells[-1:] = b"[", b"]"
        room = memoryview(cells)[1:-1]
        if isinstance(self._text, bytes):
            room[:] = memoryview(self._text)[span.start : span.stop]
        else:
            self._text.read_into(span.start, room)
        by = span.start - 1
        starts, stops = list_bounds(cells, Span(0, len(cells)))
        if len(starts) != last - first:
            message = f"Expected {last - first} cells where they were counted, found {len(starts)}."
            raise ValueError(message)
        # Whoever looks for them at the same time finds the same.
        self._starts[first:last] = array("q", [one + by for one in starts])
        self._stops[first:last] = array("q", [one + by for one in stops])
        self._left.pop(first, None)

    def _find_all(self) -> None:
        for first in sorted(self._left.copy()):
            self._find(first)

    @overload
    def __getitem__(self, part: int) -> Span: ...

    @overload
    def __getitem__(self, part: slice) -> CellSpans: ...

    def __getitem__(self, part: int | slice) -> Span | CellSpans:
        """Return one, or some that follow one another."""
        if isinstance(part, slice):
            return self._get_slice(*part.indices(len(self))[:2])
        if self._left:
            self._find(part + len(self) if part < 0 else part)
        return Span(self._starts[part], self._stops[part])

    def _get_slice(self, first: int, last: int) -> CellSpans:
        if first < last:
            # No range is cut in two.
            self._find(first)
            self._find(last - 1)
        ranges = sorted(self._left.copy().items())
        some = CellSpans(self._starts[first:last], self._stops[first:last], self._text)
        for begin, (end, span) in ranges:
            if first <= begin < last:
                some._firsts.append(begin - first)
                some._left[begin - first] = end - first, span
        return some

    def __iter__(self) -> Iterator[Span]:
        """Go through them."""
        self._find_all()
        return starmap(Span, zip(self._starts, self._stops, strict=True))

    def __len__(self) -> int:
        """Count them."""
        return len(self._starts)

    def __eq__(self, other: object) -> bool:
        """Return whether they are the same as others."""
        if isinstance(other, CellSpans):
            self._find_all()
            other._find_all()
            return (self._starts, self._stops) == (other._starts, other._stops)
        return list(self) == other if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        """Show them."""
        return f"Spans.of({list(self)!r})"


class CellHeaders(Sequence[CellHeader]):  # noqa: PLW1641 -- as above
    """What each cell is, in order.

    Parameters
    ----------
    ids, cell_types
        The id of each, if it has one, and its type.
    """

    __slots__ = ("cell_types", "ids")

    def __init__(self, ids: Iterable[str | None] = (), cell_types: Iterable[str] = ()) -> None:
        self.ids = list(ids)
        self.cell_types = list(cell_types)

    def add(self, cell_id: str | None, cell_type: str) -> None:
        """Add one behind the others."""
        self.ids.append(cell_id)
        self.cell_types.append(cell_type)

    def extend(self, more: CellHeaders) -> None:
        """Add others."""
        self.ids.extend(more.ids)
        self.cell_types.extend(more.cell_types)

    @overload
    def __getitem__(self, part: int) -> CellHeader: ...

    @overload
    def __getitem__(self, part: slice) -> CellHeaders: ...

    def __getitem__(self, part: int | slice) -> CellHeader | CellHeaders:
        """Return one, or some that follow one another."""
        if isinstance(part, slice):
            return CellHeaders(self.ids[part], self.cell_types[part])
        return self.ids[part], self.cell_types[part]

    def __iter__(self) -> Iterator[CellHeader]:
        """Go through them."""
        return zip(self.ids, self.cell_types, strict=True)

    def __len__(self) -> int:
        """Count them."""
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        """Return whether they are the same as others."""
        if isinstance(other, CellHeaders):
            return (self.ids, self.cell_types) == (other.ids, other.cell_types)
        return list(self) == other if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        """Show them."""
        return f"Heads({self.ids!r}, {self.cell_types!r})"
