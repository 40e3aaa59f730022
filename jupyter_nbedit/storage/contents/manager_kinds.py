"""What is known of contents managers: which are Jupyter's own, and where others keep files."""

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from jupyter_server.services.contents.filemanager import (
    AsyncFileContentsManager,
    FileContentsManager,
)
from jupyter_server.services.contents.manager import ContentsManager
from tornado.web import HTTPError

from jupyter_nbedit.storage.contents.jupytext import JUPYTEXT, OVERRIDDEN

_STOCK = "jupyter_server.services.contents."
# The methods that map paths to files. Some managers inherit a root directory without using it.
_PATH_METHODS = ("_get_os_path", "dir_exists", "file_exists")
# For each class and names of methods: what was found out about the methods, and the methods.
_KNOWN_METHODS: WeakKeyDictionary[type, dict[tuple[str, ...], tuple[list[object], bool]]] = (
    WeakKeyDictionary()
)
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
# The traits that identify a root without a directory: of Jupyter, s3contents and similar managers.
_LOCATION_TRAITS = ("root_dir", "endpoint_url", "bucket", "prefix")


def has_stock_methods(manager: object, *names: str) -> bool:
    """Return whether methods are Jupyter Server's own, or Jupytext's where it may override them.

    This is judged by their classes and modules. Managers are asked at every request, because
    extensions replace methods at any time; a method that was replaced is another object.
    """
    kind, own_methods = type(manager), vars(manager)
    methods = [getattr(kind, name, None) for name in names]
    methods += [own_methods.get(name) for name in names]
    known = _KNOWN_METHODS.setdefault(kind, {})
    if names not in known or known[names][0] != methods:
        known[names] = methods, all(_is_stock(manager, name) for name in names)
    return known[names][1]


def _is_stock(manager: object, name: str) -> bool:
    if name in vars(manager) and find_wrapper(vars(manager)[name]) is None:
        return False
    owner = next((base for base in type(manager).__mro__ if name in vars(base)), object)
    # functools.wraps copies a function's module, but not a class's.
    modules = (owner.__module__, getattr(vars(owner).get(name), "__module__", None) or "")
    packages = (_STOCK, JUPYTEXT) if name in OVERRIDDEN else (_STOCK,)
    return any(all(module.startswith(package) for module in modules) for package in packages)


def has_plain_files(manager: object) -> bool:
    """Return whether a manager stores unpaired notebooks like the stock manager."""
    return isinstance(manager, AsyncFileContentsManager) and has_stock_methods(
        manager, *_STOCK_METHODS
    )


def is_rooted(manager: object) -> bool:
    """Return whether a manager stores files in a directory, at the paths that it returns."""
    return isinstance(manager, FileContentsManager) and has_stock_methods(manager, *_PATH_METHODS)


def find_wrapper(method: object) -> Any:
    """Return our wrapper if a method is exactly this wrapper; None if it adds something."""
    wrapper = getattr(method, "nbedit_wrapper", None)
    # functools.wraps copies attributes to a function that adds to it.
    return wrapper if getattr(wrapper, "function", None) is method else None


def get_os_path(manager: Any, path: str) -> str | None:
    """Return the path on disk of an API path, links included; None if the manager refuses it."""
    try:
        os_path: str = manager._get_os_path(path.strip("/"))  # noqa: SLF001 -- no other way
    except HTTPError:
        # The manager itself will raise an error for the path.
        return None
    return os_path


def is_link(manager: Any, path: str) -> bool:
    """Return whether an API path is a symbolic link of the file system."""
    os_path = get_os_path(manager, path) if is_rooted(manager) else None
    return os_path is not None and Path(os_path).is_symlink()


def describe_location(manager: object) -> str:
    """Return the class of a manager without files, with the traits that locate its root."""
    location = {name: str(getattr(manager, name, "")) for name in _LOCATION_TRAITS}
    kind = type(manager)
    return f"{kind.__module__}.{kind.__qualname__} {json.dumps(location)}"


def get_drives(manager: object) -> Mapping[str, ContentsManager]:
    """Return the managers of drives, for a manager that selects one by the prefix of a path."""
    drives = getattr(manager, "_managers", None)
    if not isinstance(drives, Mapping):
        return {}
    return {name: drive for name, drive in drives.items() if isinstance(drive, ContentsManager)}


def is_asynchronous(manager: object) -> bool:
    """Return whether other tasks can run while a manager saves."""
    return inspect.iscoroutinefunction(getattr(type(manager), "save", None))


def has_hashes(manager: Any) -> bool:
    """Return whether a manager can return hashes; older managers cannot."""
    return "require_hash" in inspect.signature(manager.get).parameters


def saves_without_hooks(manager: Any) -> bool:
    """Return whether a manager stores notebooks like the stock manager, without hooks."""
    hooks = (
        manager.pre_save_hook,
        manager._pre_save_hooks,  # noqa: SLF001 -- no other way
        manager.post_save_hook,
        manager._post_save_hooks,  # noqa: SLF001 -- no other way
    )
    return has_plain_files(manager) and not any(hooks)
