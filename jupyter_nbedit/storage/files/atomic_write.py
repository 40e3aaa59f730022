"""One file: replaced whole, or made.

A file is never written in place. What is to stand there is written beside it, made durable, and
renamed over it, so that a reader sees the old or the new bytes and a crash leaves one of them.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress

from jupyter_nbedit.concurrency import announce_disk_wait
from jupyter_nbedit.errors import Forbidden, NotAPlainFile, NotebookExists, StorageFailure
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer
from jupyter_nbedit.notebook.splices import Splice, apply_splices, iterate_segments
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.files import linux
from jupyter_nbedit.storage.files.directory import OpenDirectory, open_directory
from jupyter_nbedit.storage.files.exchange import FileExchange
from jupyter_nbedit.storage.files.lazy_bytes import LazyFileBytes, ResumableSha256
from jupyter_nbedit.storage.files.linux import UNSUPPORTED_ERRNOS
from jupyter_nbedit.storage.files.metadata import advance_mtime, copy_attributes
from jupyter_nbedit.storage.files.read import (
    Snapshot,
    are_timestamps_reliable,
    get_last_modified,
    has_same_content,
    is_unmodified,
)
from jupyter_nbedit.storage.files.temp_files import TEMPORARY, lock_temp
from jupyter_nbedit.storage.os_errors import map_os_errors

# FAT and some network file systems have no hard links.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}

#: Calls its first argument, which puts the new file in the place of the old one; it is told what
#: the two are, may see to it that others take the one for the other, and gives warnings.
SwapHook = Callable[[Callable[[], None], os.stat_result, os.stat_result], list[str]]


def swap_directly(put: Callable[[], None], _old: os.stat_result, _new: os.stat_result) -> list[str]:
    """Exchange the files and tell nobody."""
    put()
    return []


def atomic_replace(
    real: str, base: Content, splices: Sequence[Splice], exchange: SwapHook = swap_directly
) -> WriteResult:
    """Put the spliced bytes in the file's place, durably, if it still is what was read.

    Parameters
    ----------
    real
        The file's path without links; one that has come to stand on it leads nowhere.
    base
        What was read.
    splices
        What changes in it.
    exchange
        Does the last step.

    Raises
    ------
    StaleContent
        If the file is not what was read any more.
    NotebookNotFound, NotAPlainFile, Forbidden, NoSpace, StorageFailure
        Nothing was written.
    """
    snapshot = base.version
    if not isinstance(snapshot, Snapshot):
        message = f"Expected content that was read from a file, found {snapshot!r}."
        raise TypeError(message)
    path, name = os.path.split(real)
    with map_os_errors(), open_directory(path) as folder:
        _check_replaceable(folder, name, snapshot)
        with _open_original(folder, name, snapshot) as old, _reserve_temp_name(folder) as temporary:
            # What the old file lets others read is not theirs before it has its mode.
            with (
                _create_temp(folder, temporary, 0o600) as made,
                write_spliced(base.data, splices, made) as hashing,
            ):
                if old is not None:  # pragma: no branch -- it is None on Windows only
                    copy_attributes(old, made, snapshot.stat)
                status = advance_mtime(folder, temporary, made, snapshot.stat)
                by_stamp = are_timestamps_reliable(base, snapshot, made)
                announce_disk_wait()
                os.fsync(made)

            def unchanged() -> bool:
                is_same = is_unmodified(folder, name, snapshot)
                return is_same and (by_stamp or has_same_content(folder, name, base))

            marks = hashing.result()
            swap = FileExchange(folder, (temporary, name), old, (snapshot.stat, status), unchanged)
            # Here, for the exchange may be made on the loop's thread.
            swap.wait_for_writers()
            warnings = exchange(swap.commit, snapshot.stat, status)
            with suppress(OSError):
                # If it cannot go now, it is swept up later.
                folder.unlink(temporary)
            now = _read_final_status(folder, name, status)
        warnings.extend(_sync_directory(folder))
    when = get_last_modified(status)
    return WriteResult(marks.hexdigest, when, warnings, guard=swap.guard, status=now, marks=marks)


def atomic_create(path: str, text: bytes) -> WriteResult:
    """Write a file that was not there, durably, with the mode that new files get.

    Parameters
    ----------
    path
        Where, in a folder by its path without links; even a link that leads nowhere counts as
        something.
    text
        Its bytes.

    Raises
    ------
    NotebookExists
        If there is something.
    NotebookNotFound, Forbidden, NoSpace, StorageFailure
        Nothing was written.
    """
    path, name = os.path.split(path)
    with map_os_errors(), open_directory(path) as folder:
        # A refusal that can be known before leaves not even a trace of a temporary file.
        _ensure_absent(folder, name)
        try:
            with _reserve_temp_name(folder) as temporary:
                with _create_temp(folder, temporary, 0o666) as made:
                    write_all(made, text)
                    os.fsync(made)
                    written = os.fstat(made)
                _place_new(folder, temporary, name)
        except FileExistsError:
            raise _build_exists_error() from None
        warnings = _sync_directory(folder)
    return WriteResult(compute_hash(text).hexdigest, get_last_modified(written), warnings)


def ensure_absent(path: str) -> None:
    """Raise what `create` would raise, as far as that can be known before.

    Raises
    ------
    NotebookExists, NotebookNotFound, Forbidden
    """
    path, name = os.path.split(path)
    with map_os_errors(), open_directory(path) as folder:
        _ensure_absent(folder, name)


def _ensure_absent(folder: OpenDirectory, name: str) -> None:
    with suppress(FileNotFoundError):
        folder.get_status(name)
        raise _build_exists_error()
    if not folder.may_write():
        message = "The server may not write to this folder."
        raise Forbidden(message)


def _build_exists_error() -> NotebookExists:
    message = (
        "There is something at this path already, and it is never overwritten. Choose another "
        "path, or edit the notebook with PATCH."
    )
    return NotebookExists(message)


def _check_replaceable(folder: OpenDirectory, name: str, snapshot: Snapshot) -> None:
    links = snapshot.stat.st_nlink
    if links > 1:
        message = (
            f"The notebook's file has {links} names (hard links). Replacing it would separate "
            "them, so it is left alone; make a copy with a single name first."
        )
        raise NotAPlainFile(message, links=links)
    # What is there instead may be a link by now, and what it leads to is nobody's business here.
    if not snapshot.matches(folder.get_status(name)):
        raise StaleContent
    if not folder.may_write(name):
        message = "The server may not write this notebook's file; nothing was written."
        raise Forbidden(message)


def _read_final_status(
    folder: OpenDirectory, name: str, made: os.stat_result
) -> os.stat_result | None:
    """Return the status of the new file under its name; None if it was written since."""
    try:
        now = folder.get_status(name)
    except OSError:
        return None
    is_same = (now.st_ino, now.st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    return now if is_same else None


@contextmanager
def _open_original(folder: OpenDirectory, name: str, snapshot: Snapshot) -> Iterator[int | None]:
    """Open the file that was read, where the system lets open files be replaced."""
    if os.name == "nt":
        yield None
        return
    old = folder.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not snapshot.matches(os.fstat(old)):
            raise StaleContent
        yield old
    finally:
        with suppress(OSError):
            # Nothing was written by it, and the new file may be in its place already.
            os.close(old)


@contextmanager
def _reserve_temp_name(folder: OpenDirectory) -> Iterator[str]:
    """Return a name for a temporary file; a failure leaves nothing under it."""
    temporary = TEMPORARY.format(secrets.token_hex(8))
    try:
        yield temporary
    except BaseException as error:
        # Where nobody knows what has which name, it may be what another program wrote.
        known = not isinstance(error, StorageFailure) or error.details["applied"] is not None
        if known:
            with suppress(OSError):
                folder.unlink(temporary)
        raise


@contextmanager
def _create_temp(folder: OpenDirectory, temporary: str, mode: int) -> Iterator[int]:
    descriptor = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        lock_temp(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _place_new(folder: OpenDirectory, temporary: str, name: str) -> None:
    try:
        folder.rename(temporary, name)
    except OSError as error:
        if error.errno not in UNSUPPORTED_ERRNOS:
            raise
    else:
        return
    try:
        # Nor does a link ever replace anything.
        folder.link(temporary, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        folder.replace(temporary, name)
    else:
        with suppress(OSError):
            # The notebook is there; if this cannot go now, it is swept up later.
            folder.unlink(temporary)


def _sync_directory(folder: OpenDirectory) -> list[str]:
    """Make a new name durable; gives warnings, for the file itself is written."""
    announce_disk_wait()
    try:
        folder.sync()
    except OSError as error:
        warning = (
            "The edit is in the file, but the folder could not be made durable "
            f"({os.strerror(error.errno or 0)}): a power failure may still undo it."
        )
        return [warning]
    return []


# Up to here, another thread costs more than the hashing.
_SMALL_BYTES = 250_000
# As much is brought to the disk at a time.
_FLUSHED_BYTES = 8 * CHUNK_BYTES


@contextmanager
def write_spliced(
    base: Buffer, splices: Sequence[Splice], made: int
) -> Iterator[Future[ResumableSha256]]:
    """Write a spliced text to a new file.

    Parameters
    ----------
    base
        The text.
    splices
        What changes in it.
    made
        The file, open for writing, and empty.

    Yields
    ------
    The hash of what is written then; it may take until the context is left.

    Raises
    ------
    ChangedDuringRead
        If what is read of the text is no longer what was read before.
    OSError
    """
    if isinstance(base, LazyFileBytes):
        with ThreadPoolExecutor(1) as pool:
            digest = pool.submit(_hash_spliced, base, splices)
            _copy(base, splices, made)
            yield digest
        return
    text = apply_splices(base, splices)
    if len(text) > _SMALL_BYTES:
        with ThreadPoolExecutor(1) as pool:
            digest = pool.submit(compute_hash, text)
            write_all(made, text)
            yield digest
        return
    write_all(made, text)
    digest = Future()
    digest.set_result(compute_hash(text))
    yield digest


def compute_hash(text: bytes) -> ResumableSha256:
    """Return the hash of bytes."""
    marks = ResumableSha256()
    marks.update(text)
    return marks


def write_all(descriptor: int, text: bytes | memoryview) -> None:
    """Write every byte; the system may take fewer than it is given."""
    pending = memoryview(text)
    while pending:
        pending = pending[os.write(descriptor, pending) :]


def _copy(base: LazyFileBytes, splices: Sequence[Splice], made: int) -> None:
    grown = sum(len(text) - (stop - start) for start, stop, text in splices)
    linux.preallocate(made, len(base) + grown)
    written = flushed = 0
    for piece in _iterate_spliced(base, splices, 0):
        write_all(made, piece)
        written += len(piece)
        if written - flushed >= _FLUSHED_BYTES:
            linux.start_writeback(made, flushed, written - flushed)
            flushed = written


def _hash_spliced(base: LazyFileBytes, splices: Sequence[Splice]) -> ResumableSha256:
    marks = base.hash_beginning(splices[0].start if splices else len(base))
    for piece in _iterate_spliced(base, splices, marks.size):
        marks.update(piece)
    return marks


def _iterate_spliced(
    base: LazyFileBytes, splices: Sequence[Splice], start: int
) -> Iterator[memoryview]:
    """Go through a spliced text from an offset before the first splice; each piece is used once."""
    room = memoryview(bytearray(CHUNK_BYTES))
    for run in iterate_segments(len(base), splices):
        if isinstance(run, bytes):
            yield memoryview(run)
            continue
        for at in range(max(run[0], start), run[1], CHUNK_BYTES):
            piece = room[: min(CHUNK_BYTES, run[1] - at)]
            base.read_into(at, piece)
            yield piece
