"""The modes over HTTP: told, changed, and what edits then may do."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.demo import server
from jupyter_nbedit.events import MODE_SCHEMA_ID
from tests.events.test_events import listening
from tests.handlers.refused import details
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local

TEXT = samples.three_cells()
REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}


@pytest.fixture
def path(live: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"{request.node.originalname}.ipynb"
    (live.root / name).write_bytes(TEXT)
    yield name
    put(live, None)


def put(client: Client, mode: str | None, path: str | None = None) -> Answer:
    body = {"mode": mode} if path is None else {"mode": mode, "path": path}
    return client.request("PUT", "nbedit/mode", json.dumps(body).encode(), JSON)


def get(client: Client, path: str | None = None) -> Answer:
    return client.request("GET", "nbedit/mode" + ("" if path is None else f"?path={path}"))


def soon(client: Client, path: str, own: str | None) -> bool:
    """Wait for what the contents manager tells to be heard."""
    for _ in range(1200):
        if get(client, path).json["own"] == own:
            return True
        time.sleep(0.05)
    return False


def test_the_servers_mode_is_told_and_changed(live: Client, path: str) -> None:
    plain = {
        "path": None,
        "mode": "edit",
        "own": None,
        "server": "edit",
        "fixed": False,
        "unreadable": None,
    }
    assert get(live).json == plain
    planning = {**plain, "mode": "plan", "server": "plan"}
    assert put(live, "plan").json == get(live).json == planning
    assert live.request("GET", "nbedit").json["mode"] == "plan"
    details(live.patch(path, REPLACE), 403, "plan_mode")
    assert put(live, None).json == plain
    assert live.patch(path, REPLACE).status == 200


def test_a_notebooks_own_mode_is_told_and_changed(live: Client, path: str) -> None:
    told = put(live, "plan", path).json
    assert told == {
        "path": path,
        "mode": "plan",
        "own": "plan",
        "server": "edit",
        "fixed": False,
        "unreadable": None,
    }
    assert get(live, path).json == told
    refusal = live.patch(path, REPLACE)
    details(refusal, 403, "plan_mode")
    assert "paused" in refusal.json["message"]
    assert live.patch(path, REPLACE, dry_run=True).status == 200
    assert (live.root / path).read_bytes() == TEXT
    assert put(live, None, path).json["own"] is None
    assert live.patch(path, REPLACE).status == 200


def test_a_notebook_may_be_edited_though_the_server_plans(live: Client, path: str) -> None:
    put(live, "edit", path)
    put(live, "plan")
    assert get(live, path).json["mode"] == "edit"
    assert live.patch(path, REPLACE).status == 200


@pytest.mark.parametrize("given", ["missing.ipynb", "notes.md", "../up.ipynb", ".hidden.ipynb", ""])
def test_only_a_notebook_that_can_be_seen_has_a_mode(live: Client, given: str) -> None:
    for name in ("notes.md", ".hidden.ipynb"):
        (live.root / name).write_bytes(TEXT)
    for answer in (get(live, given), put(live, "plan", given)):
        details(answer, 404, "notebook_not_found")


@pytest.mark.parametrize(
    "body", [{}, {"mode": "off"}, {"mode": "edit", "paths": "a.ipynb"}, {"mode": 1}]
)
def test_what_is_no_mode_is_refused(live: Client, body: dict[str, Any]) -> None:
    answer = live.request("PUT", "nbedit/mode", json.dumps(body).encode(), JSON)
    details(answer, 400, "invalid_request")
    assert get(live).json["mode"] == "edit"


@pytest.mark.parametrize(
    "jp_server_config",
    [{"NbEditApp": {"mode": "review", "mode_is_fixed": True}}],
    indirect=True,
)
async def test_fixed_modes_are_told_as_such_and_not_changed(local: Local) -> None:
    (local.root / "a.ipynb").write_bytes(TEXT)
    for body in ({"mode": "edit"}, {"mode": "edit", "path": "a.ipynb"}):
        sent = json.dumps(body).encode()
        answer = await local.request("PUT", "nbedit", "mode", body=sent, headers=JSON)
        details(answer, 403, "forbidden")
    told = (await local.request("GET", "nbedit", "mode")).json
    assert (told["mode"], told["fixed"]) == ("review", True)
    assert (await local.patch("a.ipynb", REPLACE)).status == 202


def test_a_mode_follows_a_rename_and_goes_with_the_notebook(live: Client, path: str) -> None:
    put(live, "plan", path)
    renamed = json.dumps({"path": "renamed.ipynb"}).encode()
    assert live.request("PATCH", f"api/contents/{path}", renamed, JSON).status == 200
    assert soon(live, "renamed.ipynb", "plan")
    details(live.patch("renamed.ipynb", REPLACE), 403, "plan_mode")
    assert live.request("DELETE", "api/contents/renamed.ipynb").status == 204
    # The event is heard a little later, and believed only as long as nothing is there; but before
    # another one that comes after it.
    (live.root / "other.ipynb").write_bytes(TEXT)
    put(live, "plan", "other.ipynb")
    moved = json.dumps({"path": "moved.ipynb"}).encode()
    assert live.request("PATCH", "api/contents/other.ipynb", moved, JSON).status == 200
    assert soon(live, "moved.ipynb", "plan")
    (live.root / "renamed.ipynb").write_bytes(TEXT)
    assert get(live, "renamed.ipynb").json["own"] is None


def test_a_link_is_no_way_around_a_mode(live: Client, path: str) -> None:
    (live.root / "link.ipynb").symlink_to(path)
    put(live, "plan", path)
    details(live.patch("link.ipynb", REPLACE), 403, "plan_mode")
    body = json.dumps(
        {"notebook_path": str(live.root / "link.ipynb"), "cell_id": "beta", "new_source": "x"}
    ).encode()
    assert live.request("POST", "nbedit/tools/nexo/NotebookEdit", body, JSON).status == 403


def test_a_notebooks_mode_outlasts_a_restart_and_the_servers_does_not(tmp_path: Path) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "a.ipynb").write_bytes(TEXT)
    for number in range(2):
        with server.running("jupyter_server", tmp_path) as running:
            client = Client(running.port, running.token, running.root)
            if number == 0:
                put(client, "plan", "a.ipynb")
                put(client, "review")
            told = get(client, "a.ipynb").json
            assert (told["own"], told["server"]) == ("plan", ["review", "edit"][number])


async def test_every_page_is_told_of_a_change(local: Local, jp_ws_fetch: Any) -> None:
    (local.root / "a.ipynb").write_bytes(TEXT)
    async with listening(jp_ws_fetch) as listener:
        for body in ({"mode": "plan", "path": "a.ipynb"}, {"mode": "review"}):
            sent = json.dumps(body).encode()
            await local.request("PUT", "nbedit", "mode", body=sent, headers=JSON)
        await local.request("PUT", "nbedit", "mode", body=b'{"mode": "edit"}', headers=JSON)
        found: list[dict[str, Any]] = []
        while len(found) < 3:
            message = await asyncio.wait_for(listener._socket.read_message(), 20)
            event = json.loads(message)
            found += [event] if event["schema_id"] == MODE_SCHEMA_ID else []
    told = [(event["path"], event["mode"]) for event in found]
    assert told == [("a.ipynb", "plan"), (None, "review"), (None, "edit")]
