"""Where many cells stand and what they are, in columns.

A notebook may have a hundred thousand cells. An object for each of them would take ten times the
memory, and the garbage collector would go through all of them while everybody waits.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import overload

from jupyter_nbedit.notebook.spans import Span

#: The id of a cell, if it has one, and its type.
Head = tuple[str | None, str]


class Spans(Sequence[Span]):  # noqa: PLW1641 -- cells can be added
    """Where each cell stands, in order.

    Parameters
    ----------
    starts, stops
        Where each begins and ends.
    """

    __slots__ = ("_starts", "_stops")

    def __init__(self, starts: Iterable[int] = (), stops: Iterable[int] = ()) -> None:
        self._starts = array("q", starts)
        self._stops = array("q", stops)

    @classmethod
    def of(cls, spans: Iterable[Span]) -> Spans:
        """Make columns of single ones."""
        found = cls()
        for start, stop in spans:
            found.add(start, stop)
        return found

    def add(self, start: int, stop: int) -> None:
        """Add one behind the others."""
        self._starts.append(start)
        self._stops.append(stop)

    def extend(self, more: Spans, by: int = 0) -> None:
        """Add others, each of them so much further behind."""
        self._starts.extend([one + by for one in more._starts] if by else more._starts)
        self._stops.extend([one + by for one in more._stops] if by else more._stops)

    @overload
    def __getitem__(self, part: int) -> Span: ...

    @overload
    def __getitem__(self, part: slice) -> Spans: ...

    def __getitem__(self, part: int | slice) -> Span | Spans:
        """Give one, or some that follow one another."""
        if isinstance(part, slice):
            return Spans(self._starts[part], self._stops[part])
        return Span(self._starts[part], self._stops[part])

    def __iter__(self) -> Iterator[Span]:
        """Go through them."""
        return starmap(Span, zip(self._starts, self._stops, strict=True))

    def __len__(self) -> int:
        """Count them."""
        return len(self._starts)

    def __eq__(self, other: object) -> bool:
        """Tell whether they are the same as others."""
        if isinstance(other, Spans):
            return (self._starts, self._stops) == (other._starts, other._stops)
        return list(self) == other if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        """Show them."""
        return f"Spans.of({list(self)!r})"


class Heads(Sequence[Head]):  # noqa: PLW1641 -- as above
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

    def extend(self, more: Heads) -> None:
        """Add others."""
        self.ids.extend(more.ids)
        self.cell_types.extend(more.cell_types)

    @overload
    def __getitem__(self, part: int) -> Head: ...

    @overload
    def __getitem__(self, part: slice) -> Heads: ...

    def __getitem__(self, part: int | slice) -> Head | Heads:
        """Give one, or some that follow one another."""
        if isinstance(part, slice):
            return Heads(self.ids[part], self.cell_types[part])
        return self.ids[part], self.cell_types[part]

    def __iter__(self) -> Iterator[Head]:
        """Go through them."""
        return zip(self.ids, self.cell_types, strict=True)

    def __len__(self) -> int:
        """Count them."""
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        """Tell whether they are the same as others."""
        if isinstance(other, Heads):
            return (self.ids, self.cell_types) == (other.ids, other.cell_types)
        return list(self) == other if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        """Show them."""
        return f"Heads({self.ids!r}, {self.cell_types!r})"
