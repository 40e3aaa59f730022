"""Ways in which a notebook's file may be unlike what Jupyter writes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.notebook.generated import BOM, Layout, Members, Token

#: As Jupyter writes.
JUPYTER = Layout(indent=" ", newline="\n", comma=", ", colon=": ", ascii=False, slashes=False)

_ODD_NUMBERS = ("1e400", "-0", "1E+2", "0.10", "-1.0e-7", "123456789012345678901234567890")
_ODD_TEXTS = (
    "\U0001f600 ünïcödé \u202e rtl",
    "\u2028\u2029\x85\x7f\ufeff",
    '\x00\x01\x1f"\\/\b\f\t',
    "e\u0301\U000e0001\uffff",
)
_DEEP = 150
_DIGITS = 5000
_ALIENS: list[tuple[str, Any]] = [
    ("cells", Token('[ {"cells": [ ]} ]')),
    ("Source", "x"),
    ("", Token("{ }")),
    ("x-unknown", Token('[[],{},[{}],""]')),
]

Change = Callable[[Members, random.Random], None]


def read(text: bytes) -> Members:
    """Read a notebook so that it can be written again with each number as it was."""
    found: Members = json.loads(
        text.decode("utf-8-sig"),
        object_pairs_hook=Members,
        parse_int=Token,
        parse_float=Token,
        parse_constant=Token,
    )
    return found


def write(notebook: Members, layout: Layout = JUPYTER) -> bytes:
    """Write a notebook, with the line feed that Jupyter ends it with."""
    return layout.write(notebook).encode("utf-8", "surrogatepass") + b"\n"


def get(members: Members, name: str) -> Any:
    """Give a member's value, the last one of that name, or None."""
    return dict(members.pairs).get(name)


def put(members: Members, name: str, value: Any) -> None:
    """Set a member in its place, or add it."""
    pairs = [(known, value if known == name else old) for known, old in members.pairs]
    members.pairs[:] = pairs if name in dict(members.pairs) else [*pairs, (name, value)]


def cells(notebook: Members) -> list[Members]:
    """Give the cells."""
    return [cell for cell in get(notebook, "cells") if isinstance(cell, Members)]


def metadatas(notebook: Members) -> Iterator[Members]:
    """Give the metadata of the notebook and of its cells, as far as they are objects."""
    for owner in (notebook, *cells(notebook)):
        found = get(owner, "metadata")
        if isinstance(found, Members):
            yield found


def source(cell: Members) -> str:
    """Give a cell's source as one text."""
    found = get(cell, "source") or ""
    return found if isinstance(found, str) else "".join(found)


# How it is written ---------------------------------------------------------------------------


def _written(**fields: Any) -> Callable[[bytes, random.Random], bytes]:
    layout = replace(JUPYTER, **fields)
    return lambda text, _: write(read(text), layout)


def _crlf(text: bytes, _chance: random.Random) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _no_final_newline(text: bytes, _chance: random.Random) -> bytes:
    return text.rstrip()


def _space_around(text: bytes, _chance: random.Random) -> bytes:
    return b" \t\r\n" + text.removeprefix(BOM) + b"\r\n\n \t"


def _byte_order_mark(text: bytes, _chance: random.Random) -> bytes:
    return BOM + text.removeprefix(BOM)


def _names_escaped(text: bytes, _chance: random.Random) -> bytes:
    notebook = write(read(text), JUPYTER)
    for name in (b"cells", b"source", b"metadata", b"cell_type", b"id"):
        escaped = b"".join(b"\\u%04x" % letter for letter in name)
        notebook = notebook.replace(b'"%s": ' % name, b'"%s": ' % escaped)
    return notebook


# What it says --------------------------------------------------------------------------------


def _changed(change: Change) -> Callable[[bytes, random.Random], bytes]:
    def mutator(text: bytes, chance: random.Random) -> bytes:
        notebook = read(text)
        change(notebook, chance)
        return write(notebook)

    return mutator


def _key_order(notebook: Members, chance: random.Random) -> None:
    for owner in (notebook, *cells(notebook), *metadatas(notebook)):
        chance.shuffle(owner.pairs)


def _added_to_metadata(*values: Any) -> Change:
    def change(notebook: Members, chance: random.Random) -> None:
        for metadata in metadatas(notebook):
            at = chance.randint(0, len(metadata.pairs))
            metadata.pairs.insert(at, (f"odd-{chance.randint(0, 9)}", chance.choice(values)))

    return change


def _duplicate_keys(notebook: Members, chance: random.Random) -> None:
    for owner in (notebook, *cells(notebook), *metadatas(notebook)):
        first, last = chance.choices([1, "x", [], Token('{"cells": []}')], k=2)
        owner.pairs[:] = [("x-double", first), *owner.pairs, ("x-double", last)]


def _unicode_sources(notebook: Members, chance: random.Random) -> None:
    for cell in cells(notebook):
        put(cell, "source", source(cell) + "\n" + chance.choice(_ODD_TEXTS))


def _string_sources(notebook: Members, _chance: random.Random) -> None:
    for cell in cells(notebook):
        put(cell, "source", source(cell))


def _list_sources(notebook: Members, chance: random.Random) -> None:
    for cell in cells(notebook):
        text = source(cell)
        cut = sorted(chance.randint(0, len(text)) for _ in range(3))
        pieces = [text[a:b] for a, b in zip([0, *cut], [*cut, len(text)], strict=True)]
        put(cell, "source", [*pieces, ""])


def _empty_lists(notebook: Members, _chance: random.Random) -> None:
    for cell in cells(notebook):
        put(cell, "source", Token("[ ]"))
        if get(cell, "cell_type") == "code":
            put(cell, "outputs", Token("[\n\n]"))


def _no_cells(notebook: Members, _chance: random.Random) -> None:
    put(notebook, "cells", Token("[\t]"))


def _unknown_members(notebook: Members, chance: random.Random) -> None:
    for owner in cells(notebook):
        for alien in _ALIENS:
            owner.pairs.insert(chance.randint(0, len(owner.pairs)), alien)
    notebook.pairs.insert(0, ("worksheets", Token('[{"cells": [1]}]')))


def _ids_dropped(notebook: Members, _chance: random.Random) -> None:
    for cell in cells(notebook):
        cell.pairs[:] = [pair for pair in cell.pairs if pair[0] != "id"]


def _ids_doubled(notebook: Members, chance: random.Random) -> None:
    put(notebook, "nbformat_minor", Token("5"))
    for cell in cells(notebook):
        put(cell, "id", chance.choice(["a", "b", "cell-1"]))


def _minor_changed(notebook: Members, _chance: random.Random) -> None:
    minor = get(notebook, "nbformat_minor")
    put(notebook, "nbformat_minor", Token("5" if minor != Token("5") else "2"))


def _members_missing(notebook: Members, chance: random.Random) -> None:
    """Take what nbformat demands and we can do without."""
    missing = ("source", "metadata", "outputs", "execution_count")
    for cell in cells(notebook):
        gone = chance.choice(missing)
        cell.pairs[:] = [pair for pair in cell.pairs if pair[0] != gone]
    notebook.pairs[:] = [pair for pair in notebook.pairs if pair[0] != "metadata"]


def _protected(notebook: Members, chance: random.Random) -> None:
    for cell in cells(notebook):
        if isinstance(get(cell, "metadata"), Members):
            put(get(cell, "metadata"), chance.choice(["editable", "deletable"]), value=False)


#: By what each is called.
MUTATORS: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "on one line": _written(indent=None, comma=",", colon=":"),
    "indented by four": _written(indent="    "),
    "indented by tabs": _written(indent="\t", colon=" :\t"),
    "escaped to ASCII": _written(ascii=True, slashes=True),
    "CRLF": _crlf,
    "no final newline": _no_final_newline,
    "white space around": _space_around,
    "byte order mark": _byte_order_mark,
    "names escaped": _names_escaped,
    "key order": _changed(_key_order),
    "NaN": _changed(_added_to_metadata(*map(Token, ("NaN", "Infinity", "-Infinity")))),
    "long integers": _changed(_added_to_metadata(Token("9" * _DIGITS), Token("-" + "1" * 400))),
    "odd numbers": _changed(_added_to_metadata(*map(Token, _ODD_NUMBERS))),
    "lone surrogates": _changed(_added_to_metadata(Token('"\\ud800"'), Token('["\\udc00x"]'))),
    "deep metadata": _changed(_added_to_metadata(Token("[" * _DEEP + "]" * _DEEP))),
    "duplicate keys": _changed(_duplicate_keys),
    "unicode sources": _changed(_unicode_sources),
    "string sources": _changed(_string_sources),
    "sources in pieces": _changed(_list_sources),
    "empty lists": _changed(_empty_lists),
    "unknown members": _changed(_unknown_members),
    "ids dropped": _changed(_ids_dropped),
    "ids doubled": _changed(_ids_doubled),
    "no cells": _changed(_no_cells),
    "another minor version": _changed(_minor_changed),
    "members missing": _changed(_members_missing),
    "protected": _changed(_protected),
}
