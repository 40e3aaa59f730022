"""Requests of a browser and an agent, and checks of every edit."""

import json
from collections.abc import Callable
from typing import Any, Literal

from jupyter_nbedit.storage.contents.manager_locks import EXPECTED_HASH, SAVED_HASH
from tests.handlers.error_checks import get_error
from tests.support.deltas import apply_delta
from tests.support.http import JSON, Answer, Client

_FOR_TABS = "type=notebook&hash=1"


def get_contents(client: Client, path: str, query: str = "") -> dict[str, Any]:
    """GET from the Contents API, as a browser does that opens a file."""
    answer = client.request("GET", f"api/contents/{path}?{query}")
    assert answer.status == 200, answer.body
    model: dict[str, Any] = answer.json
    return model


def save(client: Client, path: str, model: dict[str, Any]) -> dict[str, Any]:
    """PUT to the Contents API, as a browser does that saves a file; return the reply."""
    answer = client.request("PUT", f"api/contents/{path}", json.dumps(model).encode(), JSON)
    assert answer.status in {200, 201}, answer.body
    reply: dict[str, Any] = answer.json
    return reply


def write_file(client: Client, path: str, text: bytes) -> None:
    """Upload a file, which is kept as it is."""
    save(client, path, {"type": "file", "format": "text", "content": text.decode()})


def call_tool(client: Client, name: str, **fields: Any) -> Answer:
    """Call an agent's tool."""
    return client.send_json("POST", f"tools/{name}", fields)


def assert_edited(answer: Answer, kind: str, *, preserved: bool) -> dict[str, Any]:
    """Check a reply, and return it."""
    assert answer.status in {200, 201}, answer.body
    reply: dict[str, Any] = answer.json
    assert (reply["applied_via"], reply["bytes_preserved"]) == (kind, preserved)
    assert (reply["persisted"], reply["warnings"]) == (True, [])
    return reply


def get_hash(client: Client, path: str) -> str:
    """Return our hash of a notebook."""
    answer = client.request("HEAD", f"nbedit/notebooks/{path}")
    assert answer.status == 200, answer.body
    return str(answer.headers["ETag"].strip('"'))


def save_as_tab(client: Client, path: str, model: dict[str, Any]) -> str | None:
    """Save a notebook as an open tab does; return the hash that the reply gives for it."""
    expected = model.get("hash") or get_hash(client, path)
    reply = save(client, path, {**model, EXPECTED_HASH: expected})
    found: str | None = reply.get(SAVED_HASH)
    return found


def list_sources(cells: list[dict[str, Any]]) -> list[str]:
    return [cell["source"] for cell in cells]


def follow_with_full_reads(
    client: Client, path: str, edit: Callable[[], object]
) -> Literal["none", "same", "other"]:
    """Check that an open tab reads the whole notebook after an edit, with the edit.

    Return what the hash of the Contents API is: none, the same as ours, or another one.
    """
    before = get_contents(client, path, _FOR_TABS)
    hashes = {str(before.get("hash")), get_hash(client, path)}
    edit()
    for since in hashes | {get_hash(client, path)}:
        get_error(client.read(path, since=since, view="nbformat"), 410, "version_unknown")
    after = get_contents(client, path, _FOR_TABS)
    cells = after["content"]["cells"]
    assert list_sources(cells) != list_sources(before["content"]["cells"])
    assert list_sources(cells) == list_sources(client.read(path).json["cells"])
    # By this the tab knows that it is current, if our hash is another one.
    seen = get_contents(client, path, "content=0&hash=1")
    assert (seen.get("hash"), seen["last_modified"]) == (after.get("hash"), after["last_modified"])
    if after.get("hash") is None:
        return "none"
    return "same" if after["hash"] == get_hash(client, path) else "other"


def follow_with_delta(client: Client, path: str, edit: Callable[[], object]) -> None:
    """Check that an open tab reads only what an edit changed, and nothing after a save."""
    # Our server knows the versions that it has sent.
    since = client.read(path).json["hash"]
    before = get_contents(client, path, _FOR_TABS)
    edit()
    delta = client.read(path, since=since, view="nbformat").json
    after = get_contents(client, path, _FOR_TABS)
    assert (before["hash"], delta["hash"]) == (since, after["hash"])
    assert any("copy" in part for part in delta["cells"])
    applied, content = apply_delta(before["content"], delta), after["content"]
    for cell in (*applied["cells"], *content["cells"]):
        assert cell["metadata"].pop("trusted", delta["trusted"]) is delta["trusted"]
    assert applied == {name: content[name] for name in applied}
    assert save_as_tab(client, path, after) == get_hash(client, path)
