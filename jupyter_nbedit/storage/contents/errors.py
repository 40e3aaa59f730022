"""What a failing contents manager says, in our words: its own may name paths, hosts and keys."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from tornado.web import HTTPError

from jupyter_nbedit.errors import Busy, Forbidden, NbEditError, NoSpace, StorageFailure
from jupyter_nbedit.storage.base import StaleContent

#: Makes the refusal for what is missing, hidden or outside the root.
ErrorFactory = Callable[[], NbEditError]

_BY_STATUS: dict[int, Callable[[], NbEditError]] = {
    403: lambda: Forbidden("The server may not do this to the file; nothing was written."),
    503: lambda: Busy("Somebody else is writing this file. Nothing was written; try again."),
}
_NO_SPACE = "There is no room for the file; it may be incomplete now."
_BY_ERRNO: dict[int, Callable[[], NbEditError]] = {
    errno.EACCES: _BY_STATUS[403],
    errno.EPERM: _BY_STATUS[403],
    errno.EROFS: _BY_STATUS[403],
}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL}
_BEFORE = {"run_pre_save_hook", "run_pre_save_hooks"}
_AFTER = {"run_post_save_hook", "run_post_save_hooks"}
_MOST_SHOWN = 300
# An absolute path, one of a home folder or of Windows, an address, a traceback.
_NOT_TO_SHOW = re.compile(r"(?:^|[^\w.])[/~\\]|\\\\|\w:[\\/]|Traceback|[\x00-\x08\x0b-\x1f]")


@contextmanager
def map_contents_errors(missing: ErrorFactory) -> Iterator[None]:
    """Turn whatever a manager raises into refusals; `StaleContent` and refusals pass through."""
    try:
        yield
    except (NbEditError, StaleContent):
        raise
    except Exception as error:
        raise map_contents_error(error, missing) from error


def map_contents_error(error: Exception, missing: ErrorFactory) -> NbEditError:
    """Return what a manager's exception means.

    Parameters
    ----------
    error
        Of any kind: managers pass on what their stores raise.
    missing
        Makes the refusal for what is not there.
    """
    if (veto := _find_pre_save_veto(error)) is not None:
        return _build_veto_error(veto)
    # The stock manager looks for a backup of what it could not write; of a new file there is none.
    if any(isinstance(one, OSError) and one.errno in _FULL for one in _iterate_causes(error)):
        return NoSpace(_NO_SPACE)
    cause = error.__cause__ or error.__context__ if isinstance(error, HTTPError) else error
    found = _map_by_cause(cause, missing) if isinstance(cause, OSError) else None
    if found is None and isinstance(error, HTTPError):
        found = _map_by_status(error.status_code, missing, failed=cause is not None)
    message = "The server's contents manager failed; the server's log says why. Read the file."
    return found or StorageFailure(message, applied=False)


def _map_by_cause(cause: OSError, missing: ErrorFactory) -> NbEditError | None:
    if cause.errno in _NOT_THERE or isinstance(cause, FileNotFoundError):
        return missing()
    # Stores in a network have no numbers for their errors.
    code = errno.EACCES if isinstance(cause, PermissionError) else cause.errno
    make = _BY_ERRNO.get(code or 0)
    return make and make()


def _map_by_status(status: int, missing: ErrorFactory, *, failed: bool) -> NbEditError | None:
    if status == 404:  # noqa: PLR2004 -- HTTP's own number
        return missing()
    if status in _BY_STATUS:
        return _BY_STATUS[status]()
    if status < 500 and not failed:  # noqa: PLR2004
        return Forbidden("The server's contents manager, or a hook of it, refuses this file.")
    return None


def _build_veto_error(veto: HTTPError) -> Forbidden:
    said = _get_message(veto)
    shown = said and len(said) <= _MOST_SHOWN and not _NOT_TO_SHOW.search(said)
    why = f": {said}" if shown else "; the server's log says why."
    why = why if why.endswith((".", "!", "?")) else f"{why}."
    return Forbidden(f"A pre-save hook of this server refuses what was to be saved{why}")


def _get_message(error: HTTPError) -> str:
    said = error.log_message or ""
    try:
        return str(said % error.args if error.args else said).strip()
    except (TypeError, ValueError):
        return said.strip()


def is_post_save_failure(error: BaseException) -> bool:
    """Return whether it was a post-save hook that failed, when what it was to be told was saved."""
    return any(_is_raised_below(_AFTER, one.__traceback__) for one in _iterate_causes(error))


def _find_pre_save_veto(error: BaseException) -> HTTPError | None:
    """Find what a pre-save hook raised; some managers wrap it in a failure of their own."""
    for one in _iterate_causes(error):
        if isinstance(one, HTTPError) and _is_raised_below(_BEFORE, one.__traceback__):
            return one
    return None


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_raised_below(callers: set[str], trace: TracebackType | None) -> bool:
    """Return whether an exception came out of a hook, by who had called it."""
    while trace is not None:
        if trace.tb_frame.f_code.co_name in callers:
            return True
        trace = trace.tb_next
    return False
