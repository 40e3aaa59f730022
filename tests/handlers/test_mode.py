"""The modes over HTTP: read them, change them, and their effect on edits.

That they follow renames and go with their notebooks is tested in `test_linked_folders.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_nbedit.services.events.models import ModeEvent
from tests.handlers.error_checks import get_error
from tests.handlers.requests import get_json, replace, send_json, send_json_locally, set_mode
from tests.services.events.listener import open_listener
from tests.support import samples
from tests.support.http import Client, Local

TEXT = samples.three_cells()
REPLACE = replace("beta", "# Changed")
EDITING = {
    "path": None,
    "mode": "edit",
    "own": None,
    "server": "edit",
    "fixed": False,
    "unreadable": None,
    "writable": True,
}


@pytest.fixture(autouse=True)
def _reset(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "live" in request.fixturenames:
        set_mode(request.getfixturevalue("live"), None)


def test_the_mode_of_the_server_is_read_and_changed(live: Client, path: str) -> None:
    assert get_json(live, "mode") == EDITING
    planning = {**EDITING, "mode": "plan", "server": "plan"}
    assert set_mode(live, "plan") == get_json(live, "mode") == planning
    assert get_json(live, "")["mode"] == "plan"
    get_error(live.patch(path, REPLACE), 403, "plan_mode")
    set_mode(live, "edit", path)
    assert get_json(live, f"mode?path={path}")["mode"] == "edit"
    assert live.patch(path, REPLACE).status == 200
    assert set_mode(live, None) == EDITING


def test_the_mode_of_a_notebook_is_read_and_changed_and_links_do_not_bypass_it(
    live: Client, path: str
) -> None:
    state = set_mode(live, "plan", path)
    assert state == {**EDITING, "path": path, "mode": "plan", "own": "plan"}
    assert get_json(live, f"mode?path={path}") == state
    (live.root / "link.ipynb").symlink_to(path)
    for name in (path, "link.ipynb"):
        get_error(live.patch(name, REPLACE), 403, "plan_mode")
        tool = {"notebook_path": str(live.root / name), "cell_id": "beta", "new_source": "x"}
        assert send_json(live, "POST", "tools/nexo/NotebookEdit", tool).status == 403
    assert live.patch(path, REPLACE, dry_run=True).status == 200
    assert (live.root / path).read_bytes() == TEXT
    assert set_mode(live, None, path)["own"] is None
    assert live.patch(path, REPLACE).status == 200


@pytest.mark.parametrize("name", ["missing.ipynb", "notes.md", "../up.ipynb", ".hidden.ipynb", ""])
def test_only_a_visible_notebook_has_a_mode(live: Client, name: str) -> None:
    for hidden in ("notes.md", ".hidden.ipynb"):
        (live.root / hidden).write_bytes(TEXT)
    get_error(live.request("GET", f"nbedit/mode?path={name}"), 404, "notebook_not_found")
    answer = send_json(live, "PUT", "mode", {"mode": "plan", "path": name})
    get_error(answer, 404, "notebook_not_found")


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize(
    "jp_server_config",
    [{"NbEditApp": {"mode": "review", "mode_is_fixed": True}}],
    indirect=True,
)
async def test_fixed_modes_are_reported_and_cannot_be_changed(local: Local) -> None:
    for body in ({"mode": "edit"}, {"mode": "edit", "path": "a.ipynb"}):
        get_error(await send_json_locally(local, "PUT", "mode", body), 403, "forbidden")
    state = (await local.request("GET", "nbedit", "mode")).json
    assert (state["mode"], state["fixed"]) == ("review", True)
    assert (await local.patch("a.ipynb", REPLACE)).status == 202


@pytest.mark.usefixtures("notebook")
async def test_every_page_gets_the_event_of_a_mode_change(local: Local, jp_ws_fetch: Any) -> None:
    async with open_listener(jp_ws_fetch) as listener:
        for body in ({"mode": "plan", "path": "a.ipynb"}, {"mode": "review"}, {"mode": "edit"}):
            assert (await send_json_locally(local, "PUT", "mode", body)).status == 200
        events = await listener.wait_for(3, ModeEvent.get_schema_id())
    changes = [(event["path"], event["mode"]) for event in events]
    assert changes == [("a.ipynb", "plan"), (None, "review"), (None, "edit")]
