"""Where the values of a JSON text begin and end.

Knows JSON and nothing about notebooks. Two ways to the same spans: msgspec skips a value in C and
tells its length; what msgspec refuses but Python's ``json`` (and so Jupyter) takes, ``NaN`` and
lone surrogate escapes, is walked by regular expressions that rely on `parse_object` having accepted
the text before.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from jupyter_nbedit.notebook.lazy.buffer import Buffer


class Span(NamedTuple):
    """A half-open range of bytes."""

    start: int
    stop: int


class Member(NamedTuple):
    """One ``"name": value`` of an object; ``name`` is decoded, the spans are the tokens'."""

    name: str
    name_span: Span
    value: Span

    def shift(self, by: int) -> Member:
        """Return the same member in a text that begins so many bytes earlier."""
        start, stop = self.name_span
        first, last = self.value
        return Member(self.name, Span(start + by, stop + by), Span(first + by, last + by))


class MalformedJSON(ValueError):
    """The text is not JSON, even by the rules of Python's ``json`` module."""


_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_REFUSED = (msgspec.DecodeError, RecursionError)

_SPACE = re.compile(rb"[ \t\r\n]*")
_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_SEPARATOR = re.compile(rb"[ \t\r\n]*(?:,[ \t\r\n]*)?")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(rb'[^,\]}\s"\[{]+')
_HOP = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)
_OPENING = frozenset(b"[{")

_CHUNK = 1 << 20
_PEEK_BYTES = 64
_WHITE = b" \t\r\n"
_LAST_SPACE = ord(" ")
# CPython refuses to turn longer texts into an int (sys.set_int_max_str_digits), for fear of
# quadratic time. Notebooks may hold such numbers in places we never read.
_MAX_INT_DIGITS = 4300


def _parse_int_leniently(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else digits


_LENIENT = json.JSONDecoder(parse_int=_parse_int_leniently)


def parse_object(text: bytes, start: int = 0) -> tuple[Span, list[Member]]:
    """Check that ``text[start:]`` is UTF-8 and one JSON object, and list its members.

    What Python's ``json`` takes counts as JSON. All other functions rely on a text so checked.

    Raises
    ------
    MalformedJSON
        With a message that says what is wrong and where.
    """
    _check_utf8(text)
    try:
        raws = _OBJECT.decode(memoryview(text)[start:])
    except _REFUSED:
        _check_leniently(text, start)
        raws = None
    span = _find_value_span(text, start)
    if text[span.start] != ord("{"):
        message = "it is JSON, but not an object"
        raise MalformedJSON(message)
    return span, _list_members(text, span, raws)


def _check_leniently(text: bytes, start: int) -> None:
    try:
        _LENIENT.decode(text[start:].decode())
    except RecursionError:
        message = "its values are nested too deeply"
        raise MalformedJSON(message) from None
    except json.JSONDecodeError as error:
        message = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise MalformedJSON(message) from None


def _check_utf8(text: bytes) -> None:
    """Decode piece by piece: msgspec does not look into strings it skips, and memory stays flat."""
    if text.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(text)
    for at in range(0, len(text), _CHUNK):
        try:
            decoder.decode(view[at : at + _CHUNK], final=at + _CHUNK >= len(text))
        except UnicodeDecodeError as error:
            message = f"it is not UTF-8 ({error.reason} near byte {at + error.start})"
            raise MalformedJSON(message) from None


def _find_value_span(text: bytes, start: int) -> Span:
    """Return the span of the only value of a checked text, without the white space around it."""
    stop = len(text)
    while text[stop - 1] in b" \t\r\n":
        stop -= 1
    return Span(_match_after(_SPACE, text, start), stop)


def decode(text: Buffer, span: Span) -> Any:
    """Read one value of a checked text as Python's ``json`` would."""
    local, (start, stop), _ = _read_range(text, span)
    token = memoryview(local)[start:stop]
    try:
        return msgspec.json.decode(token)
    except _REFUSED:
        return _LENIENT.decode(bytes(token).decode())


def is_array(text: Buffer, span: Span) -> bool:
    """Return whether the value is an array."""
    return text[span.start] == ord("[")


def is_empty(text: Buffer, span: Span) -> bool:
    """Return whether an array or an object has nothing in it; what it has is not looked at."""
    start, stop = span.start + 1, span.stop - 1
    while start < stop:
        part = text[start : min(start + _PEEK_BYTES, stop)]
        if part.strip(_WHITE):
            return False
        start += len(part)
    return True


def is_object(text: Buffer, span: Span) -> bool:
    """Return whether the value is an object."""
    return text[span.start] == ord("{")


def _read_range(text: Buffer, span: Span) -> tuple[bytes, Span, int]:
    """Return bytes that hold a range of a text, where in them it is, and how far that is off."""
    if isinstance(text, bytes):
        return text, span, 0
    return text[span.start : span.stop], Span(0, span.stop - span.start), span.start


def list_elements(text: Buffer, span: Span) -> list[Span]:
    """List the spans of an array's elements, in a checked text."""
    local, within, by = _read_range(text, span)
    return [
        Span(start + by, stop + by) for start, stop in zip(*list_bounds(local, within), strict=True)
    ]


def list_bounds(text: bytes | bytearray, span: Span) -> tuple[list[int], list[int]]:
    """List where an array's elements begin and where they end, in a checked text."""
    try:
        raws = _ARRAY.decode(memoryview(text)[span.start : span.stop])
    except _REFUSED:
        return _skip_elements(text, span)
    starts: list[int] = []
    stops: list[int] = []
    at = _match_after(_SPACE, text, span.start + 1)
    separator: bytes | bytearray = b","
    width = 1
    for length in map(len, raws):
        starts.append(at)
        stop = at + length
        stops.append(stop)
        at = stop + width
        # Nearly all separators of a file are alike, and a comparison is cheaper than a match.
        if not text.startswith(separator, stop) or text[at] <= _LAST_SPACE:
            at = _match_after(_SEPARATOR, text, stop)
            separator, width = text[stop:at], at - stop
    return starts, stops


def list_members(text: Buffer, span: Span) -> list[Member]:
    """List the members of an object in a checked text, in order, doubles included."""
    local, within, by = _read_range(text, span)
    try:
        raws = _OBJECT.decode(memoryview(local)[within.start : within.stop])
    except _REFUSED:
        raws = None
    found = _list_members(local, within, raws)
    return [member.shift(by) for member in found] if by else found


def _list_members(text: bytes, span: Span, raws: dict[str, msgspec.Raw] | None) -> list[Member]:
    if raws is not None:
        # Of a double name a dict keeps the last value only: its length fits nothing before it.
        with suppress(MalformedJSON):
            return _walk_members(text, span, partial(_find_raw_end, raws))
    return _walk_members(text, span, _skip_member)


def _find_raw_end(raws: dict[str, msgspec.Raw], text: bytes, at: int, name: str) -> int:
    # Each name is taken once, so that a double one, even of equal values, is not there again.
    raw = raws.pop(name, None)
    if raw is None or not text.startswith(raw, at):
        message = f"the member {name!r} stands twice"
        raise MalformedJSON(message)
    return at + len(raw)


def _walk_members(text: bytes, span: Span, end: Callable[[bytes, int, str], int]) -> list[Member]:
    found: list[Member] = []
    at = _match_after(_SPACE, text, span.start + 1)
    while text[at] != ord("}"):
        name = Span(at, _match_after(_STRING, text, at))
        decoded = _read_name(text, name)
        start = _match_after(_COLON, text, name.stop)
        value = Span(start, end(text, start, decoded))
        found.append(Member(decoded, name, value))
        at = _match_after(_SEPARATOR, text, value.stop)
    return found


def _read_name(text: bytes, span: Span) -> str:
    written = text[span.start + 1 : span.stop - 1]
    return str(decode(text, span)) if b"\\" in written else written.decode()


def _skip_elements(text: bytes | bytearray, span: Span) -> tuple[list[int], list[int]]:
    starts: list[int] = []
    stops: list[int] = []
    at = _match_after(_SPACE, text, span.start + 1)
    while text[at] != ord("]"):
        stop = _skip_value(text, at)
        starts.append(at)
        stops.append(stop)
        at = _match_after(_SEPARATOR, text, stop)
    return starts, stops


def _skip_member(text: bytes, at: int, _name: str) -> int:
    return _skip_value(text, at)


def _skip_value(text: bytes | bytearray, at: int) -> int:
    """Find the end of a value by counting brackets; strings are jumped over."""
    first = text[at]
    if first not in _OPENING:
        return _match_after(_STRING if first == ord('"') else _SCALAR, text, at)
    depth = 0
    for hop in _HOP.finditer(text, at):
        byte = text[hop.start()]
        if byte in _OPENING:
            depth += 1
        elif byte != ord('"'):
            depth -= 1
            if depth == 0:
                return hop.end()
    message = "a bracket is never closed"
    raise MalformedJSON(message)


def _match_after(pattern: re.Pattern[bytes], text: bytes | bytearray, at: int) -> int:
    match = pattern.match(text, at)
    if match is None:
        message = f"byte {at} fits nowhere"
        raise MalformedJSON(message)
    return match.end()
