"""What is told to whom, and who is said to have done what: S18 to S20, S22, S24, S25, S28, S29."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from jupyter_server.auth import Authorizer

from jupyter_nbedit.demo import server
from tests.handlers.ada import AdaProvider
from tests.handlers.refused import assert_says_nothing_of_this_machine, details, with_operation
from tests.handlers.routes import MISSING, NAME, ROWS
from tests.support import corpora, samples
from tests.support.http import JSON, Client, Local

GOOD = samples.three_cells()
KEPT = "for the notebook only"
EDIT = {"op": "replace", "cell": "beta", "source": KEPT}
END = {"op": "insert", "cell_type": "code", "source": "x", "at": "end"}
CONTROLS = [
    "\n[I 2026-01-01 ServerApp] all is well",
    "\x1b[2J\x1b[31m",
    "\u202egnp.exe",
    "\r",
    "\0",
]
#: What a page must never run, wherever it is shown.
PAYLOADS = [
    "<script>window.__pwned = 1</script>",
    "<img src=x onerror=window.__pwned=1>",
    '"><svg onload=window.__pwned=1>',
    "javascript:window.__pwned=1",
    "[x](javascript:window.__pwned=1)",
    "{{constructor.constructor('window.__pwned=1')()}}",
]


class Doorman(Authorizer):
    """Denies what it is told to."""

    denied: ClassVar[set[tuple[str, str]]] = set()

    def is_authorized(self, _handler: Any, _user: Any, action: str, resource: str) -> bool:
        return (action, resource) not in self.denied


guarded = pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"authorizer_class": Doorman}}], indirect=True
)


async def heard(socket: Any, count: int) -> list[dict[str, Any]]:
    """Listen until so many edits were told."""
    events: list[dict[str, Any]] = []
    while len(events) < count:
        event = json.loads(await asyncio.wait_for(socket.read_message(), 20))
        events += [event] if "operations" in event else []
    return events


# S18, S19: reading ------------------------------------------------------------------------------


async def test_s18_an_event_tells_where_and_nothing_of_what(local: Local, jp_ws_fetch: Any) -> None:
    (local.root / NAME).write_bytes(GOOD)
    socket = await jp_ws_fetch("api", "events", "subscribe")
    await local.patch(NAME, EDIT, {**END, "source": KEPT}, message=KEPT)
    await local.patch(NAME, {"op": "set_metadata", "patch": {"x": KEPT}})
    await local.patch(NAME, {"op": "delete", "cell": "beta"}, message=KEPT)
    for event in await heard(socket, 3):
        text = json.dumps(event)
        assert KEPT not in text
        assert "# Title" not in text
        assert "document.title" not in text
    socket.close()


@guarded
async def test_s18_who_may_not_read_contents_learns_nothing_from_any_route(local: Local) -> None:
    (local.root / NAME).write_bytes(GOOD)
    Doorman.denied = {("read", "contents"), ("write", "contents")}
    try:
        for (_, verb), row in ROWS.items():
            said = set()
            for name in (NAME, MISSING):
                target, body, headers = row.sent(local.root, name)
                answer = await local.request(verb, *target.split("/"), body=body, headers=headers)
                assert answer.status == 403, (verb, target)
                said.add(answer.body)
            assert len(said) == 1
    finally:
        Doorman.denied = set()


async def test_s18_a_path_that_is_deleted_or_moved_is_not_read_by_its_old_name(
    local: Local,
) -> None:
    (local.root / NAME).write_bytes(GOOD)
    before = (await local.read(NAME)).json["hash"]
    await local.patch(NAME, EDIT)
    (local.root / NAME).rename(local.root / "elsewhere.ipynb")
    for query in ({}, {"since": before}, {"cell": "beta"}):
        details(await local.read(NAME, **query), 404, "notebook_not_found")


@guarded
async def test_s19_a_reader_can_search_and_cannot_write(local: Local) -> None:
    (local.root / NAME).write_bytes(GOOD)
    Doorman.denied = {("write", "contents"), ("write", "nbedit")}
    try:
        # The whole table is in tests/handlers/test_rights.py.
        for (_, verb), row in ROWS.items():
            target, body, headers = row.sent(local.root)
            answer = await local.request(verb, *target.split("/"), body=body, headers=headers)
            assert answer.status == (row.status if row.action == "read" else 403), (verb, target)
    finally:
        Doorman.denied = set()
    assert (local.root / NAME).read_bytes() == GOOD


# S20: the log -----------------------------------------------------------------------------------


def test_s20_whatever_a_request_says_it_is_one_line_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / NAME).write_bytes(GOOD)
    naughty = json.loads((corpora.corpus("naughty") / "blns.json").read_text())
    said = [text[:190] for text in (*naughty, *CONTROLS) if _is_utf_8(text)]
    with server.running("jupyter_server", tmp_path, "--log-level=INFO") as running:
        client = Client(running.port, running.token, running.root)
        for number, text in enumerate(said):
            edit = {"op": "replace", "cell": "beta", "source": str(number)}
            answer = client.patch(NAME, edit, client=text, message=text)
            assert answer.status == 200, answer.body
            if number % 5 == 0:
                # Refusals repeat what was asked for.
                client.patch(NAME, {"op": "delete", "cell": text or "x"})
    lines = (tmp_path / "server.log").read_bytes().decode().split("\n")
    edits = [line for line in lines if " Edit " in line and NAME in line]
    assert len(edits) == len(said) >= 500
    assert all(line.startswith("[") for line in edits)
    for line in lines:
        assert line.isprintable() or not line.startswith("["), line
        assert "\x1b" not in line
        assert "\u202e" not in line
    forged = [line for line in lines if line.startswith("[I 2026-01-01 ServerApp] all is well")]
    assert forged == []


def _is_utf_8(text: str) -> bool:
    return text.encode("utf-8", "ignore").decode() == text


# S22, S24: what is shown of an edit -------------------------------------------------------------


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_s22_what_a_page_might_run_is_data_in_replies_and_events(
    local: Local, jp_ws_fetch: Any, payload: str
) -> None:
    # What the page makes of it is tested in a browser, in ui-tests.
    name = f"{payload.replace('/', '_')}.ipynb"
    (local.root / name).write_bytes(GOOD)
    socket = await jp_ws_fetch("api", "events", "subscribe")
    edit = {"op": "replace", "cell": "beta", "source": payload}
    target = ("nbedit", "notebooks", name)
    body = json.dumps({"operations": [edit], "client": payload, "message": payload}).encode()
    answer = await local.request("PATCH", *target, body=body, headers=JSON)
    refused = await local.request(
        "PATCH", *target, body=with_operation(op="delete", cell=payload), headers=JSON
    )
    assert (answer.status, refused.status) == (200, 404)
    for reply in (answer, refused):
        assert reply.headers["Content-Type"].startswith("application/json")
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
    assert payload in answer.json["diff"]
    (event,) = await heard(socket, 1)
    socket.close()
    # A page is told path and client as they are, and must show them as text; no source, no message.
    assert (event["path"], event["client"]) == (name, payload)
    assert set(event) == {
        "schema_id", "epoch", "seq", "edit_id", "path", "hash_before", "hash", "last_modified",
        "user", "client", "total_cells", "operations", "truncated",
    }  # fmt: skip


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"identity_provider_class": AdaProvider}}], indirect=True
)
async def test_s24_what_a_client_calls_itself_is_never_who_it_is(
    local: Local, jp_ws_fetch: Any
) -> None:
    (local.root / NAME).write_bytes(GOOD)
    socket = await jp_ws_fetch("api", "events", "subscribe")
    assert (await local.patch(NAME, EDIT, client="admin")).status == 200
    details(await local.patch(NAME, EDIT, user="admin"), 400, "invalid_request")
    (event,) = await heard(socket, 1)
    socket.close()
    assert (event["user"], event["client"]) == ("ada", "admin")


# S25: files of ours -----------------------------------------------------------------------------


def test_s25_what_we_leave_behind_only_its_owner_can_read(live: Client) -> None:
    (live.root / NAME).write_bytes(GOOD)
    (live.root / NAME).chmod(0o600)
    assert live.patch(NAME, EDIT).status == 200
    assert stat.S_IMODE((live.root / NAME).stat().st_mode) == 0o600
    assert [path.name for path in live.root.iterdir() if "a.ipynb" in path.name] == [NAME]
    locks = live.root.parent / "runtime" / "nbedit" / "locks"
    assert locks.is_dir()
    for path in (locks, *locks.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))
        # A lock says that there is one, and nothing of notebooks.
        assert path.is_dir() or path.read_bytes() == b""


async def test_s25_what_is_written_of_a_private_notebook_is_private_from_the_first_byte(
    local: Local,
) -> None:
    path = local.root / NAME
    path.write_bytes(
        samples.notebook(samples.raw("x" * 4_000_000, "large"), samples.raw("", "beta"))
    )
    path.chmod(0o600)
    modes, over = set(), threading.Event()

    def look() -> None:
        while not over.is_set():
            for found in os.scandir(local.root):
                with contextlib.suppress(FileNotFoundError):
                    modes.add((found.name == NAME, stat.S_IMODE(found.stat().st_mode)))

    looking = threading.Thread(target=look)
    before = os.umask(0)
    looking.start()
    try:
        for number in range(20):
            edit = {**EDIT, "source": str(number)}
            assert (await local.patch(NAME, edit)).status == 200
    finally:
        over.set()
        looking.join()
        os.umask(before)
    # Temporary files were seen, and all were as private as the notebook.
    assert modes == {(True, 0o600), (False, 0o600)}


# S28: again -------------------------------------------------------------------------------------


def test_s28_an_edit_whose_answer_was_lost_is_not_made_twice(live: Client) -> None:
    (live.root / NAME).write_bytes(GOOD)
    key = {"Idempotency-Key": "an edit that is sent again"}
    first = live.patch(NAME, END, headers=key)
    again = live.patch(NAME, END, headers=key)
    assert (first.status, first.body) == (200, again.body)
    assert len(samples.cells_of((live.root / NAME).read_bytes())) == 4
    details(live.patch(NAME, EDIT, headers=key), 422, "idempotency_mismatch")


# S29: errors ------------------------------------------------------------------------------------


def test_s29_no_refusal_tells_of_this_machine(live: Client) -> None:
    broken = {
        NAME: b"not a notebook",
        "folder.ipynb": None,
        "latin.ipynb": GOOD.replace(b"# Title", b"\xe9"),
        "deep.ipynb": b'{"cells": ' + b"[" * 100_000,
    }
    for name, text in broken.items():
        if text is None:
            (live.root / name).mkdir()
        else:
            (live.root / name).write_bytes(text)
            os.utime(live.root / name, (1, 1))
    seen = set()
    for name in (*broken, MISSING, "../outside.ipynb", "a\0.ipynb", ".hidden.ipynb"):
        for (_, verb), row in ROWS.items():
            if NAME not in f"{row.target} {row.body!r}" or "claude_code/Write" in row.target:
                continue
            body = None if row.body is None else row.body.replace(NAME.encode(), _json(name))
            target = row.target.replace(NAME, name.replace("\0", "%00"))
            body = None if body is None else body.replace(b"~/", b"")
            answer = live.request(verb, target, body, {} if body is None else JSON)
            if answer.status >= 400:
                seen.add(answer.status)
                assert_says_nothing_of_this_machine(answer.body)
                assert os.fsencode(live.root) not in answer.body
    assert {400, 404, 409, 422} <= seen


def _json(text: str) -> bytes:
    return json.dumps(text)[1:-1].encode()
