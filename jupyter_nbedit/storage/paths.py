"""Map API paths to paths of the file system; nothing that the Contents API hides is accessible."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from jupyter_core.paths import is_hidden
from tornado.web import HTTPError

from jupyter_nbedit.errors import InvalidRequest, NotebookNotFound

if TYPE_CHECKING:
    from jupyter_server.services.contents.filemanager import AsyncFileContentsManager

SUFFIX = ".ipynb"
_ATTEMPTS = 20
_DOT_SEGMENTS = frozenset(("", ".", ".."))


def check_suffix(path: str) -> None:
    """Raise `InvalidRequest` if a path does not end in ``.ipynb``."""
    if not path.endswith(SUFFIX):
        message = f"Expected the path of a notebook, which ends in {SUFFIX}; found {path[-200:]!r}."
        raise InvalidRequest(message)


def is_unsafe(path: str) -> bool:
    """Return whether a path contains empty, ``.`` or ``..`` components, or a null character."""
    return "\0" in path or not _DOT_SEGMENTS.isdisjoint(path.split("/"))


async def map_to_os_path(manager: AsyncFileContentsManager, path: str) -> str:
    """Return the path on disk of an API path other than the root; links are not resolved.

    Raise `NotebookNotFound` if it is hidden, outside the root or `is_unsafe`: such paths are not
    normalized, because programs normalize differently.
    """
    os_path = _build_os_path(manager, path)
    try:
        hidden = not manager.allow_hidden and await manager.is_hidden(path)
    except (HTTPError, OSError):
        # A component that is not a directory, or not accessible.
        raise NotebookNotFound from None
    if hidden:
        raise NotebookNotFound
    return os_path


def map_to_visible_path(manager: AsyncFileContentsManager, path: str) -> str:
    """Return what `map_to_os_path` returns, in any thread, for a manager with stock methods."""
    os_path = _build_os_path(manager, path)
    with suppress(OSError):
        if manager.allow_hidden or not is_hidden(os_path, manager.root_dir):
            return os_path
    raise NotebookNotFound


def _build_os_path(manager: AsyncFileContentsManager, path: str) -> str:
    if is_unsafe(path):
        raise NotebookNotFound
    try:
        return str(manager._get_os_path(path))  # noqa: SLF001 -- the only way from API path to disk
    except HTTPError:
        raise NotebookNotFound from None


def follow_links(os_path: str, *, strict: bool = False) -> str:
    """Resolve the links of a path, although other programs may replace them by files meanwhile."""
    attempts = _ATTEMPTS
    while True:
        try:
            return os.path.realpath(os_path, strict=strict)
        except OSError as error:
            attempts -= 1
            # EINVAL: the path was a link a moment ago and is not any more.
            if error.errno != errno.EINVAL or attempts == 0:
                raise


def resolve_path(os_path: str, top: str | None) -> str:
    """Resolve the links of a path that exists.

    Raise `NotebookNotFound` if the result is not in the directory `top`, if one is given.
    """
    real = follow_links(os_path, strict=True)
    check_below(real, top)
    return real


def resolve_new_path(os_path: str, top: str | None) -> str:
    """Resolve the links of a path that need not exist, in a directory that must exist.

    Raise `NotebookNotFound` if the path, or the target of a link at it, is not in the directory
    `top`.
    """
    folder, name = os.path.split(os_path)
    real = os.path.join(resolve_path(folder, top), name)
    if top is not None:
        check_below(follow_links(real), top)
    return real


def check_below(real: str, top: str | None) -> None:
    """Raise `NotebookNotFound` if a path without links is not in a directory, if one is given."""
    if top is not None and not is_below(real, top):
        raise NotebookNotFound


def is_below(real: str, top: str) -> bool:
    """Return whether a path without links is a directory, or in it."""
    return f"{real}{os.sep}".startswith(f"{top.rstrip(os.sep)}{os.sep}")
