"""Tools beside their contracts: what there are, sessions, retries, rights, others at work."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # without stubs
import pytest
from jupyter_events import EventLogger
from jupyter_server.auth import Authorizer
from jupyter_server.services.contents.manager import AsyncContentsManager

from jupyter_nbedit.tools import ADDRESSES
from tests.handlers.refused import details, untouched
from tests.handlers.tool_failures import failure
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local

READ, WRITE, EDIT = "claude_code/Read", "claude_code/Write", "claude_code/Edit"
CC, NEXO, MYCODE = "claude_code/NotebookEdit", "nexo/NotebookEdit", "mycode/NotebookEdit"
SECTIONS = "sections/notebook_edit"


def send(live: Client, tool: str, headers: Mapping[str, str] = {}, /, **given: Any) -> Answer:
    body = json.dumps(given).encode()
    return live.request("POST", f"nbedit/tools/{tool}", body, {**JSON, **headers})


async def post(local: Local, tool: str, **given: Any) -> Answer:
    body = json.dumps(given).encode()
    return await local.request("POST", "nbedit", "tools", *tool.split("/"), body=body, headers=JSON)


@pytest.fixture
def notebook(live: Client, request: pytest.FixtureRequest) -> Path:
    path = live.root / f"{request.node.originalname}.ipynb"
    path.write_bytes(samples.three_cells())
    return path


@pytest.fixture
def text(live: Client, request: pytest.FixtureRequest) -> Path:
    path = live.root / f"{request.node.originalname}.md"
    path.write_bytes(b"# Title\n\none\n")
    return path


def test_all_tools_are_defined(live: Client) -> None:
    answer = live.request("GET", "nbedit/tools")
    assert answer.status == 200
    tools = answer.json["tools"]
    assert [f"{tool['dialect']}/{tool['name']}" for tool in tools] == list(ADDRESSES)
    for tool in tools:
        assert list(tool) == ["dialect", "name", "description", "input_schema"]
        jsonschema.Draft202012Validator.check_schema(tool["input_schema"])


def test_there_are_the_five_dialects_of_the_design() -> None:
    notebook_edits = {NEXO, MYCODE, CC, "omp/notebook", SECTIONS}
    assert set(ADDRESSES) == {*notebook_edits, READ, WRITE, EDIT}


def test_the_server_tells_of_its_tools(live: Client) -> None:
    about = live.request("GET", "nbedit").json
    assert about["tools"] == list(ADDRESSES)
    assert live.request("GET", about["links"]["tools"].lstrip("/")).status == 200


@pytest.mark.parametrize(
    "address", ["nexo/Read", "Nexo/NotebookEdit", "nexo", "nexo/", "", "nexo/NotebookEdit/x", "x/y"]
)
def test_a_tool_that_is_not_there_is_answered_with_those_that_are(
    live: Client, address: str
) -> None:
    found = details(send(live, address), 404, "tool_not_found")
    assert found == {"tools": list(ADDRESSES)}


@pytest.mark.parametrize("verb", ["GET", "PUT", "PATCH", "DELETE"])
def test_a_tool_is_called_by_post_only(live: Client, verb: str) -> None:
    answer = live.request(verb, f"nbedit/tools/{NEXO}", b"{}" if verb != "GET" else None)
    details(answer, 405, "invalid_request")


def test_without_a_session_all_requests_with_the_token_are_one(live: Client, text: Path) -> None:
    edit = {"file_path": str(text), "old_string": "one", "new_string": "two"}
    other = {"X-NbEdit-Session": "test_without_a_session"}
    assert send(live, READ, other, file_path=str(text)).status == 200
    assert send(live, EDIT, **edit).status == 428
    assert send(live, READ, file_path=str(text)).status == 200
    assert send(live, EDIT, **edit).status == 200


def test_what_one_session_read_another_has_not(live: Client, notebook: Path) -> None:
    one, other = ({"X-NbEdit-Session": f"one or other {n}"} for n in range(2))
    edit = {"notebook_path": str(notebook), "cell_id": "alpha", "new_source": "x"}
    assert send(live, READ, one, file_path=str(notebook)).status == 200
    with untouched(notebook.parent):
        assert send(live, CC, other, **edit).status == 428
    assert send(live, CC, one, **edit).status == 200
    assert send(live, READ, other, file_path=str(notebook)).status == 200
    assert send(live, CC, other, **edit, edit_mode="delete").status == 200
    with untouched(notebook.parent):
        assert send(live, CC, one, **{**edit, "cell_id": "beta"}).status == 412


def test_reading_by_the_notebooks_route_counts_too(live: Client, notebook: Path) -> None:
    session = {"X-NbEdit-Session": "reads by the route"}
    assert live.read(notebook.name, session).status == 200
    edit = {"notebook_path": str(notebook), "cell_id": "alpha", "new_source": "x"}
    assert send(live, CC, session, **edit).status == 200


def test_a_call_that_is_repeated_with_its_key_is_done_once(live: Client, notebook: Path) -> None:
    key = {"Idempotency-Key": "a call that is repeated"}
    insert = {
        "notebook_path": str(notebook),
        "cell_id": "",
        "new_source": "once",
        "cell_type": "code",
        "edit_mode": "insert",
    }
    first = send(live, NEXO, key, **insert)
    with untouched(notebook.parent):
        again = send(live, NEXO, key, **insert)
        assert (again.status, again.body) == (200, first.body)
        other = send(live, NEXO, key, **{**insert, "new_source": "twice"})
        assert other.status == 422
        assert other.json["error"] == "IdempotencyMismatch"


def test_a_failure_may_be_repeated_with_its_key(live: Client, notebook: Path) -> None:
    key = {"Idempotency-Key": "a failure that is repeated"}
    delete = {"notebook_path": str(notebook), "cell_id": "later", "edit_mode": "delete"}
    assert send(live, NEXO, key, **delete).status == 404
    notebook.write_bytes(samples.notebook(samples.raw("x", "later")))
    assert send(live, NEXO, key, **delete).status == 200


def test_many_who_append_to_one_section_at_once_all_do(live: Client, text: Path) -> None:
    def append(n: int) -> int:
        more = {"action": "append_to_section", "section": "Title", "content": f"- entry {n}"}
        return send(live, SECTIONS, file=text.name, **more).status

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(append, range(16)))
    entries = [line for line in text.read_text().splitlines() if line.startswith("- entry")]
    assert statuses == [200] * 16
    assert sorted(entries) == sorted(f"- entry {n}" for n in range(16))


def test_of_many_who_edit_what_they_read_each_edit_is_in_or_refused(
    live: Client, text: Path
) -> None:
    text.write_text("".join(f"<{n}>\n" for n in range(8)))
    for n in range(8):
        session = {"X-NbEdit-Session": f"many {n}"}
        assert send(live, READ, session, file_path=str(text)).status == 200

    def edit(n: int) -> int:
        session = {"X-NbEdit-Session": f"many {n}"}
        given = {"old_string": f"<{n}>", "new_string": f"[{n}]"}
        return send(live, EDIT, session, file_path=str(text), **given).status

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(edit, range(8)))
    assert sorted(statuses) == [200] + [412] * 7
    done = statuses.index(200)
    assert text.read_text() == "".join(f"[{n}]\n" if n == done else f"<{n}>\n" for n in range(8))


def test_a_tool_keeps_what_no_tool_may_change(live: Client, notebook: Path) -> None:
    cell = samples.code("x", "locked", metadata={"editable": False, "deletable": False})
    notebook.write_bytes(samples.notebook(cell))
    with untouched(notebook.parent):
        for mode in ("replace", "delete"):
            given = {"cell_id": "locked", "new_source": "y", "edit_mode": mode}
            answer = send(live, NEXO, notebook_path=str(notebook), **given)
            assert (answer.status, answer.json["error"]) == (403, "CellProtected")


def test_an_id_of_two_cells_is_refused_with_their_indexes(live: Client, notebook: Path) -> None:
    notebook.write_bytes(samples.notebook(samples.raw("x", "twin"), samples.raw("y", "twin")))
    with untouched(notebook.parent):
        given = {"cell_id": "twin", "new_source": "z"}
        answer = send(live, NEXO, notebook_path=str(notebook), **given)
    assert (answer.status, answer.json["error"]) == (409, "AmbiguousCell")
    assert answer.json["details"]["indexes"] == [0, 1]


def test_a_file_that_is_no_notebook_is_refused_as_one(live: Client, notebook: Path) -> None:
    notebook.write_bytes(b"<<<<<<< HEAD\n{}")
    # A file that was written just now may be half written, and is waited for.
    os.utime(notebook, (0, 0))
    for tool, given in ((READ, {"file_path": str(notebook)}), (MYCODE, {"cell_id": 0})):
        named = given if tool == READ else {**given, "notebook_path": notebook.name}
        with untouched(notebook.parent):
            answer = send(live, tool, **named, **({} if tool == READ else {"new_source": "x"}))
        assert answer.status == 422, answer.body
        failure(tool, answer)


def test_a_written_notebook_is_not_trusted_for_it(live: Client, notebook: Path) -> None:
    content = notebook.read_text()
    notebook.unlink()
    assert send(live, WRITE, file_path=str(notebook), content=content).status == 200
    assert live.read(notebook.name).json["trusted"] is False


@pytest.mark.parametrize(
    "jp_server_config", [{"NbEditApp": {"read_before_edit": True}}], indirect=True
)
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (NEXO, {"cell_id": "beta", "new_source": "x"}),
        (MYCODE, {"cell_id": "beta", "new_source": "x", "backup": True}),
        ("omp/notebook", {"action": "delete", "cell_index": 0}),
        (SECTIONS, {"action": "append_to_section", "section": "Title", "content": "x"}),
    ],
)
async def test_where_the_server_asks_for_it_every_tool_must_have_read_the_notebook(
    local: Local, tool: str, given: dict[str, Any]
) -> None:
    path = local.root / "a.ipynb"
    path.write_bytes(samples.three_cells())
    named = {("file" if tool == SECTIONS else "notebook_path"): str(path), **given}
    with untouched(local.root):
        answer = await post(local, tool, **named)
        assert answer.status == 428, answer.body
        failure(tool, answer, f"{local.root}/")
    assert (await local.read("a.ipynb")).status == 200
    assert (await post(local, tool, **named)).status == 200


class Doorman(Authorizer):
    """Lets nobody write."""

    def is_authorized(self, _handler: Any, _user: Any, action: str, _resource: str) -> bool:
        return action != "write"


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"authorizer_class": Doorman}}], indirect=True
)
@pytest.mark.parametrize("tool", ADDRESSES)
async def test_who_may_not_write_calls_no_tool_and_hears_so_in_its_form(
    local: Local, tool: str
) -> None:
    with untouched(local.root):
        answer = await post(local, tool)
    assert answer.status == 403
    failure(tool, answer)
    assert (await local.request("GET", "nbedit", "tools")).status == 200


async def test_an_open_tab_of_a_text_hears_of_every_change_by_a_tool(
    local: Local, jp_serverapp: Any
) -> None:
    saved: list[str] = []

    async def hear(logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:
        assert (logger, schema_id) == (jp_serverapp.event_logger, manager.event_schema_id)
        if data["action"] == "save":
            saved.append(data["path"])

    manager = jp_serverapp.contents_manager
    jp_serverapp.event_logger.add_listener(schema_id=manager.event_schema_id, listener=hear)
    path = str(local.root / "a.md")
    append = {"action": "append_to_section", "section": "Title", "content": "x"}
    assert (await post(local, WRITE, file_path=path, content="# Title\n")).status == 200
    edit = {"old_string": "Title", "new_string": "Title "}
    assert (await post(local, EDIT, file_path=path, **edit)).status == 200
    assert (await post(local, SECTIONS, file="a.md", **append)).status == 200
    await asyncio.sleep(0)
    assert saved == ["a.md"] * 3


async def test_a_notebook_that_is_changed_while_it_is_copied_is_not_edited(
    local: Local, jp_serverapp: Any
) -> None:
    notebook = local.root / "a.ipynb"
    notebook.write_bytes(samples.three_cells())
    theirs = samples.notebook(samples.raw("theirs", "alpha"))

    def interfere(model: dict[str, Any], **_: Any) -> None:
        if model["path"] == "a.ipynb.bak":
            notebook.write_bytes(theirs)

    jp_serverapp.contents_manager.register_post_save_hook(interfere)
    given = {"notebook_path": "a.ipynb", "cell_id": "alpha", "new_source": "x", "backup": True}
    answer = await post(local, MYCODE, **given)
    assert answer.status == 412
    assert "a.ipynb.bak" in failure(MYCODE, answer)
    assert notebook.read_bytes() == theirs
    assert (local.root / "a.ipynb.bak").read_bytes() == samples.three_cells()


async def test_a_copy_is_never_made_over_anything(local: Local) -> None:
    notebook = local.root / "a.ipynb"
    notebook.write_bytes(samples.three_cells())
    (local.root / "a.ipynb.bak").mkdir()
    (local.root / "a.ipynb.bak-2").symlink_to(notebook)
    given = {"notebook_path": "a.ipynb", "cell_id": "alpha", "new_source": "x", "backup": True}
    answer = await post(local, MYCODE, **given)
    assert (answer.status, answer.json["backup_path"]) == (200, "a.ipynb.bak-3")
    assert (local.root / "a.ipynb.bak-3").read_bytes() == samples.three_cells()
    assert (local.root / "a.ipynb.bak-2").is_symlink()


async def test_a_copy_has_every_byte_whatever_they_are(local: Local) -> None:
    odd = samples.three_cells().replace(b"\n", b"\r\n").rstrip()
    (local.root / "a.ipynb").write_bytes(odd)
    given = {"notebook_path": "a.ipynb", "cell_id": "alpha", "new_source": "x", "backup": True}
    assert (await post(local, MYCODE, **given)).status == 200
    assert (local.root / "a.ipynb.bak").read_bytes() == odd


async def test_outputs_of_every_kind_are_shown_to_be_read(local: Local) -> None:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["one\n", "\x1b[31mtwo\x1b[0m\n"]},
        {
            "output_type": "error",
            "ename": "E",
            "evalue": "why",
            "traceback": ["\x1b[1mline\x1b[0m"],
        },
        {"output_type": "error", "ename": "Bare", "evalue": "because"},
        {
            "output_type": "execute_result",
            "execution_count": 1,
            "data": {"image/jpeg": ["YW\n", "Jj\n"], "text/plain": ["<Figure>"]},
            "metadata": {},
        },
        {
            "output_type": "display_data",
            "data": {"image/svg+xml": "<svg/>", "application/json": {"a": 1}},
            "metadata": {},
        },
        "odd",
    ]
    cell = samples.code("x", "one", execution_count=7, outputs=outputs)
    (local.root / "a.ipynb").write_bytes(samples.notebook(cell, samples.markdown("# End", "two")))
    answer = await post(local, READ, file_path=str(local.root / "a.ipynb"))
    assert answer.status == 200, answer.body
    before, image, after = answer.json["content"]
    assert image == {"type": "image", "data": "YWJj", "mimeType": "image/jpeg"}
    assert before["text"] == (
        "Notebook with 2 cells, no language. Edit it with NotebookEdit, by the ids of the cells."
        '\n\n<cell id="one" index=0 type=code execution_count=7>\nx\n</cell>\n<outputs of="one">\n'
        "one\ntwo\nline\nBare: because"
    )
    assert after["text"] == (
        "<Figure>\n(application/json, 7 bytes)\n(image/svg+xml, 6 bytes)\n</outputs>\n\n"
        '<cell id="two" index=1 type=markdown>\n# End\n</cell>'
    )


async def test_a_notebook_too_large_to_show_is_shown_in_part_and_says_so(local: Local) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": "x" * 3_000_000}
    cells = [samples.code("x", name, outputs=[output]) for name in ("one", "two")]
    path = local.root / "a.ipynb"
    path.write_bytes(samples.notebook(*cells, samples.markdown("# End", "three")))
    (block,) = (await post(local, READ, file_path=str(path))).json["content"]
    assert 3_000_000 < len(block["text"]) < 3_001_000
    assert "(3000050 characters of its outputs are not shown.)" in block["text"]
    assert "# End" in block["text"]
    (block,) = (await post(local, READ, file_path=str(path), offset=2, limit=1)).json["content"]
    assert "x" * 3_000_000 in block["text"]


async def test_an_edit_tells_who_made_it_by_the_tools_name(local: Local, jp_serverapp: Any) -> None:
    heard: list[dict[str, Any]] = []

    async def hear(logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:
        assert (logger, schema_id) == (jp_serverapp.event_logger, EDITED)
        heard.append(data)

    jp_serverapp.event_logger.add_listener(schema_id=EDITED, listener=hear)
    (local.root / "a.ipynb").write_bytes(samples.three_cells())
    given = {"notebook_path": "a.ipynb", "cell_id": "alpha", "new_source": "x"}
    assert (await post(local, MYCODE, **given)).status == 200
    await asyncio.sleep(0)
    assert [(data["path"], data["client"]) for data in heard] == [("a.ipynb", MYCODE)]


EDITED = "https://schema.jupyter.org/jupyter_nbedit/edit/v1"


class Elsewhere(AsyncContentsManager):
    """Keeps its files in no folder."""

    async def is_hidden(self, path: str) -> bool:
        return path.startswith(".")

    async def dir_exists(self, path: str) -> bool:
        return path == ""

    async def file_exists(self, path: str) -> bool:
        return bool(path) and path == ""


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"contents_manager_class": Elsewhere}}], indirect=True
)
@pytest.mark.parametrize("tool", [NEXO, CC, READ, WRITE, EDIT])
async def test_a_server_without_a_folder_refuses_absolute_paths_and_says_why(
    local: Local, tool: str
) -> None:
    name = "file_path" if tool in {READ, WRITE, EDIT} else "notebook_path"
    more = {
        NEXO: {"cell_id": "a", "new_source": "x"},
        CC: {"cell_id": "a", "new_source": "x"},
        READ: {},
        WRITE: {"content": "x"},
        EDIT: {"old_string": "x", "new_string": "y"},
    }
    path = "/home/ada/a.ipynb" if name == "notebook_path" else "/home/ada/a.md"
    answer = await post(local, tool, **{name: path}, **more[tool])
    assert answer.status == 409
    assert "Elsewhere" in failure(tool, answer)
