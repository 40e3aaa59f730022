"""Notebooks that Jupytext keeps twice: as ``.ipynb`` with the outputs, and as a text of the cells.

Jupytext derives a class from the contents manager there is and puts an instance of it in its place
while the server starts. Which notebooks are pairs is said in their metadata or in a configuration
file, and only Jupytext knows; it is asked, and never imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

#: Where Jupytext's classes are written.
JUPYTEXT = "jupytext."
#: The methods that Jupytext overrides, and that do for what is no pair what they always did.
OVERRIDDEN = frozenset(("get", "rename_file", "save"))


def get_known_pairs(manager: object) -> Mapping[str, Any] | None:
    """Return the pairs that a manager knows so far, by the paths of both halves.

    Returns
    -------
    None if the manager knows of no such thing.
    """
    known = getattr(manager, "paired_notebooks", None)
    return known if isinstance(known, Mapping) else None


async def is_pair(manager: Any, path: str) -> bool:
    """Return whether a notebook is one of a pair, or would be if it were created."""
    known = get_known_pairs(manager)
    if known is None:
        return False
    if not await ensure_async(manager.file_exists(path)):
        return await _would_be_pair(manager, path)
    # A pair whose halves disagree is one; what is no notebook can only be an old entry.
    try:
        # Only when it reads a notebook whole does Jupytext see what its metadata say.
        await ensure_async(manager.get(path, content=True, type="notebook"))
    except HTTPError:
        # It may have failed at the configuration, which then says nothing of pairs.
        return path in known or await _would_be_pair(manager, path)
    return path in known


async def _would_be_pair(manager: Any, path: str) -> bool:
    try:
        return bool(await _get_formats(manager, path))
    except HTTPError:
        # The configuration cannot be read. Saving through Jupytext will say so.
        return True


async def list_paired_paths(manager: Any, path: str) -> list[str]:
    """Name the other halves that a notebook would get if it were created."""
    known = get_known_pairs(manager)
    formats = await _get_formats(manager, path)
    if known is None or not formats:
        return []
    before = dict(known)
    manager.update_paired_notebooks(path, formats)
    return [name for name, one in known.items() if one is not before.get(name) and name != path]


async def _get_formats(manager: Any, path: str) -> Any:
    """Return the formats that the configuration says for a notebook; None if it says nothing."""
    config = await ensure_async(manager.get_config(path))
    return config.default_formats(path)
