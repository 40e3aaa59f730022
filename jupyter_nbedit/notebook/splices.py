"""What an edit does to a text: ranges of bytes, and what takes their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jupyter_nbedit.notebook.lazy.buffer import Buffer, iterate_chunks


class Splice(NamedTuple):
    """Replace ``base[start:stop]`` by ``text``."""

    start: int
    stop: int
    text: bytes


def iterate_segments(size: int, splices: Iterable[Splice]) -> Iterator[tuple[int, int] | bytes]:
    """Yield what a spliced text consists of, in order: ranges of its base, and new bytes.

    Parameters
    ----------
    size
        How many bytes the base has.
    splices
        In order of their ranges, which must not overlap.
    """
    at = 0
    for splice in splices:
        if at < splice.start:
            yield at, splice.start
        if splice.text:
            yield splice.text
        at = splice.stop
    if at < size:
        yield at, size


def iterate_spliced_chunks(base: Buffer, splices: Iterable[Splice]) -> Iterator[memoryview]:
    """Go through a spliced text; what is in memory is not copied, what is not is read in pieces.

    Parameters
    ----------
    base
        The text that the splices were made for.
    splices
        In order of their ranges, which must not overlap.
    """
    for run in iterate_segments(len(base), splices):
        if isinstance(run, bytes):
            yield memoryview(run)
        else:
            yield from iterate_chunks(base, *run)


def apply_splices(base: Buffer, splices: Iterable[Splice]) -> bytes:
    """Return the spliced text as a whole."""
    return b"".join(iterate_spliced_chunks(base, splices))


def invert_splices(base: Buffer, splices: Sequence[Splice]) -> list[Splice]:
    """Return the splices that turn the spliced text back into the base, byte for byte."""
    shift = 0
    undo: list[Splice] = []
    for start, stop, text in splices:
        undo.append(Splice(start + shift, start + shift + len(text), base[start:stop]))
        shift += len(text) - (stop - start)
    return undo
