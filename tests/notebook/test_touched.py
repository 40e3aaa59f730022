"""What an operation does beyond what it is named for: outputs, protection, order, what is told."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from jupyter_nbedit.errors import CellProtected
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from tests.notebook.oracle import edit
from tests.support import samples

RAN = {"execution_count": 1, "outputs": [samples.HTML_OUTPUT]}
STARTED = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
ENDED = {**STARTED, "shell.execute_reply": "2026-01-01T00:00:01Z"}
NOTEBOOK = Document.parse(
    samples.notebook(
        samples.code("x = 1\ny = 2", "a", **RAN),
        samples.code("z = 3\n0", "b", metadata={"execution": STARTED, "k": 1}, **RAN),
        samples.code("z = 4\n0", "c", metadata={"execution": ENDED, "k": 1}, **RAN),
        samples.code("locked\n0", "d", metadata={"editable": False}, **RAN),
        samples.code("kept", "e", metadata={"deletable": False}, **RAN),
    )
)
BARE = Document.parse(
    b'{"nbformat":4,"nbformat_minor":4,"cells":[{"cell_type":"raw","source":"a\\nb"}]}'
)


def cells_after(*operations: dict[str, Any], of: Document = NOTEBOOK) -> list[dict[str, Any]]:
    return samples.cells_of(join(of.text, edit(of, *operations).splices))


def told(*operations: dict[str, Any]) -> list[dict[str, Any]]:
    """Give what is answered, as it goes out."""
    results = edit(NOTEBOOK, *operations).results
    found: list[dict[str, Any]] = json.loads(msgspec.json.encode(results))
    return found


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "source": "new"},
        {"op": "replace_text", "old": "0", "new": "x"},
        {"op": "split", "at_line": 2},
        {"op": "clear_outputs"},
        {"op": "set_metadata", "patch": {"k": 2}},
        {"op": "set_metadata", "patch": {"editable": False}},
    ],
    ids=lambda operation: operation["op"],
)
def test_a_cell_that_is_not_editable_is_not_changed(operation: dict[str, Any]) -> None:
    with pytest.raises(CellProtected) as refusal:
        edit(NOTEBOOK, {"cell": "d", **operation})
    assert refusal.value.details["operation"] == 0
    assert edit(NOTEBOOK, {"cell": "c", **operation}).splices


def test_cells_that_are_not_editable_are_not_merged_nor_cleared_with_all() -> None:
    for operation in ({"op": "merge", "cells": ["c", "d"]}, {"op": "clear_outputs", "all": True}):
        with pytest.raises(CellProtected):
            edit(NOTEBOOK, operation)


def test_who_makes_a_cell_editable_may_say_more_with_it() -> None:
    cell = cells_after({"op": "set_metadata", "cell": "d", "patch": {"editable": True, "k": 2}})[3]
    assert cell["metadata"] == {"editable": True, "k": 2}


@pytest.mark.parametrize("op", ["replace", "replace_text"])
def test_outputs_go_unless_they_are_to_be_kept(op: str) -> None:
    change = {"source": "new"} if op == "replace" else {"old": "x", "new": "new"}
    operation = {"op": op, "cell": "a", **change}
    for more in ({}, {"outputs": "clear"}):
        cell = cells_after({**operation, **more})[0]
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
    cell = cells_after({**operation, "outputs": "keep"})[0]
    assert (cell["outputs"], cell["execution_count"]) == ([samples.HTML_OUTPUT], 1)


def test_outputs_that_have_been_cleared_are_not_kept() -> None:
    keep = {"op": "replace_text", "cell": "a", "old": "x", "new": "new", "outputs": "keep"}
    cell = cells_after({"op": "clear_outputs", "cell": "a"}, keep)[0]
    assert (cell["source"], cell["outputs"]) == ("new = 1\ny = 2", [])


def test_a_new_cell_has_the_metadata_that_it_is_given() -> None:
    new = {"op": "insert", "at": "start", "source": "", "cell_type": "raw"}
    assert cells_after({**new, "metadata": {"k": [1]}})[0]["metadata"] == {"k": [1]}
    assert cells_after(new)[0]["metadata"] == {}


def test_moved_cells_stand_in_the_order_in_which_they_are_named() -> None:
    after = cells_after({"op": "move", "cells": ["c", "a", "d"], "after": "e"})
    assert [cell["id"] for cell in after] == ["b", "e", "c", "a", "d"]
    steps = edit(NOTEBOOK, {"op": "move", "cells": ["c", "a", "d"], "after": "e"}).edit().steps
    assert {step.id for step in steps if step.moved} == {"c", "a", "d"}


def test_a_cell_that_is_split_has_no_outputs_and_only_one_part_is_running() -> None:
    first, second = cells_after({"op": "split", "cell": "b", "at_line": 2})[1:3]
    for part in (first, second):
        assert (part["outputs"], part["execution_count"]) == ([], None)
    assert (first["source"], second["source"]) == ("z = 3", "0")
    assert first["metadata"] == {"execution": STARTED, "k": 1}
    assert second["metadata"] == {"k": 1}
    done = cells_after({"op": "split", "cell": "c", "at_line": 2})
    assert done[2]["metadata"] == done[3]["metadata"] == {"execution": ENDED, "k": 1}


def test_what_has_no_metadata_can_be_split_and_given_some() -> None:
    first, second = cells_after({"op": "split", "cell": 0, "at_line": 2}, of=BARE)
    assert first == {"cell_type": "raw", "source": "a"}
    assert second["source"] == "b"
    [cell] = cells_after({"op": "set_metadata", "cell": 0, "patch": {"k": 1}}, of=BARE)
    assert cell["metadata"] == {"k": 1}
    text = join(BARE.text, edit(BARE, {"op": "set_metadata", "patch": {"k": 1}}).splices)
    assert json.loads(text)["metadata"] == {"k": 1}


# What is answered --------------------------------------------------------------------------------

OF_A_CELL = {"cell_id", "cell_type", "index", "op", "source_hash"}


def test_of_one_cell_its_place_and_what_became_of_its_outputs_is_told() -> None:
    [replaced] = told({"op": "replace", "cell": "a", "source": "new"})
    assert set(replaced) == OF_A_CELL | {"outputs_cleared"}
    assert (replaced["cell_id"], replaced["index"], replaced["outputs_cleared"]) == ("a", 0, True)
    new = {"op": "insert", "at": "end", "source": "", "cell_type": "raw"}
    for operation in (new, {"op": "move", "cell": "a", "at": "end"}):
        [found] = told(operation)
        assert set(found) == OF_A_CELL
    [deleted] = told({"op": "delete", "cell": "a"})
    assert set(deleted) == OF_A_CELL | {"source"}
    assert deleted["source"] == "x = 1\ny = 2"


def test_of_several_cells_each_is_told_of_by_itself() -> None:
    [deleted] = told({"op": "delete", "cells": ["a", "b"]})
    assert set(deleted) == OF_A_CELL | {"cells"}
    assert [deleted[name] for name in ("cell_id", "index", "cell_type", "source_hash")] == [
        None
    ] * 4
    assert [set(cell) for cell in deleted["cells"]] == [OF_A_CELL - {"op"} | {"source"}] * 2
    [cleared] = told({"op": "clear_outputs", "cells": ["a", "b"]})
    assert "outputs_cleared" not in cleared
    assert [set(cell) for cell in cleared["cells"]] == [
        OF_A_CELL - {"op"} | {"outputs_cleared"}
    ] * 2
    [merged] = told({"op": "merge", "cells": ["a", "b"]})
    assert set(merged) == OF_A_CELL | {"cells", "outputs_cleared"}
    assert [set(cell) for cell in merged["cells"]] == [
        OF_A_CELL - {"op"} | {"outputs_cleared"},
        OF_A_CELL - {"op"} | {"source"},
    ]
    [of_notebook] = told({"op": "set_metadata", "patch": {"k": 1}})
    assert set(of_notebook) == OF_A_CELL


def test_an_event_is_told_of_each_cell() -> None:
    results = edit(
        NOTEBOOK,
        {"op": "delete", "cells": ["a", "b"]},
        {"op": "replace", "cell": "c", "source": ""},
    ).results
    assert [entry for result in results for entry in result.entries()] == [
        {"op": "delete", "cell_id": "a", "index": 0},
        {"op": "delete", "cell_id": "b", "index": 1},
        {"op": "replace", "cell_id": "c", "index": 0},
    ]
