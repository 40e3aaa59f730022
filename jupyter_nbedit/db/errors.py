"""Turn errors of SQLite into errors of this package, and tell damage from other failures."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from jupyter_nbedit.errors import HistoryUnavailable

# Texts of SQLite for a file that is damaged.
_BROKEN = ("malformed", "not a database", "unsupported file format", "Could not decode to UTF-8")
# Texts of SQLite for a table that another release has changed since the file was opened, and for a
# file that could not be opened for writing.
_STALE = ("no such table", "no such column", "no such index", "has no column", "readonly")
_ADVICE = (
    "Try again later, or ask the administrator of this server to look at its log and its disk."
)


@dataclass(frozen=True)
class Purpose:
    """What the database is used for: the words of the message if it fails."""

    #: What cannot be done.
    problem: str
    #: What this means for the client.
    consequence: str


HISTORY = Purpose(
    "The edit history cannot be used now",
    "Notebooks can still be read, and edited if their modes are known.",
)
PROPOSALS = Purpose(
    "Proposals cannot be read or decided now", "Nothing was decided, and nothing was written."
)
NEW_PROPOSAL = Purpose(
    "The proposal cannot be stored now", "Nothing was proposed, and nothing was written."
)
DECISION = Purpose("The decision on the proposal cannot be stored now", "Nothing was decided.")
#: The decision is carried out already, and only its record could not be stored.
ACCEPTANCE = Purpose(DECISION.problem, "It is stored as soon as that is possible.")
MODES = Purpose(
    "The modes of notebooks cannot be read now",
    ("No notebook is changed until they can be read, or a person chooses a mode."),
)
NEW_MODE = Purpose("The mode cannot be stored now", "It has not changed.")


class UnknownDatabase(Exception):
    """The file is a database of another program, or is damaged."""


class NewerFile(Exception):
    """A newer release has written the file; only its table ``modes`` is read."""

    def __init__(self, version: int, known: int) -> None:
        super().__init__(
            f"the file was written by a newer release of jupyter_nbedit (its schema is {version}, "
            f"this release knows {known}); update jupyter_nbedit where this server runs"
        )


def is_broken(error: BaseException) -> bool:
    """Return whether an error means that the file is damaged."""
    # A text that repeats a broken schema may not be UTF-8.
    if isinstance(error, (UnknownDatabase, UnicodeDecodeError)):
        return True
    # Python 3.10 does not expose the error codes of SQLite; their texts do not change.
    return any(words in str(error) for words in _BROKEN)


def is_connection_stale(error: BaseException) -> bool:
    """Return whether a table has disappeared, or SQLite could open the file for reading only."""
    return isinstance(error, sqlite3.OperationalError) and any(
        words in str(error) for words in _STALE
    )


def is_locked(error: BaseException) -> bool:
    """Return whether an error means that another server has locked the file."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


@contextmanager
def map_sqlite_errors(purpose: Purpose = HISTORY) -> Iterator[None]:
    """Raise `HistoryUnavailable` for a failure of the database, but not for faulty SQL."""
    try:
        yield
    except (
        sqlite3.OperationalError,
        sqlite3.IntegrityError,
        OSError,
        UnknownDatabase,
        NewerFile,
    ) as error:
        # str() of an OSError contains the path of the file.
        text = (error.strerror if isinstance(error, OSError) else str(error)) or "unknown error"
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if not is_broken(error):
            raise
        text = "it is broken"
    else:
        return
    raise HistoryUnavailable(f"{purpose.problem}: {text}. {purpose.consequence} {_ADVICE}")
