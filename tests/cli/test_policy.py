"""Who may do what by the command line and the bridge, with a server and without one."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import pytest

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.offline.server import OfflineServer
from tests.cli.conftest import Shell
from tests.support import samples
from tests.support.bridge import Bridge, build_environment
from tests.support.http import JSON, Client
from tests.support.policy import MODES, PROGRAM, is_written
from tests.support.sampling import choose

OUTCOMES = {
    exit_codes.DONE: "done",
    exit_codes.PROPOSED: "proposed",
    exit_codes.REFUSED: "refused",
}
COMMANDS = ("edit", "create", "undo", "undo cells", "redo", "restore", "accept", "keep")
TOOLS = ("edit", "create", "undo", "redo")


class Send(Protocol):
    """Sends a request of the REST API, and returns the answer's JSON."""

    def __call__(self, verb: str, target: str, body: Any = None) -> Any: ...


@contextmanager
def use_no_server() -> Iterator[Send]:
    """Send requests to the file itself."""
    file = Path("a.ipynb").resolve()
    with closing(OfflineServer(file, file.parent)) as server:

        def send(verb: str, target: str, body: Any = None) -> Any:
            content = None if body is None else json.dumps(body).encode()
            return json.loads(server.send(verb, f"nbedit/{target}", content, JSON).body)

        yield send


@contextmanager
def use_server(live: Client) -> Iterator[Send]:
    """Send requests to a server."""

    def send(verb: str, target: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        return live.request(verb, f"nbedit/{target}", content, JSON).json

    yield send


def replace(cell: str, source: str) -> dict[str, Any]:
    operations = [{"op": "replace", "cell": cell, "source": source}]
    return {"operations": operations, "client": "Claude"}


@dataclass(frozen=True)
class Case:
    """Two edits of a notebook, and what the action needs."""

    first: int
    key: str
    number: int


def prepare(send: Send, action: str) -> Case:
    """Edit the notebook, which is as it was created."""
    path = "notebooks/a.ipynb"
    Path("a.ipynb").write_bytes(samples.three_cells())
    Path("new.ipynb").unlink(missing_ok=True)
    first = send("PATCH", path, replace("alpha", "x = 2"))["edit_id"]
    send("PATCH", path, replace("beta", "two"))
    key, number = send("GET", f"{path}/unseen")["cells"][0]["key"], 0
    if action == "accept":
        send("PUT", "mode", {"mode": "review", "path": "a.ipynb"})
        number = send("PATCH", path, replace("gamma", "proposed"))["proposal_id"]
    if action == "redo":
        body = {"client": "Claude"}
        number = send("POST", f"{path}/undo", body)["edit_id"]
    return Case(first, key, number)


def set_mode(send: Send, mode: str, *, has_server: bool) -> None:
    own, server = MODES[mode]
    send("PUT", "mode", {"mode": own, "path": "a.ipynb"})
    # A mode outlasts the file.
    Path("new.ipynb").write_bytes(samples.three_cells())
    send("PUT", "mode", {"mode": own, "path": "new.ipynb"})
    Path("new.ipynb").unlink()
    if has_server:
        send("PUT", "mode", {"mode": server})


def build_command(case: Case, action: str) -> list[str]:
    commands = {
        "edit": ["edit", "a.ipynb", "--insert", "edited", "--at", "end"],
        "create": ["new", "new.ipynb"],
        "undo": ["undo", "a.ipynb", str(case.first)],
        "undo cells": ["undo", "a.ipynb", "--cells", case.key],
        "redo": ["redo", "a.ipynb", str(case.number)],
        "restore": ["restore", "a.ipynb", str(case.first)],
        "accept": ["proposal", "accept", str(case.number)],
        "keep": ["keep", "a.ipynb", case.key],
    }
    return commands[action]


def call_tool(bridge: Bridge, case: Case, action: str) -> str:
    """Call the tool for an action; return the outcome."""
    number = case.number if action == "redo" else case.first
    operations = [{"op": "insert", "at": "end", "source": "edited", "cell_type": "code"}]
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "edit": ("notebook_edit", {"path": "a.ipynb", "operations": operations}),
        "create": ("notebook_create", {"path": "new.ipynb", "cells": [{"source": "new"}]}),
    }
    history = {"path": "a.ipynb", "action": action, "edit_id": number}
    name, arguments = calls.get(action, ("notebook_history", history))
    result = bridge.request("tools/call", name=name, arguments=arguments)["result"]
    text = "\n".join(block["text"] for block in result["content"])
    if result["isError"]:
        assert text.startswith("plan_mode: ")
        return "refused"
    return "proposed" if "proposed as" in text else "done"


def read_all() -> list[bytes | None]:
    files = (Path("a.ipynb"), Path("new.ipynb"))
    return [file.read_bytes() if file.exists() else None for file in files]


@pytest.mark.parametrize(
    ("place", "mode"), choose("policy of commands", product(("server", "file"), MODES), 4)
)
def test_commands_and_the_bridge_follow_the_table(
    request: pytest.FixtureRequest, tmp_path: Path, place: str, mode: str
) -> None:
    shell: Shell = request.getfixturevalue("shell" if place == "server" else "alone")
    live: Client | None = request.getfixturevalue("live") if place == "server" else None
    options = ["--offline"] if live is None else []
    environment = build_environment(tmp_path if live is None else live.root.parent)
    settings = {"NbEditApp": {} if MODES[mode][1] is None else {"mode": MODES[mode][1]}}

    def ask(way: str, action: str) -> None:
        configuration = tmp_path / "config" / "jupyter_config.json"
        configuration.parent.mkdir(exist_ok=True)
        configuration.unlink(missing_ok=True)
        with use_no_server() if live is None else use_server(live) as send:
            if live is not None:
                send("PUT", "mode", {"mode": None})
            send("PUT", "mode", {"mode": None, "path": "a.ipynb"})
            case = prepare(send, action)
            set_mode(send, mode, has_server=live is not None)
        if live is None:
            configuration.write_text(json.dumps(settings))
        before = read_all()
        if way == "command":
            result = shell.run(*build_command(case, action), *options)
            outcome = OUTCOMES[result.exit_code]
        else:
            bridge = Bridge(Path.cwd(), environment)
            outcome = call_tool(bridge, case, action)
            bridge.close()
        expected = PROGRAM[action][list(MODES).index(mode)]
        assert outcome == expected, (way, action)
        assert (read_all() != before) == is_written(action, expected), (way, action)

    try:
        for action in COMMANDS:
            ask("command", action)
        for action in choose(f"bridge {place} {mode}", TOOLS, 2):
            ask("bridge", action)
    finally:
        if live is not None:
            live.request("PUT", "nbedit/mode", b'{"mode": null}', JSON)
            live.reset_modes("a.ipynb", "new.ipynb")
