"""What SQLite says when it fails, as a refusal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from jupyter_nbedit.errors import LedgerError

# SQLite's words for a file that cannot be what was written.
_BROKEN = ("malformed", "not a database", "unsupported file format", "Could not decode to UTF-8")
# And for one whose tables are not those that it had when it was opened.
_LOST = ("no such table", "no such column", "no such index", "has no column")
_ADVICE = "Try again later, or ask who runs this server to look at its log and its disk."


@dataclass(frozen=True)
class Purpose:
    """What the database is used for, to say what has failed.

    Parameters
    ----------
    problem
        What cannot be done if it fails.
    consequence
        What that means for whoever has asked.
    """

    problem: str
    consequence: str


HISTORY = Purpose(
    "The history of edits cannot be used now",
    "Notebooks can be read and edited all the same.",
)
PROPOSALS = Purpose(
    "Proposals cannot be read or decided now", "Nothing was decided, and nothing was written."
)
NEW_PROPOSAL = Purpose(
    "The proposal cannot be stored now", "Nothing was proposed, and nothing was written."
)
DECISION = Purpose("The decision on the proposal cannot be stored now", "Nothing was decided.")
#: Of one that was carried out already.
ACCEPTANCE = Purpose(DECISION.problem, "It is stored as soon as that is possible.")
MODES = Purpose("The modes of notebooks cannot be read now", "Until they can be, none is changed.")
NEW_MODE = Purpose("The mode cannot be stored now", "It is as it was.")


class UnknownDatabase(Exception):
    """The file is a database of somebody else, or no longer what we wrote."""


class NewerFile(Exception):
    """A newer release has written the file; nothing but its table ``modes`` is read."""

    def __init__(self, version: int, known: int) -> None:
        super().__init__(
            f"the file was written by a newer release of jupyter_nbedit (its schema is {version}, "
            f"this release knows {known}); update jupyter_nbedit where this server runs"
        )


def is_broken(error: BaseException) -> bool:
    """Return whether the file is to blame."""
    # Python 3.10 does not tell SQLite's codes, but its texts for them do not change.
    why = get_error_text(error)
    return isinstance(error, UnknownDatabase) or any(words in why for words in _BROKEN)


def is_table_lost(error: BaseException) -> bool:
    """Return whether a table or a column is missing, which were there when the file was opened."""
    return isinstance(error, sqlite3.OperationalError) and any(
        words in str(error) for words in _LOST
    )


def is_read_only(error: BaseException) -> bool:
    """Return whether the file was opened for reading only, as SQLite does where it must."""
    return isinstance(error, sqlite3.OperationalError) and "readonly" in str(error)


def get_error_text(error: BaseException) -> str:
    """Return the text of an error; one that repeats a broken schema may not be UTF-8."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode(errors="replace")
    return str(error)


def is_locked(error: BaseException) -> bool:
    """Return whether another server has the file."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


@contextmanager
def map_sqlite_errors(purpose: Purpose = HISTORY) -> Iterator[None]:
    """Turn a failure of the database into a refusal; a mistake of ours stays one."""
    try:
        yield
    except (
        sqlite3.OperationalError,
        sqlite3.IntegrityError,
        OSError,
        UnknownDatabase,
        NewerFile,
    ) as error:
        # An OSError's own text names the file.
        why = (error.strerror if isinstance(error, OSError) else str(error)) or "unknown error"
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if not is_broken(error):
            raise
        why = "it is broken"
    else:
        return
    message = f"{purpose.problem}: {why}. {purpose.consequence} {_ADVICE}"
    raise LedgerError(message)
