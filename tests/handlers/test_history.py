"""The history over HTTP."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from jupyter_nbedit.db.database import NAME
from jupyter_nbedit.services.history.models import NewEntry
from tests.handlers.error_checks import get_error
from tests.handlers.requests import find_services, replace
from tests.support import samples
from tests.support.http import Answer, Local

PATH = "a.ipynb"
TEXT = samples.three_cells()


async def edit(local: Local, path: str = PATH, *operations: Any, **fields: Any) -> int:
    """Make an edit; the notebook is made if it is not there."""
    if not (local.root / path).exists():
        (local.root / path).parent.mkdir(parents=True, exist_ok=True)
        (local.root / path).write_bytes(TEXT)
    answer = await local.patch(path, *(operations or [replace("beta", uuid4().hex)]), **fields)
    assert answer.status == 200, answer.body
    assert answer.json["warnings"] == []
    number = answer.json["edit_id"]
    assert isinstance(number, int)
    return number


async def get_history(local: Local, path: str = PATH, *more: str, **query: Any) -> Answer:
    return await local.request("GET", "nbedit", "notebooks", path, "history", *more, params=query)


async def list_all_edits(local: Local, **query: Any) -> Any:
    answer = await local.request("GET", "nbedit", "history", params=query)
    assert answer.status == 200, answer.body
    return answer.json


async def test_an_entry_has_the_documented_form(local: Local) -> None:
    (local.root / PATH).write_bytes(TEXT)
    reply = (
        await local.patch(
            PATH,
            replace("beta", "changed"),
            {"op": "delete", "cell": "gamma"},
            client="curl",
            message="m",
        )
    ).json
    answer = await get_history(local)
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
        "is_from_page": False,
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
        "lines_added": 1,
        "lines_removed": 2,
        "snippet": "changed",
    }
    assert found["time"].endswith("Z")
    assert found["user"]
    assert await list_all_edits(local) == {"edits": [found], "next": None}


async def test_a_single_edit_is_returned_with_the_cells_before_and_after(local: Local) -> None:
    number = await edit(
        local,
        PATH,
        replace("beta", "changed"),
        {"op": "delete", "cell": "gamma"},
        {"op": "insert", "cell_type": "code", "source": "new", "at": "start", "id": "new"},
        {"op": "set_metadata", "patch": {"x": 1}},
    )
    answer = await get_history(local, PATH, str(number))
    (listed,) = (await get_history(local)).json["edits"]
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


async def test_nan_in_json_is_shown_and_a_created_notebook_has_an_entry(local: Local) -> None:
    big, nan = '"x": 123456789012345678901234567890', '"y": NaN'
    text = samples.notebook(samples.code("x", "beta", metadata={"k": "v"}))
    text = text.replace(b'"k": "v"', f'{big}, {nan}, "z": "\\ud800"'.encode())
    arguments = {"file_path": str(local.root / PATH), "content": text.decode()}
    created = await local.send_json("POST", "tools/claude_code/Write", arguments)
    assert created.status == 200, created.body
    (found,) = (await get_history(local)).json["edits"]
    assert (found["kind"], found["undoable"], found["hash_before"]) == ("create", False, None)
    (part,) = (await get_history(local, PATH, str(found["edit_id"]))).json["parts"]
    assert (part["before"], part["after"]["source"]) == (None, "x")
    number = await edit(local, PATH, replace("beta", "changed"))
    answer = await get_history(local, PATH, str(number))
    assert answer.status == 200, answer.body
    (part,) = answer.json["parts"]
    assert part["before"]["source"] == "x"
    assert part["before"]["metadata"] == {
        "x": 123456789012345678901234567890, "y": None, "z": "\ud800",
    }  # fmt: skip


async def test_a_history_is_paged(local: Local) -> None:
    made = [await edit(local, path) for path in (PATH, "b.ipynb", PATH, PATH)]
    numbers = [made[3], made[2], made[0]]
    first = (await get_history(local, limit=2)).json
    assert [found["edit_id"] for found in first["edits"]] == numbers[:2]
    last = (await get_history(local, limit=2, before=first["next"])).json
    assert [found["edit_id"] for found in last["edits"]] == numbers[2:]
    # The last page is one though it is full.
    assert last["next"] is (await get_history(local, limit=3)).json["next"] is None


async def test_a_dry_run_and_an_empty_edit_are_not_recorded(local: Local) -> None:
    (local.root / PATH).write_bytes(TEXT)
    await local.patch(PATH, replace("beta", "changed"), dry_run=True)
    await local.patch(PATH, {"op": "move", "cell": "alpha", "at": "start"})
    assert (await get_history(local)).json["edits"] == []


async def test_a_folder_may_have_any_name(local: Local) -> None:
    for path in (
        "history/a.ipynb",
        "x.ipynb/history/y.ipynb",
        "x.ipynb/history.ipynb",
        "x.ipynb/cells/history.ipynb",
        "history/history.ipynb/history/a.ipynb",
        "ü b%2F.ipynb",
    ):
        number = await edit(local, path)
        (found,) = (await get_history(local, path)).json["edits"]
        assert found["edit_id"] == number
        assert (await get_history(local, path, str(number))).json["path"] == path
        assert (await local.read(path)).json["path"] == path


async def test_an_edit_of_another_notebook_or_number_is_not_found(local: Local) -> None:
    number = await edit(local)
    await edit(local, "b.ipynb")
    for path, edit_id in ((PATH, number + 1), ("b.ipynb", number), (PATH, 0), (PATH, 10**30)):
        get_error(await get_history(local, path, str(edit_id)), 404, "edit_not_found")
    for odd in ("x", "-1", "1.0", "٣", "%20", "1 "):
        get_error(await get_history(local, PATH, odd), 404, "edit_not_found")


@pytest.mark.threat("S18")
@pytest.mark.parametrize(
    "jp_server_config", [{"NbEditApp": {"links_outside_root": False}}], indirect=True
)
async def test_a_notebook_that_cannot_be_read_has_no_history(local: Local, tmp_path: Path) -> None:
    missing = await get_history(local, "missing.ipynb")
    for name in ("gone", "hidden", "moved", "folder", "way/out"):
        await edit(local, f"{name}.ipynb")
    number = await edit(local)
    (local.root / "gone.ipynb").unlink()
    (local.root / "hidden.ipynb").rename(local.root / ".hidden.ipynb")
    (local.root / "moved.ipynb").rename(local.root / "elsewhere.ipynb")
    (local.root / "folder.ipynb").unlink()
    (local.root / "folder.ipynb").mkdir()
    (local.root / "way").rename(tmp_path / "outside")
    (local.root / "way").symlink_to(tmp_path / "outside")
    for name in ("gone", "hidden", ".hidden", "moved", "../outside", "x/../a", "way/out"):
        for more in ((), ("1",)):
            answer = await get_history(local, f"{name}.ipynb", *more)
            assert (answer.status, answer.body) == (404, missing.body)
        target = ("nbedit", "notebooks", f"{name}.ipynb", "history")
        answer = await local.request("DELETE", *target)
        assert (answer.status, answer.body) == (404, missing.body)
    get_error(await get_history(local, "folder.ipynb"), 409, "not_a_plain_file")
    # What was moved behind the server's back has begun anew.
    assert (await get_history(local, "elsewhere.ipynb")).json["edits"] == []
    assert [found["edit_id"] for found in (await list_all_edits(local))["edits"]] == [number]
    # Nothing is lost: it is available again as soon as it can be read.
    (local.root / ".hidden.ipynb").rename(local.root / "hidden.ipynb")
    assert len((await get_history(local, "hidden.ipynb")).json["edits"]) == 1


async def test_an_unreadable_history_is_an_error_and_the_notebook_stays_editable(
    local: Local, jp_data_dir: Path
) -> None:
    await edit(local)
    # A newer release has upgraded the file.
    with closing(sqlite3.connect(jp_data_dir / "nbedit" / NAME)) as newer:
        newer.execute("PRAGMA user_version = 99")
        newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for answer in (
        await get_history(local),
        await get_history(local, PATH, "1"),
        await local.request("GET", "nbedit", "history"),
        await local.request("DELETE", "nbedit", "notebooks", PATH, "history"),
    ):
        get_error(answer, 503, "history_unavailable")
    reply = await local.patch(PATH, replace("beta", "changed"))
    assert (reply.status, reply.json["edit_id"]) == (200, None)
    assert reply.json["warnings"]


async def test_a_damaged_record_is_reported(local: Local, jp_serverapp: Any) -> None:
    number = await edit(local)
    database = find_services(jp_serverapp).database
    await database.write(lambda base: base.execute("UPDATE edits SET record = x'0102'"))
    get_error(await get_history(local, PATH, str(number)), 503, "history_unavailable")
    assert (await get_history(local)).status == 200


async def test_pages_of_all_notebooks_omit_deleted_ones(local: Local, jp_serverapp: Any) -> None:
    # More notebooks than are looked for, and more edits than are looked at, for one page.
    ledger, there = find_services(jp_serverapp).edit_history, list[int]()
    for number in range(2_500):
        name = f"{number % 251}.ipynb" if number < 2_400 else "gone.ipynb"
        made = await ledger.add(NewEntry(path=name), None)
        if number < 2_400 and number % 251 % 50 == 0:
            (local.root / name).write_bytes(TEXT)
            there.insert(0, made)
    seen: list[int] = []
    before: dict[str, int] = {}
    for _ in range(100):
        reply = await list_all_edits(local, limit=30, **before)
        seen += [found["edit_id"] for found in reply["edits"]]
        assert len(reply["edits"]) <= 30
        if reply["next"] is None:
            break
        before = {"before": reply["next"]}
    assert seen == there


async def list_undoable(local: Local) -> dict[int, bool]:
    edits = (await get_history(local)).json["edits"]
    found = {edit["edit_id"]: edit["undoable"] for edit in edits}
    for number, is_undoable in found.items():
        assert (await get_history(local, PATH, str(number))).json["undoable"] == is_undoable
    return found


@pytest.mark.parametrize(
    ("operation", "change", "is_undoable"),
    [
        (replace("beta", "x"), {"source": "y"}, False),
        (replace("beta", "x"), {"cell_type": "raw"}, True),
        (replace("beta", "x"), {"metadata": {"collapsed": True, "tags": ["t"]}}, True),
        (replace("beta", "x\n# Title"), {"source": "x\n# Title\nadded"}, True),
        # By hand: nothing is left to undo.
        (replace("beta", "x"), {"source": "# Title"}, True),
        ({"op": "delete", "cell": "beta"}, None, True),
        (replace("beta", "x"), ..., False),
        ({"op": "insert", "at": "end", "cell_type": "raw", "source": "n", "id": "beta2"}, {}, True),
        ({"op": "set_metadata", "patch": {"k": 1}}, {}, True),
    ],
)
async def test_an_edit_is_undoable_unless_the_same_member_has_changed_since(
    local: Local, operation: dict[str, Any], change: Any, *, is_undoable: bool
) -> None:
    number = await edit(local, PATH, operation)
    content = json.loads((local.root / PATH).read_bytes())
    content["metadata"]["other"] = 1
    if change is ...:
        content["cells"] = [cell for cell in content["cells"] if cell["id"] != "beta"]
    for cell in content["cells"]:
        if cell["id"] == "beta":
            cell.update(change)
    (local.root / PATH).write_text(json.dumps(content))
    assert await list_undoable(local) == {number: is_undoable}
    body = {"edit_id": number, "dry_run": True}
    answer = await local.send_json("POST", f"notebooks/{PATH}/undo", body)
    assert (answer.status == 200) == is_undoable, answer.body


async def test_an_edit_is_not_undoable_after_later_edits_of_the_same_lines(local: Local) -> None:
    first = await edit(local, PATH, replace("beta", "1"))
    other = await edit(local, PATH, replace("alpha", "2"))
    last = await edit(local, PATH, replace("beta", "3"))
    assert await list_undoable(local) == {last: True, other: True, first: False}


async def test_metadata_of_the_notebook_that_changed_since_are_not_undoable(local: Local) -> None:
    number = await edit(local, PATH, {"op": "set_metadata", "patch": {"k": 1}})
    content = json.loads((local.root / PATH).read_bytes())
    content["metadata"]["k"] = 2
    (local.root / PATH).write_text(json.dumps(content))
    assert await list_undoable(local) == {number: False}
    # A notebook that cannot be read now may be readable again.
    (local.root / PATH).write_text("{}")
    assert await list_undoable(local) == {number: True}
