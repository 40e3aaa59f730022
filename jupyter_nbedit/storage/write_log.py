"""Tell writes by this user's servers from writes by other programs.

A server holds the lock of a path (`PathLocks`) while it writes the file. After the write it records
here the inode, size and times of the file, to the nanosecond. Every later write changes these
values: a file that differs from its record was written by another program. All servers of a user
share one log file of fixed size. A record costs one small write to the log, without fsync. After a
crash of the system, a write by a server may count as a write by another program.
"""

import hashlib
import os
from contextlib import suppress
from logging import Logger
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Literal

from jupyter_nbedit.db.notebook_names import fold_name
from jupyter_nbedit.system.lru import LRUCache

#: What every write of a file changes: fields of its ``stat``, or what a contents manager says of
#: it; None if there is no file.
Identity = tuple[int | str | None, ...] | None
#: Which server has written a file last.
Writer = Literal["this server", "other server"]

NAME = "writes"
_SLOTS = 4096
_HASH_BYTES = 16
_CHECK_BYTES = 8
# The hashes of the name and of the identity, and a hash of both.
_SLOT_BYTES = 2 * _HASH_BYTES + _CHECK_BYTES
_FLAGS = os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OWN_WRITES = 4096


class WriteLog:
    """The log of one server; all servers of the user share its folder.

    Of two names with the same slot, the log has only the newer record. Several threads may use an
    object of this class.
    """

    def __init__(self, folder: Path, log: Logger) -> None:
        self._folder = folder
        self._log = log
        # By hash of the name: the hash of the identity.
        self._own_writes: LRUCache[bytes, bytes] = LRUCache(_OWN_WRITES)
        self._lock = Lock()
        self._has_failed = False

    def record(self, name: str, identity: Identity) -> None:
        """Record a file that this server has just written; the lock of the name must be held.

        Never raises: a save must not fail because another disk is full.
        """
        key, value = _hash_name(name), _hash_text(repr(identity))
        slot = key + value
        with self._lock:
            self._own_writes.put(key, value)
        try:
            with self._open() as file:
                file.seek(_get_offset(key))
                file.write(slot + _compute_check(slot))
        except OSError as error:
            if not self._has_failed:
                self._has_failed = True
                self._log.warning("Other servers cannot be told what this one saves: %s", error)

    def find_writer(self, name: str, identity: Identity) -> Writer | None:
        """Return which server has written a file last; None if another program has written it."""
        key, value = _hash_name(name), _hash_text(repr(identity))
        with self._lock:
            if self._own_writes.get(key) == value:
                return "this server"
        slot = key + value
        is_stored = self._read_slot(key) == slot + _compute_check(slot)
        return "other server" if is_stored else None

    def read_last_write(self, name: str) -> bytes | None:
        """Return a mark of the last write by any of the servers, which the next one changes."""
        key = _hash_name(name)
        data = self._read_slot(key)
        if data is None:
            return self._own_writes.get(key)
        return data if data.startswith(key) else None

    def _read_slot(self, key: bytes) -> bytes | None:
        """Return the slot of a name; None if the log cannot be read."""
        with suppress(OSError), self._open() as file:
            file.seek(_get_offset(key))
            return file.read(_SLOT_BYTES)
        return None

    def _open(self) -> BinaryIO:
        # Not kept open: the system may remove old files of the runtime folder.
        path = os.path.join(self._folder, NAME)
        try:
            descriptor = os.open(path, _FLAGS, 0o600)
        except FileNotFoundError:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, _FLAGS, 0o600)
        return os.fdopen(descriptor, "r+b")


def _hash_name(name: str) -> bytes:
    return _hash_text(fold_name(name))


def _hash_text(text: str) -> bytes:
    data = text.encode(errors="surrogatepass")
    return hashlib.blake2b(data, digest_size=_HASH_BYTES).digest()


def _compute_check(slot: bytes) -> bytes:
    return hashlib.blake2b(slot, digest_size=_CHECK_BYTES).digest()


def _get_offset(key: bytes) -> int:
    return int.from_bytes(key[:4], "big") % _SLOTS * _SLOT_BYTES
