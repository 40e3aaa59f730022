"""Spans of values in JSON text.

There are two ways to the same spans. msgspec skips a value in C and reports its length. Text that
msgspec refuses but Python's ``json`` (and so Jupyter) accepts, ``NaN`` and lone surrogate escapes,
is walked with regular expressions; these require that `parse_object` has accepted the text.
"""

from __future__ import annotations

import codecs
import json
import re
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from jupyter_nbedit.notebook.lazy.buffer import Buffer, read_range


class Span(NamedTuple):
    """A half-open range of bytes."""

    start: int
    stop: int


class Member(NamedTuple):
    """One ``"name": value`` of an object; ``name`` is decoded, the spans are ranges of the text."""

    name: str
    name_span: Span
    value: Span

    def shift(self, offset: int) -> Member:
        """Return the member with its spans moved by an offset."""
        start, stop = self.name_span
        first, last = self.value
        return Member(
            self.name, Span(start + offset, stop + offset), Span(first + offset, last + offset)
        )


class MalformedJSON(ValueError):
    """The text is not JSON, even by the rules of Python's ``json`` module."""


_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DECODE_ERRORS = (msgspec.DecodeError, RecursionError)

_SPACE = re.compile(rb"[ \t\r\n]*")
_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_SEPARATOR = re.compile(rb"[ \t\r\n]*(?:,[ \t\r\n]*)?")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(rb'[^,\]}\s"\[{]+')
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)
_OPENING = frozenset(b"[{")

_CHUNK = 1 << 20
_PEEK_BYTES = 64
_WHITE = b" \t\r\n"
_LAST_SPACE = ord(" ")
# CPython refuses to convert longer strings to int, because that takes quadratic time
# (sys.set_int_max_str_digits). Notebooks may contain such numbers in places that are never read.
_MAX_INT_DIGITS = 4300


def _parse_int_leniently(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else digits


_LENIENT = json.JSONDecoder(parse_int=_parse_int_leniently)


def parse_object(text: bytes, start: int = 0) -> tuple[Span, list[Member]]:
    """Check that ``text[start:]`` is UTF-8 and one JSON object, and return its span and members.

    Text that Python's ``json`` accepts counts as JSON. All other functions require checked text.

    Raises
    ------
    MalformedJSON
        With a message that contains the problem and its position.
    """
    _check_utf8(text)
    try:
        raws = _OBJECT.decode(memoryview(text)[start:])
    except _DECODE_ERRORS:
        _check_leniently(text, start)
        raws = {}
    span = _find_value_span(text, start)
    if text[span.start] != ord("{"):
        raise MalformedJSON("it is JSON, but not an object")
    return span, _list_members(text, span, raws)


def _check_leniently(text: bytes, start: int) -> None:
    try:
        _LENIENT.decode(text[start:].decode())
    except RecursionError:
        raise MalformedJSON("its values are nested too deeply") from None
    except json.JSONDecodeError as error:
        message = f"{error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}"
        raise MalformedJSON(message) from None


def _check_utf8(text: bytes) -> None:
    """Check UTF-8 in chunks, to save memory: msgspec does not check strings that it skips."""
    if text.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(text)
    for position in range(0, len(text), _CHUNK):
        try:
            decoder.decode(view[position : position + _CHUNK], final=position + _CHUNK >= len(text))
        except UnicodeDecodeError as error:
            message = f"it is not UTF-8 ({error.reason} near byte {position + error.start})"
            raise MalformedJSON(message) from None


def _find_value_span(text: bytes, start: int) -> Span:
    """Return the span of the only value of a text, without surrounding white space."""
    stop = len(text)
    while text[stop - 1] in b" \t\r\n":
        stop -= 1
    return Span(_match_end(_SPACE, text, start), stop)


def decode(text: Buffer, span: Span | None = None) -> Any:
    """Decode one value of checked text, or all of it, as Python's ``json`` does."""
    span = span or Span(0, len(text))
    local_text, offset = read_range(text, *span)
    token = memoryview(local_text)[span.start - offset : span.stop - offset]
    try:
        return msgspec.json.decode(token)
    except _DECODE_ERRORS:
        return _LENIENT.decode(bytes(token).decode())


def is_array(text: Buffer, span: Span | None = None) -> bool:
    """Return whether the value is an array."""
    return text[span.start if span else 0] == ord("[")


def is_empty(text: Buffer, span: Span | None = None) -> bool:
    """Return whether an array or an object is empty; its content is not parsed."""
    start, stop = span or (0, len(text))
    start, stop = start + 1, stop - 1
    while start < stop:
        part = text[start : min(start + _PEEK_BYTES, stop)]
        if part.strip(_WHITE):
            return False
        start += len(part)
    return True


def decode_object(text: Buffer | None, span: Span | None = None) -> dict[str, Any]:
    """Decode one value as `decode` does; empty if there is none, or it is not an object."""
    value = None if text is None else decode(text, span)
    return value if isinstance(value, dict) else {}


def is_object(text: Buffer, span: Span | None = None) -> bool:
    """Return whether the value is an object."""
    return text[span.start if span else 0] == ord("{")


def list_elements(text: Buffer, span: Span) -> list[Span]:
    """Return the spans of an array's elements."""
    return [*map(Span, *list_element_bounds(text, span))]


def list_element_bounds(text: Buffer, span: Span) -> tuple[list[int], list[int]]:
    """Return the starts and the stops of an array's elements."""
    local_text, offset = read_range(text, *span)
    starts, stops = list_bounds(local_text, Span(span.start - offset, span.stop - offset))
    if offset:
        return [start + offset for start in starts], [stop + offset for stop in stops]
    return starts, stops


def list_bounds(text: bytes | bytearray, span: Span) -> tuple[list[int], list[int]]:
    """Return the starts and the stops of the elements of an array in memory."""
    try:
        raws = _ARRAY.decode(memoryview(text)[span.start : span.stop])
    except _DECODE_ERRORS:
        return _skip_elements(text, span)
    starts: list[int] = []
    stops: list[int] = []
    position = _match_end(_SPACE, text, span.start + 1)
    separator: bytes | bytearray = b","
    width = 1
    for length in map(len, raws):
        starts.append(position)
        stop = position + length
        stops.append(stop)
        position = stop + width
        # Most separators of a file are equal, and a comparison is cheaper than a match.
        if not text.startswith(separator, stop) or text[position] <= _LAST_SPACE:
            position = _match_end(_SEPARATOR, text, stop)
            separator, width = text[stop:position], position - stop
    return starts, stops


def list_members(text: Buffer, span: Span | None = None) -> list[Member]:
    """Return the members of an object in order, repeated ones included."""
    span = span or Span(0, len(text))
    local_text, offset = read_range(text, *span)
    local_span = Span(span.start - offset, span.stop - offset)
    try:
        raws = _OBJECT.decode(memoryview(local_text)[local_span.start : local_span.stop])
    except _DECODE_ERRORS:
        raws = {}
    members = _list_members(local_text, local_span, raws)
    return [member.shift(offset) for member in members] if offset else members


def _list_members(text: bytes, span: Span, raws: dict[str, msgspec.Raw]) -> list[Member]:
    # For a repeated name, a dict contains only the last value, which may be the beginning of one
    # before: 1 of 100.
    with suppress(MalformedJSON):
        return _walk_members(text, span, raws)
    return _walk_members(text, span, {})


def _walk_members(text: bytes, span: Span, raws: dict[str, msgspec.Raw]) -> list[Member]:
    members: list[Member] = []
    position = _match_end(_SPACE, text, span.start + 1)
    while text[position] != ord("}"):
        name_span = Span(position, _match_end(_STRING, text, position))
        name = _read_name(text, name_span)
        start = _match_end(_COLON, text, name_span.stop)
        raw = raws.get(name)
        if raw is not None and text.startswith(raw, start):
            value = Span(start, start + len(raw))
        else:
            value = Span(start, _skip_value(text, start))
        members.append(Member(name, name_span, value))
        position = _match_end(_SEPARATOR, text, value.stop)
    return members


def _read_name(text: bytes, span: Span) -> str:
    token = text[span.start + 1 : span.stop - 1]
    return str(decode(text, span)) if b"\\" in token else token.decode()


def _skip_elements(text: bytes | bytearray, span: Span) -> tuple[list[int], list[int]]:
    starts: list[int] = []
    stops: list[int] = []
    position = _match_end(_SPACE, text, span.start + 1)
    while text[position] != ord("]"):
        stop = _skip_value(text, position)
        starts.append(position)
        stops.append(stop)
        position = _match_end(_SEPARATOR, text, stop)
    return starts, stops


def _skip_value(text: bytes | bytearray, position: int) -> int:
    """Find the end of a value by counting brackets outside of strings."""
    first = text[position]
    if first not in _OPENING:
        return _match_end(_STRING if first == ord('"') else _SCALAR, text, position)
    depth = 0
    for token in _TOKEN.finditer(text, position):
        byte = text[token.start()]
        if byte in _OPENING:
            depth += 1
        elif byte != ord('"'):
            depth -= 1
            if depth == 0:
                return token.end()
    raise MalformedJSON


def _match_end(pattern: re.Pattern[bytes], text: bytes | bytearray, position: int) -> int:
    match = pattern.match(text, position)
    if match is None:
        raise MalformedJSON
    return match.end()
