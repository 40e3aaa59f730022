"""A server that lets nobody edit what they have not read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.handlers.error_checks import details, untouched, with_operation
from tests.handlers.requests import send_json_locally
from tests.support import samples
from tests.support.http import JSON, Local

EDIT = with_operation(op="replace", cell="alpha", source="x = 2")
STRICT = [{"NbEditApp": {"read_before_edit": True}}]

pytestmark = [
    pytest.mark.parametrize("jp_server_config", STRICT, indirect=True),
    pytest.mark.usefixtures("notebook"),
]


def named(session: str | None) -> dict[str, str]:
    return {} if session is None else {"X-NbEdit-Session": session}


async def read(local: Local, session: str | None = None) -> Any:
    answer = await local.request("GET", "nbedit", "notebooks", "a.ipynb", headers=named(session))
    assert answer.status == 200
    return answer


async def edit(local: Local, session: str | None = None, body: bytes = EDIT) -> Any:
    headers = {**JSON, **named(session)}
    return await local.request(
        "PATCH", "nbedit", "notebooks", "a.ipynb", body=body, headers=headers
    )


@pytest.mark.parametrize("session", [None, "one"])
async def test_a_session_that_has_read_the_notebook_may_edit_repeatedly(
    local: Local, session: str | None
) -> None:
    with untouched(local.root):
        details(await edit(local, session), 428, "read_required")
    await read(local, session)
    assert (await edit(local, session)).status == 200
    again = with_operation(op="replace", cell="alpha", source="x = 3")
    assert (await edit(local, session, again)).status == 200


async def test_a_read_by_another_session_does_not_count(local: Local) -> None:
    await read(local, "one")
    for session in ("two", None):
        details(await edit(local, session), 428, "read_required")


async def test_a_session_that_has_read_an_older_version_must_read_again(local: Local) -> None:
    await read(local, "one")
    changed = samples.notebook(samples.code("x = 1", "alpha"))
    (local.root / "a.ipynb").write_bytes(changed)
    with untouched(local.root):
        found = details(await edit(local, "one"), 412, "hash_mismatch")
    assert set(found) == {"expected", "hash"}
    await read(local, "one")
    assert (await edit(local, "one")).status == 200


async def test_a_304_reply_counts_as_a_read(local: Local) -> None:
    tag = (await read(local, "one")).headers["ETag"]
    headers = {**named("two"), "If-None-Match": tag}
    answer = await local.request("GET", "nbedit", "notebooks", "a.ipynb", headers=headers)
    assert answer.status == 304
    assert (await edit(local, "two")).status == 200


async def test_a_dry_run_requires_no_read(local: Local) -> None:
    body = EDIT.replace(b"{", b'{"dry_run": true, ', 1)
    with untouched(local.root):
        assert (await edit(local, "one", body)).status == 200
    details(await edit(local, "one"), 428, "read_required")


async def test_creating_a_notebook_counts_as_a_read(local: Local) -> None:
    made = await send_json_locally(local, "PUT", "notebooks/new.ipynb", {}, named("one"))
    assert made.status == 201
    insert = {"operations": [{"op": "insert", "cell_type": "raw", "source": "", "at": "end"}]}
    answer = await send_json_locally(local, "PATCH", "notebooks/new.ipynb", insert, named("one"))
    assert answer.status == 200


async def test_a_failed_read_does_not_count(local: Local) -> None:
    for query in ({"cell": "nobody"}, {"section": "None"}, {"since": "0" * 64}):
        answer = await local.request(
            "GET", "nbedit", "notebooks", "a.ipynb", params=query, headers=named("one")
        )
        assert answer.status in {404, 410}
    read = {"file_path": str(local.root / "a.ipynb"), "offset": 50}
    assert (await tool(local, "claude_code/Read", read)).status == 400
    details(await edit(local, "one"), 428, "read_required")


async def test_a_read_by_the_sections_tool_counts(local: Local) -> None:
    (local.root / "a.md").write_text("# A\n\none\n")
    for name in ("a.ipynb", "a.md"):
        answer = await tool(local, "sections/notebook_edit", {"file": name, "action": "read"})
        assert answer.status == 200
    assert (await edit(local, "one")).status == 200
    change = {"file_path": str(local.root / "a.md"), "old_string": "one", "new_string": "two"}
    assert (await tool(local, "claude_code/Edit", change)).status == 200


async def tool(local: Local, name: str, given: dict[str, Any], session: str = "one") -> Any:
    return await send_json_locally(local, "POST", f"tools/{name}", given, named(session))


async def test_a_read_through_a_link_counts_for_the_notebook(
    local: Local,
) -> None:
    (local.root / "link.ipynb").symlink_to("a.ipynb")
    (local.root / "door").symlink_to(".")
    for path in ("link.ipynb", "door/a.ipynb"):
        session = {"X-NbEdit-Session": path}
        answer = await local.request("GET", "nbedit", "notebooks", path, headers=session)
        assert answer.status == 200
        # The tool is given an absolute path, and follows the links of it.
        given = {
            "notebook_path": str(local.root / path),
            "cell_id": "alpha",
            "new_source": "x = 2",
        }
        answer = await tool(local, "claude_code/NotebookEdit", given, path)
        assert answer.status == 200, answer.body
        assert (await edit(local, path)).status == 200
