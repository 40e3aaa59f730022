"""Read and write configuration files of other programs: whole, with a backup, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from jupyter_nbedit.os_calls import retry_while_in_use, sync_file
from jupyter_nbedit.setup.clients import ClientSetup
from jupyter_nbedit.setup.merge import MergeRefused, merge_entries

_LARGEST_BYTES = 32 * 1024 * 1024
_MOST_BACKUPS = 100


class WriteRefused(Exception):
    """A file was not changed; the message says why, for its user."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file} was not changed: {reason}.")


@dataclass(frozen=True)
class WriteOutcome:
    """What was done with a file; without a change it had the content already."""

    file: Path
    has_changed: bool
    backup: Path | None = None


def write_setup(setup: ClientSetup, project: Path, *, replace: bool = False) -> WriteOutcome:
    """Merge a setup into the file of its client; that of a project must be in its folder.

    With ``replace`` an entry of our name that says something else gets our values. Raise
    `WriteRefused` if the file cannot be read, merged or replaced; then nothing was written.
    """
    files = [setup.file, *setup.other_files]
    file = next((file for file in files if os.path.lexists(file)), files[0])
    with _explain_failure(file):
        _check_location(file, project if setup.scope == "project" else None)
        old = _read_file(file)
        text = "" if old is None else old.decode()
        merged = merge_entries(text, setup.entries, setup.client.syntax, replace=replace)
        return _write_content(file, old, merged.encode())


def write_file(file: Path, content: bytes, project: Path | None) -> WriteOutcome:
    """Write a file as a whole; that of a project must be in its folder.

    Raise `WriteRefused` if the file cannot be replaced; then nothing was written.
    """
    with _explain_failure(file):
        _check_location(file, project)
        return _write_content(file, _read_file(file), content)


@contextmanager
def _explain_failure(file: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        reason = f"it is not valid UTF-8: {error}"
        raise WriteRefused(file, reason) from error
    except MergeRefused as error:
        raise WriteRefused(file, str(error)) from error
    except OSError as error:
        raise WriteRefused(file, error.strerror or str(error)) from error


def _check_location(file: Path, project: Path | None) -> None:
    """Raise `WriteRefused` if the file is no plain file, or leads out of the project."""
    reason = None
    if file.is_symlink():
        reason = f"it is a symbolic link to {file.readlink()}"
    elif file.is_dir():
        reason = "it is a folder"
    elif file.exists() and not file.is_file():
        reason = "it is no plain file"
    elif project is not None and not file.resolve().is_relative_to(project.resolve()):
        reason = f"a symbolic link leads it out of {project}"
    if reason is not None:
        raise WriteRefused(file, reason)


def _read_file(file: Path) -> bytes | None:
    """Return the bytes of a file; None if there is none."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(content) > _LARGEST_BYTES:
        raise WriteRefused(file, f"it has more than {_LARGEST_BYTES} bytes")
    return content


def _write_content(file: Path, old: bytes | None, new: bytes) -> WriteOutcome:
    """Replace a file atomically if it still has the old bytes, which go into a backup."""
    if new == old:
        return WriteOutcome(file, has_changed=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(8)}.tmp")
    leftovers = [temporary]
    try:
        _create_file(temporary, new, like=None if old is None else file)
        _check_content(file, old)
        backup = None if old is None else _back_up(file, old)
        leftovers += [] if backup is None else [backup]
        retry_while_in_use(lambda: temporary.replace(file))
    except BaseException:
        for leftover in leftovers:
            leftover.unlink(missing_ok=True)
        raise
    return WriteOutcome(file, has_changed=True, backup=backup)


def _check_content(file: Path, expected: bytes | None) -> None:
    if _read_file(file) != expected:
        raise WriteRefused(file, "another program has changed it just now; try again")


def _back_up(file: Path, content: bytes) -> Path:
    """Write a copy beside a file, under a name that is not used yet."""
    for number in range(1, _MOST_BACKUPS + 1):
        suffix = ".bak" if number == 1 else f".bak{number}"
        backup = file.with_name(file.name + suffix)
        with suppress(FileExistsError):
            _create_file(backup, content, like=file)
            return backup
    raise OSError(errno.EEXIST, f"there are {_MOST_BACKUPS} backups beside it; remove some")


def _create_file(file: Path, content: bytes, *, like: Path | None) -> None:
    """Create a file, durably, with the mode of another one."""
    mode = 0o666 if like is None else 0o600
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
        opened.flush()
        sync_file(descriptor)
    if like is not None:
        file.chmod(stat.S_IMODE(like.stat().st_mode))
