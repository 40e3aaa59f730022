"""Who has read which version of what: nobody edits what they have not seen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from jupyter_nbedit.errors import HashMismatch, ReadRequired

# A session that has read more files than that, or a server with more sessions, is reminded to read
# again; both are far beyond what an agent holds in its head.
_MOST_FILES = 1_000
_MOST_SESSIONS = 1_000


@dataclass
class ReadTracker:
    """Remembers, for each session, the hash under which it last saw a file.

    A session is what an editor says it is in the header ``X-NbEdit-Session``, within its user; the
    user alone, if it says nothing. Those that are not heard of for longest are forgotten first.

    Parameters
    ----------
    name
        Gives one name for all by which a file may be called: a tool follows links before it asks.
    """

    get_canonical_name: Callable[[str], str] = str
    _seen: OrderedDict[str, OrderedDict[str, str]] = field(default_factory=OrderedDict)

    def record(self, session: str, path: str, digest: str) -> None:
        """Remember that a session knows a file as it is under a hash: it read it, or wrote it.

        Parameters
        ----------
        session
            The user's name and the session's.
        path
            The file's API path.
        digest
            The sha256 of the file's bytes.
        """
        files = self._seen.setdefault(session, OrderedDict())
        self._seen.move_to_end(session)
        name = self.get_canonical_name(path)
        files[name] = digest
        files.move_to_end(name)
        if len(files) > _MOST_FILES:
            files.popitem(last=False)
        if len(self._seen) > _MOST_SESSIONS:
            self._seen.popitem(last=False)

    def require(self, session: str, path: str, digest: str) -> None:
        """Refuse a change by a session that does not know the file as it is now.

        Raises
        ------
        ReadRequired
            If it has not read the file.
        HashMismatch
            If it has, but the file has changed since.
        """
        files = self._seen.get(session)
        seen = None if files is None else files.get(self.get_canonical_name(path))
        if seen is None:
            message = (
                f"{path!r} has not been read in this session, and it would be changed unseen. Read "
                "it, and then send the edit again."
            )
            raise ReadRequired(message, path=path)
        if seen != digest:
            message = (
                f"{path!r} has changed since this session read it. Read it again, and then decide "
                "anew."
            )
            raise HashMismatch(message, expected=seen, hash=digest)
