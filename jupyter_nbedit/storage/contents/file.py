"""One file through the contents manager, whichever it is: its rules, its hooks, its events."""

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
from jupyter_nbedit.storage.contents.locks import (
    get_unlocked_save,
    has_hashes,
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
    """What a manager's save left behind.

    Parameters
    ----------
    told
        Whether the manager has told its listeners, as the stock one does.
    """

    told: bool = True


@dataclass(frozen=True)
class ContentsFile:
    """A file by its API path.

    Parameters
    ----------
    manager
        The contents manager.
    locks
        Shared with the manager's own saves.
    path
        The API path.
    missing
        Makes the refusal for what is missing, hidden or outside the root.
    limit
        How many bytes are read at most; None for any number.
    """

    manager: Any
    locks: PathLocks
    path: str
    missing: ErrorFactory
    limit: int | None = None

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Keep this server's other writers away, the manager's own saves among them."""
        await self.check_visible()
        install_locks(self.manager, self.locks)
        async with lock_paths(self.manager, self.locks, self.path):
            yield

    async def check_visible(self) -> None:
        """Refuse what the Contents API does not show, before anything else is asked."""
        # What a drive's own manager gets begins after the colon.
        if is_unsafe(self.path) or is_unsafe(self.path.partition(":")[2].strip("/") or "x"):
            raise self.missing()
        manager = self.manager
        try:
            hidden = not manager.allow_hidden and await ensure_async(manager.is_hidden(self.path))
        except Exception as error:
            # A component that is no folder, or one that may not be looked into.
            raise self.missing() from error
        if hidden:
            raise self.missing()

    async def check(self) -> None:
        """Refuse what is no file."""
        with map_contents_errors(self.missing):
            if await ensure_async(self.manager.dir_exists(self.path)):
                message = "There is a folder at this path. Expected the path of a file."
                raise NotAPlainFile(message)
            if not await ensure_async(self.manager.file_exists(self.path)):
                raise self.missing()

    async def read_locked(self) -> Content:
        """Read the file for who has not held it."""
        async with self.lock():
            return await self.read()

    async def read(self, *, at_once: bool = False) -> Content:
        """Read the file whole.

        Parameters
        ----------
        at_once
            Whether nothing else shall have a turn meanwhile, if the manager gives it none.
        """
        with map_contents_errors(self.missing):
            await self.check()
            return await self._read(at_once=at_once)

    async def _read(self, *, at_once: bool) -> Content:
        manager, limit = self.manager, self.limit
        if limit is not None:
            model = await ensure_async(manager.get(self.path, content=False, type="file"))
            size = model.get("size")
            if size is not None and size > limit:
                message = f"The file has {size} bytes, more than the {limit} that are read at once."
                raise TooLarge(message, bytes=size, limit=limit)
        more = {"require_hash": True} if has_hashes(manager) else {}
        model = await ensure_async(manager.get(self.path, content=True, type="file", **more))
        text = await run_in_thread_if_large(
            0 if at_once else len(model["content"]), _get_bytes, model
        )
        return Content(text, parse_timestamp(model["last_modified"]), model.get("hash"))

    async def is_absent(self) -> bool:
        """Return whether there is nothing at the path, in a folder that there is."""
        with map_contents_errors(self.missing):
            if not await ensure_async(
                self.manager.dir_exists(_get_folder(self.manager, self.path))
            ):
                raise self.missing()
            return not await ensure_async(self.manager.exists(self.path))

    async def save(self, text: bytes, base: Content | None) -> SaveResult:
        """Write the file, if what is there still is what was read.

        Who calls it holds the file.

        Parameters
        ----------
        text
            What it is to hold, byte for byte.
        base
            What `read` gave; None if there must be nothing yet.

        Raises
        ------
        StaleContent
            If something else is there; nothing was written.
        NbEditError
            Nothing was written.
        """
        model = await run_in_thread_if_large(len(text), _build_model, text)
        before = (
            None
            if base is None
            else await run_in_thread_if_large(len(base.text), _build_model, base.text)
        )
        # From here to a save that is not asynchronous nobody else has a turn.
        vacant = await self.is_absent()
        if before is None and not vacant:
            raise StaleContent
        if before is not None:
            if vacant:
                raise self.missing()
            with map_contents_errors(self.missing):
                current = await ensure_async(self.manager.get(self.path, content=True, type="file"))
            if not _is_same(current, before):
                raise StaleContent
        warnings = []
        told = SaveEventProbe(self.manager, self.path)
        try:
            await told.watch(get_unlocked_save(self.manager, self.locks), model)
        except Exception as error:
            # A post-save hook fails when all is written.
            if not await self._contains(text):
                raise await self._build_save_error(error, text, base) from error
            warnings.append(HOOK_FAILED)
        try:
            now = await self.read()
        except NbEditError:
            return await build_unread_result(text, warnings, told=told.has_event)
        if now.text != text:
            warnings.append(CHANGED_MEANWHILE)
        digest = await run_in_thread_if_large(len(now.text), compute_sha256, now.text)
        kept = None if now.text == text else now.text
        return SaveResult(digest, now.last_modified, warnings, kept, told=told.has_event)

    async def _build_save_error(
        self, error: Exception, text: bytes, base: Content | None
    ) -> NbEditError:
        """Return the refusal for a failed save, and leave nothing of a new file."""
        found = map_contents_error(error, self.missing)
        is_gone = base is None and await self.remove_partial_file(text.startswith)
        if is_gone and isinstance(found, NoSpace):
            return NoSpace("There is no room for the file; nothing was written.")
        return found

    async def remove_partial_file(self, is_remains: Callable[[bytes], bool]) -> bool:
        """Remove what a failed save has left of a file that was not there before.

        Parameters
        ----------
        is_remains
            Tells by its text whether a file is one of these.

        Returns
        -------
        Whether there is nothing any more.
        """
        with map_contents_errors(self.missing):
            if not await ensure_async(self.manager.file_exists(self.path)):
                return True
            if not is_remains((await self._read(at_once=False)).text):
                return False
            find = getattr(self.manager, "_get_os_path", None)
            if find is None:
                await ensure_async(self.manager.delete_file(self.path))
            else:
                # Not into the trash: nobody has ever had this file.
                os.unlink(os.path.realpath(find(self.path)))
        return True

    async def _contains(self, text: bytes) -> bool:
        try:
            return (await self.read()).text == text
        except NbEditError:
            return False


async def build_unread_result(text: bytes, warnings: Sequence[str], *, told: bool) -> SaveResult:
    """Return the result for a file that is written but cannot be read: that is no error."""
    digest = await run_in_thread_if_large(len(text), compute_sha256, text)
    now = datetime.now(tz=timezone.utc)
    return SaveResult(digest, now, [*warnings, _NOT_READ_BACK], told=told)


@dataclass
class SaveEventProbe:
    """Listens whether a manager's save tells its listeners.

    Parameters
    ----------
    manager, path
        Whose save of what.
    """

    manager: Any
    path: str
    has_event: bool = field(default=False, init=False)

    async def watch(self, save: Callable[..., Any], model: Mapping[str, Any]) -> None:
        """Save, and listen meanwhile."""
        logger, schema = self.manager.event_logger, self.manager.event_schema_id
        logger.add_listener(schema_id=schema, listener=self._on_event)
        try:
            await ensure_async(save(model, self.path))
        finally:
            # Those who listen have their turn when the loop has its own.
            await asyncio.sleep(0)
            logger.remove_listener(schema_id=schema, listener=self._on_event)

    async def _on_event(self, logger: Any, schema_id: str, data: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.has_event |= data["action"] == "save" and data["path"] == self.path.strip("/")


def emit_save(manager: Any, path: str, written: WriteResult) -> None:
    """Emit the save event that the manager has not emitted itself."""
    if isinstance(written, SaveResult) and not written.told:
        manager.emit(data={"action": "save", "path": path})


def compute_sha256(text: bytes) -> str:
    """Return the hash of a file's bytes."""
    return hashlib.sha256(text).hexdigest()


def parse_timestamp(given: Any) -> datetime:
    """Read a time as managers give it: with or without a zone, as a text, or not at all."""
    if given is None:
        return datetime.fromtimestamp(0, tz=timezone.utc)
    found = datetime.fromisoformat(given) if isinstance(given, str) else given
    # Without a zone it is the local time.
    return found.astimezone(timezone.utc)


def get_drives(manager: object) -> Mapping[str, ContentsManager]:
    """Return the managers among which one chooses by what stands before a path's colon."""
    drives = getattr(manager, "_managers", None)
    if not isinstance(drives, Mapping):
        return {}
    return {name: one for name, one in drives.items() if isinstance(one, ContentsManager)}


def _get_folder(manager: object, path: str) -> str:
    folder, slash, _ = path.rpartition("/")
    drive, colon, _ = path.partition(":")
    return drive + colon if not slash and drive in get_drives(manager) else folder


def _get_bytes(model: Mapping[str, Any]) -> bytes:
    content: str = model["content"]
    if model["format"] == "base64":
        return base64.decodebytes(content.encode("ascii"))
    return content.encode()


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if one["format"] == other["format"] == "text":
        return bool(one["content"] == other["content"])
    return _get_bytes(one) == _get_bytes(other)


def _build_model(text: bytes) -> dict[str, Any]:
    try:
        return {"type": "file", "format": "text", "content": text.decode()}
    except UnicodeDecodeError:
        content = base64.encodebytes(text).decode("ascii")
        return {"type": "file", "format": "base64", "content": content}
