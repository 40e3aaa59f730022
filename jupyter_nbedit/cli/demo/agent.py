"""The agent of the demo: send the requests of the script, print and check the responses."""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from jupyter_nbedit.cli.demo import DemoError

if TYPE_CHECKING:
    from jupyter_nbedit.cli.demo.script import Step
    from jupyter_nbedit.cli.demo.server import Server

CLIENT = "demo agent"


class BrokenPromiseError(DemoError):
    """A response, or the file, is not as documented."""


@dataclass(frozen=True)
class Exchange:
    """A request of the agent, the response, and the file before and after."""

    step: Step
    status: int
    reply: dict[str, Any]
    before: bytes
    after: bytes


def send(server: Server, step: Step) -> Exchange:
    """Send one step, and print the request, the response and the diff of the file."""
    file = server.root / step.path
    route = f"/nbedit/notebooks/{step.path}"
    request = {"operations": list(step.operations), "client": CLIENT, "message": step.message}

    before = file.read_bytes()
    status, reply = server.send_request("PATCH", route, request)
    after = file.read_bytes()

    print(f"\n# {step.message}")
    print(f"PATCH {route}\n{json.dumps(request, indent=2)}\n")
    print(f"{status} {HTTPStatus(status).phrase}\n{json.dumps(reply, indent=2)}\n")
    print(compute_file_diff(step.path, before, after), flush=True)
    return Exchange(step, status, reply, before, after)


def check(exchange: Exchange) -> None:
    """Check a response against the documentation and against the file.

    Raises
    ------
    BrokenPromiseError
        The status or the reply is not as documented.
    """
    step, status, reply = exchange.step, exchange.status, exchange.reply
    if step.expected_reason is not None:
        _check_promise(status >= HTTPStatus.BAD_REQUEST, f"an error, not the status {status}")
        _check_promise(
            reply["reason"] == step.expected_reason, f"the reason {step.expected_reason}"
        )
        _check_promise(exchange.after == exchange.before, "a file that an error leaves unchanged")
        return
    _check_promise(status == HTTPStatus.OK, f"the status 200, not {status}")
    _check_promise(reply["hash_before"] == _sha256(exchange.before), "the hash the file had")
    _check_promise(reply["hash"] == _sha256(exchange.after), "the hash of what is on disk")
    _check_promise(reply["bytes_preserved"] is True, "the bytes of everything else to be kept")


def compute_file_diff(path: str, before: bytes, after: bytes) -> str:
    """Return the unified diff of the file, in which CR LF is visible."""
    old, new = (
        content.decode().replace("\r\n", "\N{SYMBOL FOR CARRIAGE RETURN}\n").splitlines()
        for content in (before, after)
    )
    lines = list(difflib.unified_diff(old, new, path, path, n=1, lineterm=""))
    return "\n".join(lines) or "The file is unchanged."


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check_promise(is_kept: bool, promise: str) -> None:  # noqa: FBT001 - private
    if not is_kept:
        raise BrokenPromiseError(f"This was promised: {promise}.")
