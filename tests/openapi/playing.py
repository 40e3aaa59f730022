"""Sends the requests of the examples to real servers, on the demo's notebooks."""

import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from jupyter_nbedit.cli.demo.play import SAMPLES
from tests.handlers.faults import (
    Fault,
    fail_reads,
    find_database,
    limit_files,
    link_twice,
    lose_database,
    save_elsewhere,
)
from tests.openapi.examples import Example
from tests.support.driver import Notebook
from tests.support.http import JSON, Answer, Client
from tests.support.servers import start_server

#: The folder that absolute paths in examples are in.
ROOT = "/home/you/notebooks"
#: The Python environment of the server in examples.
ENVIRONMENT = "/home/you/venv"
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
_PROPOSAL = re.compile(r"(proposals?[ /]|proposed as )\d+")
# In texts: the number of an edit, and the beginning of a hash.
_EDIT = re.compile(r"((?:\||of) edit )\d+")
_REV = re.compile(r"(\| rev )[0-9a-f]{8}")
_LIMIT = {"op": "replace", "cell": "limit", "source": "wet = 120  # in mm"}
_HIGHER = {"op": "replace", "cell": "limit", "source": "wet = 200  # mm"}
_DELETE = {"op": "delete", "cell": "closing"}

#: Prepares a server; the stack undoes what a fault did. Returns the number of a proposal, if there
#: is one.
Arrange = Callable[[Client, ExitStack], int | None]


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


def _suffer(fault: Fault) -> Arrange:
    return lambda client, stack: stack.enter_context(fault(client, NOTEBOOK))


def _edit(operation: Mapping[str, Any], **fields: Any) -> Arrange:
    def change(client: Client, _: ExitStack) -> None:
        Notebook(client, NOTEBOOK).edit(operation, **fields)

    return change


def _read(client: Client, _: ExitStack) -> None:
    assert client.read(NOTEBOOK).status == 200


def _undo(client: Client, _: ExitStack) -> None:
    Notebook(client, NOTEBOOK).edit(_LIMIT)
    assert Notebook(client, NOTEBOOK).undo().status == 200


def _undo_by_tool(client: Client, stack: ExitStack) -> None:
    _edit(_LIMIT, client=_TOOL)(client, stack)
    assert Notebook(client, NOTEBOOK).undo(client=_TOOL).status == 200


def _call(tool: str, name: str, **arguments: str) -> Arrange:
    def call(client: Client, _: ExitStack) -> None:
        given = {"file_path": str(client.root / name), **arguments}
        assert client.send_json("POST", f"tools/claude_code/{tool}", given).status == 200

    return call


def _edit_once(client: Client, _: ExitStack) -> None:
    """Make the only edit there is, with the number that all edits have in examples."""
    Notebook(client, NOTEBOOK).edit(_DELETE)
    (client.root / NOTEBOOK).write_bytes((SAMPLES / NOTEBOOK).read_bytes())
    with closing(sqlite3.connect(find_database(client))) as base, base:
        base.execute("DELETE FROM edits")
        base.execute("DELETE FROM seen_edits")
        base.execute("UPDATE sqlite_sequence SET seq = 16 WHERE name = 'edits'")
    number = Notebook(client, NOTEBOOK).edit(
        _HIGHER, client="an agent", message="Months are wetter now."
    )
    assert number == VOLATILE["edit_id"]


def _undo_cell(client: Client, _: ExitStack) -> None:
    answer = Notebook(client, NOTEBOOK).undo(cells=[f"{VOLATILE['edit_id']}.0"])
    assert answer.json["edit_id"] == VOLATILE["edit_id"] + 1


def _mode(mode: str) -> Arrange:
    def change(client: Client, _: ExitStack) -> None:
        client.set_mode(mode)

    return change


def _propose(client: Client, _: ExitStack) -> int:
    client.set_mode("review")
    number = Notebook(client, NOTEBOOK).propose(
        _HIGHER, client="an agent", message="it was too low"
    )
    client.set_mode(None)
    return number


def _accept(client: Client, stack: ExitStack) -> int:
    proposal = _propose(client, stack)
    assert client.accept(proposal).status == 200
    return proposal


def _reject(client: Client, stack: ExitStack) -> int:
    proposal = _propose(client, stack)
    assert client.reject(proposal, reason="Drizzle counts, too").status == 200
    return proposal


def _overtake(client: Client, stack: ExitStack) -> int:
    proposal = _propose(client, stack)
    Notebook(client, NOTEBOOK).edit({**_HIGHER, "source": "wet = 90"})
    return proposal


def _clean_up(client: Client) -> None:
    """Leave no mode, and no proposal that waits beside the next one."""
    client.set_mode(None)
    for proposal in client.get_json("proposals")["proposals"]:
        assert client.reject(proposal["proposal_id"]).status == 200


# The name of a client that only calls this tool.
_TOOL = "agent/notebook_edit"
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
    "An edit of the cell `limit` was undone, and the server is in review mode.": (
        _undo,
        _mode("review"),
    ),
    f"The server is in review mode, and the session has read the notebook `{NOTEBOOK}`.": (
        _mode("review"),
        _call("Read", NOTEBOOK),
    ),
    "Proposal 3 waits for a decision.": (_propose,),
    "Proposal 3 was accepted.": (_accept,),
    "Proposal 3 was rejected.": (_reject,),
    "Proposal 3 waits, but the cell `limit` was changed since.": (_overtake,),
    'The cell `question` has `"editable": false` in its metadata.': (
        _change_cell(2, metadata={"editable": False}),
    ),
    "Two cells have the id `question`.": (_change_cell(7, id="question"),),
    "Two headings say `Through the year`.": (_change_cell(7, source="## Through the year"),),
    "The file has a second name, a hard link.": (_suffer(link_twice),),
    "The file is no notebook.": (_write_no_notebook,),
    "The file is on a disk that fails.": (_suffer(fail_reads),),
    "Another program is in the midst of writing the file.": (_suffer(save_elsewhere),),
    "The key was sent before, with another request.": (
        _edit(_DELETE, headers={"Idempotency-Key": "a-key"}, dry_run=True),
    ),
    "The notebook was read, and then an edit has replaced the source of the cell `limit`.": (
        _read,
        _edit(_LIMIT),
    ),
    "An edit has replaced the source of the cell `limit`, and somebody has changed it since.": (
        _edit(_LIMIT),
        _change_cell(3, source="wet = 110"),
    ),
    "An edit of the cell `limit` was undone.": (_undo,),
    "The client `ada` has replaced the source of the cell `limit`.": (_edit(_LIMIT, client="ada"),),
    "The agent has replaced the source of the cell `limit`.": (_edit(_LIMIT, client=_TOOL),),
    "The agent has undone its edit of the cell `limit`, and the server is in review mode.": (
        _undo_by_tool,
        _mode("review"),
    ),
    "The session has written the file `notes.md`, with the content `# Notes`.": (
        _call("Write", "notes.md", content="# Notes\n"),
    ),
    f"The session has read the notebook `{NOTEBOOK}`.": (_call("Read", NOTEBOOK),),
    "An agent has edited `rainfall.ipynb`.": (_edit_once,),
    "An edit has replaced the source of the cell `limit`, and another has deleted the cell "
    "`closing`.": (_edit_once, _edit(_DELETE)),
    "An edit has replaced the source of the cell `limit`, another has deleted the cell `closing`, "
    "and the server is in review mode.": (_edit_once, _edit(_DELETE), _mode("review")),
    "The change of an agent in `rainfall.ipynb` was undone by edit 18, and the server is in review "
    "mode.": (_edit_once, _undo_cell, _mode("review")),
    "The file of the history cannot be opened.": (_suffer(lose_database),),
    "The file with the modes of notebooks cannot be opened.": (_suffer(lose_database),),
    "The server may write no files larger than 1024 bytes.": (_suffer(limit_files(1024)),),
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

    def play(self, exchange: Example) -> tuple[int, Any]:
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
            stack.callback(_clean_up, client)
            steps = ARRANGEMENTS[exchange.given] if exchange.given else ()
            proposals = [step(client, stack) for step in steps]
            answer = _send(client, exchange, next(filter(None, proposals), None))
        text = answer.body.decode().replace(str(client.root), ROOT)
        text = text.replace(sys.prefix, ENVIRONMENT)
        # In a command, a path with spaces or other letters has quotes.
        text = re.sub(rf"'({ENVIRONMENT}/bin/[\w-]+)'", r"\1", text)
        text = _EDIT.sub(r"\g<1>17", _REV.sub(r"\g<1>39f6b962", _PROPOSAL.sub(r"\g<1>3", text)))
        if answer.headers.get("Content-Type", "").startswith("text/plain"):
            return answer.status, text
        body = _make_steady(json.loads(text)) if text else None
        return answer.status, _abridge(body, exchange.answer) if exchange.abridged else body


def _send(client: Client, exchange: Example, proposal: int | None) -> Answer:
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
