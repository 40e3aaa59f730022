"""The headers and the spans of many cells, with spans stored in columns, also after an edit.

A notebook may have a hundred thousand cells. One object for each would take ten times the memory,
and garbage collection would stop the server while it visits them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import overload

import msgspec

from jupyter_nbedit.notebook.json_spans import Span, list_bounds
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.splices import Splice

#: The id of a cell, or None, and its type.
CellHeader = tuple[str | None, str]


class _Header(msgspec.Struct, gc=False):
    """The header of a cell; the last of repeated members counts, as everywhere in Jupyter."""

    cell_type: str
    id: str | None = None


_HEADERS = msgspec.json.Decoder(list[_Header])
_SPACE = b" \t\r\n"


class CellSpans(Sequence[Span]):  # noqa: PLW1641 -- cells can be added
    """The spans of the cells, in order.

    Ranges of cells can be added unresolved: only the number of cells and the range of the text are
    known. The spans of a range are found when one of these spans is needed; an edit needs few.

    ``text`` is the text in which unresolved spans are found.
    """

    __slots__ = ("_firsts", "_starts", "_stops", "_text", "_unresolved")

    def __init__(
        self, starts: Iterable[int] = (), stops: Iterable[int] = (), text: Buffer = b""
    ) -> None:
        self._starts = array("q", starts)
        self._stops = array("q", stops)
        # The index of the first cell of each range. While a range is unresolved: the index after
        # its last cell, and its range of the text.
        self._firsts: list[int] = []
        self._unresolved: dict[int, tuple[int, Span]] = {}
        self._text = text

    def bind(self, text: Buffer) -> CellSpans:
        """Return the same spans for another buffer with equal bytes; resolved spans are shared."""
        spans = copy(self)
        spans._text = text  # noqa: SLF001 -- it is one of this class
        return spans

    def add_unresolved(self, count: int, span: Span) -> None:
        """Add cells that fill a range of the text except for their separators."""
        if count == 1:
            # It may be large, and need not be read.
            self._starts.append(span.start)
            self._stops.append(span.stop)
            return
        first = len(self)
        zeros = bytes(count * self._starts.itemsize)
        self._starts.frombytes(zeros)
        self._stops.frombytes(zeros)
        self._firsts.append(first)
        self._unresolved[first] = first + count, span

    def extend(self, spans: CellSpans, offset: int = 0) -> None:
        """Append other spans, each moved by an offset."""
        # First the ranges: another thread may resolve one now, and then it is only resolved twice.
        for first, (last, (start, stop)) in sorted(spans._unresolved.copy().items()):
            self._firsts.append(first + len(self))
            self._unresolved[first + len(self)] = (
                last + len(self),
                Span(start + offset, stop + offset),
            )
        self._starts.extend(
            [position + offset for position in spans._starts] if offset else spans._starts
        )
        self._stops.extend(
            [position + offset for position in spans._stops] if offset else spans._stops
        )

    def count_ending_before(self, offset: int) -> int:
        """Return how many cells end before an offset."""
        return bisect_left(self._stops, offset, *self._resolve_around(offset))

    def count_starting_at_or_before(self, offset: int) -> int:
        """Return how many cells start at or before an offset."""
        return bisect_right(self._starts, offset, *self._resolve_around(offset))

    def _resolve_around(self, offset: int) -> tuple[int, int]:
        """Return the indexes between which the cell at an offset must be, all of them resolved."""
        first, last = 0, len(self._starts)
        for begin, (end, (start, stop)) in self._unresolved.copy().items():
            if stop < offset:
                first = max(first, end)
            elif start > offset:
                last = min(last, begin)
            else:
                self._resolve(begin)
        return first, last

    def _resolve(self, index: int) -> None:
        """Find the spans of the range that contains a cell."""
        number = bisect_right(self._firsts, index) - 1
        first = self._firsts[number] if number >= 0 else -1
        last, span = self._unresolved.get(first, (-1, Span(0, 0)))
        if index >= last:
            return
        cells = b"".join((b"[", self._text[span.start : span.stop], b"]"))
        offset = span.start - 1
        starts, stops = list_bounds(cells, Span(0, len(cells)))
        if len(starts) != last - first:
            message = f"Expected {last - first} cells where they were counted, found {len(starts)}."
            raise ValueError(message)
        # Another thread that resolves the range at the same time finds the same spans.
        self._starts[first:last] = array("q", [position + offset for position in starts])
        self._stops[first:last] = array("q", [position + offset for position in stops])
        self._unresolved.pop(first, None)

    def _resolve_all(self) -> None:
        for first in sorted(self._unresolved.copy()):
            self._resolve(first)

    @overload
    def __getitem__(self, part: int) -> Span: ...

    @overload
    def __getitem__(self, part: slice) -> CellSpans: ...

    def __getitem__(self, part: int | slice) -> Span | CellSpans:
        """Return one span, or the spans of a slice."""
        if isinstance(part, slice):
            return self._get_slice(*part.indices(len(self))[:2])
        if self._unresolved:
            self._resolve(part + len(self) if part < 0 else part)
        return Span(self._starts[part], self._stops[part])

    def _get_slice(self, first: int, last: int) -> CellSpans:
        if first < last:
            # A range must not be split.
            self._resolve(first)
            self._resolve(last - 1)
        ranges = sorted(self._unresolved.copy().items())
        selection = CellSpans(self._starts[first:last], self._stops[first:last], self._text)
        for begin, (end, span) in ranges:
            if first <= begin < last:
                selection._firsts.append(begin - first)
                selection._unresolved[begin - first] = end - first, span
        return selection

    def __iter__(self) -> Iterator[Span]:
        """Yield all spans."""
        self._resolve_all()
        return map(Span, self._starts, self._stops)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self._starts)

    def __eq__(self, other: object) -> bool:
        """Return whether all spans are equal."""
        if isinstance(other, CellSpans):
            self._resolve_all()
            other._resolve_all()
            return (self._starts, self._stops) == (other._starts, other._stops)
        return list(self) == other if isinstance(other, list) else NotImplemented


def decode_headers(array: bytes | memoryview) -> list[CellHeader]:
    """Decode the headers of an array of cells.

    Raises
    ------
    msgspec.DecodeError, RecursionError
        If it is not an array of objects with types and ids as nbformat has them, or not JSON.
    """
    return [(header.id, header.cell_type) for header in _HEADERS.decode(array)]


def rescan_edited(
    text: Buffer,
    array: Span,
    cells: CellSpans,
    headers: Sequence[CellHeader],
    splices: Sequence[Splice],
) -> tuple[CellSpans, list[CellHeader]] | None:
    """Return the cells of a notebook after sorted splices; None if all of it must be parsed.

    ``text`` is the notebook after the edit; the array of cells and the cells are as before.
    """
    new_cells = CellSpans(text=text)
    new_headers: list[CellHeader] = []
    position = shift = 0
    if splices and not (cells and array.start < splices[0].start and splices[-1].stop < array.stop):
        return None
    for first, last, growth in _group_splices(cells, splices):
        start = cells[first - 1].stop if first else array.start + 1
        stop = cells[last].start if last < len(cells) else array.stop - 1
        part = text[start + shift : stop + shift + growth]
        # Between two cells, or between a cell and a bracket, are commas, white space and cells.
        core = part.strip(_SPACE)
        comma_before, comma_after = b","[: first > 0], b","[: last < len(cells)]
        inner = core[len(comma_before) : len(core) - len(comma_after)]
        if core != comma_before + inner + comma_after:
            return None
        scanned = b"[" + inner + b"]"
        try:
            scanned_headers = decode_headers(scanned)
        except (msgspec.DecodeError, RecursionError):
            return None
        if not scanned_headers:
            # A comma without a cell, or no cell at all.
            return None
        offset = len(part) - len(part.lstrip(_SPACE)) + len(comma_before) - 1
        scanned_cells = CellSpans(*list_bounds(scanned, Span(0, len(scanned))))
        new_cells.extend(cells[position:first], shift)
        new_cells.extend(scanned_cells, start + shift + offset)
        new_headers += headers[position:first]
        new_headers += scanned_headers
        position, shift = last, shift + growth
    new_cells.extend(cells[position:], shift)
    new_headers += headers[position:]
    return new_cells, new_headers


def _group_splices(cells: CellSpans, splices: Sequence[Splice]) -> Iterator[tuple[int, int, int]]:
    """Group splices that touch the same cells, or the same gap between two cells.

    Yield the index of the first cell, that after the last, and by how many bytes they grow.
    """
    first = last = growth = 0
    for number, splice in enumerate(splices):
        low = cells.count_ending_before(splice.start)
        high = max(low, cells.count_starting_at_or_before(splice.stop))
        if number == 0:
            first = low
        elif low > last:
            yield first, last, growth
            first, growth = low, 0
        last = max(last, high)
        growth += len(splice.text) - (splice.stop - splice.start)
    if splices:
        yield first, last, growth
