"""Notebooks that Jupytext stores twice: as ``.ipynb`` with outputs, and as text without them.

When the server starts, Jupytext derives a class from the class of the contents manager and replaces
the manager by an instance of it. Only Jupytext knows which notebooks are paired: this is in their
metadata or in a configuration file. The manager is asked; Jupytext is never imported.
"""

from collections.abc import Mapping
from typing import Any

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

#: The prefix of modules with Jupytext's classes.
JUPYTEXT = "jupytext."
#: The methods that Jupytext overrides; for unpaired files they behave as before.
OVERRIDDEN = frozenset(("get", "rename_file", "save"))


def get_known_pairs(manager: object) -> Mapping[str, Any] | None:
    """Return the pairs that a manager knows, by both paths; None if it does not support pairs."""
    pairs = getattr(manager, "paired_notebooks", None)
    return pairs if isinstance(pairs, Mapping) else None


async def is_pair(manager: Any, path: str) -> bool:
    """Return whether a notebook is one half of a pair, or would be if it were created."""
    pairs = get_known_pairs(manager)
    if pairs is None:
        return False
    if not await ensure_async(manager.file_exists(path)):
        return await _would_be_pair(manager, path)
    # Reading fails for a pair whose halves conflict; a path that is not a notebook may be an
    # outdated entry.
    try:
        # Jupytext looks at the metadata only when it reads a whole notebook.
        await ensure_async(manager.get(path, content=True, type="notebook"))
    except HTTPError:
        # The configuration may be unreadable, which says nothing about pairs.
        return path in pairs or await _would_be_pair(manager, path)
    return path in pairs


async def _would_be_pair(manager: Any, path: str) -> bool:
    try:
        return bool(await _get_formats(manager, path))
    except HTTPError:
        # The configuration cannot be read. Saving through Jupytext reports that.
        return True


def is_saved_as_sent(manager: object, path: str, model: Mapping[str, Any]) -> bool:
    """Return whether a manager has saved a notebook in one file, with all that the model has."""
    pairs = get_known_pairs(manager)
    if pairs is None:
        return True
    content = model.get("content")
    metadata = content.get("metadata") if isinstance(content, dict) else None
    # Jupytext does not write all of its own metadata.
    is_plain = isinstance(metadata, dict) and "jupytext" not in metadata
    return is_plain and path.strip("/") not in pairs


async def list_paired_paths(manager: Any, path: str) -> list[str]:
    """Return the other halves that a notebook would get if it were created."""
    pairs = get_known_pairs(manager)
    formats = await _get_formats(manager, path)
    if pairs is None or not formats:
        return []
    previous_pairs = dict(pairs)
    manager.update_paired_notebooks(path, formats)
    return [
        name
        for name, pair in pairs.items()
        if pair is not previous_pairs.get(name) and name != path
    ]


async def _get_formats(manager: Any, path: str) -> Any:
    """Return the configured formats of a notebook, or None."""
    config = await ensure_async(manager.get_config(path))
    return config.default_formats(path)
