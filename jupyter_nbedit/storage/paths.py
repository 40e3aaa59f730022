"""From API paths to paths of the file system, never wider than the Contents API."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from tornado.web import HTTPError

from jupyter_nbedit.errors import InvalidRequest, NotebookNotFound

if TYPE_CHECKING:
    from jupyter_server.services.contents.filemanager import AsyncFileContentsManager

SUFFIX = ".ipynb"
_ATTEMPTS = 20
_DOT_SEGMENTS = frozenset(("", ".", ".."))


async def to_os_path(manager: AsyncFileContentsManager, path: str) -> str:
    """Map a notebook's API path to where it is on disk, links not followed.

    Raises
    ------
    InvalidRequest
        If the path does not end in ``.ipynb``.
    NotebookNotFound
        If it is hidden or outside the root. Such paths are refused, not normalised: what a spelling
        means must not depend on who reads it.
    """
    check_suffix(path)
    return await to_os_path_below_root(manager, path)


def check_suffix(path: str) -> None:
    """Refuse what is no path of a notebook.

    Raises
    ------
    InvalidRequest
    """
    if not path.endswith(SUFFIX):
        message = f"Expected the path of a notebook, which ends in {SUFFIX}; found {path[-200:]!r}."
        raise InvalidRequest(message)


def is_unsafe(path: str) -> bool:
    """Return whether a path is spelled as nothing of ours is, and may lead anywhere."""
    return "\0" in path or not _DOT_SEGMENTS.isdisjoint(path.split("/"))


async def to_os_path_below_root(manager: AsyncFileContentsManager, path: str) -> str:
    """Map the API path of anything but the root to where it is on disk, links not followed.

    Raises
    ------
    NotebookNotFound
        If it is hidden or outside the root, or spelled as nothing of ours is.
    """
    if is_unsafe(path):
        raise NotebookNotFound
    try:
        found: str = manager._get_os_path(path)  # noqa: SLF001 -- the only way from API path to disk
    except HTTPError:
        raise NotebookNotFound from None
    try:
        hidden = not manager.allow_hidden and await manager.is_hidden(path)
    except (HTTPError, OSError):
        # A component that is no directory, or one we may not look into.
        raise NotebookNotFound from None
    if hidden:
        raise NotebookNotFound
    return found


def follow_links(os_path: str, *, strict: bool = False) -> str:
    """Follow the links of a path, though others may exchange them for files meanwhile.

    Parameters
    ----------
    os_path
        The path.
    strict
        Whether something must be there.

    Raises
    ------
    OSError
        If something must be there and is not.
    """
    attempts = _ATTEMPTS
    while True:
        try:
            return os.path.realpath(os_path, strict=strict)
        except OSError as error:
            attempts -= 1
            # EINVAL says that what was a link a moment ago is none to be read.
            if error.errno != errno.EINVAL or attempts == 0:
                raise


def resolve(os_path: str, top: str | None) -> str:
    """Follow the links of a path to something that exists.

    Parameters
    ----------
    os_path
        The path.
    top
        The folder, by its path without links, that what is there must be in; None for anywhere.

    Raises
    ------
    OSError
        If nothing is there.
    NotebookNotFound
        If it is not in the folder.
    """
    real = follow_links(os_path, strict=True)
    _check_below(real, top)
    return real


def resolve_new(os_path: str, top: str | None) -> str:
    """Follow the links of a path to something that need not exist, in a folder that does.

    Raises
    ------
    OSError
        If there is no such folder.
    NotebookNotFound
        If it, or what a link of that name leads to, is not in the folder ``top``.
    """
    folder, name = os.path.split(os_path)
    found = os.path.join(resolve(folder, top), name)
    if top is not None:
        _check_below(follow_links(found), top)
    return found


def _check_below(real: str, top: str | None) -> None:
    if top is not None and not f"{real}{os.sep}".startswith(f"{top.rstrip(os.sep)}{os.sep}"):
        raise NotebookNotFound
