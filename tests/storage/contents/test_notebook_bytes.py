"""A notebook as managers read it, and as stable bytes."""

import json
from typing import Any

import nbformat
import pytest

from jupyter_nbedit.storage.contents.notebook_storage import (
    add_ids,
    is_marked_trusted,
    is_same_notebook,
    parse_model,
    serialize,
    set_trusted,
)
from tests.support import samples

TEXT = samples.three_cells()


def read_model(text: bytes) -> Any:
    """Read a notebook as managers do, ids that are missing made up."""
    notebook = nbformat.from_dict(json.loads(text))
    for index, cell in enumerate(notebook.cells):
        cell["source"] = "".join(cell["source"])
        cell.setdefault("id", f"random-{index}")
        if cell.cell_type == "code":
            cell.metadata["trusted"] = False
    return notebook


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b'{"cells": []}',
        b'{"cells": [], "metadata": {}, "nbformat": 4}',
        b'{"cells": [{}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
        b'{"worksheets": [], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}',
        TEXT[:-10],
    ],
)
def test_an_invalid_notebook_is_none_and_shown_unchanged(text: bytes) -> None:
    assert parse_model(text) is None
    assert serialize(read_model(TEXT), text) == text
    assert is_same_notebook(text, text)
    assert not is_same_notebook(text, TEXT)


def test_a_file_equal_to_the_merged_model_is_shown_byte_for_byte() -> None:
    odd = TEXT.replace(b"\n ", b"\r\n\t")
    assert serialize(read_model(TEXT), odd) == odd
    without_ids = samples.notebook(samples.raw("one"), samples.raw("two"))
    assert serialize(read_model(without_ids), without_ids) == without_ids


def test_a_file_that_differs_from_the_merged_model_has_stable_text() -> None:
    merged = read_model(
        samples.notebook(samples.raw("a", "one"), samples.raw("a"), samples.raw("a"))
    )
    own = samples.notebook(samples.raw("b", "one"))
    first = serialize(merged, own)
    for index, cell in enumerate(merged.cells[1:]):
        cell["id"] = f"other-{index}"
    assert serialize(merged, own) == first
    cells = samples.load_cells(first)
    assert cells[0]["id"] == "one"
    assert len({cell["id"] for cell in cells}) == 3
    assert is_same_notebook(
        first, samples.notebook(*[samples.raw("a", f"id-{n}") for n in range(3)])
    )


def test_trust_marks_are_never_in_the_text() -> None:
    merged = read_model(TEXT.replace(b"x = 1", b"x = 2"))
    set_trusted(merged, is_trusted=True)
    assert b"trusted" not in serialize(merged, TEXT)


def test_jupytext_metadata_about_the_text_file_are_ignored() -> None:
    notes = {"jupytext": {"main_language": "python", "text_representation": {"extension": ".py"}}}
    formats = {"jupytext": {"formats": "ipynb,py"}}
    plain = samples.notebook()
    assert is_same_notebook(plain, samples.notebook(metadata=notes))
    assert not is_same_notebook(plain, samples.notebook(metadata=formats))


def test_missing_ids_are_created_once_in_formats_with_ids() -> None:
    double = parse_model(
        samples.notebook(samples.raw("a", "x"), samples.raw("b", "x"), samples.raw("b"))
    )
    assert double is not None
    add_ids(double)
    ids = [cell["id"] for cell in double["cells"]]
    assert (ids[0], len(set(ids))) == ("x", 3)
    older = parse_model(samples.notebook(samples.raw("a", "x"), minor=4))
    assert older is not None
    add_ids(older)
    assert "id" not in older["cells"][0]


def test_trust_covers_all_outputs_or_none() -> None:
    notebook = read_model(TEXT)
    assert is_marked_trusted(notebook) is False
    set_trusted(notebook, is_trusted=True)
    assert is_marked_trusted(notebook) is True
    assert [cell["metadata"] for cell in notebook["cells"]] == [{"trusted": True}, {}, {}]
    set_trusted(notebook, is_trusted=False)
    assert [cell["metadata"] for cell in notebook["cells"]] == [{}, {}, {}]
    assert is_marked_trusted(read_model(samples.notebook(samples.code("1", "a")))) is True
    assert is_marked_trusted(read_model(samples.notebook(samples.raw("1", "a")))) is None
