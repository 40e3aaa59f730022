"""What another program has made of a notebook can be undone and done again, byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jupyter_nbedit.errors import UndoConflict
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.document_diff import compare_documents
from jupyter_nbedit.notebook.edit_plan import AffectedCell
from jupyter_nbedit.notebook.splices import apply_splices
from jupyter_nbedit.notebook.undo.known_history import KnownHistory, PastEdit
from jupyter_nbedit.notebook.undo.revert import revert
from tests.notebook.outside_changes import change_at_random
from tests.notebook.random_operations import RandomOperations
from tests.notebook.strategies import FileLayout, layouts, notebooks
from tests.notebook.undo.oracle import apply_plan, has_unique_ids, parse_values, store_and_load
from tests.support.samples import HTML_OUTPUT, code, markdown, notebook
from tests.support.sampling import is_nightly

often = settings(max_examples=5000 if is_nightly() else 50)
seeds = st.integers(0, 2**32)


def check_both_ways(before: bytes, after: bytes) -> None:
    old, new = Document.parse(before), Document.parse(after)
    diff = compare_documents(old, new)
    assert apply_splices(before, diff.plan.splices) == after
    kinds = [cell.op for cell in diff.list_affected()]
    assert len(new) - len(old) == kinds.count("insert") - kinds.count("delete")
    if parse_values(before) == parse_values(after):
        assert (kinds, diff.changes_metadata) == ([], False)
    record = diff.build_record()
    if record is None:
        # A cell is not as nbformat requires.
        return
    record = store_and_load(record)
    undone = revert(new, record, op="undo", is_exact=True)
    assert apply_plan(new, undone) == before
    redone = revert(old, store_and_load(undone.build_record()), op="redo", is_exact=True)
    assert apply_plan(old, redone) == after
    try:
        # The way that later undos go, by cells.
        by_cells = revert(new, replace(record, reverse_splices=None), op="undo", is_exact=True)
    except UndoConflict:
        assert not (has_unique_ids(old) and has_unique_ids(new))
        return
    found = parse_values(apply_plan(new, by_cells))
    assert (found["cells"], found.get("metadata")) == (
        parse_values(before)["cells"],
        parse_values(before).get("metadata"),
    )


@often
@given(layouts, layouts, seeds, seeds)
def test_a_usual_notebook_gets_its_former_bytes_back(
    layout: FileLayout, other_layout: FileLayout, seed: int, change: int
) -> None:
    before = RandomOperations(seed, 0).notebook(layout)
    check_both_ways(before, change_at_random(before, other_layout, change))


@often
@given(notebooks(), layouts, seeds)
def test_any_notebook_gets_its_former_bytes_back(
    before: bytes, layout: FileLayout, change: int
) -> None:
    check_both_ways(before, change_at_random(before, layout, change))


@given(notebooks(), notebooks())
def test_a_notebook_that_another_one_has_replaced_gets_its_former_bytes_back(
    before: bytes, after: bytes
) -> None:
    check_both_ways(before, after)


def test_a_cell_with_the_id_of_another_one_is_not_taken_for_it() -> None:
    first, second = code("a", "same"), code("b", "b")
    before = notebook(first, second, first)
    after = notebook(first, second)
    diff = compare_documents(Document.parse(before), Document.parse(after))
    assert diff.list_affected() == [AffectedCell("delete", "same", 2)]
    record = diff.build_record()
    assert record is not None
    # The notebook was saved since.
    found = Document.parse(after.replace(b" ", b""))
    past = KnownHistory([PastEdit(1, None, record)])
    undone = apply_plan(found, revert(found, record, op="undo", history=past))
    assert parse_values(undone)["cells"] == parse_values(before)["cells"]


def test_a_notebook_with_repeated_ids_that_is_only_formatted_anew_has_no_changes() -> None:
    first, second = code("a", "same"), code("b", "same")
    before, after = notebook(first, second), notebook(first, second).replace(b": ", b":")
    diff = compare_documents(Document.parse(before), Document.parse(after))
    assert (diff.list_affected(), diff.changes_metadata) == ([], False)
    check_both_ways(before, after)


def test_equal_cells_without_ids_whose_members_are_reordered_have_no_changes() -> None:
    members: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "metadata": {},
            "source": "x",
            "outputs": [],
            "execution_count": None,
        },
        {
            "cell_type": "code",
            "metadata": {},
            "source": "x",
            "execution_count": None,
            "outputs": [],
        },
    ]
    before, after = (
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()
        for cells in (members, members[::-1])
    )
    diff = compare_documents(Document.parse(before), Document.parse(after))
    assert diff.list_affected() == []
    check_both_ways(before, after)


def test_a_cell_that_replaces_another_one_by_a_few_bytes_gets_its_place_back() -> None:
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "metadata": {}, "source": f"a long text {name}", "id": name}
        for name in ("c0", "c1", "c2")
    ]
    before, after = (
        json.dumps({"cells": each, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
        for each in (cells, [cells[1], cells[0]])
    )
    check_both_ways(before, after)


def test_a_moved_copy_of_a_neighbour_does_not_hide_the_place_of_another_cell() -> None:
    filled: dict[str, object] = {
        "cell_type": "code",
        "source": "0",
        "execution_count": None,
        "outputs": [],
    }
    blank: dict[str, object] = {"cell_type": "markdown", "source": ""}
    moved = {**blank, "metadata": {}}
    empty, title = {**filled, "source": ""}, {**moved, "source": "0"}
    before, after = (
        # The other program writes all bytes anew.
        json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 0}, indent=indent).encode()
        for cells, indent in (
            ([filled, moved, title, blank, empty, empty], 1),
            ([empty, filled, empty, title, moved, blank, empty], None),
        )
    )
    check_both_ways(before, after)


def test_each_changed_cell_is_listed_once_with_what_happened_to_it() -> None:
    first, second, third = code("a", "a", outputs=[HTML_OUTPUT]), markdown("b", "b"), code("c", "c")
    before = Document.parse(notebook(first, second, third, code("d", "d")))
    after = notebook(code("new", "n"), third, code("a", "a"), second, metadata={"x": 1})
    diff = compare_documents(before, Document.parse(after))
    assert diff.list_affected() == [
        AffectedCell("insert", "n", 0),
        AffectedCell("move", "c", 1),
        AffectedCell("change", "a", 2),
        AffectedCell("delete", "d", 3),
    ]
    assert diff.changes_metadata
    (change,) = [change for change in diff.plan.changes if change.id == "a"]
    assert (change.changed_members, change.outputs_cleared) == (["outputs"], True)


def test_an_execution_count_that_another_program_has_cleared_is_not_reported_as_outputs() -> None:
    before = Document.parse(notebook(code("x", "a", execution_count=3)))

    (change,) = compare_documents(before, Document.parse(notebook(code("x", "a")))).plan.changes

    assert (change.changed_members, change.outputs_cleared) == (["execution_count"], False)


def test_a_difference_that_is_too_large_to_be_kept_is_listed_without_a_record() -> None:
    before = Document.parse(notebook(code("x", "a"), code("y", "b")))
    after = Document.parse(notebook(code("x" * (17 << 20), "a"), code("y", "b")))
    for old, new in ((before, after), (after, before)):
        diff = compare_documents(old, new)
        assert diff.list_affected() == [AffectedCell("change", "a", 0)]
        assert diff.build_record() is None


def test_a_cell_that_cannot_be_read_has_no_record() -> None:
    before = Document.parse(notebook(code("x", "a")))
    after = Document.parse(notebook(code("x", "a")).replace(b'"x"', b"[1]"))
    diff = compare_documents(before, after)
    assert [cell.op for cell in diff.list_affected()] == ["change"]
    assert diff.build_record() is None


@pytest.mark.parametrize("mime", ["text/plain", "application/json"])
def test_a_text_that_is_written_as_lines_has_not_changed_but_json_has(mime: str) -> None:
    def build(text: Any, data: Any) -> Document:
        outputs = [
            {"output_type": "stream", "name": "stdout", "text": text},
            {"output_type": "display_data", "data": {mime: data}, "metadata": {}},
        ]
        attached = markdown("b", "b", attachments={"i": {"image/png": text}})
        return Document.parse(notebook(code("a", "a", outputs=outputs), attached))

    diff = compare_documents(build("a\nb", "c\nd"), build(["a\n", "b"], ["c\n", "d"]))
    assert [cell.cell_id for cell in diff.list_affected()] == ["a"] * (mime != "text/plain")
    assert diff.plan.splices


def test_metadata_that_are_only_formatted_anew_are_not_changed() -> None:
    before = notebook(code("a", "a"), metadata={"k": [1, 2]})
    after = before.replace(b'"k": [', b'"k":  [').replace(b'"a"', b'"b"')
    record = compare_documents(Document.parse(before), Document.parse(after)).build_record()
    assert record is not None
    assert not any(part.is_notebook_metadata for part in record.parts)
    check_both_ways(before, after)
