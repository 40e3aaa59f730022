"""Read and write configuration files of other programs: whole, with a backup, or not at all."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from jupyter_nbedit import errors
from jupyter_nbedit.agents.setup.clients import ClientSetup
from jupyter_nbedit.agents.setup.merge import MergeRefused, merge_entries
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import Content, StaleContent
from jupyter_nbedit.storage.files.atomic_write import atomic_create, atomic_replace, write_all
from jupyter_nbedit.storage.files.directory import OpenDirectory, open_directory
from jupyter_nbedit.storage.files.file_attributes import copy_attributes
from jupyter_nbedit.storage.files.read import read_file
from jupyter_nbedit.system.os_calls import sync_file

_MAX_BYTES = 32 * 1024 * 1024
_MAX_BACKUPS = 100
# Clients write their own files often.
_MAX_TRIES = 5
_REASONS: Mapping[type[errors.NbEditError], str] = {
    errors.Forbidden: "Permission denied",
    errors.NotAPlainFile: "it has several names (hard links), or an owner or attributes that a new "
    "file cannot get from this user",
}


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

    def merge(old: bytes) -> bytes:
        syntax = setup.client.syntax
        return merge_entries(old.decode(), setup.entries, syntax, replace=replace).encode()

    return _change_file(file, project if setup.scope == "project" else None, merge)


def write_file(file: Path, content: bytes, project: Path | None) -> WriteOutcome:
    """Write a file as a whole; that of a project must be in its folder.

    Raise `WriteRefused` if the file cannot be replaced; then nothing was written.
    """
    return _change_file(file, project, lambda _: content)


def _change_file(
    file: Path, project: Path | None, change: Callable[[bytes], bytes]
) -> WriteOutcome:
    """Change the bytes of a file; if another program does so meanwhile, change its bytes."""
    with _explain_failure(file):
        target = _find_target(file, project)
        for _ in range(_MAX_TRIES):
            with suppress(StaleContent, errors.NotebookExists):
                return _try_to_change(file, target, change)
    raise WriteRefused(file, "another program changes it again and again; try again")


def _try_to_change(file: Path, target: Path, change: Callable[[bytes], bytes]) -> WriteOutcome:
    """Raise `StaleContent` or `NotebookExists` if another program has changed the file since."""
    if not os.path.lexists(target):
        new = change(b"")
        _create_folders(target.parent)
        atomic_create(str(target), new)
        _give_to_owner_of_folder(target, os.O_RDONLY)
        return WriteOutcome(file, has_changed=True)
    content = read_file(str(target))
    if content is None:
        raise StaleContent
    if len(content.data) > _MAX_BYTES:
        raise WriteRefused(file, f"it has more than {_MAX_BYTES} bytes")
    old = content.text
    new = change(old)
    if new == old:
        return WriteOutcome(file, has_changed=False)
    backup = _back_up(target, content)
    try:
        # This checks last that the file still is what was read, and changes nothing else.
        atomic_replace(str(target), content, [Splice(0, len(old), new)])
    except BaseException as error:
        # If it is unknown what is in the file, the backup is needed.
        if not isinstance(error, errors.StorageFailure) or error.details["applied"] is not None:
            backup.unlink(missing_ok=True)
        raise
    return WriteOutcome(file, has_changed=True, backup=backup)


@contextmanager
def _explain_failure(file: Path) -> Iterator[None]:
    """Raise `WriteRefused` in place of other errors. No message has a part of the file in it."""
    try:
        yield
    except UnicodeError as error:
        position = f": byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise WriteRefused(file, f"it is not valid UTF-8{position}") from error
    except MergeRefused as error:
        raise WriteRefused(file, str(error)) from error
    except errors.NbEditError as error:
        # Their messages are about notebooks.
        cause = error.__cause__
        known = cause.strerror if isinstance(cause, OSError) else _REASONS.get(type(error))
        raise WriteRefused(file, known or f"it cannot be written ({error.reason})") from error
    except OSError as error:
        raise WriteRefused(file, error.strerror or str(error)) from error


def _find_target(file: Path, project: Path | None) -> Path:
    """Return the file that a name means, without links.

    Raise `WriteRefused` if it is no plain file, or if links lead out of the project.
    """
    reason = None
    target = Path(os.path.realpath(file))
    if project is not None and not target.is_relative_to(project.resolve()):
        reason = f"a symbolic link leads it out of {project}"
    elif file.is_symlink() and not target.exists():
        reason = f"it is a symbolic link to {file.readlink()}, where there is no file"
    elif target.is_dir():
        reason = "it is a folder"
    elif target.exists() and not target.is_file():
        reason = "it is no plain file"
    elif (link := _find_foreign_link(file)) is not None:
        reason = f"{link} is a symbolic link that its owner has made to something of another user"
    if reason is not None:
        raise WriteRefused(file, reason)
    return target


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _find_foreign_link(file: Path) -> Path | None:
    """Return the link by which a user leads root to what is not the user's; None without one."""
    if _is_root():
        for path in (file, *file.parents):
            if path.is_symlink() and path.lstat().st_uid not in {0, path.stat().st_uid}:
                return path
    return None


def _create_folders(folder: Path) -> None:
    """Create the missing folders of a path; each belongs to the owner of that above it."""
    if not folder.is_dir():
        _create_folders(folder.parent)
        folder.mkdir(exist_ok=True)
        _give_to_owner_of_folder(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))


def _give_to_owner_of_folder(file: Path, flags: int) -> None:
    """Give a new file or folder to the owner of its folder, if root has made it."""
    if not _is_root():
        return
    owner = file.parent.stat()
    with open_directory(str(file.parent)) as folder:
        descriptor = folder.open(file.name, flags)
        try:
            status = os.fstat(descriptor)
            # A user can put another file of root there, but only under one more name.
            if status.st_uid == 0 and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        finally:
            os.close(descriptor)


def _back_up(file: Path, content: Content) -> Path:
    """Write a copy beside a file, with its owner and mode, under a name that is not used yet."""
    with open_directory(str(file.parent)) as folder:
        for number in range(1, _MAX_BACKUPS + 1):
            name = file.name + (".bak" if number == 1 else f".bak{number}")
            with suppress(FileExistsError):
                descriptor = folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                break
        else:
            raise OSError(errno.EEXIST, f"there are {_MAX_BACKUPS} backups beside it; remove some")
        try:
            try:
                write_all(descriptor, content.text)
                _copy_attributes(folder, file.name, descriptor)
                sync_file(descriptor)
            finally:
                os.close(descriptor)
        except BaseException:
            folder.unlink(name)
            raise
    return file.with_name(name)


def _copy_attributes(folder: OpenDirectory, name: str, new_file: int) -> None:
    original = folder.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        copy_attributes(original, new_file, os.fstat(original))
    finally:
        os.close(original)
