"""The agent of the demo: it sends the script's requests and shows each with what came of it."""

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
    """An answer, or the file, is not as documented."""


@dataclass(frozen=True)
class Exchange:
    """A request of the agent's, the answer to it, and the file before and after."""

    step: Step
    status: int
    answer: dict[str, Any]
    before: bytes
    after: bytes


def send(server: Server, step: Step) -> Exchange:
    """Send one step, and show the request, the answer and the file's diff."""
    file = server.root / step.path
    route = f"/nbedit/notebooks/{step.path}"
    request = {"operations": list(step.operations), "client": CLIENT, "message": step.says}

    before = file.read_bytes()
    status, answer = server.send_request("PATCH", route, request)
    after = file.read_bytes()

    print(f"\n# {step.says}")
    print(f"PATCH {route}\n{json.dumps(request, indent=2)}\n")
    print(f"{status} {HTTPStatus(status).phrase}\n{json.dumps(answer, indent=2)}\n")
    print(compute_file_diff(step.path, before, after), flush=True)
    return Exchange(step, status, answer, before, after)


def check(exchange: Exchange) -> None:
    """Check an answer against the documentation and against the file.

    Raises
    ------
    BrokenPromiseError
        The status is another than it should be, or the answer does not tell what is in the file.
    """
    step, status, answer = exchange.step, exchange.status, exchange.answer
    if step.refused is not None:
        _check_promise(status >= HTTPStatus.BAD_REQUEST, f"a refusal, not the status {status}")
        _check_promise(answer["reason"] == step.refused, f"the reason {step.refused}")
        _check_promise(exchange.after == exchange.before, "a file left alone by a refused request")
        return
    _check_promise(status == HTTPStatus.OK, f"the status 200, not {status}")
    _check_promise(answer["hash_before"] == _sha256(exchange.before), "the hash the file had")
    _check_promise(answer["hash"] == _sha256(exchange.after), "the hash of what is on disk")
    _check_promise(answer["bytes_preserved"] is True, "the bytes of everything else to be kept")


def compute_file_diff(path: str, before: bytes, after: bytes) -> str:
    """Return the unified diff of the file itself, line ends made visible where they are CR LF."""
    old, new = (
        content.decode().replace("\r\n", "\N{SYMBOL FOR CARRIAGE RETURN}\n").splitlines()
        for content in (before, after)
    )
    lines = list(difflib.unified_diff(old, new, path, path, n=1, lineterm=""))
    return "\n".join(lines) or "The file is unchanged."


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check_promise(kept: bool, promise: str) -> None:  # noqa: FBT001 - it reads as a sentence
    if not kept:
        raise BrokenPromiseError(f"This was promised: {promise}.")
