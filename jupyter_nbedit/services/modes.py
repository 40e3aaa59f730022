"""The modes of the server and of single notebooks: read, change, and fail closed."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import Logger
from typing import Literal, cast

from jupyter_nbedit.db.database import Database
from jupyter_nbedit.db.errors import MODES, NEW_MODE
from jupyter_nbedit.db.link_paths import store_path
from jupyter_nbedit.db.notebook_names import NotebookName, NotebookNames, fold_name, get_file_key
from jupyter_nbedit.db.notebook_rows import get_strictness, write_older_modes
from jupyter_nbedit.errors import Forbidden, HistoryUnavailable, ModesUnreadable
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.events.models import ModeEvent

#: In ``review``, changes become proposals; in ``plan``, only dry runs are allowed.
Mode = Literal["edit", "review", "plan"]

# The value of a row if a person has decided, after the modes were lost, that a notebook has no mode
# of its own. With the empty name the row applies to all notebooks of the root without a row.
_SERVER_MODE = "server"
_ALL_NOTEBOOKS = ""
_VALID_VALUES = frozenset(("edit", "review", "plan", _SERVER_MODE))
# After how long a change by another server on the same folder is noticed.
_CACHE_SECONDS = 1.0
# More former paths of one notebook are no renames by people: forged events can double them.
_MAX_FORMER_PATHS = 64
_TOO_MANY_RENAMES = "Too many renames of this notebook are not stored yet."
_INVALID_MODE = "The modes of notebooks cannot be read: one of them is not a mode."
_SELECT = "SELECT root, name, mode FROM modes"
_UPSERT = "INSERT OR REPLACE INTO modes VALUES (:root, :name, :mode)"
_DELETE = "DELETE FROM modes WHERE root = :root AND name = :name"
_DELETE_INVALID = """
    DELETE FROM modes WHERE root = :root AND name >= :first AND name < :last
        AND mode NOT IN ('edit', 'review', 'plan', 'server')
"""
# A notebook of a name, and all notebooks in the folder of that name.
_IS_INSIDE = """
    root = :root AND (name = :name OR substr(name, 1, length(:name) + 1) = :name || '/')
"""
_RENAME_ALL = f"""
    UPDATE OR REPLACE modes SET name = :new || substr(name, length(:name) + 1) WHERE {_IS_INSIDE}
"""  # noqa: S608 -- ours
_DELETE_ALL = f"DELETE FROM modes WHERE {_IS_INSIDE}"  # noqa: S608 -- ours


@dataclass
class ModeManager:
    """The modes of one server.

    A notebook's own mode survives a restart, follows a rename and is deleted with the notebook. The
    mode of the server is the configured one after each start.

    If the modes of notebooks cannot be read, or were lost with a damaged database, it is unknown
    which notebooks are paused or need a review. Then no notebook is changed until a person decides,
    by setting the mode of the server or of the notebook.
    """

    database: Database
    events: EventEmitter
    log: Logger
    names: NotebookNames
    configured_mode: Mode = "edit"
    #: Whether requests may not change modes.
    is_fixed: bool = False
    _server: Mode | None = None
    # The values of notebooks, by the last part of their names in the form of `fold_name`.
    _own: dict[str, dict[NotebookName, str]] = field(default_factory=dict)
    _problem: str | None = None
    # The problem that a person has decided on while the decision could not be stored.
    _decided_problem: str | None = None
    _cached_until: float = 0.0
    # The old and new paths of renames that are not stored yet.
    _renames: list[tuple[str, str]] = field(default_factory=list)

    @property
    def server(self) -> Mode:
        """The mode of all notebooks without a mode of their own."""
        return self.configured_mode if self._server is None else self._server

    async def get_effective(self, path: str) -> Mode:
        """Return the effective mode of a notebook: its own, or else the server's.

        Raise `ModesUnreadable` if it is unknown whether the notebook has a mode of its own.
        """
        own, problem = await self.read_own(path)
        if problem is not None:
            raise ModesUnreadable(f"{problem} {self._describe_remedy()}")
        return self.compute_effective(own)

    def compute_effective(self, own: Mode | None) -> Mode:
        """Return the effective mode of a notebook; ``own`` is its own mode, or None."""
        if own is not None and self.is_fixed:
            # The configuration decides; a notebook can only be more strict.
            return max(own, self.server, key=get_strictness)
        return own or self.server

    async def read_own(self, path: str) -> tuple[Mode | None, str | None]:
        """Return a notebook's own mode, or None, and why the mode is unknown, or None."""
        await self._refresh()
        mode: str | None = None
        if self._own:
            paths = self._list_former_paths(path)
            if len(paths) > _MAX_FORMER_PATHS:
                return None, _TOO_MANY_RENAMES
            # The strictest value for the notebook, in any spelling and at any mount.
            groups = [await self._find_values(self.names.find(each)) for each in paths]
            modes = [mode for group in groups for mode in group.values()]
            mode = max(modes, key=get_strictness, default=None)
        if mode is None:
            return None, self._problem
        if mode not in _VALID_VALUES:
            return None, _INVALID_MODE
        return None if mode == _SERVER_MODE else cast("Mode", mode), None

    @contextmanager
    def expect_rename(self, old: str, new: str) -> Iterator[None]:
        """Let the mode of a notebook or folder apply to its new path before it is stored there."""
        rename = (old, new)
        self._renames.append(rename)
        try:
            yield
        finally:
            self._renames.remove(rename)

    def _list_former_paths(self, path: str) -> set[str]:
        """Return the path, and the paths of the notebook before renames that are not stored yet.

        If there are more than `_MAX_FORMER_PATHS`, some are missing.
        """
        paths = {path}
        for old, new in reversed(self._renames):
            paths |= {
                f"{old}{each[len(new) :]}"
                for each in paths
                if each == new or each.startswith(f"{new}/")
            }
            if len(paths) > _MAX_FORMER_PATHS:
                break
        return paths

    async def _find_values(self, name: NotebookName) -> dict[NotebookName, str]:
        """Return the values of all names that mean the same file."""
        values = self._own.get(_get_folded_base(name), {})
        if not values.keys() - {name}:
            return values
        # Another notebook of the same base name may be on a file system that does not answer.
        return await asyncio.to_thread(_select_same_file, values, name)

    async def explain_unreadable(self) -> str | None:
        """Return why the modes of some notebooks are unknown; None if all are known."""
        await self._refresh()
        return self._problem

    async def change_server(self, mode: Mode | None, user: str) -> None:
        """Set the mode of the server; None for the configured one.

        If the modes of notebooks cannot be read or were lost, the notebooks of the root have no
        modes of their own afterwards. Raise `Forbidden` if modes are fixed.
        """
        self._check_free()
        was_unreadable = await self._decide_for_all()
        before, self._server = self.server, mode
        if was_unreadable or self.server != before:
            self.log.info("The server's mode is %r, by %r", self.server, user)
            self.events.emit(ModeEvent(path=None, mode=self.server, user=user))

    async def change(self, path: str, mode: Mode | None, user: str) -> None:
        """Set a notebook's own mode; None to remove it.

        Raise `Forbidden` if modes are fixed, and `HistoryUnavailable` if it cannot be stored; then
        nothing has changed.
        """
        self._check_free()
        before, problem = await self.read_own(path)
        value = _SERVER_MODE if mode is None and self._problem is not None else mode
        name = self.names.find(path)
        await self._write(
            [(_DELETE, each._asdict()) for each in {name, *await self._find_values(name)}]
            + ([] if value is None else [(_UPSERT, {**name._asdict(), "mode": value})]),
            (path, name),
        )
        if problem is not None or mode != before:
            effective_mode = mode or self.server
            self.log.info("The mode of %r is %r, by %r", path, effective_mode, user)
            self.events.emit(ModeEvent(path=path, mode=effective_mode, user=user))

    async def on_renamed(self, old: str, new: str) -> None:
        """Follow a notebook, or all notebooks in a folder, to a new path.

        Raise `HistoryUnavailable` if the new paths cannot be stored.
        """
        row = {**self.names.find(old)._asdict(), "new": self.names.find(new).name}
        # To rename a link changes no name, but the path by which an older release looks for it.
        await self._write([] if self.names.is_link(new) else [(_RENAME_ALL, row)])

    async def copy_stricter_modes(self, old: str, new: str) -> None:
        """Copy the modes of a notebook or folder to another path where this makes a mode stricter.

        Raise `HistoryUnavailable` if they cannot be stored.
        """
        await self._refresh()
        old_name, new_name = self.names.find(old), self.names.find(new)
        values = {name: value for group in self._own.values() for name, value in group.items()}
        statements = []
        for name, value in values.items():
            is_below = name.name.startswith(f"{old_name.name}/")
            if name.root != old_name.root or not (name == old_name or is_below):
                continue
            copy = NotebookName(new_name.root, new_name.name + name.name[len(old_name.name) :])
            if get_strictness(value) > get_strictness(values.get(copy, self.server)):
                statements.append((_UPSERT, {**copy._asdict(), "mode": value}))
        if statements:
            await self._write(statements)

    async def on_deleted(self, path: str) -> None:
        """Delete the mode of a notebook, or of all notebooks in a folder.

        Raise `HistoryUnavailable` if the database fails.
        """
        await self._write([(_DELETE_ALL, self.names.find(path)._asdict())])

    async def _write(
        self,
        statements: Sequence[tuple[str, Mapping[str, str]]],
        used_path: tuple[str, NotebookName] | None = None,
    ) -> None:
        def write(connection: sqlite3.Connection) -> None:
            if used_path is not None:
                store_path(connection, self.names, *used_path)
            for statement, row in statements:
                connection.execute(statement, row)
            write_older_modes(connection)

        await self.database.write(write, purpose=NEW_MODE)
        self._cached_until = 0.0

    async def _decide_for_all(self) -> bool:
        """Remove the unknown modes of notebooks; return whether there were any."""
        await self._read_modes()
        problem = self._problem
        if problem is None:
            return False
        row = {"root": self.names.get_root_name(), "name": _ALL_NOTEBOOKS, "mode": _SERVER_MODE}
        invalid_range = self.names.get_range()._asdict()
        try:
            await self._write([(_DELETE_INVALID, invalid_range), (_UPSERT, row)])
        except HistoryUnavailable as error:
            # The decision applies as long as the problem is the same and this server runs.
            self._decided_problem = problem
            self.log.warning("%s", error.message)
        self.log.warning("Notebooks have no modes of their own any more. %s", problem)
        await self._read_modes()
        return True

    async def _refresh(self) -> None:
        """Read the modes, unless that was done a moment ago; report whether they can be read."""
        if time.monotonic() <= self._cached_until:
            return
        was_unreadable = self._problem is not None
        await self._read_modes()
        if was_unreadable != (self._problem is not None):
            self.log.warning("%s", self._problem or "The modes of notebooks can be read again.")
            # The event makes pages request the mode, whose reply has the problem.
            self.events.emit(ModeEvent(path=None, mode=self.server, user=""))

    async def _read_modes(self) -> None:
        """Read the modes; other servers may have changed them."""
        try:
            rows, mark = await self.database.read_modes(
                lambda connection: connection.execute(_SELECT).fetchall(), purpose=MODES
            )
            own, problem = self._parse_rows(rows or [], mark)
        except HistoryUnavailable as error:
            own, problem = {}, error.message
        if problem is None:
            self._decided_problem = None
        self._own = own
        self._problem = None if problem == self._decided_problem else problem
        self._cached_until = time.monotonic() + _CACHE_SECONDS

    def _parse_rows(
        self, rows: Sequence[tuple[str, str, str]], quarantine_reason: str | None
    ) -> tuple[dict[str, dict[NotebookName, str]], str | None]:
        """Return the modes that are known, and why other modes are unknown, or None.

        Older releases read the rows with the root of a server.
        """
        root, first, last = self.names.get_range()
        own_root = f"{self.names.get_root_name()}/"
        own: dict[str, dict[NotebookName, str]] = {}
        is_decided = has_invalid = False
        for each, name, mode in rows:
            if name == _ALL_NOTEBOOKS:
                is_decided |= own_root.startswith(f"{each.rstrip('/')}/")
            elif each == root:
                full_name = NotebookName(root, name)
                own.setdefault(_get_folded_base(full_name), {})[full_name] = mode
                has_invalid |= first <= name < last and mode not in _VALID_VALUES
        if has_invalid:
            return own, _INVALID_MODE
        if quarantine_reason is not None and not is_decided:
            return own, f"The modes of notebooks were lost: {quarantine_reason}."
        return own, None

    def _describe_remedy(self) -> str:
        """Return what a person can do if modes cannot be read."""
        if self.is_fixed:
            instruction = (
                "Ask the administrator of this server to start it once without "
                "NbEditApp.mode_is_fixed, and to choose"
            )
        else:
            instruction = "Ask a person to choose"
        return (
            "A notebook may have been paused, or its edits may need a review, so nothing was "
            f"written. {instruction} a mode in JupyterLab, or with PUT /nbedit/mode: without "
            "`path` for all notebooks, or with `path` for one if the database can be written. "
            "Reading and dry runs work meanwhile."
        )

    def _check_free(self) -> None:
        if self.is_fixed:
            raise Forbidden(
                "The modes of this server are fixed by its configuration "
                "(NbEditApp.mode_is_fixed). Ask the administrator."
            )


def _select_same_file(
    values: Mapping[NotebookName, str], name: NotebookName
) -> dict[NotebookName, str]:
    key = get_file_key(name)
    return {
        each: value
        for each, value in values.items()
        if each == name or (key is not None and get_file_key(each) == key)
    }


def _get_folded_base(name: NotebookName) -> str:
    return fold_name(name.name.rpartition("/")[2])
