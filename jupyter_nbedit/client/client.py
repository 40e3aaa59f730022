"""Send requests to a server, and return its replies or raise its errors."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec, Protocol
from urllib.parse import quote, urlencode

from jupyter_nbedit import errors
from jupyter_nbedit.client import requests
from jupyter_nbedit.client.discovery import build_redirect, inspect_server
from jupyter_nbedit.client.errors import (
    AccessDenied,
    ClientError,
    ExtensionMissing,
    InvalidAddress,
    ResponseError,
    ServerNotRunning,
    build_error,
)
from jupyter_nbedit.client.hub import is_from_hub
from jupyter_nbedit.client.requests import QueryValue, Reply, Request
from jupyter_nbedit.client.server import RESPONSE_SECONDS, Response, Server

_Parameters = ParamSpec("_Parameters")
_REPLIES = (200, 201, 202)
_TEXT = "text/plain"
_JSON = "application/json"


class Transport(Protocol):
    """What requests are sent to: a `Server`, or an `OfflineServer` in this process."""

    @property
    def url(self) -> str:
        """The address, for messages."""
        ...

    def send(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        response_seconds: float = RESPONSE_SECONDS,
    ) -> Response:
        """Return the response to a request; see `Server.send`."""
        ...


def _as_method(
    build_request: Callable[_Parameters, Request],
) -> Callable[Concatenate[Client, _Parameters], dict[str, Any]]:
    """Return the method of `Client` that sends a request and returns the decoded reply."""

    @wraps(build_request)
    def send(
        client: Client, /, *arguments: _Parameters.args, **fields: _Parameters.kwargs
    ) -> dict[str, Any]:
        content: dict[str, Any] = client.send(build_request(*arguments, **fields)).decode()
        return content

    return send


class Client:
    """Sends requests to a server, one at a time.

    ``name`` is the name of the client for the history and for people in JupyterLab.

    `jupyter_nbedit.client.requests` says what its methods do and take. They return decoded JSON and
    take API paths; `Server.to_api_path` maps a file. They raise the errors of
    `jupyter_nbedit.errors`, as on the server, and those of `jupyter_nbedit.client.errors` if there
    is no reply.
    """

    def __init__(
        self, server: Transport, *, name: str | None = None, seconds: float = RESPONSE_SECONDS
    ) -> None:
        self.server = server
        self._name = name
        self._seconds = seconds

    def send(self, request: Request, *, as_text: bool = False, key: str | None = None) -> Reply:
        """Return the reply to a request, in the text form if ``as_text``.

        ``key`` is the ``Idempotency-Key`` of a request that was sent before; a new one without it.

        Raise the error of `jupyter_nbedit.errors` that the reply is. With ``as_text``, its message
        is the text form of the error without the reason, and it has no details.
        """
        headers = {"Accept": _TEXT if as_text else _JSON}
        body = None
        if request.method != "GET":
            body = json.dumps(self._add_name(request)).encode()
            headers["Content-Type"] = _JSON
            headers["Idempotency-Key"] = key or secrets.token_hex(16)
        response = self.server.send(
            request.method, _build_target(request), body, headers, response_seconds=self._seconds
        )
        if response.status in _REPLIES:
            return Reply(response.status, response.body, response.content_type == _TEXT)
        raise _build_response_error(self.server, response)

    def _add_name(self, request: Request) -> dict[str, Any]:
        is_change = request.parts[0] in {"notebooks", "proposals"} and request.has_author
        name = {"client": self._name} if is_change and self._name is not None else {}
        return {**name, **(request.body or {})}

    def read_text(self, path: str, **query: QueryValue) -> str:
        """Return a notebook as compact text; see `read`."""
        return self.send(requests.read(path, **query), as_text=True).text

    describe_server = _as_method(requests.describe_server)
    read = _as_method(requests.read)
    edit = _as_method(requests.edit)
    create = _as_method(requests.create)
    search = _as_method(requests.search)
    list_edits = _as_method(requests.list_edits)
    read_edit = _as_method(requests.read_edit)
    undo = _as_method(requests.undo)
    redo = _as_method(requests.redo)
    undo_cells = _as_method(requests.undo_cells)
    restore = _as_method(requests.restore)
    get_unseen = _as_method(requests.get_unseen)
    list_unseen_notebooks = _as_method(requests.list_unseen_notebooks)
    keep = _as_method(requests.keep)
    list_proposals = _as_method(requests.list_proposals)
    read_proposal = _as_method(requests.read_proposal)
    accept_proposal = _as_method(requests.accept_proposal)
    reject_proposal = _as_method(requests.reject_proposal)
    reopen_proposal = _as_method(requests.reopen_proposal)
    read_mode = _as_method(requests.read_mode)


def _build_target(request: Request) -> str:
    try:
        target = "/".join(["nbedit", *map(quote, request.parts)])
        query = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in request.query.items()
            if value is not None
        }
        return f"{target}?{urlencode(query, doseq=True)}" if query else target
    except UnicodeEncodeError:
        message = "The request has a name that is not valid Unicode, which no address can have."
        raise errors.InvalidRequest(message) from None


def _build_response_error(server: Transport, response: Response) -> Exception:
    """Return the error that a response is."""
    if response.content_type == _TEXT:
        reason, separator, message = response.body.decode("utf-8", "replace").partition(": ")
        if separator and reason.isidentifier():
            return build_error(reason, message.removesuffix("\n"), {})
    try:
        content = json.loads(response.body)
        return build_error(content["reason"], content["message"], content["details"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return build_foreign_error(server, response)


def build_foreign_error(server: Transport, response: Response) -> ClientError:
    """Return the error of a response that is not of the REST API, but of a proxy for example."""
    if isinstance(server, Server) and is_from_hub(response):
        # For a stopped server, the Hub says so to a GET only, and forbids other methods.
        problem = inspect_server(server).problem
        if isinstance(problem, ServerNotRunning | InvalidAddress):
            return problem
    if response.is_redirect:
        return build_redirect(server.url, response)
    if response.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        message = f"{server.url} does not allow this ({response.status}). Is the token right?"
        return AccessDenied(message)
    if response.status == HTTPStatus.NOT_FOUND:
        message = f"The server at {server.url} runs without jupyter_nbedit, or not any more."
        return ExtensionMissing(message)
    return ResponseError(
        f"{server.url} answered {response.status}, which is no reply of jupyter_nbedit. Is there a "
        "proxy before the server, or is it stopping?"
    )
