"""A server that requires a read before each edit."""

from typing import Any

import pytest

from tests.handlers.error_checks import build_body, get_error, no_changes
from tests.support import samples
from tests.support.http import JSON, Local

EDIT = build_body(op="replace", cell="alpha", source="x = 2")
STRICT = [{"NbEditApp": {"read_before_edit": True}}]

pytestmark = [
    pytest.mark.parametrize("jp_server_config", STRICT, indirect=True),
    pytest.mark.usefixtures("local_file"),
]


def name_session(session: str | None) -> dict[str, str]:
    return {} if session is None else {"X-NbEdit-Session": session}


async def read(local: Local, session: str | None = None) -> Any:
    answer = await local.request(
        "GET", "nbedit", "notebooks", "a.ipynb", headers=name_session(session)
    )
    assert answer.status == 200
    return answer


async def edit(local: Local, session: str | None = None, body: bytes = EDIT) -> Any:
    headers = {**JSON, **name_session(session)}
    return await local.request(
        "PATCH", "nbedit", "notebooks", "a.ipynb", body=body, headers=headers
    )


@pytest.mark.parametrize("session", [None, "one"])
async def test_a_session_that_has_read_the_notebook_may_edit_repeatedly(
    local: Local, session: str | None
) -> None:
    with no_changes(local.root):
        get_error(await edit(local, session), 428, "read_required")
    await read(local, session)
    assert (await edit(local, session)).status == 200
    again = build_body(op="replace", cell="alpha", source="x = 3")
    assert (await edit(local, session, again)).status == 200


async def test_a_read_by_another_session_does_not_count(local: Local) -> None:
    await read(local, "one")
    for session in ("two", None):
        get_error(await edit(local, session), 428, "read_required")


async def test_a_session_that_has_read_an_older_version_must_read_again(local: Local) -> None:
    await read(local, "one")
    changed = samples.notebook(samples.code("x = 1", "alpha"))
    (local.root / "a.ipynb").write_bytes(changed)
    with no_changes(local.root):
        found = get_error(await edit(local, "one"), 412, "hash_mismatch")
    assert set(found) == {"expected", "hash"}
    await read(local, "one")
    assert (await edit(local, "one")).status == 200


async def test_a_304_reply_counts_as_a_read(local: Local) -> None:
    tag = (await read(local, "one")).headers["ETag"]
    headers = {**name_session("two"), "If-None-Match": tag}
    answer = await local.request("GET", "nbedit", "notebooks", "a.ipynb", headers=headers)
    assert answer.status == 304
    assert (await edit(local, "two")).status == 200


async def test_a_dry_run_requires_no_read(local: Local) -> None:
    body = EDIT.replace(b"{", b'{"dry_run": true, ', 1)
    with no_changes(local.root):
        assert (await edit(local, "one", body)).status == 200
    get_error(await edit(local, "one"), 428, "read_required")


async def test_creating_a_notebook_counts_as_a_read(local: Local) -> None:
    made = await local.send_json("PUT", "notebooks/new.ipynb", {}, name_session("one"))
    assert made.status == 201
    insert = {"operations": [{"op": "insert", "cell_type": "raw", "source": "", "at": "end"}]}
    answer = await local.send_json("PATCH", "notebooks/new.ipynb", insert, name_session("one"))
    assert answer.status == 200


async def test_a_failed_read_does_not_count(local: Local) -> None:
    for query in ({"cell": "nobody"}, {"section": "None"}, {"since": "0" * 64}):
        answer = await local.request(
            "GET",
            "nbedit",
            "notebooks",
            "a.ipynb",
            params=query,
            headers=name_session("one"),
        )
        assert answer.status in {404, 410}
    read = {"file_path": str(local.root / "a.ipynb"), "offset": 50}
    assert (await call_tool(local, "claude_code/Read", read)).status == 400
    get_error(await edit(local, "one"), 428, "read_required")


async def test_a_read_by_the_sections_tool_counts(local: Local) -> None:
    (local.root / "a.md").write_text("# A\n\none\n")
    for name in ("a.ipynb", "a.md"):
        answer = await call_tool(local, "sections/notebook_edit", {"file": name, "action": "read"})
        assert answer.status == 200
    assert (await edit(local, "one")).status == 200
    change = {"file_path": str(local.root / "a.md"), "old_string": "one", "new_string": "two"}
    assert (await call_tool(local, "claude_code/Edit", change)).status == 200


async def call_tool(
    local: Local, name: str, arguments: dict[str, Any], session: str = "one"
) -> Any:
    return await local.send_json("POST", f"tools/{name}", arguments, name_session(session))


async def test_a_read_through_a_link_counts_for_the_notebook(local: Local) -> None:
    (local.root / "link.ipynb").symlink_to("a.ipynb")
    (local.root / "door").symlink_to(".")
    for path in ("link.ipynb", "door/a.ipynb"):
        session = {"X-NbEdit-Session": path}
        answer = await local.request("GET", "nbedit", "notebooks", path, headers=session)
        assert answer.status == 200
        # The tool gets an absolute path, and follows its links.
        arguments = {
            "notebook_path": str(local.root / path),
            "cell_id": "alpha",
            "new_source": "x = 2",
        }
        answer = await call_tool(local, "claude_code/NotebookEdit", arguments, path)
        assert answer.status == 200, answer.body
        assert (await edit(local, path)).status == 200
