"""How each dialect says that nothing was done."""

from __future__ import annotations

from typing import Any

from tests.handlers.error_checks import assert_says_nothing_of_this_machine
from tests.support.http import Answer


def failure(tool: str, answer: Answer, given_path: str = "") -> str:
    """Check that a tool refuses in its dialect's form, and give its message.

    A path that the caller sent may stand in it, and no other of this machine.
    """
    dialect = tool.partition("/")[0]
    body = answer.json
    assert answer.status >= 400, answer.body
    assert answer.headers["Content-Type"].startswith("application/json")
    message = _SAID[dialect](body)
    assert len(message) > len("Not a sentence."), answer.body
    assert message.endswith(".") or "Available ids" in message or "headings are" in message
    written = answer.body.decode()
    assert_says_nothing_of_this_machine(written.replace(given_path, "").encode())
    return message


def _nexo(body: dict[str, Any]) -> str:
    assert list(body) == ["error", "message", "details"]
    assert body["error"][0].isupper()
    return str(body["message"])


def _mycode(body: dict[str, Any]) -> str:
    assert list(body) == ["success", "cell_id", "cell_index", "error", "summary"]
    assert (body["success"], body["cell_index"]) == (False, None)
    assert body["summary"].endswith(body["error"])
    return str(body["error"])


def _omp(body: dict[str, Any]) -> str:
    assert list(body) == ["content"]
    assert body["content"][0]["text"].startswith("Error: ")
    return _text(body)


def _sections(body: dict[str, Any]) -> str:
    assert list(body) == ["success", "message"]
    assert body["success"] is False
    return str(body["message"])


def _claude_code(body: dict[str, Any]) -> str:
    assert list(body) == ["content", "isError"]
    assert body["isError"] is True
    return _text(body)


def _text(body: dict[str, Any]) -> str:
    (block,) = body["content"]
    assert list(block) == ["type", "text"]
    return str(block["text"])


_SAID = {
    "nexo": _nexo,
    "mycode": _mycode,
    "omp": _omp,
    "sections": _sections,
    "claude_code": _claude_code,
}
