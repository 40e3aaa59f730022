"""Map the path that an agent uses, absolute or relative to the root, to an API path."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from jupyter_core.paths import is_hidden

from jupyter_nbedit.errors import InvalidRequest, NotAPlainFile
from jupyter_nbedit.storage.contents.manager_locks import is_rooted
from jupyter_nbedit.storage.paths import follow_links, is_unsafe

_MAX_SHOWN_CHARACTERS = 200
# No file has a longer path; resolving one would visit each of its directories.
_MAX_PATH_LENGTH = 32_768
# The traits that identify a root without a directory: of Jupyter, s3contents and similar managers.
_LOCATION_TRAITS = ("root_dir", "endpoint_url", "bucket", "prefix")


def to_api_path(manager: Any, path: str, *, allow_relative: bool) -> str | None:
    """Return the API path of a file, with links resolved, so that no spelling leaves the root.

    The file need not exist; the path is None if it is outside the root. Raise `InvalidRequest` if
    `path` is relative and may not be, and `NotAPlainFile` if it is absolute and the manager does
    not store its files in a directory.
    """
    absolute = os.path.isabs(path)
    root = _get_root(manager)
    if not absolute and not allow_relative:
        message = (
            f"Expected an absolute path, below the folder that this server serves; found "
            f"{path[:_MAX_SHOWN_CHARACTERS]!r}."
        )
        raise InvalidRequest(message)
    if root is None:
        if not absolute:
            return None if is_unsafe(path) else path
        message = (
            f"This server stores its files with {type(manager).__name__}, which has no folder in "
            "a file system, so absolute paths cannot be used. Use a tool that takes relative "
            "paths, or /nbedit/notebooks."
        )
        raise NotAPlainFile(message)
    top = _resolve_root(root)
    if not absolute and not is_unsafe(path) and not _may_have_links(top, path):
        return path
    return _get_relative(top, path)


def resolve_in_root(top: str, path: str) -> str:
    """Return the path on disk without links of an API path; the file need not exist.

    A part that cannot be resolved is joined as it is.
    """
    joined = os.path.join(top, path)
    if is_unsafe(path) or len(joined) > _MAX_PATH_LENGTH or "\0" in joined:
        return joined
    if not _may_have_links(top, path):
        return joined
    # On Windows, resolving a path on a share would send the server's credentials there.
    drives = [os.path.normcase(os.path.splitdrive(one)[0]) for one in (joined, top)]
    return follow_links(joined) if drives[0] == drives[1] else joined


def get_root_folder(manager: Any) -> str | None:
    """Return the root directory of a manager without links; None if it has no directory."""
    root = _get_root(manager)
    return None if root is None else _resolve_root(root)


def _get_root(manager: Any) -> str | None:
    """Return the directory in which a manager stores its files; None if there is none."""
    return str(manager.root_dir) if is_rooted(manager) else None


@lru_cache
def _resolve_root(root: str) -> str:
    """Return the path of a root without links, which stays the same while the server runs."""
    return os.path.realpath(root)


def get_root_name(manager: Any) -> str:
    """Return a name of the root of API paths, which differs from the names of other servers' roots.

    It is the path of the root directory without links; for a manager without one, its class and the
    traits that locate its files.
    """
    root = _get_root(manager)
    if root is not None:
        return _resolve_root(root)
    kind = type(manager)
    location = {name: str(getattr(manager, name, "")) for name in _LOCATION_TRAITS}
    return f"{kind.__module__}.{kind.__qualname__} {json.dumps(location)}"


def is_served(manager: Any, folder: str) -> bool:
    """Return whether the Contents API shows a directory of the file system."""
    root = _get_root(manager)
    if root is None:
        return False
    top, real = _resolve_root(root), os.path.realpath(folder)
    if not f"{real}{os.sep}".startswith(f"{top.rstrip(os.sep)}{os.sep}"):
        return False
    return manager.allow_hidden or not is_hidden(real, top)


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


def _get_relative(top: str, path_in_top: str) -> str | None:
    """Return the path relative to the top directory; None if it is not below it."""
    path = os.path.join(top, path_in_top)
    if len(path) > _MAX_PATH_LENGTH or "\0" in path:
        return None
    # On Windows, resolving a path on a share would send the server's credentials there.
    drives = [os.path.normcase(os.path.splitdrive(one)[0]) for one in (path, top)]
    if drives[0] != drives[1]:
        return None
    try:
        relative_path = PurePath(follow_links(path)).relative_to(top).as_posix()
    except ValueError:
        return None
    return "" if relative_path == os.curdir else relative_path
