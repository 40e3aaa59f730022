"""A text with splices applied, computed when it is read if the text is not in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from jupyter_nbedit.notebook.lazy.buffer import Buffer, LazyBytes
from jupyter_nbedit.notebook.splices import Splice, apply_splices, iterate_segments


def splice_buffer(base: Buffer, splices: Sequence[Splice]) -> Buffer:
    """Return the spliced text; lazy bytes stay lazy."""
    if isinstance(base, bytes):
        return apply_splices(base, splices)
    return _SplicedBytes(base, splices)


class _SplicedBytes(LazyBytes):
    """The bytes that sorted splices make of lazy bytes."""

    def __init__(self, base: LazyBytes, splices: Sequence[Splice]) -> None:
        self._base = base
        self._segments = list(iterate_segments(len(base), splices))
        self._starts: list[int] = []
        size = 0
        for segment in self._segments:
            self._starts.append(size)
            size += len(segment) if isinstance(segment, bytes) else segment[1] - segment[0]
        super().__init__(size)

    def read_into(self, start: int, buffer: memoryview) -> None:
        """Fill a buffer from an offset."""
        number = bisect_right(self._starts, start) - 1
        while buffer:
            segment, offset = self._segments[number], start - self._starts[number]
            if isinstance(segment, bytes):
                part = segment[offset : offset + len(buffer)]
                buffer[: len(part)] = part
                size = len(part)
            else:
                first = segment[0] + offset
                size = min(len(buffer), segment[1] - first)
                self._base.read_into(first, buffer[:size])
            start, buffer, number = start + size, buffer[size:], number + 1
