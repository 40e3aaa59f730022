"""One file of any contents manager, read and saved with its rules, hooks and events."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from jupyter_server.services.contents.manager import ContentsManager
from jupyter_server.utils import ensure_async

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.errors import NbEditError, NoSpace, NotAPlainFile, TooLarge
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.contents.errors import (
    ErrorFactory,
    map_contents_error,
    map_contents_errors,
)
from jupyter_nbedit.storage.contents.manager_locks import (
    get_unlocked_save,
    install_locks,
    lock_paths,
)
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import is_unsafe

HOOK_FAILED = (
    "The file is written, but a post-save hook of this server failed afterwards; the server's log "
    "says why."
)
_NOT_READ_BACK = (
    "The file is written, but it could not be read back, so its hash and its time are not certain; "
    "read it again before you edit it."
)
CHANGED_MEANWHILE = (
    "A hook of this server, or another program, has changed what was written; read the file again "
    "before you edit it."
)


@dataclass(frozen=True)
class SaveResult(WriteResult):
    """The result of a manager's save, and whether the manager has emitted its save event."""

    has_event: bool = True


@dataclass(frozen=True)
class ContentsFile:
    """A file by its API path.

    `not_found` creates the error for a path that is missing, hidden or outside the root. `limit` is
    the maximum size in bytes to read.
    """

    manager: Any
    locks: PathLocks
    path: str
    not_found: ErrorFactory
    limit: int | None = None

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[str | None]:
        """Lock the file against this server's other writers, including the manager's own saves.

        Yields its path on disk without links, None if it has none.
        """
        await self.check_visible()
        install_locks(self.manager, self.locks)
        async with lock_paths(self.manager, self.locks, self.path) as reals:
            yield reals[0] if reals else None

    async def check_visible(self) -> None:
        """Raise unless the Contents API shows the path; call this before anything else."""
        # The manager of a drive gets the part after the colon.
        if is_unsafe(self.path) or is_unsafe(self.path.partition(":")[2].strip("/") or "x"):
            raise self.not_found()
        manager = self.manager
        try:
            is_hidden = not manager.allow_hidden and await ensure_async(
                manager.is_hidden(self.path)
            )
        except Exception as error:
            # A component that is not a directory, or not accessible.
            raise self.not_found() from error
        if is_hidden:
            raise self.not_found()

    async def check(self) -> None:
        """Raise if the path is not a file."""
        with map_contents_errors(self.not_found):
            if await ensure_async(self.manager.dir_exists(self.path)):
                message = "There is a folder at this path. Expected the path of a file."
                raise NotAPlainFile(message)
            if not await ensure_async(self.manager.file_exists(self.path)):
                raise self.not_found()

    async def read(self) -> Content:
        """Read the whole file; no other task runs meanwhile if the manager is not asynchronous."""
        with map_contents_errors(self.not_found):
            await self.check()
            if (limit := self.limit) is not None:
                model = await ensure_async(self.manager.get(self.path, content=False, type="file"))
                size = model.get("size")
                if size is not None and size > limit:
                    message = (
                        f"The file has {size} bytes, more than the {limit} that are read at once."
                    )
                    raise TooLarge(message, bytes=size, limit=limit)
            model = await ensure_async(self.manager.get(self.path, content=True, type="file"))
            return Content(_get_bytes(model), parse_timestamp(model["last_modified"]))

    async def is_absent(self) -> bool:
        """Return whether the path does not exist, in a directory that exists."""
        with map_contents_errors(self.not_found):
            if not await ensure_async(
                self.manager.dir_exists(_get_folder(self.manager, self.path))
            ):
                raise self.not_found()
            return not await ensure_async(self.manager.exists(self.path))

    async def save(self, text: bytes, base: Content | None) -> SaveResult:
        """Write the file; raise `StaleContent` if it is not what was read. The lock must be held.

        `base` is the content from `read`, or None if the file must not exist yet. After an error
        nothing was written.
        """
        model = await run_in_thread_if_large(len(text), _build_model, text)
        # From here to the save, no other task runs if the manager is not asynchronous.
        is_absent = await self.is_absent()
        if base is None and not is_absent:
            raise StaleContent
        if base is not None:
            if is_absent:
                raise self.not_found()
            if (await self.read()).text != base.text:
                raise StaleContent
        warnings = []
        probe = SaveEventProbe(self.manager, self.path)
        try:
            await probe.watch(get_unlocked_save(self.manager, self.locks), model)
        except Exception as error:
            # A post-save hook fails after the file was written.
            if not await self._contains(text):
                raise await self._build_save_error(error, text, base) from error
            warnings.append(HOOK_FAILED)
        try:
            saved_content = await self.read()
        except NbEditError:
            return await build_unread_result(text, warnings, has_event=probe.has_event)
        if saved_content.text != text:
            warnings.append(CHANGED_MEANWHILE)
        digest = await run_in_thread_if_large(
            len(saved_content.text), compute_sha256, saved_content.text
        )
        saved_text = None if saved_content.text == text else saved_content.text
        return SaveResult(
            digest, saved_content.last_modified, warnings, saved_text, has_event=probe.has_event
        )

    async def _build_save_error(
        self, error: Exception, text: bytes, base: Content | None
    ) -> NbEditError:
        """Return the error for a failed save, and remove a partly written new file."""
        mapped_error = map_contents_error(error, self.not_found)
        is_removed = base is None and await self.remove_partial_file(text.startswith)
        if is_removed and isinstance(mapped_error, NoSpace):
            return NoSpace("There is no room for the file; nothing was written.")
        return mapped_error

    async def remove_partial_file(self, is_partial: Callable[[bytes], bool]) -> bool:
        """Remove what a failed save has left of a new file; return whether there is none now."""
        with map_contents_errors(self.not_found):
            if not await ensure_async(self.manager.file_exists(self.path)):
                return True
            if not is_partial((await self.read()).text):
                return False
            get_os_path = getattr(self.manager, "_get_os_path", None)
            if get_os_path is None:
                await ensure_async(self.manager.delete_file(self.path))
            else:
                # Not into the trash: no user has ever seen this file.
                os.unlink(os.path.realpath(get_os_path(self.path)))
        return True

    async def _contains(self, text: bytes) -> bool:
        try:
            return (await self.read()).text == text
        except NbEditError:
            return False


async def build_unread_result(
    text: bytes, warnings: Sequence[str], *, has_event: bool
) -> SaveResult:
    """Return the result for a file that was written but cannot be read, which is not an error."""
    digest = await run_in_thread_if_large(len(text), compute_sha256, text)
    now = datetime.now(tz=timezone.utc)
    return SaveResult(digest, now, [*warnings, _NOT_READ_BACK], has_event=has_event)


@dataclass
class SaveEventProbe:
    """Detects whether a manager's save of a file emits the save event."""

    manager: Any
    path: str
    has_event: bool = field(default=False, init=False)

    async def watch(self, save: Callable[..., Any], model: Mapping[str, Any]) -> None:
        """Save, and listen for the event meanwhile."""
        logger, schema = self.manager.event_logger, self.manager.event_schema_id
        logger.add_listener(schema_id=schema, listener=self._on_event)
        try:
            await ensure_async(save(model, self.path))
        finally:
            # Listeners run in the next iteration of the loop.
            await asyncio.sleep(0)
            logger.remove_listener(schema_id=schema, listener=self._on_event)

    async def _on_event(self, logger: Any, schema_id: str, data: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.has_event |= data["action"] == "save" and data["path"] == self.path.strip("/")


def compute_sha256(text: bytes) -> str:
    """Return the sha256 of a file's bytes, in hex."""
    return hashlib.sha256(text).hexdigest()


def parse_timestamp(value: Any) -> datetime:
    """Parse a time as managers return it: with or without time zone, as text, or None."""
    if value is None:
        return datetime.fromtimestamp(0, tz=timezone.utc)
    timestamp = datetime.fromisoformat(value) if isinstance(value, str) else value
    # Without a time zone it is local time.
    return timestamp.astimezone(timezone.utc)


def get_drives(manager: object) -> Mapping[str, ContentsManager]:
    """Return the managers of drives, for a manager that selects one by the prefix of a path."""
    drives = getattr(manager, "_managers", None)
    if not isinstance(drives, Mapping):
        return {}
    return {name: drive for name, drive in drives.items() if isinstance(drive, ContentsManager)}


def _get_folder(manager: object, path: str) -> str:
    folder, slash, _ = path.rpartition("/")
    drive, colon, _ = path.partition(":")
    return drive + colon if not slash and drive in get_drives(manager) else folder


def _get_bytes(model: Mapping[str, Any]) -> bytes:
    content: str = model["content"]
    if model["format"] == "base64":
        return base64.decodebytes(content.encode("ascii"))
    return content.encode()


def _build_model(text: bytes) -> dict[str, Any]:
    try:
        return {"type": "file", "format": "text", "content": text.decode()}
    except UnicodeDecodeError:
        content = base64.encodebytes(text).decode("ascii")
        return {"type": "file", "format": "base64", "content": content}
