"""How large bodies are received, refused and handled."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest

from jupyter_nbedit.notebook.apply_batch import MAX_ADDED_LINES
from tests.handlers.error_checks import get_error
from tests.support import samples
from tests.support.http import JSON, Client
from tests.support.sampling import is_nightly

NAME = "a.ipynb"
LIMIT = 16 * 1024 * 1024
LARGE = 3_000_000


@pytest.fixture
def client(live: Client) -> Client:
    (live.root / NAME).write_bytes(samples.three_cells())
    (live.root / "new.ipynb").unlink(missing_ok=True)
    return live


def build_body(source: str) -> bytes:
    operation = {"op": "insert", "at": "end", "cell_type": "code", "source": source}
    return json.dumps({"operations": [operation], "dry_run": True}).encode()


def edit(client: Client, body: bytes) -> int:
    return client.request("PATCH", f"nbedit/notebooks/{NAME}", body, JSON).status


@contextmanager
def open_connection(client: Client) -> Iterator[HTTPConnection]:
    connection = HTTPConnection("127.0.0.1", client.port)
    try:
        yield connection
    finally:
        connection.close()


def send(connection: HTTPConnection, path: str, size: int, token: str) -> list[int | str]:
    """Send a body after its head, all of it before the reply is read, as most clients do."""
    connection.putrequest("POST", path)
    connection.putheader("Authorization", f"token {token}")
    connection.putheader("Content-Type", "application/json")
    chunked = size % 2
    name, value = ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(size))
    connection.putheader(name, value)
    connection.endheaders()
    for start in range(0, size, 1 << 20):
        part = b" " * min(1 << 20, size - start)
        connection.send(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
    if chunked:
        connection.send(b"0\r\n\r\n")
    answer = connection.getresponse()
    return [answer.status, json.loads(answer.read())["reason"]]


@pytest.mark.parametrize(
    ("path", "token", "size", "error"),
    [
        ("search", "wrong", LIMIT, [403, "forbidden"]),
        ("search", "wrong", 2 * LIMIT, [403, "forbidden"]),
        ("search", None, 2 * LIMIT, [413, "too_large"]),
        ("mcp", None, 2 * LIMIT, [413, "too_large"]),
        ("notebooks/a.ipynb", None, LIMIT, [405, "invalid_request"]),
        ("nowhere", None, LIMIT, [404, "invalid_request"]),
    ],
)
def test_a_client_gets_the_error_of_a_large_body_and_may_go_on(
    client: Client, path: str, token: str | None, size: int, error: list[int | str]
) -> None:
    target = f"{client.base_url}nbedit/{path}"
    with open_connection(client) as connection:
        connection.connect()
        first = connection.sock
        for number in range(4):
            # An odd number of bytes is sent in chunks.
            found = send(connection, target, size - number % 2, token or client.token)
            assert found == error
            assert connection.sock is first


def test_bodies_that_do_not_come_keep_no_other_waiting_once_they_are_gone(client: Client) -> None:
    head = (
        f"PATCH {client.base_url}nbedit/notebooks/{NAME} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: token {client.token}\r\nContent-Type: application/json\r\n"
    )
    half = b" " * (LARGE // 2)
    endings = [
        f"Content-Length: {LARGE}\r\n\r\n".encode() + half,
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(half), half),
    ]
    body = build_body("x" * LARGE)
    with ThreadPoolExecutor(4) as pool:
        with ExitStack() as stack:
            for ending in endings:
                connection = stack.enter_context(
                    socket.create_connection(("127.0.0.1", client.port))
                )
                connection.sendall(head.encode() + ending[:1_200_000])
            waiting = [pool.submit(edit, client, body) for _ in range(4)]
            # Small requests do not wait.
            assert edit(client, build_body("x")) == 200
            if is_nightly():
                assert [each.result() for each in waiting] == [200] * 4
        assert [each.result() for each in waiting] == [200] * 4


LINE_ENDS = ["\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_a_source_with_too_many_lines_is_refused(client: Client, line_end: str) -> None:
    body = build_body(line_end * (MAX_ADDED_LINES + 1))
    answer = client.request("PATCH", f"nbedit/notebooks/{NAME}", body, JSON)
    assert get_error(answer, 413, "too_large") == {"limit": MAX_ADDED_LINES}
    assert f"would add {MAX_ADDED_LINES + 1} lines" in answer.json["message"]
    assert edit(client, build_body(line_end * MAX_ADDED_LINES)) == 200


def test_lines_count_however_an_operation_makes_them(client: Client) -> None:
    half = "x\r\n" * (MAX_ADDED_LINES // 2 + 1)
    lines = half * 2
    insert: dict[str, Any] = {"op": "insert", "at": "end", "cell_type": "code"}
    grow = {"op": "replace_text", "cell": "made", "old": "x", "new": "x\n", "all": True}
    batches: list[list[dict[str, Any]]] = [
        [{"op": "replace", "cell": "alpha", "source": lines}],
        [{**insert, "source": half}, {"op": "replace", "cell": "alpha", "source": half}],
        [{**insert, "id": "made", "source": "x" * (MAX_ADDED_LINES + 1)}, grow],
    ]
    before = (client.root / NAME).read_bytes()
    for batch in batches:
        get_error(client.patch(NAME, *batch), 413, "too_large")
    tool = json.dumps({"path": NAME, "operations": [{**insert, "source": lines}]}).encode()
    refused = client.request("POST", "nbedit/tools/agent/notebook_edit", tool, JSON)
    assert refused.status == 413
    cells = json.dumps({"cells": [{"cell_type": "code", "source": lines}]}).encode()
    created = client.request("PUT", "nbedit/notebooks/new.ipynb", cells, JSON)
    get_error(created, 413, "too_large")
    assert (client.root / NAME).read_bytes() == before
    assert not (client.root / "new.ipynb").exists()


def test_lines_that_were_there_may_be_moved_and_changed(client: Client) -> None:
    path = client.root / NAME
    long = "x\n" * (MAX_ADDED_LINES + 1)
    path.write_bytes(samples.notebook(samples.code(long, "long")))
    assert client.patch(NAME, {"op": "split", "cell": "long", "at_line": 3}).status == 200
    first, second = samples.load_cells(path.read_bytes())
    merged = client.patch(NAME, {"op": "merge", "cells": [first["id"], second["id"]]})
    assert merged.status == 200
    [cell] = samples.load_cells(path.read_bytes())
    changed = {"op": "replace_text", "cell": cell["id"], "old": "x", "new": "y", "all": True}
    assert client.patch(NAME, changed).status == 200
    assert samples.load_cells(path.read_bytes())[0]["source"].count("y\n") == MAX_ADDED_LINES + 1
