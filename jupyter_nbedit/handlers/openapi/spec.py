"""`OperationSpec`, which declares at a verb what it takes and sends; the source of OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from jupyter_nbedit import errors
from jupyter_nbedit.errors import NbEditError

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

#: The errors of changing a notebook that exists.
EDIT_ERRORS: tuple[type[NbEditError], ...] = (
    *READ_ERRORS,
    *WRITE_ERRORS,
    errors.HashMismatch,
    errors.ReadRequired,
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
#: The headers of a request that changes a notebook that exists.
EDIT_HEADERS = (IF_MATCH, IDEMPOTENCY_KEY, SESSION)


@dataclass(frozen=True)
class Reply:
    """A response that is not an error; ``body`` is a struct, a JSON Schema, or None for no body."""

    body: type[msgspec.Struct] | Mapping[str, Any] | None
    description: str
    headers: Sequence[Header] = ()


@dataclass(frozen=True)
class OperationSpec:
    """The specification of a verb of a route; a decorator.

    ``errors`` are those besides the errors of every request; ``error_type`` is the type of their
    bodies. The description is the docstring of the verb, unless there is another. For a route whose
    only parameter is ``address``, ``addresses`` has the specification of each value; the verb
    itself then has none.
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

    @property
    def all_errors(self) -> tuple[type[NbEditError], ...]:
        """All errors, without duplicates."""
        body_errors = BODY_ERRORS if self.body is not None else ()
        return tuple(dict.fromkeys((*REQUEST_ERRORS, *body_errors, *self.errors)))

    def list_types(self) -> Iterator[type[msgspec.Struct]]:
        """Yield the structs of the query, the bodies and the errors."""
        replies = [reply.body for reply in self.replies.values()]
        for item in (self.query, self.body, self.error_type, *replies):
            if isinstance(item, type):
                yield item

    def __call__(self, verb: _Verb) -> _Verb:
        """Attach the specification to a verb."""
        vars(verb)["spec"] = self
        return verb


def get_spec(verb: Callable[..., Any]) -> OperationSpec | None:
    """Return the specification of a verb; None if it has none."""
    spec: OperationSpec | None = vars(verb).get("spec")
    return spec
