"""The contents manager's own writes wait for ours, and ours for them.

The stock manager writes in place: a file renamed over its target in the middle of a save would send
the rest of that save to a file without a name. Who reads a notebook in the middle of a save takes
it for broken, and the manager puts another file in its place. Jupytext writes two files for one
notebook.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from jupyter_server.services.contents.filemanager import FileContentsManager
from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit.errors import Busy
from jupyter_nbedit.storage.contents.jupytext import get_known_pairs
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import SUFFIX

_STOCK = "jupyter_server.services.contents."
# What decides where a manager looks for a file. Some inherit a root folder that means nothing.
_ROOTED = ("_get_os_path", "dir_exists", "file_exists")
# The methods that write, or may, and what they are given, in order.
_LOCKED = {
    "get": ("path", "content", "type"),
    "save": ("model", "path"),
    "rename_file": ("old_path", "new_path"),
    "delete_file": ("path",),
    "restore_checkpoint": ("checkpoint_id", "path"),
}
# What was found out about the methods of managers, as each of them was then.
_JUDGED: WeakKeyDictionary[type, dict[tuple[str, str], tuple[object, bool]]] = WeakKeyDictionary()
_PATHS = frozenset(("path", "old_path", "new_path"))
#: What a save by an open tab may carry in its model, beside what the Contents API has: the hash of
#: the version that it is meant to replace.
EXPECTED_HASH = "nbedit_expected_hash"


def is_stock(manager: object, name: str) -> bool:
    """Return whether a method is the server's own, by where it is defined and where written."""
    return is_defined_in(_STOCK, manager, name)


def is_defined_in(package: str, manager: object, name: str) -> bool:
    """Return whether a method is of some package, by where it is defined and where written."""
    if name in vars(manager) and _find_locked_method(vars(manager)[name]) is None:
        return False
    # What is put in a method's place later is another object.
    kind = type(manager)
    method, judged = getattr(kind, name, None), _JUDGED.setdefault(kind, {})
    known = judged.get((package, name))
    if known is None or known[0] is not method:
        known = judged[package, name] = method, _is_defined_in(package, kind, name)
    return known[1]


def _is_defined_in(package: str, kind: type, name: str) -> bool:
    owner = next((one for one in kind.__mro__ if name in vars(one)), object)
    # functools.wraps copies a function's module, a class's is its own.
    modules = (owner.__module__, getattr(vars(owner).get(name), "__module__", None) or "")
    return all(module.startswith(package) for module in modules)


def is_rooted(manager: object) -> bool:
    """Return whether a manager keeps its files in a folder, and where it says that it does."""
    rooted = isinstance(manager, FileContentsManager)
    return rooted and all(is_stock(manager, name) for name in _ROOTED)


def lock_paths(manager: Any, locks: PathLocks, *paths: str) -> AbstractAsyncContextManager[None]:
    """Be the only one on this server to write what a manager keeps at some API paths.

    Raises
    ------
    Busy
        If another process holds one of them for too long.
    """
    kind = type(manager).__qualname__
    # The other half of a pair may have any name.
    names = [] if get_known_pairs(manager) is None else [f"pairs of {kind}"]
    if is_rooted(manager):
        found = [os_path for path in paths if (os_path := _get_os_path(manager, path)) is not None]
        return locks.lock(*found, names=names)
    # On a drive of its own, a slash after the colon makes no difference.
    names += [f"{kind} {path.strip('/').replace(':/', ':')}" for path in paths]
    return locks.lock(names=names)


def _get_os_path(manager: Any, path: str) -> str | None:
    try:
        found: str = manager._get_os_path(path.strip("/"))  # noqa: SLF001 -- no other way
    except HTTPError:
        # The manager refuses the path itself, in its own words.
        return None
    return found


def is_link(manager: Any, path: str) -> bool:
    """Return whether what a manager keeps at an API path is a link of a file system."""
    os_path = _get_os_path(manager, path) if is_rooted(manager) else None
    return os_path is not None and Path(os_path).is_symlink()


def install_locks(manager: Any, locks: PathLocks) -> None:
    """Make a manager's own writes hold the locks.

    Those that are not asynchronous cannot wait, and need not: nothing else runs meanwhile.
    """
    for name in _LOCKED:
        method = getattr(manager, name, None)
        if name not in vars(manager) and inspect.iscoroutinefunction(method):
            setattr(manager, name, _LockedMethod(manager, name, method, locks).function)


def _find_locked_method(method: object) -> _LockedMethod | None:
    """Return the guard that is all there is to a method; None if it has none, or does more."""
    found = getattr(method, "guarded", None)
    # functools.wraps copies attributes to what does more.
    return found if isinstance(found, _LockedMethod) and found.function is method else None


def is_asynchronous(manager: object) -> bool:
    """Return whether others have a turn while a manager saves."""
    return inspect.iscoroutinefunction(getattr(type(manager), "save", None))


def get_unlocked_save(manager: Any, locks: PathLocks) -> Callable[..., Any]:
    """Return the manager's save for who holds the lock of the path."""
    install_locks(manager, locks)
    guarded = _find_locked_method(manager.save)
    return manager.save if guarded is None else guarded.call_unlocked


class _LockedMethod:
    """A method of the contents manager that holds the locks of the paths it is given."""

    def __init__(
        self, manager: Any, name: str, method: Callable[..., Any], locks: PathLocks
    ) -> None:
        self._manager = manager
        self._name = name
        self._names = _LOCKED[name]
        self._method = method
        self._locks = locks
        self.function = self._install(method)

    def _install(self, method: Callable[..., Any]) -> Callable[..., Any]:
        # Others ask whether it is a coroutine function; jupyter_core's run_sync takes nothing else.
        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._call_locked(*args, **kwargs)

        call.guarded = self  # type: ignore[attr-defined]
        return call

    async def _call_locked(self, *args: Any, **kwargs: Any) -> Any:
        given = self._bind_arguments(args, kwargs)
        if self._name == "get" and (self._locks.is_holder or not self._may_recover(given)):
            # Who holds one thing must not wait for another; Jupytext reads one half for the other.
            return await self._call_with_inherited_locks(*args, **kwargs)
        paths = [str(path) for name, path in given.items() if name in _PATHS]
        async with AsyncExitStack() as held:
            try:
                await held.enter_async_context(lock_paths(self._manager, self._locks, *paths))
            except Busy as busy:
                # Who calls knows the server's errors, not ours.
                raise HTTPError(503, busy.message) from busy
            return await self.call_unlocked(*args, **kwargs)

    async def call_unlocked(self, *args: Any, **kwargs: Any) -> Any:
        """Do it for who holds the locks."""
        given = self._bind_arguments(args, kwargs)
        if isinstance(model := given.get("model"), dict):
            expected = model.pop(EXPECTED_HASH, None)
            if expected is not None:
                await self._check_expected(expected, str(given.get("path", "")))
        return await self._call_with_inherited_locks(*args, **kwargs)

    async def _call_with_inherited_locks(self, *args: Any, **kwargs: Any) -> Any:
        # A manager may do its work in several tasks, and wait for them.
        with self._locks.inherit():
            return await self._method(*args, **kwargs)

    def _bind_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**dict(zip(self._names, args, strict=False)), **kwargs}

    def _may_recover(self, given: dict[str, Any]) -> bool:
        """Return whether a `get` parses a notebook, and restores an older one if that fails."""
        whole = given.get("content", True) and given.get("type") in {None, "notebook"}
        # The other half of a pair is a notebook as well, by any name.
        named = (
            str(given.get("path", "")).endswith(SUFFIX)
            or get_known_pairs(self._manager) is not None
        )
        return bool(whole) and named

    async def _check_expected(self, expected: object, path: str) -> None:
        """Refuse a save that was made for another version than the one there is.

        JupyterLab looks at the file's hash before it saves, but an edit may come between its look
        and its save. A tab of ours says with the save which version it has merged.
        """
        current = await self._compute_hash(path)
        if current not in {None, expected}:
            message = "The file has changed since it was merged; merge it again and save then."
            raise HTTPError(409, message)

    async def _compute_hash(self, path: str) -> str | None:
        """Return the hash that the Contents API gives; None if there is none, or no file."""
        manager = self._manager
        os_path = _get_os_path(manager, path) if is_rooted(manager) else None
        try:
            if os_path is not None and get_known_pairs(manager) is None:
                return await asyncio.to_thread(
                    _compute_digest, Path(os_path), manager.hash_algorithm
                )
            if not has_hashes(manager):
                return None
            model = await ensure_async(manager.get(path, content=False, require_hash=True))
        except (OSError, HTTPError):
            # Whether it is gone or not to be read, the manager's own save says so.
            return None
        found: str | None = model.get("hash")
        return found


def has_hashes(manager: Any) -> bool:
    """Return whether a manager can be asked for hashes, which older ones cannot."""
    return "require_hash" in inspect.signature(manager.get).parameters


def _compute_digest(file: Path, algorithm: str) -> str:
    return hashlib.new(algorithm, file.read_bytes()).hexdigest()
