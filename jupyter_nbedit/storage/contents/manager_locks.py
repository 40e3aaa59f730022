"""Make the contents manager's own writes wait for ours, and ours for them.

The stock manager writes in place. If an edit renamed a file over the target during a save, the rest
of the save would go to a file without a name. If an edit read the file during a save, it would find
a broken notebook. Jupytext writes two files for one notebook.
"""

import asyncio
import functools
import hashlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit.errors import Busy
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES
from jupyter_nbedit.storage.contents.jupytext import get_known_pairs, is_saved_as_sent
from jupyter_nbedit.storage.contents.manager_kinds import (
    find_wrapper,
    get_os_path,
    has_hashes,
    is_rooted,
    saves_without_hooks,
)
from jupyter_nbedit.storage.files.lazy_bytes import get_stat_identity
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import SUFFIX, follow_links
from jupyter_nbedit.storage.write_log import Identity

# The methods that write, or may write, and the names of their arguments in order.
_LOCKED_METHODS = {
    "get": ("path", "content", "type"),
    "save": ("model", "path"),
    "rename_file": ("old_path", "new_path"),
    "delete_file": ("path",),
    "restore_checkpoint": ("checkpoint_id", "path"),
}
_PATH_ARGUMENTS = frozenset(("path", "old_path", "new_path"))
#: A save by an open tab may add this member to the model: the hash of the version that the save
#: replaces.
EXPECTED_HASH = "nbedit_expected_hash"
#: The member of the reply to such a save: the hash of the file, if it has exactly what was sent.
SAVED_HASH = "nbedit_hash"


def lock_paths(
    manager: Any, locks: PathLocks, *paths: str
) -> AbstractAsyncContextManager[list[str]]:
    """Lock API paths against all other writers; yield their paths on disk, if any, without links.

    Raise `Busy` if another process holds a lock.
    """
    kind = type(manager).__qualname__
    # The other half of a pair may have any name.
    names = [] if get_known_pairs(manager) is None else [f"pairs of {kind}"]
    if is_rooted(manager):
        os_paths = [
            os_path for path in paths if (os_path := get_os_path(manager, path)) is not None
        ]
        return locks.lock(*os_paths, names=names)
    names += [_name_path(manager, path) for path in paths]
    return locks.lock(names=names)


def _name_path(manager: object, path: str) -> str:
    """Return the name of an API path that is not in a file system."""
    # On a drive, a slash after the colon makes no difference.
    return f"{type(manager).__qualname__} {path.strip('/').replace(':/', ':')}"


def get_write_name(manager: Any, path: str) -> str | None:
    """Return the name of an API path in the `WriteLog`: its path on disk without links, if any.

    None if the path is outside of the root.
    """
    if not is_rooted(manager):
        return _name_path(manager, path)
    os_path = get_os_path(manager, path)
    return None if os_path is None else follow_links(os_path)


def get_model_identity(model: Mapping[str, Any]) -> Identity:
    """Return what a manager says of a file's version, without its content."""
    modified = model.get("last_modified")
    return ("model", None if modified is None else str(modified), model.get("size"))


def read_file_identity(real: str) -> Identity:
    """Return the identity of a file by its path without links; None if there is no file."""
    try:
        return get_stat_identity(os.stat(real))
    except (OSError, ValueError):
        return None


def install_locks(manager: Any, locks: PathLocks) -> None:
    """Make a manager's own writes take the locks, and record them in the `WriteLog`."""
    for name in _LOCKED_METHODS:
        method = getattr(manager, name, None)
        if name in vars(manager) or method is None:
            continue
        if name == "save" or inspect.iscoroutinefunction(method):
            setattr(manager, name, _WrappedMethod(manager, name, method, locks).function)


def get_unlocked_save(manager: Any, locks: PathLocks) -> Callable[..., Any]:
    """Return the manager's save for a caller that holds the lock of the path."""
    install_locks(manager, locks)
    wrapper: _WrappedMethod | None = find_wrapper(manager.save)
    return wrapper.call_unlocked if wrapper and wrapper.has_locks else manager.save


@dataclass(eq=False)
class _WrappedMethod:
    """A method of the contents manager whose writes are recorded.

    An asynchronous one takes the locks of its paths; a synchronous one cannot wait and need not: no
    other task runs meanwhile.
    """

    manager: Any
    name: str
    method: Callable[..., Any]
    locks: PathLocks

    def __post_init__(self) -> None:
        self.has_locks = inspect.iscoroutinefunction(self.method)
        self.function = self._build_locked() if self.has_locks else self._build_recorded()
        self.function.nbedit_wrapper = self  # type: ignore[attr-defined]

    def _build_locked(self) -> Callable[..., Any]:
        # It must be a coroutine function: jupyter_core's run_sync accepts nothing else.
        @functools.wraps(self.method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._call_locked(*args, **kwargs)

        return call

    def _build_recorded(self) -> Callable[..., Any]:
        @functools.wraps(self.method)
        def call(*args: Any, **kwargs: Any) -> Any:
            arguments = self._bind_arguments(args, kwargs)
            with _record_writes(self.manager, self.locks, arguments) as replies:
                replies.append(self.method(*args, **kwargs))
            return replies[0]

        return call

    async def _call_locked(self, *args: Any, **kwargs: Any) -> Any:
        arguments = self._bind_arguments(args, kwargs)
        if self.name == "get" and (self.locks.is_holder or not self._may_recover(arguments)):
            # A task that holds a lock must not wait for another; Jupytext reads one half while it
            # saves the other.
            return await self._call_with_inherited_locks(*args, **kwargs)
        paths = [str(path) for name, path in arguments.items() if name in _PATH_ARGUMENTS]
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(lock_paths(self.manager, self.locks, *paths))
            except Busy as error:
                # The caller knows the server's errors, not ours.
                raise HTTPError(503, error.message) from error
            return await self.call_unlocked(*args, **kwargs)

    async def call_unlocked(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method for a caller that holds the locks."""
        arguments = self._bind_arguments(args, kwargs)
        model, path = arguments.get("model"), str(arguments.get("path", ""))
        expected_hash = model.pop(EXPECTED_HASH, None) if isinstance(model, dict) else None
        if expected_hash is not None:
            await self._check_expected(expected_hash, path)
        if self.name == "get":
            return await self._call_with_inherited_locks(*args, **kwargs)
        with _record_writes(self.manager, self.locks, arguments) as replies:
            reply = await self._call_with_inherited_locks(*args, **kwargs)
            replies.append(reply)
        if expected_hash is not None and self._has_saved(path, model, reply):
            saved_hash = await self._compute_hash(path)
            # It is None if the file is gone again.
            reply.update({} if saved_hash is None else {SAVED_HASH: saved_hash})
        return reply

    def _has_saved(self, path: str, model: Any, reply: object) -> bool:
        """Return whether the file has exactly what the model of a save has."""
        return (
            isinstance(reply, dict)
            and saves_without_hooks(self.manager)
            and is_saved_as_sent(self.manager, path, model)
        )

    async def _call_with_inherited_locks(self, *args: Any, **kwargs: Any) -> Any:
        # A manager may start several tasks and wait for them.
        with self.locks.inherit():
            return await self.method(*args, **kwargs)

    def _bind_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return {**dict(zip(_LOCKED_METHODS[self.name], args, strict=False)), **kwargs}

    def _may_recover(self, arguments: dict[str, Any]) -> bool:
        """Return whether a `get` parses a notebook, and restores an older one if that fails."""
        reads_notebook = arguments.get("content", True) and arguments.get("type") in {
            None,
            "notebook",
        }
        # The other half of a pair is a notebook with any name.
        may_be_notebook = (
            str(arguments.get("path", "")).endswith(SUFFIX)
            or get_known_pairs(self.manager) is not None
        )
        return bool(reads_notebook) and may_be_notebook

    async def _check_expected(self, expected_hash: object, path: str) -> None:
        """Refuse a save that was made for another version than the current one.

        JupyterLab checks the file's hash before it saves, but an edit may happen between the check
        and the save. Our tabs send the hash of the version that they have merged.
        """
        current = await self._compute_hash(path)
        if current not in {None, expected_hash}:
            message = "The file has changed since it was merged; merge it again and save then."
            raise HTTPError(409, message)

    async def _compute_hash(self, path: str) -> str | None:
        """Return the hash of the Contents API; None if there is no hash or no file."""
        manager = self.manager
        os_path = get_os_path(manager, path) if is_rooted(manager) else None
        try:
            if os_path is not None and get_known_pairs(manager) is None:
                return await asyncio.to_thread(_hash_file, Path(os_path), manager.hash_algorithm)
            if not has_hashes(manager):
                return None
            model = await ensure_async(manager.get(path, content=False, require_hash=True))
        except (OSError, HTTPError):
            # If it is missing or unreadable, the manager's own save reports that.
            return None
        hash_value: str | None = model.get("hash")
        return hash_value


@contextmanager
def _record_writes(
    manager: Any, locks: PathLocks, arguments: Mapping[str, Any]
) -> Iterator[list[object]]:
    """Record in the `WriteLog` which files one call of a method of the manager has changed.

    A hook may fail after a write, so the files are also recorded after an error. Yields a list for
    the reply of the method: without files, the model that a save returns is recorded.
    """
    paths = [str(path) for name, path in arguments.items() if name in _PATH_ARGUMENTS]
    names = [name for path in paths if (name := get_write_name(manager, path)) is not None]
    has_files = is_rooted(manager)
    before = [read_file_identity(name) for name in names] if has_files else []
    replies: list[object] = []
    try:
        yield replies
    finally:
        if has_files:
            for name, old_identity in zip(names, before, strict=True):
                identity = read_file_identity(name)
                if identity != old_identity:
                    locks.writes.record(name, identity)
        elif len(names) == 1 and replies and isinstance(replies[0], dict):
            locks.writes.record(names[0], get_model_identity(replies[0]))


def _hash_file(file: Path, algorithm: str) -> str:
    hasher = hashlib.new(algorithm)
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with file.open("rb", buffering=0) as content:
        while count := content.readinto(buffer):
            hasher.update(buffer[:count])
    return hasher.hexdigest()
