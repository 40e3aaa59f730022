"""Remember which session has read which version of a file, to require reading before editing."""

from dataclasses import dataclass, field

from jupyter_nbedit.db.notebook_names import NotebookName, NotebookNames
from jupyter_nbedit.errors import HashMismatch, ReadRequired
from jupyter_nbedit.system.lru import LRUCache

# Of all sessions together. Older entries are removed; such a session has to read a file again.
_MAX_FILES = 20_000


@dataclass
class ReadTracker:
    """Remembers for each session the hash of each file that it has read or written last.

    A session is the user together with the header ``X-NbEdit-Session``; the user alone without the
    header.
    """

    names: NotebookNames
    # By session and name.
    _hashes: LRUCache[tuple[str, NotebookName], str] = field(
        default_factory=lambda: LRUCache(_MAX_FILES)
    )

    def record(self, session: str, path: str, notebook_hash: str) -> None:
        """Remember that a session has read or written the version of a hash."""
        self._hashes.put((session, self.names.find(path)), notebook_hash)

    def require(self, session: str, path: str, notebook_hash: str) -> None:
        """Check that a session has read the current version of a file.

        Raise `ReadRequired` if it has not read the file, and `HashMismatch` if the file has changed
        since it was read.
        """
        known_hash = self._hashes.get((session, self.names.find(path)))
        if known_hash is None:
            message = (
                f"{path!r} was not read in this session. Read it, and then send the edit again."
            )
            raise ReadRequired(message, path=path)
        if known_hash != notebook_hash:
            message = (
                f"{path!r} has changed since this session read it. Read it again, and check "
                "whether the change is still right."
            )
            raise HashMismatch(message, expected=known_hash, hash=notebook_hash)
