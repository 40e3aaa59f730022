"""Failures around a server while a block runs: disks, other programs, the database."""

import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from tests.support.http import Client
from tests.support.waiting import wait_until

#: Takes a server and the path of a notebook in its root, which later tests write anew.
Fault = Callable[[Client, str], AbstractContextManager[None]]
_INSERT = {"op": "insert", "cell_type": "raw", "source": "", "at": "end"}


def find_database(client: Client) -> Path:
    """Return the file with the history, the modes and the proposals of a server."""
    return client.root.parent / "data" / "nbedit" / "history.sqlite3"


def _edit_first(client: Client, path: str) -> None:
    """Make the server create its database, which it does at the first edit."""
    text = (client.root / path).read_bytes()
    assert client.patch(path, _INSERT).status == 200
    (client.root / path).write_bytes(text)


@contextmanager
def link_twice(client: Client, path: str) -> Iterator[None]:
    """Create a second hard link to the file."""
    os.link(client.root / path, client.root / "linked.ipynb")
    yield


@contextmanager
def save_elsewhere(client: Client, path: str) -> Iterator[None]:
    """Leave the backup that Jupyter Server makes while it writes a file in place."""
    (client.root / f".~{path}").touch()
    yield


@contextmanager
def fail_reads(client: Client, path: str) -> Iterator[None]:
    """Replace the file by one whose reads fail, like the memory of a process at 0."""
    (client.root / path).unlink()
    (client.root / path).symlink_to("/proc/self/mem")
    yield


def limit_files(size: int) -> Fault:
    """Return the fault that the server can write no files larger than ``size``."""

    @contextmanager
    def limit(client: Client, path: str) -> Iterator[None]:
        _edit_first(client, path)
        (info,) = client.root.parent.glob("runtime/jpserver-*.json")
        process, what = json.loads(info.read_bytes())["pid"], resource.RLIMIT_FSIZE
        before = resource.prlimit(process, what)
        resource.prlimit(process, what, (size, before[1]))
        try:
            yield
        finally:
            resource.prlimit(process, what, before)

    return limit


@contextmanager
def lose_database(client: Client, path: str) -> Iterator[None]:
    """Put a folder in the place of the file with the history and the modes."""

    def find_reason() -> Any:
        return client.request("GET", "nbedit/mode").json["unreadable"]

    _edit_first(client, path)
    database = find_database(client)
    aside = database.rename(database.with_suffix(".aside"))
    database.mkdir()
    try:
        # A server may go by what it has read a moment ago.
        wait_until(find_reason, what="the modes are unreadable")
        yield
    finally:
        database.rmdir()
        aside.rename(database)
        wait_until(lambda: find_reason() is None, what="the modes are readable")
