"""From refusals to HTTP: the one table of statuses, and the one form of an error body."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from tornado.web import HTTPError

from jupyter_nbedit import errors

#: The reason of a failure that is a fault of the server.
INTERNAL_ERROR = "internal_error"

STATUS: dict[type[errors.NbEditError], HTTPStatus] = {
    errors.InvalidRequest: HTTPStatus.BAD_REQUEST,
    errors.InvalidOperation: HTTPStatus.BAD_REQUEST,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.PlanMode: HTTPStatus.FORBIDDEN,
    errors.CellProtected: HTTPStatus.FORBIDDEN,
    errors.NotebookNotFound: HTTPStatus.NOT_FOUND,
    errors.FolderNotFound: HTTPStatus.NOT_FOUND,
    errors.FileNotFound: HTTPStatus.NOT_FOUND,
    errors.CellNotFound: HTTPStatus.NOT_FOUND,
    errors.SectionNotFound: HTTPStatus.NOT_FOUND,
    errors.ToolNotFound: HTTPStatus.NOT_FOUND,
    errors.EditNotFound: HTTPStatus.NOT_FOUND,
    errors.ProposalNotFound: HTTPStatus.NOT_FOUND,
    errors.AmbiguousCell: HTTPStatus.CONFLICT,
    errors.AmbiguousSection: HTTPStatus.CONFLICT,
    errors.TextMismatch: HTTPStatus.CONFLICT,
    errors.NotebookExists: HTTPStatus.CONFLICT,
    errors.CellChanged: HTTPStatus.CONFLICT,
    errors.UndoConflict: HTTPStatus.CONFLICT,
    errors.NotAPlainFile: HTTPStatus.CONFLICT,
    errors.NothingToUndo: HTTPStatus.CONFLICT,
    errors.ProposalClosed: HTTPStatus.CONFLICT,
    errors.TooManyProposals: HTTPStatus.CONFLICT,
    errors.VersionUnknown: HTTPStatus.GONE,
    errors.HashMismatch: HTTPStatus.PRECONDITION_FAILED,
    errors.TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    errors.InvalidNotebook: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.IdempotencyMismatch: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.ReadRequired: HTTPStatus.PRECONDITION_REQUIRED,
    errors.Busy: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ChangedDuringRead: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.HistoryUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ModesUnreadable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.NoSpace: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.StorageFailure: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class ErrorBody(msgspec.Struct, frozen=True):
    """Why a request was refused. Nothing was written, unless the details say `applied: true`."""

    message: Annotated[
        str, Meta(description="What was expected, what was found and what to do, for people.")
    ]
    reason: Annotated[
        str,
        Meta(
            description="Why, for programs. An address or a method that there is not (404, 405) "
            "is an `invalid_request`, too."
        ),
    ]
    details: Annotated[dict[str, Any], Meta(description="Facts, for programs.")]


_FORBIDDEN = (
    "You may not do this. Expected a request with the server's token in the header `Authorization: "
    "token …`, of a user with the right to read or write `contents` and `nbedit`."
)
_UNFORESEEN = (
    "The server failed in a way nobody foresaw. Read the notebook before you go on; the server's "
    "log says more."
)
_HINTS = {
    HTTPStatus.UNAUTHORIZED: _FORBIDDEN,
    HTTPStatus.FORBIDDEN: _FORBIDDEN,
    HTTPStatus.NOT_FOUND: "There is nothing at this address; GET /nbedit lists the routes.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This route does not have this method; GET /nbedit lists them.",
}


def get_status(failure: BaseException | None, otherwise: int) -> int:
    """Return the status of a failure; ``otherwise`` for what is no refusal of ours."""
    return STATUS[type(failure)] if isinstance(failure, errors.NbEditError) else otherwise


def build_error_body(failure: BaseException | None, status: int) -> ErrorBody:
    """Return the body of an error: what to do, for people; why, for programs.

    Neither a traceback nor the text of a foreign exception ever shows: both may name paths.
    """
    if isinstance(failure, errors.NbEditError):
        return ErrorBody(failure.message, failure.reason, failure.details)
    known = HTTPStatus(status) if status in HTTPStatus.__members__.values() else None
    if isinstance(failure, HTTPError) or status < HTTPStatus.INTERNAL_SERVER_ERROR:
        message = _HINTS.get(known, "") if known else ""
        forbidden = known in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
        reason = "forbidden" if forbidden else "invalid_request"
        message = message or "The request cannot be understood as HTTP; nothing was written."
        return ErrorBody(message, reason, {})
    return ErrorBody(_UNFORESEEN, INTERNAL_ERROR, {})
