"""A read-only view of a text with splices applied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from jupyter_nbedit.notebook.lazy.buffer import LazyBytes
from jupyter_nbedit.notebook.splices import Splice, iterate_segments


class SplicedView:
    """The bytes that splices make of a text, computed when they are read.

    Parameters
    ----------
    base
        The text.
    splices
        Sorted; their ranges must not overlap.
    """

    def __init__(self, base: LazyBytes, splices: Sequence[Splice]) -> None:
        self._base = base
        self._segments = list(iterate_segments(len(base), splices))
        self._starts: list[int] = []
        self._size = 0
        for segment in self._segments:
            self._starts.append(self._size)
            self._size += len(segment) if isinstance(segment, bytes) else segment[1] - segment[0]

    def __len__(self) -> int:
        """Return the number of bytes."""
        return self._size

    @overload
    def __getitem__(self, part: int) -> int: ...

    @overload
    def __getitem__(self, part: slice) -> bytes: ...

    def __getitem__(self, part: int | slice) -> int | bytes:
        """Return a byte, or the bytes of a slice."""
        if isinstance(part, int):
            index = part + self._size if part < 0 else part
            return self[index : index + 1][0]
        start, stop, _ = part.indices(self._size)
        buffer = bytearray(max(0, stop - start))
        self.read_into(start, memoryview(buffer))
        return bytes(buffer)

    def read_into(self, start: int, buffer: memoryview) -> None:
        """Fill a buffer from an offset."""
        position = 0
        for segment, first, last in self._iterate_range(start, start + len(buffer)):
            part = buffer[position : position + last - first]
            if isinstance(segment, bytes):
                part[:] = segment[first:last]
            else:
                self._base.read_into(segment[0] + first, part)
            position += last - first

    def _iterate_range(
        self, start: int, stop: int
    ) -> Iterator[tuple[tuple[int, int] | bytes, int, int]]:
        """Yield the segments of a range, each with the part of it that is in the range."""
        number = max(0, bisect_right(self._starts, start) - 1)
        while start < stop:
            begin = self._starts[number]
            end = self._starts[number + 1] if number + 1 < len(self._starts) else self._size
            last = min(stop, end)
            yield self._segments[number], start - begin, last - begin
            start, number = last, number + 1
