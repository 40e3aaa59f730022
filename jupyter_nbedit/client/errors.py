"""What goes wrong between a client and a server, before or instead of a reply of the REST API.

An error that the REST API answers is raised as the class of `jupyter_nbedit.errors` with its
reason, as on the server. No error contains a token.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from jupyter_nbedit import errors


class ClientError(Exception):
    """The base of the errors of this package.

    ``message`` says what is wrong, what was found and what to do; ``reason`` is a word for
    programs.
    """

    reason: ClassVar[str] = "client_error"

    def __init_subclass__(cls, *, reason: str = "") -> None:
        """Set the reason; a class without a reason has the reason of its base."""
        super().__init_subclass__()
        if reason:
            cls.reason = reason

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class DiscoveryError(ClientError, reason="no_server"):
    """It is not known which server to ask."""


class NoServer(DiscoveryError):
    """No running server with this extension serves the file.

    ``others`` are the `Server` objects of running servers without this extension that serve it.
    """

    def __init__(self, message: str, others: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.others = others


class AmbiguousServer(DiscoveryError, reason="ambiguous_server"):
    """Several servers serve the file, all with the same root."""


class InvalidAddress(DiscoveryError, reason="invalid_address"):
    """The address of a server, or the file with its token, cannot be used."""


class OutsideRoot(DiscoveryError, reason="outside_root"):
    """The file is not below the folder that the server serves."""


class NotebookInRoom(ClientError, reason="open_in_room"):
    """A server without this extension has the notebook open in a room, or cannot tell."""


class ServedNotebook(ClientError, reason="served"):
    """An edit without a server is refused, because a server serves the notebook."""


class TransportError(ClientError, reason="transport_error"):
    """A request has no response."""


class ConnectFailed(TransportError, reason="connect_failed"):
    """Nothing listens at the address; nothing was sent."""


class ServerUnreachable(TransportError, reason="server_unreachable"):
    """There is no connection, but a server may listen at the address; nothing was sent."""


class ConnectForbidden(TransportError, reason="connect_forbidden"):
    """The process may not open connections, as in the sandbox of an agent; nothing was sent."""


class TlsFailed(TransportError, reason="tls_failed"):
    """The certificate of the server is not valid, or TLS fails otherwise; nothing was sent."""


class ConnectionLost(TransportError, reason="connection_lost"):
    """The connection ended before the response; a change may have been made."""


class ResponseTimeout(TransportError, reason="response_timeout"):
    """There was no response in time; a change may have been made."""


class ResponseError(ClientError, reason="unexpected_response"):
    """A response is not one of the REST API."""


class AccessDenied(ResponseError, reason="access_denied"):
    """The server wants a token, or does not accept the token that was sent."""


class Redirected(ResponseError, reason="redirected"):
    """The server redirects to another address, which is not followed."""


class ServerNotRunning(ResponseError, reason="server_not_running"):
    """A proxy or a JupyterHub answers, because the server behind it does not run."""


class ExtensionMissing(ResponseError, reason="extension_missing"):
    """The server runs, but without this extension."""


class ServerError(ResponseError, reason="internal_error"):
    """The REST API answered an error whose reason this version does not know."""

    def __init__(self, message: str, reason: str, details: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.reason = reason  # type: ignore[misc] # of this error, not of its class
        self.details = details


def _list_classes(base: type[errors.NbEditError]) -> dict[str, type[errors.NbEditError]]:
    """Return the class of each reason; of several classes with one reason, the most general."""
    classes: dict[str, type[errors.NbEditError]] = {}
    for kind in base.__subclasses__():
        classes.setdefault(kind.reason, kind)
        for reason, each in _list_classes(kind).items():
            classes.setdefault(reason, each)
    return classes


_CLASSES = _list_classes(errors.NbEditError)


def build_error(
    reason: str, message: str, details: Mapping[str, Any]
) -> errors.NbEditError | ServerError:
    """Return the error that a server has answered."""
    kind = _CLASSES.get(reason)
    if kind is None:
        return ServerError(message, reason, details)
    error = kind(message)
    # Details may have the same names as parameters, so they are not passed as arguments.
    error.details = dict(details)
    return error
