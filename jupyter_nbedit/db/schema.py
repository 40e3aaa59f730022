"""The schema of the database: an ordered list of migrations.

``PRAGMA user_version`` is the number of migrations that a file has had. A released migration never
changes; a change of the schema is a new migration at the end. ``tests/releases`` has a file written
by the release before each migration.

The table ``modes`` never changes: an older release reads it, and only it, in a newer file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: SQL statements that are executed in one transaction.
Migration = Sequence[str]

_FIRST: Migration = (
    # The mode is 'edit', 'review' or 'plan'. It is 'server' if a person has decided, after the
    # modes were lost, that the notebook has no mode of its own; with an empty name this applies to
    # all notebooks of the root without a row.
    """
    CREATE TABLE modes (
        root TEXT NOT NULL,
        name TEXT NOT NULL,
        mode TEXT NOT NULL,
        PRIMARY KEY (root, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE proposals (
        proposal_id INTEGER PRIMARY KEY AUTOINCREMENT,
        root TEXT NOT NULL,
        path TEXT NOT NULL,
        name TEXT NOT NULL,
        status TEXT NOT NULL,
        created TEXT NOT NULL,
        expires TEXT NOT NULL,
        proposed TEXT NOT NULL,
        parts TEXT NOT NULL,
        edit_ids TEXT NOT NULL DEFAULT '[]',
        decided_by TEXT,
        work BLOB
    )
    """,
    "CREATE INDEX proposals_of_root ON proposals (root, status, proposal_id)",
    """
    CREATE TABLE places (
        place INTEGER PRIMARY KEY,
        root TEXT NOT NULL,
        name TEXT NOT NULL,
        UNIQUE (root, name)
    )
    """,
    # AUTOINCREMENT, because the number of a deleted edit must never be used again.
    """
    CREATE TABLE edits (
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
    )
    """,
    "CREATE INDEX edits_by_place ON edits (place)",
    "CREATE INDEX edits_by_undone ON edits (undoes) WHERE undoes IS NOT NULL",
    "CREATE TABLE edits_size (one INTEGER PRIMARY KEY, bytes INTEGER NOT NULL)",
    "INSERT INTO edits_size VALUES (1, 0)",
    """
    CREATE TRIGGER edits_grow AFTER INSERT ON edits BEGIN
        UPDATE edits_size SET bytes = bytes + NEW.size;
    END
    """,
    """
    CREATE TRIGGER edits_shrink AFTER DELETE ON edits BEGIN
        UPDATE edits_size SET bytes = bytes - OLD.size;
    END
    """,
)

# A claim names the server that is accepting parts of a proposal. A server that is killed leaves its
# claims behind, with the hashes of the notebook before and after the write, and the number of the
# edit as soon as the edit is in the history.
_CLAIMS: Migration = (
    """
    CREATE TABLE claims (
        claim INTEGER PRIMARY KEY AUTOINCREMENT,
        proposal_id INTEGER NOT NULL,
        parts TEXT NOT NULL,
        server TEXT NOT NULL,
        user TEXT NOT NULL,
        client TEXT,
        hash_before TEXT,
        hash_after TEXT,
        edit_id INTEGER
    )
    """,
    "CREATE INDEX claims_of_proposal ON claims (proposal_id)",
)


@dataclass(frozen=True)
class Schema:
    """The tables of a file.

    Parameters
    ----------
    migrations
        The statements that make the tables, in order.
    checked_tables
        The small tables that are checked completely, with their indexes, when the file is opened:
        their contents cannot be restored from elsewhere.
    """

    migrations: Sequence[Migration]
    checked_tables: Sequence[str] = ()


# The names of tables and columns are the words of the glossary.
_GLOSSARY: Migration = (
    "ALTER TABLE places RENAME TO notebooks",
    "ALTER TABLE notebooks RENAME COLUMN place TO notebook_id",
    "ALTER TABLE edits RENAME COLUMN edit TO edit_id",
    "ALTER TABLE edits RENAME COLUMN place TO notebook_id",
    "ALTER TABLE edits RENAME COLUMN said TO payload",
    "ALTER TABLE edits_size RENAME COLUMN one TO id",
    "ALTER TABLE proposals RENAME COLUMN proposed TO content",
    "ALTER TABLE proposals RENAME COLUMN work TO payload",
    "ALTER TABLE claims RENAME COLUMN claim TO claim_id",
    "DROP INDEX edits_by_place",
    "CREATE INDEX edits_by_notebook ON edits (notebook_id)",
)

SCHEMA = Schema((_FIRST, _CLAIMS, _GLOSSARY), ("modes", "notebooks", "edits_size", "claims"))
