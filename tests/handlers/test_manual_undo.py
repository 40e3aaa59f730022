"""Undo over HTTP after a person has undone an edit by hand, in whole or in part."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.handlers.error_checks import get_error
from tests.handlers.requests import replace
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.samples import raw
from tests.support.sampling import is_nightly

Cells = list[dict[str, Any]]


TEXT = samples.notebook(*(raw(one, one) for one in "abcd"))


def join_sources(notebook: Notebook) -> str:
    return " ".join(notebook.list_sources())


def change_by_hand(notebook: Notebook, change: Callable[[Cells], Any]) -> None:
    file = notebook.file
    content = json.loads(file.read_bytes())
    change(content["cells"])
    file.write_text(json.dumps(content, indent=1))


def get_undo_number(notebook: Notebook, number: int) -> Any:
    return notebook.server.get_json(f"notebooks/{notebook.path}/history/{number}")["undone_by"]


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
    notebook: Notebook, operations: Cells, change: Callable[[Cells], Any]
) -> None:
    older = notebook.edit(replace("a", "A"))
    notebook.edit(*operations)
    change_by_hand(notebook, change)
    assert join_sources(notebook) == "A b c d"

    assert notebook.undo().status == 200

    assert join_sources(notebook) == "a b c d"
    assert get_undo_number(notebook, older) is not None
    assert notebook.undo().json["reason"] == "nothing_to_undo"


def test_undo_skips_an_edit_of_notebook_metadata_that_was_undone_by_hand(
    notebook: Notebook,
) -> None:
    notebook.edit(replace("a", "A"))
    notebook.edit({"op": "set_metadata", "patch": {"k": 1, "l": {"m": 2}}})
    file = notebook.file
    content = json.loads(file.read_bytes())
    file.write_text(json.dumps({**content, "metadata": {}}))

    assert notebook.undo().status == 200

    assert join_sources(notebook) == "a b c d"
    assert json.loads(file.read_bytes())["metadata"] == {}


def test_undo_skips_manually_undone_edits_in_notebooks_without_ids(notebook: Notebook) -> None:
    notebook.write(*(raw(one) for one in "abcd"), minor=4)
    notebook.edit(replace(0, "A"))
    notebook.edit(replace(2, "C"))
    change_by_hand(notebook, set_source(2, "c"))

    assert notebook.undo().status == 200

    assert join_sources(notebook) == "a b c d"


def test_the_rest_of_a_partly_undone_edit_is_undone(notebook: Notebook) -> None:
    newest = notebook.edit(replace("a", "A"), replace("b", "B"), NEW, {"op": "delete", "cell": "d"})
    change_by_hand(notebook, set_source(1, "b"))
    change_by_hand(notebook, lambda cells: cells.pop(2))
    assert join_sources(notebook) == "A b c"

    answer = notebook.undo()

    assert (answer.status, answer.json["cells_delta"]) == (200, 1)
    assert join_sources(notebook) == "a b c d"
    assert get_undo_number(notebook, newest) == answer.json["edit_id"]


def test_a_cell_that_is_neither_old_nor_new_is_a_conflict(notebook: Notebook) -> None:
    older = notebook.edit(replace("a", "A"))
    newest = notebook.edit(replace("b", "B"))
    change_by_hand(notebook, set_source(1, "mine"))

    answer = notebook.undo()

    assert get_error(answer, 409, "undo_conflict")["edit_id"] == newest
    assert notebook.undo(edit_id=older).status == 200
    assert join_sources(notebook) == "a mine c d"


def test_a_change_that_a_later_edit_reverted_is_not_undone_again(notebook: Notebook) -> None:
    older = notebook.edit(replace("b", "B"), replace("c", "C"))
    later = notebook.edit(replace("b", "b"))

    answer = notebook.undo(edit_id=older)

    get_error(answer, 409, "undo_conflict")
    assert notebook.undo(edit_id=later).status == 200
    assert notebook.undo(edit_id=older).status == 200
    assert join_sources(notebook) == "a b c d"


@pytest.mark.skipif(not is_nightly(), reason="it makes a hundred edits")
def test_undo_skips_at_most_100_manually_undone_edits(notebook: Notebook) -> None:
    names = [f"c{number}" for number in range(101)]
    before = samples.notebook(*(raw(name, name) for name in names))
    notebook.file.write_bytes(before)
    first, *_ = [notebook.edit(replace(name, "changed")) for name in names]
    change_by_hand(notebook, lambda cells: [cell.update(source=cell["id"]) for cell in cells[1:]])

    answer = notebook.undo()

    get_error(answer, 409, "nothing_to_undo")
    assert notebook.undo(edit_id=first).status == 200
    assert join_sources(notebook) == " ".join(names)
