"""The HTTP status of each error, and the body of an error."""

from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from tornado.web import HTTPError

from jupyter_nbedit import errors

#: The reason of an error in the server itself.
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
    errors.ChangeNotFound: HTTPStatus.NOT_FOUND,
    errors.ProposalNotFound: HTTPStatus.NOT_FOUND,
    errors.AmbiguousCell: HTTPStatus.CONFLICT,
    errors.AmbiguousSection: HTTPStatus.CONFLICT,
    errors.TextMismatch: HTTPStatus.CONFLICT,
    errors.NotebookExists: HTTPStatus.CONFLICT,
    errors.CellChanged: HTTPStatus.CONFLICT,
    errors.UndoConflict: HTTPStatus.CONFLICT,
    errors.NotAPlainFile: HTTPStatus.CONFLICT,
    errors.NothingToUndo: HTTPStatus.CONFLICT,
    errors.PageUnknown: HTTPStatus.CONFLICT,
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
    """The body of an error. Nothing was written, unless `details` has `applied: true`."""

    message: Annotated[
        str, Meta(description="What was expected, what was found and what to do, for people.")
    ]
    reason: Annotated[
        str,
        Meta(
            description="A word for programs. It is `invalid_request` for an unknown address or "
            "method (404, 405), too."
        ),
    ]
    details: Annotated[dict[str, Any], Meta(description="Facts, for programs.")]


_FORBIDDEN = (
    "You are not allowed to do this. Send the server's token in the header `Authorization: "
    "token …`, or use an account with the permission to read or write `contents` and `nbedit`."
)
_INTERNAL_ERROR_MESSAGE = (
    "The server failed unexpectedly. Read the notebook before you go on; the server's log has the "
    "details."
)
_HINTS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: _FORBIDDEN,
    HTTPStatus.FORBIDDEN: _FORBIDDEN,
    HTTPStatus.NOT_FOUND: "This address does not exist; GET /nbedit lists the routes.",
    HTTPStatus.METHOD_NOT_ALLOWED: (
        "This route does not support this method; GET /nbedit lists the routes."
    ),
}


def get_status(error: BaseException | None, default: int) -> int:
    """Return the status of an error; ``default`` if it is not an `NbEditError`."""
    return STATUS[type(error)] if isinstance(error, errors.NbEditError) else default


def build_error_body(error: BaseException | None, status: int) -> ErrorBody:
    """Return the body of an error.

    It never contains a traceback or the text of another exception, because both may name paths.
    """
    if isinstance(error, errors.NbEditError):
        return ErrorBody(error.message, error.reason, error.details)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, HTTPError):
        return ErrorBody(_INTERNAL_ERROR_MESSAGE, INTERNAL_ERROR, {})
    is_forbidden = status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
    message = _HINTS.get(status, "The request cannot be understood as HTTP; nothing was written.")
    return ErrorBody(message, "forbidden" if is_forbidden else "invalid_request", {})


def remove_operation(body: ErrorBody) -> ErrorBody:
    """Return an error without the index of the operation, for requests that are no batches."""
    details = {name: value for name, value in body.details.items() if name != "operation"}
    return msgspec.structs.replace(body, details=details)
