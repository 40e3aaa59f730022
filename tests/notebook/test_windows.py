"""Windows show the same cells as the whole text, or say that they cannot."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import InvalidNotebook, NbEditError
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.spliced import Spliced
from jupyter_nbedit.notebook.splices import Splice, join
from jupyter_nbedit.notebook.text import CHUNK_BYTES, chunks, is_ascii
from jupyter_nbedit.notebook.windows import look_through
from tests.notebook.generated import BOM, notebooks
from tests.notebook.oracle import edit
from tests.notebook.parked import Parked
from tests.support import corpora


def written(cells: list[Any], **layout: Any) -> bytes:
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, **{"indent": 1, **layout}).encode() + b"\n"


def code(number: int, **members: Any) -> dict[str, Any]:
    own = {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": [f"x = {number}\n"]}
    return {**own, "execution_count": None, "outputs": [], **members}


CELLS = [code(n) for n in range(40)]


def agree(text: bytes, window: int) -> bool:
    """Check that windows show what the whole text shows; tell whether they suffice."""
    start = len(BOM) if text.startswith(BOM) else 0
    seen = look_through(Parked(text), start, window)
    if seen is None:
        return False
    whole = Document.parse(text)
    assert (seen.span, seen.members, seen.cell_spans) == (
        whole.span,
        whole.members,
        whole.cell_spans,
    )
    heads = [(one if isinstance(one, str) else None, cell_type) for one, cell_type in seen.heads]
    assert heads == whole.heads
    return True


@given(notebooks(), st.sampled_from([64, 200, 1000, 10_000]))
def test_any_notebook_is_seen_alike_or_not_at_all(text: bytes, window: int) -> None:
    try:
        Document.parse(text)
    except InvalidNotebook:
        with pytest.raises(InvalidNotebook):
            Document.parse(Parked(text))
        return
    agree(text, window)


def test_nearly_all_real_notebooks_need_no_more_than_windows() -> None:
    seen, whole = 0, 0
    for path in corpora.notebooks():
        text = path.read_bytes()
        try:
            Document.parse(text)
        except InvalidNotebook:
            continue
        for window in (300, 5_000, 100_000):
            if len(text) > window:
                seen, whole = (seen + 1, whole) if agree(text, window) else (seen, whole + 1)
    assert seen > 500
    assert whole < seen / 100


@pytest.mark.parametrize(
    "text",
    [
        written(CELLS),
        written(CELLS, indent=4),
        written(CELLS, indent="\t"),
        written(CELLS).replace(b"\n", b"\r\n"),
        BOM + written(CELLS),
        b" \n" + written(CELLS),
        written([code(n, source="ünïcödé \U0001f600") for n in range(40)], ensure_ascii=False),
        written([code(0, source='"cells": [{'), *CELLS[1:]]),
        b'{"other": {"cells": [{}], "x": "\\"cells\\": [{"}, ' + written(CELLS)[1:].lstrip(),
        written([*CELLS[:20], code(20, source=["y\n"] * 2000), *CELLS[21:]]),
        written([code(0, source=["y\n"] * 2000), *CELLS[1:]]),
        # Large cells are walked through by their members, whatever these are.
        written([code(n, source=["y\n"] * 5000) for n in range(9)]),
        written([code(n, source=["y\n"] * 5000, attachments={}) for n in range(9)]),
        written([code(n, source=["y\n"] * 5000, other=n) for n in range(9)]),
        written([code(n, source=["y\n"] * 5000) for n in range(9)]).replace(
            b'"id":', b'"id": "first", "id":'
        ),
        written([code(n, source=["y\n"] * 5000) for n in range(9)]).replace(b'"id"', b'"i\\u0064"'),
        written([{"cell_type": "raw", "source": "y" * 20_000, "metadata": {}} for n in range(9)]),
        written([*CELLS, code(40, source=["y\n"] * 2000)]),
        # On one line, whatever ends like a cell may be a part of one.
        written([code(n, outputs=[{}] * 400) for n in range(40)], indent=None),
    ],
)
def test_however_it_is_laid_out_windows_show_the_cells(text: bytes) -> None:
    assert agree(text, 700)


@pytest.mark.parametrize(
    "text",
    [
        # nbformat takes what JSON does not.
        written([*CELLS[:20], code(20, metadata={"x": float("nan")}), *CELLS[21:]]),
        written([*CELLS[:20], code(20, source="\ud800"), *CELLS[21:]]),
        written([*CELLS[:20], 1, *CELLS[21:]]),
        written([]),
        b'{"other": {"x": "' + b"y" * 2000 + b'"}, ' + written(CELLS)[1:].lstrip(),
        written(CELLS).replace(b'"cells"', b'"c\\u0065lls"'),
        b"[]",
        b"",
    ],
)
def test_what_windows_do_not_show_the_whole_text_does(text: bytes) -> None:
    assert not agree(text, 700)
    assert _said(Parked(text)) == _said(text)


def test_a_letter_that_is_no_utf_8_is_found_in_any_window() -> None:
    text = bytearray(written(CELLS))
    for at in map(text.index, (b"c5", b"c20", b"c39", b"x = 5", b"x = 20", b"x = 39")):
        spoilt = bytes(text[:at]) + b"\xff" + bytes(text[at + 1 :])
        assert not agree(spoilt, 700)
        assert "not UTF-8" in _said(Parked(spoilt))


def test_two_arrays_of_cells_are_refused_though_a_window_shows_one() -> None:
    text = written(CELLS).replace(b'"metadata": {},\n "nbformat"', b'"cells": [],\n "nbformat"')
    assert "two members named 'cells'" in _said(Parked(text))


def _said(text: bytes | Parked) -> str:
    try:
        document = Document.parse(text)
    except NbEditError as refusal:
        return str(refusal)
    return f"{document.cell_spans} {document.heads} {document.members}"


def test_no_more_is_read_together_than_a_window_or_a_large_cell_twice() -> None:
    text = Parked(written([code(n, source=["y = 1\n"] * 300) for n in range(3000)]))
    assert len(text) > 8 * CHUNK_BYTES
    document = Document.parse(text)
    assert document.text is text
    edit(document, {"op": "replace", "cell": "c1500", "source": "z"})
    assert text.most_read <= CHUNK_BYTES + 100


@pytest.mark.parametrize(("lines", "together"), [(5, 1 << 17), (200, 800_000), (5000, CHUNK_BYTES)])
def test_of_small_cells_few_are_read_together_and_of_large_ones_what_fits_a_window(
    lines: int, together: int
) -> None:
    cell = code(0, source=["y = 1\n"] * lines)
    text = Parked(written([cell] * (3 * CHUNK_BYTES // len(json.dumps(cell)))))
    assert look_through(text, 0) is not None
    sizes = text.sizes
    # First come the notebook's beginning and one window of any cells, last what is left.
    assert len(sizes) > 3
    assert all(0.8 * together < size < 1.2 * together for size in sizes[2:-1])


def test_an_edit_of_what_is_not_in_memory_is_the_edit_of_what_is() -> None:
    compared = 0
    for path in corpora.notebooks():
        text = path.read_bytes()
        try:
            whole = Document.parse(text)
        except InvalidNotebook:
            continue
        parked = Document.parse(Parked(text))
        for operation in (
            {"op": "replace", "cell": len(whole) // 2, "source": 'ä"\n'},
            {"op": "insert", "at": "start", "cell_type": "code", "source": "x"},
            {"op": "move", "cell": 0, "at": "end"},
            {"op": "clear_outputs", "all": True},
            {"op": "set_metadata", "patch": {"k": "v"}},
        ):
            assert _done(parked, operation) == _done(whole, operation), (path, operation)
            compared += 1
    assert compared > 1000


def _done(document: Document, operation: dict[str, Any]) -> object:
    try:
        applied = edit(document, operation)
    except NbEditError as refusal:
        return refusal.reason, refusal.message
    # Both the record and what follows are made from the notebook's bytes.
    after = document.after(applied.splices)
    return (
        applied.splices,
        applied.results,
        applied.record().encode(),
        after.text[:],
        after.cell_spans,
        after.heads,
    )


def test_a_spliced_text_is_read_as_if_it_were_made() -> None:
    chance = random.Random(1)  # noqa: S311 -- reproducible, not secret
    for _ in range(300):
        base = chance.randbytes(chance.randrange(60))
        cuts = sorted(chance.choices(range(len(base) + 1), k=2 * chance.randrange(4)))
        splices = [
            Splice(start, stop, chance.randbytes(chance.randrange(9)))
            for start, stop in zip(cuts[::2], cuts[1::2], strict=True)
        ]
        whole = join(base, splices)
        text = Spliced(Parked(base), splices)
        assert len(text) == len(whole)
        assert b"".join(chunks(text)) == whole
        assert is_ascii(text) == whole.isascii()
        for _ in range(20):
            start = chance.randrange(len(whole) + 1)
            stop = chance.randrange(start, len(whole) + 1)
            assert text[start:stop] == whole[start:stop]
            room = bytearray(stop - start)
            text.read_into(start, memoryview(room))
            assert room == whole[start:stop]
            if start < len(whole):
                assert text[start] == whole[start]
                assert text[start - len(whole)] == whole[start]


def test_what_only_looks_like_the_end_of_a_cell_is_not_searched_without_end() -> None:
    looks = "},{" * 2000
    many = written(
        [code(0), code(1), code(2, source=[looks]), *CELLS], indent=None, separators=(",", ":")
    )
    few = written(
        [code(0), code(1), code(2, source=["},{"]), *CELLS], indent=None, separators=(",", ":")
    )
    assert agree(few, 400)
    assert not agree(many, 400)
    assert agree(many, 10_000)


def test_behind_a_cell_larger_than_a_window_windows_are_small_again() -> None:
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "x" * 90}}
    large = {**code(0), "outputs": [output] * 40}
    text = Parked(written([large, *CELLS * 20], indent=None, separators=(",", ":")))
    assert len(text) > 60_000
    assert look_through(text, 0, 1000) is not None
    assert text.most_read <= 16_000


def test_cells_need_not_all_be_as_far_apart() -> None:
    parts = [json.dumps(cell).encode() for cell in CELLS]
    text = b'{"nbformat":4,"cells":[' + b",".join(parts[:3])
    for number, part in enumerate(parts[3:]):
        text += (b" ,", b",\n ", b",")[number % 3] + part
    for window in (300, 500, 1000):
        assert agree(text + b" ]}", window)


def test_where_no_cell_is_there_is_nothing_to_be_seen() -> None:
    strings = b'"' + b'\\"cells\\": [{, ' * 100 + b'"'
    for text in (
        b'{"x":{"cells":[{"a":1}]},"nbformat":4}' + b" " * 500,
        b'{"x":[' + b",".join([b'{"cells":[{}]}'] * 100) + b'],"cells":[{"cell_type":"raw"}]}',
        b'{"x":' + strings + b',"cells":[]}' + b" " * 500,
    ):
        assert look_through(Parked(text), 0, 400) is None
