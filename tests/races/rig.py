"""An edit of another process, and somebody who acts before a chosen call of it to the system."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Blocked
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.faults import shim
from tests.faults.machinery import need
from tests.races.insider import NAME
from tests.races.outsider import version
from tests.support.paths import ROOT

BEFORE, THEIRS = version(1), version(201)
AWAY = "away.ipynb"
#: How long somebody who is kept waiting is waited for, before the edit goes on.
_BLOCKED_SECONDS = 0.03
_HELD_SECONDS = 0.06
_LIMIT_SECONDS = 20.0


def renamed(path: Path) -> None:
    beside = path.with_name(".theirs")
    beside.write_bytes(THEIRS)
    beside.replace(path)


def in_place(path: Path) -> None:
    path.write_bytes(THEIRS)


def held_open(path: Path) -> None:
    """Open the file, and write into it a little later."""
    with path.open("r+b", buffering=0) as file:
        time.sleep(_HELD_SECONDS)
        file.truncate()
        file.write(THEIRS)


def disguised(path: Path) -> None:
    """Write as many bytes, and set the time back to what it was."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(THEIRS)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def removed(path: Path) -> None:
    path.unlink()


def moved(path: Path) -> None:
    path.rename(path.with_name(AWAY))


class Rig:
    """An edit of a process of its own, and its folder.

    Parameters
    ----------
    top
        A folder that other users can get to.
    user
        As whom to edit, and to interfere.
    libraries
        What is to stand between the edit and libc, the shim among it.
    refused
        See `rigged`.
    """

    def __init__(
        self, top: Path, user: int, libraries: Sequence[Path], refused: Sequence[str]
    ) -> None:
        self.root, self.path, locks = top / "root", top / "root" / NAME, top / "locks"
        for folder in (self.root, locks):
            folder.mkdir()
            os.chown(folder, user, user)
        self._user = user
        command = [sys.executable, "-m", "tests.races.stopping", str(self.root), str(locks)]
        self._process = subprocess.Popen(
            [*command, str(user)],
            cwd=ROOT,
            env={
                **os.environ,
                "LD_PRELOAD": " ".join(map(str, libraries)),
                "NBEDIT_REFUSED": " ".join(refused),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._pool = ThreadPoolExecutor(1)

    def put(self) -> None:
        """Have nothing in the folder but the notebook, as it was before."""
        for name in self.root.iterdir():
            name.unlink()
        self.path.write_bytes(BEFORE)
        os.chown(self.path, self._user, self._user)

    def edit(self, number: int, act: Callable[[Path], None] | None = None) -> tuple[int, str]:
        """Let an edit be made, and somebody act before its call of a number."""
        self.put()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        print(number, file=process.stdin, flush=True)
        acting = None
        if act is not None:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            acting = self._pool.submit(act, self.path)
            with suppress(Blocked, OSError):
                acting.result(_BLOCKED_SECONDS)
            process.send_signal(signal.SIGCONT)
        calls, outcome = json.loads(process.stdout.readline())
        if acting is not None:
            with suppress(FileNotFoundError):
                acting.result(_LIMIT_SECONDS)
        return calls, outcome

    def left(self) -> dict[str, bytes]:
        """Give what is in the folder."""
        return {path.name: path.read_bytes() for path in self.root.iterdir()}

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._pool.shutdown()


@contextmanager
def rigged(user: int, *, refused: Sequence[str] = ()) -> Iterator[Rig]:
    """Have a rig while the block runs.

    Parameters
    ----------
    user
        As whom to edit, and to interfere.
    refused
        What the system does not do: ``exchange``, ``lease``.
    """
    need_system()
    top = Path(tempfile.mkdtemp(prefix="nbedit-"))
    top.chmod(0o755)
    try:
        rig = Rig(top, user, [shim.build(top), refusing(top)], refused)
        try:
            yield rig
        finally:
            rig.close()
    finally:
        shutil.rmtree(top)


def need_system() -> None:
    """Go on only where there are leases, and a compiler; in CI there must be."""
    need(sys.platform == "linux" and shim.compiler(), "this rig needs Linux and a C compiler")


def refusing(folder: Path) -> Path:
    """Build what lets the system refuse things, to be named in ``LD_PRELOAD``."""
    library, source = folder / "refusing.so", Path(__file__).with_name("refusing.c")
    command = [shim.compiler() or "cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run([*command, "-ldl"], check=True)
    return library
