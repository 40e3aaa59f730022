"""Check that a file has the tables of its version, whatever the text of the statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from jupyter_nbedit.db.errors import UnknownDatabase


def describe_structure(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    """Return the tables, their columns and indexes, and the triggers of a database."""
    items: set[tuple[object, ...]] = set()
    for kind, name, table in connection.execute(
        "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    ).fetchall():
        items.add((kind, name, table))
        if kind == "table":
            items |= _describe_table(connection, name)
    return items


def _describe_table(connection: sqlite3.Connection, table: str) -> set[tuple[object, ...]]:
    items: set[tuple[object, ...]] = set()
    columns = connection.execute(
        'SELECT name, "notnull", pk FROM pragma_table_info(?)', (table,)
    ).fetchall()
    items |= {("column", table, *column) for column in columns}
    indexes = connection.execute(
        'SELECT name, "unique", partial FROM pragma_index_list(?)', (table,)
    ).fetchall()
    for name, is_unique, is_partial in indexes:
        rows = connection.execute("SELECT name FROM pragma_index_info(?)", (name,)).fetchall()
        items.add(("index of", table, is_unique, is_partial, tuple(column for (column,) in rows)))
    return items


def check_structure(connection: sqlite3.Connection, expected: set[tuple[object, ...]]) -> None:
    """Check that nothing is missing, and that triggers and tables fit together.

    Raises
    ------
    UnknownDatabase
        If the file is not what this package has written.
    """
    if not expected <= describe_structure(connection):
        message = "its tables are not those of jupyter_nbedit"
        raise UnknownDatabase(message)
    for kind, name, *_ in sorted(expected, key=str):
        if kind != "table":
            continue
        for statement in ("INSERT INTO {} DEFAULT VALUES", "DELETE FROM {}"):
            try:
                # EXPLAIN compiles the statement and the triggers that it fires.
                connection.execute("EXPLAIN " + statement.format(name)).fetchall()
            except sqlite3.OperationalError as error:
                raise UnknownDatabase(str(error)) from None


def check_contents(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Check that tables and their indexes are not damaged.

    Raises
    ------
    UnknownDatabase
        If one of them is.
    """
    for table in tables:
        (result,) = connection.execute(f"PRAGMA integrity_check({table})").fetchone()
        if result != "ok":
            raise UnknownDatabase(result)
