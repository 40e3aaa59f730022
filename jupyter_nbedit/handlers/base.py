"""The base of all handlers: permissions, bodies, queries, replies and errors; `Services`."""

import hashlib
import json
import re
from asyncio import Future
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from http import HTTPStatus
from logging import Logger
from typing import Any, ClassVar, NoReturn, TypeVar

import msgspec
from jupyter_server.auth.identity import IdentityProvider, PasswordIdentityProvider
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import ensure_async
from tornado import web
from tornado.web import RequestHandler, stream_request_body

from jupyter_nbedit import errors
from jupyter_nbedit.handlers.context import CONTEXT, HandlerContext
from jupyter_nbedit.handlers.errors import ErrorBody, build_error_body, get_status
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.large_requests import LARGE_BODY_BYTES, LargeRequest
from jupyter_nbedit.handlers.negotiation import TEXT_TYPE, prefers_text
from jupyter_nbedit.handlers.spec import CLIENT, IDEMPOTENCY_KEY, PAGE, SESSION
from jupyter_nbedit.notebook.decode_body import decode_body
from jupyter_nbedit.notebook.json_values import MAX_JSON_VALUES
from jupyter_nbedit.notebook.operations import MAX_INTEGER
from jupyter_nbedit.services.all_services import Services
from jupyter_nbedit.services.policy import Decision, build_refusal, decide
from jupyter_nbedit.services.requests import MAX_LABEL_LENGTH, Author
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.text.errors import render_error

_CORS_HEADER = "Access-Control-Allow-Headers"

_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_Reply = TypeVar("_Reply")


# The arguments that Jupyter itself reads from the query of a request, and `_`, the time that jQuery
# adds against caching.
_JUPYTER_ARGUMENTS = frozenset(("token", "_xsrf", "no_track_activity", "_"))
# JupyterLab's `ServerConnection.makeRequest` adds the time as a name without a value.
_TIME = re.compile("[0-9]+")
_TEXT_CONTENT = f"{TEXT_TYPE}; charset=UTF-8"


#: Who has the token or the password of a server without user names. Rights never depend on it.
ANONYMOUS_USER = "anonymous"


def has_random_users(identity_provider: IdentityProvider) -> bool:
    """Return whether Jupyter makes up users; a name then does not tell who the user is."""
    return type(identity_provider) in {IdentityProvider, PasswordIdentityProvider}


# Without this, Tornado keeps each body twice while the request waits for a slot.
@stream_request_body
class NbEditHandler(APIHandler):
    """The base of all handlers.

    A verb runs when the whole body has been received, as in other handlers.
    """

    auth_resource = "nbedit"
    #: The permission for contents that each method needs, unless its `OperationSpec` says it.
    contents_actions: ClassVar[Mapping[str, str]] = HTTP_METHOD_TO_AUTH_ACTION
    #: The headers that a page of another site may send, if the settings allow that site.
    request_headers: ClassVar[Sequence[str]] = (
        # Those that Jupyter Server allows.
        *("Accept", "Content-Type", "Authorization", "X-XSRFToken"),
        *(header.name for header in (IDEMPOTENCY_KEY, SESSION, CLIENT, PAGE)),
        "If-Match",
    )
    #: The headers of a request on which the form of the reply depends.
    varying_headers: ClassVar[Sequence[str]] = ("Accept",)
    #: Whether a page may send its id, which says that the request comes from a person.
    is_for_pages: ClassVar[bool] = True
    # The user and the key of a request that other requests may be retries of.
    _idempotency_name: tuple[str, str] | None = None
    # None if the body is not large.
    _large_request: LargeRequest | None = None
    # Whether the reply is an error, for which the body is not kept.
    _is_refused = False
    _received_bytes = 0

    @property
    def context(self) -> HandlerContext:
        """What all handlers need."""
        context: HandlerContext = self.settings[CONTEXT]
        return context

    @property
    def services(self) -> Services:
        """The services of the extension."""
        return self.context.services

    @property
    def log(self) -> Logger:
        """The log of the extension."""
        return self.context.log

    @property
    def prefers_text(self) -> bool:
        """Whether the client prefers a text for models and terminals to JSON."""
        return prefers_text(",".join(self.request.headers.get_list("Accept")))

    @property
    def principal(self) -> str:
        """The name of the user that stays the same in all requests.

        Jupyter's own identity providers make up a new user for each request with the token of the
        server instead of a cookie. All clients with the token are one principal, named "".
        """
        is_anonymous = self._has_random_users and self.token_authenticated
        return "" if is_anonymous else self.current_user.username

    @property
    def account(self) -> str:
        """The name of the person, as far as the server can tell people apart.

        All who log in with the token or the password of the server are one person, named "", in
        whichever browser: Jupyter's own identity providers make up a new user for each of them.
        Who works without a server is this person, too.
        """
        is_unnamed = self._has_random_users or not self.services.tabs.has_server
        return "" if is_unnamed else self.current_user.username

    @property
    def user_name(self) -> str:
        """The name of the user for histories, logs, events and people.

        Where Jupyter makes up users, nobody's name is known: all of them are `ANONYMOUS_USER`.
        """
        return ANONYMOUS_USER if self._has_random_users else self.current_user.username

    @property
    def _has_random_users(self) -> bool:
        return has_random_users(self.identity_provider)

    @property
    def session(self) -> str:
        """The session of this request; see `ReadTracker`.

        Raises
        ------
        InvalidRequest
            If the header is not valid.
        """
        return f"{self.principal}\n{self.read_label(SESSION.name) or ''}"

    def build_author(self, client: str | None = None, message: str | None = None) -> Author:
        """Return who sends the request; ``client`` and ``message`` are what the body states."""
        client = self.read_label(CLIENT.name) if client is None else client
        return Author(
            self.user_name,
            client,
            message,
            self.session,
            self.account,
            is_person=self._is_from_page(),
        )

    def _is_from_page(self) -> bool:
        """Return whether the person in an open page sends the request.

        Raise `PageUnknown` if the server does not know the page: the request never counts as the
        request of a program, which may do other things.
        """
        page_id = self.request.headers.get(PAGE.name) if self.is_for_pages else None
        if page_id is not None and not self.services.tabs.has_page(page_id, self.account):
            raise errors.PageUnknown
        return page_id is not None

    def authorize(self, decision: Decision, author: Author) -> None:
        """Raise `Forbidden` if the author may not make a decision."""
        if decide(decision, author) == "refuse":
            raise build_refusal(decision, author)

    def log_decision(self, decision: Decision, author: Author, subject: object) -> None:
        """Log a decision that was carried out, with the user and the client."""
        who = "a person in a page" if author.is_person else "a program"
        self.log.info(
            "%s %r: by %s, user %r, client %r", decision, subject, who, author.user, author.client
        )

    def read_label(self, header: str) -> str | None:
        """Return the value of a header, or None; raise `InvalidRequest` if the value is bad."""
        value: str | None = self.request.headers.get(header)
        if value is None:
            return None
        problem = None
        if not 0 < len(value) <= MAX_LABEL_LENGTH:
            problem = f"{len(value)} characters"
        elif not (value.isascii() and value.isprintable()):
            bad_char = next(char for char in value if not (char.isascii() and char.isprintable()))
            problem = f"U+{ord(bad_char):04X}, which is not one of them"
        if problem is not None:
            raise errors.InvalidRequest(
                f"Expected `{header}` to have 1 to {MAX_LABEL_LENGTH} printable ASCII characters; "
                f"found {problem}."
            )
        return value

    def initialize(self) -> None:
        """Begin to receive the body."""
        #: The body once `read_body` has returned it.
        self.body = b""
        self._received = bytearray()

    async def prepare(self) -> None:  # type: ignore[override] # as APIHandler's own
        """Check the request before its body is received.

        The verb raises the error: Tornado closes the connection after a reply that is sent before
        the end of the body, and many clients then never read the reply.
        """
        try:
            await self.check_request()
        except Exception as error:  # noqa: BLE001 - of any kind, as Tornado does
            self._refuse(error)

    def decode_argument(self, value: bytes, name: str | None = None) -> str:
        """Decode an argument; the verb raises the error of a path that is not UTF-8."""
        try:
            return super().decode_argument(value, name)
        except web.HTTPError as error:
            # Tornado stores the arguments of the path before it decodes the arguments of the
            # query.
            if getattr(self, "path_kwargs", None) is not None:
                raise
            self._refuse(error)
            return ""

    def _refuse(self, error: Exception) -> None:
        """Let the verb of the request raise an error, and forget the body."""

        def raise_error(*_arguments: str, **_path: str) -> NoReturn:
            raise error

        self._is_refused = True
        self._received = bytearray()
        if self._large_request is not None:
            self._large_request.release()
        setattr(self, (self.request.method or "").lower(), raise_error)

    async def check_request(self) -> None:
        """Raise an error if the user may not send the request."""
        await super().prepare()
        method = self.request.method or ""
        spec = getattr(getattr(self, method.lower(), None), "spec", None)
        action = (spec and spec.action) or self.contents_actions.get(method)
        # jupyter_server itself rejects requests without a user, and other methods. `authorized`
        # checks the permission for ``nbedit``.
        if self.current_user and action:
            await self._check_right(action, "contents")
        if self.current_user:
            self._is_from_page()

    async def data_received(self, chunk: bytes) -> None:
        """Keep a part of the body; wait for a slot if the body is large."""
        self._received_bytes += len(chunk)
        if self._is_refused:
            return
        declared_bytes = int(self.request.headers.get("Content-Length", "0"))
        limit = self.context.max_request_bytes
        if max(declared_bytes, self._received_bytes) > limit:
            # Of a body that is sent in chunks, only the end tells the length.
            size = declared_bytes or self._received_bytes
            message = (
                f"The request's body has {'' if declared_bytes else 'at least '}{size} bytes, more "
                f"than the {limit} this server takes (NbEditApp.max_request_bytes). Send the "
                "operations in several requests."
            )
            self._refuse(errors.TooLarge(message, bytes=size, limit=limit))
            return
        self._received += chunk
        if self._received_bytes > LARGE_BODY_BYTES and self._large_request is None:
            self._large_request = LargeRequest(self.context.large_requests)
            await self._large_request.acquire_receive_slot()

    async def read_body(self) -> bytes:
        """Return the body of the request; if it is large, when the request may be handled."""
        if self._large_request is not None:
            await self._large_request.acquire_handle_slot()
        if self._received:
            self.body = bytes(self._received)
            self._received = bytearray()
        return self.body

    async def check_write_right(self) -> None:
        """Raise `Forbidden` if the user may not change notebooks, for verbs that mostly read."""
        for resource in (self.auth_resource, "contents"):
            await self._check_right("write", resource)

    async def has_write_right(self) -> bool:
        """Return whether the user may change notebooks."""
        try:
            await self.check_write_right()
        except errors.Forbidden:
            return False
        return True

    async def _check_right(self, action: str, resource: str) -> None:
        user = self.current_user
        if not await ensure_async(self.authorizer.is_authorized(self, user, action, resource)):
            raise errors.Forbidden(f"You may not {action} {resource} on this server.")

    async def parse_body(
        self, body_type: type[_Struct], *, max_values: int = MAX_JSON_VALUES
    ) -> _Struct:
        """Decode the body of the request.

        Raises
        ------
        UnsupportedMediaType
            If the content type is not JSON.
        TooLarge
            If the body has more JSON values.
        InvalidRequest, InvalidOperation
            If the body does not have the type.
        """
        self.check_media_type()
        body = await self.read_body()
        if IDEMPOTENCY_KEY.name not in self.request.headers:
            # Only the comparison with a retry reads it again.
            self.body = b""
        return await run_in_thread_if_large(
            len(body), partial(decode_body, max_values=max_values), body, body_type
        )

    def check_media_type(self) -> None:
        """Raise `UnsupportedMediaType` if the content type is not JSON."""
        media_type = self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise errors.UnsupportedMediaType(
                "Expected a body with `Content-Type: application/json`, found "
                f"{media_type[:100]!r}."
            )

    def parse_query(self, query_type: type[_Struct]) -> _Struct:
        """Decode the query of the request; arguments for lists may be repeated.

        Raises
        ------
        InvalidRequest
            If the query does not have the type.
        """
        repeatable_names = _list_repeatable_fields(query_type)
        arguments: dict[str, Any] = {}
        for name in self._list_arguments():
            values = self.get_query_arguments(name, strip=False)
            if name in repeatable_names:
                arguments[name] = values
            elif len(values) > 1:
                message = f"`{name}` occurs {len(values)} times in the query; expected it once."
                raise errors.InvalidRequest(message)
            else:
                arguments[name] = values[0]
        try:
            return msgspec.convert(arguments, query_type, strict=False)
        except msgspec.ValidationError as error:
            message = f"The request's query does not have the expected form: {error}."
            raise errors.InvalidRequest(message) from None

    def _list_arguments(self) -> dict[str, list[bytes]]:
        """Return the query without the arguments of Jupyter, which may differ in each retry."""
        return {
            name: values
            for name, values in self.request.query_arguments.items()
            if name not in _JUPYTER_ARGUMENTS and not (_TIME.fullmatch(name) and not any(values))
        }

    async def replay_response(self) -> bool:
        """Send the earlier response if this request is a retry; return whether it is.

        If it returns False, the verb must send its response with `send_reply` or `send_response`,
        which store it for retries. Retries that arrive meanwhile wait for it.

        Raises
        ------
        InvalidRequest
            If the ``Idempotency-Key`` is not valid.
        IdempotencyMismatch
            If another request has used it.
        """
        request = self.request
        content = (
            request.method,
            request.path,
            self._list_arguments(),
            request.headers.get("If-Match"),
            self.prefers_text,
        )
        response = await self.find_response(repr(content).encode(), await self.read_body())
        if response is None:
            return False
        self.finish_response(response)
        return True

    async def find_response(self, *content: bytes) -> StoredResponse | None:
        """Return the earlier response if the request is a retry; else None.

        Retries of a request have the same bytes in ``content``, and the same ``Idempotency-Key``.
        The caller must pass a response that is not an error to `store_response`. Raise errors as
        `replay_response` does.
        """
        key = self.read_label(IDEMPOTENCY_KEY.name)
        if key is None:
            return None
        hasher = hashlib.sha256(repr((self.session, self._is_from_page())).encode())
        for part in content:
            hasher.update(part)
        name = (self.principal, key)
        response = await self.context.idempotency.begin(name, hasher.hexdigest())
        if response is None:
            self._idempotency_name = name
        return response

    def store_response(self, response: StoredResponse) -> None:
        """Store a response for retries of the request, if it has an ``Idempotency-Key``."""
        if self._idempotency_name is not None:
            self.context.idempotency.complete(self._idempotency_name, response)
            self._idempotency_name = None

    def build_response(
        self,
        reply: _Reply,
        render: Callable[[_Reply], str] | None = None,
        *,
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
    ) -> StoredResponse:
        """Return the response with a reply, as text if there are texts and the client prefers them.

        ``render`` returns the text of a reply. Without it, the response is always JSON.
        """
        is_text = render is not None and self.prefers_text
        body = encode_text(render(reply)) if render and is_text else encode_json(reply)
        return StoredResponse(body, status, headers or {}, is_text)

    def send_reply(
        self, reply: _Reply, render: Callable[[_Reply], str] | None = None, **options: Any
    ) -> None:
        """Send a reply and store it for retries of the request; see `build_response`."""
        self.send_response(self.build_response(reply, render, **options))

    def send_response(self, response: StoredResponse) -> None:
        """Send a response and store it for retries of the request."""
        self.store_response(response)
        self.finish_response(response)

    def finish_response(self, response: StoredResponse) -> None:
        """Send a response without storing it."""
        self.set_status(response.status)
        for name, value in response.headers.items():
            self.set_header(name, value)
        if response.is_text:
            self.finish(response.body, set_content_type=_TEXT_CONTENT)
            return
        self.finish(response.body)

    def on_connection_close(self) -> None:
        """Let another large body be received if the rest of this one does not come."""
        super().on_connection_close()
        if self._large_request is not None:
            self._large_request.release_receive_slot()

    def on_finish(self) -> None:
        """Let the next retry run if this request has failed, and the next large request."""
        if self._large_request is not None:
            self._large_request.release()
        if self._idempotency_name is not None:
            self.context.idempotency.abandon(self._idempotency_name)
        super().on_finish()

    def finish(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send the reply, with the names of the headers on which its form depends.

        To the question of a page of another site, it has the headers of a request.
        """
        self.set_header("Vary", ", ".join(self.varying_headers))
        configured = self.settings.get("headers", {})
        if self.request.method == "OPTIONS" and _CORS_HEADER not in configured:
            self.set_header(_CORS_HEADER, ", ".join(map(str.lower, self.request_headers)))
        return super().finish(*args, **kwargs)

    def compute_etag(self) -> None:
        """Do nothing: tornado's tag would be of the body, not of the notebook."""

    def send_error(
        self, status_code: int = HTTPStatus.INTERNAL_SERVER_ERROR, **kwargs: Any
    ) -> None:
        """Send an error with the status of the exception."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        super().send_error(get_status(error, status_code), **kwargs)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send an error as an `ErrorBody`."""
        if status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            methods = vars(RequestHandler)
            allowed_verbs = [
                verb
                for verb in self.SUPPORTED_METHODS
                if getattr(type(self), verb.lower()) is not methods[verb.lower()]
            ]
            self.set_header("Allow", ", ".join(allowed_verbs))
        error = kwargs.get("exc_info", (None, None, None))[1]
        body = self.adapt_error(build_error_body(error, status_code))
        self.finish_response(self.build_response(body, _render_error, status=status_code))

    def adapt_error(self, body: ErrorBody) -> ErrorBody:
        """Return the error in the words of the request; for subclasses."""
        return body

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Log an `NbEditError` as one line, with its cause, which the reply does not contain."""
        if isinstance(value, errors.NbEditError):
            cause = value.__cause__
            suffix = "" if cause is None else f" {type(cause).__name__}: {cause}"
            self.log.info("%s %s: %r", self.request.method, value.reason, value.message + suffix)
        else:
            super().log_exception(typ, value, tb)


def _render_error(body: ErrorBody) -> str:
    return render_error(body.reason, body.message, body.details)


def encode_json(reply: Any) -> bytes:
    """Encode a reply as JSON."""
    try:
        return msgspec.json.encode(reply)
    except UnicodeEncodeError:
        # A source with lone surrogates cannot be UTF-8, but JSON can escape them.
        text = json.dumps(msgspec.to_builtins(reply))
        # Numbers that are not finite become null, as in msgspec.
        return json.dumps(json.loads(text, parse_constant=lambda _: None)).encode()


def encode_text(text: str) -> bytes:
    """Encode a text; a lone surrogate, which cannot be UTF-8, is written as its escape."""
    return f"{text}\n".encode("utf-8", "backslashreplace")


@cache
def _list_repeatable_fields(struct_type: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names of the fields that are lists."""
    info = msgspec.inspect.type_info(struct_type)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(struct_type)
    return frozenset(field.encode_name for field in info.fields if _is_list(field.type))


def _is_list(field_type: msgspec.inspect.Type) -> bool:
    if isinstance(field_type, msgspec.inspect.Metadata):
        return _is_list(field_type.type)
    if isinstance(field_type, msgspec.inspect.UnionType):
        return any(map(_is_list, field_type.types))
    return isinstance(field_type, msgspec.inspect.ListType)


def parse_number(text: str) -> int:
    """Return the number of an edit or a proposal in an address, or 0, which no edit has."""
    # Python refuses to parse thousands of digits.
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_INTEGER))
    return int(text) if is_number and int(text) <= MAX_INTEGER else 0
