"""The order of cells over HTTP, when a change is decided part by part and undone edit by edit.

Random orders of parts and undos are in `tests/notebook` and
`tests/services/edits/test_undo_order.py`.
"""

from itertools import permutations, product
from typing import Any

import pytest

from tests.handlers.error_checks import get_error
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client
from tests.support.samples import load_cells, raw
from tests.support.sampling import is_nightly

IDS = "ABCDEFGHIJK"


def write(notebook: Notebook, sources: str, minor: int = 5) -> None:
    cells = [raw(one, one) if minor > 4 else raw(one) for one in sources]
    notebook.write(*cells, minor=minor)


def propose(notebook: Notebook, *operations: dict[str, Any]) -> int:
    notebook.set_mode("review")
    number = notebook.propose(*operations)
    notebook.set_mode("edit")
    return number


def accept(live: Client, number: int, part: int) -> None:
    answer = live.accept(number, parts=[part])
    assert answer.status == 200, answer.body


def take_back(notebook: Notebook, number: int, verb: str = "undo") -> None:
    answer = notebook.post(verb, edit_id=number)
    assert answer.status == 200, answer.body


def insert(source: str, **position: Any) -> dict[str, Any]:
    return {"op": "insert", "cell_type": "code", "source": source, **position}


@pytest.mark.parametrize(
    ("cells", "position", "before"),
    [
        ("", {"at": "end"}, 0),
        ("AB", {"after": 0}, 1),
        ("AB", {"at": "start"}, 0),
        (IDS, {"after": 10}, 11),
        (IDS, {"before": 10}, 10),
    ],
)
def test_new_cells_accepted_one_by_one_keep_their_order(
    live: Client, notebook: Notebook, cells: str, position: dict[str, Any], before: int
) -> None:
    new = ["one", "two", "three"]
    tries = list(product(permutations(range(3)), (4, 5)))
    for order, minor in tries if is_nightly() else tries[1::5]:
        write(notebook, cells, minor)
        number = propose(notebook, *(insert(source, **position) for source in new))
        for part in order:
            accept(live, number, part)
        assert notebook.list_sources() == [*cells[:before], *new, *cells[before:]], (order, minor)


def test_a_new_cell_is_placed_next_to_its_sibling_after_an_edit_by_a_person(
    live: Client, notebook: Notebook
) -> None:
    write(notebook, "AB")
    number = propose(notebook, *(insert(source, after="A") for source in ("one", "two")))
    accept(live, number, 0)
    assert notebook.patch(insert("mine", after="A"), insert("mine too", before="B")).status == 200

    accept(live, number, 1)

    assert notebook.list_sources() == ["A", "mine", "one", "two", "mine too", "B"]


def test_a_cell_that_redo_did_not_move_is_a_conflict_for_undo(notebook: Notebook) -> None:
    write(notebook, "ABCDEFGH")
    batches: list[list[dict[str, Any]]] = [
        [
            {"op": "replace", "cell": "A", "source": "changed"},
            {"op": "move", "cell": "E", "before": "C"},
        ],
        [{"op": "move", "cell": "C", "before": "B"}, {"op": "delete", "cells": ["D", "F"]}],
    ]
    first, second = [notebook.edit(*batch) for batch in batches]
    # Without its neighbours the cell E is at its position already.
    take_back(notebook, first)
    take_back(notebook, first, "redo")
    take_back(notebook, second)
    before = notebook.text

    answer = notebook.undo(edit_id=first)
    found = get_error(answer, 409, "undo_conflict")
    assert [cell["cell_id"] for cell in found["cells"]] == ["E"]
    assert notebook.text == before


def test_a_moved_cell_is_no_longer_a_neighbour(notebook: Notebook) -> None:
    write(notebook, "ABCDE")
    deleted = notebook.edit({"op": "delete", "cell": "B"})
    moved = notebook.edit({"op": "move", "cell": "A", "at": "end"})

    take_back(notebook, deleted)
    assert notebook.list_sources() == list("BCDEA")
    take_back(notebook, moved)
    assert notebook.list_sources() == list("ABCDE")


def test_identical_cells_without_ids_are_not_restored_by_a_guess(notebook: Notebook) -> None:
    cells = [raw("", metadata={"n": n}) for n in range(8)]
    text = samples.notebook(*cells, minor=4)
    notebook.file.write_bytes(text)
    deleted = notebook.edit({"op": "delete", "cell": 4})
    moved = notebook.edit({"op": "move", "cell": 6, "at": "start"})

    answer = notebook.undo(edit_id=deleted)
    get_error(answer, 409, "undo_conflict")

    for number in (moved, deleted):
        take_back(notebook, number)
    assert load_cells(notebook.text) == load_cells(text)
