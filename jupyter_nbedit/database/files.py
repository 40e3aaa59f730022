"""The files of the database: their owner's alone, and moved aside when they are broken."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

_DAY_SECONDS = 86_400.0
_ASIDE = ".corrupt-"


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

    def found(self) -> tuple[int, int] | None:
        """Tell which file there is."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def make(self) -> None:
        """Make the folder and the file, or take from others what rights they have."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives the files beside it the rights of the database, whatever the umask is.
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        if sys.platform == "win32":
            return
        _restrict(self.path.parent, 0o700)
        for path in self.path.parent.glob(f"{self.path.name}*"):
            _restrict(path, 0o600)
            if _ASIDE in path.name:
                self._sweep(path)

    def put_aside(self) -> Path:
        """Move the file and those beside it out of the way, and tell where it is now."""
        end = f"{_ASIDE}{datetime.now(tz=timezone.utc):%Y%m%dT%H%M%S%f}"
        for path in [Path(f"{self.path}{beside}") for beside in ("", "-wal", "-shm")]:
            with suppress(FileNotFoundError):
                path.rename(f"{path}{end}")
        return Path(f"{self.path}{end}")

    def _sweep(self, aside: Path) -> None:
        with suppress(FileNotFoundError):
            if aside.stat().st_ctime < time.time() - self.keep_days * _DAY_SECONDS:
                aside.unlink()


def _restrict(path: Path, mode: int) -> None:
    with suppress(FileNotFoundError):
        if path.stat().st_mode & 0o777 & ~mode:
            path.chmod(mode)
