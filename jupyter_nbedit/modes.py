"""What requests may do: the server's mode, and those of single notebooks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from logging import Logger
from typing import TYPE_CHECKING, Literal

from jupyter_nbedit.errors import Forbidden, LedgerError

if TYPE_CHECKING:
    from jupyter_nbedit.database import Database
    from jupyter_nbedit.events import DecisionEvents

#: ``review`` keeps edits until a person has decided; ``plan`` takes none but dry runs.
Mode = Literal["edit", "review", "plan"]

_TABLES = """
    CREATE TABLE IF NOT EXISTS modes (
        root TEXT NOT NULL,
        name TEXT NOT NULL,
        mode TEXT NOT NULL,
        PRIMARY KEY (root, name)
    ) WITHOUT ROWID;
"""
# How long a change that another server on the same folder makes may go unseen.
_FRESH_SECONDS = 1.0
_KEEP = "INSERT OR REPLACE INTO modes VALUES (:root, :name, :mode)"
_DROP = "DELETE FROM modes WHERE root = :root AND name = :name"
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
class ServerModes:
    """The modes of one server.

    A notebook's own mode outlasts a restart, follows the notebook when it is renamed, and goes with
    it when it is deleted. The server's is as configured after each start.

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
    events: DecisionEvents
    log: Logger
    root: Callable[[], str]
    name: Callable[[str], str]
    configured: Mode = "edit"
    is_fixed: bool = False
    _server: Mode | None = None
    _own: dict[str, Mode] = field(default_factory=dict)
    _fresh_until: float = 0.0

    def __post_init__(self) -> None:
        """Have the table made."""
        self.database.define(_TABLES)

    @property
    def server(self) -> Mode:
        """The mode of all notebooks that have none of their own."""
        return self.configured if self._server is None else self._server

    async def of(self, path: str) -> Mode:
        """Give the mode that holds for a notebook: its own, or else the server's."""
        return await self.own(path) or self.server

    async def own(self, path: str) -> Mode | None:
        """Give a notebook's own mode; None if it has none."""
        if time.monotonic() > self._fresh_until:
            await self._look()
        return self._own.get(self.name(path)) if self._own else None

    def change_server(self, mode: Mode | None, user: str) -> None:
        """Give the server another mode; None for the one that is configured.

        Raises
        ------
        Forbidden
            If modes are fixed.
        """
        self._check_free()
        before, self._server = self.server, mode
        if self.server != before:
            self.log.info("The server's mode is %r, by %r", self.server, user)
            self.events.mode(path=None, mode=self.server, user=user)

    async def change(self, path: str, mode: Mode | None, user: str) -> None:
        """Give a notebook a mode of its own, or take it away.

        Raises
        ------
        Forbidden
            If modes are fixed.
        LedgerError
            If it cannot be kept; then nothing has changed.
        """
        self._check_free()
        row = {"root": self.root(), "name": self.name(path), "mode": mode}
        before = await self.own(path)
        await self._write(_DROP if mode is None else _KEEP, row)
        if mode != before:
            now = await self.of(path)
            self.log.info("The mode of %r is %r, by %r", path, now, user)
            self.events.mode(path=path, mode=now, user=user)

    async def renamed(self, old: str, new: str) -> None:
        """Follow a notebook, or all that are in a folder, to another path.

        Raises
        ------
        LedgerError
            If the new paths cannot be kept.
        """
        await self._write(_FOLLOW, {"root": self.root(), "old": old, "new": new})

    async def gone(self, path: str) -> None:
        """Forget a notebook, or all that are in a folder.

        Raises
        ------
        LedgerError
            If they cannot be.
        """
        await self._write(_FORGET, {"root": self.root(), "old": path})

    async def _write(self, statement: str, row: Mapping[str, str | None]) -> None:
        await self.database.write(lambda database: database.execute(statement, row))
        self._fresh_until = 0.0

    async def _look(self) -> None:
        """See what is kept; other servers on the same folder may have changed it."""
        root = self.root()
        try:
            self._own = await self.database.read(
                lambda database: dict(
                    database.execute("SELECT name, mode FROM modes WHERE root = ?", (root,))
                )
            )
        except LedgerError as error:
            # What is known holds on: a broken database neither pauses nor resumes anything.
            self.log.warning("The modes of single notebooks cannot be read. %s", error.message)
        self._fresh_until = time.monotonic() + _FRESH_SECONDS

    def _check_free(self) -> None:
        if self.is_fixed:
            message = (
                "The modes of this server are fixed by its configuration "
                "(NbEditApp.mode_is_fixed). Ask whoever runs it."
            )
            raise Forbidden(message)
