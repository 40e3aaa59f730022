"""From API paths to paths of the file system, never wider than the Contents API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tornado.web import HTTPError

from jupyter_nbedit.errors import InvalidRequest, NotebookNotFound

if TYPE_CHECKING:
    from jupyter_server.services.contents.filemanager import AsyncFileContentsManager

SUFFIX = ".ipynb"
_NOWHERE = frozenset(("", ".", ".."))


async def os_path(manager: AsyncFileContentsManager, path: str) -> str:
    """Map a notebook's API path to where it is on disk, links not followed.

    Raises
    ------
    InvalidRequest
        If the path does not end in ``.ipynb``.
    NotebookNotFound
        If it is hidden or outside the root. Such paths are refused, not normalised: what a spelling
        means must not depend on who reads it.
    """
    if not path.endswith(SUFFIX):
        message = f"Expected the path of a notebook, which ends in {SUFFIX}; found {path[-200:]!r}."
        raise InvalidRequest(message)
    return await visible(manager, path)


async def visible(manager: AsyncFileContentsManager, path: str) -> str:
    """Map the API path of anything but the root to where it is on disk, links not followed.

    Raises
    ------
    NotebookNotFound
        If it is hidden or outside the root, or spelled as nothing of ours is.
    """
    if "\0" in path or not _NOWHERE.isdisjoint(path.split("/")):
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
