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
from jupyter_nbedit.storage import Directory, NotebookFile, SkippedPath, Walker, WalkItem
from jupyter_nbedit.storage.failures import map_contents_errors
from jupyter_nbedit.storage.guards import is_link
from jupyter_nbedit.storage.listing import CHECKPOINTS, LINK, is_before, traverse
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.loop_calls import run_on_loop
from jupyter_nbedit.storage.managed import ContentsFile
from jupyter_nbedit.storage.paths import SUFFIX, is_unsafe

_Model = TypeVar("_Model")

# How long one answer of the manager may take; its store may be far away.
_PATIENCE_SECONDS = 30.0


async def walk_contents(
    manager: Any,
    locks: PathLocks,
    path: str,
    *,
    recursive: bool,
    patience: float = _PATIENCE_SECONDS,
) -> Walker:
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
    top = ContentsFile(manager, locks, path, FolderNotFound)
    loop = asyncio.get_running_loop()
    asking = _ContentsWalk(manager, locks, loop, recursive=recursive, patience=patience)
    if path:
        await top.check_visible()
    with map_contents_errors(FolderNotFound):
        if await ensure_async(manager.dir_exists(path)):
            return partial(asking.walk_folder, path)
        if path.endswith(SUFFIX) and await ensure_async(manager.file_exists(path)):
            return partial(asking.walk_notebook, path)
    raise FolderNotFound


class _ContentsWalk:
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

    def walk_notebook(self, path: str, start: str) -> Iterator[WalkItem]:
        if start.split("/") <= path.split("/"):
            yield self._build_notebook_file(path)

    def walk_folder(self, path: str, start: str) -> Iterator[WalkItem]:
        return traverse(lambda inner: self._list_items(inner, start), path, start)

    def _list_items(self, path: str, start: str) -> Iterator[WalkItem]:
        """List a folder."""
        try:
            entries = self._call_on_loop(partial(self._list_folder, path))
        except FolderNotFound:
            return
        except NbEditError as refused:
            yield SkippedPath(path, refused.reason, refused.message)
            return
        for name, is_folder in entries:
            # The root of a drive ends in a colon, behind which comes no slash.
            inner = f"{path}/{name}" if path and not path.endswith(":") else f"{path}{name}"
            if is_unsafe(name) or is_before(inner, start):
                continue
            try:
                found = self._build_item(name, inner, is_folder=is_folder)
            except NbEditError as refused:
                found = SkippedPath(inner, refused.reason, refused.message)
            if isinstance(found, Directory) or (found and inner.split("/") >= start.split("/")):
                yield found

    def _build_item(self, name: str, path: str, *, is_folder: bool) -> WalkItem | None:
        if not (self._recursive if is_folder else name.endswith(SUFFIX)):
            return None
        if name == CHECKPOINTS or not self._call_on_loop(partial(self._is_shown, name, path)):
            return SkippedPath(path, "hidden", "It is hidden.")
        if is_link(self._manager, path):
            return SkippedPath(path, "link", LINK)
        return Directory(path) if is_folder else self._build_notebook_file(path)

    def _build_notebook_file(self, path: str) -> NotebookFile:
        file = ContentsFile(self._manager, self._locks, path, NotebookNotFound)
        return NotebookFile(path, lambda: self._call_on_loop(file.read).text)

    async def _list_folder(self, path: str) -> list[tuple[str, bool]]:
        """List the names in a folder, in order, and whether they are folders themselves."""
        with map_contents_errors(FolderNotFound):
            model = await ensure_async(self._manager.get(path, content=True, type="directory"))
            return sorted({(_get_name(entry), _is_folder(entry)) for entry in model["content"]})

    async def _is_shown(self, name: str, path: str) -> bool:
        file = ContentsFile(self._manager, self._locks, path, NotebookNotFound)
        try:
            await file.check_visible()
        except NotebookNotFound:
            return False
        return bool(self._manager.should_list(name))

    def _call_on_loop(self, question: Callable[[], Coroutine[Any, Any, _Model]]) -> _Model:
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


def _get_name(entry: Mapping[str, Any]) -> str:
    # Some managers give their own store's paths; what stands behind the last slash is the same.
    return str(entry["path"] or entry["name"]).rstrip("/").rpartition("/")[2]


def _is_folder(entry: Mapping[str, Any]) -> bool:
    return bool(entry["type"] == "directory")
