"""A running Jupyter server, as a client knows it: its address, its root, its token."""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from jupyter_nbedit._version import __version__
from jupyter_nbedit.client import errors

#: How long a connection and a response may take, in seconds.
CONNECT_SECONDS = 5.0
RESPONSE_SECONDS = 300.0

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
#: Addresses that a server listens on, and that no client can connect to.
_WILDCARDS = frozenset(("", "0.0.0.0", "::", "*"))  # noqa: S104 -- recognized, not bound
_UNIX = "http+unix"
_PORTS = {"http": 80, "https": 443, _UNIX: 0}
_TOKEN = re.compile(r"[!-~]{1,4096}")
_HOST = re.compile(r"[A-Za-z0-9._:%\[\]-]*")
#: What the addresses of pages in JupyterLab and Notebook have after the base URL.
_PAGE = re.compile(r"/(?:lab|doc|tree|notebooks|edit|consoles|terminals)(?:/.*)?\Z")


@dataclass(frozen=True)
class Address:
    """Where a server listens, and the prefix of its routes; no token is part of it."""

    scheme: str
    #: The name or the address of the host; the path of the socket if the scheme is http+unix.
    host: str
    port: int
    #: Begins and ends with a slash.
    base_url: str

    @classmethod
    def from_url(cls, url: str) -> Address:
        """Return the address of a URL, whose query is ignored.

        Raise `InvalidAddress` if it is not the URL of a server.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        is_unix = parts.scheme == _UNIX
        host = unquote(parts.netloc) if is_unix else (parts.hostname or "")
        if (
            parts.scheme not in _PORTS
            or not (host or parts.netloc.startswith(":"))
            or "@" in parts.netloc
            or not (is_unix or _HOST.fullmatch(host))
        ):
            # The URL is not shown: it may have a token or a password.
            raise errors.InvalidAddress(
                "The address of the server is not valid. Expected http://HOST:PORT/BASE_URL/ or "
                "https://HOST:PORT/BASE_URL/, without a user name and a password."
            )
        if not is_unix and host in _WILDCARDS:
            host = "127.0.0.1"
        # Escapes that the path has already stay as they are, because `%` is safe.
        path = quote(parts.path.strip("/"), safe="/%:@!$&'()*+,;=")
        return cls(
            parts.scheme,
            host,
            _PORTS[parts.scheme] if port is None else port,
            f"/{path}/" if path else "/",
        )

    @property
    def url(self) -> str:
        """The address as people write it."""
        if self.scheme == _UNIX:
            return f"{_UNIX}://{quote(self.host, safe='')}{self.base_url}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_default = self.port == _PORTS[self.scheme]
        return f"{self.scheme}://{host}{'' if is_default else f':{self.port}'}{self.base_url}"

    @property
    def is_local(self) -> bool:
        """Whether no other machine can answer at this address."""
        return self.scheme == _UNIX or self.host in _LOOPBACK

    def is_same_server(self, other: Address) -> bool:
        """Return whether both are the same server, by any of the names of this machine.

        Behind a proxy, such as that of a JupyterHub, several servers have one host and port. An
        address without a base URL stands for any server at this host and port.
        """
        base_urls = {self._get_base_url(), other._get_base_url()}
        return self._get_identity() == other._get_identity() and (
            len(base_urls) == 1 or "" in base_urls
        )

    def _get_identity(self) -> tuple[str, str, int]:
        if self.scheme == _UNIX:
            return _UNIX, os.path.realpath(self.host), 0
        here = self.is_local or self.host == socket.gethostname()
        return "tcp", "localhost" if here else self.host.lower(), self.port

    def _get_base_url(self) -> str:
        """Return the base URL without what pages add to it, and without the slash at its end."""
        return _PAGE.sub("", unquote(self.base_url).removesuffix("/"))

    def connect(self, seconds: float) -> http.client.HTTPConnection:
        """Return a connection.

        Raise `ConnectFailed` if nothing listens, and `ServerUnreachable`, `ConnectForbidden` or
        `TlsFailed` if there is no connection within so many seconds for another reason.
        """
        connection: http.client.HTTPConnection
        if self.scheme == _UNIX:
            connection = _UnixConnection(self.host, timeout=seconds)
        elif self.scheme == "https":
            context = ssl.create_default_context()
            if self.is_local:
                # Certificates for this machine are usually self-signed. A program that can listen
                # here could also listen without TLS.
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            connection = http.client.HTTPSConnection(
                self.host, self.port, timeout=seconds, context=context
            )
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            raise errors.TlsFailed(
                f"The certificate of {self.url} is not valid: {error.verify_message}. If it is "
                "your own, set SSL_CERT_FILE to the file with its authority."
            ) from None
        except ssl.SSLError as error:
            message = f"No secure connection to {self.url}: {error.reason or 'TLS fails'}."
            raise errors.TlsFailed(message) from None
        except PermissionError:
            raise errors.ConnectForbidden(
                f"This process may not connect to {self.url}. If it runs in a sandbox, such as "
                "that of an agent, allow it to use the network of this machine."
            ) from None
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise errors.ConnectFailed(
                f"No connection to {self.url}: {_explain(error)}. Is the server running, and is "
                "the address right?"
            ) from None
        except (OSError, UnicodeError) as error:
            raise errors.ServerUnreachable(
                f"No connection to {self.url}: {_explain(error)}. If the address is right, the "
                "server is busy or stops, or this process needs access to the network. Nothing "
                "was read or written."
            ) from None
        return connection


def _explain(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    text = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return text[:1].lower() + text[1:]


class _UnixConnection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        if not hasattr(socket, "AF_UNIX"):
            raise OSError(0, "this system has no Unix sockets")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except BaseException:
            self.sock.close()
            raise


@dataclass(frozen=True)
class Response:
    """A response of a server, of any status."""

    status: int
    #: Looks names up in any case: proxies send them in lower case, as HTTP/2 does.
    headers: Message
    body: bytes

    @property
    def content_type(self) -> str:
        """The media type, in lower case and without parameters."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def is_redirect(self) -> bool:
        """Whether it names another address."""
        return 300 <= self.status < 400  # noqa: PLR2004 -- as HTTP has it

    def decode(self) -> dict[str, Any]:
        """Return the JSON object that the body is; an empty one if it is something else."""
        return decode_object(self.body)


@dataclass(frozen=True)
class Server:
    """A running server.

    The token is sent to this address only; it is not shown, and redirects are not followed.
    """

    address: Address
    #: The folder that the server serves, without links; None if it is not known.
    root: str | None
    _: KW_ONLY
    _token: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """The address for people and programs, without a token."""
        return self.address.url

    @property
    def has_token(self) -> bool:
        """Whether a token is known."""
        return bool(self._token)

    def send(  # noqa: PLR0913 -- the parts of a request
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        response_seconds: float = RESPONSE_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> Response:
        """Send a request and return the response, of whatever status.

        ``target`` is relative to the base URL, and quoted. Raise `ConnectFailed` if nothing was
        sent, and `ConnectionLost` or `ResponseTimeout` if it is not known what the server did.
        """
        all_headers = {
            "User-Agent": f"jupyter_nbedit/{__version__}",
            **self._build_credentials(),
            **(headers or {}),
        }
        connection = self.address.connect(connect_seconds)
        try:
            if connection.sock is not None:
                connection.sock.settimeout(response_seconds)
            # A server that has refused a body unread may have sent its response.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, self.address.base_url + target, body, all_headers)
            response = connection.getresponse()
            return Response(response.status, response.headers, response.read())
        except TimeoutError:
            raise errors.ResponseTimeout(
                f"{self.url} has not answered within {response_seconds:g} seconds. It may have "
                "done what was asked: read the notebook before you try again."
            ) from None
        except (OSError, http.client.HTTPException):
            raise errors.ConnectionLost(
                f"The connection to {self.url} ended before the response. It may have done what "
                "was asked: read the notebook before you try again."
            ) from None
        finally:
            connection.close()

    def _build_credentials(self) -> dict[str, str]:
        if self._token:
            return {"Authorization": f"token {self._token}"}
        # A server without authentication still wants a cookie to be repeated in a header.
        value = secrets.token_hex(16)
        return {"Cookie": f"_xsrf={value}", "X-XSRFToken": value}

    def to_api_path(self, path: str) -> str:
        """Return the API path of a file; see `get_relative_path`.

        The path of a server whose root is not known is an API path already. Raise `OutsideRoot` if
        the file is not below the root.
        """
        if self.root is None:
            if os.path.isabs(path) or os.path.splitdrive(path)[0]:
                raise errors.OutsideRoot(
                    f"The folder that {self.url} serves is not known here, so {path!r} cannot be "
                    "found on it. Give the path relative to that folder."
                )
            return "" if path == os.curdir else os.path.normpath(path).replace(os.sep, "/")
        api_path = get_relative_path(self.root, path)
        if api_path is None:
            raise errors.OutsideRoot(
                f"{os.path.realpath(path)!r} is not below {self.root!r}, the folder that "
                f"{self.url} serves."
            )
        return api_path


def decode_object(content: bytes) -> dict[str, Any]:
    """Return an object in JSON; an empty one if it is something else."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def get_relative_path(root: str, path: str) -> str | None:
    """Return the path of a file from a root, with slashes; None if the file is outside.

    Links are resolved. If the resolved file is outside, the path through a linked folder of the
    root is returned, because a server also serves what links in its root lead to.
    """
    return next(
        (
            relative
            for absolute in _list_absolute_paths(path)
            if (relative := _get_path_below(root, absolute)) is not None
        ),
        None,
    )


def is_below(root: str, path: str) -> bool:
    """Return whether a file is in a folder, with all links resolved."""
    return _get_path_below(root, os.path.realpath(path)) is not None


def _list_absolute_paths(path: str) -> list[str]:
    """Return the absolute paths of a file: without links, and as it is given."""
    try:
        real, given = os.path.realpath(path), os.path.abspath(path)
    except ValueError:  # a null character
        return []
    # After a link, ".." is not the folder that is named before it.
    return [real, given] if os.path.realpath(given) == real else [real]


def _get_path_below(root: str, path: str) -> str | None:
    """Return the path of a file from a root on; None if the file is not in the root.

    Folders are compared as files, because names may differ in case and still be the same.
    """
    parts: list[str] = []
    folder = path
    while not _is_same_folder(folder, root):
        folder, name = os.path.split(folder)
        if not name:
            return None
        parts.insert(0, name)
    return "/".join(parts)


def _is_same_folder(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def check_token(token: str, source: str) -> str:
    """Return a token; raise `InvalidAddress`, without showing it, if no header can have it."""
    if not _TOKEN.fullmatch(token):
        message = f"{source} has no valid token: expected printable ASCII without spaces."
        raise errors.InvalidAddress(message)
    return token
