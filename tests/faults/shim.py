"""The shim between a process and libc: build it, and set what it does."""

import ctypes
import errno
import shutil
import subprocess
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")

#: Possible errors of a system call.
_NAMES = "EIO ENOSPC EDQUOT EACCES EPERM EROFS EINTR EMFILE ESTALE EXDEV ENOSYS EINVAL"
ERRORS = {name: getattr(errno, name) for name in _NAMES.split()}


class Mode(IntEnum):
    """What happens at a call; the same as in ``shim.c``."""

    OFF = 0
    COUNT = 1
    KILL = 2
    FAIL_ONCE = 3
    FAIL_ON = 4
    SHORT_ONCE = 5
    SHORT_ON = 6
    STOP = 7
    DELAY = 8


def find_compiler() -> str | None:
    """Find one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(folder: Path) -> Path:
    """Build the shim, to be named in ``LD_PRELOAD``."""
    library = folder / "shim.so"
    command = [find_compiler() or "cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    subprocess.run([*command, "-ldl"], check=True)
    return library


class Shim:
    """Controls the shim that this process was started with."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.nbedit_disarm.restype = ctypes.c_long
        self._library.nbedit_failed.restype = ctypes.c_long
        self._library.nbedit_on_main_thread.argtypes = [ctypes.c_long]
        self._library.nbedit_name.restype = ctypes.c_char_p
        self._library.nbedit_name.argtypes = [ctypes.c_long]
        self._library.nbedit_set_ahead.argtypes = [ctypes.c_long]
        numbers = [ctypes.c_int, ctypes.c_long, ctypes.c_int]
        self._library.nbedit_arm.argtypes = [*numbers, ctypes.c_char_p]

    def arm(self, mode: Mode, first: int = 0, code: int = 0, inside: Path | None = None) -> None:
        """Start at the call number `first`; `code` is the error, or the milliseconds of a delay.

        Only calls on files in the folder `inside` count; None for all.
        """
        where = b"" if inside is None else str(inside).encode()
        self._library.nbedit_arm(mode, first, code, where)

    def disarm(self) -> int:
        """Stop, and return the number of calls."""
        return int(self._library.nbedit_disarm())

    def count_failures(self) -> int:
        """Return the number of failed calls."""
        return int(self._library.nbedit_failed())

    def is_on_main_thread(self, call: int) -> bool:
        """Return whether the main thread made the call with a number."""
        return bool(self._library.nbedit_on_main_thread(call))

    def get_call_name(self, call: int) -> str:
        """Return the name of the call with a number."""
        return (self._library.nbedit_name(call) or b"").decode()

    def set_clock_ahead(self, seconds: int) -> None:
        """Set the clock ahead."""
        self._library.nbedit_set_ahead(seconds)
