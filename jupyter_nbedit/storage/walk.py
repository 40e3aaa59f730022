"""Walk through the notebooks of a directory, as far as the Contents API shows them.

Links are skipped: their targets are found under their own names, or do not belong to the directory.
Thus no link leads out of the directory or in circles.
"""

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from jupyter_core.paths import is_file_hidden
from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from jupyter_server.utils import ensure_async

from jupyter_nbedit.errors import Busy, Forbidden, InvalidRequest, NbEditError, NotebookNotFound
from jupyter_nbedit.storage.base import Directory, NotebookFile, SkippedNotebook, Walker, WalkItem
from jupyter_nbedit.storage.contents.contents_storage import ContentsStorage, check_visible
from jupyter_nbedit.storage.contents.errors import map_contents_errors
from jupyter_nbedit.storage.contents.manager_kinds import is_link
from jupyter_nbedit.storage.files.directory import open_directory
from jupyter_nbedit.storage.files.read import read_file
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import SUFFIX, is_unsafe, map_to_os_path, resolve_path
from jupyter_nbedit.system.concurrency import run_on_loop

_Result = TypeVar("_Result")

# Jupyter's checkpoints; they are not hidden if hidden files are shown.
_CHECKPOINTS = ".ipynb_checkpoints"
_ATTEMPTS = 3
_POLL_SECONDS = 0.02
# The timeout of one call of the manager, whose store may be remote.
_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class _Walk(ABC):
    """A walk through the directories of a contents manager."""

    manager: Any
    is_recursive: bool

    @abstractmethod
    def list_folder(self, path: str) -> list[tuple[str, bool]]:
        """Return the names in a directory, sorted, and whether they are directories."""

    @abstractmethod
    def is_shown(self, name: str, path: str) -> bool:
        """Return whether the Contents API lists an item."""

    def is_link(self, path: str) -> bool:
        """Return whether an item is a symbolic link of the file system."""
        return is_link(self.manager, path)

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Read a notebook."""

    def walk_notebook(self, path: str, start: str) -> Iterator[WalkItem]:
        if start.split("/") <= path.split("/"):
            yield NotebookFile(path, partial(self.read, path))

    def walk_folder(self, path: str, start: str) -> Iterator[WalkItem]:
        """Yield the items of a directory and its subdirectories from the path `start` on."""
        # A stack, because directories may nest deeper than Python's recursion limit.
        stack = [self._list_items(path, start)]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
                continue
            if isinstance(item, Directory):
                stack.append(self._list_items(item.path, start))
                if f"{start}/".startswith(f"{item.path}/"):
                    continue
            yield item

    def _list_items(self, path: str, start: str) -> Iterator[WalkItem]:
        """Yield the items of one directory."""
        try:
            entries = self.list_folder(path)
        except NotebookNotFound:
            # It is gone, or a link has replaced it.
            return
        except NbEditError as error:
            yield SkippedNotebook(path, error.reason, error.message)
            return
        for name, is_folder in entries:
            inner_path = self.join(path, name)
            if is_unsafe(name) or _is_before(inner_path, start):
                continue
            try:
                item = self._build_item(name, inner_path, is_folder=is_folder)
            except NbEditError as error:
                item = SkippedNotebook(inner_path, error.reason, error.message)
            # A directory on the way to the start precedes it, although its items may follow.
            if isinstance(item, Directory) or (item and inner_path.split("/") >= start.split("/")):
                yield item

    def join(self, path: str, name: str) -> str:
        """Return the path of an item of a directory."""
        return f"{path}/{name}" if path else name

    def _build_item(self, name: str, path: str, *, is_folder: bool) -> WalkItem | None:
        if not (self.is_recursive if is_folder else name.endswith(SUFFIX)):
            return None
        if name == _CHECKPOINTS or not self.is_shown(name, path):
            return SkippedNotebook(path, "hidden", "It is hidden.")
        readable_path = path.encode("utf-8", "replace").decode()
        if readable_path != path:
            message = "Its name is not UTF-8, so no request can address it."
            return SkippedNotebook(readable_path, InvalidRequest.reason, message)
        if self.is_link(path):
            message = "It is a link; send it as the `path` to search its target."
            return SkippedNotebook(path, "link", message)
        return Directory(path) if is_folder else NotebookFile(path, partial(self.read, path))


def _is_before(path: str, start: str) -> bool:
    """Return whether a path, and everything that may be in it, precedes a start."""
    components, start_components = path.split("/"), start.split("/") if start else []
    return components < start_components[: len(components)]


async def walk_files(
    manager: AsyncFileContentsManager, path: str, *, recursive: bool, top: str | None = None
) -> Walker:
    """Prepare a walk through a directory of the stock file manager, or to a notebook.

    Raise `NotebookNotFound` if the path is missing, hidden, or leads out of the directory `top`.
    """
    try:
        os_path = await map_to_os_path(manager, path) if path else os.path.abspath(manager.root_dir)
        real = resolve_path(os_path, top)
    except OSError:
        raise NotebookNotFound from None
    walk = _FileWalk(manager, recursive, path, real)
    if os.path.isdir(real):
        return partial(walk.walk_folder, path)
    if path.endswith(SUFFIX):
        return partial(walk.walk_notebook, path)
    raise NotebookNotFound


@dataclass(frozen=True)
class _FileWalk(_Walk):
    """A walk on disk, from the path `top`, which is `real` without links."""

    top: str
    real: str

    def _get_os_path(self, path: str) -> str:
        components = path.removeprefix(self.top).strip("/").split("/")
        return os.path.join(self.real, *filter(None, components))

    def list_folder(self, path: str) -> list[tuple[str, bool]]:
        try:
            with open_directory(self._get_os_path(path)) as folder:
                return sorted(folder.list_entries())
        except (FileNotFoundError, NotADirectoryError):
            raise NotebookNotFound from None
        except OSError:
            raise Forbidden("The folder cannot be listed by this server.") from None

    def is_link(self, path: str) -> bool:
        return os.path.islink(self._get_os_path(path))

    def is_shown(self, name: str, path: str) -> bool:
        if not self.manager.should_list(name):
            return False
        try:
            return self.manager.allow_hidden or not is_file_hidden(self._get_os_path(path))
        except OSError:
            # It is gone, or a link in a circle.
            return True

    def read(self, path: str) -> bytes:
        for _ in range(_ATTEMPTS):
            content = read_file(self._get_os_path(path))
            if content is not None:
                return content.text
            time.sleep(_POLL_SECONDS)
        raise Busy("Another program is writing this notebook.")


async def walk_contents(manager: Any, locks: PathLocks, path: str, *, recursive: bool) -> Walker:
    """Prepare a walk through a directory of any contents manager, or to a notebook.

    Raise `NotebookNotFound` if the path is missing or hidden.
    """
    walk = _ContentsWalk(manager, recursive, locks, asyncio.get_running_loop())
    if path:
        await check_visible(manager, path)
    with map_contents_errors():
        if await ensure_async(manager.dir_exists(path)):
            return partial(walk.walk_folder, path)
        if path.endswith(SUFFIX) and await ensure_async(manager.file_exists(path)):
            return partial(walk.walk_notebook, path)
    raise NotebookNotFound


@dataclass(frozen=True)
class _ContentsWalk(_Walk):
    locks: PathLocks
    loop: asyncio.AbstractEventLoop

    def join(self, path: str, name: str) -> str:
        # The root of a drive ends in a colon, after which there is no slash.
        return f"{path}{name}" if path.endswith(":") else super().join(path, name)

    def list_folder(self, path: str) -> list[tuple[str, bool]]:
        return self._call_on_loop(self._list_folder(path))

    async def _list_folder(self, path: str) -> list[tuple[str, bool]]:
        with map_contents_errors():
            model = await ensure_async(self.manager.get(path, content=True, type="directory"))
            return sorted(
                {(_get_name(entry), entry["type"] == "directory") for entry in model["content"]}
            )

    def is_shown(self, name: str, path: str) -> bool:
        try:
            self._call_on_loop(check_visible(self.manager, path))
        except NotebookNotFound:
            return False
        return bool(self.manager.should_list(name))

    def read(self, path: str) -> bytes:
        return self._call_on_loop(ContentsStorage(self.manager, self.locks).read(path)).text

    def _call_on_loop(self, coroutine: Coroutine[Any, Any, _Result]) -> _Result:
        source = "The server's contents manager"
        return run_on_loop(self.loop, coroutine, source=source, timeout=_TIMEOUT_SECONDS)


def _get_name(entry: Mapping[str, Any]) -> str:
    # Some managers return paths of their store; the part after the last slash is the same.
    return str(entry["path"] or entry["name"]).rstrip("/").rpartition("/")[2]
