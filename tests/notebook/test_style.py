"""A file that one writer wrote is edited to the bytes that this writer would write."""

import itertools
import json
from typing import Any

import pytest

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import apply_splices
from tests.notebook import model
from tests.notebook.oracle import NEW_ID, SOURCE, edit
from tests.support.sampling import choose

CODE = {
    "cell_type": "code",
    "execution_count": 3,
    "id": "code",
    "metadata": {"tags": ["a", "b"]},
    "outputs": [{"name": "stdout", "output_type": "stream", "text": ["é\n"]}],
    "source": ["x = 1\n", "y = 2"],
}
CLEARED: dict[str, Any] = {"execution_count": None, "outputs": []}
MARKDOWN = {"cell_type": "markdown", "id": "markdown", "metadata": {}, "source": ["é"]}

DUMPS = [
    *({"indent": indent} for indent in range(1, 9)),
    {"indent": "\t"},
    {"indent": 0},
    {},
    {"separators": (",", ":")},
    {"indent": 2, "separators": (",", ":")},
    {"indent": 1, "separators": (",", " : ")},
]

STYLES = itertools.product(DUMPS, [False, True], [False, True], [list, str], [None, "reversed"])


def write_notebook(cells: list[Any], *, ascii: bool, crlf: bool, kind: type, **dumps: Any) -> bytes:  # noqa: A002
    """Write a notebook as a writer of this habit does."""
    cells = [{**cell, "source": build_with_source(model.get_source(cell), kind)} for cell in cells]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(notebook, ensure_ascii=ascii, **dumps) + "\n"
    return text.replace("\n", "\r\n" if crlf else "\n").encode()


def build_with_source(source: str, kind: type) -> Any:
    return source if kind is str else source.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("dumps", "ascii", "crlf", "kind", "order"),
    choose("styles", STYLES, 112),
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else None,
)
def test_an_edit_writes_the_bytes_that_the_original_writer_would_write(
    dumps: dict[str, Any],
    ascii: bool,  # noqa: A002, FBT001
    crlf: bool,  # noqa: FBT001
    kind: type,
    order: str | None,
) -> None:
    habit = {"ascii": ascii, "crlf": crlf, "kind": kind, **dumps}
    arranged = [
        dict(reversed(cell.items())) if order else dict(cell) for cell in (CODE, MARKDOWN, CODE)
    ]
    arranged[2]["id"] = "last"
    metadata = {"a": [1, {"é": []}], "b": {}}
    new = {**CODE, "source": SOURCE, "id": NEW_ID, "metadata": metadata, **CLEARED}
    new = {name: new[name] for name in arranged[0]}

    def apply(*operations: dict[str, Any]) -> bytes:
        document = Document.parse(write_notebook(arranged, **habit))
        return apply_splices(document.text, edit(document, *operations).splices)

    put = {"op": "insert", "cell_type": "code", "source": SOURCE, "metadata": metadata}
    for at in range(4):
        more = [*arranged[:at], new, *arranged[at:]]
        assert apply({**put, "index": at}) == write_notebook(more, **habit)
    for at in range(3):
        cleared = CLEARED if arranged[at]["cell_type"] == "code" else {}
        changed = {**arranged[at], "source": SOURCE, **cleared}
        others = [*arranged[:at], *arranged[at + 1 :]]
        assert apply({"op": "replace", "cell": at, "source": SOURCE}) == write_notebook(
            [*arranged[:at], changed, *arranged[at + 1 :]], **habit
        )
        assert apply({"op": "delete", "cell": at}) == write_notebook(others, **habit)
        for gap in range(4):
            now = gap - (gap > at)
            assert apply({"op": "move", "cell": at, "index": gap}) == write_notebook(
                [*others[:now], arranged[at], *others[now:]], **habit
            )
    assert apply(
        {"op": "replace", "cell": 1, "cell_type": "raw", "source": "x\n"}
    ) == write_notebook(
        [arranged[0], arranged[1] | {"cell_type": "raw", "source": "x\n"}, arranged[2]], **habit
    )


@pytest.mark.parametrize("dumps", DUMPS)
def test_the_first_cell_has_the_formatting_of_the_file(dumps: dict[str, Any]) -> None:
    habit = {"ascii": False, "crlf": False, "kind": list, **dumps}
    document = Document.parse(write_notebook([], **habit))

    applied = edit(document, {"op": "insert", "at": "end", "cell_type": "code", "source": SOURCE})

    new = {**CODE, "source": SOURCE, "id": NEW_ID, "metadata": {}, **CLEARED}
    new = {name: new[name] for name in sorted(new)}
    assert apply_splices(document.text, applied.splices) == write_notebook([new], **habit)


@pytest.mark.parametrize("value", ["\x1b", "\\u00e9"])
def test_a_file_without_unicode_escapes_gets_plain_utf8(value: str) -> None:
    # A backslash before a `u` is no escape.
    top = {"cells": [], "metadata": {"a": value}, "nbformat": 4, "nbformat_minor": 5}
    document = Document.parse(json.dumps(top, indent=1).encode())

    applied = edit(document, {"op": "insert", "at": "end", "cell_type": "raw", "source": "é"})

    assert "é".encode() in apply_splices(document.text, applied.splices)
