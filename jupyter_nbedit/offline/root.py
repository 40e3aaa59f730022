"""Which folder the paths of an offline edit are relative to, and under which name it is recorded.

The history, the modes and the proposals of a notebook belong to the root of a server. An offline
edit continues those of a root that the database knows. If there is none, it is recorded under a
name that is no folder, and the next server whose root holds the notebook adopts it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path

from jupyter_nbedit.client.server import get_relative_path
from jupyter_nbedit.db.database import Database
from jupyter_nbedit.db.errors import MODES
from jupyter_nbedit.errors import HistoryUnavailable
from jupyter_nbedit.wiring import (
    NotebookNames,
    get_data_folder,
    get_offline_name,
    get_offline_root_name,
)

# How strict a notebook's own mode is; others are less strict.
_STRICTNESS = {"review": 1, "plan": 2}
_SELECT_MODE = "SELECT mode FROM modes WHERE root = ? AND name = ?"
_SELECT_NEWEST = "SELECT max(edit_id) FROM edits JOIN notebooks USING (notebook_id) WHERE root = ?"


@dataclass(frozen=True)
class FileSystemNames:
    """Names that begin with a slash: paths from the root of the file system on."""

    folder: Path

    def get_root_name(self) -> str:
        """Return a name that no server has, not even one on the root of the file system."""
        return get_offline_root_name(self.folder)

    def get_canonical_path(self, path: str) -> str:
        """Return the path of a notebook without links; ``path`` as it is if it cannot exist."""
        try:
            real = os.path.realpath(self.folder / path)
        except ValueError:
            return path
        return get_offline_name(Path(real))


@dataclass(frozen=True)
class NotebookRoot:
    """The folder that API paths are relative to; ``names`` is None if it is a server's root."""

    folder: Path
    names: NotebookNames | None

    def get_path(self, target: Path) -> str:
        """Return the API path of a file or folder below the root."""
        path = get_relative_path(str(self.folder), str(target))
        if path is None:
            message = f"{target} is not below {self.folder}"
            raise ValueError(message)
        return path


def _is_hidden(target: Path, top: Path) -> bool:
    return any(part.startswith(".") for part in target.relative_to(top).parts)


def resolve_root(real_target: Path, known_root: str | None, folder: Path) -> NotebookRoot:
    """Return the root for a target; ``folder`` if no root is known, and if it holds the target."""
    is_hidden_folder = (
        real_target.is_dir()
        and known_root is not None
        and (
            (path := get_relative_path(known_root, str(real_target))) is None
            or any(part.startswith(".") for part in path.split("/"))
        )
    )
    if known_root is not None and not is_hidden_folder:
        return NotebookRoot(Path(known_root), None)
    top = Path(os.path.realpath(folder))
    if real_target.is_dir() and top in real_target.parents and _is_hidden(real_target, top):
        # Else nothing in it would be shown.
        top = real_target
    if real_target != top and top not in real_target.parents:
        top = real_target if real_target.is_dir() else real_target.parent
    return NotebookRoot(top, FileSystemNames(top))


async def find_known_root(target: Path, log: Logger) -> str | None:
    """Return the root of a server that holds a notebook or folder; None if none is known.

    A root also holds what links in it lead to, if ``target`` goes through them.

    Of several it is the one where the notebook has the strictest mode, then the one with the newest
    edit of the notebook, then the one with the newest edit of all.
    """
    database = Database(get_data_folder(), log)
    modes: dict[str, int] = {}
    edits: dict[str, tuple[int, int]] = {}
    try:
        found, _ = await database.read_modes(
            lambda connection: _rank_by_mode(connection, target), purpose=MODES
        )
        if found is None:
            return None
        modes = found
        edits = await database.read(lambda connection: _rank_by_edit(connection, target))
    except HistoryUnavailable:
        # If the modes cannot be read, no notebook can be changed, whatever its root is; if only the
        # history cannot be read, edits are not recorded.
        log.debug("No roots can be read from the database", exc_info=True)
    finally:
        await database.close()
    ranks = {root: (modes.get(root, 0), *edits.get(root, (0, 0))) for root in {*modes, *edits}}
    return max(ranks, key=ranks.__getitem__, default=None)


def _rank_by_mode(connection: sqlite3.Connection, target: Path) -> dict[str, int]:
    """Return how strict the own mode of a notebook is, for each root with modes that holds it."""
    roots = connection.execute("SELECT DISTINCT root FROM modes").fetchall()
    return {
        root: max(
            (
                _STRICTNESS.get(mode, 0)
                for (mode,) in connection.execute(_SELECT_MODE, (root, name))
            ),
            default=0,
        )
        for root, name in _select_holders(roots, target)
    }


def _rank_by_edit(connection: sqlite3.Connection, target: Path) -> dict[str, tuple[int, int]]:
    """Return the newest edit of a notebook, and of all, for each root that holds it."""
    roots = connection.execute(
        "SELECT root FROM notebooks UNION SELECT root FROM proposals"
    ).fetchall()
    return {
        root: (
            connection.execute(f"{_SELECT_NEWEST} AND name = ?", (root, name)).fetchone()[0] or 0,
            connection.execute(_SELECT_NEWEST, (root,)).fetchone()[0] or 0,
        )
        for root, name in _select_holders(roots, target)
    }


def _select_holders(roots: Sequence[tuple[str]], target: Path) -> list[tuple[str, str]]:
    """Return the folders that are a target or hold it, with its name there.

    A root may also be no folder.
    """
    return [
        (root, name)
        for (root,) in roots
        if Path(root).is_absolute() and (name := get_relative_path(root, str(target))) is not None
    ]
