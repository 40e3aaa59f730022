"""The names of notebooks: one for each notebook, whichever path leads to it.

The name of a notebook in a file is its path on disk without links. It is the same at servers with
different roots, and without a server. The name of another notebook is the root of its contents
manager and its API path.
"""

import unicodedata
from abc import ABC, abstractmethod
from pathlib import Path, PurePath
from typing import NamedTuple

#: The root of the names of all notebooks in files.
FILES = "file:"
# After all characters that a name has.
_LAST = "\U0010ffff"


class NotebookName(NamedTuple):
    """The name of a notebook, or of a folder with notebooks."""

    #: `FILES`, or what identifies the contents manager.
    root: str
    #: The path on disk without links, with slashes; or the API path.
    name: str


class NameRange(NamedTuple):
    """The names of all notebooks below a root: from ``first`` on, and before ``last``."""

    root: str
    first: str
    last: str


class NotebookNames(ABC):
    """The names of the notebooks of one server."""

    @abstractmethod
    def get_folder(self) -> str | None:
        """Return the root folder without links; None if notebooks are not in files."""

    @abstractmethod
    def get_root_name(self) -> str:
        """Return a name of the root; the servers of one user may have several roots."""

    @abstractmethod
    def find(self, path: str) -> NotebookName:
        """Return the name of the notebook at an API path; it need not exist."""

    def get_path(self, name: NotebookName) -> str | None:
        """Return the API path of a notebook by its name; None if it is not below the root."""
        own = self.get_range()
        if name.root != own.root or not own.first <= name.name < own.last:
            return None
        return name.name[len(own.first) :]

    def get_range(self) -> NameRange:
        """Return the range of names below the root; notebooks behind links have other names."""
        folder = self.get_folder()
        if folder is None:
            return NameRange(self.get_root_name(), "", _LAST)
        first = join_path(folder, "")
        # "0" is the character after the slash.
        return NameRange(FILES, first, f"{first[:-1]}0")

    def is_link(self, path: str) -> bool:
        """Return whether an API path itself is a link."""
        folder = self.get_folder()
        return folder is not None and Path(join_path(folder, path.strip("/"))).is_symlink()


def get_file_key(name: NotebookName) -> tuple[int, int, str] | None:
    """Return a key that all spellings and mounts of a file have; None if it has no folder.

    File systems may not distinguish letters by case or by normal form, and a folder may be mounted
    at several places. The value is valid only while the system runs.
    """
    if name.root != FILES:
        return None
    folder, _, base = name.name.rpartition("/")
    try:
        status = Path(folder or "/").stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, fold_name(base)


def fold_name(text: str) -> str:
    """Return a name with differences removed that a file system may not distinguish."""
    return unicodedata.normalize("NFC", text).casefold()


def join_path(folder: str, path: str) -> str:
    """Return the path on disk, with slashes, of a path in a folder."""
    return f"{PurePath(folder).as_posix().rstrip('/')}/{path}"
