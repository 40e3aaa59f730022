"""Ways in which a notebook's file may be unlike what Jupyter writes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
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
Mutator = Callable[[bytes, random.Random], bytes]


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
    """Return a member's value, the last one of that name, or None."""
    return dict(members.pairs).get(name)


def put(members: Members, name: str, value: Any) -> None:
    """Set a member in its place, or add it."""
    pairs = [(known, value if known == name else old) for known, old in members.pairs]
    members.pairs[:] = pairs if name in dict(members.pairs) else [*pairs, (name, value)]


def drop(members: Members, name: str) -> None:
    members.pairs[:] = [pair for pair in members.pairs if pair[0] != name]


def cells(notebook: Members) -> list[Members]:
    return [cell for cell in get(notebook, "cells") if isinstance(cell, Members)]


def objects(notebook: Members) -> list[Members]:
    """Return the notebook, its cells, and the metadata of each."""
    owners = [notebook, *cells(notebook)]
    found = [get(owner, "metadata") for owner in owners]
    return [*owners, *(metadata for metadata in found if isinstance(metadata, Members))]


def source(cell: Members) -> str:
    """Return a cell's source as one text."""
    found = get(cell, "source") or ""
    return found if isinstance(found, str) else "".join(found)


# How it is written ---------------------------------------------------------------------------


def _written(**fields: Any) -> Mutator:
    layout = replace(JUPYTER, **fields)
    return lambda text, _: write(read(text), layout)


def _escape_names(text: bytes, _chance: random.Random) -> bytes:
    notebook = write(read(text), JUPYTER)
    for name in (b"cells", b"source", b"metadata", b"cell_type", b"id"):
        escaped = b"".join(b"\\u%04x" % letter for letter in name)
        notebook = notebook.replace(b'"%s": ' % name, b'"%s": ' % escaped)
    return notebook


# What it says --------------------------------------------------------------------------------


def _changed(change: Change) -> Mutator:
    """Build a mutator that changes the notebook."""

    def mutate(text: bytes, chance: random.Random) -> bytes:
        notebook = read(text)
        change(notebook, chance)
        return write(notebook)

    return mutate


def _changed_cells(change: Change) -> Mutator:
    """Build a mutator that changes each of its cells."""

    def change_cells(notebook: Members, chance: random.Random) -> None:
        for cell in cells(notebook):
            change(cell, chance)

    return _changed(change_cells)


def _shuffle_names(notebook: Members, chance: random.Random) -> None:
    for owner in objects(notebook):
        chance.shuffle(owner.pairs)


def _added_to_metadata(*values: str) -> Mutator:
    def change(notebook: Members, chance: random.Random) -> None:
        for metadata in objects(notebook)[1 + len(cells(notebook)) :]:
            at = chance.randint(0, len(metadata.pairs))
            value = Token(chance.choice(values))
            metadata.pairs.insert(at, (f"odd-{chance.randint(0, 9)}", value))

    return _changed(change)


def _double_names(notebook: Members, chance: random.Random) -> None:
    for owner in objects(notebook):
        first, last = chance.choices([1, "x", [], Token('{"cells": []}')], k=2)
        owner.pairs[:] = [("x-double", first), *owner.pairs, ("x-double", last)]


def _cut_source(cell: Members, chance: random.Random) -> None:
    text = source(cell)
    cut = sorted(chance.randint(0, len(text)) for _ in range(3))
    pieces = [text[a:b] for a, b in zip([0, *cut], [*cut, len(text)], strict=True)]
    put(cell, "source", [*pieces, ""])


def _empty_lists(cell: Members, _chance: random.Random) -> None:
    put(cell, "source", Token("[ ]"))
    if get(cell, "cell_type") == "code":
        put(cell, "outputs", Token("[\n\n]"))


def _add_unknown(notebook: Members, chance: random.Random) -> None:
    for owner in cells(notebook):
        for alien in _ALIENS:
            owner.pairs.insert(chance.randint(0, len(owner.pairs)), alien)
    notebook.pairs.insert(0, ("worksheets", Token('[{"cells": [1]}]')))


def _double_ids(notebook: Members, chance: random.Random) -> None:
    put(notebook, "nbformat_minor", Token("5"))
    for cell in cells(notebook):
        put(cell, "id", chance.choice(["a", "b", "cell-1"]))


def _change_minor(notebook: Members, _chance: random.Random) -> None:
    minor = get(notebook, "nbformat_minor")
    put(notebook, "nbformat_minor", Token("5" if minor != Token("5") else "2"))


def _drop_members(notebook: Members, chance: random.Random) -> None:
    """Drop what nbformat demands and we can do without."""
    drop(notebook, "metadata")
    for cell in cells(notebook):
        drop(cell, chance.choice(("source", "metadata", "outputs", "execution_count")))


def _protect(cell: Members, chance: random.Random) -> None:
    if isinstance(get(cell, "metadata"), Members):
        put(get(cell, "metadata"), chance.choice(["editable", "deletable"]), value=False)


#: By what each is called.
MUTATORS: Mapping[str, Mutator] = {
    "on one line": _written(indent=None, comma=",", colon=":"),
    "indented by four": _written(indent="    "),
    "indented by tabs": _written(indent="\t", colon=" :\t"),
    "escaped to ASCII": _written(ascii=True, slashes=True),
    "CRLF": lambda text, _: text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "no final newline": lambda text, _: text.rstrip(),
    "white space around": lambda text, _: b" \t\r\n" + text.removeprefix(BOM) + b"\r\n\n \t",
    "byte order mark": lambda text, _: BOM + text.removeprefix(BOM),
    "names escaped": _escape_names,
    "key order": _changed(_shuffle_names),
    "NaN": _added_to_metadata("NaN", "Infinity", "-Infinity"),
    "long integers": _added_to_metadata("9" * _DIGITS, "-" + "1" * 400),
    "odd numbers": _added_to_metadata(*_ODD_NUMBERS),
    "lone surrogates": _added_to_metadata('"\\ud800"', '["\\udc00x"]'),
    "deep metadata": _added_to_metadata("[" * _DEEP + "]" * _DEEP),
    "duplicate keys": _changed(_double_names),
    "unicode sources": _changed_cells(
        lambda cell, chance: put(cell, "source", source(cell) + "\n" + chance.choice(_ODD_TEXTS))
    ),
    "string sources": _changed_cells(lambda cell, _: put(cell, "source", source(cell))),
    "sources in pieces": _changed_cells(_cut_source),
    "empty lists": _changed_cells(_empty_lists),
    "unknown members": _changed(_add_unknown),
    "ids dropped": _changed_cells(lambda cell, _: drop(cell, "id")),
    "ids doubled": _changed(_double_ids),
    "no cells": _changed(lambda notebook, _: put(notebook, "cells", Token("[\t]"))),
    "another minor version": _changed(_change_minor),
    "members missing": _changed(_drop_members),
    "protected": _changed_cells(_protect),
}
