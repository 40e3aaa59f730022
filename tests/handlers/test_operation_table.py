"""The table of operations against a server."""

# ruff: noqa: E501 -- a row is a line

from __future__ import annotations

import hashlib
import json
from typing import Any, get_args

import nbformat
import pytest

from jupyter_nbedit.notebook.operations import Operation
from tests.handlers.operation_table import (
    CELLS,
    ROWS,
    SECTION_ROWS,
    SECTIONS,
    op,
    put,
    sha256,
    shown,
)
from tests.handlers.refused import details, untouched
from tests.support import samples
from tests.support.http import Local


async def done(
    local: Local, cells: list[dict[str, Any]], operations: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Do a row; give the answer and the cells on disk."""
    path = local.root / "a.ipynb"
    path.write_bytes(samples.notebook(*cells))
    dry = await local.patch("a.ipynb", *operations, dry_run=True)
    answer = await local.patch("a.ipynb", *operations)
    assert (dry.status, answer.status) == (200, 200), answer.body
    text = path.read_bytes()
    reply: dict[str, Any] = answer.json
    assert reply["hash"] == hashlib.sha256(text).hexdigest()
    nbformat.validate(json.loads(text))
    found = samples.cells_of(text)
    assert (reply["total_cells"], reply["cells_delta"]) == (len(found), len(found) - len(cells))
    assert [one["op"] for one in reply["operations"]] == [one["op"] for one in operations]
    assert reply["diff"]
    return reply, found


@pytest.mark.parametrize("row", ROWS)
async def test_an_operation_does_what_its_row_says(local: Local, row: str) -> None:
    operations, expected = ROWS[row]
    _, cells = await done(local, CELLS, operations)
    assert [shown(cell) for cell in cells] == expected


@pytest.mark.parametrize("row", SECTION_ROWS)
async def test_an_operation_on_a_section_does_what_its_row_says(local: Local, row: str) -> None:
    operations, expected = SECTION_ROWS[row]
    _, cells = await done(local, SECTIONS, operations)
    assert [shown(cell) for cell in cells] == expected


async def test_the_rows_do_every_operation(local: Local) -> None:
    rows = [*ROWS.values(), *SECTION_ROWS.values()]
    done_by_rows = {one["op"] for operations, _ in rows for one in operations}
    known = {struct.__struct_config__.tag for struct in get_args(Operation)}
    assert done_by_rows == known
    # And there is no other.
    (local.root / "a.ipynb").write_bytes(samples.notebook(*CELLS))
    details(await local.patch("a.ipynb", op("run", cell=0)), 400, "invalid_operation")


ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "replace": (
        op("replace", cell="code", source="z"),
        {"cell_id": "code", "index": 0, "cell_type": "code", "source_hash": sha256("z"), "outputs_cleared": True},
    ),
    "delete": (
        op("delete", cell="raw"),
        {"cell_id": "raw", "index": 2, "cell_type": "raw", "source_hash": sha256("as is"), "source": "as is"},
    ),
    "delete several": (
        op("delete", cells=["raw"]),
        {"cell_id": None, "index": None, "cell_type": None, "source_hash": None, "cells": [{"cell_id": "raw", "index": 2, "cell_type": "raw", "source_hash": sha256("as is"), "source": "as is"}]},
    ),
    "set_metadata of the notebook": (
        op("set_metadata", patch={"a": 1}),
        {"cell_id": None, "index": None, "cell_type": None, "source_hash": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ANSWERS)
async def test_the_answer_tells_what_an_operation_did(local: Local, row: str) -> None:
    operation, expected = ANSWERS[row]
    reply, _ = await done(local, CELLS, [operation])
    assert reply["operations"] == [{"op": operation["op"], **expected}]


async def test_the_first_part_keeps_the_id_and_the_second_gets_one(local: Local) -> None:
    reply, cells = await done(local, CELLS, [op("split", cell="code", at_line=3)])
    assert cells[0]["id"] == "code"
    assert cells[1]["id"] not in {cell["id"] for cell in CELLS}
    assert [one["cell_id"] for one in reply["operations"][0]["cells"]] == [
        "code",
        cells[1]["id"],
    ]


async def test_the_metadata_of_the_notebook_are_patched(local: Local) -> None:
    patch = {"kernelspec": {"display_name": "P", "name": "p"}, "title": None}
    await done(local, CELLS, [op("set_metadata", patch=patch)])
    written = json.loads((local.root / "a.ipynb").read_bytes())
    assert written["metadata"] == {"kernelspec": {"display_name": "P", "name": "p"}}


async def test_a_batch_takes_a_thousand_operations_and_no_more(local: Local) -> None:
    batch = [put(str(n), at="end", id=f"n{n}") for n in range(500)]
    batch += [op("replace_text", cell=f"n{n}", old=str(n), new="done") for n in range(500)]
    _, cells = await done(local, CELLS, batch)
    assert [cell["source"] for cell in cells[5:]] == ["done"] * 500
    with untouched(local.root):
        answer = await local.patch("a.ipynb", *batch, put("z", at="end"))
        details(answer, 400, "invalid_request")
