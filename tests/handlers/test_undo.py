"""Undo and redo over HTTP: the reply and the file."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jupyter_nbedit.notebook.operations import Replace
from jupyter_nbedit.services.models import WriteRequest
from tests.handlers.error_checks import get_error
from tests.handlers.requests import (
    ODD,
    edit,
    list_sources,
    replace,
    send_json,
    send_json_locally,
    undo,
)
from tests.services.events.listener import open_listener
from tests.support import samples
from tests.support.http import JSON, Client, Local
from tests.support.services import ServiceBuilder

TEXT = ODD


def test_undo_of_the_last_edit_restores_all_bytes_and_redo_repeats(live: Client, path: str) -> None:
    file = live.root / path
    number = edit(live, path, replace("alpha", "x = 2"), {"op": "delete", "cell": "gamma"})
    after = file.read_bytes()
    answer = undo(live, path)
    assert answer.status == 200
    assert file.read_bytes() == ODD
    assert answer.json["hash"] == samples.hash_file(file) == answer.headers["ETag"].strip('"')
    assert answer.json["edit_id"] > number
    assert {result["op"] for result in answer.json["operations"]} == {"undo"}
    assert answer.json["total_cells"] == 3
    again = undo(live, path, "redo")
    assert again.status == 200
    assert file.read_bytes() == after
    assert {result["op"] for result in again.json["operations"]} == {"redo"}
    # And it is an edit like any other.
    assert undo(live, path).status == 200
    assert file.read_bytes() == ODD


def test_repeated_undo_reverts_edit_after_edit_to_the_first(live: Client, path: str) -> None:
    versions = []
    for n in range(4):
        versions.append((live.root / path).read_bytes())
        edit(live, path, {"op": "insert", "cell_type": "code", "source": f"{n}", "index": n})
    newest = (live.root / path).read_bytes()
    for version in reversed(versions):
        assert undo(live, path).status == 200
        assert (live.root / path).read_bytes() == version
    get_error(undo(live, path), 409, "nothing_to_undo")
    for version in [*versions[1:], newest]:
        assert undo(live, path, "redo").status == 200
        assert (live.root / path).read_bytes() == version
    get_error(undo(live, path, "redo"), 409, "nothing_to_undo")


def test_undo_of_an_older_edit_reverts_only_its_cells(live: Client, path: str) -> None:
    older = edit(live, path, replace("alpha", "x = 2"))
    edit(live, path, replace("beta", "# Other"))
    answer = undo(live, path, edit_id=older)
    assert answer.status == 200
    assert list_sources(live, path) == ["x = 1\nx", "# Other", "as is"]
    text = (live.root / path).read_bytes()
    # The cell is as it was, to the byte, its outputs among it.
    start = ODD.index(b"{", ODD.index(b'"cells"'))
    stop = ODD.index(b'"markdown"') - 20
    assert ODD[start:stop] in text


def test_undo_is_refused_for_cells_changed_since(live: Client, path: str) -> None:
    older = edit(live, path, replace("alpha", "x = 2"), replace("beta", "# Other"))
    edit(live, path, replace("alpha", "x = 3"))
    before = (live.root / path).read_bytes()
    found = get_error(undo(live, path, edit_id=older), 409, "undo_conflict")
    assert found["edit_id"] == older
    (cell,) = found["cells"]
    assert (cell["cell_id"], cell["why"], cell["source"]) == ("alpha", "changed", "x = 3")
    assert (live.root / path).read_bytes() == before


def test_a_save_by_a_tab_and_a_run_of_the_cell_do_not_prevent_undo(live: Client, path: str) -> None:
    edit(live, path, replace("alpha", "x = 2"))
    found = json.loads(live.request("GET", f"api/contents/{path}").body)
    cell = found["content"]["cells"][0]
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "2"}]
    cell["execution_count"] = 4
    body = json.dumps({"type": "notebook", "format": "json", "content": found["content"]}).encode()
    assert live.request("PUT", f"api/contents/{path}", body, JSON).status == 200
    answer = undo(live, path)
    assert answer.status == 200
    (first, *_) = samples.load_cells((live.root / path).read_bytes())
    assert (first["source"], first["execution_count"]) == ("x = 1\nx", 3)
    assert first["outputs"] == [samples.HTML_OUTPUT]


def test_an_edit_is_undone_once(live: Client, path: str) -> None:
    number = edit(live, path, replace("alpha", "x = 2"))
    get_error(undo(live, path, "redo", edit_id=number), 409, "nothing_to_undo")
    by = undo(live, path, edit_id=number).json["edit_id"]
    found = get_error(undo(live, path, edit_id=number), 409, "nothing_to_undo")
    assert found == {"edit_id": number, "undone_by": by}
    # SQLite has no such number.
    get_error(undo(live, path, edit_id=2**63), 400, "invalid_request")
    # Redo accepts the number of the edit, or of its undo.
    assert undo(live, path, "redo", edit_id=number).status == 200
    get_error(undo(live, path, "redo", edit_id=by), 409, "nothing_to_undo")
    assert list_sources(live, path)[0] == "x = 2"


def test_a_dry_run_shows_the_result_of_undo(live: Client, path: str) -> None:
    edit(live, path, replace("alpha", "x = 2"))
    before = (live.root / path).read_bytes()
    answer = undo(live, path, dry_run=True)
    assert answer.status == 200
    assert answer.json["dry_run"]
    assert "-x = 2" in answer.json["diff"]
    assert (live.root / path).read_bytes() == before
    undo(live, path)
    assert samples.hash_file(live.root / path) == answer.json["hash"]


def test_version_key_and_message_mean_the_same_as_for_an_edit(live: Client, path: str) -> None:
    author = {"message": "a mistake", "client": "ada's script"}
    edit(live, path, replace("alpha", "x = 2"), **author)
    get_error(undo(live, path, hash="0" * 64), 412, "hash_mismatch")
    get_error(undo(live, path, headers={"If-Match": f'"{"0" * 64}"'}), 412, "hash_mismatch")
    first = undo(live, path, **author, headers={"Idempotency-Key": path})
    assert first.status == 200
    assert undo(live, path, **author, headers={"Idempotency-Key": path}).json == first.json
    assert (live.root / path).read_bytes() == ODD


def test_concurrent_undos_each_revert_another_edit(live: Client, path: str) -> None:
    for n in range(6):
        edit(live, path, replace("alpha", f"x = {n + 10}"))
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: undo(live, path), range(6)))
    assert [answer.status for answer in answers] == [200] * 6
    assert (live.root / path).read_bytes() == ODD
    get_error(undo(live, path), 409, "nothing_to_undo")


async def test_an_edit_is_undone_after_a_restart(services: ServiceBuilder) -> None:
    services.storage.notebooks["a.ipynb"] = ODD
    before = services.build_editing()
    await before.edit("a.ipynb", Replace(cell="alpha", source="x = 2"))
    await before.close()
    after = services.build_editing()
    await after.editor.undo(WriteRequest("a.ipynb"))
    assert services.storage.notebooks["a.ipynb"] == ODD


@pytest.mark.usefixtures("notebook")
async def test_undo_emits_the_events_of_an_edit(local: Local, jp_ws_fetch: Any) -> None:
    async with open_listener(jp_ws_fetch) as listener:
        await local.patch("a.ipynb", replace("alpha", "x = 2"), client="one")
        body = {"client": "two", "whose": "all"}
        answer = await send_json_locally(local, "POST", "notebooks/a.ipynb/undo", body)
        edit, back = await listener.wait_for(2)
    assert back["operations"] == [{"op": "undo", "cell_id": "alpha", "index": 0}]
    assert (back["client"], back["edit_id"]) == ("two", answer.json["edit_id"])
    assert (back["hash_before"], back["hash"]) == (edit["hash"], edit["hash_before"])


def sign_notebook(live: Client, path: str) -> None:
    assert live.request("POST", f"api/contents/{path}/trust", b"").status == 201


def test_a_notebook_stays_trusted_after_undo(live: Client, path: str) -> None:
    # Signatures depend on the content, and other tests have the same one.
    (live.root / path).write_bytes(TEXT.replace(b"as is", b"signed here"))
    sign_notebook(live, path)
    first = edit(live, path, replace("alpha", "x = 2"))
    edit(live, path, replace("beta", "# Other"))
    assert live.read(path).json["trusted"]
    assert undo(live, path, edit_id=first).json["warnings"] == []
    # The output that came back was in a notebook that was trusted.
    reply = live.read(path, outputs="full").json
    assert reply["trusted"]
    assert reply["cells"][0]["outputs"] != []


@pytest.mark.threat("S21")
def test_untrusted_outputs_are_restored_untrusted(live: Client, path: str) -> None:
    # A signature is one of the content, wherever it is.
    (live.root / path).write_bytes(TEXT.replace(b"as is", b"signed by nobody"))
    number = edit(live, path, {"op": "clear_outputs", "all": True})
    # Nothing is left that could do harm, and the user trusts what is left.
    sign_notebook(live, path)
    edit(live, path, replace("beta", "# Other"))
    assert live.read(path).json["trusted"]
    assert undo(live, path, edit_id=number).status == 200
    assert not live.read(path).json["trusted"]
    content = live.request("GET", f"api/contents/{path}").json["content"]
    assert not content["cells"][0]["metadata"]["trusted"]


def make_edits(live: Client, path: str) -> tuple[int, int]:
    """Return the numbers of an edit by one agent and of a later one by another."""
    first = edit(live, path, replace("alpha", "x = 2"), client="one", message="why")
    return first, edit(live, path, replace("beta", "# Two"), client="two")


def test_undo_without_a_number_takes_back_the_newest_edit_of_the_same_client(
    live: Client, path: str
) -> None:
    first, second = make_edits(live, path)
    answer = undo(live, path, client="one")
    assert answer.status == 200
    (undone,) = answer.json["undone"]
    author = {"user": undone["user"], "client": "one", "message": "why"}
    assert undone == {"edit_id": first, "kind": "edit", **author}
    assert list_sources(live, path) == ["x = 1\nx", "# Two", "as is"]
    found = get_error(undo(live, path, client="one"), 409, "nothing_to_undo")
    assert found["newest"]["edit_id"] == second
    assert found["newest"]["client"] == "two"
    # The same with redo: each client redoes what it has undone.
    found = get_error(undo(live, path, "redo", client="two"), 409, "nothing_to_undo")
    assert found["newest"]["edit_id"] == answer.json["edit_id"]
    redone = undo(live, path, "redo", client="one")
    assert [edit["edit_id"] for edit in redone.json["undone"]] == [first]
    # By number, everybody can undo everything.
    by_number = undo(live, path, client="one", edit_id=second)
    assert [edit["client"] for edit in by_number.json["undone"]] == ["two"]


def test_undo_of_all_takes_back_the_newest_edit_of_anybody(live: Client, path: str) -> None:
    first, second = make_edits(live, path)
    for number in (second, first):
        answer = undo(live, path, client="three", whose="all")
        assert [edit["edit_id"] for edit in answer.json["undone"]] == [number]
    assert (live.root / path).read_bytes() == ODD
    assert "newest" not in get_error(undo(live, path, whose="all"), 409, "nothing_to_undo")
    for body in ({"edit_id": first}, {"cells": ["1.0"]}):
        get_error(undo(live, path, whose="all", **body), 400, "invalid_request")
    get_error(undo(live, path, "redo", whose="all", edit_id=first), 400, "invalid_request")


def test_two_sessions_of_a_client_undo_their_own_edits(live: Client, path: str) -> None:
    names = ("one", "two")
    headers = {name: {"X-NbEdit-Session": name} for name in names}
    numbers = {
        name: edit(live, path, replace(cell, name), client="x", headers=headers[name])
        for name, cell in zip(names, ("alpha", "beta"), strict=True)
    }
    answer = undo(live, path, client="x", headers=headers["one"])
    assert [edit["edit_id"] for edit in answer.json["undone"]] == [numbers["one"]]
    get_error(undo(live, path, client="x", headers=headers["one"]), 409, "nothing_to_undo")
    # A request without a session is of any session.
    answer = undo(live, path, client="x")
    assert [edit["edit_id"] for edit in answer.json["undone"]] == [numbers["two"]]


def test_the_text_of_an_undo_says_whose_edit_it_was(live: Client, path: str) -> None:
    first, _ = make_edits(live, path)
    answer = undo(live, path, client="one", headers={"Accept": "text/plain"})
    assert f"\nof edit {first} by one: why\n" in answer.body.decode()


def test_an_undo_of_cells_says_whose_edits_it_takes_back(live: Client, path: str) -> None:
    numbers = make_edits(live, path)
    unseen = live.request("GET", f"nbedit/notebooks/{path}/unseen").json["cells"]
    answer = undo(live, path, cells=[cell["key"] for cell in unseen])
    undone = [(edit["edit_id"], edit["client"]) for edit in answer.json["undone"]]
    assert undone == [*zip(numbers, ("one", "two"), strict=True)]


def test_a_client_without_a_name_undoes_what_it_did_with_tools_of_the_toolset(
    live: Client, path: str
) -> None:
    operations = [{"op": "insert", "at": "end", "cell_type": "code", "source": "new"}]
    made = {"path": path, "operations": operations}
    assert send_json(live, "POST", "tools/agent/notebook_edit", made).status == 200
    edit(live, path, replace("beta", "# Others"), client="other")
    back = {"path": path, "action": "undo"}
    answer = send_json(live, "POST", "tools/agent/notebook_history", back)
    assert answer.status == 200, answer.body
    assert list_sources(live, path) == ["x = 1\nx", "# Others", "as is"]
    assert send_json(live, "POST", "tools/agent/notebook_history", back).status == 409
