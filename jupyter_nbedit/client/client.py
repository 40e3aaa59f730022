"""Send requests to a server, and return its replies or raise its errors."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
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

_REPLIES = (200, 201, 202)
_REDIRECTS = range(300, 400)
_TEXT = "text/plain"
_JSON = "application/json"


class Sender(Protocol):
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


class Client:
    """Sends requests to a server, one at a time.

    ``name`` is the name of the client for the history and for people in JupyterLab.

    The methods return decoded JSON and take API paths; `Server.to_api_path` maps a file. They raise
    the errors of `jupyter_nbedit.errors`, as on the server, and those of
    `jupyter_nbedit.client.errors` if there is no reply.
    """

    def __init__(
        self, server: Sender, *, name: str | None = None, seconds: float = RESPONSE_SECONDS
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

    def read(self, path: str, **query: QueryValue) -> dict[str, Any]:
        """Return a notebook; see `requests.read`."""
        return self._decode(requests.read(path, **query))

    def read_text(self, path: str, **query: QueryValue) -> str:
        """Return a notebook as compact text; see `requests.read`."""
        return self.send(requests.read(path, **query), as_text=True).text

    def edit(
        self, path: str, operations: Sequence[Mapping[str, Any]], **body: Any
    ) -> dict[str, Any]:
        """Apply a batch of operations; see `requests.edit`."""
        return self._decode(requests.edit(path, operations, **body))

    def create(
        self, path: str, cells: Sequence[Mapping[str, Any]] = (), **body: Any
    ) -> dict[str, Any]:
        """Create a notebook; see `requests.create`."""
        return self._decode(requests.create(path, cells, **body))

    def search(self, **body: Any) -> dict[str, Any]:
        """Search notebooks; see `requests.search`."""
        return self._decode(requests.search(**body))

    def list_edits(self, path: str, **query: QueryValue) -> dict[str, Any]:
        """Return a page of the history of a notebook."""
        return self._decode(requests.list_edits(path, **query))

    def read_edit(self, path: str, edit_id: int) -> dict[str, Any]:
        """Return an edit, cell by cell."""
        return self._decode(requests.read_edit(path, edit_id))

    def undo(self, path: str, edit_id: int | None = None, **body: Any) -> dict[str, Any]:
        """Undo an edit, by default the newest."""
        return self._decode(requests.undo(path, edit_id, **body))

    def redo(self, path: str, edit_id: int | None = None, **body: Any) -> dict[str, Any]:
        """Redo an edit, by default the one that was undone last."""
        return self._decode(requests.redo(path, edit_id, **body))

    def undo_cells(self, path: str, keys: Sequence[str], **body: Any) -> dict[str, Any]:
        """Undo the changes of cells, across edits; see `requests.undo_cells`."""
        return self._decode(requests.undo_cells(path, keys, **body))

    def restore(self, path: str, edit_id: int, **body: Any) -> dict[str, Any]:
        """Return a notebook to what it was after an edit."""
        return self._decode(requests.restore(path, edit_id, **body))

    def get_unseen(self, path: str) -> dict[str, Any]:
        """Return the changes of a notebook that the user has not kept."""
        return self._decode(requests.read_unseen(path))

    def list_unseen_notebooks(self) -> dict[str, Any]:
        """Return the notebooks with edits that the user has not kept."""
        return self._decode(requests.list_unseen_notebooks())

    def keep(
        self, path: str, keys: Sequence[str] | None = None, *, until: int | None = None
    ) -> dict[str, Any]:
        """Keep changes, all without ``keys``; return what is left."""
        return self._decode(requests.keep(path, keys, until=until))

    def list_proposals(self, path: str | None = None, **query: QueryValue) -> dict[str, Any]:
        """Return the proposals of a notebook or of all."""
        return self._decode(requests.list_proposals(path, **query))

    def read_proposal(self, proposal_id: int, *, wait: float = 0) -> dict[str, Any]:
        """Return a proposal, after waiting up to ``wait`` seconds for a decision."""
        return self._decode(requests.read_proposal(proposal_id, wait=wait))

    def accept_proposal(self, proposal_id: int, **body: Any) -> dict[str, Any]:
        """Accept a proposal; see `requests.accept_proposal`."""
        return self._decode(requests.accept_proposal(proposal_id, **body))

    def reject_proposal(self, proposal_id: int, **body: Any) -> dict[str, Any]:
        """Reject a proposal; see `requests.reject_proposal`."""
        return self._decode(requests.reject_proposal(proposal_id, **body))

    def reopen_proposal(self, proposal_id: int, **body: Any) -> dict[str, Any]:
        """Reopen a proposal; see `requests.reopen_proposal`."""
        return self._decode(requests.reopen_proposal(proposal_id, **body))

    def read_mode(self, path: str | None = None) -> dict[str, Any]:
        """Return the mode of a notebook or of the server."""
        return self._decode(requests.read_mode(path))

    def describe_server(self) -> dict[str, Any]:
        """Return version, mode and limits of the server."""
        return self._decode(requests.describe_server())

    def _decode(self, request: Request) -> dict[str, Any]:
        content: dict[str, Any] = self.send(request).decode()
        return content


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


def _build_response_error(server: Sender, response: Response) -> Exception:
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


def build_foreign_error(server: Sender, response: Response) -> ClientError:
    """Return the error of a response that is not of the REST API, but of a proxy for example."""
    if isinstance(server, Server) and is_from_hub(response):
        # For a stopped server, the Hub says so to a GET only, and forbids other methods.
        problem = inspect_server(server).problem
        if isinstance(problem, ServerNotRunning | InvalidAddress):
            return problem
    if response.status in _REDIRECTS:
        return build_redirect(server.url, response)
    if response.status in (401, 403):
        message = f"{server.url} does not allow this ({response.status}). Is the token right?"
        return AccessDenied(message)
    if response.status == 404:  # noqa: PLR2004 -- HTTP's Not Found
        message = f"The server at {server.url} runs without jupyter_nbedit, or not any more."
        return ExtensionMissing(message)
    message = (
        f"{server.url} answered {response.status}, which is no reply of jupyter_nbedit. Is there a "
        "proxy before the server, or is it stopping?"
    )
    return ResponseError(message)
