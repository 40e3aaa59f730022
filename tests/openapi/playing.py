"""Sends the requests of the examples to real servers, on the demo's notebooks."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from jupyter_nbedit.demo.show import SAMPLES
from jupyter_nbedit.handlers.examples import Exchange
from tests.support.http import JSON, Answer, Client
from tests.support.servers import start_server
from tests.support.waiting import wait_until

#: The folder that absolute paths in examples are in.
ROOT = "/home/you/notebooks"
#: What differs each time; an example has a value that is possible.
VOLATILE: Mapping[str, Any] = {
    "created": "2026-11-21T09:30:00.123456Z",
    "decided_by": "6bb1f8b9d2f54a14ba2a5a6c2d1f0a37",
    "edit_id": 17,
    "edit_ids": [17],
    "epoch": "6f0e3d8c5a7b4c1f9e2d1a0b3c4d5e6f",
    "expires": "2026-11-22T09:30:00.123456Z",
    "last_modified": "2026-11-21T09:30:00.123456Z",
    "proposalId": 3,
    "proposal_id": 3,
    "user": "91c0c5e7d30f4d0d9a4c57c7b0a0b6ee",
    "time": "2026-11-21T09:30:00.125Z",
    "version": "0.1.0",
}
NOTEBOOK = "rainfall.ipynb"
# The proposal of an example, in the address and in messages.
_PROPOSAL = re.compile(r"(proposals?[ /])\d+")
_LIMIT = {"op": "replace", "cell": "limit", "source": "wet = 120  # in mm"}
_HIGHER = {"op": "replace", "cell": "limit", "source": "wet = 200  # mm"}
_DELETE = {"op": "delete", "cell": "closing"}

#: Prepares a server; the stack undoes it. Returns the number of a proposal, if there is one.
Arrange = Callable[[Client, ExitStack], int | None]


def _post(client: Client, target: str, **members: Any) -> Any:
    answer = client.request("POST", f"nbedit/{target}", json.dumps(members).encode(), JSON)
    assert answer.status == 200, answer.body
    return answer.json


def _patch(client: Client, operation: Mapping[str, Any], /, **fields: Any) -> Any:
    answer = client.patch(NOTEBOOK, operation, **fields)
    assert answer.status in {200, 202}, answer.body
    return answer.json


def _change_cell(index: int, **members: Any) -> Arrange:
    def change(client: Client, _: ExitStack) -> None:
        path = client.root / NOTEBOOK
        content = json.loads(path.read_bytes())
        content["cells"][index].update(members)
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    return change


def _write_no_notebook(client: Client, _: ExitStack) -> None:
    (client.root / NOTEBOOK).write_bytes(b"no notebook\n")
    # A file that was written just now may be incomplete.
    os.utime(client.root / NOTEBOOK, (0, 0))


def _fail_reads(client: Client, _: ExitStack) -> None:
    (client.root / NOTEBOOK).unlink()
    # Reading the memory of a process at 0 fails as a broken disk does.
    (client.root / NOTEBOOK).symlink_to("/proc/self/mem")


def _edit(operation: Mapping[str, Any], **fields: Any) -> Arrange:
    def edit(client: Client, _: ExitStack) -> None:
        _patch(client, operation, **fields)

    return edit


def _undo(client: Client, _: ExitStack) -> None:
    _patch(client, _LIMIT)
    _post(client, f"notebooks/{NOTEBOOK}/undo")


def _call(tool: str, name: str, **arguments: str) -> Arrange:
    def call(client: Client, _: ExitStack) -> None:
        path = str(client.root / name)
        _post(client, f"tools/claude_code/{tool}", file_path=path, **arguments)

    return call


def _edit_once(client: Client, _: ExitStack) -> None:
    """Make the only edit there is, with the number that all edits have in examples."""
    _patch(client, _DELETE)
    with closing(sqlite3.connect(_history(client))) as base, base:
        base.execute("DELETE FROM edits")
        base.execute("UPDATE sqlite_sequence SET seq = 16 WHERE name = 'edits'")
    answer = _patch(client, _HIGHER, client="an agent", message="Months are wetter now.")
    assert answer["edit_id"] == VOLATILE["edit_id"]


def _history(client: Client) -> Path:
    return client.root.parent / "data" / "nbedit" / "history.sqlite3"


def _lose_history(client: Client, stack: ExitStack) -> None:
    _patch(client, _DELETE)
    history = _history(client)
    aside = history.rename(history.with_suffix(".aside"))
    stack.callback(aside.rename, history)
    history.mkdir()
    stack.callback(history.rmdir)


def _lose_modes(client: Client, stack: ExitStack) -> None:
    def wait(*, is_readable: bool) -> None:
        # The server rereads the modes only after a moment.
        wait_until(lambda: _has_modes(client) == is_readable, what="the modes")

    stack.callback(wait, is_readable=True)
    _lose_history(client, stack)
    wait(is_readable=False)


def _has_modes(client: Client) -> bool:
    return client.request("GET", "nbedit/mode").json["unreadable"] is None


def _put_mode(client: Client, mode: str | None) -> None:
    body = json.dumps({"mode": mode}).encode()
    assert client.request("PUT", "nbedit/mode", body, JSON).status == 200


def _mode(mode: str) -> Arrange:
    def change(client: Client, stack: ExitStack) -> None:
        # No proposal may wait beside the next one.
        stack.callback(_reject_all, client)
        _put_mode(client, mode)
        stack.callback(_put_mode, client, None)

    return change


def _reject_all(client: Client) -> None:
    for proposal in client.request("GET", "nbedit/proposals").json["proposals"]:
        _post(client, f"proposals/{proposal['proposal_id']}/reject")


def _propose(client: Client, stack: ExitStack) -> int:
    stack.callback(_reject_all, client)
    with ExitStack() as reviewing:
        _put_mode(client, "review")
        reviewing.callback(_put_mode, client, None)
        answer = _patch(client, _HIGHER, client="an agent", message="it was too low")
    proposal: int = answer["proposal_id"]
    return proposal


def _accept(client: Client, stack: ExitStack) -> int:
    proposal = _propose(client, stack)
    _post(client, f"proposals/{proposal}/accept")
    return proposal


def _overtake(client: Client, stack: ExitStack) -> int:
    proposal = _propose(client, stack)
    _patch(client, {**_HIGHER, "source": "wet = 90"})
    return proposal


def _limit_files(client: Client, stack: ExitStack) -> None:
    (runtime,) = client.root.parent.glob("runtime/jpserver-*.json")
    pid, what = json.loads(runtime.read_bytes())["pid"], resource.RLIMIT_FSIZE
    soft, hard = resource.prlimit(pid, what, (1024, resource.RLIM_INFINITY))
    stack.callback(resource.prlimit, pid, what, (soft, hard))


_READ_BEFORE_EDIT = "The server has `NbEditApp.read_before_edit = True`."
_SMALL_REQUESTS = "The server has `NbEditApp.max_request_bytes = 1024`."
#: How a server is prepared, step by step, for each description in the examples.
ARRANGEMENTS: Mapping[str, tuple[Arrange, ...]] = {
    _READ_BEFORE_EDIT: (),
    _SMALL_REQUESTS: (),
    'The server has `NbEditApp.mode = "plan"`.': (_mode("plan"),),
    "The server has `NbEditApp.max_proposals = 1`, and one proposal waits.": (
        _propose,
        _mode("review"),
    ),
    "The server is in review mode.": (_mode("review"),),
    "An edit of the cell `limit` was taken back, and the server is in review mode.": (
        _undo,
        _mode("review"),
    ),
    f"The server is in review mode, and the session has read the notebook `{NOTEBOOK}`.": (
        _mode("review"),
        _call("Read", NOTEBOOK),
    ),
    "Proposal 3 waits for a decision.": (_propose,),
    "Proposal 3 was accepted.": (_accept,),
    "Proposal 3 waits, but the cell `limit` was changed since.": (_overtake,),
    'The cell `question` has `"editable": false` in its metadata.': (
        _change_cell(2, metadata={"editable": False}),
    ),
    "Two cells have the id `question`.": (_change_cell(7, id="question"),),
    "Two headings say `Through the year`.": (_change_cell(7, source="## Through the year"),),
    "The file has a second name, a hard link.": (
        lambda client, _: os.link(client.root / NOTEBOOK, client.root / "linked.ipynb"),
    ),
    "The file is no notebook.": (_write_no_notebook,),
    "The file is on a disk that fails.": (_fail_reads,),
    "Another program is in the midst of writing the file.": (
        # What Jupyter Server puts beside a file while it writes it in place.
        lambda client, _: (client.root / f".~{NOTEBOOK}").touch(),
    ),
    "The key was sent before, with another request.": (
        _edit(_DELETE, headers={"Idempotency-Key": "a-key"}, dry_run=True),
    ),
    "An edit has replaced the source of the cell `limit`.": (_edit(_LIMIT),),
    "An edit has replaced the source of the cell `limit`, and somebody has changed it since.": (
        _edit(_LIMIT),
        _change_cell(3, source="wet = 110"),
    ),
    "An edit of the cell `limit` was taken back.": (_undo,),
    "The session has written the file `notes.md`, with the content `# Notes`.": (
        _call("Write", "notes.md", content="# Notes\n"),
    ),
    f"The session has read the notebook `{NOTEBOOK}`.": (_call("Read", NOTEBOOK),),
    "An agent has edited `rainfall.ipynb`.": (_edit_once,),
    "The file of the history cannot be opened.": (_lose_history,),
    "The file with the modes of notebooks cannot be opened.": (_lose_modes,),
    "The server may write no files larger than 1024 bytes.": (_limit_files,),
}
_STRICT = ("--NbEditApp.read_before_edit=True", "--NbEditApp.max_request_bytes=1024")
_USUAL = ("--NbEditApp.max_proposals=1",)


class Stage:
    """Two servers, each started on demand: a usual one, and one that refuses most requests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clients: dict[tuple[str, ...], Client] = {}
        self._stack = ExitStack()
        self.close = self._stack.close

    def _client(self, options: tuple[str, ...]) -> Client:
        if options not in self._clients:
            folder = self._folder / f"server-{len(self._clients)}"
            server = start_server(folder, *options)
            self._stack.callback(server.stop)
            self._clients[options] = server.client
        return self._clients[options]

    def play(self, exchange: Exchange) -> tuple[int, Any]:
        """Send an example's request to the demo's notebooks.

        Returns
        -------
        Status and body of the answer, as an example shows them.
        """
        is_strict = exchange.given in {_READ_BEFORE_EDIT, _SMALL_REQUESTS}
        client = self._client(_STRICT if is_strict else _USUAL)
        shutil.rmtree(client.root)
        shutil.copytree(SAMPLES, client.root)
        with ExitStack() as stack:
            steps = ARRANGEMENTS[exchange.given] if exchange.given else ()
            proposals = [step(client, stack) for step in steps]
            answer = _send(client, exchange, next(filter(None, proposals), None))
        text = answer.body.decode().replace(str(client.root), ROOT)
        body = _make_steady(json.loads(_PROPOSAL.sub(r"\g<1>3", text))) if text else None
        return answer.status, _abridge(body, exchange.answer) if exchange.abridged else body


def _send(client: Client, exchange: Exchange, proposal: int | None) -> Answer:
    target = exchange.target.removeprefix("/")
    if proposal is not None:
        target = _PROPOSAL.sub(rf"\g<1>{proposal}", target)
    headers, body = exchange.headers, None
    if exchange.body is not None:
        headers = {**JSON, **headers}
        body = json.dumps(exchange.body).replace(ROOT, str(client.root)).encode()
    token = "" if "Authorization" in headers else None
    return client.request(exchange.verb, target, body, headers, token=token)


def _make_steady(value: Any) -> Any:
    """Replace what differs each time."""
    if isinstance(value, list):
        return [_make_steady(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: VOLATILE[name] if name in VOLATILE and item not in (None, []) else _make_steady(item)
        for name, item in value.items()
    }


def _abridge(value: Any, shown: Any) -> Any:
    """Leave out what an example does not show."""
    if isinstance(value, dict) and isinstance(shown, dict):
        return {name: _abridge(value[name], shown[name]) for name in shown}
    if isinstance(value, list) and isinstance(shown, list):
        return [_abridge(item, part) for item, part in zip(value, shown, strict=False)]
    return value
