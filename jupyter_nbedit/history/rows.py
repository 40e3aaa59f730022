"""The rows of the ledger: what is done with them in SQL."""

from __future__ import annotations

import sqlite3

#: What an `WalkItem` is made of.
COLUMNS = "edit, time, kind, undoes, undone_by, said, has_record"


def get_notebook_number(connection: sqlite3.Connection, root: str, name: str) -> int:
    """Return the number of a notebook, which it keeps when it is renamed."""
    where = "SELECT place FROM places WHERE root = ? AND name = ?"
    found = connection.execute(where, (root, name)).fetchone()
    if found is None:
        connection.execute("INSERT INTO places (root, name) VALUES (?, ?)", (root, name))
        found = connection.execute(where, (root, name)).fetchone()
    return int(found[0])


def list_below(connection: sqlite3.Connection, root: str, name: str) -> list[tuple[int, str]]:
    """List what has this name, or is in the folder of this name."""
    return connection.execute(
        "SELECT place, name FROM places WHERE root = ? AND (name = ? OR name > ? AND name < ?)",
        # "0" comes right behind the slash.
        (root, name, f"{name}/", f"{name}0"),
    ).fetchall()


def delete_notebooks(connection: sqlite3.Connection, condition: str, *values: object) -> int:
    """Delete edits, and the names of notebooks that have none then."""
    places = connection.execute(
        f"SELECT DISTINCT place FROM edits WHERE {condition}",  # noqa: S608 -- ours
        values,
    ).fetchall()
    if not places:
        return 0
    count = connection.execute(f"DELETE FROM edits WHERE {condition}", values).rowcount  # noqa: S608 -- ours
    connection.executemany(
        "DELETE FROM places WHERE place = ?1 AND NOT EXISTS (SELECT * FROM edits WHERE place = ?1)",
        places,
    )
    return count


def recompute_undone_by(connection: sqlite3.Connection, edit: int | None) -> None:
    """Compute anew which edit undoes an edit, for it and the edits that it undoes in turn."""
    while edit is not None:
        connection.execute(
            "UPDATE edits SET undone_by = (SELECT max(edit) FROM edits AS other"
            " WHERE other.undoes = edits.edit AND other.undone_by IS NULL) WHERE edit = ?",
            (edit,),
        )
        row = connection.execute("SELECT undoes FROM edits WHERE edit = ?", (edit,)).fetchone()
        edit = None if row is None else row[0]
