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
    """A response, or a file, is not as documented."""


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
    request = {"operations": step.operations, "client": CLIENT, "message": step.message}

    before = file.read_bytes()
    status, reply = server.send_request("PATCH", route, request)
    after = file.read_bytes()

    print(f"\n# {step.message}")
    print(f"PATCH {route}\n{json.dumps(request, indent=2)}\n")
    print(f"{status} {HTTPStatus(status).phrase}\n{json.dumps(reply, indent=2)}\n")
    print(compute_file_diff(step.path, before, after), flush=True)
    return Exchange(step, status, reply, before, after)


def check(exchange: Exchange) -> None:
    """Raise `BrokenPromiseError` if a response or the file is not as documented."""
    status, reply, reason = exchange.status, exchange.reply, exchange.step.expected_reason
    if reason is not None:
        promises = {
            f"an error, not the status {status}": status >= HTTPStatus.BAD_REQUEST,
            f"the reason {reason}": reply.get("reason") == reason,
            "a file that an error leaves unchanged": exchange.after == exchange.before,
        }
    else:
        before, after = (
            hashlib.sha256(data).hexdigest() for data in (exchange.before, exchange.after)
        )
        promises = {
            f"the status 200, not {status}": status == HTTPStatus.OK,
            "the hash the file had": reply.get("hash_before") == before,
            "the hash of what is on disk": reply.get("hash") == after,
            "the bytes of everything else to be kept": reply.get("bytes_preserved") is True,
        }
    for promise, is_kept in promises.items():
        if not is_kept:
            raise BrokenPromiseError(f"This was promised: {promise}.")


def compute_file_diff(path: str, before: bytes, after: bytes) -> str:
    """Return the unified diff of the file, in which CR LF is visible."""
    old, new = (
        content.decode().replace("\r\n", "\N{SYMBOL FOR CARRIAGE RETURN}\n").splitlines()
        for content in (before, after)
    )
    lines = list(difflib.unified_diff(old, new, path, path, n=1, lineterm=""))
    return "\n".join(lines) or "The file is unchanged."
