"""Mutations that know what JSON consists of; one in three is left to libFuzzer, which does not."""

from __future__ import annotations

import random
import re

import atheris

_TOKEN = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|[ \t\r\n]+|[^"\[\]{},: \t\r\n]+|.', re.DOTALL
)
_OPENING, _CLOSING = frozenset((b"[", b"{")), frozenset((b"]", b"}"))
_FRAGMENTS = (
    *(b"NaN", b"-Infinity", b"1e400", b"-0", b"0.10E+1", b"123456789012345678901", b"01", b"+1"),
    *(b"true", b"false", b"null", b"nul", b"[]", b"{}", b"[ ]", b"{\n}", b"[[]]", b'[{"a":[]}]'),
    *(b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\u0041\\/\\"\\\\"', b'"\xf0\x9f\x98\x80"', b'"\x7f"'),
    *(b'"\\x"', b'"\t"', b'"\x00"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"', b"\\", b"\xef\xbb\xbf"),
    *(b"[", b"]", b"{", b"}", b",", b":", b" ", b"\r\n", b"\t", b"\x0c", b"//", b"'a'"),
    *(b'"cells"', b'"\\u0063ells"', b'"source"', b'"metadata"', b'"id"', b'"outputs"', b'"a"'),
    *(b'"cells":[],', b'"source":["a\\n","b"],', b'"metadata":{"editable":false},', b'"id":"a",'),
    *(b'"attachments":{"a":{}},', b'"execution_count":1,', b'"x":{"cells":[{}]},', b'"x":1,"x":2,'),
    b'{"cell_type":"code","source":"","metadata":{},"outputs":[],"execution_count":null},',
    b'{"cell_type":"markdown","source":[],"metadata":{}},',
)


def mangled(text: bytes, longest: int, seed: int) -> bytes:
    """Give a text that is a little different."""
    chance = random.Random(seed)
    if chance.random() < 1 / 3:
        changed: bytes = atheris.Mutate(text, longest)
        return changed
    tokens = _TOKEN.findall(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        _CHANGES[int(chance.random() * len(_CHANGES))](tokens, chance)
    return b"".join(tokens)[:longest]


def _at(tokens: list[bytes], chance: random.Random) -> int:
    return int(chance.random() * len(tokens))


def _put(tokens: list[bytes], chance: random.Random) -> None:
    tokens.insert(_at(tokens, chance), chance.choice(_FRAGMENTS))


def _instead(tokens: list[bytes], chance: random.Random) -> None:
    if tokens:
        tokens[_at(tokens, chance)] = chance.choice(_FRAGMENTS)


def _without(tokens: list[bytes], chance: random.Random) -> None:
    if tokens:
        del tokens[_at(tokens, chance)]


def _swapped(tokens: list[bytes], chance: random.Random) -> None:
    if tokens:
        one, other = _at(tokens, chance), _at(tokens, chance)
        tokens[one], tokens[other] = tokens[other], tokens[one]


def _value(tokens: list[bytes], chance: random.Random) -> slice:
    """Choose a token or, if it opens something, all up to where that closes."""
    start = _at(tokens, chance)
    depth = 0
    for stop in range(start, len(tokens)):
        depth += (tokens[stop] in _OPENING) - (tokens[stop] in _CLOSING)
        if depth <= 0:
            return slice(start, stop + 1)
    return slice(start, len(tokens))


def _value_instead(tokens: list[bytes], chance: random.Random) -> None:
    """Put a value in the place of another."""
    tokens[_value(tokens, chance)] = tokens[_value(tokens, chance)]


def _value_replaced(tokens: list[bytes], chance: random.Random) -> None:
    tokens[_value(tokens, chance)] = [chance.choice(_FRAGMENTS)]


def _value_again(tokens: list[bytes], chance: random.Random) -> None:
    """Let a value follow itself, or a member: that is what stands up to the next comma."""
    at = _value(tokens, chance)
    found = tokens[at]
    if tokens[at.stop : at.stop + 1] == [b":"]:
        rest = tokens[at.stop + 1 :]
        found = [*found, b":", *rest[: next((n for n, one in enumerate(rest) if one == b","), 1)]]
    tokens[at.start : at.start] = [*found, b","]


def _value_gone(tokens: list[bytes], chance: random.Random) -> None:
    del tokens[_value(tokens, chance)]


def _spaced(tokens: list[bytes], chance: random.Random) -> None:
    """Write all white space in another way."""
    other = chance.choice((b"", b" ", b"\n", b"\r\n\t"))
    tokens[:] = [other if not one.strip(b" \t\r\n") else one for one in tokens]


_CHANGES = (
    *(_put, _instead, _without, _swapped),
    *(_value_instead, _value_replaced, _value_again, _value_gone, _spaced),
)
