"""The cells of a notebook that is not in memory, found window by window.

Only what is proved is taken: a window's cells are those of an array that has just been decoded, and
what is around the array is decoded with nothing in it. Whatever cannot be proved in this way is
left to `spans`, which wants the whole text and takes anything that is JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import MalformedJSON, Member, Span
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, LazyBytes
from jupyter_nbedit.notebook.lazy.columns import CellHeaders, CellSpans


class ScannedHeader(msgspec.Struct, gc=False):
    """What is read of every cell; of a double name the last counts, as everywhere in Jupyter."""

    id: Any = None
    cell_type: Any = None


class _Plain(msgspec.Struct, gc=False):
    """The same of a cell that says it as nbformat demands."""

    cell_type: str
    id: str | None = None


@dataclass(frozen=True)
class ScanResult:
    """What there is in a notebook.

    Parameters
    ----------
    span
        Where its object stands.
    members
        The object's members, in order.
    cell_spans
        Where each cell stands.
    heads
        What each cell says it is.
    is_plain
        Whether that is known to be texts.
    """

    span: Span
    members: list[Member]
    cell_spans: CellSpans
    heads: CellHeaders
    is_plain: bool


_CELLS = re.compile(rb'"cells"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*(?=\{)')
_BEHIND_AN_OBJECT = re.compile(rb"\}([ \t\r\n]*,[ \t\r\n]*)(?=\{)")
_FRAME = b'{"cells":['
_REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
#: Reads the heads of an array of cells.
HEADS = msgspec.json.Decoder(list[ScannedHeader])
_PLAIN = msgspec.json.Decoder(list[_Plain])
# Of small cells so many are taken together, or as many as there are in so many bytes: whoever asks
# where one of them stands has all of them looked for.
_TOGETHER = 256
_SMALL_WINDOW_BYTES = 1 << 17
# How many places are tried before the whole text is looked at after all.
_TRIES = 64
# Each of these decodes most of a window.
_TRIES_BACKWARDS = 16


def scan_cells(text: LazyBytes, start: int, window: int = CHUNK_BYTES) -> ScanResult | None:
    """Find the cells, holding no more of the text than a window, or twice its largest cell.

    Parameters
    ----------
    text
        The notebook.
    start
        Where its JSON begins.
    window
        How many bytes are looked at together.

    Returns
    -------
    What was found; None if that takes the whole text together.
    """
    opened = _scan_beginning(text[start : start + window])
    if opened is None:
        return None
    begin, head, before = opened
    cells = _CellScanner(text, start + head, window)
    try:
        cells.scan()
        rest = _FRAME + text[cells.at :]
        top, behind = json_spans.parse_object(rest)
        array = behind[0].value
        last = CellSpans(*json_spans.list_bounds(rest, array))
        cells.heads.extend(cells.read(memoryview(rest)[array.start : array.stop]))
    except (_CannotScan, MalformedJSON, *_REFUSED):
        return None
    by = cells.at - len(_FRAME)
    cells.spans.extend(last, by)
    key = before[-1].shift(start)
    return ScanResult(
        span=Span(start + begin, top.stop + by),
        members=[
            *(member.shift(start) for member in before[:-1]),
            Member("cells", key.name_span, Span(key.value.start, array.stop + by)),
            *(member.shift(by) for member in behind[1:]),
        ],
        cell_spans=cells.spans,
        heads=cells.heads,
        is_plain=cells.are_plain,
    )


def to_columns(heads: Sequence[ScannedHeader | _Plain]) -> CellHeaders:
    """Return the same in columns."""
    return CellHeaders([head.id for head in heads], [head.cell_type for head in heads])


class _CannotScan(Exception):
    """The text is not laid out in a way that shows where a cell ends."""


def _scan_beginning(beginning: bytes) -> tuple[int, int, list[Member]] | None:
    """Find where the object and its first cell begin, and the members up to that of the cells."""
    for match in islice(_CELLS.finditer(beginning), _TRIES):
        try:
            top, members = json_spans.parse_object(beginning[: match.end()] + b"]}")
        except MalformedJSON:
            # It stands in a string, or deeper.
            continue
        return top.start, match.end(), members
    return None


class _CellScanner:
    """Goes through the cells, all but those of the last window.

    Parameters
    ----------
    text
        The notebook.
    at
        Where the first cell begins; afterwards, where the first one begins that is left.
    window
        How many bytes are looked at together.
    """

    def __init__(self, text: LazyBytes, at: int, window: int) -> None:
        self.at = at
        self.spans = CellSpans(text=text)
        self.heads = CellHeaders()
        self.are_plain = True
        self._text = text
        self._window = window
        self._between = b""

    def scan(self) -> None:
        """Do it.

        Raises
        ------
        _Unproved
            If the cells are not laid out alike.
        DecodeError, UnicodeDecodeError, RecursionError
            If they are none.
        """
        size = self._window
        room = bytearray()
        while len(self._text) - self.at > size:
            if len(room) != size + 1:
                # No two of them are in memory together.
                room.clear()
                room = bytearray(size + 1)
            self._text.read_into(self.at, memoryview(room)[1:])
            room[:1] = b"["
            before = len(self.heads), self.at
            if self._take(room):
                cell = (self.at - before[1]) // (len(self.heads) - before[0])
                size = min(self._window, max(_SMALL_WINDOW_BYTES, _TOGETHER * cell))
            else:
                # A cell that fills the window shows only in a larger one where it ends.
                size *= 2

    def read(self, array: memoryview) -> CellHeaders:
        """Return what the cells of an array say they are.

        Raises
        ------
        DecodeError, RecursionError
            If it is no array of objects.
        """
        try:
            return to_columns(_PLAIN.decode(array))
        except msgspec.ValidationError:
            found = to_columns(HEADS.decode(array))
        self.are_plain = False
        return found

    def _take(self, room: bytearray) -> bool:
        """Take the cells that end in a window; False if none does."""
        for stop in self._iterate_ends(room):
            behind, room[stop : stop + 1] = room[stop : stop + 1], b"]"
            view = memoryview(room)[: stop + 1]
            try:
                heads = self.read(view)
            except msgspec.DecodeError:
                room[stop : stop + 1] = behind
                continue
            if not room.isascii():
                str(view, "utf-8")
            room[stop : stop + 1] = behind
            self.heads.extend(heads)
            by = self.at - 1
            self.spans.add(len(heads), Span(self.at, stop + by))
            # Between the objects of an array is nothing but a comma and white space.
            self.at = room.index(b"{", stop) + by
            return True
        return False

    def _iterate_ends(self, room: bytearray) -> Iterator[int]:
        """Yield where a cell may end behind which another begins."""
        if not self._between:
            for match in islice(_BEHIND_AN_OBJECT.finditer(room), _TRIES):
                self._between = match[1]
                yield match.start() + 1
            self._between = b""
            return
        wanted, stop = b"}" + self._between + b"{", len(room)
        for _ in range(_TRIES_BACKWARDS):
            stop = room.rfind(wanted, 0, stop)
            if stop < 0:
                return
            yield stop + 1
        raise _CannotScan
