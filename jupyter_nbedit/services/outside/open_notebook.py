"""Notebooks that tabs show, and what the server knows of their files."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES
from jupyter_nbedit.services.outside import timing
from jupyter_nbedit.services.outside.copies import VersionCopies, VersionCopy
from jupyter_nbedit.storage.files.lazy_bytes import get_stat_identity
from jupyter_nbedit.storage.paths import SUFFIX
from jupyter_nbedit.storage.write_log import Identity

# A large file that a server keeps writing is copied only when the copy costs little beside that.
_COPY_BYTES_PER_SECOND = 20e6
# How many names of a folder are compared to find a renamed file.
_MAX_NAMES = 10_000


@dataclass(frozen=True)
class KnownVersion:
    """A version of a notebook, by the identity of its file; hash and copy may be unknown."""

    identity: Identity
    hash: str | None = None
    copy: VersionCopy | None = None
    #: The record of the file in the write log when this version was found.
    last_write: bytes | None = None


@dataclass
class OpenNotebook:
    """A notebook that tabs show, and what the server knows of its file."""

    #: An API path, and all paths by which tabs call the notebook.
    name: str
    paths: set[str]
    #: The path on disk, if the notebook is in a file.
    os_path: str | None = None
    #: The version that the tabs show, or read after the last event; None before the first look.
    version: KnownVersion | None = None
    #: The file at the last look, and the time when it was first seen so, in seconds of `monotonic`.
    identity: Identity = None
    seen_since: float = float("-inf")
    #: The time since when the file has not been the known version.
    differs_since: float | None = None
    #: The file for which a problem was reported.
    problem_identity: Identity = None
    has_problem: bool = False
    #: Whether a version that a server has written is yet to be copied.
    needs_copy: bool = False
    #: When to compare the bytes, because the times of the file do not tell; None if they do.
    compare_at: float | None = None
    #: When tabs were told last.
    reported_at: float = float("-inf")
    #: The newest edit in the history when the version was taken.
    newest_edit: int = 0

    def update_identity(self, identity: Identity) -> None:
        """Remember how the file looks now."""
        now = time.monotonic()
        if self.version is not None and identity != self.identity:
            self.seen_since = now
        self.identity = identity
        if self.version is None or identity == self.version.identity:
            self.differs_since = None
        elif self.differs_since is None:
            self.differs_since = now

    @property
    def must_be_examined(self) -> bool:
        """Whether the file may be another version than the known one."""
        if self.version is None:
            return True
        if time.monotonic() < self.reported_at + timing.REPORT_INTERVAL:
            return False
        if self.has_problem:
            return self.identity != self.problem_identity
        if self.identity != self.version.identity:
            return True
        is_due = self.compare_at is not None and time.monotonic() >= self.compare_at
        return is_due or (self.needs_copy and self.is_cheap_to_copy)

    @property
    def is_unsettled(self) -> bool:
        """Whether a change is probably still being made, or is to be examined next."""
        is_new = (
            self.differs_since is not None
            and time.monotonic() < self.differs_since + timing.MAX_WAIT
        )
        return is_new and self.must_be_examined

    @property
    def quiet_seconds(self) -> float:
        """For how long the file has looked as it does."""
        return time.monotonic() - self.seen_since

    @property
    def size(self) -> int:
        """The size of the file in bytes, as far as it is known."""
        # Both kinds of identities have it in this place.
        size = self.identity[2] if self.identity else 0
        return size if isinstance(size, int) else 0

    @property
    def is_cheap_to_copy(self) -> bool:
        """Whether a copy takes little time, compared with the time since the last write."""
        return self.size <= CHUNK_BYTES or self.quiet_seconds > self.size / _COPY_BYTES_PER_SECOND

    @property
    def may_be_incomplete(self) -> bool:
        """Whether a large file is probably still being written."""
        return (
            self.size > CHUNK_BYTES
            and self.quiet_seconds < timing.LARGE_QUIET_TIME
            and self.differs_since is not None
            and time.monotonic() - self.differs_since < timing.MAX_WAIT
        )

    def compute_compare_time(self, identity: Identity) -> float | None:
        """Return when the bytes must be compared; None if another write has changed the times."""
        if self.os_path is None or identity is None or self.size > CHUNK_BYTES:
            # It takes longer than a tick to write a large file.
            return None
        changed_ns = identity[-1]
        is_old = isinstance(changed_ns, int) and changed_ns / 1e9 < time.time() - timing.CLOCK_TICK
        return None if is_old else time.monotonic() + timing.CLOCK_TICK

    def find_new_name(self, identity: Identity) -> str | None:
        """Return the new API path of a file that was renamed in its folder; None if it is gone."""
        if self.os_path is None or identity is None:
            return None
        folder, name = os.path.split(self.os_path)
        with suppress(OSError), os.scandir(folder) as entries:
            for _, entry in zip(range(_MAX_NAMES), entries, strict=False):
                # A new file may have the inode of a removed one, but not its times as well.
                if (
                    entry.inode() == identity[1]
                    and entry.name.endswith(SUFFIX)
                    # The status of an entry has no inode on Windows.
                    and get_stat_identity(os.stat(entry.path, follow_symlinks=False))[:-1]  # noqa: PTH116
                    == identity[:-1]
                ):
                    return self.name[: len(self.name) - len(name)] + entry.name
        return None


@dataclass
class OpenNotebooks:
    """The notebooks that tabs show, each with a copy of its known version."""

    copies: VersionCopies
    _notebooks: dict[str, OpenNotebook] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._notebooks)

    def __iter__(self) -> Iterator[OpenNotebook]:
        return iter([*self._notebooks.values()])

    def set_open(self, notebooks: Mapping[str, set[str]]) -> None:
        """Replace the open notebooks: all paths by which tabs call them, by one of them."""
        for name in self._notebooks.keys() - notebooks.keys():
            self.set_version(self._notebooks.pop(name), None)
        for name, paths in notebooks.items():
            if name in self._notebooks:
                self._notebooks[name].paths = paths
            else:
                self._notebooks[name] = OpenNotebook(name, paths)

    def get(self, name: str) -> OpenNotebook | None:
        """Return the open notebook with a name."""
        return self._notebooks.get(name)

    def is_open(self, notebook: OpenNotebook) -> bool:
        """Return whether tabs still show the notebook."""
        return self._notebooks.get(notebook.name) is notebook

    def close(self) -> None:
        """Remove all copies."""
        self._notebooks.clear()
        self.copies.close()

    def remove_unused_copy(self, notebook: OpenNotebook, copy: VersionCopy | None) -> None:
        """Remove a copy unless it is the copy of the known version."""
        if notebook.version is None or notebook.version.copy is not copy:
            self.copies.remove(copy)

    def set_version(self, notebook: OpenNotebook, version: KnownVersion | None) -> None:
        """Replace the known version, and remove its copy."""
        old, notebook.version = notebook.version, version
        notebook.update_identity(notebook.identity)
        if old is not None and (version is None or version.copy is not old.copy):
            self.copies.remove(old.copy)
