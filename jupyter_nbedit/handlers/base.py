"""What every handler does with a request before and after the real work."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from logging import Logger
from typing import Any, ClassVar, TypeVar

import msgspec
from jupyter_server.auth.identity import IdentityProvider, PasswordIdentityProvider
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import ensure_async
from tornado.web import RequestHandler

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.edits.accept import AcceptService
from jupyter_nbedit.edits.modes import ModeManager
from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.edits.undo import UndoService
from jupyter_nbedit.errors import (
    Forbidden,
    InvalidRequest,
    NbEditError,
    TooLarge,
    UnsupportedMediaType,
)
from jupyter_nbedit.events.emitters import EditEventEmitter
from jupyter_nbedit.handlers.errors import ErrorBody, build_error_body, get_status
from jupyter_nbedit.handlers.idempotency import IdempotencyCache, StoredResponse
from jupyter_nbedit.handlers.openapi.spec import get_spec
from jupyter_nbedit.history.service import HistoryService
from jupyter_nbedit.models import LONGEST_LABEL
from jupyter_nbedit.notebook.request_body import decode_body
from jupyter_nbedit.proposals.service import ProposalService
from jupyter_nbedit.reading.service import ReadService
from jupyter_nbedit.search.service import SearchService
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.tabs import TabRegistry
from jupyter_nbedit.tools.base import ToolContext

#: Where the services are in the settings of the web application.
SERVICES = "jupyter_nbedit_services"

Form = TypeVar("Form", bound=msgspec.Struct)


# What Jupyter itself reads from the query of any API request, and `_`, a time by which helpers such
# as jQuery's keep browsers from answering out of their caches.
_JUPYTERS_ARGUMENTS = frozenset(("token", "_xsrf", "no_track_activity", "_"))
# The same of JupyterLab's `ServerConnection.makeRequest`: the time alone.
_TIME = re.compile("[0-9]+")


@dataclass(frozen=True)
class Services:
    """What handlers call; it is in the settings of the server's web application.

    Parameters
    ----------
    edits, undo, accept, reader, search, history, proposals, modes, tabs, tools
        The services of the extension.
    storages
        Finds the storage of a path.
    events
        Emits an event for each edit.
    idempotency
        Has the answers to requests with an ``Idempotency-Key``.
    request_limit
        The largest body that is read, in bytes.
    routes
        The patterns of the routes, and their handlers.
    log
        The log of the extension.
    """

    edits: EditService
    undo: UndoService
    accept: AcceptService
    reader: ReadService
    search: SearchService
    history: HistoryService
    proposals: ProposalService
    modes: ModeManager
    tabs: TabRegistry
    tools: ToolContext
    storages: StorageResolver
    events: EditEventEmitter
    idempotency: IdempotencyCache
    request_limit: int
    routes: Sequence[tuple[str, type[RequestHandler]]]
    log: Logger


class NbEditHandler(APIHandler):
    """The form of our requests and answers."""

    auth_resource = "nbedit"
    #: What each method does to the contents.
    contents_actions: ClassVar[Mapping[str, str]] = HTTP_METHOD_TO_AUTH_ACTION

    @property
    def services(self) -> Services:
        """The services of the extension."""
        services: Services = self.settings[SERVICES]
        return services

    @property
    def log(self) -> Logger:
        """The log of the extension."""
        return self.services.log

    @property
    def principal(self) -> str:
        """Who asks, under a name that stays the same from request to request.

        Jupyter's own identity providers make up a new user for each request that brings the
        server's token instead of a cookie. Whoever holds the token is one principal here.
        """
        made_up = type(self.identity_provider) in {IdentityProvider, PasswordIdentityProvider}
        return "" if made_up and self.token_authenticated else self.current_user.username

    @property
    def session(self) -> str:
        """Whose reading counts for this request; see `ReadTracker`.

        Raises
        ------
        InvalidRequest
            If the header names no session.
        """
        return f"{self.principal}\n{self._read_label('X-NbEdit-Session') or ''}"

    def _read_label(self, header: str) -> str | None:
        value: str | None = self.request.headers.get(header)
        if value is None:
            return None
        found = None
        if not 0 < len(value) <= LONGEST_LABEL:
            found = f"{len(value)} characters"
        elif not (value.isascii() and value.isprintable()):
            odd = next(char for char in value if not (char.isascii() and char.isprintable()))
            found = f"U+{ord(odd):04X}, which is not one of them"
        if found is not None:
            message = (
                f"Expected `{header}` to have 1 to {LONGEST_LABEL} printable ASCII characters; "
                f"found {found}."
            )
            raise InvalidRequest(message)
        return value

    async def prepare(self) -> None:  # type: ignore[override] # as APIHandler's own
        """Refuse what no verb needs to see."""
        await super().prepare()
        limit = self.services.request_limit
        if len(self.request.body) > limit:
            message = (
                f"The request's body has {len(self.request.body)} bytes, more than the {limit} "
                "this "
                "server takes (NbEditApp.max_request_bytes). Send the operations in several "
                "requests."
            )
            raise TooLarge(message, bytes=len(self.request.body), limit=limit)
        await self._check_contents_right()

    async def _check_contents_right(self) -> None:
        """Ask for the right to contents too, or whoever lacks it would get around that here."""
        action = self.contents_actions.get(self.request.method or "")
        user = self.current_user
        # Without a user, and for other methods, jupyter_server refuses in its own time.
        if (
            user
            and action
            and not await ensure_async(
                self.authorizer.is_authorized(self, user, action, "contents")
            )
        ):
            message = f"You may not {action} contents on this server."
            raise Forbidden(message)

    async def parse_body(self, form: type[Form], *, is_lenient: bool = False) -> Form:
        """Read the body.

        Parameters
        ----------
        form
            Of the body.
        is_lenient
            Whether models have written it; see `decoded`.

        Raises
        ------
        UnsupportedMediaType
            If the body is not said to be JSON.
        InvalidRequest, InvalidOperation
            If it does not have the form.
        """
        media_type = self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            message = (
                "Expected a body with `Content-Type: application/json`, found "
                f"{media_type[:100]!r}."
            )
            raise UnsupportedMediaType(message)
        body = self.request.body
        return await run_in_thread_if_large(
            len(body), partial(decode_body, is_lenient=is_lenient), body, form
        )

    def parse_query(self, form: type[Form]) -> Form:
        """Read the query; a field that is a list may be given several times.

        Raises
        ------
        InvalidRequest
            If it does not have the form.
        """
        repeatable = _list_repeatable_fields(form)
        given: dict[str, Any] = {}
        for name in self._own_query():
            values = self.get_query_arguments(name, strip=False)
            if name in repeatable:
                given[name] = values
            elif len(values) > 1:
                message = f"`{name}` stands {len(values)} times in the query; expected it once."
                raise InvalidRequest(message)
            else:
                given[name] = values[0]
        try:
            return msgspec.convert(given, form, strict=False)
        except msgspec.ValidationError as error:
            message = f"The request's query does not have the expected form: {error}."
            raise InvalidRequest(message) from None

    def _own_query(self) -> dict[str, list[bytes]]:
        """Return the query without what Jupyter reads from it and what its helpers add.

        They add the time, so that it is another one in each retry of a request.
        """
        return {
            name: values
            for name, values in self.request.query_arguments.items()
            if name not in _JUPYTERS_ARGUMENTS and not (_TIME.fullmatch(name) and not any(values))
        }

    async def run_idempotent(self, work: Callable[[], Awaitable[StoredResponse]]) -> None:
        """Do the work and send its answer; for a retry the answer alone.

        Raises
        ------
        InvalidRequest, IdempotencyMismatch
            If the ``Idempotency-Key`` is none, or another request's.
        """
        key = self._read_label("Idempotency-Key")
        if key is None:
            answer = await work()
        else:
            request = self.request
            condition = request.headers.get("If-Match")
            said = (request.method, request.path, self._own_query(), condition, self.session)
            digest = hashlib.sha256(repr(said).encode() + request.body).hexdigest()
            answer = await self.services.idempotency.run(self.principal, key, digest, work)
        self.set_status(answer.status)
        for name, value in answer.headers.items():
            self.set_header(name, value)
        self.finish(answer.body)

    def finish_json(self, reply: Any, *, tag: str | None = None) -> None:
        """Send a reply, with its version as the ``ETag``."""
        if tag is not None:
            self.set_header("ETag", f'"{tag}"')
        self.finish(encode_json(reply))

    def compute_etag(self) -> None:
        """Leave the tag to `answer`: tornado's would be of the body, not of the notebook."""

    def send_error(
        self, status_code: int = HTTPStatus.INTERNAL_SERVER_ERROR, **kwargs: Any
    ) -> None:
        """Send an error with its own status."""
        failure = kwargs.get("exc_info", (None, None, None))[1]
        super().send_error(get_status(failure, status_code), **kwargs)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send a failure in our form."""
        if status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            methods = ((verb, getattr(self, verb.lower())) for verb in self.SUPPORTED_METHODS)
            allowed = [verb for verb, method in methods if get_spec(method) is not None]
            self.set_header("Allow", ", ".join([*allowed, "OPTIONS"]))
        failure = kwargs.get("exc_info", (None, None, None))[1]
        self.finish(encode_json(self.adapt_error(build_error_body(failure, status_code))))

    def adapt_error(self, body: ErrorBody) -> ErrorBody:
        """Return the error in the words of the request, where these are not the operations'."""
        return body

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Log a refusal as one line, with the foreign error behind it, which the answer omits."""
        if isinstance(value, NbEditError):
            cause = value.__cause__
            why = "" if cause is None else f" {type(cause).__name__}: {cause}"
            self.log.info("%s %s: %r", self.request.method, value.reason, value.message + why)
        else:
            super().log_exception(typ, value, tb)


def encode_json(reply: Any) -> bytes:
    """Write a reply as JSON."""
    try:
        return msgspec.json.encode(reply)
    except UnicodeEncodeError:
        # A source with lone surrogates: JSON can say them, as escapes, though UTF-8 cannot.
        written = json.dumps(msgspec.to_builtins(reply))
        # As msgspec does: JSON has no word for what is not a finite number.
        return json.dumps(json.loads(written, parse_constant=lambda _: None)).encode()


@cache
def _list_repeatable_fields(form: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names of the fields that are lists, looked up once for each form."""
    info = msgspec.inspect.type_info(form)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(form)
    return frozenset(field.encode_name for field in info.fields if _is_list(field.type))


def _is_list(form: msgspec.inspect.Type) -> bool:
    if isinstance(form, msgspec.inspect.Metadata):
        return _is_list(form.type)
    if isinstance(form, msgspec.inspect.UnionType):
        return any(map(_is_list, form.types))
    return isinstance(form, msgspec.inspect.ListType)
