"""From what an agent calls a path, on the file system or below the root, to an API path."""

from __future__ import annotations

import json
import os
from typing import Any

from jupyter_core.paths import is_hidden

from jupyter_nbedit.errors import InvalidRequest, NotAPlainFile
from jupyter_nbedit.storage.contents.locks import is_rooted
from jupyter_nbedit.storage.paths import follow_links, is_unsafe

_SHOWN = 200
# Longer ones are no file's, and each of their folders would be looked at.
_LONGEST = 32_768
# What tells one root from another where there is no folder: of Jupyter, s3contents and the like.
_WHERE = ("root_dir", "endpoint_url", "bucket", "prefix")


def to_api_path(manager: Any, given: str, *, relative: bool) -> str | None:
    """Map a path, links followed, so that it cannot leave the root by any spelling.

    Parameters
    ----------
    manager
        The contents manager.
    given
        An absolute path of the server's file system, or one relative to the root.
    relative
        Whether the latter is allowed.

    Returns
    -------
    The API path of what may exist or not, or None if that is outside the root.

    Raises
    ------
    InvalidRequest
        If the path is relative and may not be.
    NotAPlainFile
        If it is absolute and the manager keeps its files in no folder.
    """
    absolute = os.path.isabs(given)
    root = _get_root(manager)
    if not absolute and not relative:
        message = (
            f"Expected an absolute path, below the folder that this server serves; found "
            f"{given[:_SHOWN]!r}."
        )
        raise InvalidRequest(message)
    if root is None:
        if not absolute:
            return None if is_unsafe(given) else given
        message = (
            f"This server keeps its files with {type(manager).__name__}, in no folder of a file "
            "system, so an absolute path means nothing to it. Use a tool that takes relative "
            "paths, or /nbedit/notebooks."
        )
        raise NotAPlainFile(message)
    return _get_relative(os.path.realpath(root), given)


def _get_root(manager: Any) -> str | None:
    """Return the folder in which a manager keeps its files; None if there is no such folder."""
    return str(manager.root_dir) if is_rooted(manager) else None


def get_root_name(manager: Any) -> str:
    """Name what API paths are relative to, so that it can be told from the roots of other servers.

    Parameters
    ----------
    manager
        The contents manager.

    Returns
    -------
    The path of the root folder without links; if the manager has none, its class and where it
    says that it keeps its files.
    """
    root = _get_root(manager)
    if root is not None:
        return os.path.realpath(root)
    kind = type(manager)
    where = {name: str(getattr(manager, name, "")) for name in _WHERE}
    return f"{kind.__module__}.{kind.__qualname__} {json.dumps(where)}"


def is_served(manager: Any, folder: str) -> bool:
    """Return whether the Contents API would show a folder of the file system."""
    root = _get_root(manager)
    if root is None:
        return False
    top, real = os.path.realpath(root), os.path.realpath(folder)
    if not f"{real}{os.sep}".startswith(f"{top.rstrip(os.sep)}{os.sep}"):
        return False
    return manager.allow_hidden or not is_hidden(real, top)


def _get_relative(top: str, given: str) -> str | None:
    """Return the path relative to the top; None if it is not below it."""
    path = os.path.join(top, given)
    if len(path) > _LONGEST or "\0" in path:
        return None
    # On Windows, only to look at a share would send the server's credentials there.
    if os.path.splitdrive(path)[0].lower() != os.path.splitdrive(top)[0].lower():
        return None
    real = follow_links(path)
    prefix = f"{top.rstrip(os.sep)}{os.sep}"
    if real.startswith(prefix):
        return real[len(prefix) :].replace(os.sep, "/")
    if os.path.commonpath([top, real]) != top:
        return None
    found = os.path.relpath(real, top)
    return "" if found == os.curdir else found.replace(os.sep, "/")
