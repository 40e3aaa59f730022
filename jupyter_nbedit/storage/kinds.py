"""How a contents manager stores a notebook: plain file, text, hooked or Jupytext pair."""

from __future__ import annotations

from enum import Enum
from typing import Any

from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from jupyter_server.services.contents.manager import ContentsManager

from jupyter_nbedit.errors import NotAPlainFile
from jupyter_nbedit.storage.contents.contents_storage import check_visible, get_drives
from jupyter_nbedit.storage.contents.errors import map_contents_errors
from jupyter_nbedit.storage.contents.jupytext import get_known_pairs, is_pair
from jupyter_nbedit.storage.contents.manager_locks import has_stock_methods

# Methods that must be Jupyter Server's own if the notebook is exactly its file.
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
    """How a contents manager stores a notebook."""

    #: In a plain file, which may be replaced.
    FILE = "file"
    #: As text that the manager reads and writes.
    TEXT = "text"
    #: As a notebook that hooks may change before it is saved.
    WITH_HOOKS = "hooked"
    #: As a Jupytext pair, in two files.
    PAIR = "pair"


def check_manager(manager: object) -> None:
    """Raise `NotAPlainFile` if an object is not a contents manager."""
    if not isinstance(manager, ContentsManager):
        message = (
            f"This server keeps its notebooks with {type(manager).__name__}, which is no contents "
            "manager of Jupyter Server; nothing was written."
        )
        raise NotAPlainFile(message)


async def detect_kind(manager: Any, path: str) -> StorageKind:
    """Return how a manager stores a notebook now, or would store a new one.

    Raise `NotAPlainFile` if it is not a contents manager, and `NotebookNotFound` if the path may
    not be seen, as far as this was checked.
    """
    check_manager(manager)
    if get_known_pairs(manager) is not None:
        await check_visible(manager, path)
        # Jupytext may fail on metadata that it did not write.
        with map_contents_errors():
            if await is_pair(manager, path):
                return StorageKind.PAIR
    if _has_pre_save_hook(manager):
        return StorageKind.WITH_HOOKS
    return StorageKind.FILE if has_plain_files(manager) else StorageKind.TEXT


def list_kinds(manager: Any) -> list[str]:
    """Return the storages that a manager uses now, as in ``applied_via``."""
    if not isinstance(manager, ContentsManager):
        return []
    if _has_pre_save_hook(manager):
        return ["notebook"]
    pairs = [] if get_known_pairs(manager) is None else ["notebook"]
    return ["file" if has_plain_files(manager) else "contents", *pairs]


def has_plain_files(manager: object) -> bool:
    """Return whether a manager stores unpaired notebooks like the stock manager."""
    return isinstance(manager, AsyncFileContentsManager) and has_stock_methods(
        manager, *_STOCK_METHODS
    )


def _has_pre_save_hook(manager: Any) -> bool:
    """Return whether a hook may change or refuse what is saved."""
    if manager.pre_save_hook is not None or manager._pre_save_hooks:  # noqa: SLF001 -- no other way
        return True
    return any(map(_has_pre_save_hook, get_drives(manager).values()))
