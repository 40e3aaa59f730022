"""All scanners of a text, and Python's ``json``; all must agree.

A text is scanned by msgspec, by counting brackets (the tolerant walk) or by small windows.
"""

import json
import zlib
from typing import Any

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_spans import Member, Span
from jupyter_nbedit.notebook.lazy.scan import scan_cells
from tests.notebook.lazy.fake_buffer import FakeBuffer
from tests.notebook.strategies import BOM

# msgspec refuses it and its container, so that the tolerant walk is used.
_ODD = b"NaN"
_MAX_INT_DIGITS = 4300
# What a cell's outputs and metadata hold. Each level is scanned for each above it.
_DEEPEST = 5
_WINDOWS = (40, 100, 200)


class ObjectPairs(list[tuple[str, Any]]):
    """The members of an object, in order; other than a list."""


def _token(text: str) -> tuple[str]:
    return (text,)


def _int(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else digits


#: Keeps each number as it is written, and each duplicate member in its place.
EXACT = json.JSONDecoder(
    object_pairs_hook=ObjectPairs, parse_int=_token, parse_float=_token, parse_constant=_token
)
PLAIN = json.JSONDecoder(parse_int=_int)


def describe(document: Document) -> tuple[object, ...]:
    """Return all that a document has found in its text."""
    return (
        document.span,
        document.members,
        document.cells_span,
        list(document.cell_spans),
        list(document.headers),
        document.nbformat_minor,
    )


def list_members_tolerantly(text: bytes, span: Span) -> list[Member]:
    """Return an object's members by the tolerant walk, for which something odd is put into it."""
    odd, shift = _insert_odd(text, span, b'"odd":' + _ODD)
    return [
        Member(name, _shift_back(name_span, shift), _shift_back(value, shift))
        for name, name_span, value in json_spans.list_members(
            odd, Span(span.start, span.stop + shift)
        )[1:]
    ]


def list_elements_tolerantly(text: bytes, span: Span) -> list[Span]:
    """Return an array's elements by the tolerant walk."""
    odd, shift = _insert_odd(text, span, _ODD)
    found = json_spans.list_elements(odd, Span(span.start, span.stop + shift))
    return [_shift_back(one, shift) for one in found[1:]]


def _insert_odd(text: bytes, span: Span, odd: bytes) -> tuple[bytes, int]:
    inside = text[span.start + 1 : span.stop - 1].strip(b" \t\r\n")
    put = odd + b"," if inside else odd
    return text[: span.start + 1] + put + text[span.start + 1 :], len(put)


def _shift_back(span: Span, shift: int) -> Span:
    return Span(span.start - shift, span.stop - shift)


def compare_json(text: bytes) -> bool | None:
    """Return whether all scanners find one JSON object; None if ``json`` hits its depth limit."""
    try:
        expected = EXACT.decode(text.decode())
    except RecursionError:
        return None
    except ValueError:
        expected = None
    try:
        span, members = json_spans.parse_object(text)
    except json_spans.MalformedJSON as error:
        if not isinstance(expected, ObjectPairs):
            return False
        raise AssertionError from error
    assert isinstance(expected, ObjectPairs), "taken for an object"
    assert text[span.start : span.start + 1] + text[span.stop - 1 : span.stop] == b"{}"
    assert text[: span.start].strip(b" \t\r\n") == b""
    assert text[span.stop :].strip(b" \t\r\n") == b""
    if members:
        # Each costs as much as all the rest.
        chosen = members[len(text) % len(members)].value
        value = PLAIN.decode(text[chosen.start : chosen.stop].decode())
        assert repr(json_spans.decode(text, chosen)) == repr(value)
    _compare_values(text, span, expected)
    return True


def _compare_values(text: bytes, top: Span, expected: Any) -> None:
    pending = [(top, expected, 0)]
    tokens: list[Span] = []
    meant: list[Any] = []
    while pending:
        at, value, depth = pending.pop()
        if isinstance(value, ObjectPairs):
            assert json_spans.is_object(text, at)
            members = json_spans.list_members(text, at)
            assert members == list_members_tolerantly(text, at)
            names = [name for name, _ in value]
            assert [one.name for one in members] == names
            tokens += [one.name_span for one in members]
            meant += names
            within, values = [one.value for one in members], [inner for _, inner in value]
        else:
            assert json_spans.is_array(text, at)
            within, values = json_spans.list_elements(text, at), value
            assert within == list_elements_tolerantly(text, at)
        assert len(within) == len(values)
        tokens += within
        meant += values
        if depth < _DEEPEST:
            pending += [
                (span, inner, depth + 1)
                for span, inner in zip(within, values, strict=True)
                if isinstance(inner, list)
            ]
    # Together, for each call of the decoder costs as much as what is in a cell.
    read = b",".join(text[start:stop] for start, stop in tokens).decode()
    assert EXACT.decode(f"[{read}]") == meant


def compare_scanners(text: bytes, *, is_brief: bool = False) -> Document | None:
    """Check that all ways find the same; return the notebook, if it is one.

    Briefly, only one in four of the texts that are none is gone through by windows.
    """
    try:
        document = Document.parse(text)
    except InvalidNotebook:
        document = None
    if document is not None:
        members = list_members_tolerantly(text, document.span)
        assert members == document.members
        cells = next(one.value for one in members if one.name == "cells")
        assert cells == document.cells_span
        assert list_elements_tolerantly(text, cells) == list(document.cell_spans)
    elif is_brief and zlib.crc32(text) % 4:
        return None
    start = len(BOM) if text.startswith(BOM) else 0
    stored = FakeBuffer(text)
    seen = scan_cells(stored, start, _WINDOWS[len(text) % len(_WINDOWS)])
    if seen is not None:
        try:
            windowed = Document._from_scan(stored, seen.span, seen.members, seen)
        except InvalidNotebook:
            assert document is None
        else:
            assert document is not None
            assert describe(windowed) == describe(document)
    return document
