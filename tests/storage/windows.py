"""Calls of Windows, as far as they differ from those of Linux: to test what no test machine runs.

Only functions of `os` change, and the name of the system. What this says of Windows is from its
documentation, and from that of Python.
"""

import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

IN_USE, ACCESS_DENIED = 32, 5
_MAX_PATH = 260
_NAME_TOO_LONG = 206
_PREFIX = "\\\\?\\"
_MISSING = (
    *("copy_file_range", "fchmod", "fchown", "pread", "preadv", "O_NONBLOCK"),
    *("getxattr", "listxattr", "removexattr", "setxattr"),
)
_TIMES = ("st_atime", "st_mtime", "st_ctime")
_MORE_FIELDS = (
    *_TIMES,
    *(f"{name}_ns" for name in _TIMES),
    *("st_blksize", "st_blocks", "st_rdev"),
)
#: When files were created that are older than the test, in nanoseconds.
LONG_AGO_NS = 1_577_836_800_000_000_000


def fail(code: int, kind: type[OSError] = PermissionError, number: int = errno.EACCES) -> OSError:
    """Return an error with a code of Windows."""
    error = kind(number, os.strerror(number))
    error.winerror = code  # type: ignore[attr-defined]
    return error


@dataclass
class Windows:
    """The emulated system."""

    #: The codes with which the next calls are refused that replace or link a file.
    refusals: list[int] = field(default_factory=list)
    #: How long threads wanted to wait, in seconds, and whether it was the main thread.
    waits: list[tuple[float, bool]] = field(default_factory=list)
    _creations: dict[int, int] = field(default_factory=dict)
    _written: dict[int, str] = field(default_factory=dict)
    _calls: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace the calls of this process."""
        for name in _MISSING:
            monkeypatch.delattr(os, name, raising=False)
        for name in ("access", "close", "fstat", "link", "open", "replace", "stat", "unlink"):
            self._calls[name] = getattr(os, name)
            monkeypatch.setattr(os, name, getattr(self, f"_{name}"))
        self._calls["utime"] = os.utime
        monkeypatch.setattr(os, "utime", self._utime)
        for name in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks"):
            monkeypatch.setattr(os, name, set())
        monkeypatch.setattr(sys, "platform", "win32")
        monkeypatch.setattr(time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.waits.append((seconds, threading.current_thread() is threading.main_thread()))

    def _access(self, path: Any, mode: int, *, dir_fd: None = None) -> bool:
        assert dir_fd is None
        return bool(self._calls["access"](_convert(path), mode))

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise NotImplementedError
        path = _convert(path)
        descriptor: int = self._calls["open"](path, flags, mode)
        # Other functions close files, too, and this one may have got the number of theirs.
        self._written.pop(descriptor, None)
        if flags & os.O_EXCL:
            self._creations[self._calls["fstat"](descriptor).st_ino] = time.time_ns()
        if flags & (os.O_WRONLY | os.O_RDWR):
            self._written[descriptor] = path
        return descriptor

    def _close(self, descriptor: int) -> None:
        status = self._calls["fstat"](descriptor)
        self._calls["close"](descriptor)
        path = self._written.pop(descriptor, None)
        if path is not None and os.path.lexists(path):
            # NTFS writes the time of a file late.
            self._calls["utime"](path, ns=(status.st_atime_ns, time.time_ns()))

    def _stat(
        self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> os.stat_result:
        if dir_fd is not None:
            raise NotImplementedError
        return self._convert_status(
            self._calls["stat"](_convert(path), follow_symlinks=follow_symlinks)
        )

    def _fstat(self, descriptor: int) -> os.stat_result:
        return self._convert_status(self._calls["fstat"](descriptor))

    def _convert_status(self, status: os.stat_result) -> os.stat_result:
        """Put the time of the creation where Linux has that of the last change."""
        created = self._creations.get(status.st_ino, LONG_AGO_NS)
        more = {name: getattr(status, name) for name in _MORE_FIELDS}
        more |= {"st_ctime_ns": created, "st_ctime": created / 1e9}
        return os.stat_result((*tuple(status)[:9], created // 1_000_000_000), more)

    def _utime(self, path: Any, *, ns: tuple[int, int]) -> None:
        assert not isinstance(path, int)
        self._calls["utime"](_convert(path), ns=ns)

    def _replace(
        self, source: Any, target: Any, *, src_dir_fd: None = None, dst_dir_fd: None = None
    ) -> None:
        assert src_dir_fd is dst_dir_fd is None
        source, target = _convert(source), _convert(target)
        self._refuse(source, target)
        self._calls["replace"](source, target)

    def _link(
        self,
        source: Any,
        target: Any,
        *,
        src_dir_fd: None = None,
        dst_dir_fd: None = None,
        **options: bool,
    ) -> None:
        assert src_dir_fd is dst_dir_fd is None
        if options:
            raise NotImplementedError
        source, target = _convert(source), _convert(target)
        self._refuse()
        self._calls["link"](source, target)

    def _unlink(self, path: Any, *, dir_fd: None = None) -> None:
        assert dir_fd is None
        path = _convert(path)
        if self._is_open(path):
            raise fail(IN_USE)
        self._calls["unlink"](path)

    def _refuse(self, *paths: str) -> None:
        if self.refusals:
            raise fail(self.refusals.pop(0))
        if any(self._is_open(path) for path in paths):
            raise fail(IN_USE)

    def _is_open(self, path: str) -> bool:
        """Return whether this process has a file open."""
        try:
            status = self._calls["stat"](path)
        except FileNotFoundError:
            return False
        for file in Path("/proc/self/fd").iterdir():
            try:
                found = self._calls["fstat"](int(file.name))
            except OSError:
                continue
            if os.path.samestat(found, status):
                return True
        return False


def _convert(path: Any) -> Any:
    """Return a path of Linux; paths of Windows are short, unless they have a prefix."""
    if isinstance(path, int):
        return path
    path = os.fspath(path)
    if path.startswith(_PREFIX):
        return path.removeprefix(_PREFIX)
    if len(path) >= _MAX_PATH:
        raise fail(_NAME_TOO_LONG, FileNotFoundError, errno.ENOENT)
    return path
