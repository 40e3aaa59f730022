"""Cells with ids such as ``cell-3``: the text never means another cell after one was deleted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.requests import send_json, set_mode
from tests.support import samples
from tests.support.http import JSON, Answer, Client

#: Where all ids are numbered, and where only one is, which is then deleted.
ALL = ["cell-0", "cell-1", "cell-2", "cell-3", "cell-4"]
ONE = ["cell-2", "a", "b", "c", "d"]
NEW = {"cell_type": "code", "source": "new"}

Change = Callable[[Client, str], Answer]


def write(live: Client, path: str, *ids: str | None, minor: int = 5) -> None:
    cells = [samples.code(f"x = {number}", cell_id) for number, cell_id in enumerate(ids)]
    (live.root / path).write_bytes(samples.notebook(*cells, minor=minor))


def list_ids(live: Client, path: str) -> list[str | None]:
    cells = samples.load_cells((live.root / path).read_bytes())
    return [cell.get("id") for cell in cells]


def call(live: Client, tool: str, path: str, **arguments: Any) -> Answer:
    body = {"notebook_path": str(live.root / path), "cell_id": "cell-2", **arguments}
    live_read = json.dumps({"file_path": body["notebook_path"]}).encode()
    assert live.request("POST", "nbedit/tools/claude_code/Read", live_read, JSON).status == 200
    return live.request("POST", f"nbedit/tools/{tool}", json.dumps(body).encode(), JSON)


def patch(**operation: Any) -> Change:
    return lambda live, path: live.patch(path, {"op": "delete", **operation})


def use_tool(tool: str, **arguments: Any) -> Change:
    return lambda live, path: call(live, f"{tool}/NotebookEdit", path, **arguments)


def use_cell(verb: str, **body: Any) -> Change:
    def send(live: Client, path: str) -> Answer:
        target = f"notebooks/{path}/cells/cell-2"
        return (
            send_json(live, verb, target, body) if body else live.request(verb, f"nbedit/{target}")
        )

    return send


def read_as_agent(live: Client, path: str) -> Answer:
    body = json.dumps({"path": path, "cells": ["cell-2"]}).encode()
    return live.request("POST", "nbedit/tools/agent/notebook_read", body, JSON)


def edit_as_agent(live: Client, path: str) -> Answer:
    operation = {"op": "replace_text", "cell": "cell-2", "old": "x", "new": "y"}
    body = json.dumps({"path": path, "operations": [operation]}).encode()
    return live.request("POST", "nbedit/tools/agent/notebook_edit", body, JSON)


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
    "dry run": lambda live, path: live.patch(
        path, {"op": "delete", "cell": "cell-2"}, dry_run=True
    ),
    "GET of a cell": use_cell("GET"),
    "PATCH of a cell": use_cell("PATCH", source="new"),
    "DELETE of a cell": use_cell("DELETE"),
    "read": lambda live, path: live.read(path, cell="cell-2"),
    "read as text": lambda live, path: live.read(path, {"Accept": "text/plain"}, cell="cell-2"),
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
    live: Client, path: str, change: Change, ids: list[str]
) -> None:
    write(live, path, *ids)
    assert live.patch(path, {"op": "delete", "cell": "cell-2"}).status == 200

    with no_changes(live.root):
        answer = change(live, path)

    assert answer.status == 404
    assert b"cell-2" in answer.body
    assert b"may have been deleted" in answer.body
    assert list_ids(live, path) == [each for each in ids if each != "cell-2"]


@pytest.mark.parametrize("ids", [ALL, ONE], ids=["others have such ids", "none has one"])
def test_a_cell_that_another_program_has_deleted_is_not_mistaken(
    live: Client, path: str, ids: list[str]
) -> None:
    write(live, path, *ids)
    assert live.patch(path, {"op": "replace", "cell": "cell-2", "source": "y"}).status == 200
    write(live, path, *(each for each in ids if each != "cell-2"))

    get_error(live.patch(path, {"op": "delete", "cell": "cell-2"}), 404, "cell_not_found")
    get_error(live.read(path, cell="cell-2"), 404, "cell_not_found")


def test_the_error_names_the_operation_and_the_ids(live: Client, path: str) -> None:
    write(live, path, *ONE)
    live.patch(path, {"op": "delete", "cell": "cell-2"})
    replace = {"op": "replace", "cell": "a", "source": "y"}

    error = get_error(
        live.patch(path, replace, {"op": "delete", "cell": "cell-2"}), 404, "cell_not_found"
    )

    assert error == {
        "operation": 1,
        "cell": "cell-2",
        "available_ids": ["a", "b", "c", "d"],
        "total_cells": 4,
    }


@pytest.mark.parametrize("ids", [ALL, ONE])
def test_a_batch_cannot_name_a_cell_that_it_has_deleted(
    live: Client, path: str, ids: list[str]
) -> None:
    write(live, path, *ids)
    delete = {"op": "delete", "cell": "cell-2"}
    for second in (delete, {"op": "replace", "cell": "cell-2", "source": "y"}):
        with no_changes(live.root):
            get_error(live.patch(path, delete, second), 400, "invalid_operation")


def test_the_ids_of_an_edit_of_many_cells_are_known(live: Client, path: str) -> None:
    write(
        live,
        path,
        *(f"cell-{number}" for number in range(60)),
        "a",
        *("b" * n for n in range(1, 40)),
    )
    names = [f"cell-{number}" for number in range(60)]
    assert live.patch(path, {"op": "delete", "cells": names}).status == 200

    for name in ("cell-0", "cell-19", "cell-20", "cell-37"):
        get_error(live.patch(path, {"op": "delete", "cell": name}), 404, "cell_not_found")
    assert len(list_ids(live, path)) == 40


def test_an_id_in_a_text_of_the_history_is_none(live: Client, path: str) -> None:
    write(live, path, "a", "b", "c")
    text = '"cell_id":"cell-1", "cell_id": "cell-1"'
    replace = {"op": "replace", "cell": "a", "source": text}
    assert live.patch(path, replace, message=text, client=text).status == 200
    assert live.patch(path, {"op": "delete", "cell": "cell-1"}).status == 200
    assert list_ids(live, path) == ["a", "c"]


@pytest.mark.parametrize("minor", [4, 5])
def test_without_such_ids_it_is_an_index(live: Client, path: str, minor: int) -> None:
    write(live, path, *[None] * 5, minor=minor)
    for left in (4, 3):
        assert live.patch(path, {"op": "delete", "cell": "cell-2"}).status == 200
        assert live.read(path, cell="cell-2").json["cells"][0]["index"] == 2
        assert len(list_ids(live, path)) == left


def test_a_cell_without_an_id_among_such_ids_is_named_as_the_error_says(
    live: Client, path: str
) -> None:
    write(live, path, "cell-5", None, "a")

    answer = live.patch(path, {"op": "replace", "cell": "cell-1", "source": "y"})

    error = get_error(answer, 404, "cell_not_found")
    available = error["available_ids"]
    assert [available[0], available[2]] == ["cell-5", "a"]
    name = available[1]
    assert f"send its guarded name {name!r}, or the integer 1" in answer.json["message"]
    for address in (name, 1):
        cell = live.read(path, cell=address).json["cells"][0]
        assert (cell["index"], cell["id"]) == (1, None)
    assert call(live, "nexo/NotebookEdit", path, cell_id=name, new_source="y").status == 200
    body = json.dumps({"file_path": str(live.root / path)}).encode()
    (block,) = live.request("POST", "nbedit/tools/claude_code/Read", body, JSON).json["content"]
    shown = re.findall('<cell id="(.*?)"', block["text"])
    assert [shown[0], shown[2]] == ["cell-5", "a"]
    assert live.read(path, cell=shown[1]).json["cells"][0]["index"] == 1
    # What else cannot be found has addresses that can be used, too.
    error = get_error(live.patch(path, {"op": "delete", "cell": "z"}), 404, "cell_not_found")
    assert live.read(path, cell=error["available_ids"][1]).json["cells"][0]["index"] == 1


@pytest.mark.parametrize("tool", ["nexo", "mycode", "claude_code"])
def test_a_replace_after_the_last_cell_appends(live: Client, path: str, tool: str) -> None:
    arguments = {"cell_id": "cell-5", "new_source": "new", "cell_type": "code"}
    write(live, path, *ALL)
    assert call(live, f"{tool}/NotebookEdit", path, **arguments).status == 200
    assert list_ids(live, path)[:5] == ALL
    assert len(list_ids(live, path)) == 6

    write(live, path, *ALL, "cell-5")
    assert live.patch(path, {"op": "delete", "cell": "cell-5"}).status == 200
    with no_changes(live.root):
        assert call(live, f"{tool}/NotebookEdit", path, **arguments).status == 404


def test_a_new_cell_gets_no_such_id(live: Client, path: str) -> None:
    write(live, path, "a")
    new = {**NEW, "id": "cell-7"}
    with no_changes(live.root):
        answers = [
            live.patch(path, {"op": "insert", **new, "at": "end"}),
            send_json(live, "POST", f"notebooks/{path}/cells", {**new, "at": "end"}),
            send_json(live, "PUT", "notebooks/created.ipynb", {"cells": [new]}),
        ]
    for answer in answers:
        get_error(answer, 400, "invalid_operation")
        assert "`cell-N` also means" in answer.json["message"]


def test_an_agent_gets_no_other_cell_as_a_suggestion(live: Client, path: str) -> None:
    write(live, path, *ONE)
    live.patch(path, {"op": "delete", "cell": "cell-2"})
    body = json.dumps({"path": path, "operations": [{"op": "delete", "cell": "cell-2"}]}).encode()
    answer = live.request("POST", "nbedit/tools/agent/notebook_edit", body, JSON)
    assert answer.status == 400
    assert "x = 3" not in answer.json["content"][0]["text"]


def test_an_undo_brings_back_such_an_id(live: Client, path: str) -> None:
    write(live, path, *ONE)
    live.patch(path, {"op": "delete", "cell": "cell-2"})
    assert live.request("POST", f"nbedit/notebooks/{path}/undo", b"{}", JSON).status == 200
    assert live.patch(path, {"op": "replace", "cell": "cell-2", "source": "y"}).status == 200
    assert live.read(path, cell="cell-2").json["cells"][0]["index"] == 0


def test_two_proposals_to_delete_a_cell_delete_one(live: Client, path: str) -> None:
    write(live, path, *ONE)
    set_mode(live, "review", path)
    numbers = [
        live.patch(path, {"op": "delete", "cell": "cell-2"}).json["proposal_id"] for _ in range(2)
    ]
    accept = [
        live.request("POST", f"nbedit/proposals/{number}/accept", b"{}", JSON) for number in numbers
    ]
    set_mode(live, None, path)
    assert [answer.status for answer in accept] == [200, 409]
    assert list_ids(live, path) == ONE[1:]


def test_a_proposal_by_index_is_about_the_cell_of_that_time(live: Client, path: str) -> None:
    write(live, path, *[None] * 5, minor=4)
    set_mode(live, "review", path)
    number = live.patch(path, {"op": "delete", "cell": "cell-3"}).json["proposal_id"]
    set_mode(live, None, path)
    assert live.patch(path, {"op": "delete", "cell": "cell-1"}).status == 200

    assert live.request("POST", f"nbedit/proposals/{number}/accept", b"{}", JSON).status == 200

    cells = samples.load_cells((live.root / path).read_bytes())
    assert ["".join(cell["source"]) for cell in cells] == ["x = 0", "x = 2", "x = 4"]
