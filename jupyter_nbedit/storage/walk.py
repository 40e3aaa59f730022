"""Walk through the notebooks of a directory, as far as the Contents API shows them.

Links are skipped: their targets are found under their own names, or do not belong to the directory.
Thus no link leads out of the directory or in circles.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_core.paths import is_file_hidden
from jupyter_server.utils import ensure_async

from jupyter_nbedit.errors import Busy, FolderNotFound, NbEditError, NotebookNotFound
from jupyter_nbedit.storage.base import Directory, NotebookFile, SkippedPath, Walker, WalkItem
from jupyter_nbedit.storage.contents.errors import map_contents_errors
from jupyter_nbedit.storage.contents.manager_calls import ContentsFile
from jupyter_nbedit.storage.contents.manager_locks import is_link
from jupyter_nbedit.storage.event_loop_calls import run_on_loop
from jupyter_nbedit.storage.files.directory import open_directory
from jupyter_nbedit.storage.files.read import read_file
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import SUFFIX, is_unsafe, resolve_path, to_os_path_below_root

if TYPE_CHECKING:
    from jupyter_server.services.contents.filemanager import AsyncFileContentsManager


#: Jupyter's checkpoints; they are not hidden if hidden files are shown.
CHECKPOINTS = ".ipynb_checkpoints"
#: The message for a skipped link.
LINK = "It is a link; name it as the `path` to search what it leads to."
_ATTEMPTS = 3
_POLL_SECONDS = 0.02


async def walk_files(
    manager: AsyncFileContentsManager, path: str, *, recursive: bool, top: str | None = None
) -> Walker:
    """Prepare a walk through a directory of the stock file manager; see `Storages.walk`.

    Links on the path must not lead out of the directory `top`, if there is one.
    """
    path = path.strip("/")
    try:
        os_path = (
            await to_os_path_below_root(manager, path)
            if path
            else os.path.abspath(manager.root_dir)
        )
        real = resolve_path(os_path, top)
    except (NotebookNotFound, OSError):
        raise FolderNotFound from None
    file_walk = _FileWalk(manager, recursive=recursive)
    if os.path.isdir(real):
        return partial(file_walk.walk_folder, real, path)
    if path.endswith(SUFFIX):
        return partial(file_walk.walk_notebook, real, path)
    raise FolderNotFound


class _FileWalk:
    def __init__(self, manager: AsyncFileContentsManager, *, recursive: bool) -> None:
        self._manager = manager
        self._recursive = recursive

    def walk_notebook(self, os_path: str, path: str, start: str) -> Iterator[WalkItem]:
        if start.split("/") <= path.split("/"):
            yield NotebookFile(path, partial(_read, os_path))

    def walk_folder(self, top: str, path: str, start: str) -> Iterator[WalkItem]:
        """Yield the items of a directory."""

        def list_items(inner: str) -> Iterator[WalkItem]:
            components = inner.removeprefix(path).strip("/").split("/")
            return self._list_items(os.path.join(top, *components), inner, start)

        return traverse(list_items, path, start)

    def _list_items(self, folder: str, path: str, start: str) -> Iterator[WalkItem]:
        """Yield the items of one directory."""
        try:
            with open_directory(folder) as open_folder:
                names = sorted(open_folder.list_names())
        except (FileNotFoundError, NotADirectoryError):
            # It is gone, or a link has replaced it.
            return
        except OSError:
            message = "The folder cannot be listed by this server."
            yield SkippedPath(path, "forbidden", message)
            return
        for name in names:
            inner_path = f"{path}/{name}" if path else name
            if not is_before(inner_path, start):
                item = self._build_item(os.path.join(folder, name), name, inner_path)
                # A directory on the way to the start precedes it, although its items may follow.
                if isinstance(item, Directory) or (
                    item and inner_path.split("/") >= start.split("/")
                ):
                    yield item

    def _build_item(self, os_path: str, name: str, path: str) -> WalkItem | None:
        try:
            status = os.lstat(os_path)
            is_link = stat.S_ISLNK(status.st_mode)
            is_folder = os.path.isdir(os_path) if is_link else stat.S_ISDIR(status.st_mode)
            if not (self._recursive if is_folder else name.endswith(SUFFIX)):
                return None
            if name == CHECKPOINTS or not self._is_shown(os_path, name, status):
                return SkippedPath(path, "hidden", "It is hidden.")
        except OSError:
            # It is gone, or a link without target.
            return None
        if not _is_utf8(name):
            readable_path = path.encode("utf-8", "replace").decode()
            return SkippedPath(
                readable_path, "invalid_request", "Its name is not UTF-8; no request has it."
            )
        if is_link:
            return SkippedPath(path, "link", LINK)
        return Directory(path) if is_folder else NotebookFile(path, partial(_read, os_path))

    def _is_shown(self, os_path: str, name: str, status: os.stat_result) -> bool:
        """Return whether the Contents API lists an item, by the same rule."""
        manager = self._manager
        if not manager.should_list(name):
            return False
        return manager.allow_hidden or not is_file_hidden(os_path, stat_res=status)


def traverse(
    list_items: Callable[[str], Iterator[WalkItem]], path: str, start: str
) -> Iterator[WalkItem]:
    """Yield the items of a directory and its subdirectories from the path `start` on."""
    # A stack, because directories may nest deeper than Python's recursion limit.
    stack = [list_items(path)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
            continue
        if isinstance(item, Directory):
            stack.append(list_items(item.path))
            if _is_ancestor(item.path, start):
                continue
        yield item


def is_before(path: str, start: str) -> bool:
    """Return whether a path, and everything that may be in it, precedes a start."""
    components, start_components = path.split("/"), start.split("/") if start else []
    return components < start_components[: len(components)]


def _is_ancestor(folder: str, start: str) -> bool:
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

# The timeout of one call of the manager, whose store may be remote.
_PATIENCE_SECONDS = 30.0


async def walk_contents(
    manager: Any,
    locks: PathLocks,
    path: str,
    *,
    recursive: bool,
    timeout: float = _PATIENCE_SECONDS,
) -> Walker:
    """Prepare a walk through a directory of any contents manager; see `Storages.walk`.

    One call of the manager may take `timeout` seconds.
    """
    path = path.strip("/")
    file = ContentsFile(manager, locks, path, FolderNotFound)
    loop = asyncio.get_running_loop()
    contents_walk = _ContentsWalk(manager, locks, loop, recursive=recursive, timeout=timeout)
    if path:
        await file.check_visible()
    with map_contents_errors(FolderNotFound):
        if await ensure_async(manager.dir_exists(path)):
            return partial(contents_walk.walk_folder, path)
        if path.endswith(SUFFIX) and await ensure_async(manager.file_exists(path)):
            return partial(contents_walk.walk_notebook, path)
    raise FolderNotFound


class _ContentsWalk:
    def __init__(
        self,
        manager: Any,
        locks: PathLocks,
        loop: asyncio.AbstractEventLoop,
        *,
        recursive: bool,
        timeout: float,
    ) -> None:
        self._manager = manager
        self._locks = locks
        self._loop = loop
        self._recursive = recursive
        self._patience = timeout

    def walk_notebook(self, path: str, start: str) -> Iterator[WalkItem]:
        if start.split("/") <= path.split("/"):
            yield self._build_notebook_file(path)

    def walk_folder(self, path: str, start: str) -> Iterator[WalkItem]:
        return traverse(lambda inner_path: self._list_items(inner_path, start), path, start)

    def _list_items(self, path: str, start: str) -> Iterator[WalkItem]:
        """Yield the items of one directory."""
        try:
            entries = self._call_on_loop(partial(self._list_folder, path))
        except FolderNotFound:
            return
        except NbEditError as error:
            yield SkippedPath(path, error.reason, error.message)
            return
        for name, is_folder in entries:
            # The root of a drive ends in a colon, after which there is no slash.
            inner_path = f"{path}/{name}" if path and not path.endswith(":") else f"{path}{name}"
            if is_unsafe(name) or is_before(inner_path, start):
                continue
            try:
                item = self._build_item(name, inner_path, is_folder=is_folder)
            except NbEditError as error:
                item = SkippedPath(inner_path, error.reason, error.message)
            if isinstance(item, Directory) or (item and inner_path.split("/") >= start.split("/")):
                yield item

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
        """Return the names in a directory, sorted, and whether they are directories."""
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

    def _call_on_loop(self, function: Callable[[], Coroutine[Any, Any, _Model]]) -> _Model:
        """Run a coroutine on the event loop and wait for it; raise `Busy` after a timeout."""
        return run_on_loop(
            self._loop,
            function,
            source="The server's contents manager",
            timeout=self._patience,
        )


def _get_name(entry: Mapping[str, Any]) -> str:
    # Some managers return paths of their store; the part after the last slash is the same.
    return str(entry["path"] or entry["name"]).rstrip("/").rpartition("/")[2]


def _is_folder(entry: Mapping[str, Any]) -> bool:
    return bool(entry["type"] == "directory")
