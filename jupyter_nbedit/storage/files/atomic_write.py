"""Replace or create one file atomically.

A file is never written in place. The new bytes are written to a temporary file next to it, made
durable, and renamed over the file. A reader sees either the old or the new bytes, and so does the
system after a crash.
"""

import errno
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress

from jupyter_nbedit.errors import Forbidden, NotAPlainFile, NotebookExists, StorageFailure
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer
from jupyter_nbedit.notebook.splices import Splice, apply_splices, iterate_segments
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.files import native_calls
from jupyter_nbedit.storage.files.directory import OpenDirectory, open_directory
from jupyter_nbedit.storage.files.file_attributes import advance_mtime, copy_attributes
from jupyter_nbedit.storage.files.lazy_bytes import LazyFileBytes, ResumableSha256
from jupyter_nbedit.storage.files.native_calls import UNSUPPORTED_ERRNOS
from jupyter_nbedit.storage.files.read import (
    Snapshot,
    are_timestamps_reliable,
    get_last_modified,
    has_same_content,
    is_being_saved,
)
from jupyter_nbedit.storage.files.rename_exchange import FileExchange
from jupyter_nbedit.storage.files.temp_files import TEMPORARY
from jupyter_nbedit.storage.os_errors import map_os_errors
from jupyter_nbedit.system.os_calls import retry_while_in_use, sync_file

# FAT and some network file systems have no hard links.
_NO_LINK_ERRNOS = UNSUPPORTED_ERRNOS | {errno.EMLINK}

#: Calls its first argument, which performs the swap; the others are the status of the old and of
#: the new file. It may do more before and after, and returns warnings.
SwapHook = Callable[[Callable[[], None], os.stat_result, os.stat_result], list[str]]


def swap_directly(
    swap: Callable[[], None], _old_status: os.stat_result, _new_status: os.stat_result
) -> list[str]:
    """Perform the swap and nothing else."""
    swap()
    return []


def atomic_replace(
    real: str, base: Content, splices: Sequence[Splice], swap_hook: SwapHook = swap_directly
) -> WriteResult:
    """Replace a file by its spliced bytes, durably, if it has not changed since it was read.

    ``real`` is a path without links; a link that has replaced a part since is not followed. Raise
    `StaleContent` if the file has changed since it was read. After any error nothing was written.
    """
    snapshot = base.version
    if not isinstance(snapshot, Snapshot):
        raise TypeError(f"Expected content that was read from a file, found {snapshot!r}.")
    path, name = os.path.split(real)
    with map_os_errors(), open_directory(path) as folder:
        _check_replaceable(folder, name, snapshot)
        with (
            _open_original(folder, name, snapshot) as original,
            _reserve_temp_name(folder) as temporary,
        ):
            # No other user may read the new file before it has the mode of the old one.
            with (
                _create_temp(folder, temporary, 0o600) as new_file,
                write_spliced(base.data, splices, new_file) as hash_future,
            ):
                if original is not None:
                    copy_attributes(original, new_file, snapshot.stat)
                    status = advance_mtime(folder, temporary, new_file, snapshot.stat)
                are_times_reliable = are_timestamps_reliable(base, snapshot, new_file)
                sync_file(new_file)
            if original is None:
                # Windows may set the time of the file when it is closed.
                status = advance_mtime(folder, temporary, None, snapshot.stat)

            def is_unchanged() -> bool:
                return (
                    snapshot.matches(folder.get_status(name))
                    and not is_being_saved(folder, name)
                    and (are_times_reliable or has_same_content(folder, name, base))
                )

            resumable_hash = hash_future.result()
            exchange = FileExchange(
                folder, temporary, name, original, snapshot.stat, status, is_unchanged
            )
            # Not in the hook, which may run on the event loop's thread.
            exchange.wait_for_writers()
            warnings = retry_while_in_use(lambda: swap_hook(exchange.commit, snapshot.stat, status))
            with suppress(OSError):
                # If this fails, `TempFileCleaner` removes it later.
                folder.unlink(temporary)
            final_status = _read_final_status(folder, name, status)
        warnings.extend(_sync_directory(folder))
    last_modified = get_last_modified(status)
    return WriteResult(
        resumable_hash.hexdigest,
        last_modified,
        warnings,
        guard=exchange.guard,
        status=final_status,
        resumable_hash=resumable_hash,
    )


def atomic_create(path: str, text: bytes) -> WriteResult:
    """Create a file, durably, with the mode of new files, in a directory without links.

    Raise `NotebookExists` if the path exists, also as a link without target. After any error
    nothing was written.
    """
    path, name = os.path.split(path)
    with map_os_errors(), open_directory(path) as folder:
        # Errors that are known in advance must not even leave a temporary file.
        _ensure_absent(folder, name)
        try:
            with _reserve_temp_name(folder) as temporary:
                with _create_temp(folder, temporary, 0o666) as new_file:
                    write_all(new_file, text)
                    sync_file(new_file)
                # Windows may set the time of the file when it is closed.
                status = folder.get_status(temporary)
                _rename_to_new_name(folder, temporary, name)
        except FileExistsError:
            raise NotebookExists from None
        warnings = _sync_directory(folder)
    return WriteResult(ResumableSha256(text).hexdigest, get_last_modified(status), warnings)


def ensure_absent(path: str) -> None:
    """Raise what `atomic_create` would raise, as far as that is known in advance."""
    path, name = os.path.split(path)
    with map_os_errors(), open_directory(path) as folder:
        _ensure_absent(folder, name)


def _ensure_absent(folder: OpenDirectory, name: str) -> None:
    with suppress(FileNotFoundError):
        folder.get_status(name)
        raise NotebookExists
    if not folder.may_write():
        raise Forbidden(f"No file is created, because {folder.describe_denial()}.")


def _check_replaceable(folder: OpenDirectory, name: str, snapshot: Snapshot) -> None:
    links = snapshot.stat.st_nlink
    if links > 1:
        message = (
            f"The notebook's file has {links} names (hard links). Replacing it would separate "
            "them, so it was not changed; make a copy with a single name first."
        )
        raise NotAPlainFile(message, links=links)
    # The path may be a link now, whose target must not be touched.
    if not snapshot.matches(folder.get_status(name)):
        raise StaleContent
    if not folder.may_write(name):
        raise Forbidden("The server may not write this notebook's file; nothing was written.")


def _read_final_status(
    folder: OpenDirectory, name: str, status: os.stat_result
) -> os.stat_result | None:
    """Return the status of the new file under its name; None if it was written since."""
    try:
        current = folder.get_status(name)
    except OSError:
        return None
    is_unchanged = (current.st_ino, current.st_mtime_ns) == (status.st_ino, status.st_mtime_ns)
    return current if is_unchanged else None


@contextmanager
def _open_original(folder: OpenDirectory, name: str, snapshot: Snapshot) -> Iterator[int | None]:
    """Open the file that was read, where the system allows open files to be replaced."""
    if sys.platform == "win32":
        yield None
        return
    original = folder.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not snapshot.matches(os.fstat(original)):
            raise StaleContent
        yield original
    finally:
        with suppress(OSError):
            # Nothing was written through it, and the new file may be in its place already.
            os.close(original)


@contextmanager
def _reserve_temp_name(folder: OpenDirectory) -> Iterator[str]:
    """Yield a name for a temporary file; after an error, no file has that name."""
    temporary = TEMPORARY.format(secrets.token_hex(8))
    try:
        yield temporary
    except BaseException as error:
        # If it is unknown which file has which name, the file may belong to another program.
        is_removable = not isinstance(error, StorageFailure) or error.details["applied"] is not None
        if is_removable:
            with suppress(OSError):
                folder.unlink(temporary)
        raise


@contextmanager
def _create_temp(folder: OpenDirectory, temporary: str, mode: int) -> Iterator[int]:
    try:
        descriptor = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except PermissionError:
        if folder.may_write():
            raise
        raise Forbidden(
            f"The notebook cannot be edited, because {folder.describe_denial()}. An edit replaces "
            "the file as a whole, so that a failure leaves the old or the new one; nothing was "
            "written. Let the server write to the folder, or copy the notebook to another one."
        ) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _rename_to_new_name(folder: OpenDirectory, temporary: str, name: str) -> None:
    try:
        folder.rename(temporary, name)
    except OSError as error:
        if error.errno not in UNSUPPORTED_ERRNOS:
            raise
    else:
        return
    try:
        # A hard link never replaces a file either.
        retry_while_in_use(lambda: folder.link(temporary, name))
    except OSError as error:
        if error.errno not in _NO_LINK_ERRNOS:
            raise
        os.close(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            retry_while_in_use(lambda: folder.replace(temporary, name))
        except OSError:
            with suppress(OSError):
                # Another program may have put its file there by now.
                if folder.get_status(name).st_size == 0:
                    folder.unlink(name)
            raise
    else:
        with suppress(OSError):
            # The notebook exists; if this fails, `TempFileCleaner` removes it later.
            folder.unlink(temporary)


def _sync_directory(folder: OpenDirectory) -> list[str]:
    """Make a new name durable; failures are warnings, because the file itself is written."""
    try:
        folder.sync()
    except OSError as error:
        warning = (
            "The edit is in the file, but the folder could not be made durable "
            f"({os.strerror(error.errno or 0)}): a power failure may still undo it."
        )
        return [warning]
    return []


# Up to this size, a thread costs more than hashing.
_SMALL_BYTES = 250_000
# The system is asked to write back so many bytes at a time.
_FLUSHED_BYTES = 8 * CHUNK_BYTES


@contextmanager
def write_spliced(
    base: Buffer, splices: Sequence[Splice], new_file: int
) -> Iterator[Future[ResumableSha256]]:
    """Write a spliced text to a new file; yield the hash, a future that is done at the end.

    Raise `ChangedDuringRead` if the text is no longer what was read before.
    """
    if isinstance(base, LazyFileBytes):
        with ThreadPoolExecutor(1) as pool:
            file_hash = pool.submit(_hash_spliced, base, splices)
            _copy(base, splices, new_file)
            yield file_hash
        return
    text = apply_splices(base, splices)
    if len(text) > _SMALL_BYTES:
        with ThreadPoolExecutor(1) as pool:
            file_hash = pool.submit(ResumableSha256, text)
            write_all(new_file, text)
            yield file_hash
        return
    write_all(new_file, text)
    file_hash = Future()
    file_hash.set_result(ResumableSha256(text))
    yield file_hash


def write_all(descriptor: int, text: bytes | memoryview) -> None:
    """Write every byte; one system call may write fewer."""
    pending = memoryview(text)
    while pending:
        pending = pending[os.write(descriptor, pending) :]


def _copy(base: LazyFileBytes, splices: Sequence[Splice], new_file: int) -> None:
    growth = sum(len(text) - (stop - start) for start, stop, text in splices)
    native_calls.preallocate(new_file, len(base) + growth)
    written_bytes = flushed_bytes = 0
    for piece in _iterate_spliced(base, splices, 0):
        write_all(new_file, piece)
        written_bytes += len(piece)
        if written_bytes - flushed_bytes >= _FLUSHED_BYTES:
            native_calls.start_writeback(new_file, flushed_bytes, written_bytes - flushed_bytes)
            flushed_bytes = written_bytes


def _hash_spliced(base: LazyFileBytes, splices: Sequence[Splice]) -> ResumableSha256:
    resumable_hash = base.hash_beginning(splices[0].start if splices else len(base))
    for piece in _iterate_spliced(base, splices, resumable_hash.size):
        resumable_hash.update(piece)
    return resumable_hash


def _iterate_spliced(
    base: LazyFileBytes, splices: Sequence[Splice], start: int
) -> Iterator[memoryview]:
    """Yield a spliced text from an offset before the first splice; parts share one buffer."""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    for segment in iterate_segments(len(base), splices):
        if isinstance(segment, bytes):
            yield memoryview(segment)
            continue
        for position in range(max(segment[0], start), segment[1], CHUNK_BYTES):
            piece = buffer[: min(CHUNK_BYTES, segment[1] - position)]
            base.read_into(position, piece)
            yield piece
