"""Search over HTTP."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.storage.base import NotebookFile, Walker
from tests.handlers.error_checks import assert_no_local_names, get_error, no_changes
from tests.handlers.requests import find_services
from tests.support import corpora, samples
from tests.support.http import Answer, Client, Local
from tests.support.memory_storage import MemoryStorage, SingleStorage

STREAM = {"output_type": "stream", "name": "stdout", "text": "needle in a stream\n"}
TEXT = samples.notebook(
    samples.markdown("# Needle", "alpha"),
    samples.code("x = 1\nneedle = x", "beta", outputs=[STREAM]),
    samples.raw("", "gamma", metadata={"tags": ["needle"]}),
)


@pytest.fixture
def folder(live: Client, request: pytest.FixtureRequest) -> str:
    """Make a folder in the live server's root, for one test."""
    name = request.node.originalname
    (live.root / name).mkdir()
    (live.root / name / "a.ipynb").write_bytes(TEXT)
    return str(name)


def search(live: Client, **body: Any) -> Answer:
    return live.send_json("POST", "search", body)


def test_a_search_is_answered_as_documented(live: Client, folder: str) -> None:
    with no_changes(live.root):
        answer = search(live, query="needle", path=folder)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    notebook_hash = hashlib.sha256(b"x = 1\nneedle = x").hexdigest()
    assert answer.json == {
        "hits": [
            {
                "path": f"{folder}/a.ipynb",
                "cell_id": "beta",
                "index": 1,
                "name": f"1:{notebook_hash[:6]}",
                "cell_type": "code",
                "where": "source",
                "line": 2,
                "column": 1,
                "length": 6,
                "text": "needle = x",
            }
        ],
        "files": 1,
        "skipped": [],
        "skipped_count": 0,
        "hidden": 0,
        "ended_by": None,
        "cursor": None,
    }


def test_skipped_notebooks_are_reported_with_a_reason(live: Client, folder: str) -> None:
    top = live.root / folder
    (top / "broken.ipynb").write_bytes(b"no notebook")
    (top / "old.ipynb").write_bytes(b'{"nbformat": 3, "worksheets": []}')
    (top / "out").symlink_to(live.root.parent)
    (top / ".hidden").mkdir()
    (top / ".hidden" / "secret.ipynb").write_bytes(TEXT)
    (top / ".ipynb_checkpoints").mkdir()
    (top / "text.txt").write_bytes(b"needle")
    # A search does not wait for a writer.
    os.mkfifo(top / "pipe.ipynb")
    answer = search(live, query="needle", path=folder)
    assert [(one["path"], one["reason"]) for one in answer.json["skipped"]] == [
        (f"{folder}/broken.ipynb", "invalid_notebook"),
        (f"{folder}/old.ipynb", "invalid_notebook"),
        (f"{folder}/out", "link"),
        (f"{folder}/pipe.ipynb", "not_a_plain_file"),
    ]
    assert (answer.json["files"], answer.json["hidden"]) == (1, 2)
    assert b"secret" not in answer.body
    assert b".hidden" not in answer.body
    assert_no_local_names(answer.body, live.root)


@pytest.mark.parametrize(
    "path", ["nobody", "..", "../..", "%2e%2e", ".hidden", "/etc", "a/../b", "nobody.ipynb", "\0"]
)
def test_outside_hidden_and_missing_folders_get_the_same_error(live: Client, path: str) -> None:
    (live.root / ".hidden").mkdir(exist_ok=True)
    answer = search(live, query="x", path=path)
    assert get_error(answer, 404, "notebook_not_found") == {}
    assert answer.body == search(live, query="x", path="nobody at all").body


@pytest.fixture(scope="module")
def corpus(live: Client) -> Iterator[str]:
    """Copy the real notebooks into the live server's root."""
    folder = "corpus"
    shutil.copytree(corpora.corpus("notebooks"), live.root / folder)
    # The corpus may be read-only, and a user who is not root could not remove the copy.
    for path in (live.root / folder, *(live.root / folder).rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    yield folder
    shutil.rmtree(live.root / folder)


def scan_notebooks(top: Path, pattern: re.Pattern[str]) -> list[tuple[str, int, int, int]]:
    """Search with Python's own means."""
    hits = []
    paths = [path for path in top.rglob("*.ipynb") if not path.is_symlink()]
    for path in sorted(paths, key=lambda path: path.relative_to(top).parts):
        parts = path.relative_to(top).parts
        if any(part.startswith(".") for part in parts):
            continue
        try:
            notebook = json.loads(path.read_bytes())
            cells = notebook["cells"] if notebook["nbformat"] == 4 else []
        except (ValueError, KeyError, TypeError):
            continue
        for index, cell in enumerate(cells):
            source = "".join(cell.get("source", ""))
            lines = source.replace("\r\n", "\n").removesuffix("\n").split("\n") if source else []
            for number, line in enumerate(lines, 1):
                if match := pattern.search(line):
                    hits.append(("/".join(parts), index, number, match.start() + 1))
    return hits


@pytest.mark.parametrize(
    ("body", "pattern"),
    [
        ({"query": "IMPORT", "ignore_case": True}, "(?i)import"),
        ({"regex": r"^\s*def \w+\(self"}, r"^[ \t\n\r\f]*def [0-9A-Za-z_]+\(self"),
    ],
)
def test_matches_in_real_notebooks_equal_those_of_a_plain_scan(
    live: Client, corpus: str, body: dict[str, Any], pattern: str
) -> None:
    hits: list[Any] = []
    cursor: str | None = ""
    skipped: list[Any] = []
    while cursor is not None:
        page = search(live, path=corpus, **body, **({"cursor": cursor} if cursor else {})).json
        hits += page["hits"]
        skipped += page["skipped"]
        cursor = page["cursor"]
    left_out = {one["path"].removeprefix(f"{corpus}/") for one in skipped}
    plain = scan_notebooks(live.root / corpus, re.compile(pattern))
    assert [
        (hit["path"].removeprefix(f"{corpus}/"), hit["index"], hit["line"], hit["column"])
        for hit in hits
    ] == [hit for hit in plain if hit[0] not in left_out]
    assert plain
    # Notebooks that are not searched are those that the reader cannot read.
    assert {one["reason"] for one in skipped} <= {"invalid_notebook"}


class BlockingStorage(MemoryStorage):
    """A storage whose reads wait for the test."""

    def __init__(self) -> None:
        super().__init__({})
        self.reading = threading.Event()
        self.go = threading.Event()
        self.reads = 0

    def read_now(self) -> bytes:
        self.reads += 1
        self.reading.set()
        assert self.go.wait(60)
        return TEXT

    async def walk(self, path: str, *, recursive: bool) -> Walker:  # noqa: ARG002 -- it has one
        return lambda _: iter([NotebookFile(f"{n}.ipynb", self.read_now) for n in range(3)])


@pytest.fixture
def blocking_storage(jp_serverapp: Any) -> Iterator[BlockingStorage]:
    """Make searches of the server wait until the test releases them."""
    storage = BlockingStorage()
    find_services(jp_serverapp).services.search.storages = SingleStorage(storage)
    yield storage
    storage.go.set()


async def test_a_disconnected_client_cancels_its_search_and_others_are_served(
    local: Local, blocking_storage: BlockingStorage, jp_serverapp: Any
) -> None:
    body = b'{"query": "needle"}'
    connection = socket.create_connection(("127.0.0.1", jp_serverapp.port))
    head = (
        f"POST {jp_serverapp.base_url}nbedit/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: token {jp_serverapp.identity_provider.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    assert await asyncio.to_thread(blocking_storage.reading.wait, 60)
    large = samples.notebook(*(samples.raw("x" * 1000, f"id-{n}") for n in range(500)))
    for text in (TEXT, large):
        (local.root / "a.ipynb").write_bytes(text)
        assert (await local.patch("a.ipynb", {"op": "delete", "cell": 0})).status == 200
    connection.close()
    # The server has seen the end of the connection when it has served a later one.
    assert (await local.read("a.ipynb")).status == 200
    blocking_storage.go.set()
    for _ in range(3):
        answer = await local.send_json("POST", "search", {"query": "needle"})
        assert len(answer.json["hits"]) == 3
    assert blocking_storage.reads == 1 + 3 * 3
