"""The rows of a notebook in all tables, when it gets another name."""

import sqlite3
from pathlib import PurePath

from jupyter_nbedit.db.notebook_names import FILES, NotebookName, join_path

# How strict a mode is; what is no mode is the strictest.
_STRICTNESS = {"server": 0, "edit": 1, "review": 2, "plan": 3}
_STRICTEST = 4
# The root under which older releases look for modes without a server.
_OFFLINE = "offline:"


def get_notebook_id(connection: sqlite3.Connection, name: NotebookName) -> int:
    """Return the number of a notebook, and insert the notebook if it has none yet."""
    notebook_id = _find_notebook_id(connection, name)
    if notebook_id is not None:
        return notebook_id
    insert = "INSERT INTO notebooks (root, name) VALUES (?, ?)"
    return int(connection.execute(insert, name).lastrowid or 0)


def _find_notebook_id(connection: sqlite3.Connection, name: NotebookName) -> int | None:
    select = "SELECT notebook_id FROM notebooks WHERE root = ? AND name = ?"
    row = connection.execute(select, name).fetchone()
    return None if row is None else int(row[0])


def list_notebooks(
    connection: sqlite3.Connection, name: NotebookName
) -> list[tuple[int, NotebookName]]:
    """List the notebook of a name, or the notebooks in the folder of that name."""
    rows = connection.execute(
        "SELECT notebook_id, name FROM notebooks"
        " WHERE root = ? AND (name = ? OR name > ? AND name < ?)",
        # "0" is the character after the slash.
        (name.root, name.name, f"{name.name}/", f"{name.name}0"),
    ).fetchall()
    return [(notebook_id, NotebookName(name.root, found)) for notebook_id, found in rows]


def move_edits(connection: sqlite3.Connection, notebook_id: int, name: NotebookName) -> None:
    """Move the edits of a notebook to another name, which may have edits already."""
    target_id = get_notebook_id(connection, name)
    if target_id == notebook_id:
        return
    connection.execute(
        "UPDATE edits SET notebook_id = ? WHERE notebook_id = ?", (target_id, notebook_id)
    )
    connection.execute(
        "UPDATE OR REPLACE seen_edits SET notebook_id = ? WHERE notebook_id = ?",
        (target_id, notebook_id),
    )
    connection.execute("DELETE FROM notebooks WHERE notebook_id = ?", (notebook_id,))


def merge_notebook(connection: sqlite3.Connection, old: NotebookName, new: NotebookName) -> None:
    """Give a notebook its right name, under which there may be rows already.

    Changes that were unseen under one name stay unseen, and of two own modes the stricter holds.
    The caller then calls `write_older_modes`.
    """
    old_id, new_id = (_find_notebook_id(connection, name) for name in (old, new))
    if old_id is not None:
        if new_id is not None:
            _expand_seen(connection, old_id)
            _expand_seen(connection, new_id)
        move_edits(connection, old_id, new)
    connection.execute(
        "UPDATE proposals SET root = ?, name = ? WHERE root = ? AND name = ?", (*new, *old)
    )
    modes = connection.execute(
        "SELECT mode FROM modes WHERE (root, name) IN (VALUES (?, ?), (?, ?))", (*old, *new)
    ).fetchall()
    connection.execute("DELETE FROM modes WHERE root = ? AND name = ?", old)
    if modes:
        strictest = max((mode for (mode,) in modes), key=get_strictness)
        connection.execute("INSERT OR REPLACE INTO modes VALUES (?, ?, ?)", (*new, strictest))


def get_strictness(mode: str) -> int:
    """Return how strict a mode is, as a number."""
    return _STRICTNESS.get(mode, _STRICTEST)


def write_older_modes(connection: sqlite3.Connection) -> None:
    """Write the modes of notebooks in files once more, as older releases name them.

    An older release reads no other table of a newer file, and looks for the path relative to its
    root. A paused notebook then stays paused after a return to that release.
    """
    modes = dict(connection.execute("SELECT name, mode FROM modes WHERE root = ?", (FILES,)))
    connection.execute(
        "DELETE FROM modes WHERE name != '' AND (root IN (SELECT root FROM roots) OR root GLOB ?)",
        (f"{_OFFLINE}*",),
    )
    # An older release does not resolve a link that leads out of its root.
    modes |= {
        join_path(root, path): modes[name]
        for root, path, name in connection.execute("SELECT root, path, name FROM link_paths")
        if name in modes and not root.startswith(_OFFLINE)
    }
    rows: list[tuple[str, str, str]] = []
    for (root,) in connection.execute("SELECT root FROM roots").fetchall():
        folder = join_path(root, "")
        rows += [
            (root, name[len(folder) :], mode)
            for name, mode in modes.items()
            if name.startswith(folder) and not root.startswith(_OFFLINE)
        ]
    for name, mode in modes.items():
        anchor = PurePath(name).anchor
        below_anchor = PurePath(name).relative_to(anchor).as_posix()
        rows.append((f"{_OFFLINE}{anchor}", f"/{below_anchor}", mode))
    connection.executemany("INSERT OR REPLACE INTO modes VALUES (?, ?, ?)", rows)


def _expand_seen(connection: sqlite3.Connection, notebook_id: int) -> None:
    """Store what was seen of a notebook as one row for each edit, before others are added to it."""
    boundaries = connection.execute(
        "SELECT user, edit_id FROM seen_edits WHERE notebook_id = ? AND parts IS NULL",
        (notebook_id,),
    ).fetchall()
    connection.execute(
        "DELETE FROM seen_edits WHERE notebook_id = ? AND parts IS NULL", (notebook_id,)
    )
    for user, edit_id in boundaries:
        connection.execute(
            "INSERT OR REPLACE INTO seen_edits"
            " SELECT notebook_id, ?, edit_id, '[]', 1 FROM edits"
            " WHERE notebook_id = ? AND edit_id <= ?",
            (user, notebook_id, edit_id),
        )
