"""The schema of the database: an ordered list of migrations.

``PRAGMA user_version`` says how many of them a file has had. A migration that was part of a release
is never changed; a change of the schema is a new one at the end. ``tests/releases`` keeps a file
that the release before each of them has written.

The table ``modes`` never changes its form: releases that are older than a file read that table, and
nothing else of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Statements that are executed in one transaction.
Migration = Sequence[str]

_FIRST: Migration = (
    # The mode is 'edit', 'review' or 'plan'. It is 'server' if a person has decided, after the
    # modes were lost, that the notebook has none of its own; with an empty name that holds for all
    # notebooks of the root that have no row.
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
    # AUTOINCREMENT, because the number of a deleted edit must never be given to another one.
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

# A claim says which server is accepting which parts of a proposal. A server that is killed leaves
# it behind, with the hashes of the notebook right before and after the write, and the number of the
# edit once that is in the history.
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
    """What is in a file.

    Parameters
    ----------
    migrations
        What makes the tables, in order.
    checked_tables
        The small tables that are read from end to end when the file is opened, with their indexes:
        what they say cannot be found again if it is damaged.
    """

    migrations: Sequence[Migration]
    checked_tables: Sequence[str] = ()


SCHEMA = Schema((_FIRST, _CLAIMS), ("modes", "places", "edits_size", "claims"))
