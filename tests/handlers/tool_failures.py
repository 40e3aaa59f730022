"""How each toolset reports a failure."""

from typing import Any

from tests.handlers.error_checks import assert_no_local_names
from tests.support.http import Answer


def parse_failure(tool: str, answer: Answer, given_path: str = "") -> str:
    """Check that a tool fails in the form of its toolset, and return its message.

    A path that the caller sent may stand in it, and no other of this machine.
    """
    body = answer.json
    assert answer.status >= 400, answer.body
    assert answer.headers["Content-Type"].startswith("application/json")
    names, message = _read_failure(tool.partition("/")[0], body)
    assert list(body) == names
    assert len(message) > len("Not a sentence."), answer.body
    is_complete = message.endswith(".") or "Available ids" in message or "headings are" in message
    # It may end with the source of a cell.
    assert is_complete or tool.startswith("agent/")
    text = answer.body.decode()
    assert_no_local_names(text.replace(given_path, "").encode(), answer.root)
    return message


def _read_failure(toolset: str, body: dict[str, Any]) -> tuple[list[str], str]:
    """Return the names of the members that a toolset's failures have, and the message."""
    if toolset == "nexo":
        assert body["error"][0].isupper()
        return ["error", "message", "details"], body["message"]
    if toolset == "mycode":
        assert (body["success"], body["cell_index"]) == (False, None)
        assert body["summary"].endswith(body["error"])
        return ["success", "cell_id", "cell_index", "error", "summary"], body["error"]
    if toolset == "sections":
        assert body["success"] is False
        return ["success", "message"], body["message"]
    (block,) = body["content"]
    assert list(block) == ["type", "text"]
    if toolset == "omp":
        assert block["text"].startswith("Error: ")
        return ["content"], block["text"]
    assert body["isError"] is True
    return ["content", "isError"], block["text"]
