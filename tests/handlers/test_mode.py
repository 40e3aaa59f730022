"""The modes over HTTP: told, changed, and what edits then may do.

That they follow renames and go with their notebooks is tested in `test_linked_folders.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_nbedit.events.emitters import MODE_SCHEMA_ID
from tests.events.listener import listening
from tests.handlers.error_checks import details
from tests.handlers.requests import get_json, replace, send_json, send_json_locally, set_mode
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
    details(live.patch(path, REPLACE), 403, "plan_mode")
    set_mode(live, "edit", path)
    assert get_json(live, f"mode?path={path}")["mode"] == "edit"
    assert live.patch(path, REPLACE).status == 200
    assert set_mode(live, None) == EDITING


def test_the_mode_of_a_notebook_is_read_and_changed_and_links_do_not_bypass_it(
    live: Client, path: str
) -> None:
    told = set_mode(live, "plan", path)
    assert told == {**EDITING, "path": path, "mode": "plan", "own": "plan"}
    assert get_json(live, f"mode?path={path}") == told
    (live.root / "link.ipynb").symlink_to(path)
    for name in (path, "link.ipynb"):
        details(live.patch(name, REPLACE), 403, "plan_mode")
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
    details(live.request("GET", f"nbedit/mode?path={name}"), 404, "notebook_not_found")
    answer = send_json(live, "PUT", "mode", {"mode": "plan", "path": name})
    details(answer, 404, "notebook_not_found")


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize(
    "jp_server_config",
    [{"NbEditApp": {"mode": "review", "mode_is_fixed": True}}],
    indirect=True,
)
async def test_fixed_modes_are_reported_and_cannot_be_changed(local: Local) -> None:
    for body in ({"mode": "edit"}, {"mode": "edit", "path": "a.ipynb"}):
        details(await send_json_locally(local, "PUT", "mode", body), 403, "forbidden")
    told = (await local.request("GET", "nbedit", "mode")).json
    assert (told["mode"], told["fixed"]) == ("review", True)
    assert (await local.patch("a.ipynb", REPLACE)).status == 202


@pytest.mark.usefixtures("notebook")
async def test_every_page_gets_the_event_of_a_mode_change(local: Local, jp_ws_fetch: Any) -> None:
    async with listening(jp_ws_fetch) as listener:
        for body in ({"mode": "plan", "path": "a.ipynb"}, {"mode": "review"}, {"mode": "edit"}):
            assert (await send_json_locally(local, "PUT", "mode", body)).status == 200
        events = await listener.wait_for(3, MODE_SCHEMA_ID)
    told = [(event["path"], event["mode"]) for event in events]
    assert told == [("a.ipynb", "plan"), (None, "review"), (None, "edit")]
