"""`OperationSpec`, with which a verb of a handler declares what it takes, answers and needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from http import HTTPStatus
from typing import Any, Literal

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_nbedit import errors
from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.json_values import MAX_JSON_VALUES

#: The regular expression of an address, and its handler.
Route = tuple[str, type[Any]]
_Verb = Callable[..., Any]
#: The address of a notebook: a path that ends in .ipynb, even below folders named `x.ipynb`.
NOTEBOOK = r"/nbedit/notebooks/(?P<path>.*\.ipynb)"

#: The errors of reading a notebook.
READ_ERRORS: tuple[type[NbEditError], ...] = (
    errors.NotebookNotFound,
    errors.NotAPlainFile,
    errors.InvalidNotebook,
    errors.Busy,
    errors.StorageFailure,
)
#: The errors of writing a notebook.
WRITE_ERRORS: tuple[type[NbEditError], ...] = (
    errors.PlanMode,
    errors.TooManyProposals,
    errors.HistoryUnavailable,
    errors.ModesUnreadable,
    errors.NoSpace,
    errors.IdempotencyMismatch,
)

#: The errors of changing a notebook that exists.
EDIT_ERRORS: tuple[type[NbEditError], ...] = (
    *READ_ERRORS,
    *WRITE_ERRORS,
    errors.HashMismatch,
    errors.ReadRequired,
    errors.PageUnknown,
)
#: The errors of creating a notebook.
CREATE_ERRORS: tuple[type[NbEditError], ...] = (
    errors.NotebookNotFound,
    errors.NotebookExists,
    errors.NotAPlainFile,
    errors.Busy,
    errors.StorageFailure,
    *WRITE_ERRORS,
    errors.InvalidOperation,
    errors.PageUnknown,
)

#: The errors of applying an operation to a notebook.
OPERATION_ERRORS: tuple[type[NbEditError], ...] = (
    errors.InvalidOperation,
    errors.CellProtected,
    errors.CellNotFound,
    errors.SectionNotFound,
    errors.AmbiguousCell,
    errors.AmbiguousSection,
    errors.TextMismatch,
    errors.CellChanged,
)


@dataclass(frozen=True)
class Header:
    """A header of requests or responses; ``pattern`` is a regular expression for valid values."""

    name: str
    description: str
    pattern: str | None = None


IF_MATCH = Header(
    "If-Match",
    "The `ETag` of the only version that the request is for, or `*` for any. If the notebook has "
    'another version: 412 `hash_mismatch`. A weak tag, `W/"…"`, never matches (RFC 9110, 13.1.1); '
    "if a proxy weakens tags, send the hash in the body.",
    r'^(\*|(W/)?"[!#-+\--~]+")$',
)
IF_NONE_MATCH = Header(
    "If-None-Match",
    "The `ETag` of the version you have: if it is the current one, the status is 304.",
)
IF_NONE_MATCH_ANY = Header("If-None-Match", "`*`, which is the default for creating.", r"^\*$")
IDEMPOTENCY_KEY = Header(
    "Idempotency-Key",
    "A new key for every new request. The same request with the same key gets the first response "
    "again, and nothing is done twice; another request with it: 422 `idempotency_mismatch`. Errors "
    "are not remembered, and a restart of the server forgets all keys.",
    r"^[ -~]{1,200}$",
)
SESSION = Header(
    "X-NbEdit-Session",
    "The name of your session among those of your user, if the server requires clients to read a "
    "notebook before they edit it.",
    r"^[ -~]{1,200}$",
)
CLIENT = Header(
    "X-NbEdit-Client",
    "The name of your client, for the log, the history and JupyterLab; not verified. The field "
    "`client` of a body comes first.",
    r"^[ -~]{1,200}$",
)
PAGE = Header(
    "X-NbEdit-Page",
    "Only sent by the buttons of JupyterLab: the id of the open page, which the server sends on "
    "the socket `nbedit/tabs`. The request then comes from a person. If the server does not know "
    "the page: 409 `page_unknown`, and nothing is changed.",
    r"^[0-9a-f]{32}$",
)
ETAG = Header("ETag", "The hash of the notebook, in quotation marks.", r'^"[0-9a-f]{64}"$')
LOCATION = Header("Location", "The address of the new cell, notebook or proposal.", r"^/")
#: The headers of requests that read, change or create a notebook.
READ_HEADERS = (IF_NONE_MATCH, SESSION)
EDIT_HEADERS = (IF_MATCH, IDEMPOTENCY_KEY, SESSION, CLIENT, PAGE)
CREATE_HEADERS = (IDEMPOTENCY_KEY, IF_NONE_MATCH_ANY, SESSION, CLIENT, PAGE)
#: The headers of a decision about changes, proposals, modes or the history.
DECISION_HEADERS = (CLIENT, PAGE)


@dataclass(frozen=True)
class Reply:
    """A response that is not an error, or an error in a form of its own.

    ``body`` is a struct or one of several, a JSON Schema, or None for no body.
    """

    body: type[msgspec.Struct] | tuple[type[msgspec.Struct], ...] | Mapping[str, Any] | None
    description: str
    headers: Sequence[Header] = ()


@dataclass(frozen=True)
class OperationSpec:
    """What a verb of a route takes and answers; a decorator that prepares each request.

    The decorated verb runs if the user is logged in and has the right for ``action``. The default
    is the action of the HTTP method. If the verb has a parameter ``body`` or ``query``, it gets the
    decoded body or query. With the header `IDEMPOTENCY_KEY` it does not run for a retry, which gets
    the earlier response; a verb without ``body`` and ``query`` looks for retries itself.

    With ``has_text`` the replies may be texts for models and terminals, too. ``errors`` are those
    besides the errors of every request; ``error_type`` is the type of their bodies. The description
    is the docstring of the verb, unless there is another. For a route whose only parameter is
    ``address``, ``addresses`` has the specification of each value; the verb itself then has none.
    """

    summary: str
    replies: Mapping[HTTPStatus, Reply]
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    headers: Sequence[Header] = ()
    errors: Sequence[type[NbEditError]] = ()
    error_type: type[msgspec.Struct] | None = None
    addresses: Mapping[str, OperationSpec] = field(default_factory=dict)
    description: str = ""
    has_text: bool = False
    action: Literal["read", "write"] | None = None
    max_values: int = MAX_JSON_VALUES

    def __call__(self, verb: _Verb) -> _Verb:
        """Return the verb with its checks, and with this specification as its ``spec``."""
        parameters = inspect.signature(verb).parameters
        is_repeatable = IDEMPOTENCY_KEY in self.headers and not parameters.keys().isdisjoint(
            ("body", "query")
        )

        @wraps(verb)
        async def run(handler: Any, **arguments: Any) -> None:
            if "body" in parameters:
                arguments["body"] = await handler.parse_body(self.body, max_values=self.max_values)
            if "query" in parameters:
                arguments["query"] = handler.parse_query(self.query)
            if not (is_repeatable and await handler.replay_response()):
                await verb(handler, **arguments)

        checked: _Verb = web.authenticated(authorized(self.action)(run))
        vars(checked)["spec"] = self
        return checked
