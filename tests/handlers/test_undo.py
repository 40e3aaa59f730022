"""Undo and redo over HTTP: the reply and the file."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jupyter_nbedit.notebook.operations import Replace
from jupyter_nbedit.services.requests import WriteRequest
from tests.handlers.error_checks import get_error
from tests.handlers.requests import ODD, replace
from tests.services.events.listener import open_listener
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Client, Local
from tests.support.services import ServiceBuilder

TEXT = ODD


def test_undo_of_the_last_edit_restores_all_bytes_and_redo_repeats(notebook: Notebook) -> None:
    file = notebook.file
    number = notebook.edit(replace("alpha", "x = 2"), {"op": "delete", "cell": "gamma"})
    after = file.read_bytes()
    answer = notebook.undo()
    assert answer.status == 200
    assert file.read_bytes() == ODD
    assert answer.json["hash"] == samples.hash_file(file) == answer.headers["ETag"].strip('"')
    assert answer.json["edit_id"] > number
    assert {result["op"] for result in answer.json["operations"]} == {"undo"}
    assert answer.json["total_cells"] == 3
    again = notebook.redo()
    assert again.status == 200
    assert file.read_bytes() == after
    assert {result["op"] for result in again.json["operations"]} == {"redo"}
    # And it is an edit like any other.
    assert notebook.undo().status == 200
    assert file.read_bytes() == ODD


def test_repeated_undo_reverts_edit_after_edit_to_the_first(notebook: Notebook) -> None:
    versions = []
    for n in range(4):
        versions.append(notebook.text)
        notebook.edit({"op": "insert", "cell_type": "code", "source": f"{n}", "index": n})
    newest = notebook.text
    for version in reversed(versions):
        assert notebook.undo().status == 200
        assert notebook.text == version
    get_error(notebook.undo(), 409, "nothing_to_undo")
    for version in [*versions[1:], newest]:
        assert notebook.redo().status == 200
        assert notebook.text == version
    get_error(notebook.redo(), 409, "nothing_to_undo")


def test_undo_of_an_older_edit_reverts_only_its_cells(notebook: Notebook) -> None:
    older = notebook.edit(replace("alpha", "x = 2"))
    notebook.edit(replace("beta", "# Other"))
    answer = notebook.undo(edit_id=older)
    assert answer.status == 200
    assert notebook.list_sources() == ["x = 1\nx", "# Other", "as is"]
    text = notebook.text
    # The cell is as it was, to the byte, its outputs among it.
    start = ODD.index(b"{", ODD.index(b'"cells"'))
    stop = ODD.index(b'"markdown"') - 20
    assert ODD[start:stop] in text


def test_undo_is_refused_for_cells_changed_since(notebook: Notebook) -> None:
    older = notebook.edit(replace("alpha", "x = 2"), replace("beta", "# Other"))
    notebook.edit(replace("alpha", "x = 3"))
    before = notebook.text
    found = get_error(notebook.undo(edit_id=older), 409, "undo_conflict")
    assert found["edit_id"] == older
    (cell,) = found["cells"]
    assert (cell["cell_id"], cell["why"], cell["source"]) == ("alpha", "changed", "x = 3")
    assert notebook.text == before


def test_a_save_by_a_tab_and_a_run_of_the_cell_do_not_prevent_undo(
    live: Client, notebook: Notebook
) -> None:
    notebook.edit(replace("alpha", "x = 2"))
    found = json.loads(live.request("GET", f"api/contents/{notebook.path}").body)
    cell = found["content"]["cells"][0]
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "2"}]
    cell["execution_count"] = 4
    body = json.dumps({"type": "notebook", "format": "json", "content": found["content"]}).encode()
    assert live.request("PUT", f"api/contents/{notebook.path}", body, JSON).status == 200
    answer = notebook.undo()
    assert answer.status == 200
    (first, *_) = samples.load_cells(notebook.text)
    assert (first["source"], first["execution_count"]) == ("x = 1\nx", 3)
    assert first["outputs"] == [samples.HTML_OUTPUT]


def test_an_edit_is_undone_once(notebook: Notebook) -> None:
    number = notebook.edit(replace("alpha", "x = 2"))
    get_error(notebook.redo(edit_id=number), 409, "nothing_to_undo")
    by = notebook.undo(edit_id=number).json["edit_id"]
    found = get_error(notebook.undo(edit_id=number), 409, "nothing_to_undo")
    assert found == {"edit_id": number, "undone_by": by}
    # SQLite has no such number.
    get_error(notebook.undo(edit_id=2**63), 400, "invalid_request")
    # Redo accepts the number of the edit, or of its undo.
    assert notebook.redo(edit_id=number).status == 200
    get_error(notebook.redo(edit_id=by), 409, "nothing_to_undo")
    assert notebook.list_sources()[0] == "x = 2"


def test_a_dry_run_shows_the_result_of_undo(notebook: Notebook) -> None:
    notebook.edit(replace("alpha", "x = 2"))
    before = notebook.text
    answer = notebook.undo(dry_run=True)
    assert answer.status == 200
    assert answer.json["dry_run"]
    assert "-x = 2" in answer.json["diff"]
    assert notebook.text == before
    notebook.undo()
    assert samples.hash_file(notebook.file) == answer.json["hash"]


def test_version_key_and_message_mean_the_same_as_for_an_edit(notebook: Notebook) -> None:
    author = {"message": "a mistake", "client": "ada's script"}
    notebook.edit(replace("alpha", "x = 2"), **author)
    get_error(notebook.undo(hash="0" * 64), 412, "hash_mismatch")
    get_error(notebook.undo(headers={"If-Match": f'"{"0" * 64}"'}), 412, "hash_mismatch")
    first = notebook.undo(**author, headers={"Idempotency-Key": notebook.path})
    assert first.status == 200
    assert notebook.undo(**author, headers={"Idempotency-Key": notebook.path}).json == first.json
    assert notebook.text == ODD


def test_concurrent_undos_each_revert_another_edit(notebook: Notebook) -> None:
    for n in range(6):
        notebook.edit(replace("alpha", f"x = {n + 10}"))
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: notebook.undo(), range(6)))
    assert [answer.status for answer in answers] == [200] * 6
    assert notebook.text == ODD
    get_error(notebook.undo(), 409, "nothing_to_undo")


async def test_an_edit_is_undone_after_a_restart(services: ServiceBuilder) -> None:
    services.storage.notebooks["a.ipynb"] = ODD
    before = services.build_editing()
    await before.edit("a.ipynb", Replace(cell="alpha", source="x = 2"))
    await before.close()
    after = services.build_editing()
    await after.editor.undo(WriteRequest("a.ipynb"))
    assert services.storage.notebooks["a.ipynb"] == ODD


@pytest.mark.usefixtures("local_file")
async def test_undo_emits_the_events_of_an_edit(local: Local, jp_ws_fetch: Any) -> None:
    async with open_listener(jp_ws_fetch) as listener:
        await local.patch("a.ipynb", replace("alpha", "x = 2"), client="one")
        body = {"client": "two", "whose": "all"}
        answer = await local.send_json("POST", "notebooks/a.ipynb/undo", body)
        edit, back = await listener.wait_for(2)
    assert back["operations"] == [{"op": "undo", "cell_id": "alpha", "index": 0}]
    assert (back["client"], back["edit_id"]) == ("two", answer.json["edit_id"])
    assert (back["hash_before"], back["hash"]) == (edit["hash"], edit["hash_before"])


def sign_notebook(notebook: Notebook) -> None:
    assert notebook.server.request("POST", f"api/contents/{notebook.path}/trust", b"").status == 201


def test_a_notebook_stays_trusted_after_undo(notebook: Notebook) -> None:
    # Signatures depend on the content, and other tests have the same one.
    notebook.file.write_bytes(TEXT.replace(b"as is", b"signed here"))
    sign_notebook(notebook)
    first = notebook.edit(replace("alpha", "x = 2"))
    notebook.edit(replace("beta", "# Other"))
    assert notebook.read().json["trusted"]
    assert notebook.undo(edit_id=first).json["warnings"] == []
    # The output that came back was in a notebook that was trusted.
    reply = notebook.read(outputs="full").json
    assert reply["trusted"]
    assert reply["cells"][0]["outputs"] != []


@pytest.mark.threat("S21")
def test_untrusted_outputs_are_restored_untrusted(live: Client, notebook: Notebook) -> None:
    # A signature is one of the content, wherever it is.
    notebook.file.write_bytes(TEXT.replace(b"as is", b"signed by nobody"))
    number = notebook.edit({"op": "clear_outputs", "all": True})
    # Nothing is left that could do harm, and the user trusts what is left.
    sign_notebook(notebook)
    notebook.edit(replace("beta", "# Other"))
    assert notebook.read().json["trusted"]
    assert notebook.undo(edit_id=number).status == 200
    assert not notebook.read().json["trusted"]
    content = live.request("GET", f"api/contents/{notebook.path}").json["content"]
    assert not content["cells"][0]["metadata"]["trusted"]


def make_edits(notebook: Notebook) -> tuple[int, int]:
    """Return the numbers of an edit by one agent and of a later one by another."""
    first = notebook.edit(replace("alpha", "x = 2"), client="one", message="why")
    return first, notebook.edit(replace("beta", "# Two"), client="two")


def test_undo_without_a_number_takes_back_the_newest_edit_of_the_same_client(
    notebook: Notebook,
) -> None:
    first, second = make_edits(notebook)
    answer = notebook.undo(client="one")
    assert answer.status == 200
    (undone,) = answer.json["undone"]
    author = {"user": undone["user"], "client": "one", "message": "why"}
    assert undone == {"edit_id": first, "kind": "edit", **author}
    assert notebook.list_sources() == ["x = 1\nx", "# Two", "as is"]
    found = get_error(notebook.undo(client="one"), 409, "nothing_to_undo")
    assert found["newest"]["edit_id"] == second
    assert found["newest"]["client"] == "two"
    # The same with redo: each client redoes what it has undone.
    found = get_error(notebook.redo(client="two"), 409, "nothing_to_undo")
    assert found["newest"]["edit_id"] == answer.json["edit_id"]
    redone = notebook.redo(client="one")
    assert [edit["edit_id"] for edit in redone.json["undone"]] == [first]
    # By number, everybody can undo everything.
    by_number = notebook.undo(client="one", edit_id=second)
    assert [edit["client"] for edit in by_number.json["undone"]] == ["two"]


def test_undo_of_all_takes_back_the_newest_edit_of_anybody(notebook: Notebook) -> None:
    first, second = make_edits(notebook)
    for number in (second, first):
        answer = notebook.undo(client="three", whose="all")
        assert [edit["edit_id"] for edit in answer.json["undone"]] == [number]
    assert notebook.text == ODD
    assert "newest" not in get_error(notebook.undo(whose="all"), 409, "nothing_to_undo")
    for body in ({"edit_id": first}, {"cells": ["1.0"]}):
        get_error(notebook.undo(whose="all", **body), 400, "invalid_request")
    get_error(notebook.redo(whose="all", edit_id=first), 400, "invalid_request")


def test_two_sessions_of_a_client_undo_their_own_edits(notebook: Notebook) -> None:
    names = ("one", "two")
    headers = {name: {"X-NbEdit-Session": name} for name in names}
    numbers = {
        name: notebook.edit(replace(cell, name), client="x", headers=headers[name])
        for name, cell in zip(names, ("alpha", "beta"), strict=True)
    }
    answer = notebook.undo(client="x", headers=headers["one"])
    assert [edit["edit_id"] for edit in answer.json["undone"]] == [numbers["one"]]
    get_error(notebook.undo(client="x", headers=headers["one"]), 409, "nothing_to_undo")
    # A request without a session is of any session.
    answer = notebook.undo(client="x")
    assert [edit["edit_id"] for edit in answer.json["undone"]] == [numbers["two"]]


def test_the_text_of_an_undo_says_whose_edit_it_was(notebook: Notebook) -> None:
    first, _ = make_edits(notebook)
    answer = notebook.undo(client="one", headers={"Accept": "text/plain"})
    assert f"\nof edit {first} by one: why\n" in answer.body.decode()


def test_an_undo_of_cells_says_whose_edits_it_takes_back(notebook: Notebook) -> None:
    numbers = make_edits(notebook)
    unseen = notebook.list_unseen()
    answer = notebook.undo(cells=[cell["key"] for cell in unseen])
    undone = [(edit["edit_id"], edit["client"]) for edit in answer.json["undone"]]
    assert undone == [*zip(numbers, ("one", "two"), strict=True)]


def test_a_client_without_a_name_undoes_what_it_did_with_tools_of_the_toolset(
    live: Client, notebook: Notebook
) -> None:
    operations = [{"op": "insert", "at": "end", "cell_type": "code", "source": "new"}]
    made = {"path": notebook.path, "operations": operations}
    assert live.send_json("POST", "tools/agent/notebook_edit", made).status == 200
    notebook.edit(replace("beta", "# Others"), client="other")
    back = {"path": notebook.path, "action": "undo"}
    answer = live.send_json("POST", "tools/agent/notebook_history", back)
    assert answer.status == 200, answer.body
    assert notebook.list_sources() == ["x = 1\nx", "# Others", "as is"]
    assert live.send_json("POST", "tools/agent/notebook_history", back).status == 409
