"""The order of cells over HTTP, when a change is decided part by part and undone edit by edit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import pytest

from tests.support.http import JSON, Client
from tests.support.samples import cells_of, notebook, raw

IDS = "ABCDEFGHIJK"


@pytest.fixture
def path(live: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the path of a notebook that is in edit mode before and after a test."""
    name = f"{request.node.originalname}.ipynb"
    yield name
    set_mode(live, "edit", name)


def set_mode(live: Client, mode: str, path: str) -> None:
    body = json.dumps({"mode": mode, "path": path}).encode()
    answer = live.request("PUT", "nbedit/mode", body, JSON)
    assert answer.status == 200, answer.body


def write(live: Client, path: str, sources: str, minor: int = 5) -> None:
    cells = [raw(one, one) if minor > 4 else raw(one) for one in sources]
    (live.root / path).write_bytes(notebook(*cells, minor=minor))


def sources(live: Client, path: str) -> list[str]:
    return ["".join(cell["source"]) for cell in cells_of((live.root / path).read_bytes())]


def post(live: Client, target: str, **body: Any) -> None:
    answer = live.request("POST", target, json.dumps(body).encode(), JSON)
    assert answer.status == 200, answer.body


def propose(live: Client, path: str, *operations: dict[str, Any]) -> int:
    set_mode(live, "review", path)
    answer = live.patch(path, *operations)
    assert answer.status == 202, answer.body
    set_mode(live, "edit", path)
    return int(answer.json["proposal_id"])


def insert(source: str, **position: Any) -> dict[str, Any]:
    return {"op": "insert", "cell_type": "code", "source": source, **position}


@pytest.mark.parametrize(
    ("cells", "position", "before"),
    [
        ("", {"at": "end"}, 0),
        ("A", {"after": 0}, 1),
        ("AB", {"after": 0}, 1),
        ("AB", {"at": "start"}, 0),
        ("AB", {"at": "end"}, 2),
        (IDS, {"after": 0}, 1),
        (IDS, {"after": 5}, 6),
        (IDS, {"after": 10}, 11),
        (IDS, {"before": 10}, 10),
    ],
)
def test_new_cells_that_are_accepted_one_by_one_keep_their_order(
    live: Client, path: str, cells: str, position: dict[str, Any], before: int
) -> None:
    new = ["one", "two", "three"]
    for order, minor in product(permutations(range(3)), (4, 5)):
        write(live, path, cells, minor)
        number = propose(live, path, *(insert(source, **position) for source in new))
        for part in order:
            post(live, f"nbedit/proposals/{number}/accept", parts=[part])
        assert sources(live, path) == [*cells[:before], *new, *cells[before:]], (order, minor)


@pytest.mark.parametrize("minor", [4, 5])
def test_cells_that_are_moved_and_deleted_keep_their_order_part_by_part(
    live: Client, path: str, minor: int
) -> None:
    operations = [
        {"op": "move", "cells": [4, 1], "after": 2},
        {"op": "delete", "cell": 3},
        insert("new", after=2),
        {"op": "replace", "cell": 2, "source": "changed"},
    ]
    write(live, path, "ABCDEF", minor)
    assert live.patch(path, *operations).status == 200
    expected = sources(live, path)
    for order in [*permutations(range(5))][::11]:
        write(live, path, "ABCDEF", minor)
        number = propose(live, path, *operations)
        for part in order:
            post(live, f"nbedit/proposals/{number}/accept", parts=[part])
        assert sources(live, path) == expected, order


def test_a_new_cell_comes_beside_its_sibling_when_a_person_has_written_around_it(
    live: Client, path: str
) -> None:
    write(live, path, "AB")
    number = propose(live, path, *(insert(source, after="A") for source in ("one", "two")))
    post(live, f"nbedit/proposals/{number}/accept", parts=[0])
    assert live.patch(path, insert("mine", after="A"), insert("mine too", before="B")).status == 200

    post(live, f"nbedit/proposals/{number}/accept", parts=[1])

    assert sources(live, path) == ["A", "mine", "one", "two", "mine too", "B"]


@pytest.mark.parametrize("deleted", ["BC", "CB"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_neighbours_that_two_edits_deleted_come_back_in_their_order(
    live: Client, path: str, deleted: str, order: tuple[int, int]
) -> None:
    write(live, path, "ABCD")
    numbers = [live.patch(path, {"op": "delete", "cell": one}).json["edit_id"] for one in deleted]

    for at in order:
        post(live, f"nbedit/notebooks/{path}/undo", edit_id=numbers[at])

    assert sources(live, path) == list("ABCD")


def test_a_row_of_cells_that_many_edits_deleted_comes_back_in_its_order(
    live: Client, path: str
) -> None:
    write(live, path, IDS)
    numbers = {
        one: live.patch(path, {"op": "delete", "cell": one}).json["edit_id"] for one in IDS[1:-1]
    }
    for one in "FBJDHCIEG":
        # A tab saves in between, so that the bytes are others.
        file = live.root / path
        file.write_text(json.dumps(json.loads(file.read_bytes())))
        post(live, f"nbedit/notebooks/{path}/undo", edit_id=numbers[one])

    assert sources(live, path) == list(IDS)


def test_edits_that_are_made_again_in_another_order_give_the_order_they_gave(
    live: Client, path: str
) -> None:
    write(live, path, "AD")
    numbers = [
        live.patch(path, insert(one, id=one, after=after)).json["edit_id"]
        for one, after in (("B", "A"), ("C", "B"))
    ]
    for number in numbers:
        post(live, f"nbedit/notebooks/{path}/undo", edit_id=number)
    assert sources(live, path) == ["A", "D"]

    for number in numbers:
        post(live, f"nbedit/notebooks/{path}/redo", edit_id=number)

    assert sources(live, path) == ["A", "B", "C", "D"]


def test_a_cell_that_was_not_moved_again_when_an_edit_was_made_again_is_not_put_back_by_a_guess(
    live: Client, path: str
) -> None:
    write(live, path, "ABCDEFGH")
    batches: list[list[dict[str, Any]]] = [
        [
            {"op": "replace", "cell": "A", "source": "changed"},
            {"op": "move", "cell": "E", "before": "C"},
        ],
        [{"op": "move", "cell": "C", "before": "B"}, {"op": "delete", "cells": ["D", "F"]}],
    ]
    first, second = [live.patch(path, *batch).json["edit_id"] for batch in batches]
    # Without its neighbours the cell E stands where it belongs already.
    post(live, f"nbedit/notebooks/{path}/undo", edit_id=first)
    post(live, f"nbedit/notebooks/{path}/redo", edit_id=first)
    post(live, f"nbedit/notebooks/{path}/undo", edit_id=second)
    before = (live.root / path).read_bytes()

    body = json.dumps({"edit_id": first}).encode()
    answer = live.request("POST", f"nbedit/notebooks/{path}/undo", body, JSON)

    assert (answer.status, answer.json["reason"]) == (409, "undo_conflict")
    assert [cell["cell_id"] for cell in answer.json["details"]["cells"]] == ["E"]
    assert (live.root / path).read_bytes() == before


def test_a_cell_that_was_moved_away_is_no_neighbour_any_more(live: Client, path: str) -> None:
    write(live, path, "ABCDE")
    deleted = live.patch(path, {"op": "delete", "cell": "B"}).json["edit_id"]
    moved = live.patch(path, {"op": "move", "cell": "A", "at": "end"}).json["edit_id"]

    post(live, f"nbedit/notebooks/{path}/undo", edit_id=deleted)
    assert sources(live, path) == list("BCDEA")
    post(live, f"nbedit/notebooks/{path}/undo", edit_id=moved)
    assert sources(live, path) == list("ABCDE")


def test_cells_without_ids_that_look_alike_are_not_put_back_by_a_guess(
    live: Client, path: str
) -> None:
    cells = [raw("", metadata={"n": n}) for n in range(8)]
    text = notebook(*cells, minor=4)
    (live.root / path).write_bytes(text)
    deleted = live.patch(path, {"op": "delete", "cell": 4}).json["edit_id"]
    moved = live.patch(path, {"op": "move", "cell": 6, "at": "start"}).json["edit_id"]

    body = json.dumps({"edit_id": deleted}).encode()
    answer = live.request("POST", f"nbedit/notebooks/{path}/undo", body, JSON)
    assert (answer.status, answer.json["reason"]) == (409, "undo_conflict")

    for number in (moved, deleted):
        post(live, f"nbedit/notebooks/{path}/undo", edit_id=number)
    assert cells_of((live.root / path).read_bytes()) == cells_of(text)
