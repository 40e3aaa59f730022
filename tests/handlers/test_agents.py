"""The route of the page "Connect an Agent"."""

import json
import shlex
import sys
import sysconfig
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.handlers.faults import lose_database
from tests.handlers.requests import replace
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client, Local

SERVER = "https://hub.example.org/user/ada%40b/"
URL = f"{SERVER}nbedit/mcp"


def get_agents(client: Client, target: str = "nbedit/agents") -> Any:
    answer = client.request("GET", target)
    assert answer.status == 200, answer.body
    assert client.token.encode() not in answer.body
    return answer.json


def test_each_client_has_a_local_and_a_remote_set_up(live: Client) -> None:
    reply = get_agents(live, f"nbedit/agents?url={quote(URL)}")
    bridge = Path(sysconfig.get_path("scripts"), "jupyter-nbedit")
    assert reply["bridge"] == str(bridge.with_suffix(".exe" if sys.platform == "win32" else ""))
    clients = {client["id"]: client for client in reply["clients"]}
    assert {"claude", "codex", "gemini", "vscode", "cursor", "zed", "jupyter-ai"} <= set(clients)
    for client in clients.values():
        local, remote = client["local"], client["remote"]
        assert (local["starts_bridge"], SERVER in local["text"]) == (True, False)
        assert str(bridge) in local["text"]
        # A bridge takes the address of the server.
        assert (SERVER in remote["text"], str(bridge) in remote["text"]) == (True, False)
        assert (URL in remote["text"]) != remote["starts_bridge"]
        # What is not a command is put into a file, by a person or by a command.
        assert (local["write_command"] is None) == (local["kind"] == "command")
        assert remote["write_command"] is None
    assert shlex.split(clients["claude"]["local"]["text"])[-2:] == [str(bridge), "mcp"]
    assert shlex.split(clients["cursor"]["local"]["write_command"]) == [
        str(bridge),
        "setup",
        "cursor",
        "--write",
    ]
    assert [client["remote"]["starts_bridge"] for client in reply["clients"]].count(True) == 2


def test_without_a_url_the_endpoint_is_that_of_the_request(live: Client) -> None:
    (claude, *_) = get_agents(live)["clients"]
    assert f"http://127.0.0.1:{live.port}/nbedit/mcp" in claude["remote"]["text"]


async def test_each_agent_has_its_last_edit(local: Local, jp_ws_fetch: Any) -> None:
    for name in ("a.ipynb", "b.ipynb"):
        (local.root / name).write_bytes(samples.three_cells())
    numbers = {}
    for client, path in (("Zed", "b.ipynb"), ("Claude Code", "a.ipynb"), ("Zed", "a.ipynb")):
        answer = await local.patch(path, replace("beta", f"{client} {path}"), client=client)
        numbers[client] = answer.json["edit_id"]
    nameless = (await local.patch("b.ipynb", replace("beta", "x"))).json["edit_id"]
    # Not an agent, and edits of a notebook that is not there any more.
    socket = await jp_ws_fetch("nbedit", "tabs")
    page = {"X-NbEdit-Page": json.loads(await socket.read_message())["page"]}
    body = {"operations": [replace("alpha", "y")], "client": "JupyterLab"}
    answer = await local.send_json("PATCH", "notebooks/a.ipynb", body, page)
    assert answer.status == 200
    socket.close()
    (local.root / "c.ipynb").write_bytes(samples.three_cells())
    await local.patch("c.ipynb", replace("beta", "z"), client="Codex")
    (local.root / "c.ipynb").unlink()
    reply = (await local.request("GET", "nbedit", "agents")).json
    assert [(edit["client"], edit["edit_id"]) for edit in reply["last_edits"]] == [
        (None, nameless),
        ("Zed", numbers["Zed"]),
        ("Claude Code", numbers["Claude Code"]),
    ]


def test_the_set_up_is_shown_if_the_history_cannot_be_read(
    live: Client, notebook: Notebook
) -> None:
    with lose_database(live, notebook.path):
        reply = get_agents(live)
    assert (reply["last_edits"], len(reply["clients"])) == (None, 9)
