"""Taking edits back over HTTP, and making them again: what is answered, and what is on disk."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.demo import server
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local

TEXT = samples.three_cells()
# As people have them: CRLF, tabs, escapes, keys in odd order and no newline at the end.
ODD = TEXT.replace(b"\n ", b"\r\n\t").replace(b"# Title", b"# T\\u00eftle \\/")[:-1]


@pytest.fixture
def path(live: Client, request: pytest.FixtureRequest) -> str:
    """Put the notebook of three cells to the live server, for one test."""
    name = f"{request.node.originalname}.ipynb"
    (live.root / name).write_bytes(ODD)
    return name


def undo(live: Client, path: str, verb: str = "undo", **body: Any) -> Answer:
    headers = {**JSON, **body.pop("headers", {})}
    target = f"nbedit/notebooks/{path}/{verb}"
    return live.request("POST", target, json.dumps(body).encode(), headers)


def edited(client: Client, path: str, *operations: dict[str, Any]) -> int:
    """Edit; give the edit's number."""
    answer = client.patch(path, *operations)
    assert answer.status == 200, answer.body
    number: int = answer.json["edit_id"]
    return number


def replacing(cell: str, source: str) -> dict[str, Any]:
    return {"op": "replace", "cell": cell, "source": source}


def sources(client: Client, path: str) -> list[str]:
    return [cell["source"] for cell in samples.cells_of((client.root / path).read_bytes())]


def refused(answer: Answer, status: int, reason: str) -> dict[str, Any]:
    assert (answer.status, answer.json["reason"]) == (status, reason), answer.body
    found: dict[str, Any] = answer.json["details"]
    return found


def test_the_newest_edit_is_taken_back_to_the_byte_and_made_again(live: Client, path: str) -> None:
    file = live.root / path
    number = edited(live, path, replacing("alpha", "x = 2"), {"op": "delete", "cell": "gamma"})
    after = file.read_bytes()
    answer = undo(live, path)
    assert answer.status == 200
    assert file.read_bytes() == ODD
    assert answer.json["hash"] == samples.hash_of(file) == answer.headers["ETag"].strip('"')
    assert answer.json["edit_id"] > number
    assert {done["op"] for done in answer.json["operations"]} == {"undo"}
    assert answer.json["total_cells"] == 3
    again = undo(live, path, "redo")
    assert again.status == 200
    assert file.read_bytes() == after
    assert {done["op"] for done in again.json["operations"]} == {"redo"}
    # And it is an edit like any other.
    assert undo(live, path).status == 200
    assert file.read_bytes() == ODD


def test_one_edit_after_the_other_is_taken_back_until_there_is_none(
    live: Client, path: str
) -> None:
    versions = []
    for n in range(4):
        versions.append((live.root / path).read_bytes())
        edited(live, path, {"op": "insert", "cell_type": "code", "source": f"{n}", "index": n})
    newest = (live.root / path).read_bytes()
    for version in reversed(versions):
        assert undo(live, path).status == 200
        assert (live.root / path).read_bytes() == version
    refused(undo(live, path), 409, "nothing_to_undo")
    for version in [*versions[1:], newest]:
        assert undo(live, path, "redo").status == 200
        assert (live.root / path).read_bytes() == version
    refused(undo(live, path, "redo"), 409, "nothing_to_undo")


def test_of_an_older_edit_only_its_cells_are_taken_back(live: Client, path: str) -> None:
    older = edited(live, path, replacing("alpha", "x = 2"))
    edited(live, path, replacing("beta", "# Other"))
    answer = undo(live, path, edit_id=older)
    assert answer.status == 200
    assert sources(live, path) == ["x = 1\nx", "# Other", "as is"]
    text = (live.root / path).read_bytes()
    # The cell is as it was, to the byte, its outputs among it.
    start = ODD.index(b"{", ODD.index(b'"cells"'))
    stop = ODD.index(b'"markdown"') - 20
    assert ODD[start:stop] in text


def test_what_somebody_has_changed_since_is_not_taken_back(live: Client, path: str) -> None:
    older = edited(live, path, replacing("alpha", "x = 2"), replacing("beta", "# Other"))
    edited(live, path, replacing("alpha", "x = 3"))
    before = (live.root / path).read_bytes()
    details = refused(undo(live, path, edit_id=older), 409, "undo_conflict")
    assert details["edit_id"] == older
    (cell,) = details["cells"]
    assert (cell["cell_id"], cell["why"], cell["source"]) == ("alpha", "changed", "x = 3")
    assert (live.root / path).read_bytes() == before


def test_a_save_by_a_tab_in_between_and_a_run_of_the_cell_do_not_stop_it(
    live: Client, path: str
) -> None:
    edited(live, path, replacing("alpha", "x = 2"))
    found = json.loads(live.request("GET", f"api/contents/{path}").body)
    cell = found["content"]["cells"][0]
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "2"}]
    cell["execution_count"] = 4
    body = json.dumps({"type": "notebook", "format": "json", "content": found["content"]}).encode()
    assert live.request("PUT", f"api/contents/{path}", body, JSON).status == 200
    answer = undo(live, path)
    assert answer.status == 200
    (first, *_) = samples.cells_of((live.root / path).read_bytes())
    assert (first["source"], first["execution_count"]) == ("x = 1\nx", 3)
    assert first["outputs"] == [samples.HTML_OUTPUT]


def test_outputs_that_the_edit_did_not_touch_stay_what_they_are(live: Client, path: str) -> None:
    kept = {"op": "replace", "cell": "alpha", "source": "x = 2", "outputs": "keep"}
    number = edited(live, path, kept)
    edited(live, path, {"op": "clear_outputs", "cell": "alpha"})
    assert undo(live, path, edit_id=number).status == 200
    (first, *_) = samples.cells_of((live.root / path).read_bytes())
    assert (first["source"], first["outputs"]) == ("x = 1\nx", [])


def test_edits_that_are_not_there_are_not_found(live: Client, path: str) -> None:
    other = f"other-{path}"
    (live.root / other).write_bytes(TEXT)
    number = edited(live, other, replacing("alpha", "x = 2"))
    refused(undo(live, path, edit_id=number), 404, "edit_not_found")
    refused(undo(live, path, edit_id=2**62), 404, "edit_not_found")
    refused(undo(live, path), 409, "nothing_to_undo")
    refused(undo(live, "nowhere.ipynb"), 404, "notebook_not_found")
    refused(undo(live, "nowhere.ipynb", edit_id=number), 404, "notebook_not_found")


def test_an_edit_is_taken_back_once(live: Client, path: str) -> None:
    number = edited(live, path, replacing("alpha", "x = 2"))
    refused(undo(live, path, "redo", edit_id=number), 409, "nothing_to_undo")
    by = undo(live, path, edit_id=number).json["edit_id"]
    details = refused(undo(live, path, edit_id=number), 409, "nothing_to_undo")
    assert details == {"edit_id": number, "undone_by": by}
    # Making it again may be said of the edit, or of what took it back.
    assert undo(live, path, "redo", edit_id=number).status == 200
    refused(undo(live, path, "redo", edit_id=by), 409, "nothing_to_undo")
    assert sources(live, path)[0] == "x = 2"


def test_what_made_the_notebook_is_not_taken_back(live: Client, path: str) -> None:
    name = f"new-{path}"
    body = json.dumps({"cells": [{"cell_type": "code", "source": "1"}]}).encode()
    made = live.request("PUT", f"nbedit/notebooks/{name}", body, JSON)
    assert made.status == 201
    refused(undo(live, name), 409, "nothing_to_undo")
    refused(undo(live, name, edit_id=made.json["edit_id"]), 409, "nothing_to_undo")
    assert (live.root / name).exists()


def test_a_dry_run_shows_what_taking_back_would_do(live: Client, path: str) -> None:
    edited(live, path, replacing("alpha", "x = 2"))
    before = (live.root / path).read_bytes()
    answer = undo(live, path, dry_run=True)
    assert answer.status == 200
    assert answer.json["dry_run"]
    assert "-x = 2" in answer.json["diff"]
    assert (live.root / path).read_bytes() == before
    undo(live, path)
    assert samples.hash_of(live.root / path) == answer.json["hash"]


def test_a_version_a_key_and_a_message_mean_the_same_as_with_an_edit(
    live: Client, path: str
) -> None:
    edited(live, path, replacing("alpha", "x = 2"))
    refused(undo(live, path, hash="0" * 64), 412, "hash_mismatch")
    refused(undo(live, path, headers={"If-Match": f'"{"0" * 64}"'}), 412, "hash_mismatch")
    said = {"message": "a mistake", "client": "ada's script"}
    first = undo(live, path, **said, headers={"Idempotency-Key": path})
    assert first.status == 200
    assert undo(live, path, **said, headers={"Idempotency-Key": path}).json == first.json
    assert (live.root / path).read_bytes() == ODD


def test_of_many_who_take_back_at_once_each_takes_back_another_edit(
    live: Client, path: str
) -> None:
    for n in range(6):
        edited(live, path, replacing("alpha", f"x = {n + 10}"))
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: undo(live, path), range(6)))
    assert [answer.status for answer in answers] == [200] * 6
    assert (live.root / path).read_bytes() == ODD
    refused(undo(live, path), 409, "nothing_to_undo")


@pytest.mark.parametrize("jp_server_config", [{"NbEditApp": {"mode": "plan"}}], indirect=True)
async def test_nothing_is_taken_back_in_plan_mode(local: Local) -> None:
    (local.root / "a.ipynb").write_bytes(TEXT)
    parts = ("nbedit", "notebooks", "a.ipynb", "undo")
    answer = await local.request("POST", *parts, body=b"{}", headers=JSON)
    refused(answer, 403, "plan_mode")


async def test_taking_back_is_told_of_like_any_edit(local: Local, jp_serverapp: Any) -> None:
    (local.root / "a.ipynb").write_bytes(TEXT)
    heard: list[dict[str, Any]] = []

    async def hear(logger: Any, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG001 -- as listeners are called
        heard.append(data)

    schema = "https://schema.jupyter.org/jupyter_nbedit/edit/v1"
    jp_serverapp.event_logger.add_listener(schema_id=schema, listener=hear)
    await local.patch("a.ipynb", replacing("alpha", "x = 2"), client="one")
    parts = ("nbedit", "notebooks", "a.ipynb", "undo")
    body = json.dumps({"client": "two"}).encode()
    answer = await local.request("POST", *parts, body=body, headers=JSON)
    await asyncio.sleep(0)
    edit, back = heard
    assert back["operations"] == [{"op": "undo", "cell_id": "alpha", "index": 0}]
    assert (back["client"], back["edit_id"]) == ("two", answer.json["edit_id"])
    assert (back["hash_before"], back["hash"]) == (edit["hash"], edit["hash_before"])


async def test_a_notebook_keeps_its_trust_when_an_edit_is_taken_back(
    local: Local, jp_serverapp: Any
) -> None:
    (local.root / "a.ipynb").write_bytes(TEXT)
    await jp_serverapp.contents_manager.trust_notebook("a.ipynb")
    first = (await local.patch("a.ipynb", replacing("alpha", "x = 2"))).json
    await local.patch("a.ipynb", replacing("beta", "# Other"))
    assert (await local.read("a.ipynb")).json["trusted"]
    parts = ("nbedit", "notebooks", "a.ipynb", "undo")
    body = json.dumps({"edit_id": first["edit_id"]}).encode()
    answer = await local.request("POST", *parts, body=body, headers=JSON)
    assert answer.json["warnings"] == []
    # The output that came back was in a notebook that was trusted.
    shown = (await local.read("a.ipynb", outputs="full")).json
    assert shown["trusted"]
    assert shown["cells"][0]["outputs"] != []


async def test_outputs_that_nobody_trusted_come_back_untrusted(
    local: Local, jp_serverapp: Any
) -> None:
    (local.root / "a.ipynb").write_bytes(TEXT)
    edit = await local.patch("a.ipynb", {"op": "clear_outputs", "all": True})
    # Nothing is left that could do harm, and the user trusts what is left.
    await jp_serverapp.contents_manager.trust_notebook("a.ipynb")
    await local.patch("a.ipynb", replacing("beta", "# Other"))
    assert (await local.read("a.ipynb")).json["trusted"]
    body = json.dumps({"edit_id": edit.json["edit_id"]}).encode()
    parts = ("nbedit", "notebooks", "a.ipynb", "undo")
    answer = await local.request("POST", *parts, body=body, headers=JSON)
    assert answer.status == 200
    assert not (await local.read("a.ipynb")).json["trusted"]
    assert not (await local.contents("a.ipynb"))["content"]["cells"][0]["metadata"]["trusted"]


def test_edits_are_taken_back_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "a.ipynb").write_bytes(ODD)
    with server.running("jupyter_server", tmp_path) as running:
        client = Client(running.port, running.token, running.root)
        first = edited(client, "a.ipynb", replacing("alpha", "x = 2"))
        edited(client, "a.ipynb", replacing("beta", "# Other"))
    with server.running("jupyter_server", tmp_path) as running:
        client = Client(running.port, running.token, running.root)
        newest = undo(client, "a.ipynb")
        assert newest.status == 200
        assert newest.json["edit_id"] > first
        assert undo(client, "a.ipynb").status == 200
        assert (running.root / "a.ipynb").read_bytes() == ODD


def test_an_edit_whose_effect_is_gone_is_not_taken_back_again_and_again(
    live: Client, path: str
) -> None:
    first = edited(live, path, replacing("alpha", "x = 2"))
    edited(live, path, {"op": "move", "cell": "beta", "at": "start"})
    file = live.root / path
    content = json.loads(file.read_bytes())
    content["cells"][:2] = reversed(content["cells"][:2])
    file.write_text(json.dumps(content))

    assert undo(live, path).status == 200
    assert sources(live, path)[0] == samples.cells_of(TEXT)[0]["source"]
    assert details_of_first(live, path, first) is not None
    refused(undo(live, path), 409, "nothing_to_undo")


def details_of_first(client: Client, path: str, number: int) -> Any:
    answer = client.request("GET", f"nbedit/notebooks/{path}/history/{number}")
    return answer.json["undone_by"]


@pytest.mark.parametrize(("mode", "status"), [("review", 202), ("plan", 403)])
async def test_what_was_taken_back_comes_again_only_as_edits_may(
    local: Local, mode: str, status: int
) -> None:
    (local.root / "a.ipynb").write_bytes(TEXT)
    parts = ("nbedit", "notebooks", "a.ipynb")
    await local.patch("a.ipynb", replacing("beta", "# Kept"))
    edit = (await local.patch("a.ipynb", replacing("alpha", "evil"))).json["edit_id"]
    back = (await local.request("POST", *parts, "undo", body=b"{}", headers=JSON)).json["edit_id"]
    before = (local.root / "a.ipynb").read_bytes()
    said = json.dumps({"mode": mode, "path": "a.ipynb"}).encode()
    assert (await local.request("PUT", "nbedit", "mode", body=said, headers=JSON)).status == 200
    for verb, body, expected in (
        ("redo", {}, status),
        ("redo", {"edit_id": edit}, status),
        ("redo", {"edit_id": back}, status),
        ("undo", {"edit_id": back}, 409),
    ):
        sent = json.dumps(body).encode()
        answer = await local.request("POST", *parts, verb, body=sent, headers=JSON)
        assert answer.status == expected, answer.body
        assert (local.root / "a.ipynb").read_bytes() == before
    # What a person takes back brings nothing new.
    answer = await local.request("POST", *parts, "undo", body=b"{}", headers=JSON)
    assert answer.status == 200
    assert (local.root / "a.ipynb").read_bytes() == TEXT
