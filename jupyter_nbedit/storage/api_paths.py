"""API paths: which API path an agent's path means, and which notebook name it leads to."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from jupyter_nbedit.db.notebook_names import FILES, NotebookName, NotebookNames
from jupyter_nbedit.errors import InvalidRequest, NotAPlainFile
from jupyter_nbedit.storage.contents.manager_kinds import describe_location, is_rooted
from jupyter_nbedit.storage.paths import follow_links, is_unsafe

_MAX_SHOWN_CHARACTERS = 200
# No file has a longer path; resolving one would visit each of its directories.
_MAX_PATH_LENGTH = 32_768


@dataclass(frozen=True)
class ManagerNames(NotebookNames):
    """The names of the notebooks of a server, by its contents manager."""

    #: Returns the manager, which extensions may replace at any time.
    get_manager: Callable[[], Any]

    def get_folder(self) -> str | None:
        """Return the root folder without links; None if notebooks are not in files."""
        return get_root_folder(self.get_manager())

    def get_root_name(self) -> str:
        """Return a name of the root that differs from the names of other roots.

        It is the path of the root directory without links. For a manager without a directory, it is
        the class of the manager and the traits that locate its files.
        """
        return self.get_folder() or describe_location(self.get_manager())

    def find(self, path: str) -> NotebookName:
        """Return the name of the notebook at an API path; it need not exist."""
        path = path.strip("/")
        folder = self.get_folder()
        if folder is None:
            return NotebookName(self.get_root_name(), path)
        return NotebookName(FILES, PurePath(_resolve_in_root(folder, path)).as_posix())


def to_api_path(manager: Any, path: str, *, allow_relative: bool) -> str | None:
    """Return the API path of a file, with links resolved, so that no spelling leaves the root.

    The file need not exist; the path is None if it is outside the root. Raise `InvalidRequest` if
    `path` is relative and may not be, and `NotAPlainFile` if it is absolute and the manager does
    not store its files in a directory.
    """
    absolute = os.path.isabs(path)
    top = get_root_folder(manager)
    if not absolute and not allow_relative:
        raise InvalidRequest(
            f"Expected an absolute path, below the folder that this server serves; found "
            f"{path[:_MAX_SHOWN_CHARACTERS]!r}."
        )
    if top is None:
        if not absolute:
            return None if is_unsafe(path) else path
        raise NotAPlainFile(
            f"This server stores its files with {type(manager).__name__}, which has no folder in "
            "a file system, so absolute paths cannot be used. Use a tool that takes relative "
            "paths, or /nbedit/notebooks."
        )
    if not absolute and not is_unsafe(path) and not _may_have_links(top, path):
        return path
    return _get_relative(top, path)


def _resolve_in_root(top: str, path: str) -> str:
    """Return the path on disk without links of an API path; the file need not exist.

    A part that cannot be resolved is joined as it is.
    """
    joined = os.path.join(top, path)
    is_final = is_unsafe(path) or not _may_resolve(joined, top) or not _may_have_links(top, path)
    return joined if is_final else follow_links(joined)


def get_root_folder(manager: Any) -> str | None:
    """Return the root directory of a manager without links; None if it has no directory."""
    return _resolve_root(str(manager.root_dir)) if is_rooted(manager) else None


@lru_cache
def _resolve_root(root: str) -> str:
    """Return the path of a root without links, which stays the same while the server runs."""
    return os.path.realpath(root)


def _may_have_links(top: str, path: str) -> bool:
    """Return whether a component of a path below a directory may be a link."""
    os_path = top.rstrip(os.sep)
    if os.name == "nt" or len(path) > _MAX_PATH_LENGTH:
        return True
    for name in path.split("/"):
        os_path = f"{os_path}/{name}"
        if os.path.islink(os_path):
            return True
    return False


def _may_resolve(path: str, top: str) -> bool:
    """Return whether the links of a path may be followed."""
    # On Windows, resolving a path on a share would send the server's credentials there.
    drives = [os.path.normcase(os.path.splitdrive(one)[0]) for one in (path, top)]
    return len(path) <= _MAX_PATH_LENGTH and "\0" not in path and drives[0] == drives[1]


def _get_relative(top: str, path_in_top: str) -> str | None:
    """Return the path relative to the top directory; None if it is not below it."""
    path = os.path.join(top, path_in_top)
    if not _may_resolve(path, top):
        return None
    try:
        relative_path = PurePath(follow_links(path)).relative_to(top).as_posix()
    except ValueError:
        return None
    return "" if relative_path == os.curdir else relative_path
