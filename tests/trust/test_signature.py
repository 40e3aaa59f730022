"""The signature of a notebook, cell by cell, equals that of nbformat's notary."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from hmac import HMAC
from typing import Any

import nbformat.reader
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nbformat.sign import NotebookNotary

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Delete, Insert, Move, Replace
from jupyter_nbedit.trust.signature import (
    Checkpoint,
    Signature,
    UnsupportedNotebook,
    compute_signature,
)
from tests.notebook.lazy.fake_buffer import FakeBuffer
from tests.support import corpora, samples
from tests.support.sampling import is_nightly, seeded_random

SECRET = b"a secret"
NOTARY = NotebookNotary(db_file=":memory:", secret=SECRET)
NIGHTLY = is_nightly()


def build_hasher() -> HMAC:
    return HMAC(SECRET, digestmod="sha256")


def compute_by_nbformat(text: bytes) -> str | None:
    """Ask the notary, as a contents manager does."""
    try:
        return str(NOTARY.compute_signature(nbformat.reader.reads(text.decode())))
    except Exception:  # noqa: BLE001 -- whatever nbformat stumbles over
        return None


def hash_document(document: Document) -> str | None:
    """Compute the signature; None if that is left to nbformat."""
    try:
        return compute_signature(document, build_hasher).text
    except UnsupportedNotebook:
        return None


def check(text: bytes) -> str | None:
    """Check that all signatures of a valid notebook agree, and return them."""
    document = Document.parse(text)
    expected, found = compute_by_nbformat(text), hash_document(document)
    # A notebook left to nbformat is right in any case; one that nbformat refuses is unsigned.
    assert found in {expected, None}
    assert hash_document(Document.parse(FakeBuffer(text))) == found
    return found


def test_the_remembered_signature_of_a_cell_depends_only_on_its_bytes() -> None:
    def notebook(*sources: str, before: str = "") -> bytes:
        head = f'{{{before}"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": ['
        cells = [json.dumps(samples.raw(source, metadata={"n": 1})) for source in sources]
        return f"{head}{', '.join(cells)}]}}".encode()

    # Of small cells it is remembered what is signed of them.
    long = "x" * 10_000
    one, other = check(notebook("a", "b")), check(notebook("b", "a"))
    assert None not in {one, other}
    assert one != other
    # The first of each two is not remembered, or is between two that are.
    for sources in (["a"], ["a", "A"], ["a", long, "b"], [long, "a"], ["b", "a", long]):
        assert check(notebook(*sources))
        assert check(notebook(*sources, before='"a": [[1, 2], "z"], '))


names = st.sampled_from(
    ["text/plain", "text/html", "image/png", "application/json", "application/x+json", "a", "é\n"]
)
lines = st.one_of(st.text(max_size=8), st.lists(st.text(max_size=8), max_size=3))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=8),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)
bundles = st.dictionaries(names, lines | values, max_size=3)
outputs = st.one_of(
    values,
    st.fixed_dictionaries(
        {"output_type": st.sampled_from(["display_data", "execute_result", "stream", "error", ""])},
        optional={"data": bundles | values, "metadata": values, "text": lines | values},
    ),
)
metadata = st.one_of(
    st.dictionaries(st.sampled_from(["trusted", "tags", "signature", "x"]), values, max_size=3),
    values,
)
cells = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "markdown", "raw", "odd"])},
    optional={
        "metadata": metadata,
        "source": lines | values,
        "outputs": st.lists(outputs, max_size=3) | values,
        "attachments": st.dictionaries(names, bundles, max_size=2) | values,
        "execution_count": values,
        "id": values,
        "other": values,
    },
)
notebooks = st.fixed_dictionaries(
    {"cells": st.lists(cells, max_size=4), "nbformat": st.just(4), "nbformat_minor": st.just(5)},
    optional={
        "metadata": metadata,
        "signature": values,
        "orig_nbformat": values,
        "Above": values,
        "é": values,
    },
)


@given(notebook=notebooks, indent=st.none() | st.integers(0, 2), ascii_only=st.booleans())
@example(
    notebook={"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "é": -0.0},
    indent=None,
    ascii_only=True,
)
def test_any_notebook_has_the_signature_that_nbformat_computes(
    notebook: dict[str, Any], indent: int | None, *, ascii_only: bool
) -> None:
    text = json.dumps(notebook, indent=indent, ensure_ascii=ascii_only)
    check(text.encode("utf-8", "replace"))


@pytest.mark.parametrize(
    "text",
    [
        b'{"cells": [], "metadata": {"a": 1, "a": 2}, "nbformat": 4, "nbformat_minor": 5}',
        b'{"x": 1, "cells": [], "x": 2, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
        (
            b'{"cells": [{"cell_type": "raw", "metadata": {"trusted": NaN, "n": [NaN, -Infinity]},'
            b' "source": "\\u00e9\\ud83d\\ude00", "x": 1E5, "x": 0.10, "y": 10000000000000000.5}],'
            b' "metadata": {}, "nbformat": 4}'
        ),
        b'\n {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5} \n',
        samples.notebook(),
        samples.three_cells(),
        samples.notebook(samples.code("x" * 200_000, "a"), samples.raw("é" * 100_000, "b")),
    ],
)
def test_unusual_json_formatting_does_not_change_the_signature(text: bytes) -> None:
    assert check(text) == compute_by_nbformat(text)
    assert check(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + samples.three_cells(),
        samples.notebook(samples.code("1", "a", metadata=None)),
        samples.notebook(samples.code("1", "a", attachments=[1])),
        samples.notebook(samples.code("1", "a", outputs=None)),
        samples.notebook(samples.code("1", "a", outputs=[{"output_type": []}])),
        samples.notebook({"cell_type": "raw", "metadata": {}, "source": [1]}),
        (
            b'{"cells": [{"cell_type": "raw", "source": "\\ud800", "metadata": {}}],'
            b' "metadata": {}, "nbformat": 4}'
        ),
        b'{"cells": [], "nbformat": 4, "nbformat_minor": 5}',
        b'{"cells": [], "metadata": [], "nbformat": 4, "nbformat_minor": 5}',
    ],
)
def test_a_notebook_that_nbformat_cannot_read_is_left_to_nbformat(text: bytes) -> None:
    assert compute_by_nbformat(text) is None
    assert check(text) is None


def test_deep_nesting_is_left_to_nbformat() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = {"a": [deep]}
    text = samples.notebook(samples.raw("1", "a", metadata={"deep": deep}))
    assert compute_by_nbformat(text) is not None
    assert check(text) is None


def corpus() -> Iterator[bytes]:
    for path in corpora.notebooks()[:: 1 if NIGHTLY else 8]:
        yield path.read_bytes()


def test_real_notebooks_have_the_signature_that_nbformat_computes() -> None:
    known = 0
    for text in corpus():
        try:
            found = check(text)
        except NbEditError:
            continue
        assert found == compute_by_nbformat(text)
        known += found is not None
    assert known >= (400 if NIGHTLY else 45)


def test_damaged_notebooks_never_get_a_signature_other_than_nbformats() -> None:
    chance, notebooks = seeded_random("damaged notebooks"), 0
    small = [text for text in corpus() if len(text) < 60_000]
    for text in small * (40 if NIGHTLY else 1):
        at = chance.randrange(len(text))
        tokens = (b"", b'"', b"null", b"[", b"]", b"{}", b"1", b",", b'"trusted"', b"\\ud800", b" ")
        damaged = text[:at] + chance.choice(tokens) + text[at + chance.randrange(4) :]
        with suppress(NbEditError):
            check(damaged)
            notebooks += 1
    assert notebooks > len(small) / 8


EDITS = [
    Replace(cell=1, source="changed"),
    Replace(cell=29, source="changed"),
    Insert(source="new", cell_type="code", at="start"),
    Insert(source="new", cell_type="raw", at="end"),
    Insert(source="new", cell_type="markdown", index=17),
    Delete(cell=20),
    Move(cell=25, index=3),
]


@pytest.mark.parametrize("first", [{}, {"Above": 1}])
@pytest.mark.parametrize(("lines", "buffer_type"), [(20, bytes), (2000, FakeBuffer), (2000, bytes)])
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{type(edit).__name__}")
def test_the_signature_of_an_edited_notebook_resumes_at_the_edit(
    edit: Any, first: dict[str, Any], lines: int, buffer_type: Callable[[bytes], Any]
) -> None:
    some = [samples.code(f"x = {n}\n" * lines, f"id-{n}") for n in range(30)]
    notebook = {**first, "cells": some, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(notebook, indent=1).encode()
    base = Document.parse(buffer_type(text))
    before = compute_signature(base, build_hasher)
    # A small notebook has none: its cells are cached.
    assert bool(before.checkpoints) == (not first and lines == 2000)
    splices = apply_operations(base, [edit], fresh_id=partial(next, iter("abc"))).splices
    after = base.apply_splices(splices)
    marks = before.select_checkpoints(base, after, splices[0].start)
    assert all(mark in before.checkpoints for mark in marks)
    going_on = compute_signature(after, build_hasher, marks)
    assert going_on.text == compute_by_nbformat(after.text[:])
    again = base.apply_splices(splices)
    marks = going_on.select_checkpoints(again, again, len(again.text))
    assert marks == list(going_on.checkpoints)
    assert compute_signature(again, build_hasher, marks).text == going_on.text
    assert compute_by_nbformat(text) == before.text


def test_notebooks_with_cells_at_other_positions_share_no_state() -> None:
    base = Document.parse(samples.three_cells())
    other = Document.parse(b" " + samples.three_cells())
    signature = Signature("x", [Checkpoint(cells, build_hasher()) for cells in (1, 3)])
    end = len(base.text)
    assert signature.select_checkpoints(base, other, end) == []
    assert signature.select_checkpoints(base, base, end) == signature.checkpoints
    second_cell = base.cell_spans[1].start
    assert signature.select_checkpoints(base, base, second_cell) == signature.checkpoints[:1]
    assert signature.select_checkpoints(base, base, 0) == []
