"""Go through the notebooks of a folder, seeing what the Contents API shows and nothing else.

Links are passed over: what they lead to is found under its own name, or does not belong to the
folder. So no link leads out of it, and none leads in circles.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from jupyter_core.paths import is_file_hidden

from jupyter_nbedit.errors import Busy, FolderNotFound, NotebookNotFound
from jupyter_nbedit.storage.base import Directory, NotebookFile, SkippedPath, Walker, WalkItem
from jupyter_nbedit.storage.files.directory import open_directory
from jupyter_nbedit.storage.files.read import read_file
from jupyter_nbedit.storage.paths import SUFFIX, resolve, to_os_path_below_root

if TYPE_CHECKING:
    from jupyter_server.services.contents.filemanager import AsyncFileContentsManager


import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from jupyter_server.utils import ensure_async

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.storage.contents.errors import map_contents_errors
from jupyter_nbedit.storage.contents.file import ContentsFile
from jupyter_nbedit.storage.contents.locks import is_link
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.loop_calls import run_on_loop
from jupyter_nbedit.storage.paths import is_unsafe

#: Older versions of what is beside them, which Jupyter keeps; not hidden if hidden files are shown.
CHECKPOINTS = ".ipynb_checkpoints"
#: Why a walk passes over a link, which may lead out of the root or in a circle.
LINK = "It is a link; name it as the `path` to search what it leads to."
_ATTEMPTS = 3
_POLL_SECONDS = 0.02


async def walk_files(
    manager: AsyncFileContentsManager, path: str, *, recursive: bool, top: str | None = None
) -> Walker:
    """Prepare to go through a folder of the stock file manager; see `Storages.walk`.

    Parameters
    ----------
    manager, path, recursive
        What to go through.
    top
        The folder that links on the path may not lead out of; None if they may lead anywhere.

    Raises
    ------
    FolderNotFound
    """
    path = path.strip("/")
    try:
        given = (
            await to_os_path_below_root(manager, path)
            if path
            else os.path.abspath(manager.root_dir)
        )
        real = resolve(given, top)
    except (NotebookNotFound, OSError):
        raise FolderNotFound from None
    listing = _FileWalk(manager, recursive=recursive)
    if os.path.isdir(real):
        return partial(listing.walk_folder, real, path)
    if path.endswith(SUFFIX):
        return partial(listing.walk_notebook, real, path)
    raise FolderNotFound


class _FileWalk:
    def __init__(self, manager: AsyncFileContentsManager, *, recursive: bool) -> None:
        self._manager = manager
        self._recursive = recursive

    def walk_notebook(self, os_path: str, path: str, start: str) -> Iterator[WalkItem]:
        if start.split("/") <= path.split("/"):
            yield NotebookFile(path, partial(_read, os_path))

    def walk_folder(self, top: str, path: str, start: str) -> Iterator[WalkItem]:
        """Go through a folder."""

        def entries(inner: str) -> Iterator[WalkItem]:
            below = inner.removeprefix(path).strip("/").split("/")
            return self._list_items(os.path.join(top, *below), inner, start)

        return traverse(entries, path, start)

    def _list_items(self, folder: str, path: str, start: str) -> Iterator[WalkItem]:
        """List a folder."""
        try:
            with open_directory(folder) as inside:
                names = sorted(inside.list_names())
        except (FileNotFoundError, NotADirectoryError):
            # It has gone meanwhile, or a link stands in its place.
            return
        except OSError:
            message = "The folder cannot be listed by this server."
            yield SkippedPath(path, "forbidden", message)
            return
        for name in names:
            inner = f"{path}/{name}" if path else name
            if not is_before(inner, start):
                found = self._build_item(os.path.join(folder, name), name, inner)
                # A folder on the way to the start comes before it, and what is in it may not.
                if isinstance(found, Directory) or (found and inner.split("/") >= start.split("/")):
                    yield found

    def _build_item(self, os_path: str, name: str, path: str) -> WalkItem | None:
        try:
            status = os.lstat(os_path)
            link = stat.S_ISLNK(status.st_mode)
            folder = os.path.isdir(os_path) if link else stat.S_ISDIR(status.st_mode)
            if not (self._recursive if folder else name.endswith(SUFFIX)):
                return None
            if name == CHECKPOINTS or not self._is_shown(os_path, name, status):
                return SkippedPath(path, "hidden", "It is hidden.")
        except OSError:
            # It has gone meanwhile, or leads nowhere.
            return None
        if not _is_utf8(name):
            shown = path.encode("utf-8", "replace").decode()
            return SkippedPath(
                shown, "invalid_request", "Its name is not UTF-8; no request has it."
            )
        if link:
            return SkippedPath(path, "link", LINK)
        return Directory(path) if folder else NotebookFile(path, partial(_read, os_path))

    def _is_shown(self, os_path: str, name: str, status: os.stat_result) -> bool:
        """Return whether the Contents API shows something, by the rule of its own listing."""
        manager = self._manager
        if not manager.should_list(name):
            return False
        return manager.allow_hidden or not is_file_hidden(os_path, stat_res=status)


def traverse(
    entries: Callable[[str], Iterator[WalkItem]], path: str, start: str
) -> Iterator[WalkItem]:
    """Go through a folder and those in it from a path on.

    Parameters
    ----------
    entries
        Lists a folder by its API path.
    path
        Where to begin.
    start
        The first path to tell of.
    """
    # A stack, because folders nest deeper than Python.
    stack = [entries(path)]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            continue
        if isinstance(entry, Directory):
            stack.append(entries(entry.path))
            if _leads_to(entry.path, start):
                continue
        yield entry


def is_before(path: str, start: str) -> bool:
    """Return whether all of a path, and of what may be in it, comes before a start."""
    parts, first = path.split("/"), start.split("/") if start else []
    return parts < first[: len(parts)]


def _leads_to(folder: str, start: str) -> bool:
    return f"{start}/".startswith(f"{folder}/")


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(os_path: str) -> bytes:
    for _ in range(_ATTEMPTS):
        content = read_file(os_path)
        if content is not None:
            return content.text
        time.sleep(_POLL_SECONDS)
    message = "Another program is writing this notebook."
    raise Busy(message)


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
