"""Splices: the edits of a text as byte ranges and their replacements."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jupyter_nbedit.notebook.lazy.buffer import Buffer, LazyBytes, iterate_chunks


class Splice(NamedTuple):
    """Replace ``base[start:stop]`` by ``text``."""

    start: int
    stop: int
    text: bytes


def iterate_segments(size: int, splices: Iterable[Splice]) -> Iterator[tuple[int, int] | bytes]:
    """Yield the segments of a spliced text in order: ranges of the base, and new bytes.

    ``size`` is the size of the base; splices are sorted, and their ranges must not overlap.
    """
    position = 0
    for splice in splices:
        if position < splice.start:
            yield position, splice.start
        if splice.text:
            yield splice.text
        position = splice.stop
    if position < size:
        yield position, size


def iterate_spliced_chunks(base: Buffer, splices: Iterable[Splice]) -> Iterator[memoryview]:
    """Yield a spliced text in parts; parts in memory are not copied."""
    for segment in iterate_segments(len(base), splices):
        if isinstance(segment, bytes):
            yield memoryview(segment)
        else:
            yield from iterate_chunks(base, *segment)


def apply_splices(base: Buffer, splices: Iterable[Splice]) -> bytes:
    """Return the spliced text."""
    return b"".join(iterate_spliced_chunks(base, splices))


def splice_buffer(base: Buffer, splices: Sequence[Splice]) -> Buffer:
    """Return the spliced text; lazy bytes stay lazy."""
    if isinstance(base, bytes):
        return apply_splices(base, splices)
    return _SplicedBytes(base, splices)


def invert_splices(base: Buffer, splices: Sequence[Splice]) -> list[Splice]:
    """Return the splices that turn the spliced text back into the base, byte for byte."""
    shift = 0
    undo: list[Splice] = []
    for start, stop, text in splices:
        undo.append(Splice(start + shift, start + shift + len(text), base[start:stop]))
        shift += len(text) - (stop - start)
    return undo


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
