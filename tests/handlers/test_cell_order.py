"""The order of cells over HTTP, when a change is decided part by part and undone edit by edit.

Random orders of parts and undos are in `tests/notebook` and
`tests/services/edits/test_undo_order.py`.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import pytest

from tests.handlers import requests
from tests.handlers.error_checks import get_error
from tests.handlers.requests import decide, edit, list_sources, set_mode, undo
from tests.support.http import Client
from tests.support.samples import load_cells, notebook, raw
from tests.support.sampling import is_nightly

IDS = "ABCDEFGHIJK"


def write(live: Client, path: str, sources: str, minor: int = 5) -> None:
    cells = [raw(one, one) if minor > 4 else raw(one) for one in sources]
    (live.root / path).write_bytes(notebook(*cells, minor=minor))


def propose(live: Client, path: str, *operations: dict[str, Any]) -> int:
    set_mode(live, "review", path)
    number = requests.propose(live, path, *operations)
    set_mode(live, "edit", path)
    return number


def accept(live: Client, number: int, part: int) -> None:
    answer = decide(live, number, parts=[part])
    assert answer.status == 200, answer.body


def take_back(live: Client, path: str, number: int, verb: str = "undo") -> None:
    answer = undo(live, path, verb, edit_id=number)
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
    live: Client, path: str, cells: str, position: dict[str, Any], before: int
) -> None:
    new = ["one", "two", "three"]
    tries = list(product(permutations(range(3)), (4, 5)))
    for order, minor in tries if is_nightly() else tries[1::5]:
        write(live, path, cells, minor)
        number = propose(live, path, *(insert(source, **position) for source in new))
        for part in order:
            accept(live, number, part)
        assert list_sources(live, path) == [*cells[:before], *new, *cells[before:]], (order, minor)


def test_a_new_cell_is_placed_next_to_its_sibling_after_an_edit_by_a_person(
    live: Client, path: str
) -> None:
    write(live, path, "AB")
    number = propose(live, path, *(insert(source, after="A") for source in ("one", "two")))
    accept(live, number, 0)
    assert live.patch(path, insert("mine", after="A"), insert("mine too", before="B")).status == 200

    accept(live, number, 1)

    assert list_sources(live, path) == ["A", "mine", "one", "two", "mine too", "B"]


def test_a_cell_that_redo_did_not_move_is_a_conflict_for_undo(live: Client, path: str) -> None:
    write(live, path, "ABCDEFGH")
    batches: list[list[dict[str, Any]]] = [
        [
            {"op": "replace", "cell": "A", "source": "changed"},
            {"op": "move", "cell": "E", "before": "C"},
        ],
        [{"op": "move", "cell": "C", "before": "B"}, {"op": "delete", "cells": ["D", "F"]}],
    ]
    first, second = [edit(live, path, *batch) for batch in batches]
    # Without its neighbours the cell E is at its position already.
    take_back(live, path, first)
    take_back(live, path, first, "redo")
    take_back(live, path, second)
    before = (live.root / path).read_bytes()

    answer = undo(live, path, edit_id=first)
    found = get_error(answer, 409, "undo_conflict")
    assert [cell["cell_id"] for cell in found["cells"]] == ["E"]
    assert (live.root / path).read_bytes() == before


def test_a_moved_cell_is_no_longer_a_neighbour(live: Client, path: str) -> None:
    write(live, path, "ABCDE")
    deleted = edit(live, path, {"op": "delete", "cell": "B"})
    moved = edit(live, path, {"op": "move", "cell": "A", "at": "end"})

    take_back(live, path, deleted)
    assert list_sources(live, path) == list("BCDEA")
    take_back(live, path, moved)
    assert list_sources(live, path) == list("ABCDE")


def test_identical_cells_without_ids_are_not_restored_by_a_guess(live: Client, path: str) -> None:
    cells = [raw("", metadata={"n": n}) for n in range(8)]
    text = notebook(*cells, minor=4)
    (live.root / path).write_bytes(text)
    deleted = edit(live, path, {"op": "delete", "cell": 4})
    moved = edit(live, path, {"op": "move", "cell": 6, "at": "start"})

    answer = undo(live, path, edit_id=deleted)
    get_error(answer, 409, "undo_conflict")

    for number in (moved, deleted):
        take_back(live, path, number)
    assert load_cells((live.root / path).read_bytes()) == load_cells(text)
