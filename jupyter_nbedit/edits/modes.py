"""What requests may do: the server's mode, and those of single notebooks."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from logging import Logger
from typing import TYPE_CHECKING, Literal, cast

from jupyter_nbedit.db.errors import MODES, NEW_MODE
from jupyter_nbedit.errors import Forbidden, HistoryUnavailable, ModesUnreadable

if TYPE_CHECKING:
    from jupyter_nbedit.db.database import Database
    from jupyter_nbedit.events.emitters import ReviewEventEmitter

#: ``review`` keeps edits until a person has decided; ``plan`` takes none but dry runs.
Mode = Literal["edit", "review", "plan"]

# What a row says if a person has decided, after the modes were lost, that a notebook has none of
# its own; with an empty name, that no notebook of the root has one unless it has a row.
_DECIDED = "server"
_OF_ALL = ""
_KNOWN = frozenset(("edit", "review", "plan", _DECIDED))
# How long a change that another server on the same folder makes may go unseen.
_FRESH_SECONDS = 1.0
_KEEP = "INSERT OR REPLACE INTO modes VALUES (:root, :name, :mode)"
_DROP = "DELETE FROM modes WHERE root = :root AND name = :name"
_DROP_UNKNOWN = """
    DELETE FROM modes WHERE root = :root AND mode NOT IN ('edit', 'review', 'plan', 'server')
"""
# Of a notebook at a path, and of those in the folder of that path.
_FOLLOW = """
    UPDATE OR REPLACE modes SET name = :new || substr(name, length(:old) + 1)
    WHERE root = :root AND (name = :old OR substr(name, 1, length(:old) + 1) = :old || '/')
"""
_FORGET = """
    DELETE FROM modes
    WHERE root = :root AND (name = :old OR substr(name, 1, length(:old) + 1) = :old || '/')
"""


@dataclass
class ModeManager:
    """The modes of one server.

    A notebook's own mode outlasts a restart, follows the notebook when it is renamed, and goes with
    it when it is deleted. The server's is as configured after each start.

    If the notebooks' own modes cannot be read, or were lost with a damaged database, nobody knows
    which notebooks are paused or need a review. Then no notebook is changed until a person has
    decided, by giving the server or the notebook a mode.

    Parameters
    ----------
    database
        Where notebooks' own modes are kept.
    events
        Tells of changes.
    log
        The server's.
    root
        Says which of all folders that are served this server's is.
    name
        Gives one name for all by which a notebook may be called, lest one is a way around its mode.
    configured
        The server's mode.
    is_fixed
        Whether requests may not change modes.
    """

    database: Database
    events: ReviewEventEmitter
    log: Logger
    root: Callable[[], str]
    name: Callable[[str], str]
    configured: Mode = "edit"
    is_fixed: bool = False
    _server: Mode | None = None
    _own: dict[str, str] = field(default_factory=dict)
    _unreadable: str | None = None
    # For which reason a person has decided while that could not be stored.
    _decided_for: str | None = None
    _fresh_until: float = 0.0

    @property
    def server(self) -> Mode:
        """The mode of all notebooks that have none of their own."""
        return self.configured if self._server is None else self._server

    async def get_effective(self, path: str) -> Mode:
        """Return the mode that holds for a notebook: its own, or else the server's.

        Raises
        ------
        ModesUnreadable
            If nobody knows whether it has one of its own.
        """
        return await self.get_own(path) or self.server

    async def get_own(self, path: str) -> Mode | None:
        """Return a notebook's own mode; None if it has none.

        Raises
        ------
        ModesUnreadable
            If nobody knows whether it has one.
        """
        await self._refresh()
        mode = self._find(path)
        if mode is None and self._unreadable is not None:
            raise ModesUnreadable(f"{self._unreadable} {self._describe_remedy()}")
        return None if mode in {None, _DECIDED} else cast("Mode", mode)

    async def explain_unreadable(self, path: str | None = None) -> str | None:
        """Return why nobody knows the mode of a notebook, or of some; None if it is known."""
        await self._refresh()
        if path is not None and self._find(path) is not None:
            return None
        return self._unreadable

    async def change_server(self, mode: Mode | None, user: str) -> None:
        """Set the mode of the server; None for the one that is configured.

        If the notebooks' own modes cannot be read, or were lost, no notebook has one from then on.

        Raises
        ------
        Forbidden
            If modes are fixed.
        """
        self._check_free()
        was_unreadable = await self._decide_for_all()
        before, self._server = self.server, mode
        if was_unreadable or self.server != before:
            self.log.info("The server's mode is %r, by %r", self.server, user)
            self.events.emit_mode(path=None, mode=self.server, user=user)

    async def change(self, path: str, mode: Mode | None, user: str) -> None:
        """Set a notebook's own mode, or remove it.

        Raises
        ------
        Forbidden
            If modes are fixed.
        HistoryUnavailable
            If it cannot be kept; then nothing has changed.
        """
        self._check_free()
        was_unreadable = await self.explain_unreadable(path) is not None
        before = None if was_unreadable else await self.get_own(path)
        row = {"root": self.root(), "name": self.name(path), "mode": mode}
        if mode is None and self._unreadable is not None:
            await self._write(_KEEP, {**row, "mode": _DECIDED})
        else:
            await self._write(_DROP if mode is None else _KEEP, row)
        if was_unreadable or mode != before:
            now = mode or self.server
            self.log.info("The mode of %r is %r, by %r", path, now, user)
            self.events.emit_mode(path=path, mode=now, user=user)

    async def on_renamed(self, old: str, new: str) -> None:
        """Follow a notebook, or all that are in a folder, to another path.

        Raises
        ------
        HistoryUnavailable
            If the new paths cannot be kept.
        """
        row = {"root": self.root(), "old": self.name(old), "new": self.name(new)}
        await self._write(_FOLLOW, row)

    async def on_deleted(self, path: str) -> None:
        """Forget a notebook, or all that are in a folder.

        Raises
        ------
        HistoryUnavailable
            If they cannot be.
        """
        await self._write(_FORGET, {"root": self.root(), "old": self.name(path)})

    async def _write(self, statement: str, row: Mapping[str, str | None]) -> None:
        await self.database.write(
            lambda database: database.execute(statement, row), purpose=NEW_MODE
        )
        self._fresh_until = 0.0

    async def _decide_for_all(self) -> bool:
        """Let no notebook have a mode of its own whose mode cannot be read or was lost.

        Returns
        -------
        Whether there was something to decide.
        """
        await self._read_modes()
        why = self._unreadable
        if why is None:
            return False
        row = {"root": self.root(), "name": _OF_ALL, "mode": _DECIDED}

        def decide(database: sqlite3.Connection) -> None:
            database.execute(_DROP_UNKNOWN, row)
            database.execute(_KEEP, row)

        try:
            await self.database.write(decide, purpose=NEW_MODE)
        except HistoryUnavailable as error:
            # It holds for as long as the reason is the same, and this server runs.
            self._decided_for = why
            self.log.warning("%s", error.message)
        self.log.warning("Notebooks have no modes of their own any more. %s", why)
        await self._read_modes()
        return True

    def _find(self, path: str) -> str | None:
        return self._own.get(self.name(path)) if self._own else None

    async def _refresh(self) -> None:
        """See what is kept, unless that was done a moment ago, and tell if it cannot be read."""
        if time.monotonic() <= self._fresh_until:
            return
        was_unreadable = self._unreadable is not None
        await self._read_modes()
        if was_unreadable != (self._unreadable is not None):
            self.log.warning("%s", self._unreadable or "The modes of notebooks can be read again.")
            # Pages ask again, and learn why.
            self.events.emit_mode(path=None, mode=self.server, user="")

    async def _read_modes(self) -> None:
        """See what is kept; other servers on the same folder may have changed it."""
        root = self.root()
        statement = "SELECT name, mode FROM modes WHERE root = ?"
        try:
            rows, mark = await self.database.read_modes(
                lambda database: database.execute(statement, (root,)).fetchall(), purpose=MODES
            )
            own, why = _read(rows or [], mark)
        except HistoryUnavailable as error:
            own, why = {}, error.message
        if why is None:
            self._decided_for = None
        self._own = own
        self._unreadable = None if why == self._decided_for else why
        self._fresh_until = time.monotonic() + _FRESH_SECONDS

    def _describe_remedy(self) -> str:
        """Return what a person can do if modes cannot be read."""
        if self.is_fixed:
            who = (
                "Ask whoever runs this server to start it once without NbEditApp.mode_is_fixed, "
                "and to choose"
            )
        else:
            who = "Ask a person to choose"
        return (
            "A notebook may have been paused, or its edits may need a review, so nothing was "
            f"written. {who} a mode in JupyterLab, or with PUT /nbedit/mode: without `path` for "
            "all notebooks, with `path` for one. Reading and dry runs work meanwhile."
        )

    def _check_free(self) -> None:
        if self.is_fixed:
            message = (
                "The modes of this server are fixed by its configuration "
                "(NbEditApp.mode_is_fixed). Ask whoever runs it."
            )
            raise Forbidden(message)


def _read(rows: Sequence[tuple[str, str]], mark: str | None) -> tuple[dict[str, str], str | None]:
    """Return the modes that rows have, and why some are not known; None if all are."""
    own = {name: mode for name, mode in rows if mode in _KNOWN}
    is_decided = own.pop(_OF_ALL, None) is not None
    if len(own) + is_decided < len(rows):
        return own, "The modes of notebooks cannot be read: one of them is no mode."
    if mark is not None and not is_decided:
        return own, f"The modes of notebooks were lost: {mark}."
    return own, None
