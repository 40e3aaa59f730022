"""Whether the tables of a file are those of its version, however their statements are written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from jupyter_nbedit.db.errors import UnknownDatabase


def describe_structure(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    """Return what there is: tables with their columns and indexes, and triggers."""
    found: set[tuple[object, ...]] = set()
    for kind, name, table in connection.execute(
        "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    ).fetchall():
        found.add((kind, name, table))
        if kind == "table":
            found |= _describe_table(connection, name)
    return found


def _describe_table(connection: sqlite3.Connection, table: str) -> set[tuple[object, ...]]:
    found: set[tuple[object, ...]] = set()
    columns = connection.execute(
        'SELECT name, "notnull", pk FROM pragma_table_info(?)', (table,)
    ).fetchall()
    found |= {("column", table, *column) for column in columns}
    indexes = connection.execute(
        'SELECT name, "unique", partial FROM pragma_index_list(?)', (table,)
    ).fetchall()
    for name, is_unique, is_partial in indexes:
        rows = connection.execute("SELECT name FROM pragma_index_info(?)", (name,)).fetchall()
        found.add(("index of", table, is_unique, is_partial, tuple(column for (column,) in rows)))
    return found


def check_structure(connection: sqlite3.Connection, wanted: set[tuple[object, ...]]) -> None:
    """Raise an error if something is missing, or does not fit together.

    Raises
    ------
    UnknownDatabase
    """
    if not wanted <= describe_structure(connection):
        message = "its tables are not those of jupyter_nbedit"
        raise UnknownDatabase(message)
    for kind, name, *_ in sorted(wanted, key=str):
        if kind != "table":
            continue
        for statement in ("INSERT INTO {} DEFAULT VALUES", "DELETE FROM {}"):
            try:
                # To explain a statement is to compile it, with the triggers that belong to it.
                connection.execute("EXPLAIN " + statement.format(name)).fetchall()
            except sqlite3.OperationalError as error:
                raise UnknownDatabase(str(error)) from None


def check_contents(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Raise an error if a table, or one of its indexes, does not say what was written.

    Raises
    ------
    UnknownDatabase
    """
    for table in tables:
        (found,) = connection.execute(f"PRAGMA integrity_check({table})").fetchone()
        if found != "ok":
            raise UnknownDatabase(found)
