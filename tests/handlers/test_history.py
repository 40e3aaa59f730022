"""The history over HTTP, of edits that were made."""

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit import chronicle
from jupyter_nbedit.app import NbEditApp
from jupyter_nbedit.database import NAME
from jupyter_nbedit.history.entries import NewEntry
from tests.handlers.refused import details
from tests.support import samples
from tests.support.http import JSON, Answer, Local
from tests.support.ratios import least_ratio_awaited

PATH = "a.ipynb"
TEXT = samples.three_cells()
CANARY = "a text that was deleted and shall be nowhere"


@pytest.fixture
def app(jp_serverapp: Any) -> NbEditApp:
    points = jp_serverapp.extension_manager.extensions["jupyter_nbedit"].extension_points
    found = points["jupyter_nbedit"].app
    assert isinstance(found, NbEditApp)
    return found


def replace(source: str, cell: str = "beta") -> dict[str, Any]:
    return {"op": "replace", "cell": cell, "source": source}


async def edit(local: Local, path: str = PATH, *operations: Any, **fields: Any) -> int:
    """Make an edit; the notebook is made if it is not there."""
    if not (local.root / path).exists():
        (local.root / path).parent.mkdir(parents=True, exist_ok=True)
        (local.root / path).write_bytes(TEXT)
    answer = await local.patch(path, *(operations or [replace(str(time.time()))]), **fields)
    assert answer.status == 200, answer.body
    assert answer.json["warnings"] == []
    number = answer.json["edit_id"]
    assert isinstance(number, int)
    return number


async def history(local: Local, path: str = PATH, *more: str, **query: Any) -> Answer:
    return await local.request("GET", "nbedit", "notebooks", path, "history", *more, params=query)


async def of_all(local: Local, **query: Any) -> Any:
    answer = await local.request("GET", "nbedit", "history", params=query)
    assert answer.status == 200, answer.body
    return answer.json


# What is told -------------------------------------------------------------------------------------


async def test_an_edit_is_told_as_documented(local: Local) -> None:
    (local.root / PATH).write_bytes(TEXT)
    reply = (
        await local.patch(
            PATH, replace("changed"), {"op": "delete", "cell": "gamma"}, client="curl", message="m"
        )
    ).json
    answer = await history(local)
    assert answer.status == 200
    assert list(answer.json) == ["path", "edits", "next"]
    assert (answer.json["path"], answer.json["next"]) == (PATH, None)
    (found,) = answer.json["edits"]
    assert found == {
        "edit_id": reply["edit_id"],
        "time": found["time"],
        "path": PATH,
        "kind": "edit",
        "user": found["user"],
        "client": "curl",
        "message": "m",
        "accepted_by": None,
        "operations": [
            {"op": "replace", "cell_id": "beta", "index": 1},
            {"op": "delete", "cell_id": "gamma", "index": 2},
        ],
        "truncated": False,
        "cells_changed": 2,
        "hash_before": reply["hash_before"],
        "hash": reply["hash"],
        "applied_via": "file",
        "total_cells": 2,
        "cells_delta": -1,
        "undoes": None,
        "undone_by": None,
        "undoable": True,
    }
    assert found["time"].endswith("Z")
    assert found["user"]
    assert await of_all(local) == {"edits": [found], "next": None}


async def test_one_edit_is_told_with_what_was_before_and_after_it(local: Local) -> None:
    number = await edit(
        local,
        PATH,
        replace("changed"),
        {"op": "delete", "cell": "gamma"},
        {"op": "insert", "cell_type": "code", "source": "new", "at": "start", "id": "new"},
        {"op": "set_metadata", "patch": {"x": 1}},
    )
    answer = await history(local, PATH, str(number))
    (listed,) = (await history(local)).json["edits"]
    assert answer.status == 200
    assert {name: value for name, value in answer.json.items() if name != "parts"} == listed
    parts = answer.json["parts"]
    assert [part["part"] for part in parts] == list(range(len(parts)))
    by_id = {part["cell_id"]: part for part in parts}
    assert set(by_id) == {"beta", "gamma", "new", None}
    assert by_id["beta"]["after"]["source"] == "changed"
    assert (by_id["beta"]["index_before"], by_id["beta"]["index"]) == (1, 2)
    assert (by_id["gamma"]["after"], by_id["gamma"]["index"]) == (None, None)
    assert (by_id["new"]["before"], by_id["new"]["index_before"]) == (None, None)
    assert by_id["new"]["after"]["source"] == "new"
    assert by_id[None]["after"]["metadata"]["x"] == 1
    assert "x" not in by_id[None]["before"]["metadata"]
    assert by_id[None]["after"]["cell_type"] is None


async def test_what_only_python_says_in_json_is_shown(local: Local) -> None:
    big, nan = '"x": 123456789012345678901234567890', '"y": NaN'
    text = samples.notebook(samples.code("x", "beta", metadata={"k": "v"}))
    text = text.replace(b'"k": "v"', f'{big}, {nan}, "z": "\\ud800"'.encode())
    (local.root / PATH).write_bytes(text)
    number = await edit(local, PATH, replace("changed"))
    answer = await history(local, PATH, str(number))
    assert answer.status == 200, answer.body
    (part,) = answer.json["parts"]
    assert part["before"]["source"] == "x"
    assert part["before"]["metadata"] == {
        "x": 123456789012345678901234567890, "y": None, "z": "\ud800",
    }  # fmt: skip


async def test_a_new_notebook_begins_its_history(local: Local) -> None:
    body = json.dumps({"cells": [{"cell_type": "code", "source": "x", "id": "one"}]}).encode()
    target = ("nbedit", "notebooks", PATH)
    await local.request("PUT", *target, body=body, headers=JSON)
    (found,) = (await history(local)).json["edits"]
    assert (found["kind"], found["undoable"], found["hash_before"]) == ("create", False, None)
    (part,) = (await history(local, PATH, str(found["edit_id"]))).json["parts"]
    assert (part["before"], part["after"]["source"]) == (None, "x")
    # Another one in its place has nothing to do with it.
    (local.root / PATH).unlink()
    await local.request("PUT", *target, body=body, headers=JSON)
    assert len((await history(local)).json["edits"]) == 1


async def test_a_history_comes_page_by_page(local: Local) -> None:
    numbers = [await edit(local) for _ in range(7)][::-1]
    await edit(local, "b.ipynb")
    seen: list[int] = []
    before: dict[str, Any] = {}
    for size in (3, 3, 1):
        reply = (await history(local, limit=3, **before)).json
        assert len(reply["edits"]) == size
        seen += [found["edit_id"] for found in reply["edits"]]
        before = {"before": reply["next"]}
    assert before == {"before": None}
    assert seen == numbers
    # The last page is one though it is full.
    assert (await history(local, limit=7)).json["next"] is None


async def test_a_dry_run_and_an_edit_of_nothing_leave_no_trace(local: Local) -> None:
    (local.root / PATH).write_bytes(TEXT)
    await local.patch(PATH, replace("changed"), dry_run=True)
    await local.patch(PATH, {"op": "move", "cell": "alpha", "at": "start"})
    assert (await history(local)).json["edits"] == []


async def test_an_edit_by_a_link_is_of_the_notebook(local: Local) -> None:
    number = await edit(local)
    (local.root / "link.ipynb").symlink_to(local.root / PATH)
    again = await edit(local, "link.ipynb")
    for path in (PATH, "link.ipynb"):
        edits = (await history(local, path)).json["edits"]
        assert [(found["edit_id"], found["path"]) for found in edits] == [
            (again, path), (number, path),
        ]  # fmt: skip
    assert {found["path"] for found in (await of_all(local))["edits"]} == {PATH}


@pytest.mark.parametrize(
    "path",
    [
        "history",
        "x.ipynb/history/y.ipynb",
        "x.ipynb/history.ipynb",
        "x.ipynb/cells/history.ipynb",
        "history/history.ipynb/history/a.ipynb",
        "ü b%2F.ipynb",
    ],
)
async def test_a_notebook_may_lie_in_a_folder_of_any_name(local: Local, path: str) -> None:
    if not path.endswith(".ipynb"):
        path = f"{path}/a.ipynb"
    number = await edit(local, path)
    assert [found["edit_id"] for found in (await history(local, path)).json["edits"]] == [number]
    assert (await history(local, path, str(number))).json["path"] == path
    assert (await local.read(path)).json["path"] == path


# What is refused ----------------------------------------------------------------------------------


async def test_an_edit_of_another_notebook_or_number_is_not_found(local: Local) -> None:
    number = await edit(local)
    await edit(local, "b.ipynb")
    for path, wanted in ((PATH, number + 1), ("b.ipynb", number), (PATH, 0), (PATH, 10**30)):
        details(await history(local, path, str(wanted)), 404, "edit_not_found")
    for odd in ("x", "-1", "1.0", "٣", "%20", "1 "):
        details(await history(local, PATH, odd), 404, "edit_not_found")


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 201}, {"limit": "x"}, {"before": 0}, {"after": 1}]
)
async def test_a_query_of_another_form_is_refused(local: Local, query: dict[str, Any]) -> None:
    await edit(local)
    details(await history(local, PATH, **query), 400, "invalid_request")
    answer = await local.request("GET", "nbedit", "history", params=query)
    details(answer, 400, "invalid_request")


async def test_what_cannot_be_read_now_has_no_history(local: Local) -> None:
    missing = await history(local, "missing.ipynb")
    for name in ("gone.ipynb", "hidden.ipynb", "moved.ipynb", "folder.ipynb"):
        await edit(local, name)
    number = await edit(local)
    (local.root / "gone.ipynb").unlink()
    (local.root / "hidden.ipynb").rename(local.root / ".hidden.ipynb")
    (local.root / "moved.ipynb").rename(local.root / "elsewhere.ipynb")
    (local.root / "folder.ipynb").unlink()
    (local.root / "folder.ipynb").mkdir()
    for name in ("gone", "hidden", ".hidden", "moved", "../outside", "x/../a"):
        for more in ((), ("1",)):
            answer = await history(local, f"{name}.ipynb", *more)
            assert (answer.status, answer.body) == (404, missing.body)
        target = ("nbedit", "notebooks", f"{name}.ipynb", "history")
        answer = await local.request("DELETE", *target)
        assert (answer.status, answer.body) == (404, missing.body)
    details(await history(local, "folder.ipynb"), 409, "not_a_plain_file")
    # What was moved behind the server's back has begun anew.
    assert (await history(local, "elsewhere.ipynb")).json["edits"] == []
    assert [found["edit_id"] for found in (await of_all(local))["edits"]] == [number]


async def test_a_history_that_cannot_be_read_is_refused_and_the_notebook_is_not(
    local: Local, jp_data_dir: Path
) -> None:
    await edit(local)
    # A newer release has upgraded the file.
    with closing(sqlite3.connect(jp_data_dir / "nbedit" / NAME)) as newer:
        newer.execute("PRAGMA user_version = 99")
        newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for answer in (
        await history(local),
        await history(local, PATH, "1"),
        await local.request("GET", "nbedit", "history"),
        await local.request("DELETE", "nbedit", "notebooks", PATH, "history"),
    ):
        details(answer, 503, "history_unavailable")
    reply = await local.patch(PATH, replace("changed"))
    assert (reply.status, reply.json["edit_id"]) == (200, None)
    assert reply.json["warnings"]


async def test_a_damaged_record_is_told_as_that(local: Local, app: NbEditApp) -> None:
    number = await edit(local)
    await app.database.write(lambda base: base.execute("UPDATE edits SET record = x'0102'"))
    details(await history(local, PATH, str(number)), 503, "history_unavailable")
    assert (await history(local)).status == 200


# Over all notebooks -------------------------------------------------------------------------------


async def test_pages_over_all_notebooks_leave_out_what_is_gone_and_nothing_else(
    local: Local, app: NbEditApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chronicle, "_MOST_PATHS", 5)
    monkeypatch.setattr(chronicle, "_MOST_EDITS", 8)
    there: list[int] = []
    for number in range(40):
        name = f"{number % 13}.ipynb"
        (local.root / name).write_bytes(TEXT)
        made = await app.ledger.add(NewEntry(path=name), None)
        if number % 13 % 3 == 0:
            there.insert(0, made)
    for number in range(13):
        if number % 3:
            (local.root / f"{number}.ipynb").unlink()
    seen: list[int] = []
    before: dict[str, int] = {}
    for page in itertools.count():
        reply = await of_all(local, limit=3, **before)
        seen += [found["edit_id"] for found in reply["edits"]]
        assert len(reply["edits"]) <= 3
        if reply["next"] is None:
            break
        before = {"before": reply["next"]}
        assert page < 40
    assert seen == there


async def test_fifty_edits_of_fifty_notebooks_are_listed_faster_than_one_by_one(
    local: Local, app: NbEditApp
) -> None:
    for number in range(50):
        folder = local.root / "some" / f"folder{number}"
        folder.mkdir(parents=True)
        (folder / PATH).write_bytes(TEXT)
        await app.ledger.add(NewEntry(path=f"some/folder{number}/{PATH}"), b"record")

    async def ask_for_all() -> None:
        assert len((await of_all(local))["edits"]) == 50

    async def ask_one_by_one() -> None:
        for number in range(50):
            reply = await history(local, f"some/folder{number}/{PATH}")
            assert len(reply.json["edits"]) == 1

    ratio = await least_ratio_awaited(ask_for_all, ask_one_by_one)
    print(f"\n50 edits of 50 notebooks take {ratio:.2f} of what 50 requests for one take")
    assert ratio < 1


# Forgetting ---------------------------------------------------------------------------------------


async def test_a_purged_history_is_in_no_byte_of_the_files(local: Local, jp_data_dir: Path) -> None:
    def kept() -> bytes:
        files = (jp_data_dir / "nbedit").glob(f"{NAME}*")
        return b"".join(path.read_bytes() for path in files)

    for number in range(5):
        await edit(local, PATH, replace(f"{CANARY} {number}"), message=CANARY)
    other = await edit(local, "b.ipynb")
    assert CANARY.encode() in kept()
    answer = await local.request("DELETE", "nbedit", "notebooks", PATH, "history")
    assert (answer.status, answer.json) == (200, {"path": PATH, "purged": 5})
    assert CANARY.encode() not in kept()
    assert (await history(local)).json["edits"] == []
    assert [found["edit_id"] for found in (await of_all(local))["edits"]] == [other]
    again = await local.request("DELETE", "nbedit", "notebooks", PATH, "history")
    assert again.json["purged"] == 0
