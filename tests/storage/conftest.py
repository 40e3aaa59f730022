"""A folder of notebooks and the storage that serves it, without a server."""

import asyncio
import itertools
import json
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import Content, WriteResult
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver

NAME = "a.ipynb"
TEXT = b'{"cells": []}'
EDIT = (Splice(1, 1, b" "),)
EDITED = b'{ "cells": []}'
NOBODY = 65534
HANGING_SECONDS = 60


@dataclass(frozen=True)
class Root:
    """A root folder, its contents manager, the locks and the storages over them."""

    root: Path
    manager: AsyncLargeFileManager
    locks: PathLocks
    storages: StorageResolver

    def read(self, path: str = NAME) -> Content:
        content: Content = asyncio.run(self._call("read", path))
        return content

    def write(
        self, base: Content, path: str = NAME, splices: Sequence[Splice] = EDIT
    ) -> WriteResult:
        result: WriteResult = asyncio.run(self._call("write", path, base, splices))
        return result

    def edit(self, path: str = NAME) -> WriteResult:
        """Read and write, as an edit does."""
        return self.write(self.read(path), path)

    def create(self, path: str = NAME, text: bytes = TEXT) -> WriteResult:
        result: WriteResult = asyncio.run(self._call("create", path, text))
        return result

    def ensure_absent(self, path: str = NAME) -> None:
        asyncio.run(self._call("ensure_absent", path))

    async def _call(self, method: str, path: str, *arguments: Any) -> Any:
        return await getattr(await self.storages.resolve(path), method)(path, *arguments)


def build_root(
    folder: Path, manager_class: Callable[..., Any] = AsyncLargeFileManager, **options: Any
) -> Root:
    """Build the storages over a folder `root`, with more settings of the server as keywords."""
    root = folder / "root"
    root.mkdir(exist_ok=True)
    manager = manager_class(root_dir=str(root))
    locks = PathLocks(folder / "locks", logging.getLogger(__name__))
    links_outside_root = options.pop("links_outside_root", True)
    settings = {"contents_manager": manager, **options}
    return Root(
        root,
        manager,
        locks,
        StorageResolver(settings, locks, links_outside_root=links_outside_root),
    )


@pytest.fixture
def place(tmp_path: Path) -> Root:
    return build_root(tmp_path)


@pytest.fixture(autouse=True)
def end_a_test_that_hangs() -> Iterator[None]:
    """Fail a test that has not ended in a minute; nothing else goes by the time that a test takes.

    What the test waits for on the event loop or in a thread is left behind.
    """

    def fail(*_: object) -> None:
        message = f"The test has not ended in {HANGING_SECONDS} seconds."
        raise AssertionError(message)

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(HANGING_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


#: Has things done after calls of a function of `os`, one by one, whose first argument matches.
CallHook = Callable[..., None]


@pytest.fixture
def interpose(monkeypatch: pytest.MonkeyPatch) -> CallHook:
    """Return what interposes in the calls that this process makes of the operating system.

    A turn that raises makes the call fail; the call was made before.
    """

    def interpose_calls(
        name: str, subjects: str | Callable[[Any], bool], *turns: Callable[[], object] | OSError
    ) -> None:
        call, pending = getattr(os, name), list(turns)
        matches = subjects if callable(subjects) else lambda subject: subject == subjects

        def interposed_call(subject: Any, *arguments: Any, **options: Any) -> Any:
            try:
                return call(subject, *arguments, **options)
            finally:
                if pending and matches(subject):
                    turn = pending.pop(0)
                    if isinstance(turn, OSError):
                        raise turn
                    turn()

        monkeypatch.setattr(os, name, interposed_call)

    return interpose_calls


def is_file(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def is_folder(descriptor: int) -> bool:
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


@pytest.fixture
def set_ahead(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that sets the clocks of this process ahead; the file system's goes on."""
    clock, stopwatch = time.time, time.monotonic

    def move(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: clock() + seconds)
        monkeypatch.setattr(time, "time_ns", lambda: int((clock() + seconds) * 1e9))
        monkeypatch.setattr(time, "monotonic", lambda: stopwatch() + seconds)

    return move


@pytest.fixture
def fast_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make time run a hundred times faster."""
    stopwatch = time.monotonic
    began = stopwatch()
    monkeypatch.setattr(time, "monotonic", lambda: began + 100 * (stopwatch() - began))


@pytest.fixture
def notebook(place: Root) -> Path:
    path = place.root / NAME
    path.write_bytes(TEXT)
    return path


async def run_other_tasks() -> None:
    """Run all other tasks as far as possible."""
    for _ in range(100):
        await asyncio.sleep(0)


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_unchanged(path: Path) -> None:
    assert path.read_bytes() == TEXT
    assert list_names(path.parent) == [path.name]


@dataclass
class OtherProcesses:
    """Other processes, which start quickly: see `tests.storage.other_processes`."""

    process: subprocess.Popen[str]
    _ids: Iterator[int] = field(default_factory=itertools.count)
    _outcomes: dict[int, Any] = field(default_factory=dict)

    def start(self, what: str, **arguments: Any) -> int:
        """Start a process that does something; `outcome` waits for it."""
        number = next(self._ids)
        assert self.process.stdin is not None
        print(json.dumps([number, what, arguments]), file=self.process.stdin, flush=True)
        return number

    def wait_for(self, number: int) -> Any:
        assert self.process.stdout is not None
        while number not in self._outcomes:
            found, outcome = json.loads(self.process.stdout.readline())
            self._outcomes[found] = outcome
        return self._outcomes.pop(number)

    def run(self, what: str, **arguments: Any) -> Any:
        return self.wait_for(self.start(what, **arguments))


@pytest.fixture(scope="session")
def processes() -> Iterator[OtherProcesses]:
    command = [sys.executable, "-m", "tests.storage.other_processes"]
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
        yield OtherProcesses(process)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """Make a folder that other users can get to, which those of pytest are not."""
    top = Path(tempfile.mkdtemp(dir="/tmp"))
    top.chmod(0o755)
    (top / "root").mkdir()
    yield top / "root"
    (top / "root").chmod(0o755)
    shutil.rmtree(top)
