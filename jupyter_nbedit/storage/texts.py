"""Files that are no notebooks, through the contents manager: its rules, its hooks, its events."""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit.errors import (
    Busy,
    FileNotFound,
    Forbidden,
    NbEditError,
    NoSpace,
    NotAPlainFile,
    StorageFailure,
    TooLarge,
)
from jupyter_nbedit.storage import Changed, Content, Written
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.managers import EXPECTED_HASH, save_of_holder

_Given = TypeVar("_Given")

# Up to here, another thread costs more than the work.
_SMALL_BYTES = 100_000
#: Larger files are not read: they would be held several times over, and nobody reads them.
MOST_BYTES = 32 * 1024 * 1024

# How often a change is made anew because somebody else wrote meanwhile.
_ATTEMPTS = 8
# What a save expects to replace if it is to make a new file: no file has this hash.
_NOTHING = ""
_BY_STATUS: dict[int, Callable[[], NbEditError]] = {
    403: lambda: Forbidden("The server may not do this to the file; nothing was written."),
    404: FileNotFound,
    503: lambda: Busy("Somebody else is writing this file. Nothing was written; try again."),
}
_BY_ERRNO: dict[int, Callable[[], NbEditError]] = {
    errno.EACCES: _BY_STATUS[403],
    errno.EPERM: _BY_STATUS[403],
    errno.EROFS: _BY_STATUS[403],
    errno.ENOENT: FileNotFound,
    errno.ENOTDIR: FileNotFound,
    errno.ENAMETOOLONG: FileNotFound,
    errno.EINVAL: FileNotFound,
    errno.ENOSPC: lambda: NoSpace("There is no room for the file; it may be incomplete now."),
    errno.EDQUOT: lambda: NoSpace("There is no room for the file; it may be incomplete now."),
}


@dataclass
class TextFiles:
    """Files by their API paths.

    Parameters
    ----------
    manager
        Gives the contents manager; looked up each time, because servers swap it.
    locks
        Shared with the manager's own saves.
    """

    manager: Callable[[], Any]
    locks: PathLocks

    async def read(self, path: str) -> Content:
        """Read a file whole.

        Raises
        ------
        FileNotFound
            If it is missing, hidden or outside the root.
        NotAPlainFile, TooLarge, Forbidden, StorageFailure
        """
        async with self._held(path) as file:
            return await file.read()

    async def rewrite(self, path: str, change: Callable[[Content], bytes]) -> Written | None:
        """Change a file in view of what it holds, again if somebody else writes meanwhile.

        Parameters
        ----------
        path
            Its API path.
        change
            Gives what it is to hold instead; what it raises is the answer.

        Returns
        -------
        None if it holds that already.

        Raises
        ------
        Busy
            If others write all the time.
        NbEditError
            Of reading, of writing, or of the change; nothing was written.
        """
        async with self._held(path) as file:
            for _ in range(_ATTEMPTS):
                content = await file.read()
                text = await _away(len(content.text), change, content)
                if text == content.text:
                    return None
                try:
                    return await file.save(text, content)
                except Changed:
                    continue
        message = (
            f"Others changed the file {_ATTEMPTS} times while it was being edited. Nothing was "
            "written; try again."
        )
        raise Busy(message)

    async def save(self, path: str, text: bytes, base: Content | None) -> Written:
        """Write a file, if what is there still is what was read.

        Parameters
        ----------
        path
            Its API path.
        text
            What it is to hold, byte for byte.
        base
            What `read` gave; None if there must be nothing yet.

        Raises
        ------
        Changed
            If something else is there; nothing was written.
        FileNotFound
            If the folder is missing, hidden or outside the root.
        Busy, Forbidden, NoSpace, StorageFailure
        """
        async with self._held(path) as file:
            return await file.save(text, base)

    @asynccontextmanager
    async def _held(self, path: str) -> AsyncIterator[_Held]:
        """Keep others away from a file while it is read or written.

        The manager truncates a file and writes it anew, so that even a reader must wait.
        """
        manager = self.manager()
        try:
            hidden = not manager.allow_hidden and await ensure_async(manager.is_hidden(path))
        except (HTTPError, OSError):
            # A component that is no folder, or one that may not be looked into.
            raise FileNotFound from None
        if hidden:
            raise FileNotFound
        save = save_of_holder(manager, self.locks)
        if save is None:
            yield _Held(manager, path, None)
            return
        # Only the manager knows where its files are.
        async with self.locks.hold(manager._get_os_path(path)):  # noqa: SLF001
            yield _Held(manager, path, save)


@dataclass(frozen=True)
class _Held:
    """One file, which nobody else on this server writes meanwhile if there is a ``save_of_holder``.

    Any other manager's own save is used without that, and what is there compared just before.
    """

    manager: Any
    path: str
    save_of_holder: Callable[..., Any] | None

    async def read(self) -> Content:
        if await ensure_async(self.manager.dir_exists(self.path)):
            message = "There is a folder at this path. Expected the path of a file."
            raise NotAPlainFile(message)
        if not await ensure_async(self.manager.file_exists(self.path)):
            raise FileNotFound
        return await _read(self.manager, self.path)

    async def save(self, text: bytes, base: Content | None) -> Written:
        if not await ensure_async(self.manager.dir_exists(self.path.rpartition("/")[0])):
            raise FileNotFound
        if base is None and await ensure_async(self.manager.exists(self.path)):
            raise Changed
        if base is not None and not await ensure_async(self.manager.file_exists(self.path)):
            raise FileNotFound
        warnings = []
        try:
            await self._save(_model(text), base)
        except HTTPError as error:
            if error.status_code == 409:  # noqa: PLR2004 -- HTTP's own number
                raise Changed from None
            # A post-save hook fails when all is written.
            if not await self._holds(text):
                raise _refusal(error) from error
            warnings.append(
                "The file is written, but a post-save hook of this server failed afterwards; the "
                "server's log says why."
            )
        now = await self.read()
        if now.text != text:
            warnings.append(
                "A hook of this server, or another program, has changed what was written; read "
                "the file again before you edit it."
            )
        return Written(hashlib.sha256(now.text).hexdigest(), now.last_modified, warnings)

    async def _save(self, model: dict[str, Any], base: Content | None) -> None:
        if self.save_of_holder is not None:
            model[EXPECTED_HASH] = _NOTHING if base is None else base.version
            await self.save_of_holder(model, self.path)
            return
        if base is not None and (await self.read()).text != base.text:
            raise Changed
        await ensure_async(self.manager.save(model, self.path))

    async def _holds(self, text: bytes) -> bool:
        try:
            return (await self.read()).text == text
        except NbEditError:
            return False


async def _away(size: int, function: Callable[[_Given], bytes], given: _Given) -> bytes:
    """Work off the loop's thread, if there is so much to do that others would notice."""
    return await asyncio.to_thread(function, given) if size > _SMALL_BYTES else function(given)


async def _read(manager: Any, path: str) -> Content:
    hashes = "require_hash" in inspect.signature(manager.get).parameters
    more = {"require_hash": True} if hashes else {}
    try:
        size = (await ensure_async(manager.get(path, content=False, type="file"))).get("size")
        if size is not None and size > MOST_BYTES:
            message = (
                f"The file has {size} bytes, more than the {MOST_BYTES} that are read at once."
            )
            raise TooLarge(message, bytes=size, limit=MOST_BYTES)
        model = await ensure_async(manager.get(path, content=True, type="file", **more))
    except HTTPError as error:
        raise _refusal(error) from error
    text = await _away(len(model["content"]), _bytes_of, model)
    return Content(text, model["last_modified"], model.get("hash"))


def _bytes_of(model: dict[str, Any]) -> bytes:
    content: str = model["content"]
    if model["format"] == "base64":
        return base64.decodebytes(content.encode("ascii"))
    return content.encode()


def _model(text: bytes) -> dict[str, Any]:
    try:
        return {"type": "file", "format": "text", "content": text.decode()}
    except UnicodeDecodeError:
        content = base64.encodebytes(text).decode("ascii")
        return {"type": "file", "format": "base64", "content": content}


def _refusal(error: HTTPError) -> NbEditError:
    """Say in our words what the manager says in its own, which may name paths."""
    cause = error.__cause__
    if isinstance(cause, OSError) and (found := _BY_ERRNO.get(cause.errno or 0)):
        return found()
    if found := _BY_STATUS.get(error.status_code):
        return found()
    if error.status_code < 500:  # noqa: PLR2004 -- HTTP's own number
        message = "The server's contents manager, or a hook of it, refuses this file."
        return Forbidden(message)
    message = "The server's contents manager failed; the server's log says why. Read the file."
    return StorageFailure(message, applied=False)
