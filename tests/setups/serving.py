"""Servers of processes of their own, set up as a configuration file says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_nbedit.demo import server
from tests.support.http import JSON, Answer, Client

# What the environments of the stage `setups` would switch on by themselves.
_OTHERS = (
    "jupyter_lsp",
    "jupyter_server_documents",
    "jupyter_server_fileid",
    "jupyter_server_terminals",
    "jupyter_server_ydoc",
    "jupyterlab",
    "jupyterlab_jupytext",
    "notebook_shim",
)


@contextmanager
def serving(folder: Path, configuration: str, *extensions: str) -> Iterator[Client]:
    """Run a server with our extension, and of all others only those that are named.

    Parameters
    ----------
    folder
        Everything the server writes goes in here; it serves the folder ``notebooks`` in it.
    configuration
        What stands in its ``jupyter_server_config.py``.
    extensions
        The modules of the other extensions.
    """
    wanted = {"jupyter_nbedit": True}
    wanted |= {name: name in extensions for name in (*_OTHERS, *extensions)}
    (folder / "notebooks").mkdir(parents=True)
    (folder / "config").mkdir()
    (folder / "config" / "jupyter_server_config.py").write_text(
        f"c = get_config()\nc.ServerApp.jpserver_extensions = {wanted!r}\n{configuration}"
    )
    with server.running("jupyter_server", folder) as running:
        yield Client(running.port, running.token, running.root)


def contents(client: Client, path: str, query: str = "") -> dict[str, Any]:
    """GET from the Contents API, as a browser does that opens a file."""
    answer = client.request("GET", f"api/contents/{path}?{query}")
    assert answer.status == 200, answer.body
    model: dict[str, Any] = answer.json
    return model


def save(client: Client, path: str, model: dict[str, Any]) -> None:
    """PUT to the Contents API, as a browser does that saves a file."""
    answer = client.request("PUT", f"api/contents/{path}", json.dumps(model).encode(), JSON)
    assert answer.status in {200, 201}, answer.body


def keep(client: Client, path: str, text: bytes) -> None:
    """Upload a file, which is kept as it is."""
    save(client, path, {"type": "file", "format": "text", "content": text.decode()})


def tool(client: Client, name: str, **fields: Any) -> Answer:
    """Call an agent's tool."""
    return client.request("POST", f"nbedit/tools/{name}", json.dumps(fields).encode(), JSON)


def assert_edited(answer: Answer, kind: str, *, preserved: bool) -> dict[str, Any]:
    """Check what a reply promises, and give it."""
    assert answer.status in {200, 201}, answer.body
    reply: dict[str, Any] = answer.json
    assert (reply["applied_via"], reply["bytes_preserved"]) == (kind, preserved)
    assert (reply["persisted"], reply["warnings"]) == (True, [])
    return reply
