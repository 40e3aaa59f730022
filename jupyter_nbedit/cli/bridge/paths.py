"""Which file a path of an agent means, and whether it is in the folder of the bridge."""

import os
from collections.abc import Callable

from jupyter_nbedit.client.errors import ClientError, OutsideRoot
from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.notebook.shown_text import read_name

_MAX_FOLDERS = 20


class AmbiguousPath(ClientError, reason="ambiguous_path"):
    """A relative path means two files."""


class PathResolver:
    """Finds the files that paths mean.

    A relative path is relative to the root, or to a folder that paths in an earlier answer were
    relative to. `find_folder` returns the folder that the server of the root serves, for paths that
    an earlier process has shown; None if there is no such server.
    """

    def __init__(self, root: str, find_folder: Callable[[], str | None]) -> None:
        self.root = os.path.realpath(root)
        self._find_folder = find_folder
        self._folders: list[str] = []

    def add_folder(self, folder: str) -> None:
        """Remember a folder that paths in an answer are relative to."""
        real = os.path.realpath(folder)
        if real != self.root and real not in self._folders:
            self._folders = [*self._folders[1 - _MAX_FOLDERS :], real]

    def resolve(self, path: str) -> str:
        """Return the absolute path of the file or folder that a path means; it may not exist.

        The path may be quoted, as texts show names that do not print.

        Its links are not resolved, because a server may show it through them. Raise `OutsideRoot`
        if it is not in the root, and `AmbiguousPath` if there are two.
        """
        path = read_name(path)
        if "\0" in path:
            raise InvalidRequest("A path has no null character.")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            message = f"A path is Unicode text; found {path[-200:]!r}, with a half of a character."
            raise InvalidRequest(message) from None
        if os.path.isabs(path):
            return self._check(path, path)
        found = self._list_existing(path, [self.root, *self._folders])
        if not found and (folder := self._find_folder()) is not None:
            self.add_folder(folder)
            found = self._list_existing(path, self._folders)
        if len(found) > 1:
            files = " and ".join(map(repr, found))
            message = f"{path!r} is {files}. Send the absolute path of the one that is meant."
            raise AmbiguousPath(message)
        return found[0] if found else self._check(path, os.path.join(self.root, path))

    def _list_existing(self, path: str, folders: list[str]) -> list[str]:
        """Return the files in the root that a relative path means."""
        files: dict[str, str] = {}
        for folder in folders:
            file = os.path.join(folder, path)
            files.setdefault(os.path.realpath(file), file)
        return [
            file for real, file in files.items() if self.is_inside(real) and os.path.exists(real)
        ]

    def _check(self, path: str, file: str) -> str:
        """Return a file if it is in the root, with all links resolved; ``path`` means it."""
        if not self.is_inside(os.path.realpath(file)):
            raise OutsideRoot(
                f"{path!r} is outside of {self.root!r}, the only folder that this tool may use "
                "(--root). Nothing was read or written; ask the user."
            )
        return file

    def is_inside(self, real: str) -> bool:
        """Return whether a path without links is the root, or in it."""
        path, root = os.path.normcase(real), os.path.normcase(self.root)
        return path == root or path.startswith(os.path.join(root, ""))
