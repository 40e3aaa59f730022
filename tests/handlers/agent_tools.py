"""Calls of the tools of the toolset `agent`."""

from collections.abc import Mapping
from typing import Any

from tests.support.http import Client


def call(client: Client, tool: str, arguments: Mapping[str, Any]) -> tuple[bool, str]:
    """Call a tool of the toolset `agent`; return whether it succeeded, and its text."""
    answer = client.send_json("POST", f"tools/agent/{tool}", arguments)
    return "isError" not in answer.json, answer.json["content"][0]["text"]
