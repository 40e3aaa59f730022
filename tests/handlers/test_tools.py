"""Tools beyond their table: the list, sessions, retries, permissions, concurrency."""

import asyncio
import base64
import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jupyter_events import EventLogger
from jupyter_server.services.contents.manager import AsyncContentsManager

from jupyter_nbedit.agents.tools import TOOLS
from tests.agents.tools import sample_files
from tests.handlers.conftest import Servers
from tests.handlers.error_checks import no_changes
from tests.handlers.tool_failures import parse_failure
from tests.handlers.tool_inputs import INPUTS, expand_paths, find_path_field
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local

READ, WRITE, EDIT = "claude_code/Read", "claude_code/Write", "claude_code/Edit"
CC, NEXO, MYCODE = "claude_code/NotebookEdit", "nexo/NotebookEdit", "mycode/NotebookEdit"
SECTIONS = "sections/notebook_edit"


def send(live: Client, tool: str, headers: Mapping[str, str] = {}, /, **arguments: Any) -> Answer:
    body = json.dumps(arguments).encode()
    return live.request("POST", f"nbedit/tools/{tool}", body, {**JSON, **headers})


async def post(local: Local, tool: str, **arguments: Any) -> Answer:
    body = json.dumps(arguments).encode()
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


def test_the_six_toolsets_are_defined_and_listed(live: Client) -> None:
    notebook_edits = {NEXO, MYCODE, CC, "omp/notebook", SECTIONS}
    verbs = ("read", "edit", "search", "create", "history")
    assert set(TOOLS) == {
        *notebook_edits,
        *(READ, WRITE, EDIT),
        *(f"agent/notebook_{verb}" for verb in verbs),
    }
    about = live.request("GET", "nbedit").json
    assert about["tools"] == list(TOOLS)
    tools = live.request("GET", about["links"]["tools"].lstrip("/")).json["tools"]
    assert [f"{tool['toolset']}/{tool['name']}" for tool in tools] == list(TOOLS)
    for tool in tools:
        assert tool["dialect"] == tool["toolset"]
        title = ["title"] if tool["toolset"] == "agent" else []
        names = ["toolset", "dialect", "name", "description", "input_schema", *title, "annotations"]
        assert set(tool) == set(names)


def test_requests_without_a_session_share_one_session_per_token(live: Client, text: Path) -> None:
    edit = {"file_path": str(text), "old_string": "one", "new_string": "two"}
    other = {"X-NbEdit-Session": "test_without_a_session"}
    assert send(live, READ, other, file_path=str(text)).status == 200
    assert send(live, EDIT, **edit).status == 428
    assert send(live, READ, file_path=str(text)).status == 200
    assert send(live, EDIT, **edit).status == 200


def test_a_read_by_one_session_does_not_count_for_another(live: Client, notebook: Path) -> None:
    one, other = ({"X-NbEdit-Session": f"one or other {n}"} for n in range(2))
    edit = {"notebook_path": str(notebook), "cell_id": "alpha", "new_source": "x"}
    assert send(live, READ, one, file_path=str(notebook)).status == 200
    with no_changes(notebook.parent):
        assert send(live, CC, other, **edit).status == 428
    assert send(live, CC, one, **edit).status == 200
    assert send(live, READ, other, file_path=str(notebook)).status == 200
    assert send(live, CC, other, **edit, edit_mode="delete").status == 200
    with no_changes(notebook.parent):
        assert send(live, CC, one, **{**edit, "cell_id": "beta"}).status == 412


def test_a_repeated_call_with_an_idempotency_key_runs_once(live: Client, notebook: Path) -> None:
    key = {"Idempotency-Key": "a call that is repeated"}
    insert = {
        "notebook_path": str(notebook),
        "cell_id": "",
        "new_source": "once",
        "cell_type": "code",
        "edit_mode": "insert",
    }
    first = send(live, NEXO, key, **insert)
    with no_changes(notebook.parent):
        again = send(live, NEXO, key, **insert)
        assert (again.status, again.body) == (200, first.body)
        other = send(live, NEXO, key, **{**insert, "new_source": "twice"})
        assert other.status == 422
        assert other.json["error"] == "IdempotencyMismatch"


def test_concurrent_appends_to_one_section_are_all_made(live: Client, text: Path) -> None:
    def append(n: int) -> int:
        more = {"action": "append_to_section", "section": "Title", "content": f"- entry {n}"}
        return send(live, SECTIONS, file=text.name, **more).status

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(append, range(16)))
    entries = [line for line in text.read_text().splitlines() if line.startswith("- entry")]
    assert statuses == [200] * 16
    assert sorted(entries) == sorted(f"- entry {n}" for n in range(16))


def test_concurrent_edits_of_cells_that_were_read_are_made_or_refused(
    live: Client, text: Path
) -> None:
    text.write_text("".join(f"<{n}>\n" for n in range(8)))
    for n in range(8):
        session = {"X-NbEdit-Session": f"many {n}"}
        assert send(live, READ, session, file_path=str(text)).status == 200

    def edit(n: int) -> int:
        session = {"X-NbEdit-Session": f"many {n}"}
        arguments = {"old_string": f"<{n}>", "new_string": f"[{n}]"}
        return send(live, EDIT, session, file_path=str(text), **arguments).status

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(edit, range(8)))
    assert sorted(statuses) == [200] + [412] * 7
    index = statuses.index(200)
    assert text.read_text() == "".join(f"[{n}]\n" if n == index else f"<{n}>\n" for n in range(8))


def test_a_tool_preserves_what_tools_must_not_change(live: Client, notebook: Path) -> None:
    cell = samples.code("x", "locked", metadata={"editable": False, "deletable": False})
    notebook.write_bytes(samples.notebook(cell))
    with no_changes(notebook.parent):
        for mode in ("replace", "delete"):
            arguments = {"cell_id": "locked", "new_source": "y", "edit_mode": mode}
            answer = send(live, NEXO, notebook_path=str(notebook), **arguments)
            assert (answer.status, answer.json["error"]) == (403, "CellProtected")


def test_a_notebook_written_by_a_tool_is_not_trusted(live: Client, notebook: Path) -> None:
    content = notebook.read_text()
    notebook.unlink()
    assert send(live, WRITE, file_path=str(notebook), content=content).status == 200
    assert live.read(notebook.name).json["trusted"] is False


@pytest.mark.parametrize(
    "tool",
    [
        tool
        for tool in INPUTS
        if find_path_field(tool) != "file_path" and not tool.startswith("agent/")
    ],
)
def test_with_read_before_edit_every_tool_requires_a_read(servers: Servers, tool: str) -> None:
    client = servers("owners")
    path = client.root / f"read first by {tool.replace('/', ' ')}.ipynb"
    path.write_bytes(samples.three_cells())
    arguments = {**INPUTS[tool], find_path_field(tool): str(path)}
    with no_changes(client.root):
        answer = send(client, tool, **arguments)
        assert answer.status == 428, answer.body
        parse_failure(tool, answer, f"{client.root}/")
    assert client.read(path.name).status == 200
    assert send(client, tool, **arguments).status == 200


def test_guarded_operations_of_the_agent_toolset_need_no_earlier_read(servers: Servers) -> None:
    client = servers("owners")
    path = client.root / "guarded operations.ipynb"
    path.write_bytes(samples.three_cells())

    def edit(*operations: dict[str, Any]) -> Answer:
        return send(client, "agent/notebook_edit", path=path.name, operations=operations)

    with no_changes(client.root):
        appended = edit({"op": "insert", "at": "end", "source": "x"})
        assert appended.status == 428, appended.body
        parse_failure("agent/notebook_edit", appended)
    replaced = edit({"op": "replace_text", "old": "# Title", "new": "# New"})
    assert replaced.status == 200, replaced.body
    text = send(client, "agent/notebook_read", path=path.name).json["content"][0]["text"]
    (name,) = re.findall(r"<cell (\S+) md>", text)
    assert edit({"op": "delete", "cell": name}).status == 200
    assert edit({"op": "insert", "at": "end", "source": "x"}).status == 200


def test_one_call_searches_all_cells_for_a_limited_number_of_texts(
    live: Client, notebook: Path
) -> None:
    operation = {"op": "replace_text", "old": "x = 1", "new": "x = 1 "}
    search = {"path": notebook.name, "dry_run": True}
    assert send(live, "agent/notebook_edit", **search, operations=[operation] * 50).status == 200
    refused = send(live, "agent/notebook_edit", **search, operations=[operation] * 51)
    text = parse_failure("agent/notebook_edit", refused)
    assert "at most 50 `replace_text` without `cell`" in str(text)


def test_a_call_may_name_its_client(live: Client, notebook: Path) -> None:
    operations = [{"op": "replace_text", "old": "x = 1", "new": "x = 2"}]
    header = {"X-NbEdit-Client": "Some agent"}
    answer = send(live, "agent/notebook_edit", header, path=notebook.name, operations=operations)
    assert answer.status == 200, answer.body
    history = live.request("GET", f"nbedit/notebooks/{notebook.name}/history").json["edits"]
    assert history[0]["client"] == "Some agent"
    bad = {"X-NbEdit-Client": "x" * 201}
    with no_changes(live.root):
        arguments = {"path": notebook.name, "operations": operations}
        assert send(live, "agent/notebook_edit", bad, **arguments).status == 400


async def test_an_open_tab_of_a_text_file_gets_an_event_for_every_tool_change(
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


async def test_a_notebook_that_changes_during_its_backup_is_not_edited(
    local: Local, jp_serverapp: Any
) -> None:
    notebook = local.root / "a.ipynb"
    notebook.write_bytes(samples.three_cells())
    theirs = samples.notebook(samples.raw("theirs", "alpha"))

    def interfere(model: dict[str, Any], **_: Any) -> None:
        if model["path"] == "a.ipynb.bak":
            notebook.write_bytes(theirs)

    jp_serverapp.contents_manager.register_post_save_hook(interfere)
    answer = await post(local, MYCODE, notebook_path="a.ipynb", **BACKUP)
    assert answer.status == 412
    assert "a.ipynb.bak" in parse_failure(MYCODE, answer)
    assert notebook.read_bytes() == theirs
    assert (local.root / "a.ipynb.bak").read_bytes() == samples.three_cells()


BACKUP = {"cell_id": "alpha", "new_source": "x", "backup": True}


def test_a_backup_has_every_byte_and_overwrites_nothing(live: Client, notebook: Path) -> None:
    odd = samples.three_cells().replace(b"\n", b"\r\n").rstrip()
    notebook.write_bytes(odd)
    notebook.with_suffix(".ipynb.bak").mkdir()
    notebook.with_suffix(".ipynb.bak-2").symlink_to(notebook)
    answer = send(live, MYCODE, notebook_path=notebook.name, **BACKUP)
    assert (answer.status, answer.json["backup_path"]) == (200, f"{notebook.name}.bak-3")
    assert notebook.with_suffix(".ipynb.bak-3").read_bytes() == odd
    assert notebook.with_suffix(".ipynb.bak-2").is_symlink()


def test_outputs_of_every_kind_are_shown_as_text(live: Client, notebook: Path) -> None:
    png = base64.b64encode(sample_files.PNG).decode()
    error = {"output_type": "error", "ename": "E", "evalue": "why"}
    output: dict[str, Any] = {"output_type": "display_data", "metadata": {}}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["one\n", "\x1b[31mtwo\x1b[0m\n"]},
        {**error, "traceback": ["\x1b[1mline\x1b[0m"]},
        {**error, "ename": "Bare", "evalue": "because"},
        {**output, "data": {"image/jpeg": [f"{png[:20]}\n", png[20:]], "text/plain": ["<Figure>"]}},
        {**output, "data": {"image/svg+xml": "<svg/>", "application/json": {"a": 1}}},
        "odd",
    ]
    cell = samples.code("x", "one", execution_count=7, outputs=outputs)
    notebook.write_bytes(samples.notebook(cell, samples.markdown("# End", "two")))
    answer = send(live, READ, file_path=str(notebook))
    assert answer.status == 200, answer.body
    before, image, after = answer.json["content"]
    assert image == {"type": "image", "data": png, "mimeType": "image/png"}
    assert before["text"].endswith(
        '\n\n<cell id="one" index=0 type=code execution_count=7>\nx\n</cell>\n<outputs of="one">\n'
        "one\ntwo\nline\nBare: because"
    )
    assert after["text"] == (
        "<Figure>\n(application/json, 7 bytes)\n(image/svg+xml, 6 bytes)\n</outputs>\n\n"
        '<cell id="two" index=1 type=markdown>\n# End\n</cell>'
    )


def test_a_notebook_too_large_to_show_is_cut_with_a_note(live: Client, notebook: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": "x" * 3_000_000}
    cells = [samples.code("x", name, outputs=[output]) for name in ("one", "two")]
    notebook.write_bytes(samples.notebook(*cells, samples.markdown("# End", "three")))
    (block,) = send(live, READ, file_path=str(notebook)).json["content"]
    assert 9_000 < len(block["text"]) < 11_000
    assert "(3000050 characters of its outputs are not shown.)" in block["text"]
    assert "# End" in block["text"]
    (block,) = send(live, READ, file_path=str(notebook), offset=2, limit=1).json["content"]
    assert "x" * 4_000 in block["text"]


class FolderlessManager(AsyncContentsManager):
    """Keeps its files in no folder."""

    async def is_hidden(self, path: str) -> bool:
        return path.startswith(".")

    async def dir_exists(self, path: str) -> bool:
        return path == ""

    async def file_exists(self, path: str) -> bool:
        return bool(path) and path == ""


@pytest.mark.parametrize(
    "jp_server_config",
    [{"ServerApp": {"contents_manager_class": FolderlessManager}}],
    indirect=True,
)
async def test_a_server_without_a_folder_refuses_absolute_paths(local: Local) -> None:
    for tool in (NEXO, CC, READ, WRITE, EDIT):
        answer = await post(local, tool, **expand_paths(INPUTS[tool], "/home/ada"))
        assert answer.status == 409, answer.body
        parse_failure(tool, answer)
