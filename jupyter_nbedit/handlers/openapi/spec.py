"""`OperationSpec`, which declares at a verb what it takes and sends; the source of OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from jupyter_nbedit import errors
from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.handlers.errors import ErrorBody

_Verb = TypeVar("_Verb", bound=Callable[..., Any])

#: The errors of any request.
REQUEST_ERRORS: tuple[type[NbEditError], ...] = (
    errors.InvalidRequest,
    errors.Forbidden,
    errors.TooLarge,
)
#: The further errors of a request with a body.
BODY_ERRORS: tuple[type[NbEditError], ...] = (errors.UnsupportedMediaType,)
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

#: The errors of creating a notebook.
CREATE_ERRORS: tuple[type[NbEditError], ...] = (
    errors.NotebookNotFound,
    errors.NotebookExists,
    errors.NotAPlainFile,
    errors.Busy,
    errors.StorageFailure,
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
    """A header of requests or responses.

    Parameters
    ----------
    name
        The name.
    description
        What it does.
    pattern
        A regular expression for valid values; None if all are valid.
    """

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
IF_NONE_MATCH_ANY = Header(
    "If-None-Match",
    "`*`, which is the default for creating.",
    r"^\*$",
)
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
ETAG = Header("ETag", "The hash of the notebook, in quotation marks.", r'^"[0-9a-f]{64}"$')
LOCATION = Header("Location", "The address of the new cell, notebook or proposal.", r"^/")


@dataclass(frozen=True)
class Reply:
    """A response that is not an error.

    Parameters
    ----------
    body
        The type of the body, or a JSON Schema; None for a response without a body.
    description
        What the response means.
    headers
        The headers.
    """

    body: Any
    description: str
    headers: Sequence[Header] = ()


@dataclass(frozen=True)
class OperationSpec:
    """The specification of a verb of a route; a decorator.

    Parameters
    ----------
    summary
        What the verb does, in a few words; its docstring is the description.
    replies
        The responses that are not errors.
    query
        The struct of the query.
    body
        The type of the body.
    headers
        The headers that the verb reads.
    errors
        The errors, besides those of every request.
    build_error, error_type
        Returns the body of an error, if it is not an `ErrorBody`, and the type of that body.
    addresses
        For a route whose only parameter is ``address``: the specification of each value. The verb
        itself then has no specification.
    description
        What the verb does, if its docstring is not the description.
    """

    summary: str
    replies: Mapping[HTTPStatus, Reply]
    query: type[msgspec.Struct] | None = None
    body: Any = None
    headers: Sequence[Header] = ()
    errors: Sequence[type[NbEditError]] = ()
    build_error: Callable[[ErrorBody], Any] | None = None
    error_type: Any = None
    addresses: Mapping[str, OperationSpec] = field(default_factory=dict)
    description: str = ""

    @property
    def all_errors(self) -> tuple[type[NbEditError], ...]:
        """All errors, without duplicates."""
        body_errors = BODY_ERRORS if self.body is not None else ()
        return tuple(dict.fromkeys((*REQUEST_ERRORS, *body_errors, *self.errors)))

    def __call__(self, verb: _Verb) -> _Verb:
        """Attach the specification to a verb."""
        vars(verb)["spec"] = self
        return verb


def get_spec(verb: Callable[..., Any]) -> OperationSpec | None:
    """Return the specification of a verb; None if it has none."""
    spec: OperationSpec | None = vars(verb).get("spec")
    return spec
