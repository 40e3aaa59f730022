"""The files of the database: their owner's alone, and moved aside when they are broken."""

from __future__ import annotations

import os
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

_DAY_SECONDS = 86_400.0
_ASIDE = ".corrupt-"
_NEW = ".new-"
_BESIDE = ("", "-wal", "-shm")


@dataclass(frozen=True)
class PrivateFile:
    """A file of SQLite and those beside it, in a folder that nobody else uses.

    Parameters
    ----------
    path
        Of the file.
    keep_days
        How long one that was moved aside is kept.
    """

    path: Path
    keep_days: float

    @property
    def mark(self) -> Path:
        """The file that says that a database was damaged and moved aside.

        It is written before the database is moved, and it is never removed: that a person has
        decided since is stored in the new database, and lost with that one if it is damaged, too.
        """
        return Path(f"{self.path}.quarantined")

    def read_identity(self) -> tuple[int, int] | None:
        """Return which file there is."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_dev, status.st_ino

    def read_size_and_time(self) -> tuple[int, int]:
        """Return the size of the file and when it was written.

        The file itself is never opened but by SQLite: to close it would take the locks away that
        SQLite has on it in this process, and other servers would remove what it still needs.
        """
        with suppress(FileNotFoundError, NotADirectoryError):
            status = self.path.stat()
            return status.st_size, status.st_mtime_ns
        return 0, 0

    def make_folder(self) -> None:
        """Make the folder, and take from others what rights they have to what is in it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if sys.platform == "win32":
            return
        _restrict(self.path.parent, 0o700)
        for path in self.path.parent.glob(f"{self.path.name}*"):
            _restrict(path, 0o600)
            if _ASIDE in path.name:
                _sweep(path, self.keep_days)
            elif _NEW in path.name:
                # A server that was killed while it made one has left it.
                _sweep(path, 1)

    def prepare_new(self) -> Path:
        """Make an empty file under a name of its own, which is to become the database."""
        path = Path(f"{self.path}{_NEW}{uuid.uuid4().hex}")
        # SQLite gives the files beside it the rights of the database, whatever the umask is.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def publish_new(self, path: Path) -> None:
        """Move a complete file to the name of the database, unless another server was faster."""
        try:
            os.link(path, self.path)
        except FileExistsError:
            pass
        except OSError:
            # This file system has no hard links.
            if self.read_identity() is None:
                path.rename(self.path)

    @staticmethod
    def discard_new(path: Path) -> None:
        """Remove the name that a file had while it was made, and what SQLite has put beside it."""
        for beside in _BESIDE:
            with suppress(FileNotFoundError):
                Path(f"{path}{beside}").unlink()

    def quarantine(self, why: str) -> Path:
        """Move the file and those beside it out of the way, and tell where it is now."""
        end = f"{_ASIDE}{datetime.now(tz=timezone.utc):%Y%m%dT%H%M%S%f}"
        # First of all, so that no crash can come between: there is no new database without it.
        self._write_mark(f"{why}; the file was moved aside as {self.path.name}{end}")
        for path in [Path(f"{self.path}{beside}") for beside in _BESIDE]:
            with suppress(FileNotFoundError):
                path.rename(f"{path}{end}")
        return Path(f"{self.path}{end}")

    def read_mark(self) -> str | None:
        """Return why a database was moved aside; None if none ever was.

        Raises
        ------
        OSError
            If that cannot be told.
        """
        try:
            why = self.mark.read_text(errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        # A crash may have left it empty, and it counts all the same.
        return why or "it was damaged and moved aside"

    def _write_mark(self, why: str) -> None:
        descriptor = os.open(self.mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, f"{why}\n".encode(errors="replace"))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if sys.platform == "win32":
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _sweep(path: Path, days: float) -> None:
    with suppress(FileNotFoundError):
        if path.stat().st_ctime < time.time() - days * _DAY_SECONDS:
            path.unlink()


def _restrict(path: Path, mode: int) -> None:
    with suppress(FileNotFoundError):
        if path.stat().st_mode & 0o777 & ~mode:
            path.chmod(mode)
