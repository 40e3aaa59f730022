"""Notebooks that the contents manager stores as text anywhere: in a bucket, on a drive."""

import base64
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, ClassVar

from jupyter_server.utils import ensure_async

from jupyter_nbedit import errors
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.storage.base import Content, StaleContent, Storage, WriteResult
from jupyter_nbedit.storage.contents.errors import map_contents_error, map_contents_errors
from jupyter_nbedit.storage.contents.manager_kinds import get_drives
from jupyter_nbedit.storage.contents.manager_locks import (
    get_unlocked_save,
    install_locks,
    lock_paths,
)
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import is_unsafe
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

_HOOK_FAILED = (
    "The file is written, but a post-save hook of this server failed afterwards; see the "
    "server's log."
)
_NOT_READ_BACK = (
    "The file is written, but it could not be read back, so its hash and its time are not certain; "
    "read it again before you edit it."
)
_CHANGED_MEANWHILE = (
    "A hook of this server, or another program, has changed what was written; read the file again "
    "before you edit it."
)


@dataclass(frozen=True, eq=False)
class ContentsStorage(Storage):
    """Notebooks as text files that the manager, which runs the hooks, stores byte for byte."""

    manager: Any
    locks: PathLocks

    kind: ClassVar[str] = "contents"
    preserves_bytes: ClassVar[bool] = True
    #: Whether the manager's save preserves the trust of a notebook.
    is_signed: ClassVar[bool] = False
    #: The most bytes that are read at once; None for any number.
    max_bytes: ClassVar[int | None] = None

    @property
    def changed_warning(self) -> str:
        """The warning that the stored bytes differ from the bytes that were written."""
        return _CHANGED_MEANWHILE

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncIterator[str | None]:
        """Lock a file against this server's other writers and the manager's own saves.

        Yields its path on disk without links, None if it has none.
        """
        await check_visible(self.manager, path)
        install_locks(self.manager, self.locks)
        async with lock_paths(self.manager, self.locks, path) as reals:
            yield reals[0] if reals else None

    async def check(self, path: str) -> None:
        """Raise if a notebook cannot be read, as far as that is known without reading it."""
        await check_visible(self.manager, path)
        with map_contents_errors():
            if await ensure_async(self.manager.dir_exists(path)):
                raise errors.NotAPlainFile(
                    "There is a folder at this path. Expected the path of a file."
                )
            if not await ensure_async(self.manager.file_exists(path)):
                raise errors.NotebookNotFound

    async def read(self, path: str) -> Content:
        """Read a file; no other task runs meanwhile if the manager is not asynchronous."""
        await self.check(path)
        with map_contents_errors():
            if self.max_bytes is not None:
                model = await ensure_async(self.manager.get(path, content=False, type="file"))
                size = model.get("size")
                if size is not None and size > self.max_bytes:
                    message = (
                        f"The file has {size} bytes, more than the {self.max_bytes} that are read "
                        "at once."
                    )
                    raise errors.TooLarge(message, bytes=size, limit=self.max_bytes)
            model = await ensure_async(self.manager.get(path, content=True, type="file"))
            return Content(_get_bytes(model), parse_timestamp(model["last_modified"]))

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Save the spliced text, if the manager still returns what was read."""
        text = apply_splices(base.text, splices)
        model = await run_in_thread_if_large(len(text), self._build_model, text)
        # From here to the save, no other task runs if the manager is not asynchronous.
        if (await self.read(path)).text != base.text:
            raise StaleContent
        warnings = await self._save(path, text, model, base.text)
        return await self._build_result(path, text, warnings)

    async def ensure_absent(self, path: str) -> None:
        """Raise if the path exists, or its directory does not."""
        await check_visible(self.manager, path)
        with map_contents_errors():
            if not await ensure_async(self.manager.dir_exists(_get_folder(self.manager, path))):
                raise errors.NotebookNotFound
            if await ensure_async(self.manager.exists(path)):
                raise errors.NotebookExists

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Save a new notebook."""
        model = await run_in_thread_if_large(len(text), self._build_model, text)
        await self.ensure_absent(path)
        warnings = await self._save(path, text, model, None)
        return await self._build_result(path, text, warnings)

    def _build_model(self, text: bytes) -> dict[str, Any]:
        """Return the model of the Contents API to save."""
        try:
            return {"type": "file", "format": "text", "content": text.decode()}
        except UnicodeDecodeError:
            content = base64.encodebytes(text).decode("ascii")
            return {"type": "file", "format": "base64", "content": content}

    def _is_same(self, text: bytes, saved_text: bytes) -> bool:
        return text == saved_text

    async def _save(
        self, path: str, text: bytes, model: dict[str, Any], original: bytes | None
    ) -> list[str]:
        """Save a model, and return warnings; after an error nothing was written.

        The lock must be held. `original` are the bytes of the file, None if it is new.
        """
        try:
            await ensure_async(get_unlocked_save(self.manager, self.locks)(model, path))
        except Exception as error:
            # A post-save hook fails after the file was written.
            if await self._is_saved(path, text, error):
                return [_HOOK_FAILED]
            mapped_error = map_contents_error(error)
            is_removed = await self._undo_save(path, text, model, original)
            if is_removed and isinstance(mapped_error, errors.NoSpace):
                mapped_error = errors.NoSpace(
                    "There is not enough space for the file; nothing was written."
                )
            raise mapped_error from error
        return []

    async def _is_saved(self, path: str, text: bytes, _error: Exception) -> bool:
        """Return whether a text was saved although the save has failed."""
        try:
            return self._is_same(text, (await self.read(path)).text)
        except errors.NbEditError:
            return False

    async def _undo_save(
        self, path: str, text: bytes, _model: dict[str, Any], original: bytes | None
    ) -> bool:
        """Undo a save that has failed; return whether a new file is gone."""
        return original is None and await self.remove_partial_file(path, text.startswith)

    async def remove_partial_file(self, path: str, is_partial: Callable[[bytes], bool]) -> bool:
        """Remove what a failed save has left of a new file; return whether there is none now."""
        with map_contents_errors():
            if not await ensure_async(self.manager.file_exists(path)):
                return True
            if not is_partial((await self.read(path)).text):
                return False
            get_os_path = getattr(self.manager, "_get_os_path", None)
            if get_os_path is None:
                await ensure_async(self.manager.delete_file(path))
            else:
                # Not into the trash: no user has ever seen this file.
                os.unlink(os.path.realpath(get_os_path(path)))
        return True

    async def _build_result(self, path: str, text: bytes, warnings: list[str]) -> WriteResult:
        try:
            saved = await self.read(path)
        except errors.NbEditError:
            # The file was written, so this is no error.
            warnings.append(_NOT_READ_BACK)
            saved = Content(text, datetime.now(tz=timezone.utc))
        size = len(saved.text)
        if not await run_in_thread_if_large(size, self._is_same, text, saved.text):
            warnings.append(self.changed_warning)
        return WriteResult(
            await run_in_thread_if_large(size, compute_sha256, saved.text),
            saved.last_modified,
            warnings,
            None if saved.text == text else saved.text,
            is_signed=self.is_signed,
        )


async def check_visible(manager: Any, path: str) -> None:
    """Raise `NotebookNotFound` unless the Contents API shows a path."""
    # The manager of a drive gets the part after the colon.
    if is_unsafe(path) or is_unsafe(path.partition(":")[2].strip("/") or "x"):
        raise errors.NotebookNotFound
    try:
        is_hidden = not manager.allow_hidden and await ensure_async(manager.is_hidden(path))
    except Exception as error:
        # A component that is not a directory, or not accessible.
        raise errors.NotebookNotFound from error
    if is_hidden:
        raise errors.NotebookNotFound


def parse_timestamp(value: Any) -> datetime:
    """Parse a time as managers return it: with or without time zone, as text, or None."""
    if value is None:
        return datetime.fromtimestamp(0, tz=timezone.utc)
    timestamp = datetime.fromisoformat(value) if isinstance(value, str) else value
    # Without a time zone it is local time.
    return timestamp.astimezone(timezone.utc)


def _get_folder(manager: object, path: str) -> str:
    folder, slash, _ = path.rpartition("/")
    drive, colon, _ = path.partition(":")
    return drive + colon if not slash and drive in get_drives(manager) else folder


def _get_bytes(model: Mapping[str, Any]) -> bytes:
    content: str = model["content"]
    if model["format"] == "base64":
        return base64.decodebytes(content.encode("ascii"))
    return content.encode()
