"""Undo over HTTP after a person has undone an edit by hand, in whole or in part."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.handlers.error_checks import get_error
from tests.handlers.requests import edit, get_json, list_sources, replace, undo
from tests.support.http import Client
from tests.support.samples import notebook, raw
from tests.support.sampling import is_nightly

Cells = list[dict[str, Any]]


TEXT = notebook(*(raw(one, one) for one in "abcd"))


def join_sources(live: Client, path: str) -> str:
    return " ".join(list_sources(live, path))


def change_by_hand(live: Client, path: str, change: Callable[[Cells], Any]) -> None:
    file = live.root / path
    content = json.loads(file.read_bytes())
    change(content["cells"])
    file.write_text(json.dumps(content, indent=1))


def get_undo_number(live: Client, path: str, number: int) -> Any:
    return get_json(live, f"notebooks/{path}/history/{number}")["undone_by"]


def set_source(at: int, source: str) -> Callable[[Cells], Any]:
    return lambda cells: cells[at].update(source=source)


NEW = {"op": "insert", "cell_type": "raw", "source": "new", "id": "new", "after": 1}


@pytest.mark.parametrize(
    ("operations", "change"),
    [
        ([replace(1, "B")], set_source(1, "b")),
        ([NEW], lambda cells: cells.pop(2)),
        ([{"op": "delete", "cell": 2}], lambda cells: cells.insert(2, raw("c", "c"))),
        (
            [replace(1, "B"), {"op": "move", "cell": 1, "at": "end"}],
            lambda cells: cells.insert(1, {**cells.pop(), "source": "b"}),
        ),
        (
            [{"op": "set_metadata", "cell": 1, "patch": {"tags": ["new"]}}],
            lambda cells: cells[1].update(metadata={}),
        ),
    ],
)
def test_undo_skips_the_newest_edit_if_it_was_undone_by_hand(
    live: Client, path: str, operations: Cells, change: Callable[[Cells], Any]
) -> None:
    older = edit(live, path, replace("a", "A"))
    edit(live, path, *operations)
    change_by_hand(live, path, change)
    assert join_sources(live, path) == "A b c d"

    assert undo(live, path).status == 200

    assert join_sources(live, path) == "a b c d"
    assert get_undo_number(live, path, older) is not None
    assert undo(live, path).json["reason"] == "nothing_to_undo"


def test_undo_skips_an_edit_of_notebook_metadata_that_was_undone_by_hand(
    live: Client, path: str
) -> None:
    edit(live, path, replace("a", "A"))
    edit(live, path, {"op": "set_metadata", "patch": {"k": 1, "l": {"m": 2}}})
    file = live.root / path
    content = json.loads(file.read_bytes())
    file.write_text(json.dumps({**content, "metadata": {}}))

    assert undo(live, path).status == 200

    assert join_sources(live, path) == "a b c d"
    assert json.loads(file.read_bytes())["metadata"] == {}


def test_undo_skips_manually_undone_edits_in_notebooks_without_ids(live: Client, path: str) -> None:
    (live.root / path).write_bytes(notebook(*(raw(one) for one in "abcd"), minor=4))
    edit(live, path, replace(0, "A"))
    edit(live, path, replace(2, "C"))
    change_by_hand(live, path, set_source(2, "c"))

    assert undo(live, path).status == 200

    assert join_sources(live, path) == "a b c d"


def test_the_rest_of_a_partly_undone_edit_is_undone(live: Client, path: str) -> None:
    newest = edit(
        live, path, replace("a", "A"), replace("b", "B"), NEW, {"op": "delete", "cell": "d"}
    )
    change_by_hand(live, path, set_source(1, "b"))
    change_by_hand(live, path, lambda cells: cells.pop(2))
    assert join_sources(live, path) == "A b c"

    answer = undo(live, path)

    assert (answer.status, answer.json["cells_delta"]) == (200, 1)
    assert join_sources(live, path) == "a b c d"
    assert get_undo_number(live, path, newest) == answer.json["edit_id"]


def test_a_cell_that_is_neither_old_nor_new_is_a_conflict(live: Client, path: str) -> None:
    older = edit(live, path, replace("a", "A"))
    newest = edit(live, path, replace("b", "B"))
    change_by_hand(live, path, set_source(1, "mine"))

    answer = undo(live, path)

    assert get_error(answer, 409, "undo_conflict")["edit_id"] == newest
    assert undo(live, path, edit_id=older).status == 200
    assert join_sources(live, path) == "a mine c d"


def test_a_change_that_a_later_edit_reverted_is_not_undone_again(live: Client, path: str) -> None:
    older = edit(live, path, replace("b", "B"), replace("c", "C"))
    later = edit(live, path, replace("b", "b"))

    answer = undo(live, path, edit_id=older)

    get_error(answer, 409, "undo_conflict")
    assert undo(live, path, edit_id=later).status == 200
    assert undo(live, path, edit_id=older).status == 200
    assert join_sources(live, path) == "a b c d"


@pytest.mark.skipif(not is_nightly(), reason="it makes a hundred edits")
def test_undo_skips_at_most_100_manually_undone_edits(live: Client, path: str) -> None:
    names = [f"c{number}" for number in range(101)]
    before = notebook(*(raw(name, name) for name in names))
    (live.root / path).write_bytes(before)
    first, *_ = [edit(live, path, replace(name, "changed")) for name in names]
    change_by_hand(live, path, lambda cells: [cell.update(source=cell["id"]) for cell in cells[1:]])

    answer = undo(live, path)

    get_error(answer, 409, "nothing_to_undo")
    assert undo(live, path, edit_id=first).status == 200
    assert join_sources(live, path) == " ".join(names)
