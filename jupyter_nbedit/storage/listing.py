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
from jupyter_nbedit.storage import Directory, NotebookFile, SkippedPath, Walker, WalkItem
from jupyter_nbedit.storage.folders import open_directory
from jupyter_nbedit.storage.paths import SUFFIX, resolve, to_os_path_below_root
from jupyter_nbedit.storage.snapshots import read_file

if TYPE_CHECKING:
    from jupyter_server.services.contents.filemanager import AsyncFileContentsManager

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
