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
    """What was done with a file; if it has not changed, it had the content already."""

    file: Path
    has_changed: bool
    backup: Path | None = None


def write_setup(setup: ClientSetup, project: Path, *, replace: bool = False) -> WriteOutcome:
    """Merge a setup into its client's file; the file of a project must be in the project's folder.

    With ``replace``, an entry of our name with other values gets our values. Raise `WriteRefused`
    if the file cannot be read, merged or replaced; then nothing was written.
    """
    files = [setup.file, *setup.other_files]
    file = next((file for file in files if os.path.lexists(file)), files[0])

    def merge(old: bytes) -> bytes:
        syntax = setup.client.syntax
        return merge_entries(old.decode(), setup.entries, syntax, replace=replace).encode()

    return _change_file(file, project if setup.scope == "project" else None, merge)


def write_file(file: Path, content: bytes, project: Path | None) -> WriteOutcome:
    """Write a file as a whole; the file of a project must be in the project's folder.

    Raise `WriteRefused` if the file cannot be replaced; then nothing was written.
    """
    return _change_file(file, project, lambda _: content)


def _change_file(
    file: Path, project: Path | None, change: Callable[[bytes], bytes]
) -> WriteOutcome:
    """Change a file; if another program writes it meanwhile, read the file and change it again."""
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
        # Just before the replacement, this checks that the file is still the one that was read.
        atomic_replace(str(target), content, [Splice(0, len(old), new)])
    except BaseException as error:
        # The backup is needed if it is unknown whether the file was replaced.
        if not isinstance(error, errors.StorageFailure) or error.details["applied"] is not None:
            backup.unlink(missing_ok=True)
        raise
    return WriteOutcome(file, has_changed=True, backup=backup)


@contextmanager
def _explain_failure(file: Path) -> Iterator[None]:
    """Raise `WriteRefused` in place of other errors. No message shows a part of the file."""
    try:
        yield
    except UnicodeError as error:
        position = f": byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise WriteRefused(file, f"it is not valid UTF-8{position}") from error
    except MergeRefused as error:
        raise WriteRefused(file, str(error)) from error
    except errors.NbEditError as error:
        # The messages of these errors are about notebooks.
        cause = error.__cause__
        known = cause.strerror if isinstance(cause, OSError) else _REASONS.get(type(error))
        raise WriteRefused(file, known or f"it cannot be written ({error.reason})") from error
    except OSError as error:
        raise WriteRefused(file, error.strerror or str(error)) from error


def _find_target(file: Path, project: Path | None) -> Path:
    """Return the real path of a file: the path with all links resolved.

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
    """If root runs this: return a link on the path whose owner, a user, does not own its target."""
    if _is_root():
        for path in (file, *file.parents):
            if path.is_symlink() and path.lstat().st_uid not in {0, path.stat().st_uid}:
                return path
    return None


def _create_folders(folder: Path) -> None:
    """Create the missing folders of a path; each gets the owner of the folder above it."""
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
            # A user may have put a hard link to another file of root here: it has several names.
            if status.st_uid == 0 and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        finally:
            os.close(descriptor)


def _back_up(file: Path, content: Content) -> Path:
    """Copy a file, with its owner and mode, to a new name in the same folder."""
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
