"""The cells of a notebook that is not in memory, found window by window.

Only what is proved is taken: a window's cells are those of an array that has just been decoded, and
what is around the array is decoded with nothing in it. Whatever cannot be proved in this way is
left to `spans`, which wants the whole text and takes anything that is JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from jupyter_nbedit.notebook import spans
from jupyter_nbedit.notebook.columns import Spans
from jupyter_nbedit.notebook.spans import MalformedJSON, Member, Span
from jupyter_nbedit.notebook.text import CHUNK_BYTES, Stored


class Head(msgspec.Struct, gc=False):
    """What is read of every cell; of a double name the last counts, as everywhere in Jupyter."""

    id: Any = None
    cell_type: Any = None


@dataclass(frozen=True)
class Seen:
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
    """

    span: Span
    members: list[Member]
    cell_spans: Spans
    heads: list[Head]


_CELLS = re.compile(rb'"cells"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*(?=\{)')
_BETWEEN = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*(?=\{)")
_BEHIND_AN_OBJECT = re.compile(rb"\}([ \t\r\n]*,[ \t\r\n]*)(?=\{)")
_FRAME = b'{"cells":['
_REFUSED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
#: Reads the heads of an array of cells.
HEADS = msgspec.json.Decoder(list[Head])
_NOTHING = msgspec.Raw()
_NAME = re.compile(rb'[{ \t\r\n]*,?[ \t\r\n]*"(\w+)"[ \t\r\n]*:[ \t\r\n]*')
_END = re.compile(rb"[ \t\r\n]*\}")
# From here on it costs less to walk through a cell's members than to decode it twice.
_LARGE_BYTES = 16_000
# How many places are tried before the whole text is looked at after all.
_TRIES = 64
# Each of these decodes most of a window.
_TRIES_BACKWARDS = 16


def look_through(text: Stored, start: int, window: int = CHUNK_BYTES) -> Seen | None:
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
    opened = _opened(text[start : start + window])
    if opened is None:
        return None
    begin, head, before = opened
    cells = _Cells(text, start + head, window)
    try:
        cells.go_through()
        rest = _FRAME + text[cells.at :]
        top, behind = spans.parse_object(rest)
        array = behind[0].value
        last = spans.elements(rest, array)
        heads = cells.heads + HEADS.decode(memoryview(rest)[array.start : array.stop])
    except (_Unproved, MalformedJSON, *_REFUSED):
        return None
    by = cells.at - len(_FRAME)
    cells.spans.extend(Spans.of(last), by)
    key = before[-1].shifted(start)
    return Seen(
        span=Span(start + begin, top.stop + by),
        members=[
            *(member.shifted(start) for member in before[:-1]),
            Member("cells", key.name_span, Span(key.value.start, array.stop + by)),
            *(member.shifted(by) for member in behind[1:]),
        ],
        cell_spans=cells.spans,
        heads=heads,
    )


class _Large(msgspec.Struct, gc=False):
    """All that nbformat gives a cell, as it is written; empty is what a cell has not."""

    attachments: msgspec.Raw = _NOTHING
    cell_type: msgspec.Raw = _NOTHING
    execution_count: msgspec.Raw = _NOTHING
    id: msgspec.Raw = _NOTHING
    metadata: msgspec.Raw = _NOTHING
    outputs: msgspec.Raw = _NOTHING
    source: msgspec.Raw = _NOTHING

    @property
    def head(self) -> Head:
        return Head(*(msgspec.json.decode(one or b"null") for one in (self.id, self.cell_type)))


_LARGE = msgspec.json.Decoder(list[_Large])
_NAMES = _Large.__struct_fields__


def _lengths(array: memoryview, cells: list[_Large]) -> list[int] | None:
    """Give the lengths of cells by those of their members; None if they have others, or doubles."""
    lengths: list[int] = []
    at = 1
    for cell in cells:
        stop = _stop(array, at, cell)
        if stop is None:
            return None
        lengths.append(stop - at)
        following = _BETWEEN.match(array, stop)
        at = stop if following is None else following.end()
    return lengths


def _stop(array: memoryview, start: int, cell: _Large) -> int | None:
    left = {name: len(value) for name in _NAMES if (value := getattr(cell, name))}
    at = start
    while (name := _NAME.match(array, at)) is not None:
        length = left.pop(name[1].decode(), None)
        if length is None:
            return None
        at = name.end() + length
    end = _END.match(array, at)
    return None if left or end is None else end.end()


class _Unproved(Exception):
    """The text is not laid out in a way that shows where a cell ends."""


def _opened(beginning: bytes) -> tuple[int, int, list[Member]] | None:
    """Find where the object and its first cell begin, and the members up to that of the cells."""
    for match in islice(_CELLS.finditer(beginning), _TRIES):
        try:
            top, members = spans.parse_object(beginning[: match.end()] + b"]}")
        except MalformedJSON:
            # It stands in a string, or deeper.
            continue
        return top.start, match.end(), members
    return None


class _Cells:
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

    def __init__(self, text: Stored, at: int, window: int) -> None:
        self.at = at
        self.spans = Spans()
        self.heads: list[Head] = []
        self._text = text
        self._window = window
        self._between = b""
        self._are_large = False

    def go_through(self) -> None:
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
            if len(room) <= size:
                room = bytearray(size + 1)
            self._text.read_into(self.at, memoryview(room)[1 : size + 1])
            room[:1] = b"["
            # A cell that fills the window shows only in a larger one where it ends.
            size = self._window if self._take(room, size + 1) else 2 * size

    def _take(self, room: bytearray, filled: int) -> bool:
        """Take the cells that end in a window; False if none does."""
        for stop in self._ends(room, filled):
            behind, room[stop : stop + 1] = room[stop : stop + 1], b"]"
            view = memoryview(room)[: stop + 1]
            try:
                lengths, heads = self._decoded(view)
            except msgspec.DecodeError:
                room[stop : stop + 1] = behind
                continue
            if not room.isascii():
                str(view, "utf-8")
            room[stop : stop + 1] = behind
            self.heads += heads
            self._note(room, lengths)
            return True
        return False

    def _decoded(self, array: memoryview) -> tuple[list[int], list[Head]]:
        """Give the length of each cell in an array of them, and its head."""
        if self._are_large:
            cells = _LARGE.decode(array)
            walked = _lengths(array, cells)
            if walked is not None:
                self._are_large = len(array) > _LARGE_BYTES * len(walked)
                return walked, [cell.head for cell in cells]
        lengths, heads = list(map(len, _ARRAY.decode(array))), HEADS.decode(array)
        self._are_large = len(array) > _LARGE_BYTES * len(lengths)
        return lengths, heads

    def _ends(self, room: bytearray, filled: int) -> Iterator[int]:
        """Tell where a cell may end behind which another begins."""
        if not self._between:
            for match in islice(_BEHIND_AN_OBJECT.finditer(room, 0, filled), _TRIES):
                self._between = match[1]
                yield match.start() + 1
            self._between = b""
            return
        wanted, stop = b"}" + self._between + b"{", filled
        for _ in range(_TRIES_BACKWARDS):
            stop = room.rfind(wanted, 0, stop)
            if stop < 0:
                return
            yield stop + 1
        raise _Unproved

    def _note(self, room: bytearray, lengths: list[int]) -> None:
        by, at = self.at - 1, 1
        note, index = self.spans.add, room.index
        for length in lengths:
            stop = at + length
            note(at + by, stop + by)
            # Between the objects of an array is nothing but a comma and white space.
            at = index(b"{", stop)
        self.at = at + by
