"""Which storage serves a contents manager, decided for each request.

The manager is looked at when it is needed and never before: extensions replace it while the server
starts (Jupytext does), and hooks are registered at any time.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from tornado.web import HTTPError

from jupyter_nbedit.errors import Busy, NotAPlainFile
from jupyter_nbedit.storage.files import FileStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_nbedit.storage import Storage
    from jupyter_nbedit.storage.locks import PathLocks

_STOCK = "jupyter_server.services.contents."
# What must be the server's own for a notebook's file to be the notebook.
_DECISIVE = (
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
_LOCKED = ("save", "rename_file", "delete_file", "restore_checkpoint")
_PATHS = frozenset(("path", "old_path", "new_path"))
#: What a save by an open tab may carry in its model, beside what the Contents API has: the hash of
#: the version that it is meant to replace.
EXPECTED_HASH = "nbedit_expected_hash"
_COLLABORATION = ("jupyter_server_ydoc", "yroom_manager")


def storage_for(manager: Any, settings: Mapping[str, Any], locks: PathLocks) -> Storage:
    """Choose the storage for the notebooks of a contents manager as it is now.

    Raises
    ------
    NotAPlainFile
        If the manager does not keep each notebook in a plain file of its own, or others decide what
        is written to it.
    """
    obstacle = _obstacle(manager, settings)
    if obstacle is not None:
        message = (
            f"{obstacle} Notebooks can only be edited where the stock file manager keeps each in a "
            "plain file of its own; nothing was written."
        )
        raise NotAPlainFile(message)
    _guard(manager, locks)
    return FileStorage(manager, locks)


def _obstacle(manager: Any, settings: Mapping[str, Any]) -> str | None:
    kind = type(manager)
    if not isinstance(manager, AsyncFileContentsManager):
        return f"This server keeps its notebooks with {kind.__name__}."
    for name in _DECISIVE:
        if not is_stock(manager, name):
            return f"{kind.__name__}, which keeps this server's notebooks, has its own `{name}`."
    if manager.pre_save_hook is not None or manager._pre_save_hooks:  # noqa: SLF001 -- no other way
        return "A pre-save hook of this server may change or refuse what is saved."
    if any(settings.get(name) is not None for name in _COLLABORATION):
        return "Real-time collaboration is installed, and its rooms own the notebooks they hold."
    return None


def save_of_holder(manager: Any, locks: PathLocks) -> Callable[..., Any] | None:
    """Give the manager's save for who holds the lock of the path; it heeds `EXPECTED_HASH`.

    Returns
    -------
    None if the manager has a save of its own, which knows of no locks and no hashes.
    """
    stock = isinstance(manager, AsyncFileContentsManager)
    if not stock or not all(is_stock(manager, name) for name in _LOCKED):
        return None
    _guard(manager, locks)
    save: _Guarded = vars(manager)["save"]
    return save.by_holder


def is_stock(manager: object, name: str) -> bool:
    """Tell whether a method is the server's own, by where it is defined and where written."""
    if name in vars(manager):
        return isinstance(vars(manager)[name], _Guarded)
    owner = next(kind for kind in type(manager).__mro__ if name in vars(kind))
    # functools.wraps copies a function's module, a class's is its own.
    modules = (owner.__module__, getattr(vars(owner)[name], "__module__", None) or "")
    return all(module.startswith(_STOCK) for module in modules)


def _guard(manager: AsyncFileContentsManager, locks: PathLocks) -> None:
    """Make the manager's own writes wait for ours, and ours for them.

    The manager writes in place: a file renamed over its target in the middle of a save would send
    the rest of that save to a file without a name.
    """
    for name in _LOCKED:
        if name not in vars(manager):
            setattr(manager, name, _Guarded(manager, getattr(manager, name), locks))


def _hash_of(file: Path, algorithm: str) -> str:
    return hashlib.new(algorithm, file.read_bytes()).hexdigest()


class _Guarded:
    """A method of the contents manager that holds the locks of the paths it is given."""

    def __init__(
        self, manager: AsyncFileContentsManager, method: Callable[..., Any], locks: PathLocks
    ) -> None:
        self._manager = manager
        self._method = method
        self._locks = locks
        self._signature = inspect.signature(method)

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self._signature.bind(*args, **kwargs).arguments
        paths = {str(path) for name, path in given.items() if name in _PATHS}
        os_paths = [found for path in paths if (found := self._os_path(path)) is not None]
        async with AsyncExitStack() as held:
            try:
                await held.enter_async_context(self._locks.hold(*os_paths))
            except Busy as busy:
                # Who calls knows the server's errors, not ours.
                raise HTTPError(503, busy.message) from busy
            return await self.by_holder(*args, **kwargs)

    async def by_holder(self, *args: Any, **kwargs: Any) -> Any:
        """Do it for who holds the locks."""
        given = self._signature.bind(*args, **kwargs).arguments
        if isinstance(model := given.get("model"), dict):
            expected = model.pop(EXPECTED_HASH, None)
            if (os_path := self._os_path(str(given.get("path", "")))) is not None:
                await self._check_expected(expected, os_path)
        return await self._method(*args, **kwargs)

    async def _check_expected(self, expected: object, os_path: str) -> None:
        """Refuse a save that was made for another version than the one there is.

        JupyterLab looks at the file's hash before it saves, but an edit may come between its look
        and its save. A tab of ours says with the save which version it has merged.
        """
        if expected is None:
            return
        try:
            current = await asyncio.to_thread(_hash_of, Path(os_path), self._manager.hash_algorithm)
        except OSError:
            # Whether it is gone or not to be read, the manager's own save says so.
            return
        if current != expected:
            message = "The file has changed since it was merged; merge it again and save then."
            raise HTTPError(409, message)

    def _os_path(self, path: str) -> str | None:
        try:
            os_path: str = self._manager._get_os_path(path.strip("/"))  # noqa: SLF001 -- no other way
        except HTTPError:
            # The manager refuses the path itself, in its own words.
            return None
        return os_path
