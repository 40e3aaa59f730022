"""Messages of the Model Context Protocol as clients send them, and their replies."""

import json
from collections.abc import Mapping
from typing import Any

from tests.support.http import JSON, Answer, Client

MODERN, LEGACY = "2026-07-28", "2025-11-25"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
#: What each request of version 2026-07-28 has.
META: Mapping[str, Any] = {
    VERSION_KEY: MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "an-agent", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def build_message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def build_call(tool: str, **arguments: Any) -> dict[str, Any]:
    return build_message("tools/call", name=tool, arguments=arguments)


def make_modern(message: Mapping[str, Any], **meta: Any) -> dict[str, Any]:
    """Return a message of version 2026-07-28; ``meta`` replaces members of its `_meta`."""
    return {**message, "params": {**message["params"], "_meta": {**META, **meta}}}


def build_headers(message: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that version 2026-07-28 requires of a message."""
    name = message["params"].get("name")
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
    return {**JSON, **headers, **({} if name is None else {"Mcp-Name": name})}


def post(
    live: Client, message: Any, headers: Mapping[str, str] | None = None, **options: Any
) -> Answer:
    """Send a message, or bytes as they are."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return live.request("POST", "nbedit/mcp", body, {**JSON, **(headers or {})}, **options)


def get_result(answer: Answer) -> dict[str, Any]:
    """Check that a message has a result, and return it."""
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == "application/json"
    reply = answer.json
    assert list(reply) == ["jsonrpc", "id", "result"], reply
    assert reply["id"] == 7
    result: dict[str, Any] = reply["result"]
    return result


def get_text(result: Mapping[str, Any], *, is_error: bool = False) -> str:
    """Return the text that a model gets of a call."""
    assert result["isError"] is is_error, result
    assert "structuredContent" not in result
    (block,) = result["content"]
    assert block["type"] == "text"
    text: str = block["text"]
    return text
