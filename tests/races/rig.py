"""An edit in another process, and an act of another program before a chosen system call."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from tests.faults import shim
from tests.faults.requirements import require
from tests.races.edit_loop import NAME
from tests.races.out_of_band_writer import build_version
from tests.support.paths import ROOT
from tests.support.waiting import LIMIT_SECONDS, wait_until

BEFORE, THEIRS = build_version(1), build_version(201)
AWAY = "away.ipynb"
#: So often the edit has slept before a program that has the file open writes into it.
_NAPS = 5


def replace_by_rename(path: Path, _rig: Rig) -> None:
    temporary = path.with_name(".theirs")
    temporary.write_bytes(THEIRS)
    temporary.replace(path)


def write_in_place(path: Path, _rig: Rig) -> None:
    path.write_bytes(THEIRS)


def write_while_open(path: Path, rig: Rig) -> None:
    """Open the file, and write into it when the edit waits for that, or has ended."""
    with path.open("r+b", buffering=0) as file:
        naps = rig.count_naps()
        rig.has_opened.set()
        wait_until(lambda: rig.has_ended.is_set() or rig.count_naps() >= naps + _NAPS)
        file.truncate()
        file.write(THEIRS)


def write_with_old_time(path: Path, _rig: Rig) -> None:
    """Write as many bytes, and restore the timestamp."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(THEIRS)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def append_line(path: Path, _rig: Rig) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def remove_file(path: Path, _rig: Rig) -> None:
    path.unlink()


def move_file(path: Path, _rig: Rig) -> None:
    path.rename(path.with_name(AWAY))


class Rig:
    """An edit of a process of its own as some user, and its folder.

    Between the edit and libc stand some libraries, the shim among them.
    """

    def __init__(
        self, top: Path, user: int, libraries: Sequence[Path], refused_calls: Sequence[str]
    ) -> None:
        self.root, self.path, locks = top / "root", top / "root" / NAME, top / "locks"
        for folder in (self.root, locks):
            folder.mkdir()
            os.chown(folder, user, user)
        self._user = user
        command = [sys.executable, "-m", "tests.races.paused_edit", str(self.root), str(locks)]
        self._process = subprocess.Popen(
            [*command, str(user)],
            cwd=ROOT,
            env={
                **os.environ,
                "LD_PRELOAD": " ".join(map(str, libraries)),
                "NBEDIT_REFUSED": " ".join(refused_calls),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._pool = ThreadPoolExecutor(1)
        self.has_opened, self.has_ended = Event(), Event()

    def edit(self, number: int, act: Callable[[Path, Rig], None] | None = None) -> tuple[int, str]:
        """Edit the same notebook again, and act before one of the calls."""
        for name in self.root.iterdir():
            name.unlink()
        self.path.write_bytes(BEFORE)
        os.chown(self.path, self._user, self._user)
        self.has_opened.clear()
        self.has_ended.clear()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        print(number, file=process.stdin, flush=True)
        acting = None
        if act is not None:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            acting = self._pool.submit(act, self.path, self)
            self._wait_for_act(acting)
            process.send_signal(signal.SIGCONT)
        calls, outcome = json.loads(process.stdout.readline())
        self.has_ended.set()
        if acting is not None:
            with suppress(FileNotFoundError):
                acting.result(LIMIT_SECONDS)
        return calls, outcome

    def _wait_for_act(self, acting: Future[None]) -> None:
        """Wait until the act has ended, has opened the file, or waits for a lease."""
        lease = f" {self._process.pid} "
        wait_until(
            lambda: (
                acting.done()
                or self.has_opened.is_set()
                or any(
                    "BREAKING" in line and lease in line
                    for line in Path("/proc/locks").read_text().splitlines()
                )
            ),
            "the other program",
        )

    def count_naps(self) -> int:
        """Count how often the threads of the edit have waited for something."""
        files = Path(f"/proc/{self._process.pid}/task").glob("*/status")
        naps = 0
        for file in files:
            with suppress(FileNotFoundError, ProcessLookupError):
                naps += int(file.read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
        return naps

    def read_folder(self) -> dict[str, bytes]:
        """Return the files of the folder."""
        return {path.name: path.read_bytes() for path in self.root.iterdir()}

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._pool.shutdown()


@contextmanager
def build_rig(user: int, *, refused_calls: Sequence[str] = ()) -> Iterator[Rig]:
    """Run a rig while the block runs; its system refuses ``exchange`` or ``lease``."""
    require_system()
    with make_shared_folder() as top:
        rig = Rig(top, user, [shim.build(top), build_refusing_library(top)], refused_calls)
        try:
            # Only the first edit in a folder looks for leftovers of killed servers.
            rig.edit(0)
            yield rig
        finally:
            rig.close()


@contextmanager
def make_shared_folder() -> Iterator[Path]:
    """Make a folder that other users can get to, which those of pytest are not."""
    top = Path(tempfile.mkdtemp(prefix="nbedit-"))
    top.chmod(0o755)
    try:
        yield top
    finally:
        shutil.rmtree(top)


def require_system() -> None:
    """Skip the test where there are no leases or no compiler; in CI fail it."""
    require(
        sys.platform == "linux" and shim.find_compiler(), "this rig needs Linux and a C compiler"
    )


def build_refusing_library(folder: Path) -> Path:
    """Build the library that refuses system calls, for ``LD_PRELOAD``."""
    library, source = folder / "refusing.so", Path(__file__).with_name("refusing.c")
    command = [
        shim.find_compiler() or "cc",
        "-O1",
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        str(source),
    ]
    subprocess.run([*command, "-ldl"], check=True)
    return library
