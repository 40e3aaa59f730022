"""What an edit does to a text: ranges of bytes, and what takes their place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Splice(NamedTuple):
    """Replace ``base[start:stop]`` by ``text``."""

    start: int
    stop: int
    text: bytes


def pieces(base: bytes, splices: Iterable[Splice]) -> list[memoryview]:
    """List what the spliced text consists of, in order, without copying the base.

    Parameters
    ----------
    base
        The text that the splices were made for.
    splices
        In order of their ranges, which must not overlap.
    """
    view = memoryview(base)
    parts: list[memoryview] = []
    at = 0
    for splice in splices:
        parts += [view[at : splice.start], memoryview(splice.text)]
        at = splice.stop
    return [part for part in (*parts, view[at:]) if part]


def join(base: bytes, splices: Iterable[Splice]) -> bytes:
    """Give the spliced text as a whole."""
    return b"".join(pieces(base, splices))


def backwards(base: bytes, splices: Sequence[Splice]) -> list[Splice]:
    """Give the splices that turn the spliced text back into the base, byte for byte."""
    shift = 0
    undo: list[Splice] = []
    for start, stop, text in splices:
        undo.append(Splice(start + shift, start + shift + len(text), base[start:stop]))
        shift += len(text) - (stop - start)
    return undo
