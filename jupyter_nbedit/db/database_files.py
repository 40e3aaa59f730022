"""The files of the database: their permissions, and the quarantine of damaged ones."""

from __future__ import annotations

import os
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from jupyter_nbedit.system.os_calls import (
    is_denied_by_windows,
    is_in_use,
    retry_while_in_use,
    sync_file,
)

DAY_SECONDS = 86_400.0
_QUARANTINE_INFIX = ".corrupt-"
_NEW_INFIX = ".new-"
_NOTE_INFIX = ".quarantined"
# The database and the files that SQLite makes next to it.
_SUFFIXES = ("", "-wal", "-shm")


class FileState(NamedTuple):
    """Device, inode, size in bytes and time in nanoseconds: each change of a file changes them."""

    device: int
    inode: int
    size: int
    modified: int

    def is_same_file(self, other: FileState | None) -> bool:
        """Return whether this was the same file, maybe with other contents."""
        return other is not None and self[:2] == other[:2]


@dataclass(frozen=True)
class PrivateFile:
    """A database file and the files of SQLite next to it, in a folder of their own."""

    path: Path
    #: How many days a quarantined file is kept.
    max_days: float

    def read_state(self) -> FileState | None:
        """Return the state of the file; None if there is no file.

        Only SQLite may open the file: closing it would release the locks that SQLite has on it in
        this process, and another server could remove the write-ahead log that is still in use
        (https://www.sqlite.org/howtocorrupt.html, 2.2).
        """
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def make_folder(self) -> None:
        """Make the folder, and remove the permissions of other users on it and its files."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if sys.platform == "win32":
            return
        _restrict(self.path.parent, 0o700)
        for path in self.path.parent.glob(f"{self.path.name}*"):
            _restrict(path, 0o600)
            if _QUARANTINE_INFIX in path.name:
                _delete_if_old(path, self.max_days)
            elif _NEW_INFIX in path.name:
                # A server was killed while it made the file.
                _delete_if_old(path, 1)

    def create_new_file(self) -> Path:
        """Make an empty file with a unique name, which will become the database."""
        path = Path(f"{self.path}{_NEW_INFIX}{uuid.uuid4().hex}")
        # SQLite gives its other files the permissions of the database, whatever the umask is.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def publish_new_file(self, path: Path) -> None:
        """Rename a complete file to the name of the database, unless another server was faster."""
        try:
            os.link(path, self.path)
        except FileExistsError:
            pass
        except OSError:
            # The file system has no hard links.
            if self.read_state() is None:
                path.rename(self.path)

    @staticmethod
    def discard_new_file(path: Path) -> None:
        """Remove the unique name of a new file, and the files of SQLite next to it."""
        for suffix in _SUFFIXES:
            with suppress(FileNotFoundError):
                retry_while_in_use(Path(f"{path}{suffix}").unlink)

    def quarantine(self, problem: str) -> Path:
        """Rename the damaged files, and return the new path of the database file.

        Also leave a note, a file with the problem. It is never removed: the later decision of a
        person is stored in the new database, and is lost with it if that is damaged, too. Raise
        `OSError` if the database cannot be renamed; then nothing has changed.
        """
        infix = f"{_QUARANTINE_INFIX}{datetime.now(tz=timezone.utc):%Y%m%dT%H%M%S%f}"
        reason = f"{problem}; the file was renamed to {self.path.name}{infix}"
        note = Path(f"{self.path}{_NOTE_INFIX}")
        # The note comes first: after a crash there must be no new database without it. Another
        # server may do the same at this moment, and only one of the two may succeed: until then
        # each server has a note with a name of its own.
        own_note = Path(f"{note}-{uuid.uuid4().hex}")
        self._write_note(own_note, reason)
        try:
            _move(self.path, infix)
        except OSError as error:
            if self.read_state() is not None:
                # Or another server has moved it, and made a new one: then it has left a note.
                retry_while_in_use(own_note.unlink)
            if is_in_use(error) or is_denied_by_windows(error):
                message = (
                    f"it is damaged, and Windows does not let {self.path.name} be renamed while "
                    "another program has it open. Stop the other Jupyter servers of this account"
                )
                raise OSError(error.errno, message) from error
            raise
        # A new database must not find the log of the damaged one, whatever fails below.
        for suffix in _SUFFIXES[1:]:
            _move(Path(f"{self.path}{suffix}"), infix)
        # Older releases know this name only.
        self._write_note(note, reason)
        # If this fails, there are two notes that say the same.
        with suppress(OSError):
            retry_while_in_use(own_note.unlink)
        return Path(f"{self.path}{infix}")

    def read_quarantine_reason(self) -> str | None:
        """Return the reason of the last quarantine; None if there was none."""
        while notes := self._list_notes():
            for path in notes:
                # A server removes its own note after the common note is there, or if it could not
                # rename the database: then the folder is read again.
                with suppress(FileNotFoundError):
                    problem = path.read_text(encoding="utf-8", errors="replace").strip()
                    # A crash may have left the note empty; the quarantine took place nevertheless.
                    return problem or "it was damaged and renamed"
        return None

    def _list_notes(self) -> list[Path]:
        beginning = f"{self.path.name}{_NOTE_INFIX}"
        try:
            # Not `glob`, which finds nothing in a folder that must not be listed.
            return [path for path in self.path.parent.iterdir() if path.name.startswith(beginning)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _write_note(self, path: Path, problem: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, f"{problem}\n".encode(errors="replace"))
            sync_file(descriptor)
        finally:
            os.close(descriptor)
        if sys.platform == "win32":
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            sync_file(folder)
        finally:
            os.close(folder)


def _move(path: Path, infix: str) -> None:
    """Rename a damaged file, unless another server has done so."""
    with suppress(FileNotFoundError):
        retry_while_in_use(lambda: path.rename(f"{path}{infix}"))


def _delete_if_old(path: Path, days: float) -> None:
    with suppress(FileNotFoundError):
        if path.stat().st_ctime < time.time() - days * DAY_SECONDS:
            path.unlink()


def _restrict(path: Path, mode: int) -> None:
    with suppress(FileNotFoundError):
        if path.stat().st_mode & 0o777 & ~mode:
            path.chmod(mode)
