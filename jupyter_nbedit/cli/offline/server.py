"""`OfflineServer` answers requests of the REST API in this process, without a port or a token."""

import asyncio
import getpass
import importlib.util
import logging
import os
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from email.message import Message
from pathlib import Path
from typing import Any, TypeVar

from jupyter_core.paths import jupyter_config_path, jupyter_data_dir
from jupyter_core.utils import ensure_dir_exists
from jupyter_events import EventLogger
from jupyter_server.auth.authorizer import AllowAllAuthorizer
from jupyter_server.auth.identity import IdentityProvider, User
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.httputil import HTTPConnection, HTTPHeaders, RequestStartLine, ResponseStartLine
from tornado.web import Application, RequestHandler
from traitlets import TraitError
from traitlets.config import Config
from traitlets.config.loader import ConfigFileNotFound, JSONFileConfigLoader, PyFileConfigLoader

from jupyter_nbedit.client.errors import ResponseTimeout
from jupyter_nbedit.client.server import RESPONSE_SECONDS, Response
from jupyter_nbedit.errors import FolderNotFound, ModesUnreadable
from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.context import CONTEXT
from jupyter_nbedit.settings import NbEditSettings
from jupyter_nbedit.wiring import WiredServices, build_services

_Result = TypeVar("_Result")
# The names of the configuration files, in the order in which a server reads the files for its
# extensions; the files of applications such as JupyterLab do not count. A server also reads the
# files in the folder where it is started, but a folder in which an agent works must not decide what
# runs here.
_CONFIG_NAMES = ("jupyter_config", "jupyter_server_config", "jupyter_jupyter_nbedit_config")
# The server extension of Jupytext.
_JUPYTEXT = "jupyterlab_jupytext"
# A file system that does not answer must not hold the command.
_LINKS_SECONDS = 2.0
_LOG = logging.getLogger("jupyter_nbedit.cli.offline")


class OfflineServer:
    """Answers requests about the notebooks of one folder, as a server on that folder would.

    It reads, locks, signs and records as a server does, with the same lock files, database and
    configuration, so that servers and other offline edits may run at the same time. No tab gets
    events. It must be used and closed in the same thread.
    """

    #: The folder that the paths of the API are relative to.
    folder: Path
    #: The API path of the target.
    path: str

    def __init__(self, target: Path, folder: Path) -> None:
        """Prepare for requests about a notebook or a folder.

        ``target`` may not exist yet. ``folder`` is what paths are relative to if it holds the
        target; else it is the target's own folder. Raise `ModesUnreadable` if Jupyter's
        configuration, which may forbid changes, cannot be read, and `FolderNotFound` if there is
        no such folder.
        """
        config = _load_config()
        # A server makes it when it starts. If that fails, signatures or the history report it.
        with suppress(OSError):
            ensure_dir_exists(jupyter_data_dir(), mode=0o700)
        real_target = Path(os.path.realpath(target))
        self.folder = _choose_root(real_target, folder)
        if not self.folder.is_dir():
            raise FolderNotFound
        relative_path = real_target.relative_to(self.folder).as_posix()
        self.path = "" if relative_path == "." else relative_path
        self._loop = asyncio.new_event_loop()
        try:
            self._manager = _build_manager(config, self.folder)
            # A notebook that is named may be hidden; of a folder that is, its own path is the root.
            if _is_hidden(Path(self.path)):
                self._manager.allow_hidden = True
            self._application, self._services = _build_application(config, self._manager)
            with suppress(asyncio.TimeoutError):
                self._run(asyncio.wait_for(self._services.resolve_link_paths(), _LINKS_SECONDS))
        except BaseException:
            self._loop.close()
            raise

    @property
    def url(self) -> str:
        """What stands for an address in messages."""
        return "no server"

    def send(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        response_seconds: float = RESPONSE_SECONDS,
    ) -> Response:
        """Answer a request as `Server.send` does.

        Raise `ResponseTimeout` if that takes more than so many seconds.
        """
        answer = self._answer(method, f"/{target}", body or b"", headers or {})
        try:
            return self._run(asyncio.wait_for(answer, response_seconds))
        except asyncio.TimeoutError:
            raise ResponseTimeout(
                f"The notebook was not edited within {response_seconds:g} seconds. It may have "
                "been: read it before you try again."
            ) from None

    def close(self) -> None:
        """Write what is pending, and close the database."""
        try:
            self._run(self._services.close())
            self._run(self._loop.shutdown_default_executor())
            if self._manager.trait_has_value("notary"):
                self._manager.notary.store.close()
        finally:
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return self._loop.run_until_complete(work)

    async def _answer(
        self, method: str, address: str, body: bytes, headers: Mapping[str, str]
    ) -> Response:
        connection = _Connection()
        delegate = self._application.start_request(None, connection)
        prepared = delegate.headers_received(
            RequestStartLine(method, address, "HTTP/1.1"),
            HTTPHeaders({"Host": "localhost", "Content-Length": str(len(body)), **headers}),
        )
        # As a connection does: the body follows when the handler has been prepared.
        if prepared is not None:
            await prepared
        received = delegate.data_received(body) if body else None
        if received is not None:
            await received
        delegate.finish()
        return await connection.response


def _load_config() -> Config:
    """Return the merged configuration; files of the user override files of the system.

    Raise `ModesUnreadable` if a file cannot be loaded, because this file may forbid changes.
    """
    config = Config()
    for name in _CONFIG_NAMES:
        for folder in reversed(jupyter_config_path()):
            for loader in (
                PyFileConfigLoader(f"{name}.py", path=folder),
                JSONFileConfigLoader(f"{name}.json", path=folder),
            ):
                try:
                    config.merge(loader.load_config())
                except ConfigFileNotFound:
                    continue
                except Exception as error:
                    raise ModesUnreadable(
                        f"The configuration file {loader.full_filename or folder} cannot be read "
                        f"({type(error).__name__}: {error}), and it may say that changes need a "
                        "review. Nothing was read or written; correct the file."
                    ) from error
    return config


def _choose_root(real_target: Path, folder: Path) -> Path:
    """Return the folder for a notebook or folder, whose path has no links.

    The root is ``folder`` if the target is in this folder, else the folder of the target. A folder
    that would be hidden there is a root itself, since nothing in it would be shown.
    """
    top = Path(os.path.realpath(folder))
    is_folder = real_target.is_dir()
    if not real_target.is_relative_to(top):
        return real_target if is_folder else real_target.parent
    return real_target if is_folder and _is_hidden(real_target.relative_to(top)) else top


def _is_hidden(relative_path: Path) -> bool:
    return any(part.startswith(".") for part in relative_path.parts)


class _Connection(HTTPConnection):
    """Collects the response to a request that comes from this process."""

    def __init__(self) -> None:
        self.response: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._status = 0
        self._headers = Message()
        self._body = bytearray()

    def write_headers(
        self,
        start_line: RequestStartLine | ResponseStartLine,
        headers: HTTPHeaders,
        chunk: bytes | None = None,
    ) -> asyncio.Future[None]:
        if isinstance(start_line, ResponseStartLine):
            self._status = start_line.code
        for name, value in headers.get_all():
            self._headers[name] = value
        return self.write(chunk or b"")

    def write(self, chunk: bytes) -> asyncio.Future[None]:
        self._body += chunk
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        written.set_result(None)
        return written

    def finish(self) -> None:
        self.response.set_result(Response(self._status, self._headers, bytes(self._body)))

    def set_close_callback(self, callback: object) -> None:
        """Do nothing: the client cannot go away before the response."""


class _OwnIdentity(IdentityProvider):
    """Whoever runs this process is the user, under the name of the operating system."""

    def get_user(self, handler: RequestHandler) -> User:  # noqa: ARG002 -- as its base
        try:
            return User(getpass.getuser())
        except (KeyError, OSError):
            # A container may run under a number without a name.
            return User(str(os.getuid()) if hasattr(os, "getuid") else "")


def _choose_manager_class(config: Config) -> type[AsyncLargeFileManager]:
    """Return the stock class, or the class that Jupytext derives from it, as on a server.

    Without Jupytext, a change of one half of a pair would leave the other behind.
    """
    if importlib.util.find_spec(_JUPYTEXT) is None:
        return AsyncLargeFileManager
    if not config.ServerApp.get("jpserver_extensions", {}).get(_JUPYTEXT, True):
        return AsyncLargeFileManager
    from jupytext.async_contentsmanager import (  # noqa: PLC0415 -- may be missing
        build_async_jupytext_contents_manager_class,
    )

    manager_class: type[AsyncLargeFileManager] = build_async_jupytext_contents_manager_class(
        AsyncLargeFileManager
    )
    return manager_class


def _build_manager(config: Config, folder: Path) -> AsyncLargeFileManager:
    """Return a contents manager."""
    if "data_dir" not in config.NotebookNotary:
        # Else the notary would read configuration files itself, also in the working folder.
        config.NotebookNotary.data_dir = jupyter_data_dir()
    return _choose_manager_class(config)(
        config=config, root_dir=str(folder), event_logger=EventLogger()
    )


def _build_application(
    config: Config, manager: AsyncLargeFileManager
) -> tuple[Application, WiredServices]:
    """Return the web application with its services."""
    web_settings: dict[str, Any] = {
        "base_url": "/",
        "contents_manager": manager,
        "disable_check_xsrf": True,
        "allow_remote_access": True,
        "identity_provider": _OwnIdentity(),
        "authorizer": AllowAllAuthorizer(),
        # The caller reports errors.
        "log_function": lambda _: None,
    }
    try:
        # There is no application, whose section of the configuration this is.
        config.NbEditSettings = config.NbEditApp
        settings = NbEditSettings(config=config)
    except TraitError as error:
        raise ModesUnreadable(
            f"A configuration file has a setting that is not valid: {error} Nothing was read or "
            "written; correct the file."
        ) from error
    settings.follow_outside_changes = False
    wired = build_services(settings, web_settings, manager.event_logger, _LOG, has_server=False)
    web_settings[CONTEXT] = wired.context
    return Application(default_handlers, **web_settings), wired
