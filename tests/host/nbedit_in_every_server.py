"""A pytest plugin that enables the extension and its locks in every test server.

Without it the extension guards a contents manager when the first request needs that, so that a test
of Jupyter Server, which asks nothing of the extension, would never meet a guarded one.
"""

import functools
import logging
import tempfile
from pathlib import Path
from typing import Any

from jupyter_server.serverapp import ServerApp
from jupyter_server.services.contents.manager import ContentsManager

from jupyter_nbedit.storage.contents.manager_locks import install_locks
from jupyter_nbedit.storage.locks import PathLocks

_LOCKS = PathLocks(Path(tempfile.mkdtemp(prefix="nbedit-locks-")), logging.getLogger(__name__))


def _run_after(owner: type, name: str, work: Any) -> None:
    """Run a function after each call of a method of a class."""
    method = getattr(owner, name)

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        work(self)
        return result

    setattr(owner, name, call)


def _load_extension(server: ServerApp) -> None:
    server.jpserver_extensions = {**server.jpserver_extensions, "jupyter_nbedit": True}


def _install_locks(manager: ContentsManager) -> None:
    install_locks(manager, _LOCKS)


def pytest_configure() -> None:
    _run_after(ServerApp, "find_server_extensions", _load_extension)
    _run_after(ContentsManager, "__init__", _install_locks)
