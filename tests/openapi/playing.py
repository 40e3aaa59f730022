"""Sends the requests of the examples to real servers, on the demo's notebooks."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_nbedit.demo import server
from jupyter_nbedit.demo.show import SAMPLES
from jupyter_nbedit.handlers.examples import Exchange
from tests.support.http import JSON, Answer, Client

#: The folder that absolute paths in examples are in.
ROOT = "/home/you/notebooks"
#: What is another each time; an example has a value that could be.
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
_ONE_PROPOSAL = "The server has `NbEditApp.max_proposals = 1`, and one proposal waits."
# The proposal of an example, in the address and in what is said of it.
_PROPOSAL = re.compile(r"(proposals?[ /])\d+")
#: Settings of servers by what an example says of them.
SETTINGS = {
    'The server has `NbEditApp.mode = "plan"`.': ("--NbEditApp.mode=plan",),
    "The server has `NbEditApp.read_before_edit = True`.": ("--NbEditApp.read_before_edit=True",),
    "The server has `NbEditApp.max_request_bytes = 1024`.": ("--NbEditApp.max_request_bytes=1024",),
    _ONE_PROPOSAL: ("--NbEditApp.mode=review", "--NbEditApp.max_proposals=1"),
}


def _change(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def _protected(client: Client) -> Iterator[None]:
    def protect(content: Any) -> None:
        content["cells"][2]["metadata"]["editable"] = False

    _change(client.root / NOTEBOOK, protect)
    yield


@contextmanager
def _same_ids(client: Client) -> Iterator[None]:
    def rename(content: Any) -> None:
        content["cells"][7]["id"] = "question"

    _change(client.root / NOTEBOOK, rename)
    yield


@contextmanager
def _same_headings(client: Client) -> Iterator[None]:
    def repeat(content: Any) -> None:
        content["cells"][7]["source"] = "## Through the year"

    _change(client.root / NOTEBOOK, repeat)
    yield


@contextmanager
def _two_names(client: Client) -> Iterator[None]:
    os.link(client.root / NOTEBOOK, client.root / "linked.ipynb")
    yield


@contextmanager
def _no_notebook(client: Client) -> Iterator[None]:
    (client.root / NOTEBOOK).write_bytes(b"no notebook\n")
    # What has just been written badly may be in the midst of being written.
    os.utime(client.root / NOTEBOOK, (0, 0))
    yield


@contextmanager
def _failing_disk(client: Client) -> Iterator[None]:
    (client.root / NOTEBOOK).unlink()
    # Reading the memory of a process at 0 fails as a broken disk does.
    (client.root / NOTEBOOK).symlink_to("/proc/self/mem")
    yield


@contextmanager
def _being_saved(client: Client) -> Iterator[None]:
    # What Jupyter Server puts beside a file while it writes it in place.
    (client.root / f".~{NOTEBOOK}").write_bytes(b"")
    yield


@contextmanager
def _key_used(client: Client) -> Iterator[None]:
    operation = {"op": "delete", "cell": "closing"}
    done = client.patch(NOTEBOOK, operation, headers={"Idempotency-Key": "a-key"}, dry_run=True)
    assert done.status == 200
    yield


@contextmanager
def _replaced(client: Client) -> Iterator[None]:
    operation = {"op": "replace", "cell": "limit", "source": "wet = 120  # in mm"}
    assert client.patch(NOTEBOOK, operation).status == 200
    yield


@contextmanager
def _replaced_and_changed(client: Client) -> Iterator[None]:
    def change(content: Any) -> None:
        content["cells"][3]["source"] = "wet = 110"

    with _replaced(client):
        _change(client.root / NOTEBOOK, change)
        yield


@contextmanager
def _taken_back(client: Client) -> Iterator[None]:
    with _replaced(client):
        target = f"nbedit/notebooks/{NOTEBOOK}/undo"
        assert client.request("POST", target, b"{}", JSON).status == 200
        yield


@contextmanager
def _written(client: Client) -> Iterator[None]:
    _call(client, "Write", file_path=f"{client.root}/notes.md", content="# Notes\n")
    yield


@contextmanager
def _read(client: Client) -> Iterator[None]:
    _call(client, "Read", file_path=f"{client.root}/{NOTEBOOK}")
    yield


@contextmanager
def _edited(client: Client) -> Iterator[None]:
    """Make the one edit there is, and give it the number that all edits have in examples."""
    client.patch(NOTEBOOK, {"op": "delete", "cell": "closing"})
    with closing(sqlite3.connect(_history(client))) as base, base:
        base.execute("DELETE FROM edits")
        base.execute("UPDATE sqlite_sequence SET seq = 16 WHERE name = 'edits'")
    edit = {"op": "replace", "cell": "limit", "source": "wet = 200  # mm"}
    done = client.patch(NOTEBOOK, edit, client="an agent", message="Months are wetter now.")
    assert done.json["edit_id"] == VOLATILE["edit_id"], done.body
    yield


@contextmanager
def _no_history(client: Client) -> Iterator[None]:
    client.patch(NOTEBOOK, {"op": "delete", "cell": "closing"})
    history = _history(client)
    aside = history.rename(history.with_suffix(".aside"))
    history.mkdir()
    try:
        yield
    finally:
        history.rmdir()
        aside.rename(history)


@contextmanager
def _no_modes(client: Client) -> Iterator[None]:
    def wait(*, is_readable: bool) -> None:
        # A server may go by what it has read a moment ago.
        while (client.request("GET", "nbedit/mode").json["unreadable"] is None) != is_readable:
            time.sleep(0.05)

    with _no_history(client):
        wait(is_readable=False)
        yield
    wait(is_readable=True)


def _history(client: Client) -> Path:
    return client.root.parent / "data" / "nbedit" / "history.sqlite3"


def _call(client: Client, tool: str, **given: str) -> None:
    body = json.dumps(given).encode()
    done = client.request("POST", f"nbedit/tools/claude_code/{tool}", body, JSON)
    assert done.status == 200, done.body


_HIGHER = {"op": "replace", "cell": "limit", "source": "wet = 200  # mm"}


@contextmanager
def _reviewed(client: Client) -> Iterator[None]:
    def change(mode: str | None) -> None:
        body = json.dumps({"mode": mode}).encode()
        assert client.request("PUT", "nbedit/mode", body, JSON).status == 200

    change("review")
    yield
    change(None)


@contextmanager
def _taken_back_and_reviewed(client: Client) -> Iterator[None]:
    with _taken_back(client), _reviewed(client):
        yield


@contextmanager
def _reviewed_and_read(client: Client) -> Iterator[None]:
    with _reviewed(client), _read(client):
        yield


@contextmanager
def _proposed(client: Client) -> Iterator[int]:
    with _reviewed(client):
        proposed = client.patch(NOTEBOOK, _HIGHER, client="an agent", message="it was too low")
    proposal: int = proposed.json["proposal_id"]
    yield proposal
    # It is accepted or rejected by now, or is not to be listed with the next one.
    client.request("POST", f"nbedit/proposals/{proposal}/reject", b"{}", JSON)


@contextmanager
def _accepted(client: Client) -> Iterator[int]:
    with _proposed(client) as proposal:
        done = client.request("POST", f"nbedit/proposals/{proposal}/accept", b"{}", JSON)
        assert done.status == 200
        yield proposal


@contextmanager
def _overtaken(client: Client) -> Iterator[int]:
    with _proposed(client) as proposal:
        client.patch(NOTEBOOK, {**_HIGHER, "source": "wet = 90"})
        yield proposal


@contextmanager
def _one_waits(client: Client) -> Iterator[None]:
    assert client.patch(NOTEBOOK, _HIGHER).status in {202, 409}
    yield


def _process(client: Client) -> int:
    (info,) = client.root.parent.glob("runtime/jpserver-*.json")
    found: int = json.loads(info.read_bytes())["pid"]
    return found


@contextmanager
def _limited(client: Client, what: int, limit: int) -> Iterator[None]:
    process = _process(client)
    soft, hard = resource.prlimit(process, what)
    resource.prlimit(process, what, (limit, hard))
    try:
        yield
    finally:
        resource.prlimit(process, what, (soft, hard))


def _full(client: Client) -> AbstractContextManager[None]:
    return _limited(client, resource.RLIMIT_FSIZE, 1024)


#: What is done at a server by what an example says of it.
ARRANGEMENTS: Mapping[str, Callable[[Client], AbstractContextManager[int | None]]] = {
    _ONE_PROPOSAL: _one_waits,
    "The server is in review mode.": _reviewed,
    "An edit of the cell `limit` was taken back, and the server is in review mode.": (
        _taken_back_and_reviewed
    ),
    f"The server is in review mode, and the session has read the notebook `{NOTEBOOK}`.": (
        _reviewed_and_read
    ),
    "Proposal 3 waits for a decision.": _proposed,
    "Proposal 3 was accepted.": _accepted,
    "Proposal 3 waits, but the cell `limit` was changed since.": _overtaken,
    'The cell `question` has `"editable": false` in its metadata.': _protected,
    "Two cells have the id `question`.": _same_ids,
    "Two headings say `Through the year`.": _same_headings,
    "The file has a second name, a hard link.": _two_names,
    "The file is no notebook.": _no_notebook,
    "The file is on a disk that fails.": _failing_disk,
    "Another program is in the midst of writing the file.": _being_saved,
    "The key was sent before, with another request.": _key_used,
    "An edit has replaced the source of the cell `limit`.": _replaced,
    "An edit has replaced the source of the cell `limit`, and somebody has changed it since.": (
        _replaced_and_changed
    ),
    "An edit of the cell `limit` was taken back.": _taken_back,
    "The session has written the file `notes.md`, with the content `# Notes`.": _written,
    f"The session has read the notebook `{NOTEBOOK}`.": _read,
    "An agent has edited `rainfall.ipynb`.": _edited,
    "The file of the history cannot be opened.": _no_history,
    "The file with the modes of notebooks cannot be opened.": _no_modes,
    "The server may write no files larger than 1024 bytes.": _full,
}


@dataclass
class Stage:
    """Servers to play examples on, each started when it is first needed."""

    folder: Path
    _running: dict[str | None, Client] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        """Stop the servers."""
        self._stack.close()

    def client(self, given: str | None) -> Client:
        """Give a client of the server that an example is for."""
        key = given if given in SETTINGS else None
        if key not in self._running:
            folder = self.folder / f"server-{len(self._running)}"
            (folder / "notebooks").mkdir(parents=True)
            settings = SETTINGS.get(key or "", ())
            running = server.running("jupyter_server", folder, "--no-browser", *settings)
            found = self._stack.enter_context(running)
            self._running[key] = Client(found.port, found.token, found.root)
        return self._running[key]

    def play(self, exchange: Exchange) -> Answer:
        """Send an example's request to notebooks that nothing else has touched."""
        client = self.client(exchange.given)
        shutil.rmtree(client.root)
        shutil.copytree(SAMPLES, client.root)
        arrange = ARRANGEMENTS.get(exchange.given or "")
        with nullcontext() if arrange is None else arrange(client) as proposal:
            target = exchange.target.removeprefix("/")
            if proposal is not None:
                target = _PROPOSAL.sub(rf"\g<1>{proposal}", target)
            headers = (
                {**JSON, **exchange.headers} if exchange.body is not None else exchange.headers
            )
            body = None if exchange.body is None else json.dumps(exchange.body)
            return client.request(
                exchange.verb,
                target,
                None if body is None else body.replace(ROOT, str(client.root)).encode(),
                headers,
                token="" if "Authorization" in headers else None,
            )

    def answered(self, exchange: Exchange) -> tuple[int, Any]:
        """Give status and body of the answer, as an example would show them."""
        answer = self.play(exchange)
        root = str(self.client(exchange.given).root)
        said = _PROPOSAL.sub(r"\g<1>3", answer.body.decode().replace(root, ROOT))
        body = json.loads(said) if said else None
        return answer.status, abridged(
            steady(body), exchange.answer
        ) if exchange.abridged else steady(body)


def steady(value: Any) -> Any:
    """Put what could be in the place of what is another each time."""
    if isinstance(value, list):
        return [steady(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: VOLATILE[name] if name in VOLATILE and item not in (None, []) else steady(item)
        for name, item in value.items()
    }


def abridged(value: Any, shown: Any) -> Any:
    """Leave out what an example does not show."""
    if isinstance(value, dict) and isinstance(shown, dict):
        return {name: abridged(value[name], shown[name]) for name in shown}
    if isinstance(value, list) and isinstance(shown, list):
        return [abridged(item, part) for item, part in zip(value, shown, strict=False)]
    return value
