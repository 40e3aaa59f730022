"""Requests of tests, and what they find on disk afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jupyter_nbedit.app import NbEditApp
from jupyter_nbedit.wiring import WiredServices
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local
from tests.support.waiting import wait_until

# As people have them: CRLF, tabs, escapes, keys in odd order and no newline at the end.
ODD = (
    samples.three_cells().replace(b"\n ", b"\r\n\t").replace(b"# Title", b"# T\\u00eftle \\/")[:-1]
)


def replace(cell: str | int, source: str, **members: Any) -> dict[str, Any]:
    """Return the operation that replaces the source of a cell."""
    return {"op": "replace", "cell": cell, "source": source, **members}


def send_json(
    client: Client,
    verb: str,
    target: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send a value as JSON to a route below ``nbedit``; without one, send an empty object."""
    sent = json.dumps({} if body is None else body).encode()
    return client.request(verb, f"nbedit/{target}", sent, {**JSON, **(headers or {})})


async def send_json_locally(
    local: Local,
    verb: str,
    target: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    **query: Any,
) -> Answer:
    """Do the same with the server in the test's own loop."""
    sent = json.dumps({} if body is None else body).encode()
    sent_headers = {**JSON, **(headers or {})}
    return await local.request(
        verb, "nbedit", target, body=sent, headers=sent_headers, params=query
    )


def get_json(client: Client, target: str) -> Any:
    """Return the JSON of a route below ``nbedit``."""
    answer = client.request("GET", f"nbedit/{target}")
    assert answer.status == 200, answer.body
    return answer.json


def get_number(answer: Answer, status: int, name: str) -> int:
    """Check the status of an answer and return one of its numbers."""
    assert answer.status == status, answer.body
    number: int = answer.json[name]
    return number


def edit(client: Client, path: str, /, *operations: Mapping[str, Any], **fields: Any) -> int:
    """Edit a notebook and return the number of the edit."""
    return get_number(client.patch(path, *operations, **fields), 200, "edit_id")


def undo(client: Client, path: str, verb: str = "undo", /, **body: Any) -> Answer:
    """Undo or redo an edit of a notebook."""
    headers = body.pop("headers", None)
    return send_json(client, "POST", f"notebooks/{path}/{verb}", body, headers)


def set_mode(client: Client, mode: str | None, path: str | None = None) -> Any:
    """Set the mode of a notebook or, without a path, of the server."""
    body = {"mode": mode, **({} if path is None else {"path": path})}
    answer = send_json(client, "PUT", "mode", body)
    assert answer.status == 200, answer.body
    return answer.json


def propose(client: Client, path: str, /, *operations: Mapping[str, Any], **fields: Any) -> int:
    """Propose a change of a notebook in review mode and return the number of the proposal."""
    return get_number(client.patch(path, *operations, **fields), 202, "proposal_id")


def decide(client: Client, number: int, verb: str = "accept", /, **body: Any) -> Answer:
    """Accept or reject a proposal."""
    headers = body.pop("headers", None)
    return send_json(client, "POST", f"proposals/{number}/{verb}", body, headers)


def rename(client: Client, old: str, new: str) -> None:
    """Rename a file or folder by the Contents API."""
    body = json.dumps({"path": new}).encode()
    answer = client.request("PATCH", f"api/contents/{old}", body, JSON)
    assert answer.status == 200, answer.body


def wait_for_events(client: Client, folder: str = "") -> None:
    """Wait until the server has processed all events of the contents manager so far."""
    old, new = f"{folder}marker.ipynb", f"{folder}marker2.ipynb"
    (client.root / old).write_bytes(samples.three_cells())
    set_mode(client, "review", old)
    number = propose(client, old, replace(0, "marked"))
    rename(client, old, new)
    # Proposals follow last.
    wait_until(lambda: get_json(client, f"proposals?path={new}")["proposals"])
    assert decide(client, number, "reject").status == 200
    (client.root / new).unlink()


def list_sources(client: Client, path: str) -> list[str]:
    """Return the sources of the cells of a notebook on disk."""
    cells = samples.load_cells((client.root / path).read_bytes())
    return ["".join(cell["source"]) for cell in cells]


def find_services(jp_serverapp: Any) -> WiredServices:
    """Return the services of a server that runs in the test's own loop."""
    (found,) = jp_serverapp.extension_manager.extension_apps["jupyter_nbedit"]
    assert isinstance(found, NbEditApp)
    assert found.wired is not None
    return found.wired


class Visitor:
    """A browser: has the server's cookies and knows no token."""

    def __init__(self, live: Client) -> None:
        given = live.request("GET", "api/status").headers.get_list("Set-Cookie")
        page = live.request("GET", "login", token="").headers.get_list("Set-Cookie")
        cookies = dict(cookie.split(";")[0].split("=", 1) for cookie in (*given, *page))
        self.xsrf = cookies["_xsrf"]
        self.cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        self.own_origin = f"http://127.0.0.1:{live.port}"
