"""What a verb of a route takes and answers: said beside the verb, shown as OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from jupyter_nbedit import errors
from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.handlers.errors import ErrorBody

Verb = TypeVar("Verb", bound=Callable[..., Any])

#: What any request may meet.
REQUEST_ERRORS: tuple[type[NbEditError], ...] = (
    errors.InvalidRequest,
    errors.Forbidden,
    errors.TooLarge,
)
#: What a request with a body may meet besides.
BODY_ERRORS: tuple[type[NbEditError], ...] = (errors.UnsupportedMediaType,)
#: What may be in the way of reading a notebook.
READ_ERRORS: tuple[type[NbEditError], ...] = (
    errors.NotebookNotFound,
    errors.NotAPlainFile,
    errors.InvalidNotebook,
    errors.Busy,
    errors.StorageFailure,
)
#: What may be in the way of writing one.
WRITE_ERRORS: tuple[type[NbEditError], ...] = (
    errors.PlanMode,
    errors.TooManyProposals,
    errors.HistoryUnavailable,
    errors.ModesUnreadable,
    errors.NoSpace,
    errors.IdempotencyMismatch,
)

#: What may be in the way of creating one.
CREATE_ERRORS: tuple[type[NbEditError], ...] = (
    errors.NotebookNotFound,
    errors.NotebookExists,
    errors.NotAPlainFile,
    errors.Busy,
    errors.StorageFailure,
)

#: What an operation may meet in the notebook as it is.
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
    """A header that means something to us.

    Parameters
    ----------
    name
        As HTTP has it.
    description
        What it does.
    pattern
        What a legal value looks like, if not every one is legal.
    """

    name: str
    description: str
    pattern: str | None = None


IF_MATCH = Header(
    "If-Match",
    "The `ETag` of the only version the request is for, or `*` for any. If the notebook is another "
    'one: 412 `hash_mismatch`. A weak tag, `W/"…"`, is no version\'s (RFC 9110, 13.1.1); where a '
    "proxy weakens tags, send the hash in the body.",
    r'^(\*|(W/)?"[!#-+\--~]+")$',
)
IF_NONE_MATCH = Header(
    "If-None-Match",
    "The `ETag` of the version you have: unchanged, it is answered with 304.",
)
IF_NONE_MATCH_ANY = Header(
    "If-None-Match",
    "`*`, which creating means in any case.",
    r"^\*$",
)
IDEMPOTENCY_KEY = Header(
    "Idempotency-Key",
    "A new key for every new request. Sent again with the same request, it gives the first answer "
    "again, and nothing is done twice; with another one: 422 `idempotency_mismatch`. Failures "
    " are not remembered, nor is anything beyond a restart of the server.",
    r"^[ -~]{1,200}$",
)
SESSION = Header(
    "X-NbEdit-Session",
    "Names your session among all of your user's, where the server asks editors to have read what "
    "they edit.",
    r"^[ -~]{1,200}$",
)
ETAG = Header("ETag", "The notebook's hash, in quotation marks.", r'^"[0-9a-f]{64}"$')
LOCATION = Header("Location", "The address of what was made.", r"^/")


@dataclass(frozen=True)
class Reply:
    """An answer that is no refusal.

    Parameters
    ----------
    body
        The type that is encoded, or a JSON Schema; None for an answer without a body.
    description
        What the answer means.
    headers
        What stands above the body.
    """

    body: Any
    description: str
    headers: Sequence[Header] = ()


@dataclass(frozen=True)
class OperationSpec:
    """What a verb of a route takes and answers; put above the verb as a decorator.

    Parameters
    ----------
    summary
        What it does, in a few words; the verb's docstring says more.
    replies
        The answers to a request that succeeds.
    query
        The struct its query is decoded to.
    body
        The type its body is decoded to.
    headers
        The headers it reads.
    refusals
        What it may refuse, besides what every request may meet.
    refuse, failure
        Tells a refusal in another form than `ErrorBody`, and the type of that form.
    addresses
        For a route with one parameter ``address`` that says what is asked: the contract of each
        value. The verb itself then has none.
    description
        What it does, in place of a docstring that it shares with others.
    """

    summary: str
    replies: Mapping[HTTPStatus, Reply]
    query: type[msgspec.Struct] | None = None
    body: Any = None
    headers: Sequence[Header] = ()
    errors: Sequence[type[NbEditError]] = ()
    refuse: Callable[[ErrorBody], Any] | None = None
    failure: Any = None
    addresses: Mapping[str, OperationSpec] = field(default_factory=dict)
    description: str = ""

    @property
    def all_errors(self) -> tuple[type[NbEditError], ...]:
        """All it may refuse, each once."""
        given = REQUEST_ERRORS + (BODY_ERRORS if self.body is not None else ()) + tuple(self.errors)
        return tuple(dict.fromkeys(given))

    def __call__(self, verb: Verb) -> Verb:
        """Put the contract on a verb."""
        vars(verb)["contract"] = self
        return verb


def get_spec(verb: Callable[..., Any]) -> OperationSpec | None:
    """Return the contract of a verb, None if it has none."""
    contract: OperationSpec | None = vars(verb).get("contract")
    return contract
