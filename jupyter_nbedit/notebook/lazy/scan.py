"""Find the cells of a notebook that is not in memory, window by window.

Only proven results are used. The cells of a window come from an array that was just decoded, and
the text around the array of cells is decoded with an empty array. If this fails for a text,
`json_spans` parses it, which needs the whole text and accepts any JSON.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import MalformedJSON, Member, Span
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer, LazyBytes
from jupyter_nbedit.notebook.lazy.cell_spans import CellHeader, CellSpans, decode_headers


@dataclass(frozen=True)
class ScanResult:
    """The structure of a notebook: its object, the object's members in order, and its cells."""

    span: Span
    members: list[Member]
    cell_spans: CellSpans
    headers: list[CellHeader]


_CELLS = re.compile(rb'"cells"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*(?=\{)')
_AFTER_AN_OBJECT = re.compile(rb"\}([ \t\r\n]*,[ \t\r\n]*)(?=\{)")
_FRAME = b'{"cells":['
_DECODE_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
# A window of small cells has this many cells or bytes: to find one of them, the whole window is
# parsed.
_SMALL_CELLS_PER_WINDOW = 256
_SMALL_WINDOW_BYTES = 1 << 17
# So many positions are tried before the whole text is parsed.
_MAX_TRIES = 64
# Each of these decodes most of a window.
_MAX_TRIES_BACKWARDS = 16


def scan_cells(text: Buffer, start: int, window: int = CHUNK_BYTES) -> ScanResult | None:
    """Find the cells with no more of the text in memory than a window, or twice the largest cell.

    Return the structure of the JSON at ``start``; None if the text is in memory, or if only parsing
    all of it can find the cells.
    """
    if isinstance(text, bytes):
        return None
    beginning = _scan_beginning(text[start : start + window])
    if beginning is None:
        return None
    begin, first_cell, members_before = beginning
    cells = _CellScanner(text, start + first_cell, window)
    try:
        cells.scan()
        remainder = _FRAME + text[cells.position :]
        span, members_after = json_spans.parse_object(remainder)
        array = members_after[0].value
        last = CellSpans(*json_spans.list_bounds(remainder, array))
        cells.headers.extend(decode_headers(memoryview(remainder)[array.start : array.stop]))
    except (_CannotScan, MalformedJSON, *_DECODE_ERRORS):
        return None
    offset = cells.position - len(_FRAME)
    cells.spans.extend(last, offset)
    cells_member = members_before[-1].shift(start)
    return ScanResult(
        span=Span(start + begin, span.stop + offset),
        members=[
            *(member.shift(start) for member in members_before[:-1]),
            Member(
                "cells", cells_member.name_span, Span(cells_member.value.start, array.stop + offset)
            ),
            *(member.shift(offset) for member in members_after[1:]),
        ],
        cell_spans=cells.spans,
        headers=cells.headers,
    )


class _CannotScan(Exception):
    """The text is not laid out in a way that shows where a cell ends."""


def _scan_beginning(beginning: bytes) -> tuple[int, int, list[Member]] | None:
    """Return the start of the object and of its first cell, and the members up to ``cells``."""
    for match in islice(_CELLS.finditer(beginning), _MAX_TRIES):
        try:
            span, members = json_spans.parse_object(beginning[: match.end()] + b"]}")
        except MalformedJSON:
            # The match is in a string or in a nested object.
            continue
        return span.start, match.end(), members
    return None


class _CellScanner:
    """Finds all cells except the cells of the last window."""

    def __init__(self, text: LazyBytes, position: int, window: int) -> None:
        #: The start of the first cell that was not found yet.
        self.position = position
        self.spans = CellSpans(text=text)
        self.headers: list[CellHeader] = []
        self._text = text
        self._window = window
        self._separator = b""

    def scan(self) -> None:
        """Find the cells; raise `_CannotScan` or a decoding error if that fails."""
        size = self._window
        buffer = bytearray()
        while len(self._text) - self.position > size:
            if len(buffer) != size + 1:
                # Only one buffer is in memory at a time.
                buffer.clear()
                buffer = bytearray(size + 1)
            self._text.read_into(self.position, memoryview(buffer)[1:])
            buffer[:1] = b"["
            state_before = len(self.headers), self.position
            if self._scan_window(buffer):
                cell_bytes = (self.position - state_before[1]) // (
                    len(self.headers) - state_before[0]
                )
                size = min(
                    self._window, max(_SMALL_WINDOW_BYTES, _SMALL_CELLS_PER_WINDOW * cell_bytes)
                )
            else:
                # The end of a cell that fills the window is only visible in a larger window.
                size *= 2

    def _scan_window(self, buffer: bytearray) -> bool:
        """Find the cells that end in a window; return False if no cell ends there."""
        for stop in self._iterate_ends(buffer):
            next_byte, buffer[stop : stop + 1] = buffer[stop : stop + 1], b"]"
            view = memoryview(buffer)[: stop + 1]
            try:
                headers = decode_headers(view)
            except msgspec.DecodeError:
                buffer[stop : stop + 1] = next_byte
                continue
            if not buffer.isascii():
                str(view, "utf-8")
            buffer[stop : stop + 1] = next_byte
            self.headers.extend(headers)
            offset = self.position - 1
            self.spans.add_unresolved(len(headers), Span(self.position, stop + offset))
            # Between the objects of an array there are only a comma and white space.
            self.position = buffer.index(b"{", stop) + offset
            return True
        return False

    def _iterate_ends(self, buffer: bytearray) -> Iterator[int]:
        """Yield positions where one cell may end and another follows."""
        if not self._separator:
            for match in islice(_AFTER_AN_OBJECT.finditer(buffer), _MAX_TRIES):
                self._separator = match[1]
                yield match.start() + 1
            self._separator = b""
            return
        boundary, stop = b"}" + self._separator + b"{", len(buffer)
        for _ in range(_MAX_TRIES_BACKWARDS):
            stop = buffer.rfind(boundary, 0, stop)
            if stop < 0:
                return
            yield stop + 1
        raise _CannotScan
