"""Requests of a browser and an agent, and checks of every edit."""

from __future__ import annotations

import json
from typing import Any

from tests.support.http import JSON, Answer, Client


def get_contents(client: Client, path: str, query: str = "") -> dict[str, Any]:
    """GET from the Contents API, as a browser does that opens a file."""
    answer = client.request("GET", f"api/contents/{path}?{query}")
    assert answer.status == 200, answer.body
    model: dict[str, Any] = answer.json
    return model


def save(client: Client, path: str, model: dict[str, Any]) -> None:
    """PUT to the Contents API, as a browser does that saves a file."""
    answer = client.request("PUT", f"api/contents/{path}", json.dumps(model).encode(), JSON)
    assert answer.status in {200, 201}, answer.body


def write_file(client: Client, path: str, text: bytes) -> None:
    """Upload a file, which is kept as it is."""
    save(client, path, {"type": "file", "format": "text", "content": text.decode()})


def call_tool(client: Client, name: str, **fields: Any) -> Answer:
    """Call an agent's tool."""
    return client.request("POST", f"nbedit/tools/{name}", json.dumps(fields).encode(), JSON)


def assert_edited(answer: Answer, kind: str, *, preserved: bool) -> dict[str, Any]:
    """Check a reply, and return it."""
    assert answer.status in {200, 201}, answer.body
    reply: dict[str, Any] = answer.json
    assert (reply["applied_via"], reply["bytes_preserved"]) == (kind, preserved)
    assert (reply["persisted"], reply["warnings"]) == (True, [])
    return reply
