"""In SQL, the paths of notebooks that a server reaches through links.

If the name of a notebook is not below the root of a server, the server shows the notebook only by
such a path, and only as long as the path leads to this notebook.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from asyncio import Future, get_running_loop
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from logging import Logger
from pathlib import PurePath

from jupyter_nbedit.db.database import Database
from jupyter_nbedit.db.notebook_names import FILES, NotebookName, NotebookNames, join_path
from jupyter_nbedit.db.notebook_rows import merge_notebook, write_older_modes
from jupyter_nbedit.errors import HistoryUnavailable

#: Selects, in `notebooks` or another table with the same columns, what a root may show.
#: `build_root_values` returns the parameters.
IS_IN_ROOT = """
    root = :root AND (name >= :first AND name < :last
        OR name IN (SELECT name FROM link_paths WHERE root = :own_root))
"""
_SELECT = "SELECT name, path FROM link_paths WHERE root = ?"
_INSERT = "INSERT OR REPLACE INTO link_paths VALUES (?, ?, ?, 1)"


def build_root_values(names: NotebookNames) -> dict[str, str]:
    """Return the parameters of `IS_IN_ROOT`."""
    return {**names.get_range()._asdict(), "own_root": names.get_root_name()}


def store_path(
    connection: sqlite3.Connection, names: NotebookNames, path: str, name: NotebookName
) -> None:
    """Store the root of a server, and a path if it leads to a notebook that is not below it."""
    if name.root != FILES:
        return
    connection.execute("INSERT OR IGNORE INTO roots VALUES (?)", (names.get_root_name(),))
    if names.get_path(name) is None:
        connection.execute(_INSERT, (names.get_root_name(), path.strip("/"), name.name))


def move_paths(
    connection: sqlite3.Connection, names: NotebookNames, old: str, new: str | None
) -> None:
    """Store the new path of a link, or of a folder with links; None if the link was deleted."""
    root = names.get_root_name()
    rows = connection.execute(_SELECT, (root,)).fetchall()
    for name, path in rows:
        if not f"{path}/".startswith(f"{old}/"):
            continue
        connection.execute("DELETE FROM link_paths WHERE root = ? AND path = ?", (root, path))
        if new is not None:
            connection.execute(_INSERT, (root, new + path[len(old) :], name))


@dataclass(frozen=True)
class PathFinder:
    """Finds the API path that a server uses for a notebook."""

    names: NotebookNames
    _link_paths: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, connection: sqlite3.Connection, names: NotebookNames) -> PathFinder:
        """Read the paths that lead to notebooks outside of the root."""
        paths: dict[str, list[str]] = {}
        for name, path in connection.execute(_SELECT, (names.get_root_name(),)):
            paths.setdefault(name, []).append(path)
        return cls(names, paths)

    def find(self, name: NotebookName, known_paths: Iterable[str] = ()) -> str | None:
        """Return a path that leads to a notebook, if there is one; known paths come first."""
        below_root = self.names.get_path(name)
        link_paths = self._link_paths.get(name.name, ()) if below_root is None else ()
        for path in (*known_paths, *link_paths):
            if path == below_root or self.names.find(path) == name:
                return path
        return below_root


async def resolve_link_paths(database: Database, log: Logger) -> None:
    """Resolve the paths that the migration of an older file has left, and rename notebooks by them.

    A file system that does not answer holds nothing but this.
    """
    if not database.has_file:
        return
    try:
        rows = await database.read(
            lambda connection: connection.execute(
                "SELECT root, path, name FROM link_paths WHERE NOT is_resolved"
            ).fetchall()
        )
        if rows:
            real_names = await _run_in_daemon(lambda: [_resolve(name) for _, _, name in rows])
            pairs = list(zip(rows, real_names, strict=True))
            await database.write(lambda connection: _store_resolved(connection, pairs))
    except HistoryUnavailable as error:
        # The database has logged what is wrong with it; the next start tries again.
        log.info("The links of an older history were not resolved: %s", error.message)


def _resolve(name: str) -> str:
    with suppress(OSError, ValueError):
        return PurePath(os.path.realpath(name)).as_posix()
    return name


def _store_resolved(
    connection: sqlite3.Connection, pairs: Sequence[tuple[tuple[str, str, str], str]]
) -> None:
    for (root, path, name), real_name in pairs:
        if real_name != name:
            merge_notebook(connection, NotebookName(FILES, name), NotebookName(FILES, real_name))
        if real_name.startswith(join_path(root, "")) or root.startswith("offline:"):
            connection.execute("DELETE FROM link_paths WHERE root = ? AND path = ?", (root, path))
        else:
            connection.execute(_INSERT, (root, path, real_name))
    write_older_modes(connection)


def _run_in_daemon(function: Callable[[], list[str]]) -> Future[list[str]]:
    """Run a function in a thread that nothing waits for when the process ends."""
    loop = get_running_loop()
    future: Future[list[str]] = loop.create_future()

    def set_result(result: list[str]) -> None:
        if not future.cancelled():
            future.set_result(result)

    def run() -> None:
        result = function()
        # The loop may have ended meanwhile.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(set_result, result)

    threading.Thread(target=run, name="jupyter_nbedit-links", daemon=True).start()
    return future
