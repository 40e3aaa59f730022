"""Cells with ids such as ``cell-3``: the text never means another cell after one was deleted."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Answer, Client

#: Where all ids are numbered, and where only one is, which is then deleted.
ALL = ["cell-0", "cell-1", "cell-2", "cell-3", "cell-4"]
ONE = ["cell-2", "a", "b", "c", "d"]
NEW = {"cell_type": "code", "source": "new"}

Change = Callable[[Notebook], Answer]


def write(notebook: Notebook, *ids: str | None, minor: int = 5) -> None:
    cells = [samples.code(f"x = {number}", cell_id) for number, cell_id in enumerate(ids)]
    notebook.write(*cells, minor=minor)


def list_ids(notebook: Notebook) -> list[str | None]:
    cells = samples.load_cells(notebook.text)
    return [cell.get("id") for cell in cells]


def call(notebook: Notebook, tool: str, **arguments: Any) -> Answer:
    server = notebook.server
    body = {"notebook_path": str(notebook.file), "cell_id": "cell-2", **arguments}
    read = {"file_path": body["notebook_path"]}
    assert server.send_json("POST", "tools/claude_code/Read", read).status == 200
    return server.send_json("POST", f"tools/{tool}", body)


def patch(**operation: Any) -> Change:
    return lambda notebook: notebook.patch({"op": "delete", **operation})


def use_tool(tool: str, **arguments: Any) -> Change:
    return lambda notebook: call(notebook, f"{tool}/NotebookEdit", **arguments)


def use_cell(verb: str, **body: Any) -> Change:
    def send(notebook: Notebook) -> Answer:
        target = f"notebooks/{notebook.path}/cells/cell-2"
        if body:
            return notebook.server.send_json(verb, target, body)
        return notebook.server.request(verb, f"nbedit/{target}")

    return send


def read_as_agent(notebook: Notebook) -> Answer:
    body = {"path": notebook.path, "cells": ["cell-2"]}
    return notebook.server.send_json("POST", "tools/agent/notebook_read", body)


def edit_as_agent(notebook: Notebook) -> Answer:
    operation = {"op": "replace_text", "cell": "cell-2", "old": "x", "new": "y"}
    body = {"path": notebook.path, "operations": [operation]}
    return notebook.server.send_json("POST", "tools/agent/notebook_edit", body)


CHANGES: dict[str, Change] = {
    "delete": patch(cell="cell-2"),
    "delete several": patch(cells=[0, "cell-2"]),
    "replace": patch(op="replace", cell="cell-2", source="new"),
    "replace_text": patch(op="replace_text", cell="cell-2", old="x", new="y"),
    "text that is not there": patch(op="replace_text", cell="cell-2", old="none", new="y"),
    "insert after": patch(op="insert", **NEW, after="cell-2"),
    "insert before": patch(op="insert", **NEW, before="cell-2"),
    "move": patch(op="move", cell="cell-2", at="start"),
    "move after": patch(op="move", cell=0, after="cell-2"),
    "move before": patch(op="move", cells=[0], before="cell-2"),
    "split": patch(op="split", cell="cell-2", at_line=2),
    "merge": patch(op="merge", cells=["cell-2", 0]),
    "clear_outputs": patch(op="clear_outputs", cell="cell-2"),
    "set_metadata": patch(op="set_metadata", cell="cell-2", patch={"tags": ["a"]}),
    "dry run": lambda notebook: notebook.patch({"op": "delete", "cell": "cell-2"}, dry_run=True),
    "GET of a cell": use_cell("GET"),
    "PATCH of a cell": use_cell("PATCH", source="new"),
    "DELETE of a cell": use_cell("DELETE"),
    "read": lambda notebook: notebook.read(cell="cell-2"),
    "read as text": lambda notebook: notebook.read({"Accept": "text/plain"}, cell="cell-2"),
    "agent: read": read_as_agent,
    "agent: edit": edit_as_agent,
    **{
        f"{tool}: {arguments['edit_mode']}": use_tool(tool, **arguments)
        for tool in ("nexo", "mycode", "claude_code")
        for arguments in (
            {"edit_mode": "delete", "new_source": ""},
            {"edit_mode": "replace", "new_source": "new"},
            {"edit_mode": "insert", "new_source": "new", "cell_type": "code"},
        )
    },
}


@pytest.mark.parametrize("ids", [ALL, ONE], ids=["others have such ids", "none has one"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_id_of_a_deleted_cell_means_no_other_cell(
    notebook: Notebook, change: Change, ids: list[str]
) -> None:
    write(notebook, *ids)
    assert notebook.patch({"op": "delete", "cell": "cell-2"}).status == 200

    with no_changes(notebook.root):
        answer = change(notebook)

    assert answer.status == 404
    assert b"cell-2" in answer.body
    assert b"may have been deleted" in answer.body
    assert list_ids(notebook) == [each for each in ids if each != "cell-2"]


@pytest.mark.parametrize("ids", [ALL, ONE], ids=["others have such ids", "none has one"])
def test_a_cell_that_another_program_has_deleted_is_not_mistaken(
    notebook: Notebook, ids: list[str]
) -> None:
    write(notebook, *ids)
    assert notebook.patch({"op": "replace", "cell": "cell-2", "source": "y"}).status == 200
    write(notebook, *(each for each in ids if each != "cell-2"))

    get_error(notebook.patch({"op": "delete", "cell": "cell-2"}), 404, "cell_not_found")
    get_error(notebook.read(cell="cell-2"), 404, "cell_not_found")


@pytest.mark.parametrize("ids", [ALL, ONE])
def test_a_batch_cannot_name_a_cell_that_it_has_deleted(notebook: Notebook, ids: list[str]) -> None:
    write(notebook, *ids)
    delete = {"op": "delete", "cell": "cell-2"}
    for second in (delete, {"op": "replace", "cell": "cell-2", "source": "y"}):
        with no_changes(notebook.root):
            get_error(notebook.patch(delete, second), 400, "invalid_operation")


def test_the_ids_of_an_edit_of_many_cells_are_known(notebook: Notebook) -> None:
    write(
        notebook,
        *(f"cell-{number}" for number in range(60)),
        "a",
        *("b" * n for n in range(1, 40)),
    )
    names = [f"cell-{number}" for number in range(60)]
    assert notebook.patch({"op": "delete", "cells": names}).status == 200

    for name in ("cell-0", "cell-19", "cell-20", "cell-37"):
        get_error(notebook.patch({"op": "delete", "cell": name}), 404, "cell_not_found")
    assert len(list_ids(notebook)) == 40


def test_an_id_in_a_text_of_the_history_is_none(notebook: Notebook) -> None:
    write(notebook, "a", "b", "c")
    text = '"cell_id":"cell-1", "cell_id": "cell-1"'
    replace = {"op": "replace", "cell": "a", "source": text}
    assert notebook.patch(replace, message=text, client=text).status == 200
    assert notebook.patch({"op": "delete", "cell": "cell-1"}).status == 200
    assert list_ids(notebook) == ["a", "c"]


@pytest.mark.parametrize("minor", [4, 5])
def test_without_such_ids_it_is_an_index(notebook: Notebook, minor: int) -> None:
    write(notebook, *[None] * 5, minor=minor)
    for left in (4, 3):
        assert notebook.patch({"op": "delete", "cell": "cell-2"}).status == 200
        assert notebook.read(cell="cell-2").json["cells"][0]["index"] == 2
        assert len(list_ids(notebook)) == left


def test_a_cell_without_an_id_among_such_ids_is_named_as_the_error_says(
    live: Client, notebook: Notebook
) -> None:
    write(notebook, "cell-5", None, "a")

    answer = notebook.patch({"op": "replace", "cell": "cell-1", "source": "y"})

    error = get_error(answer, 404, "cell_not_found")
    available = error["available_ids"]
    assert [available[0], available[2]] == ["cell-5", "a"]
    name = available[1]
    assert f"send its guarded name {name!r}, or the integer 1" in answer.json["message"]
    for address in (name, 1):
        cell = notebook.read(cell=address).json["cells"][0]
        assert (cell["index"], cell["id"]) == (1, None)
    assert call(notebook, "nexo/NotebookEdit", cell_id=name, new_source="y").status == 200
    body = {"file_path": str(notebook.file)}
    (block,) = live.send_json("POST", "tools/claude_code/Read", body).json["content"]
    shown = re.findall('<cell id="(.*?)"', block["text"])
    assert [shown[0], shown[2]] == ["cell-5", "a"]
    assert notebook.read(cell=shown[1]).json["cells"][0]["index"] == 1
    # What else cannot be found has addresses that can be used, too.
    error = get_error(notebook.patch({"op": "delete", "cell": "z"}), 404, "cell_not_found")
    assert notebook.read(cell=error["available_ids"][1]).json["cells"][0]["index"] == 1


@pytest.mark.parametrize("tool", ["nexo", "mycode", "claude_code"])
def test_a_replace_after_the_last_cell_appends(notebook: Notebook, tool: str) -> None:
    arguments = {"cell_id": "cell-5", "new_source": "new", "cell_type": "code"}
    write(notebook, *ALL)
    assert call(notebook, f"{tool}/NotebookEdit", **arguments).status == 200
    assert list_ids(notebook)[:5] == ALL
    assert len(list_ids(notebook)) == 6

    write(notebook, *ALL, "cell-5")
    assert notebook.patch({"op": "delete", "cell": "cell-5"}).status == 200
    with no_changes(notebook.root):
        assert call(notebook, f"{tool}/NotebookEdit", **arguments).status == 404


def test_a_new_cell_gets_no_such_id(live: Client, notebook: Notebook) -> None:
    write(notebook, "a")
    new = {**NEW, "id": "cell-7"}
    with no_changes(notebook.root):
        answers = [
            notebook.patch({"op": "insert", **new, "at": "end"}),
            notebook.send_json("POST", "cells", {**new, "at": "end"}),
            live.send_json("PUT", "notebooks/created.ipynb", {"cells": [new]}),
        ]
    for answer in answers:
        get_error(answer, 400, "invalid_operation")
        assert "`cell-N` also means" in answer.json["message"]


def test_an_agent_gets_no_other_cell_as_a_suggestion(live: Client, notebook: Notebook) -> None:
    write(notebook, *ONE)
    notebook.patch({"op": "delete", "cell": "cell-2"})
    body = json.dumps(
        {"path": notebook.path, "operations": [{"op": "delete", "cell": "cell-2"}]}
    ).encode()
    answer = live.request("POST", "nbedit/tools/agent/notebook_edit", body, JSON)
    assert answer.status == 400
    assert "x = 3" not in answer.json["content"][0]["text"]


def test_an_undo_brings_back_such_an_id(notebook: Notebook) -> None:
    write(notebook, *ONE)
    notebook.patch({"op": "delete", "cell": "cell-2"})
    assert notebook.undo().status == 200
    assert notebook.patch({"op": "replace", "cell": "cell-2", "source": "y"}).status == 200
    assert notebook.read(cell="cell-2").json["cells"][0]["index"] == 0


def test_two_proposals_to_delete_a_cell_delete_one(notebook: Notebook) -> None:
    write(notebook, *ONE)
    notebook.set_mode("review")
    numbers = [
        notebook.patch({"op": "delete", "cell": "cell-2"}).json["proposal_id"] for _ in range(2)
    ]
    accept = [notebook.accept(number) for number in numbers]
    notebook.set_mode(None)
    assert [answer.status for answer in accept] == [200, 409]
    assert list_ids(notebook) == ONE[1:]


def test_a_proposal_by_index_is_about_the_cell_of_that_time(notebook: Notebook) -> None:
    write(notebook, *[None] * 5, minor=4)
    notebook.set_mode("review")
    number = notebook.patch({"op": "delete", "cell": "cell-3"}).json["proposal_id"]
    notebook.set_mode(None)
    assert notebook.patch({"op": "delete", "cell": "cell-1"}).status == 200

    assert notebook.accept(number).status == 200

    cells = samples.load_cells(notebook.text)
    assert ["".join(cell["source"]) for cell in cells] == ["x = 0", "x = 2", "x = 4"]
