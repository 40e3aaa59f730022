"""Every spelling of a path out of the root that anybody has collected: none leads anywhere."""

from __future__ import annotations

import os
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import pytest

from jupyter_nbedit.demo import server
from tests import corpora, samples
from tests.handlers.client import Client
from tests.handlers.refused import assert_says_nothing_of_this_machine, untouched, with_operation

MARK = "for nobody's eyes"
SECRET = samples.notebook(samples.markdown(MARK, "alpha"))
NAME = "secret.ipynb"
EDIT = with_operation(op="replace", cell="alpha", source="changed")
# Deeper than the longest ways up, so that each ends in a folder with a notebook to be found.
DEPTH = 24
AT_A_TIME = 100
REASON = re.compile(rb'"reason":"(notebook_not_found|invalid_request)"')
Answered = tuple[str, str, int, bytes | None]
# What the collections want to find, with whatever they take for a slash.
SOUGHT = re.compile(
    r"\{FILE\}|boot\.ini|etc.{1,12}?(?:passwd|issue)|windows.{1,12}?system32.{1,50}?hosts"
)
OWN = [
    f"{up}{sibling}{NAME}"
    for up in ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "./../", "a/../../", "..//", "/../", "..\\")
    for sibling in ("notebooks-secret/", "notebooks-secret%2f", "")
]


def collected() -> list[str]:
    """List all lines there are, as they are."""
    lists = sorted(corpora.corpus("traversal").glob("*.txt"))
    return [line for path in lists for line in path.read_text().splitlines()]


def aimed() -> list[str]:
    """List all ways out, each leading to a notebook rather than to a file of some system."""
    ways = set(OWN)
    for line in collected():
        way = SOUGHT.sub(NAME, line)
        # What does not end in .ipynb gets nowhere, whatever comes before.
        ways.add(way if way.endswith(NAME) else f"{way}{NAME}")
    return sorted(ways)


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Run a server in a deep folder, with secrets in every folder above its root."""
    top = tmp_path_factory.mktemp("deep")
    folder = top.joinpath(*"d" * DEPTH)
    (folder / "notebooks").mkdir(parents=True)
    (folder / "notebooks-secret").mkdir()
    above = [folder, *folder.parents[:DEPTH]]
    for place in (folder / "notebooks-secret", *above):
        (place / NAME).write_bytes(SECRET)
    with server.running("jupyter_server", folder, "--log-level=ERROR") as running:
        yield Client(running.port, running.token, running.root)


def asked(client: Client, requests: Iterable[tuple[str, str, bytes]]) -> Iterator[Answered]:
    """Send request lines as they are, which no HTTP library would, many at a time."""
    pending = list(requests)
    while pending:
        batch, pending = pending[:AT_A_TIME], pending[AT_A_TIME:]
        with socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection:
            connection.sendall(b"".join(_written(client, *request) for request in batch))
            stream = connection.makefile("rb")
            for number, (verb, target, _) in enumerate(batch):
                status, body = _answer(stream)
                yield verb, target, status, body
                if body is None:
                    # What is no HTTP ends the connection, and what came behind it is not read.
                    pending = batch[number + 1 :] + pending
                    break


def _written(client: Client, verb: str, target: str, body: bytes) -> bytes:
    head = (
        f"{verb} /nbedit/notebooks/{target} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: token {client.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _answer(stream: IO[bytes]) -> tuple[int, bytes | None]:
    status = int(stream.readline().split()[1])
    length = None
    while (header := stream.readline().strip()) != b"":
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return status, None if length is None else stream.read(length)


def test_no_spelling_leads_out_of_the_root(deep: Client) -> None:
    lines, ways = collected(), aimed()
    assert len(lines) > 23_000
    assert len(ways) > 5_000
    requests = [("PATCH", way, EDIT) for way in ways] + [("GET", line, b"") for line in lines]
    above = deep.root.parents[DEPTH]
    notebooks = [path for path in above.rglob(NAME) if "runtime" not in path.parts]
    assert len(notebooks) == DEPTH + 2
    with untouched(*notebooks, deep.root):
        answers = list(asked(deep, requests))
    statuses = Counter(status for _, _, status, _ in answers)
    print(f"{len(answers)} ways out of the root: {dict(statuses)}")
    assert len(answers) == len(requests)
    assert not [answer for answer in answers if not 400 <= answer[2] < 500]
    for _, target, status, body in answers:
        if body is None:
            assert status == 400, target
        else:
            assert_says_nothing_of_this_machine(body)
            assert MARK.encode() not in body, target
            assert REASON.search(body), target


def test_no_spelling_shows_what_is_outside_the_root(deep: Client) -> None:
    # A read takes the way of an edit; every fourth is asked for all the same.
    ways = aimed()[:: 1 if "NBEDIT_NIGHTLY" in os.environ else 4]
    answers = list(asked(deep, [("GET", way, b"") for way in ways]))
    assert not [answer for answer in answers if not 400 <= answer[2] < 500]
    assert not [answer for answer in answers if MARK.encode() in (answer[3] or b"")]


def test_the_same_requests_do_reach_what_is_inside_the_root(deep: Client) -> None:
    inside = deep.root / NAME
    inside.write_bytes(SECRET)
    try:
        answers = list(asked(deep, [("GET", NAME, b""), ("PATCH", NAME, EDIT)]))
        assert [status for _, _, status, _ in answers] == [200, 200]
        assert MARK.encode() in (answers[0][3] or b"")
        assert _source(inside) == "changed"
    finally:
        inside.unlink()


def _source(path: Path) -> str:
    return str(samples.cells_of(path.read_bytes())[0]["source"])
