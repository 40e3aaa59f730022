"""How each toolset reports a failure."""

from __future__ import annotations

from typing import Any

from tests.handlers.error_checks import assert_no_local_names
from tests.support.http import Answer


def parse_failure(tool: str, answer: Answer, given_path: str = "") -> str:
    """Check that a tool fails in the form of its toolset, and return its message.

    A path that the caller sent may stand in it, and no other of this machine.
    """
    dialect = tool.partition("/")[0]
    body = answer.json
    assert answer.status >= 400, answer.body
    assert answer.headers["Content-Type"].startswith("application/json")
    message = _PARSERS[dialect](body)
    assert len(message) > len("Not a sentence."), answer.body
    assert message.endswith(".") or "Available ids" in message or "headings are" in message
    text = answer.body.decode()
    assert_no_local_names(text.replace(given_path, "").encode())
    return message


def _parse_nexo(body: dict[str, Any]) -> str:
    assert list(body) == ["error", "message", "details"]
    assert body["error"][0].isupper()
    return str(body["message"])


def _parse_mycode(body: dict[str, Any]) -> str:
    assert list(body) == ["success", "cell_id", "cell_index", "error", "summary"]
    assert (body["success"], body["cell_index"]) == (False, None)
    assert body["summary"].endswith(body["error"])
    return str(body["error"])


def _parse_omp(body: dict[str, Any]) -> str:
    assert list(body) == ["content"]
    assert body["content"][0]["text"].startswith("Error: ")
    return _parse_text(body)


def _parse_sections(body: dict[str, Any]) -> str:
    assert list(body) == ["success", "message"]
    assert body["success"] is False
    return str(body["message"])


def _parse_claude_code(body: dict[str, Any]) -> str:
    assert list(body) == ["content", "isError"]
    assert body["isError"] is True
    return _parse_text(body)


def _parse_text(body: dict[str, Any]) -> str:
    (block,) = body["content"]
    assert list(block) == ["type", "text"]
    return str(block["text"])


_PARSERS = {
    "nexo": _parse_nexo,
    "mycode": _parse_mycode,
    "omp": _parse_omp,
    "sections": _parse_sections,
    "claude_code": _parse_claude_code,
}
