"""Repeated requests of clients that did not get a reply."""

import asyncio
import json

import pytest

from jupyter_nbedit.errors import IdempotencyMismatch
from jupyter_nbedit.handlers.idempotency import IdempotencyCache, StoredResponse
from tests.handlers.error_checks import get_error, no_changes
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Client

INSERT = {"op": "insert", "cell_type": "code", "source": "x", "at": "end"}


def name_key(name: str) -> dict[str, str]:
    return {"Idempotency-Key": name}


@pytest.mark.threat("S28")
def test_a_repeated_request_gets_the_first_reply_and_runs_once(notebook: Notebook) -> None:
    first = notebook.patch(INSERT, headers=name_key("again"))
    with no_changes(notebook.root):
        second = notebook.patch(INSERT, headers=name_key("again"))
    assert (second.status, second.body) == (first.status, first.body)
    assert second.headers["ETag"] == first.headers["ETag"]
    assert len(notebook.list_sources()) == 4
    assert notebook.patch(INSERT, headers=name_key("another")).json["total_cells"] == 5


def test_another_request_with_the_same_key_is_refused(notebook: Notebook) -> None:
    assert notebook.patch(INSERT, headers=name_key("mine")).status == 200
    with no_changes(notebook.root):
        other = notebook.patch({**INSERT, "source": "y"}, headers=name_key("mine"))
        get_error(other, 422, "idempotency_mismatch")
        conditional = notebook.patch(INSERT, headers={**name_key("mine"), "If-Match": "*"})
        get_error(conditional, 422, "idempotency_mismatch")
        elsewhere = notebook.send_json("POST", "cells", {}, name_key("mine"))
        assert elsewhere.status == 400


def test_create_insert_and_delete_are_idempotent_with_a_key(
    live: Client, notebook: Notebook
) -> None:
    cells = f"nbedit/notebooks/{notebook.path}/cells"
    insert = json.dumps({k: v for k, v in INSERT.items() if k != "op"}).encode()
    for verb, target, body, status in (
        ("PUT", "nbedit/notebooks/put-again.ipynb", b"{}", 201),
        ("POST", cells, insert, 201),
        ("PATCH", f"{cells}/alpha", b'{"source": "x"}', 200),
        ("DELETE", f"{cells}/beta", None, 200),
    ):
        first, second = (
            live.request(verb, target, body, {**JSON, **name_key(verb)}) for _ in range(2)
        )
        assert first.status == second.status == status
        assert first.body == second.body
        assert first.headers.get("Location") == second.headers.get("Location")
    assert [cell["source"] for cell in samples.load_cells(notebook.text)] == [
        "x",
        "as is",
        "x",
    ]


def test_an_error_is_not_remembered(notebook: Notebook) -> None:
    edit = {"op": "replace", "cell": "later", "source": "x"}
    get_error(notebook.patch(edit, headers=name_key("late")), 404, "cell_not_found")
    notebook.write(samples.raw("a", "later"))
    assert notebook.patch(edit, headers=name_key("late")).status == 200


def test_concurrent_copies_of_a_request_run_once(live: Client, notebook: Notebook) -> None:
    async def send() -> list[bytes]:
        copies = [
            asyncio.to_thread(live.patch, notebook.path, INSERT, headers=name_key("at once"))
            for _ in range(12)
        ]
        return [answer.body for answer in await asyncio.gather(*copies)]

    assert len(set(asyncio.run(send()))) == 1
    assert len(notebook.list_sources()) == 4


NAME = ("ann", "k")


async def test_a_waiting_copy_runs_if_the_first_fails() -> None:
    seen = IdempotencyCache()
    assert await seen.begin(NAME, "r") is None
    waiting = asyncio.ensure_future(seen.begin(NAME, "r"))
    await asyncio.sleep(0)
    seen.abandon(NAME)
    assert await waiting is None
    # It has not been stored as failed, and another request may use the key after that.
    seen.abandon(NAME)
    assert await seen.begin(NAME, "other") is None


async def test_a_cancelled_waiting_copy_does_not_cancel_the_first() -> None:
    seen, response = IdempotencyCache(), StoredResponse(b"done")
    assert await seen.begin(NAME, "r") is None
    waiting, cancelled = (asyncio.ensure_future(seen.begin(NAME, "r")) for _ in range(2))
    await asyncio.sleep(0)
    cancelled.cancel()
    seen.complete(NAME, response)
    assert await waiting == await seen.begin(NAME, "r") == response


async def test_keys_are_separate_for_each_user() -> None:
    seen = IdempotencyCache()
    assert await seen.begin(("ann", "k"), "r") is None
    assert await seen.begin(("bob", "k"), "other") is None
    with pytest.raises(IdempotencyMismatch):
        await seen.begin(("ann", "k"), "other")


async def test_remembered_replies_have_a_limit() -> None:
    seen, response = IdempotencyCache(), StoredResponse(bytes(2**20))
    for number in range(100):
        assert await seen.begin(("ann", str(number)), "r") is None
        seen.complete(("ann", str(number)), response)
    remembered = []
    for number in reversed(range(100)):
        try:
            await seen.begin(("ann", str(number)), "another request")
        except IdempotencyMismatch:
            remembered.append(number)
    assert 10 < len(remembered) < 50
    assert remembered == list(range(99, 99 - len(remembered), -1))
