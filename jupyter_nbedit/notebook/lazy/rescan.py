"""Find the cells of an edited notebook by parsing only the edited ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.lazy.cell_arrays import CellSpans
from jupyter_nbedit.notebook.lazy.scan import CellHeader, decode_headers
from jupyter_nbedit.notebook.splices import Splice

_SPACE = b" \t\r\n"


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
        scanned_cells = CellSpans(*json_spans.list_bounds(scanned, Span(0, len(scanned))))
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
