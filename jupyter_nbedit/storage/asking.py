"""Go through the notebooks of a folder by asking the contents manager, where it has none on disk.

The manager belongs to the loop's thread; a walk, which may take long, runs in another one and has
the loop ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from jupyter_server.utils import ensure_async

from jupyter_nbedit.errors import FolderNotFound, NbEditError, NotebookNotFound
from jupyter_nbedit.storage import Entered, Entry, Found, PassedOver, Walk
from jupyter_nbedit.storage.failures import failures
from jupyter_nbedit.storage.guards import is_link
from jupyter_nbedit.storage.listing import CHECKPOINTS, LINK, is_before, through
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.loop_calls import run_on_loop
from jupyter_nbedit.storage.managed import Managed
from jupyter_nbedit.storage.paths import SUFFIX, is_odd

_Answer = TypeVar("_Answer")

# How long one answer of the manager may take; its store may be far away.
_PATIENCE_SECONDS = 30.0


async def walk(
    manager: Any,
    locks: PathLocks,
    path: str,
    *,
    recursive: bool,
    patience: float = _PATIENCE_SECONDS,
) -> Walk:
    """Prepare to go through a folder of any contents manager; see `Storages.walk`.

    Parameters
    ----------
    manager
        The contents manager.
    locks
        Shared with the manager's own saves.
    path
        The API path of the folder, or of a notebook.
    recursive
        Whether to go through the folders in it as well.
    patience
        How many seconds the manager may take for one answer.

    Raises
    ------
    FolderNotFound
    """
    path = path.strip("/")
    top = Managed(manager, locks, path, FolderNotFound)
    loop = asyncio.get_running_loop()
    asking = _Asking(manager, locks, loop, recursive=recursive, patience=patience)
    if path:
        await top.check_visible()
    with failures(FolderNotFound):
        if await ensure_async(manager.dir_exists(path)):
            return partial(asking.of_folder, path)
        if path.endswith(SUFFIX) and await ensure_async(manager.file_exists(path)):
            return partial(asking.of_notebook, path)
    raise FolderNotFound


class _Asking:
    def __init__(
        self,
        manager: Any,
        locks: PathLocks,
        loop: asyncio.AbstractEventLoop,
        *,
        recursive: bool,
        patience: float,
    ) -> None:
        self._manager = manager
        self._locks = locks
        self._loop = loop
        self._recursive = recursive
        self._patience = patience

    def of_notebook(self, path: str, start: str) -> Iterator[Entry]:
        if start.split("/") <= path.split("/"):
            yield self._found(path)

    def of_folder(self, path: str, start: str) -> Iterator[Entry]:
        return through(lambda inner: self._entries(inner, start), path, start)

    def _entries(self, path: str, start: str) -> Iterator[Entry]:
        """List a folder."""
        try:
            entries = self._ask(partial(self._listed, path))
        except FolderNotFound:
            return
        except NbEditError as refused:
            yield PassedOver(path, refused.reason, refused.message)
            return
        for name, is_folder in entries:
            # The root of a drive ends in a colon, behind which comes no slash.
            inner = f"{path}/{name}" if path and not path.endswith(":") else f"{path}{name}"
            if is_odd(name) or is_before(inner, start):
                continue
            try:
                found = self._entry(name, inner, is_folder=is_folder)
            except NbEditError as refused:
                found = PassedOver(inner, refused.reason, refused.message)
            if isinstance(found, Entered) or (found and inner.split("/") >= start.split("/")):
                yield found

    def _entry(self, name: str, path: str, *, is_folder: bool) -> Entry | None:
        if not (self._recursive if is_folder else name.endswith(SUFFIX)):
            return None
        if name == CHECKPOINTS or not self._ask(partial(self._shows, name, path)):
            return PassedOver(path, "hidden", "It is hidden.")
        if is_link(self._manager, path):
            return PassedOver(path, "link", LINK)
        return Entered(path) if is_folder else self._found(path)

    def _found(self, path: str) -> Found:
        file = Managed(self._manager, self._locks, path, NotebookNotFound)
        return Found(path, lambda: self._ask(file.read).text)

    async def _listed(self, path: str) -> list[tuple[str, bool]]:
        """List the names in a folder, in order, and whether they are folders themselves."""
        with failures(FolderNotFound):
            model = await ensure_async(self._manager.get(path, content=True, type="directory"))
            return sorted({(_name_of(entry), _is_folder(entry)) for entry in model["content"]})

    async def _shows(self, name: str, path: str) -> bool:
        file = Managed(self._manager, self._locks, path, NotebookNotFound)
        try:
            await file.check_visible()
        except NotebookNotFound:
            return False
        return bool(self._manager.should_list(name))

    def _ask(self, question: Callable[[], Coroutine[Any, Any, _Answer]]) -> _Answer:
        """Have the loop ask; this thread waits.

        Raises
        ------
        Busy
            If the manager does not answer in time, or the server stops.
        """
        return run_on_loop(
            self._loop,
            question,
            source="The server's contents manager",
            patience=self._patience,
        )


def _name_of(entry: Mapping[str, Any]) -> str:
    # Some managers give their own store's paths; what stands behind the last slash is the same.
    return str(entry["path"] or entry["name"]).rstrip("/").rpartition("/")[2]


def _is_folder(entry: Mapping[str, Any]) -> bool:
    return bool(entry["type"] == "directory")
