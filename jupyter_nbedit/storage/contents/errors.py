"""Errors of a contents manager as errors of this package.

Their own messages may contain paths, hosts and keys.
"""

import re
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from tornado.web import HTTPError

from jupyter_nbedit import errors
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.os_errors import FORBIDDEN_ERRNOS, NO_SPACE_ERRNOS, NOT_FOUND_ERRNOS

_PRE_SAVE_CALLERS = {"run_pre_save_hook", "run_pre_save_hooks"}
_POST_SAVE_CALLERS = {"run_post_save_hook", "run_post_save_hooks"}
_MAX_SHOWN_CHARACTERS = 300
# An absolute path, one of a home directory or of Windows, an address, a traceback.
_NOT_TO_SHOW = re.compile(r"(?:^|[^\w.])[/~\\]|\\\\|\w:[\\/]|Traceback|[\x00-\x08\x0b-\x1f]")


@contextmanager
def map_contents_errors() -> Iterator[None]:
    """Raise the manager's exceptions as errors; `StaleContent` and `NbEditError` pass through."""
    try:
        yield
    except (errors.NbEditError, StaleContent):
        raise
    except Exception as error:
        raise map_contents_error(error) from error


def map_contents_error(error: Exception) -> errors.NbEditError:
    """Return the error for an exception; managers also pass on the errors of their stores."""
    # Some managers wrap the error of a hook in an error of their own.
    for veto in _iterate_causes_in_hooks(error, _PRE_SAVE_CALLERS):
        if isinstance(veto, HTTPError):
            return _build_veto_error(veto)
    # The stock manager looks for a backup of a file that it failed to write; for a new file there
    # is none.
    for cause in _iterate_causes(error):
        if isinstance(cause, OSError) and cause.errno in NO_SPACE_ERRNOS:
            return errors.NoSpace(
                "There is not enough space for the file; it may be incomplete now."
            )
    if isinstance(error, HTTPError):
        return _map_by_status(error.status_code, error.__cause__ or error.__context__)
    return _map_by_status(None, error)


def _map_by_status(status: int | None, cause: BaseException | None) -> errors.NbEditError:
    """Return the error for a status of HTTP, or for the cause of the exception."""
    code = cause.errno if isinstance(cause, OSError) else None
    # Network stores raise errors without a number.
    if (
        status == HTTPStatus.NOT_FOUND
        or isinstance(cause, FileNotFoundError)
        or code in NOT_FOUND_ERRNOS
    ):
        return errors.NotebookNotFound()
    if (
        status == HTTPStatus.FORBIDDEN
        or isinstance(cause, PermissionError)
        or code in FORBIDDEN_ERRNOS
    ):
        return errors.Forbidden("The server may not do this to the file; nothing was written.")
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        return errors.Busy("Another program is writing this file. Nothing was written; try again.")
    if cause is None and status is not None and status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return errors.Forbidden(
            "The server's contents manager, or a hook of it, refuses this file."
        )
    message = "The server's contents manager failed; see the server's log. Read the file."
    return errors.StorageFailure(message, applied=False)


def _build_veto_error(veto: HTTPError) -> errors.Forbidden:
    text = _get_message(veto)
    is_shown = text and len(text) <= _MAX_SHOWN_CHARACTERS and not _NOT_TO_SHOW.search(text)
    reason = f": {text}" if is_shown else "; see the server's log."
    reason = reason if reason.endswith((".", "!", "?")) else f"{reason}."
    return errors.Forbidden(f"A pre-save hook of this server refused the save{reason}")


def _get_message(error: HTTPError) -> str:
    message = error.log_message or ""
    try:
        return str(message % error.args if error.args else message).strip()
    except (TypeError, ValueError):
        return message.strip()


def is_post_save_failure(error: BaseException) -> bool:
    """Return whether an exception comes from a post-save hook; the file was then saved."""
    return any(_iterate_causes_in_hooks(error, _POST_SAVE_CALLERS))


def _iterate_causes_in_hooks(
    error: BaseException, callers: Collection[str]
) -> Iterator[BaseException]:
    """Yield the causes that came out of a hook, judged by the functions that called it."""
    for cause in _iterate_causes(error):
        frames = traceback.walk_tb(cause.__traceback__)
        if any(frame.f_code.co_name in callers for frame, _ in frames):
            yield cause


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
