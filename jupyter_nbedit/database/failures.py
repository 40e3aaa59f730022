"""What SQLite says when it fails, as a refusal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_nbedit.errors import LedgerError

# SQLite's words for a file that cannot be what was written.
_BROKEN = ("malformed", "not a database", "unsupported file format", "Could not decode to UTF-8")


class NotOurs(Exception):
    """The file is a database of somebody else, or no longer what we wrote."""


def is_broken(error: BaseException) -> bool:
    """Tell whether the file is to blame."""
    # Python 3.10 does not tell SQLite's codes, but its texts for them do not change.
    why = said(error)
    return isinstance(error, NotOurs) or any(words in why for words in _BROKEN)


def said(error: BaseException) -> str:
    """Give the text of an error; one that repeats a broken schema may not be UTF-8."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode(errors="replace")
    return str(error)


def is_locked(error: BaseException) -> bool:
    """Tell whether another server has the file."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a failure of the database into a refusal; a mistake of ours stays one."""
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.IntegrityError, OSError, NotOurs) as error:
        # An OSError's own text names the file.
        why = (error.strerror if isinstance(error, OSError) else str(error)) or "unknown error"
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if not is_broken(error):
            raise
        why = "it is broken"
    else:
        return
    message = (
        f"The history of edits cannot be used now: {why}. Notebooks can be read and edited all the "
        "same; try again later, or ask who runs this server to look at its log and its disk."
    )
    raise LedgerError(message)
