"""The bridge ``jupyter nbedit mcp``: its lines, its servers, and notebooks without one."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from jupyter_nbedit.agents.mcp.server import ToolAnswer, ToolCall
from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.bridge.caller import BridgeCaller
from jupyter_nbedit.cli.bridge.stdio import MAX_LINE_LENGTH
from tests.support import samples
from tests.support.bridge import COMMAND, Bridge, build_environment
from tests.support.http import Client
from tests.support.mcp_session import MODES, build_client, check_session
from tests.support.paths import ROOT
from tests.support.servers import run_server, start_server
from tests.support.waiting import LIMIT_SECONDS

AGENTS = ROOT / "docs" / "agents.md"
NAME = "a.ipynb"
TEXT = samples.three_cells()
INSERT = {"op": "insert", "source": "x", "at": "end"}


@contextmanager
def run_bridge(folder: Path, *options: str, cwd: Path | None = None) -> Iterator[Bridge]:
    """Run a bridge beside the servers of a folder, whose notebooks are in ``notebooks``."""
    (folder / "notebooks").mkdir(exist_ok=True)
    bridge = Bridge(cwd or folder / "notebooks", build_environment(folder), *options)
    try:
        yield bridge
        assert bridge.close() == 0
    finally:
        bridge.kill()


def count_cells(file: Path) -> int:
    return len(samples.load_cells(file.read_bytes()))


# Clients and lines --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["with a server", "without"])
def test_the_official_client_reads_and_edits(
    live: Client, tmp_path: Path, mode: str, way: str
) -> None:
    folder = tmp_path if way == "without" else live.root.parent
    root = folder / "notebooks"
    root.mkdir(exist_ok=True)
    (root / f"session-{mode}.ipynb").unlink(missing_ok=True)
    parameters = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "mcp", "--root", str(root)],
        env=build_environment(folder),
    )

    async def run() -> None:
        async with build_client(stdio_client(parameters), mode) as client:
            await check_session(client, mode, root)

    asyncio.run(run())
    # Other tests of this server search all its notebooks.
    (root / f"session-{mode}.ipynb").unlink()


BAD_LINES = (
    (b"no JSON", -32700),
    (b'{"jsonrpc": "2.0", "id": 1}', -32600),
    (b"[]", -32600),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
    (b"1" * (MAX_LINE_LENGTH + 1), -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "no/method"}', -32601),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}', -32602),
    (b'{"jsonrpc": "2.0", "id": "\xff", "method": "ping"}', -32700),
)


def test_bad_lines_are_answered_and_the_next_line_works(tmp_path: Path) -> None:
    with run_bridge(tmp_path) as bridge:
        for line, code in BAD_LINES:
            bridge.write(line)
            assert bridge.read()["error"]["code"] == code, line[:100]
        bridge.write(b'{"jsonrpc": "2.0", "method": "notifications/unknown"}\r\n\n \n')
        assert bridge.request("ping")["result"] == {}


def test_the_line_of_the_documentation_lists_the_tools(tmp_path: Path) -> None:
    (line,) = re.findall(r"^echo .*\| jupyter nbedit mcp$", AGENTS.read_text(), re.MULTILINE)
    command = line.replace("jupyter nbedit", shlex.join(COMMAND))
    process = subprocess.run(
        ["sh", "-c", command],  # noqa: S607 -- as people run it
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    assert len(json.loads(process.stdout)["result"]["tools"]) == 5


def test_the_tools_are_listed_without_loading_an_engine(tmp_path: Path) -> None:
    code = (
        "import sys; from jupyter_nbedit.cli import main; code = main();"
        "names = 'msgspec', 'tornado', 'traitlets', 'nbformat', 'jupyter_server', 'markdown_it';"
        "print(*(name for name in names if name in sys.modules), file=sys.stderr, end='')"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, "mcp"],
        input='{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}',
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=build_environment(tmp_path),
    )
    assert len(json.loads(process.stdout)["result"]["tools"]) == 5
    assert process.stderr == ""


@pytest.mark.threat("S34")
def test_what_else_is_printed_is_no_answer(tmp_path: Path) -> None:
    # The user's configuration files are run without a server, those in the working folder are not.
    root = tmp_path / "notebooks"
    for folder in (root, tmp_path / "config"):
        folder.mkdir()
        (folder / "jupyter_config.py").write_text(f"print({folder.name!r})\n")
    (root / NAME).write_bytes(TEXT)
    bridge = Bridge(root, build_environment(tmp_path))
    assert "# Title" in bridge.call("notebook_read", path=NAME)
    output, errors = bridge.process.communicate()
    assert (output, errors) == (b"", b"config\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_a_call_that_waits_is_cancelled_and_does_not_keep_the_bridge(live: Client) -> None:
    # Other tests of this server list the proposals of their notebooks.
    name = "waiting.ipynb"
    (live.root / name).write_bytes(TEXT)
    live.reset_modes(name)
    live.request("PUT", "nbedit/mode", b'{"mode": "review"}', {"Content-Type": "application/json"})
    environment = build_environment(live.root.parent)
    try:
        bridge = Bridge(live.root, environment)
        proposed = bridge.call("notebook_edit", path=name, operations=[INSERT])
        number = int(re.findall(r"proposed as (\d+)", proposed)[0])
        wait = {"action": "proposal", "proposal_id": number, "wait": 45}
        first = bridge.send("tools/call", name="notebook_history", arguments=wait)
        # Others are answered meanwhile.
        assert "# Title" in bridge.call("notebook_read", path=name)
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": first}}
        bridge.write(json.dumps({"jsonrpc": "2.0", **cancelled}).encode())
        assert bridge.request("ping")["result"] == {}
        # The end of the input does not wait for the server.
        assert bridge.close() == 0
        bridge = Bridge(live.root, environment)
        bridge.send("tools/call", name="notebook_history", arguments=wait)
        assert bridge.request("ping")["result"] == {}
        bridge.process.terminate()
        assert bridge.close() == -signal.SIGTERM
    finally:
        bridge.kill()
        live.reset_modes(name)
        (live.root / name).unlink()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_ctrl_c_and_a_client_that_reads_no_answers_end_the_bridge(tmp_path: Path) -> None:
    bridge = Bridge(tmp_path, build_environment(tmp_path))
    bridge.process.send_signal(signal.SIGINT)
    assert bridge.process.wait(LIMIT_SECONDS) == exit_codes.INTERRUPTED
    bridge.close()
    bridge = Bridge(tmp_path, build_environment(tmp_path))
    assert bridge.process.stdout is not None
    bridge.process.stdout.close()
    bridge.send("ping")
    # Its input stays open.
    assert bridge.process.wait(LIMIT_SECONDS) == 0
    assert bridge.process.stderr is not None
    assert bridge.process.stderr.read() == b""
    assert bridge.process.stdin is not None
    for stream in (bridge.process.stdin, bridge.process.stderr):
        stream.close()


@pytest.mark.skipif(sys.platform == "win32", reason="not allowed in the name of a file")
@pytest.mark.parametrize("way", ["with a server", "without"])
def test_a_path_that_is_listed_in_quotes_can_be_used(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "notebooks" / '"a\u00a0b"'
    folder.mkdir(parents=True)
    file = folder / "\u200d.ipynb"
    file.write_bytes(TEXT)
    with ExitStack() as stack:
        if way == "with a server":
            stack.enter_context(run_server(tmp_path))
        bridge = stack.enter_context(run_bridge(tmp_path))
        _, shown = bridge.call("notebook_search").split("\n")
        assert json.loads(shown) == f"{folder.name}/{file.name}"
        for path in (shown, f"{folder.name}/{file.name}", str(file), json.dumps(str(file))):
            assert "# Title" in bridge.call("notebook_read", path=path)
            bridge.call("notebook_edit", path=path, operations=[INSERT])
        assert count_cells(file) == 3 + 4
        assert "# Title" in bridge.call(
            "notebook_search", folder=json.dumps(folder.name), text="# Title"
        )


@pytest.mark.parametrize("way", ["with a server", "without"])
def test_a_worktree_in_a_hidden_folder_can_be_edited(tmp_path: Path, way: str) -> None:
    root = tmp_path / "notebooks" / ".claude" / "worktrees" / "x"
    root.mkdir(parents=True)
    (root / NAME).write_bytes(TEXT)
    with ExitStack() as stack:
        if way == "with a server":
            stack.enter_context(run_server(tmp_path))
        bridges = [
            stack.enter_context(run_bridge(tmp_path, cwd=folder))
            for folder in (root, tmp_path / "notebooks")
        ]
        for bridge, path in zip(bridges, (NAME, f".claude/worktrees/x/{NAME}"), strict=True):
            head = bridge.call("notebook_read", path=path).split("\n")[0]
            assert head.endswith(" | no server") or " | no server |" in head
            edited = bridge.call("notebook_edit", path=path, operations=[INSERT])
            assert " | no server" in edited.split("\n")[0]
        assert bridges[0].call("notebook_search") == f"1 notebook\n{NAME}"
        created = bridges[0].call("notebook_create", path="new.ipynb")
        assert created.startswith("new.ipynb | 0 cells")
    assert count_cells(root / NAME) == 3 + 2


# Servers ------------------------------------------------------------------------------------------


def test_calls_go_on_over_restarts_and_without_a_server(tmp_path: Path) -> None:
    file = tmp_path / "notebooks" / "sub" / NAME
    file.parent.mkdir(parents=True)
    file.write_bytes(TEXT)
    edit = {"path": str(file), "operations": [INSERT]}
    with run_bridge(tmp_path, cwd=file.parent) as bridge:
        assert bridge.call("notebook_edit", **edit).startswith("a.ipynb |")
        ports = set()
        for _ in range(2):
            server = start_server(tmp_path)
            try:
                ports.add(server.client.port)
                # The server has another root, and paths of its answers are understood.
                assert bridge.call("notebook_edit", **edit).startswith("sub/a.ipynb |")
                assert "sub/a.ipynb" in bridge.call("notebook_search")
                assert "sub/a.ipynb |" in bridge.call("notebook_read", path="sub/a.ipynb")
                assert "sub/a.ipynb |" in bridge.call("notebook_read", path=NAME)
                # Some clients start it in the home folder.
                with run_bridge(tmp_path, cwd=tmp_path) as other:
                    assert other.call("notebook_search") == "1 notebook\nsub/a.ipynb"
                    assert "sub/a.ipynb |" in other.call("notebook_read", path="sub/a.ipynb")
            finally:
                server.stop()
        assert len(ports) == 2
        bridge.call("notebook_edit", **edit)
        history = bridge.call("notebook_history", action="list", path=NAME)
    assert count_cells(file) == 3 + 4
    assert history.count("Test Client") == 4


def test_of_two_servers_with_one_root_none_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / NAME).write_bytes(TEXT)
    servers = [start_server(tmp_path, name=name) for name in ("one", "two")]
    try:
        with run_bridge(tmp_path) as bridge:
            refusal = bridge.fail("notebook_edit", path=NAME, operations=[INSERT])
            for server in servers:
                assert f":{server.client.port}/" in refusal
                assert server.client.token not in refusal
            assert (tmp_path / "notebooks" / NAME).read_bytes() == TEXT
            # It leaves its file in the runtime folder.
            servers[0].kill()
            bridge.call("notebook_edit", path=NAME, operations=[INSERT])
    finally:
        for server in servers:
            server.stop()
    assert count_cells(tmp_path / "notebooks" / NAME) == 4


def test_paths_are_relative_to_the_root_of_a_server_that_is_not_here(
    live: Client, tmp_path: Path
) -> None:
    (live.root / NAME).write_bytes(TEXT)
    live.reset_modes(NAME)
    token_file = tmp_path / "token"
    token_file.write_text(live.token)
    url = f"http://127.0.0.1:{live.port}/"
    # There is no runtime folder, so that the root is not known.
    with run_bridge(tmp_path, "--url", url, "--token-file", str(token_file)) as bridge:
        assert "# Title" in bridge.call("notebook_read", path=NAME)
        assert NAME in bridge.call("notebook_search", text="# Title")
        bridge.call("notebook_edit", path=NAME, operations=[INSERT])
        for path in (str(live.root / NAME), str(tmp_path / "notebooks" / NAME), "../a.ipynb"):
            assert bridge.fail("notebook_read", path=path).startswith("outside_root: ")
    assert count_cells(live.root / NAME) == 4


class ForeignServer(ThreadingHTTPServer):
    """Something that has left a file in the runtime folder."""

    def __init__(self, folder: Path, *, about: int, epochs: tuple[str, ...] = ()) -> None:
        super().__init__(("127.0.0.1", 0), ForeignHandler)
        #: The status of its description.
        self.about = about
        #: The runs that it says it is, one after the other.
        self.epochs = list(epochs)
        #: The keys of the calls that got no answer.
        self.keys: list[str | None] = []
        content = {
            "url": f"http://127.0.0.1:{self.server_port}/",
            "root_dir": str(folder / "notebooks"),
            # A process of this user.
            "pid": os.getpid(),
            "token": "secret-token",
            "password": True,
        }
        (folder / "runtime").mkdir()
        (folder / "runtime" / "jpserver-1.json").write_text(json.dumps(content))


@contextmanager
def run_foreign_server(folder: Path, **options: Any) -> Iterator[ForeignServer]:
    with ForeignServer(folder, **options) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class ForeignHandler(BaseHTTPRequestHandler):
    server: ForeignServer

    def do_GET(self) -> None:
        self.send_response(self.server.about)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if self.server.epochs:
            epoch = self.server.epochs.pop(0)
            about = {"name": "jupyter_nbedit", "version": "1", "mode": "edit", "epoch": epoch}
            self.wfile.write(json.dumps(about).encode())

    def do_POST(self) -> None:
        self.server.keys.append(self.headers.get("Idempotency-Key"))
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.threat("S34")
def test_a_server_that_denies_access_is_not_passed_over(tmp_path: Path) -> None:
    with run_bridge(tmp_path) as bridge, run_foreign_server(tmp_path, about=403):
        (tmp_path / "notebooks" / NAME).write_bytes(TEXT)
        refusal = bridge.fail("notebook_edit", path=NAME, operations=[INSERT])
        assert refusal.startswith("access_denied: ")
        assert "secret-token" not in refusal
    assert (tmp_path / "notebooks" / NAME).read_bytes() == TEXT


def test_an_edit_beside_a_server_without_the_extension_says_that_its_tab_does_not_follow(
    tmp_path: Path,
) -> None:
    with run_bridge(tmp_path) as bridge, run_foreign_server(tmp_path, about=404) as server:
        (tmp_path / "notebooks" / NAME).write_bytes(TEXT)
        assert "<note>" not in bridge.call("notebook_read", path=NAME)
        text = bridge.call("notebook_edit", path=NAME, operations=[INSERT])
        assert f"<note>http://127.0.0.1:{server.server_port}/ serves this" in text
    assert count_cells(tmp_path / "notebooks" / NAME) == 4


READ = ToolCall("notebook_read", {"path": NAME}, None)
EDIT = ToolCall("notebook_edit", {"path": NAME, "operations": [INSERT]}, None)
UNDO = ToolCall("notebook_history", {"path": NAME, "action": "undo"}, None)
LIST = ToolCall("notebook_history", {"path": NAME, "action": "list"}, None)


@pytest.mark.parametrize(
    ("call", "epochs", "count"),
    [
        # What only reads may be repeated, and so may a change that the same run remembers.
        (READ, ("1", "2"), 2),
        (LIST, ("1", "2"), 2),
        (EDIT, ("1", "1", "1"), 2),
        (UNDO, ("1", "1", "1"), 2),
        (EDIT, ("1", "2", "2"), 1),
        (UNDO, ("1", "2", "2"), 1),
    ],
)
def test_a_change_is_not_sent_twice_to_two_runs_of_a_server(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: ToolCall,
    epochs: tuple[str, ...],
    count: int,
) -> None:
    for variable, value in build_environment(tmp_path).items():
        monkeypatch.setenv(variable, value)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / NAME).write_bytes(TEXT)
    with run_foreign_server(tmp_path, about=200, epochs=epochs) as server:
        answer = call_tool(BridgeCaller(str(tmp_path / "notebooks")), call)
    assert answer.is_error
    assert "connection_lost: " in answer.content[0]["text"]
    assert len(server.keys) == count
    assert len(set(server.keys)) == 1
    assert None not in server.keys


def call_tool(caller: BridgeCaller, call: ToolCall) -> ToolAnswer:
    return asyncio.run(caller.call_tool(call))


# Folders ------------------------------------------------------------------------------------------


@pytest.mark.threat("S34")
def test_nothing_outside_of_the_root_is_read_or_written(tmp_path: Path) -> None:
    root, outside = tmp_path / "notebooks" / "root", tmp_path / "notebooks" / "outside.ipynb"
    root.mkdir(parents=True)
    (root / NAME).write_bytes(TEXT)
    outside.write_bytes(TEXT)
    (root / "link.ipynb").symlink_to(outside)
    (root / "up").symlink_to(outside.parent)
    outside_paths = ("../outside.ipynb", str(outside), "link.ipynb", "up/outside.ipynb", "/x.ipynb")
    with run_bridge(tmp_path, "--root", str(root)) as bridge:
        for path in outside_paths:
            assert bridge.fail("notebook_read", path=path).startswith("outside_root: ")
            refusal = bridge.fail("notebook_edit", path=path, operations=[INSERT])
            assert refusal.startswith("outside_root: ")
        for path in ("../new.ipynb", "up/new.ipynb"):
            assert bridge.fail("notebook_create", path=path).startswith("outside_root: ")
        assert bridge.fail("notebook_search", text="x", folder="..").startswith("outside_root: ")
        assert bridge.fail("notebook_read", path="a\0.ipynb").startswith("invalid_request: ")
        assert bridge.fail("notebook_read").startswith("invalid_request: ")
        for tool, argument in (("notebook_read", "path"), ("notebook_search", "folder")):
            refusal = bridge.fail(tool, **{argument: 7})
            assert refusal.startswith("invalid_request: ")
            assert f"$.{argument}" in refusal
        for folder in ({}, {"folder": "/"}, {"folder": str(root)}):
            assert "outside" not in bridge.call("notebook_search", text="Title", **folder)
    assert outside.read_bytes() == TEXT
    assert sorted(file.name for file in root.parent.iterdir()) == ["outside.ipynb", "root"]


#: Values of an argument that is a path: those that mean the root, and all others.
ROOTS: tuple[Any, ...] = (
    None,
    "",
    "/",
    "//",
    ".",
    "./",
    "{root}",
    "{root}/",
    "../root",
    "../root/",
    "{root}/./",
)
NO_ROOTS: tuple[Any, ...] = (
    *("..", "../", "./..", "../.", "../outside", "../outside/", "{root}/..", "{root}/../outside/"),
    *("up", "up/outside", "/outside", "~", " ", "\ud800", "a\0", "..\\outside", "file://{root}/.."),
    *(0, False, 1.5, [], [None], ["../outside"], {}, {"path": None}, '["../outside"]', "null"),
)
#: Arguments that need a path of a notebook.
CALLS: dict[str, dict[str, Any]] = {
    "notebook_read": {},
    "notebook_edit": {"operations": [INSERT]},
    "notebook_create": {"cells": [{"source": "SECRET"}]},
    "notebook_history list": {"action": "list"},
    "notebook_history show": {"action": "show", "edit_id": 1},
    "notebook_history undo": {"action": "undo"},
    "notebook_history proposal": {"action": "proposal"},
}


@pytest.mark.threat("S34")
@pytest.mark.parametrize("way", ["with a server", "without"])
def test_no_value_of_a_path_leads_out_of_the_root(tmp_path: Path, way: str) -> None:
    root, outside = tmp_path / "notebooks" / "root", tmp_path / "notebooks" / "outside"
    root.mkdir(parents=True)
    outside.mkdir()
    (root / NAME).write_bytes(samples.notebook(samples.code("SECRET = 1", "a")))
    secret = samples.notebook(samples.code("SECRET = 'hunter2'", "s"))
    for name in (NAME, "b.ipynb", ".ipynb"):
        (outside / name).write_bytes(secret)
    (root / "up").symlink_to(root.parent)
    with ExitStack() as stack:
        if way == "with a server":
            stack.enter_context(run_server(tmp_path))
        bridge = stack.enter_context(run_bridge(tmp_path, "--root", str(root)))
        for value in (*ROOTS, *NO_ROOTS):
            folder = value.format(root=root) if isinstance(value, str) else value
            for text in ({}, {"text": "SECRET"}, {"text": "SECRET", "cursor": None}):
                if value in ROOTS and not isinstance(value, bool | int):
                    found = bridge.call("notebook_search", folder=folder, **text)
                    assert found == bridge.call("notebook_search", **text), folder
                    assert "outside" not in found
                else:
                    bridge.fail("notebook_search", folder=folder, **text)
            for tool, arguments in CALLS.items():
                refusal = bridge.fail(tool.partition(" ")[0], path=folder, **arguments)
                assert "hunter2" not in refusal
                if value is None:
                    assert refusal == bridge.fail(tool.partition(" ")[0], **arguments)
    files = [*outside.iterdir(), *(file for file in root.parent.iterdir() if file.is_file())]
    assert sorted(file.name for file in files) == [".ipynb", NAME, "b.ipynb"]
    assert all(file.read_bytes() == secret for file in files)


@pytest.mark.threat("S34")
@pytest.mark.parametrize("way", ["with a server", "without"])
def test_a_proposal_for_a_notebook_outside_of_the_root_is_not_shown(
    tmp_path: Path, way: str
) -> None:
    root = tmp_path / "notebooks" / "root"
    root.mkdir(parents=True)
    for folder in (root, root.parent):
        (folder / NAME).write_bytes(TEXT)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "jupyter_config.py").write_text("c.NbEditApp.mode = 'review'\n")
    ask = {"action": "proposal", "proposal_id": 1}
    with ExitStack() as stack:
        if way == "with a server":
            stack.enter_context(run_server(tmp_path))
        with run_bridge(tmp_path) as bridge:
            bridge.call("notebook_edit", path=NAME, operations=[INSERT])
            assert "proposal 1 | pending" in bridge.call("notebook_history", **ask)
        with run_bridge(tmp_path, "--root", str(root)) as bridge:
            for arguments in (ask, {**ask, "path": str(root / NAME)}):
                refusal = bridge.fail("notebook_history", **arguments)
                assert refusal.startswith("outside_root: ")
            refusal = bridge.fail("notebook_history", **{**ask, "proposal_id": 1.0})
            assert refusal.startswith("invalid_request: ")
            bridge.call("notebook_edit", path=str(root / NAME), operations=[INSERT])
            text = bridge.call("notebook_history", **{**ask, "proposal_id": 2})
            assert "proposal 2 | pending" in text


def test_a_call_without_a_path_is_about_the_folder_that_the_given_server_serves(
    tmp_path: Path,
) -> None:
    with run_server(tmp_path) as server:
        (tmp_path / "notebooks" / NAME).write_bytes(TEXT)
        url = f"http://127.0.0.1:{server.port}/"
        with run_bridge(tmp_path, "--url", url, cwd=tmp_path) as bridge:
            assert bridge.call("notebook_search") == f"1 notebook\n{NAME}"


def test_a_relative_path_that_means_two_notebooks_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "notebooks"
    for folder in (root, root / "notebooks"):
        folder.mkdir()
        (folder / NAME).write_bytes(TEXT)
    caller = BridgeCaller(str(root))
    caller._paths.add_folder(str(tmp_path))
    call = ToolCall("notebook_read", {"path": f"notebooks/{NAME}"}, None)
    answer = call_tool(caller, call)
    assert answer.is_error
    assert answer.content[0]["text"].startswith("ambiguous_path: ")


@pytest.mark.parametrize("options", [("--root", "missing"), ("--token-file", "token")])
def test_options_that_cannot_be_used_end_the_bridge(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    process = subprocess.run(
        [*COMMAND, "mcp", *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=build_environment(tmp_path),
        stdin=subprocess.DEVNULL,
    )
    assert (process.returncode, process.stdout) == (2, "")
    assert options[0] in process.stderr
