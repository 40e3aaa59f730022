"""A folder of notebooks and the storage that serves it, without a server."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage import Content, Written
from jupyter_nbedit.storage.files import FileStorage
from jupyter_nbedit.storage.locks import PathLocks

NAME = "a.ipynb"
TEXT = b'{"cells": []}'
EDIT = (Splice(1, 1, b" "),)
EDITED = b'{ "cells": []}'
NOBODY = 65534


@dataclass(frozen=True)
class Place:
    """A root folder, its contents manager, the locks and the storage over them."""

    root: Path
    manager: AsyncLargeFileManager
    locks: PathLocks
    storage: FileStorage

    def read(self, path: str = NAME) -> Content:
        return asyncio.run(self.storage.read(path))

    def write(self, base: Content, path: str = NAME, splices: Sequence[Splice] = EDIT) -> Written:
        return asyncio.run(self.storage.write(path, base, splices))

    def edit(self, path: str = NAME) -> Written:
        """Read and write, as an edit does."""
        return self.write(self.read(path), path)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path / "root"
    root.mkdir()
    manager = AsyncLargeFileManager(root_dir=str(root))
    locks = PathLocks(tmp_path / "locks", logging.getLogger(__name__))
    return Place(root, manager, locks, FileStorage(manager, locks))


@pytest.fixture
def notebook(place: Place) -> Path:
    path = place.root / NAME
    path.write_bytes(TEXT)
    return path


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_as_it_was(path: Path) -> None:
    assert path.read_bytes() == TEXT
    assert left_in(path.parent) == [path.name]


@dataclass
class Others:
    """Other processes, which start quickly: see `tests.storage.others`."""

    process: subprocess.Popen[str]
    _ids: Iterator[int] = field(default_factory=itertools.count)
    _outcomes: dict[int, Any] = field(default_factory=dict)

    def begin(self, what: str, **arguments: Any) -> int:
        """Start a process that does something; `outcome` waits for it."""
        number = next(self._ids)
        assert self.process.stdin is not None
        print(json.dumps([number, what, arguments]), file=self.process.stdin, flush=True)
        return number

    def outcome(self, number: int) -> Any:
        assert self.process.stdout is not None
        while number not in self._outcomes:
            found, outcome = json.loads(self.process.stdout.readline())
            self._outcomes[found] = outcome
        return self._outcomes.pop(number)

    def do(self, what: str, **arguments: Any) -> Any:
        return self.outcome(self.begin(what, **arguments))


@pytest.fixture(scope="session")
def others() -> Iterator[Others]:
    command = [sys.executable, "-m", "tests.storage.others"]
    # In a space of its own for mounts, which end with it.
    own_space = os.geteuid() == 0 and shutil.which("unshare") is not None
    process = subprocess.Popen(
        ["unshare", "--mount", *command] if own_space else command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with process:
        yield Others(process)


@pytest.fixture
def public() -> Iterator[Path]:
    """Make a folder that other users can get to, which those of pytest are not."""
    top = Path(tempfile.mkdtemp(dir="/tmp"))
    top.chmod(0o755)
    (top / "root").mkdir()
    yield top / "root"
    (top / "root").chmod(0o755)
    shutil.rmtree(top)
