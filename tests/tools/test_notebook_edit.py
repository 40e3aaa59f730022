"""The plan of ``NotebookEdit``: what is done, in view of the notebook as it is by then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import UNSET

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Delete, Insert, Operation, Replace
from jupyter_nbedit.tools.notebook_edit import CellEdit, base_36_id, hex_id, planned
from tests.support import samples

THREE = Document.parse(samples.three_cells())
NO_IDS = Document.parse(samples.notebook(samples.raw("x"), minor=4))
NAMED = Document.parse(samples.notebook(samples.raw("x", "cell-2"), samples.raw("y", "1")))


def plan(document: Document, mode: Any, cell_id: str, cell_type: Any = UNSET) -> Operation:
    edit = CellEdit(mode, cell_id, "new", cell_type)
    (operation,) = planned(edit, fresh_id=lambda: "fresh", bare_numbers=True)(document)
    return operation


@pytest.mark.parametrize(
    ("document", "mode", "cell_id", "operation"),
    [
        (THREE, "replace", "alpha", Replace(cell="alpha", source="new", cell_type="code")),
        (THREE, "replace", "1", Replace(cell=1, source="new", cell_type="code")),
        (THREE, "replace", "01", Replace(cell="01", source="new", cell_type="code")),
        (THREE, "replace", "-1", Replace(cell="-1", source="new", cell_type="code")),
        (NAMED, "replace", "1", Replace(cell="1", source="new", cell_type="code")),
        (THREE, "delete", "alpha", Delete(cell="alpha")),
        (THREE, "delete", "cell-3", Delete(cell="cell-3")),
        (
            THREE,
            "replace",
            "cell-3",
            Insert(source="new", cell_type="code", id="fresh", at="end"),
        ),
        (NAMED, "replace", "cell-2", Replace(cell="cell-2", source="new", cell_type="code")),
        (NO_IDS, "replace", "cell-1", Insert(source="new", cell_type="code", at="end")),
        (THREE, "insert", "", Insert(source="new", cell_type="code", id="fresh", at="start")),
        (
            THREE,
            "insert",
            "cell-3",
            Insert(source="new", cell_type="code", id="fresh", after="cell-3"),
        ),
        (NO_IDS, "insert", "0", Insert(source="new", cell_type="code", after=0)),
    ],
)
def test_an_input_means_one_operation(
    document: Document, mode: str, cell_id: str, operation: Operation
) -> None:
    assert plan(document, mode, cell_id, "code") == operation


@pytest.mark.parametrize(("mode", "cell_id"), [("insert", "alpha"), ("replace", "cell-3")])
def test_a_new_cell_needs_a_type(mode: str, cell_id: str) -> None:
    with pytest.raises(InvalidRequest, match="cell_type"):
        plan(THREE, mode, cell_id)


def test_an_id_that_a_cell_has_is_not_given_again() -> None:
    made: Iterator[str] = iter(["alpha", "beta", "new"])
    edit = CellEdit("insert", "", "x", "code")
    (operation,) = planned(edit, fresh_id=lambda: next(made))(THREE)
    assert isinstance(operation, Insert)
    assert operation.id == "new"


def test_fresh_ids_are_as_their_dialects_have_them_and_differ() -> None:
    for make, pattern in ((base_36_id, r"[0-9a-z]{12}"), (hex_id, r"[0-9a-f]{8}")):
        made = {make() for _ in range(1000)}
        assert len(made) == 1000
        assert all(re.fullmatch(pattern, cell_id) for cell_id in made)
