"""The modes over HTTP: read them, change them, and their effect on edits.

That they follow renames and go with their notebooks is tested in `test_linked_folders.py`.
"""

from typing import Any

import pytest

from jupyter_nbedit.services.events.models import ModeEvent
from tests.handlers.error_checks import get_error
from tests.handlers.requests import replace
from tests.services.events.listener import open_listener
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client, Local

TEXT = samples.three_cells()
pytestmark = pytest.mark.usefixtures("server_mode_reset")
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


def test_the_mode_of_the_server_is_read_and_changed(live: Client, notebook: Notebook) -> None:
    assert live.get_json("mode") == EDITING
    planning = {**EDITING, "mode": "plan", "server": "plan"}
    assert live.set_mode("plan") == live.get_json("mode") == planning
    assert live.get_json("")["mode"] == "plan"
    get_error(notebook.patch(REPLACE), 403, "plan_mode")
    notebook.set_mode("edit")
    assert live.get_json(f"mode?path={notebook.path}")["mode"] == "edit"
    assert notebook.patch(REPLACE).status == 200
    assert live.set_mode(None) == EDITING


def test_the_mode_of_a_notebook_is_read_and_changed_and_links_do_not_bypass_it(
    live: Client, notebook: Notebook
) -> None:
    state = notebook.set_mode("plan")
    assert state == {**EDITING, "path": notebook.path, "mode": "plan", "own": "plan"}
    assert live.get_json(f"mode?path={notebook.path}") == state
    (notebook.root / "link.ipynb").symlink_to(notebook.path)
    for name in (notebook.path, "link.ipynb"):
        get_error(live.patch(name, REPLACE), 403, "plan_mode")
        tool = {"notebook_path": str(notebook.root / name), "cell_id": "beta", "new_source": "x"}
        assert live.send_json("POST", "tools/nexo/NotebookEdit", tool).status == 403
    assert notebook.patch(REPLACE, dry_run=True).status == 200
    assert notebook.text == TEXT
    assert notebook.set_mode(None)["own"] is None
    assert notebook.patch(REPLACE).status == 200


@pytest.mark.parametrize("name", ["missing.ipynb", "notes.md", "../up.ipynb", ".hidden.ipynb", ""])
def test_only_a_visible_notebook_has_a_mode(live: Client, name: str) -> None:
    for hidden in ("notes.md", ".hidden.ipynb"):
        (live.root / hidden).write_bytes(TEXT)
    get_error(live.request("GET", f"nbedit/mode?path={name}"), 404, "notebook_not_found")
    answer = live.send_json("PUT", "mode", {"mode": "plan", "path": name})
    get_error(answer, 404, "notebook_not_found")


@pytest.mark.usefixtures("local_file")
@pytest.mark.parametrize(
    "jp_server_config",
    [{"NbEditApp": {"mode": "review", "mode_is_fixed": True}}],
    indirect=True,
)
async def test_fixed_modes_are_reported_and_cannot_be_changed(local: Local) -> None:
    for body in ({"mode": "edit"}, {"mode": "edit", "path": "a.ipynb"}):
        get_error(await local.send_json("PUT", "mode", body), 403, "forbidden")
    state = (await local.request("GET", "nbedit", "mode")).json
    assert (state["mode"], state["fixed"]) == ("review", True)
    assert (await local.patch("a.ipynb", REPLACE)).status == 202


@pytest.mark.usefixtures("local_file")
async def test_every_page_gets_the_event_of_a_mode_change(local: Local, jp_ws_fetch: Any) -> None:
    async with open_listener(jp_ws_fetch) as listener:
        for body in ({"mode": "plan", "path": "a.ipynb"}, {"mode": "review"}, {"mode": "edit"}):
            assert (await local.send_json("PUT", "mode", body)).status == 200
        events = await listener.wait_for(3, ModeEvent.get_schema_id())
    changes = [(event["path"], event["mode"]) for event in events]
    assert changes == [("a.ipynb", "plan"), (None, "review"), (None, "edit")]
