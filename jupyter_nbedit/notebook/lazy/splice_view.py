"""A text that is another one with splices, without being made."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from jupyter_nbedit.notebook.lazy.buffer import LazyBytes
from jupyter_nbedit.notebook.splices import Splice, iterate_segments


class SplicedView:
    """What splices make of a text.

    Parameters
    ----------
    base
        The text.
    splices
        In order of their ranges, which must not overlap.
    """

    def __init__(self, base: LazyBytes, splices: Sequence[Splice]) -> None:
        self._base = base
        self._runs = list(iterate_segments(len(base), splices))
        self._starts: list[int] = []
        self._size = 0
        for run in self._runs:
            self._starts.append(self._size)
            self._size += len(run) if isinstance(run, bytes) else run[1] - run[0]

    def __len__(self) -> int:
        """Count the bytes."""
        return self._size

    @overload
    def __getitem__(self, part: int) -> int: ...

    @overload
    def __getitem__(self, part: slice) -> bytes: ...

    def __getitem__(self, part: int | slice) -> int | bytes:
        """Return a byte, or a range of them."""
        if isinstance(part, int):
            at = part + self._size if part < 0 else part
            return self[at : at + 1][0]
        start, stop, _ = part.indices(self._size)
        room = bytearray(max(0, stop - start))
        self.read_into(start, memoryview(room))
        return bytes(room)

    def read_into(self, start: int, room: memoryview) -> None:
        """Fill a buffer with what stands at an offset."""
        at = 0
        for run, first, last in self._iterate_within(start, start + len(room)):
            part = room[at : at + last - first]
            if isinstance(run, bytes):
                part[:] = run[first:last]
            else:
                self._base.read_into(run[0] + first, part)
            at += last - first

    def _iterate_within(
        self, start: int, stop: int
    ) -> Iterator[tuple[tuple[int, int] | bytes, int, int]]:
        """Yield the runs of a range, each with the part of it that is in the range."""
        at = max(0, bisect_right(self._starts, start) - 1)
        while start < stop:
            begin = self._starts[at]
            end = self._starts[at + 1] if at + 1 < len(self._starts) else self._size
            last = min(stop, end)
            yield self._runs[at], start - begin, last - begin
            start, at = last, at + 1
