"""Find the cells of an edited notebook by parsing only the edited ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.lazy.cell_arrays import CellSpans
from jupyter_nbedit.notebook.lazy.scan import CellHeader, decode_headers
from jupyter_nbedit.notebook.splices import Splice

_SPACE = b" \t\r\n"


@dataclass(frozen=True)
class EditedRange:
    """Neighbouring cells that an edit may have changed."""

    #: The index of the first cell, and the index after the last, before the edit.
    first: int
    last: int
    #: The cells there after the edit.
    spans: list[Span]
    headers: list[CellHeader]
    #: By how many bytes the following cells move.
    shift: int


def rescan_edited(
    text: Buffer, array: Span, cells: CellSpans, splices: Sequence[Splice]
) -> list[EditedRange] | None:
    """Return the ranges that sorted splices changed, in order; None if all must be parsed.

    ``text`` is the notebook after the edit; the array of cells and the cells are as before.
    """
    if not cells or splices[0].start <= array.start or splices[-1].stop >= array.stop:
        return None
    edited_ranges: list[EditedRange] = []
    shift = 0
    for first, last, group in _group_splices(cells, splices):
        start = cells[first - 1].stop if first else array.start + 1
        stop = cells[last].start if last < len(cells) else array.stop - 1
        shift_before = shift
        shift += sum(len(splice.text) - (splice.stop - splice.start) for splice in group)
        scan_result = _scan_between(
            text[start + shift_before : stop + shift],
            is_preceded=first > 0,
            is_followed=last < len(cells),
        )
        if scan_result is None:
            return None
        spans = [
            Span(begin + start + shift_before, end + start + shift_before)
            for begin, end in scan_result[0]
        ]
        edited_ranges.append(EditedRange(first, last, spans, scan_result[1], shift))
    return edited_ranges


def _group_splices(
    cells: CellSpans, splices: Sequence[Splice]
) -> Iterator[tuple[int, int, list[Splice]]]:
    """Group splices that touch the same cells, or the same gap between two cells."""
    group: list[Splice] = []
    first = last = 0
    for splice in splices:
        low, high = (
            cells.count_ending_before(splice.start),
            cells.count_starting_at_or_before(splice.stop),
        )
        if group and low > last:
            yield first, last, group
            group = []
        first, last = (min(first, low), max(last, high)) if group else (low, max(low, high))
        group.append(splice)
    yield first, last, group


def _scan_between(
    part: bytes, *, is_preceded: bool, is_followed: bool
) -> tuple[list[Span], list[CellHeader]] | None:
    """Find the cells in the text between two cells, or between a cell and a bracket."""
    core = part.strip(_SPACE)
    inner = core[is_preceded : len(core) - is_followed]
    if (
        core[:is_preceded] != b","[:is_preceded]
        or core[len(core) - is_followed :] != b","[:is_followed]
    ):
        return None
    array = b"[" + inner + b"]"
    try:
        headers = decode_headers(array)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not headers:
        # A comma without a cell, or no cell at all.
        return None
    offset = len(part) - len(part.lstrip(_SPACE)) + is_preceded - 1
    spans = json_spans.list_elements(array, Span(0, len(array)))
    return [Span(start + offset, stop + offset) for start, stop in spans], headers
