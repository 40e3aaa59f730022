"""Seeded bugs: change the behaviour of processes so that a named test must fail.

A bug changes a call to the operating system, or a public method of the package or of a library. All
processes of one run of pytest have it from their start, by a `sitecustomize` module on their path.
"""

# mypy: disable-error-code="arg-type, assignment, call-overload, method-assign, misc, return-value"

import ctypes
import errno
import fcntl
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat

from tests.support.paths import ROOT, extend_python_path

# A guard against hanging only.
LIMIT_SECONDS = 600.0
_BUG, _FOLDER = "NBEDIT_SEEDED_BUG", "NBEDIT_SEEDED_FOLDER"


@dataclass(frozen=True)
class Bug:
    """A change of behaviour, the test that must fail, and words in the report of its failure."""

    activate: Callable[[], None]
    test: str
    words: str

    @property
    def needs_all_cases(self) -> bool:
        """Whether the test may pass if it tries only the cases of the day."""
        return self.test.startswith((_FSYNC, _KILLS, _ACTS))


def run_tests(
    tests: Sequence[str], folder: Path, bug: str = "", *, tries_all: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run tests in processes with a bug, or none; the folder must be empty.

    With ``tries_all`` they try all their cases, as at night.

    Raise subprocess.TimeoutExpired if they hang, which is no report of a bug.
    """
    (folder / "sitecustomize.py").write_text(
        "from tests import seeded_bugs\n\nseeded_bugs.activate()\n"
    )
    # What a bug leaves unclosed must not end pytest before it has reported what failed.
    options = [f"-pno:{name}" for name in ("cacheprovider", "unraisableexception")]
    # To change a method of the package, it was imported before pytest.
    options.append("-Wignore:Module already imported")
    env = {name: value for name, value in os.environ.items() if name != "NBEDIT_NIGHTLY"}
    if tries_all:
        env["NBEDIT_NIGHTLY"] = "1"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *options, *tests],
        cwd=ROOT,
        env={**extend_python_path(env, folder, ROOT), _BUG: bug, _FOLDER: str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def activate() -> None:
    """Put the bug of this run into this process, and have its children do the same."""
    folder, start = Path(os.environ[_FOLDER]), subprocess.Popen.__init__

    def start_child(process: Any, *arguments: Any, env: Any = None, **options: Any) -> None:
        # Some tests give their processes another path.
        env = extend_python_path(os.environ if env is None else env, folder, ROOT)
        start(process, *arguments, env=env, **options)

    subprocess.Popen.__init__ = start_child
    if name := os.environ[_BUG]:
        BUGS[name].activate()


def _ignore_locks() -> None:
    fcntl.flock = lambda *_: None


def _answer_lease(answer: Callable[[], int]) -> None:
    call, commands = fcntl.fcntl, {fcntl.F_SETLEASE, fcntl.F_GETLEASE}
    fcntl.fcntl = lambda file, command, *more: (
        answer() if command in commands else call(file, command, *more)
    )


def _sync_only(is_synced: Callable[[int], bool]) -> None:
    sync = os.fsync
    os.fsync = lambda file: sync(file) if is_synced(os.fstat(file).st_mode) else None


def _sync_again() -> None:
    sync = os.fsync

    def sync_twice(file: int) -> None:
        try:
            sync(file)
        except OSError:
            sync(file)

    os.fsync = sync_twice


def _ignore_short_writes() -> None:
    write = os.write
    os.write = lambda file, data: min(write(file, data), 0) + len(data)


def _replace_in_libc(symbol: str, function: object) -> None:
    find = ctypes.CDLL.__getattr__
    ctypes.CDLL.__getattr__ = lambda library, name: (
        function if name == symbol else find(library, name)
    )


def _write_in_place() -> None:
    def copy_over(source: str, target: str, *, src_dir_fd: int, **_: object) -> None:
        shutil.copyfile(
            f"/proc/self/fd/{src_dir_fd}/{source}", f"/proc/self/fd/{src_dir_fd}/{target}"
        )

    def refuse() -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    # The process would wait for its own lease.
    _answer_lease(refuse)
    _replace_in_libc("renameat2", None)
    os.replace = copy_over


def _exchange_in_three_steps() -> None:
    class Exchange:
        argtypes: object = ()

        def __call__(self, folder: int, one: bytes, _: int, other: bytes, _flags: int) -> int:
            aside = other + b".aside"
            for source, target in ((other, aside), (one, other), (aside, one)):
                os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)
            return 0

    _replace_in_libc("renameat2", Exchange())


def _follow_links() -> None:
    # Without `openat2`; each of the three refuses most links alone.
    _replace_in_libc("syscall", None)
    os.O_NOFOLLOW = 0
    os.path.realpath = lambda path, **_: os.path.abspath(path)  # noqa: PTH100 - a string


def _overwrite_changes() -> None:
    from jupyter_nbedit.notebook.splices import Splice, apply_splices
    from jupyter_nbedit.storage.base import StaleContent
    from jupyter_nbedit.storage.files.file_storage import FileStorage

    write = FileStorage.write

    async def write_anyway(self: FileStorage, path: str, base: Any, splices: Any) -> Any:
        text = apply_splices(base.text, splices)
        while True:
            try:
                return await write(self, path, base, splices)
            except StaleContent:
                base = await self.read(path)
                splices = [Splice(0, len(base.text), text)]

    FileStorage.write = write_anyway


def _ignore_idempotency_keys() -> None:
    from tornado.httputil import HTTPHeaders

    find = HTTPHeaders.get
    HTTPHeaders.get = lambda headers, name, *more: (
        None if name == "Idempotency-Key" else find(headers, name, *more)
    )


def _skip_history() -> None:
    from jupyter_nbedit.services.history.store import EditStore

    async def add(*_: object) -> int:
        return 1

    EditStore.add = add


def _ignore_decisions() -> None:
    from jupyter_nbedit.services.proposals import store
    from jupyter_nbedit.services.requests import Claim

    vars(store)["check_pending"] = lambda *_: None
    Claim.covers = lambda *_: False


def _sign_untrusted() -> None:
    from jupyter_nbedit.storage.files.file_storage import FileStorage
    from jupyter_nbedit.trust.manager import TrustManager

    known, write = TrustManager.find_signature, FileStorage.write
    notaries: list[Any] = []

    async def know(self: TrustManager, *arguments: Any) -> Any:
        notaries[:] = [self.get_notary()]
        return await known(self, *arguments)

    async def write_and_sign(self: FileStorage, path: str, *arguments: Any) -> Any:
        result = await write(self, path, *arguments)
        text = bytes((await self.read(path)).text).decode()
        notaries[0].sign(nbformat.reads(text, as_version=4))
        return result

    TrustManager.find_signature, FileStorage.write = know, write_and_sign


def _sign_nothing() -> None:
    from jupyter_nbedit.trust.manager import TrustManager

    TrustManager.sign = lambda *_: None


_LOCKS = (
    "tests/storage/test_locks.py::test_three_processes_that_count_in_one_notebook_lose_no_update"
)
_LINKS = (
    "tests/storage/test_links.py::"
    "test_nothing_outside_the_root_is_read_written_or_created_through_a_link"
)
_POWER = "tests/faults/test_power_loss.py"
_FSYNC = (
    "tests/faults/test_failing_calls.py::"
    "test_bytes_after_a_failed_fsync_are_not_reported_as_durable[replace]"
)
_SHORT = "tests/faults/test_failing_calls.py::test_short_reads_and_writes_are_completed[replace]"
_KILLS = (
    "tests/faults/test_kills.py::"
    "test_a_kill_at_any_call_leaves_old_or_new_bytes_and_the_next_edit_works"
    "[replace]"
)
_ACTS = (
    "tests/races/test_interleavings.py::test_a_write_between_any_two_calls_of_an_edit_is_not_lost"
)
_WRITERS = (
    "tests/races/test_linearizability.py::test_edits_over_two_killed_servers_are_linearizable"
)
_PROPOSALS = "tests/races/test_concurrent_decisions.py::test_one_of_two_servers_decides"
_TRUST = "tests/trust/test_random_histories.py::test_no_history_gains_trust_and_no_edit_loses_it"

#: By what is wrong.
BUGS = {
    "locks of other servers are ignored": Bug(_ignore_locks, _LOCKS, "== [0, 0, 0]"),
    "leases are not taken": Bug(
        partial(_answer_lease, lambda: fcntl.F_RDLCK),
        f"{_ACTS}[us-write_while_open]",
        "before call",
    ),
    "files are not synced": Bug(partial(_sync_only, stat.S_ISDIR), _POWER, "acknowledged"),
    "folders are not synced": Bug(partial(_sync_only, stat.S_ISREG), _POWER, "acknowledged"),
    "a failed fsync is repeated": Bug(_sync_again, _FSYNC, "called durable after an fsync"),
    "short writes are ignored": Bug(_ignore_short_writes, _SHORT, "neither the old nor the new"),
    "files are written in place": Bug(_write_in_place, _KILLS, "neither the old nor the new"),
    # Of the calls of an edit, whose number depends on the clock, only one or two show it.
    "an exchange of names is three steps": Bug(_exchange_in_three_steps, _ACTS, "before call"),
    "links out of the root are followed": Bug(_follow_links, _LINKS, "DID NOT RAISE"),
    "changes by others are overwritten": Bug(
        _overwrite_changes, f"{_ACTS}[us-replace_by_rename]", "before call"
    ),
    "idempotency keys are ignored": Bug(_ignore_idempotency_keys, _WRITERS, "was made twice"),
    "edits are not in the history": Bug(_skip_history, _WRITERS, "is not in the history"),
    "decisions of other servers are ignored": Bug(_ignore_decisions, _PROPOSALS, "200, 409"),
    "untrusted notebooks are signed": Bug(_sign_untrusted, _TRUST, "assert True == "),
    "trusted notebooks are not signed": Bug(_sign_nothing, _TRUST, "assert False == "),
}
#: Those that are tried by day, too.
DAY = {"links out of the root are followed"}
