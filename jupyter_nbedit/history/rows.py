"""The rows of the ledger: what is done with them in SQL."""

from __future__ import annotations

import sqlite3

# AUTOINCREMENT, for the number of what is deleted shall never be another edit's.
TABLES = """
    CREATE TABLE IF NOT EXISTS places (
        place INTEGER PRIMARY KEY,
        root TEXT NOT NULL,
        name TEXT NOT NULL,
        UNIQUE (root, name)
    );
    CREATE TABLE IF NOT EXISTS edits (
        edit INTEGER PRIMARY KEY AUTOINCREMENT,
        place INTEGER NOT NULL,
        time REAL NOT NULL,
        kind TEXT NOT NULL,
        undoes INTEGER,
        undone_by INTEGER,
        size INTEGER NOT NULL,
        said BLOB NOT NULL,
        has_record INTEGER NOT NULL,
        record BLOB
    );
    CREATE INDEX IF NOT EXISTS edits_by_place ON edits (place);
    CREATE INDEX IF NOT EXISTS edits_by_undone ON edits (undoes) WHERE undoes IS NOT NULL;
    CREATE TABLE IF NOT EXISTS edits_size (one INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
    INSERT OR IGNORE INTO edits_size VALUES (1, 0);
    CREATE TRIGGER IF NOT EXISTS edits_grow AFTER INSERT ON edits BEGIN
        UPDATE edits_size SET bytes = bytes + NEW.size;
    END;
    CREATE TRIGGER IF NOT EXISTS edits_shrink AFTER DELETE ON edits BEGIN
        UPDATE edits_size SET bytes = bytes - OLD.size;
    END;
"""
#: What an `Entry` is made of.
COLUMNS = "edit, time, kind, undoes, undone_by, said, has_record"


def place_of(connection: sqlite3.Connection, root: str, name: str) -> int:
    """Give the number of a notebook, which it keeps when it is renamed."""
    where = "SELECT place FROM places WHERE root = ? AND name = ?"
    found = connection.execute(where, (root, name)).fetchone()
    if found is None:
        connection.execute("INSERT INTO places (root, name) VALUES (?, ?)", (root, name))
        found = connection.execute(where, (root, name)).fetchone()
    return int(found[0])


def below(connection: sqlite3.Connection, root: str, name: str) -> list[tuple[int, str]]:
    """List what has this name, or is in the folder of this name."""
    return connection.execute(
        "SELECT place, name FROM places WHERE root = ? AND (name = ? OR name > ? AND name < ?)",
        # "0" comes right behind the slash.
        (root, name, f"{name}/", f"{name}0"),
    ).fetchall()


def forget(connection: sqlite3.Connection, condition: str, *values: object) -> int:
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


def reckon(connection: sqlite3.Connection, edit: int | None) -> None:
    """Tell again by what an edit is taken back, and the edit that it takes back, and so on."""
    while edit is not None:
        connection.execute(
            "UPDATE edits SET undone_by = (SELECT max(edit) FROM edits AS other"
            " WHERE other.undoes = edits.edit AND other.undone_by IS NULL) WHERE edit = ?",
            (edit,),
        )
        row = connection.execute("SELECT undoes FROM edits WHERE edit = ?", (edit,)).fetchone()
        edit = None if row is None else row[0]
