"""How a contents manager stores a notebook: plain file, text, hooked or Jupytext pair."""

from __future__ import annotations

from enum import Enum
from typing import Any

from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from jupyter_server.services.contents.manager import ContentsManager

from jupyter_nbedit.errors import NotAPlainFile, NotebookNotFound
from jupyter_nbedit.storage.contents.errors import map_contents_errors
from jupyter_nbedit.storage.contents.file import ContentsFile, get_drives
from jupyter_nbedit.storage.contents.jupytext import JUPYTEXT, OVERRIDDEN, get_known_pairs, is_pair
from jupyter_nbedit.storage.contents.locks import is_defined_in, is_stock
from jupyter_nbedit.storage.locks import PathLocks

# What must be the server's own for a notebook's file to be the notebook.
_STOCK_METHODS = (
    "_base_model",
    "_file_model",
    "_get_os_path",
    "_notebook_model",
    "_read_file",
    "_read_notebook",
    "_save_file",
    "_save_notebook",
    "atomic_writing",
    "check_and_sign",
    "delete_file",
    "dir_exists",
    "exists",
    "file_exists",
    "get",
    "is_hidden",
    "mark_trusted_cells",
    "open",
    "rename_file",
    "restore_checkpoint",
    "run_post_save_hooks",
    "run_pre_save_hooks",
    "save",
)


class StorageKind(Enum):
    """How a manager keeps a notebook."""

    #: In a plain file of its own, which may be replaced.
    FILE = "file"
    #: As a text, which the manager gives and takes.
    TEXT = "text"
    #: As what hooks make of it before it is saved.
    HOOKED = "hooked"
    #: Twice, as Jupytext does.
    PAIR = "pair"


async def detect_kind(manager: Any, locks: PathLocks, path: str) -> StorageKind:
    """Return in which way a manager keeps a notebook now, or would.

    Raises
    ------
    NotAPlainFile
        If it is no contents manager.
    NotebookNotFound
        If the path is none that may be seen, as far as it was looked at.
    """
    if not isinstance(manager, ContentsManager):
        message = (
            f"This server keeps its notebooks with {type(manager).__name__}, which is no contents "
            "manager of Jupyter Server; nothing was written."
        )
        raise NotAPlainFile(message)
    if get_known_pairs(manager) is not None:
        await ContentsFile(manager, locks, path, NotebookNotFound).check_visible()
        # Jupytext stumbles over metadata that it did not write.
        with map_contents_errors(NotebookNotFound):
            if await is_pair(manager, path):
                return StorageKind.PAIR
    if _has_pre_save_hook(manager):
        return StorageKind.HOOKED
    return StorageKind.FILE if has_plain_files(manager) else StorageKind.TEXT


def list_kinds(manager: Any) -> list[str]:
    """List the ways in which a manager keeps notebooks now, as ``applied_via`` names them."""
    if not isinstance(manager, ContentsManager):
        return []
    if _has_pre_save_hook(manager):
        return ["notebook"]
    pairs = [] if get_known_pairs(manager) is None else ["notebook"]
    return ["file" if has_plain_files(manager) else "contents", *pairs]


def has_plain_files(manager: object) -> bool:
    """Return whether a manager keeps notebooks that are no pairs as the stock manager does."""
    return isinstance(manager, AsyncFileContentsManager) and all(
        is_stock(manager, name) or (name in OVERRIDDEN and is_defined_in(JUPYTEXT, manager, name))
        for name in _STOCK_METHODS
    )


def _has_pre_save_hook(manager: Any) -> bool:
    """Return whether others may change or refuse what is saved."""
    if manager.pre_save_hook is not None or manager._pre_save_hooks:  # noqa: SLF001 -- no other way
        return True
    return any(map(_has_pre_save_hook, get_drives(manager).values()))
