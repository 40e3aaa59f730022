"""Find the server that serves a file.

The first of these that applies: a given URL, ``NBEDIT_URL``, the server of the Hub or of the
terminal that this process runs in, and the runtime files of Jupyter: of the running servers whose
root holds the file, the one with the deepest root.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jupyter_nbedit.client import errors
from jupyter_nbedit.client.hub import explain_hub
from jupyter_nbedit.client.server import (
    Address,
    Response,
    Server,
    check_token,
    decode_object,
    get_relative_path,
    is_below,
)

# How long a server may take to accept a connection, and to describe itself. A server that takes
# longer is busy. It is not skipped, because it may review changes. Windows takes 2 s to say that
# nothing listens.
_CONNECT_SECONDS = 3.0
_ANSWER_SECONDS = 5.0
_INFO_FILE = re.compile(r"(?:jpserver|nbserver)-[0-9]+\.json")
_MAX_INFO_BYTES = 100_000
_MAX_TOKEN_BYTES = 10_000
_SHOWN_SERVERS = 5
_TARGET = "nbedit"


@dataclass(frozen=True)
class ServerState:
    """What a server has answered."""

    server: Server
    #: Why it cannot be used; None if it can.
    problem: errors.ClientError | None
    #: The server's version of this extension, and its mode; None if it cannot be used.
    version: str | None = None
    mode: str | None = None
    #: The id of this run of the server; None if it cannot be used.
    epoch: str | None = None


@dataclass(frozen=True)
class Discovery:
    """The server that serves a file, and servers without this extension that serve it, too."""

    server: Server
    others: Sequence[Server] = ()
    #: The id of this run of the server.
    epoch: str | None = None


def find_server(
    path: str,
    *,
    url: str | None = None,
    token_file: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Discovery:
    """Return the server that serves a file or a folder, which need not exist.

    ``url`` is the address of the only server to ask, ``token_file`` a file with its token.

    Raises
    ------
    NoServer
        If no running server with this extension serves it.
    AmbiguousServer
        If several do, with the same root.
    AccessDenied
        If the server that serves it wants a token, and no token or another token is known.
    ResponseTimeout, ServerUnreachable, ConnectForbidden, TlsFailed, ServerNotRunning
        If that server does not answer, cannot be reached, or was stopped behind its proxy.
    InvalidAddress, OutsideRoot, ConnectFailed, ExtensionMissing, ResponseError
        If the given URL does not lead to a server with this extension that serves it.
    """
    given = url or environ.get("NBEDIT_URL")
    running = _list_running(environ)
    if given:
        server = _build_given(given, token_file, running, environ)
        server.to_api_path(path)
        state = inspect_server(server)
        if state.problem is not None:
            raise state.problem
        return Discovery(server, epoch=state.epoch)
    if token_file:
        message = "A token file is only used with the URL of its server; give --url, too."
        raise errors.InvalidAddress(message)
    others: list[Server] = []
    for servers in _list_groups(path, running, environ):
        states = [inspect_server(server) for server in servers]
        usable = [state for state in states if state.problem is None]
        if len(usable) > 1:
            raise _build_tie([state.server for state in usable])
        for state in states:
            if isinstance(state.problem, errors.ExtensionMissing):
                others.append(state.server)
            elif state.problem and not usable and not _is_gone(state):
                raise state.problem
        if usable:
            return Discovery(usable[0].server, others, usable[0].epoch)
    raise errors.NoServer(_explain_none(path, running, others), others)


def inspect_servers(environ: Mapping[str, str] = os.environ) -> list[ServerState]:
    """Return the states of the servers of this user on this machine, except those that are gone."""
    servers = _merge([*_list_own(_list_running(environ), environ), *_list_running(environ)])
    states = [inspect_server(server) for server in servers]
    return [state for state in states if not _is_gone(state)]


def inspect_server(server: Server) -> ServerState:
    """Ask a server whether it has this extension."""
    try:
        response = server.send(
            "GET",
            _TARGET,
            headers={"Accept": "application/json"},
            connect_seconds=_CONNECT_SECONDS,
            response_seconds=_ANSWER_SECONDS,
        )
    except errors.ClientError as error:
        return ServerState(server, error)
    content = response.decode() if response.status == HTTPStatus.OK else {}
    if content.get("name") == "jupyter_nbedit":
        return ServerState(
            server, None, *(str(content.get(name)) for name in ("version", "mode", "epoch"))
        )
    return ServerState(server, _explain_response(server, response))


def _is_gone(state: ServerState) -> bool:
    """Return whether no Jupyter server listens at the address any more."""
    # With TLS, a server that wants a certificate of the client hangs up, too.
    is_secure = state.server.address.scheme == "https"
    return isinstance(state.problem, errors.ConnectFailed) or (
        isinstance(state.problem, errors.ConnectionLost) and not is_secure
    )


def _explain_response(server: Server, response: Response) -> errors.ClientError:
    if problem := explain_hub(server.address, _TARGET, response):
        return problem
    if response.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return errors.AccessDenied(_explain_denial(server))
    if response.is_redirect:
        return build_redirect(server.url, response)
    if response.status == HTTPStatus.NOT_FOUND:
        return errors.ExtensionMissing(
            f"The server at {server.url} runs without jupyter_nbedit. Install it in the "
            "environment of the server, and restart the server."
        )
    return errors.ResponseError(
        f"{server.url} answered {response.status} to GET {_TARGET}, which is no reply of "
        "jupyter_nbedit. Is it the address of a Jupyter server, with its base URL and without what "
        "pages add to it, such as /lab?"
    )


def build_redirect(url: str, response: Response) -> errors.Redirected:
    """Return the error of a redirect, which is not followed: the token is for one server."""
    location = urlsplit(response.headers.get("Location", ""))
    place = location._replace(query="", fragment="", netloc=location.netloc.rpartition("@")[2])
    return errors.Redirected(
        f"{url} redirects to {place.geturl()[:300]!r}, and redirects are not followed. If "
        "that is a page for logging in, the token is missing or wrong. If it is the new address "
        "of the server, use that."
    )


def _explain_denial(server: Server) -> str:
    if server.has_token:
        return (
            f"The server at {server.url} does not accept the token that is known for it. Give "
            "the present one with --url and --token-file."
        )
    return (
        f"The server at {server.url} wants a token, and none is known. If it has a password only, "
        "start it with a token, too: set JUPYTER_TOKEN in its environment. If it runs elsewhere, "
        "write its token into a file, and give that with --url and --token-file."
    )


# Where servers are looked for ---------------------------------------------------------------------


def _list_groups(
    path: str, running: Sequence[Server], environ: Mapping[str, str]
) -> Iterator[list[Server]]:
    """Yield servers whose root holds a path: the own server, then from the deepest root on."""
    own = [server for server in _list_own(running, environ) if _holds(server, path)]
    for server in own:
        yield [server]
    rest = [
        server
        for server in running
        if _holds(server, path)
        and not any(server.address.is_same_server(each.address) for each in own)
    ]

    def rank(server: Server) -> tuple[bool, int, str]:
        root = server.root or ""
        # A server whose root holds the file itself is nearer than a server with a link to the file.
        return is_below(root, path), root.rstrip(os.sep).count(os.sep), root

    rest.sort(key=rank, reverse=True)
    for _, servers in groupby(rest, key=rank):
        yield list(servers)


def _holds(server: Server, path: str) -> bool:
    return server.root is not None and get_relative_path(server.root, path) is not None


def _list_own(running: Sequence[Server], environ: Mapping[str, str]) -> list[Server]:
    """Return the server of the Hub or of the terminal in which this process runs."""
    found = []
    for url, token, root in _list_own_urls(environ):
        try:
            address = Address.from_url(url)
        except errors.InvalidAddress:
            continue
        known = _find_same(address, running)
        if known and known.has_token:
            found.append(known)
        elif folder := (known.root if known else root):
            found.append(Server(address, os.path.realpath(folder), _token=token))
    return _merge(found)


def _list_own_urls(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield URL, token and root of the servers that the environment names."""
    root = environ.get("JUPYTER_SERVER_ROOT", "")
    # A service of the Hub that is no server of a user has no user.
    if environ.get("JUPYTERHUB_USER") and (url := environ.get("JUPYTERHUB_SERVICE_URL")):
        token = environ.get("JUPYTERHUB_API_TOKEN", "")
        yield url, _drop_invalid(token), root or environ.get("JUPYTERHUB_ROOT_DIR", "")
    if url := environ.get("JUPYTER_SERVER_URL"):
        yield url, _read_server_token(environ), root


def _read_server_token(environ: Mapping[str, str]) -> str:
    """Return the token that the server of this terminal was started with, by its environment.

    Return an empty token if the environment has no valid token.
    """
    with suppress(errors.InvalidAddress):
        if token := environ.get("JUPYTER_TOKEN"):
            return check_token(token, "")
        if path := environ.get("JUPYTER_TOKEN_FILE"):
            return _read_token_file(path)
    return ""


def _drop_invalid(token: str) -> str:
    try:
        return check_token(token, "")
    except errors.InvalidAddress:
        return ""


def _list_running(environ: Mapping[str, str]) -> list[Server]:
    """Return the servers of the runtime files whose processes run, the newest first."""
    folder = _get_runtime_folder(environ)
    try:
        entries = [entry for entry in os.scandir(folder) if _INFO_FILE.fullmatch(entry.name)]
    except OSError:
        return []
    infos = sorted(((_get_time(entry), entry.path) for entry in entries), reverse=True)
    servers = (_read_info(path) for _, path in infos)
    # An older file with the address of a newer one was left by a server that has crashed.
    return _merge([server for server in servers if server is not None])


def _get_runtime_folder(environ: Mapping[str, str]) -> str:
    if folder := environ.get("JUPYTER_RUNTIME_DIR"):
        return folder
    # Takes 20 ms to import.
    from jupyter_core.paths import jupyter_runtime_dir  # noqa: PLC0415

    return jupyter_runtime_dir()


def _get_time(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _read_info(path: str) -> Server | None:
    """Return the server that a runtime file describes; None if it is not running."""
    try:
        with open(path, "rb") as file:
            info = decode_object(file.read(_MAX_INFO_BYTES))
    except OSError:
        return None
    # nbserver-PID.json is of Notebook 6, which has no extension of this kind.
    url, root = info.get("url"), info.get("root_dir", info.get("notebook_dir"))
    if not (isinstance(url, str) and isinstance(root, str) and _is_running(info.get("pid"))):
        return None
    try:
        address = _get_address(url, info)
    except errors.InvalidAddress:
        return None
    token = info.get("token")
    known = _drop_invalid(token) if isinstance(token, str) else ""
    return Server(address, os.path.realpath(root), _token=known)


def _get_address(url: str, info: Mapping[str, Any]) -> Address:
    """Return the address of a server on this machine from its runtime file."""
    address = Address.from_url(url)
    # If the server listens on all addresses, its URL has the name of the machine. This name may be
    # unknown here, but the server also listens on the loopback address.
    if info.get("hostname") in {"0.0.0.0", "::", "*", ""} and not info.get("sock"):  # noqa: S104
        return Address(address.scheme, "127.0.0.1", address.port, address.base_url)
    return address


def _is_running(pid: Any) -> bool:
    """Return whether a process of this user runs."""
    if type(pid) is not int or pid <= 0:
        return False
    if os.name == "nt":
        # There, the signal 0 is Ctrl-C. A connection will show it.
        return True
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True


def _merge(servers: Sequence[Server]) -> list[Server]:
    """Return the servers without repetitions; of entries for one server the first stays."""
    merged: list[Server] = []
    for server in servers:
        if _find_same(server.address, merged) is None:
            merged.append(server)
    return merged


def _find_same(address: Address, servers: Sequence[Server]) -> Server | None:
    return next((each for each in servers if each.address.is_same_server(address)), None)


# A given URL --------------------------------------------------------------------------------------


def _build_given(
    url: str, token_file: str | None, running: Sequence[Server], environ: Mapping[str, str]
) -> Server:
    """Return the server at a URL, with its token and root as far as they are known here."""
    address = Address.from_url(url)
    known = _find_same(address, [*running, *_list_own(running, environ)])
    # At another interface of this machine, somebody else may listen at the same port.
    address, root = (known.address, known.root) if known else (address, None)
    if token_file:
        return Server(address, root, _token=_read_token_file(token_file))
    if tokens := parse_qs(urlsplit(url).query).get("token"):
        return Server(address, root, _token=check_token(tokens[0], "The URL"))
    if known:
        return known
    # In a terminal of a server, the variable has the token of that server.
    token = "" if environ.get("JUPYTER_SERVER_URL") else environ.get("JUPYTER_TOKEN", "")
    return Server(address, root, _token=check_token(token, "JUPYTER_TOKEN") if token else "")


def _read_token_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_TOKEN_BYTES)
    except OSError as error:
        message = f"The file {path!r} with the token cannot be read: {error.strerror}."
        raise errors.InvalidAddress(message) from None
    return check_token(content.decode("utf-8", "replace").strip(), f"The file {path!r}")


# Messages -----------------------------------------------------------------------------------------


def _build_tie(servers: Sequence[Server]) -> errors.AmbiguousServer:
    urls = ", ".join(server.url for server in servers)
    return errors.AmbiguousServer(
        f"{len(servers)} servers serve {servers[0].root!r}: {urls}. Choose one with --url, or set "
        "NBEDIT_URL."
    )


def _explain_none(path: str, running: Sequence[Server], others: Sequence[Server]) -> str:
    place = os.path.abspath(path)
    if others:
        urls = ", ".join(server.url for server in others)
        return (
            f"{place!r} is served by {urls}, which runs without jupyter_nbedit. Install it in the "
            "environment of that server, and restart the server."
        )
    if not running:
        return (
            f"No running Jupyter server of this user was found for {place!r}. Start one, or give "
            "the address of one with --url."
        )
    shown = "; ".join(f"{server.url} serves {server.root!r}" for server in running[:_SHOWN_SERVERS])
    more = len(running) - _SHOWN_SERVERS
    return (
        f"No running server serves {place!r}. Found: {shown}{f'; {more} more' if more > 0 else ''}."
    )
