"""Where the cells stand after an edit, found by looking at the places that it touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.lazy.columns import CellSpans
from jupyter_nbedit.notebook.lazy.scan import HEADS, ScannedHeader
from jupyter_nbedit.notebook.splices import Splice

_SPACE = b" \t\r\n"


@dataclass(frozen=True)
class EditedRange:
    """Neighbouring cells that an edit may have changed.

    Parameters
    ----------
    first, last
        The indexes of the first one, and of the one behind the last.
    spans, heads
        Of the cells that stand there after the edit.
    shift
        How much further those behind it stand then.
    """

    first: int
    last: int
    spans: list[Span]
    heads: list[ScannedHeader]
    shift: int


def rescan_edited(
    text: Buffer, array: Span, cells: CellSpans, splices: Sequence[Splice]
) -> list[EditedRange] | None:
    """Look at what splices changed.

    Parameters
    ----------
    text
        The notebook after the edit.
    array, cells
        Where the array of cells and each of them stood before it.
    splices
        The edit, in order.

    Returns
    -------
    What is there, in order; None if only looking at the whole notebook tells.
    """
    if not cells or splices[0].start <= array.start or splices[-1].stop >= array.stop:
        return None
    found: list[EditedRange] = []
    shift = 0
    for first, last, inner in _group_splices(cells, splices):
        start = cells[first - 1].stop if first else array.start + 1
        stop = cells[last].start if last < len(cells) else array.stop - 1
        by = shift
        shift += sum(len(one.text) - (one.stop - one.start) for one in inner)
        seen = _scan_between(
            text[start + by : stop + shift], follows=first > 0, goes_on=last < len(cells)
        )
        if seen is None:
            return None
        moved = [Span(begin + start + by, end + start + by) for begin, end in seen[0]]
        found.append(EditedRange(first, last, moved, seen[1], shift))
    return found


def _group_splices(
    cells: CellSpans, splices: Sequence[Splice]
) -> Iterator[tuple[int, int, list[Splice]]]:
    """Group splices that touch the same cells, or the same place between two."""
    inner: list[Splice] = []
    first = last = 0
    for splice in splices:
        low, high = (
            cells.count_ending_before(splice.start),
            cells.count_starting_at_or_before(splice.stop),
        )
        if inner and low > last:
            yield first, last, inner
            inner = []
        first, last = (min(first, low), max(last, high)) if inner else (low, max(low, high))
        inner.append(splice)
    yield first, last, inner


def _scan_between(
    part: bytes, *, follows: bool, goes_on: bool
) -> tuple[list[Span], list[ScannedHeader]] | None:
    """Find the cells in what stands between two others, or between one and a bracket."""
    core = part.strip(_SPACE)
    if core == (b"," if follows and goes_on else b""):
        return [], []
    inner = core[follows : len(core) - goes_on]
    if core[:follows] != b","[:follows] or core[len(core) - goes_on :] != b","[:goes_on]:
        return None
    array = b"[" + inner + b"]"
    try:
        heads = HEADS.decode(array)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not heads:
        # A comma stands beside nothing.
        return None
    by = len(part) - len(part.lstrip(_SPACE)) + follows - 1
    found = json_spans.list_elements(array, Span(0, len(array)))
    return [Span(start + by, stop + by) for start, stop in found], heads
