"""The traits of the extension are read when the server starts."""

import json
from typing import Any

from tests.support import samples
from tests.support.http import JSON, Answer, Local

CHANGES = {
    "mode": "plan",
    "mode_is_fixed": True,
    "max_request_bytes": 1024,
    "read_before_edit": True,
    "links_outside_root": False,
    "section_files": ["other"],
    "owners": ["nobody"],
    "max_proposals": 1,
}


async def call(local: Local, tool: str, **arguments: Any) -> Answer:
    body = json.dumps(arguments).encode()
    return await local.request("POST", "nbedit", "tools", *tool.split("/"), body=body, headers=JSON)


async def test_traits_changed_at_run_time_change_no_route_and_no_tool(
    local: Local, jp_serverapp: Any
) -> None:
    (app,) = jp_serverapp.extension_manager.extension_apps["jupyter_nbedit"]
    (local.root / "runtime").mkdir()
    (local.root / "runtime" / "reminders.md").write_text("# A\n")
    (local.root / "outside.ipynb").symlink_to(local.root.parent / "outside.ipynb")
    for place in (local.root / "a.ipynb", local.root.parent / "outside.ipynb"):
        place.write_bytes(samples.three_cells())
    before = (await local.request("GET", "nbedit")).json

    for name, value in CHANGES.items():
        if isinstance(getattr(app, name), list):
            getattr(app, name)[:] = value
        setattr(app, name, value)

    assert (await local.request("GET", "nbedit")).json == before
    replace = {"op": "replace", "cell": "alpha", "source": "x" * 2000}
    for path in ("a.ipynb", "outside.ipynb"):
        assert (await local.patch(path, replace)).status == 200
    arguments = {"notebook_path": "a.ipynb", "cell_id": "beta", "new_source": "y"}
    assert (await call(local, "mycode/NotebookEdit", **arguments)).status == 200
    read = {"file": "reminders", "action": "read"}
    assert (await call(local, "sections/notebook_edit", **read)).status == 200
    body = json.dumps({"mode": "review"}).encode()
    assert (await local.request("PUT", "nbedit", "mode", body=body, headers=JSON)).status == 200
    for source in ("1", "2"):
        assert (await local.patch("a.ipynb", {**replace, "source": source})).status == 202
