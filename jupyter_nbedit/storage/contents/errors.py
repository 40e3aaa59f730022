"""Errors of a contents manager as errors of this package.

Their own messages may contain paths, hosts and keys.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from tornado.web import HTTPError

from jupyter_nbedit.errors import (
    Busy,
    Forbidden,
    NbEditError,
    NoSpace,
    NotebookNotFound,
    StorageFailure,
)
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.os_errors import FORBIDDEN_ERRNOS, NO_SPACE_ERRNOS

_BY_STATUS: dict[int, Callable[[], NbEditError]] = {
    403: lambda: Forbidden("The server may not do this to the file; nothing was written."),
    503: lambda: Busy("Somebody else is writing this file. Nothing was written; try again."),
}
_NOT_FOUND_ERRNOS = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL}
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
    except (NbEditError, StaleContent):
        raise
    except Exception as error:
        raise map_contents_error(error) from error


def map_contents_error(error: Exception) -> NbEditError:
    """Return the error for an exception of any class: managers pass on those of their stores."""
    if (veto := _find_pre_save_veto(error)) is not None:
        return _build_veto_error(veto)
    # The stock manager looks for a backup of a file that it failed to write; for a new file there
    # is none.
    if any(
        isinstance(cause_or_error, OSError) and cause_or_error.errno in NO_SPACE_ERRNOS
        for cause_or_error in _iterate_causes(error)
    ):
        return NoSpace("There is no room for the file; it may be incomplete now.")
    cause = error.__cause__ or error.__context__ if isinstance(error, HTTPError) else error
    mapped_error = _map_by_cause(cause) if isinstance(cause, OSError) else None
    if mapped_error is None and isinstance(error, HTTPError):
        mapped_error = _map_by_status(error.status_code, has_cause=cause is not None)
    message = "The server's contents manager failed; the server's log says why. Read the file."
    return mapped_error or StorageFailure(message, applied=False)


def _map_by_cause(cause: OSError) -> NbEditError | None:
    if cause.errno in _NOT_FOUND_ERRNOS or isinstance(cause, FileNotFoundError):
        return NotebookNotFound()
    # Network stores raise errors without a number.
    if isinstance(cause, PermissionError) or cause.errno in FORBIDDEN_ERRNOS:
        return _BY_STATUS[403]()
    return None


def _map_by_status(status: int, *, has_cause: bool) -> NbEditError | None:
    if status == 404:  # noqa: PLR2004 -- HTTP's own number
        return NotebookNotFound()
    if status in _BY_STATUS:
        return _BY_STATUS[status]()
    if status < 500 and not has_cause:  # noqa: PLR2004
        return Forbidden("The server's contents manager, or a hook of it, refuses this file.")
    return None


def _build_veto_error(veto: HTTPError) -> Forbidden:
    text = _get_message(veto)
    is_shown = text and len(text) <= _MAX_SHOWN_CHARACTERS and not _NOT_TO_SHOW.search(text)
    reason = f": {text}" if is_shown else "; the server's log says why."
    reason = reason if reason.endswith((".", "!", "?")) else f"{reason}."
    return Forbidden(f"A pre-save hook of this server refuses what was to be saved{reason}")


def _get_message(error: HTTPError) -> str:
    message = error.log_message or ""
    try:
        return str(message % error.args if error.args else message).strip()
    except (TypeError, ValueError):
        return message.strip()


def is_post_save_failure(error: BaseException) -> bool:
    """Return whether an exception comes from a post-save hook, so that the file was saved."""
    return any(
        _is_raised_below(_POST_SAVE_CALLERS, cause.__traceback__)
        for cause in _iterate_causes(error)
    )


def _find_pre_save_veto(error: BaseException) -> HTTPError | None:
    """Return the error of a pre-save hook; some managers wrap it in an error of their own."""
    for cause in _iterate_causes(error):
        if isinstance(cause, HTTPError) and _is_raised_below(
            _PRE_SAVE_CALLERS, cause.__traceback__
        ):
            return cause
    return None


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_raised_below(callers: set[str], trace: TracebackType | None) -> bool:
    """Return whether an exception came out of a hook, judged by the functions that called it."""
    while trace is not None:
        if trace.tb_frame.f_code.co_name in callers:
            return True
        trace = trace.tb_next
    return False
