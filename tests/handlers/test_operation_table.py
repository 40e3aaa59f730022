"""The table of operations against a server."""

import json
from pathlib import Path
from typing import Any, get_args

import nbformat
import pytest

from jupyter_nbedit.notebook.operations import Operation
from tests.handlers.error_checks import get_error
from tests.handlers.operation_table import (
    ANSWERS,
    CELLS,
    ROWS,
    SECTION_ROWS,
    SECTIONS,
    build_view,
    op,
)
from tests.support import samples
from tests.support.http import Client

Cells = list[dict[str, Any]]


def edit(live: Client, cells: Cells, operations: Cells) -> tuple[dict[str, Any], Cells]:
    """Do a row, at first without writing; return the answer and the cells on disk."""
    path = live.root / "a.ipynb"
    path.write_bytes(samples.notebook(*cells))
    dry = live.patch("a.ipynb", *operations, dry_run=True)
    answer = live.patch("a.ipynb", *operations)
    assert (dry.status, answer.status) == (200, 200), answer.body
    text = path.read_bytes()
    reply: dict[str, Any] = answer.json
    assert reply["hash"] == samples.compute_hash(text)
    nbformat.validate(json.loads(text))
    found = samples.load_cells(text)
    assert (reply["total_cells"], reply["cells_delta"]) == (len(found), len(found) - len(cells))
    assert [one["op"] for one in reply["operations"]] == [one["op"] for one in operations]
    assert reply["diff"]
    return reply, found


@pytest.mark.parametrize("row", ROWS)
def test_an_operation_has_the_result_of_its_row(live: Client, row: str) -> None:
    operations, expected = ROWS[row]
    _, cells = edit(live, CELLS, operations)
    assert [build_view(cell) for cell in cells] == expected


@pytest.mark.parametrize("row", SECTION_ROWS)
def test_a_section_operation_has_the_result_of_its_row(live: Client, row: str) -> None:
    operations, expected = SECTION_ROWS[row]
    _, cells = edit(live, SECTIONS, operations)
    assert [build_view(cell) for cell in cells] == expected


@pytest.mark.parametrize("row", ANSWERS)
def test_the_reply_describes_each_operation(live: Client, row: str) -> None:
    operation, expected = ANSWERS[row]
    reply, _ = edit(live, CELLS, [operation])
    assert reply["operations"] == [{"op": operation["op"], **expected}]


def test_the_rows_cover_every_operation() -> None:
    rows = [*ROWS.values(), *SECTION_ROWS.values()]
    covered_operations = {one["op"] for operations, _ in rows for one in operations}
    known = {struct.__struct_config__.tag for struct in get_args(Operation)}
    assert covered_operations == known, "add a row to tests/handlers/operation_table.py"


def test_a_split_keeps_the_id_in_the_first_part_and_creates_one_for_the_next(
    live: Client,
) -> None:
    reply, cells = edit(live, CELLS, [op("split", cell="code", at_line=3)])
    assert cells[0]["id"] == "code"
    assert cells[1]["id"] not in {cell["id"] for cell in CELLS}
    (split,) = reply["operations"]
    assert [one["cell_id"] for one in split["cells"]] == ["code", cells[1]["id"]]


def test_the_metadata_of_the_notebook_are_patched(live: Client) -> None:
    patch = {"kernelspec": {"display_name": "P", "name": "p"}, "title": None}
    edit(live, CELLS, [op("set_metadata", patch=patch)])
    path: Path = live.root / "a.ipynb"
    assert json.loads(path.read_bytes())["metadata"] == {"kernelspec": patch["kernelspec"]}


def test_a_batch_has_at_most_a_thousand_operations(live: Client) -> None:
    batch = [op("insert", source="", cell_type="raw", at="end", id=f"n{n}") for n in range(500)]
    batch += [op("replace", cell=f"n{n}", source="done") for n in range(500)]
    _, cells = edit(live, CELLS, batch)
    assert [cell["source"] for cell in cells[5:]] == ["done"] * 500
    get_error(live.patch("a.ipynb", *batch, op("delete", cell=0)), 400, "invalid_request")
