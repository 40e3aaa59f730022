"""The schema of the database: an ordered list of migrations.

``PRAGMA user_version`` is the number of migrations that a file has had. A released migration never
changes; a change of the schema is a new migration at the end. ``tests/releases`` has a file written
by the release before each migration.

The table ``modes`` never changes, because an older release reads this table in a newer file.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache

from jupyter_nbedit.db.errors import NewerFile, UnknownDatabase

# "nbed", in the header of the file.
_APPLICATION_ID = 0x6E626564

# Reads the tables, indexes and triggers, the columns, and what each table has indexes of.
_STRUCTURE = """
    WITH items AS (SELECT * FROM sqlite_master WHERE name NOT LIKE 'sqlite_%')
    SELECT type, name, tbl_name, NULL, NULL, NULL FROM items
    UNION ALL
    SELECT 'column', items.name, info.name, "notnull", pk, NULL
    FROM items JOIN pragma_table_info(items.name) AS info WHERE items.type = 'table'
    UNION ALL
    SELECT 'index column', items.name, info.name, seqno, "unique", partial
    FROM items JOIN pragma_index_list(items.name) AS list JOIN pragma_index_info(list.name) AS info
    WHERE items.type = 'table'
"""

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

# A claim is made before an accepted proposal is written. A server that is killed leaves it behind,
# with the hashes of the notebook before and after the write, and the number of the edit as soon as
# the edit is in the history. The column ``server`` is not used any more.
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


# The kind of an edit may be `outside`, `undo_cells` or `restore`, which older releases would take
# for a damaged entry. No table changes; the new number makes them leave the file alone.
_OUTSIDE_CHANGES: Migration = ()


# What each user has seen of the edits of a notebook. ``parts`` is a JSON list of the parts of the
# edit, and ``is_whole`` is whether these are all. NULL means this edit and all older edits. A row
# without a user is about all users: edits from before this table was made count as seen.
_SEEN_EDITS: Migration = (
    """
    CREATE TABLE seen_edits (
        notebook_id INTEGER NOT NULL,
        user TEXT,
        edit_id INTEGER NOT NULL,
        parts TEXT,
        is_whole INTEGER NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX seen_edits_by_user ON seen_edits (notebook_id, user, edit_id)",
    """
    INSERT INTO seen_edits
    SELECT notebook_id, NULL, max(edit_id), NULL, 1 FROM edits GROUP BY notebook_id
    """,
    """
    CREATE TRIGGER edits_forget AFTER DELETE ON edits BEGIN
        DELETE FROM seen_edits WHERE notebook_id = OLD.notebook_id AND edit_id = OLD.edit_id
            AND parts IS NOT NULL;
    END
    """,
    """
    CREATE TRIGGER notebooks_forget AFTER DELETE ON notebooks BEGIN
        DELETE FROM seen_edits WHERE notebook_id = OLD.notebook_id;
    END
    """,
)

# Whether a root is a folder, on POSIX or Windows; and the path on disk of a name below it. Names of
# edits without a server had the root `offline:`, followed by the anchor of their paths.
_IS_FOLDER = (
    "(root GLOB '/*' OR root GLOB '[A-Za-z]:*' OR root GLOB '\\\\*' OR root GLOB 'offline:*')"
)
_FILE_NAME = """
    CASE
        WHEN root GLOB 'offline:*' THEN rtrim(substr(root, 9), '/\\') || {name}
        WHEN root GLOB '/*' THEN rtrim(root, '/') || '/' || {name}
        ELSE rtrim(replace(root, '\\', '/'), '/') || '/' || {name}
    END
"""

# A notebook in a file is named by its path on disk. The old names are joined as texts, and no file
# is read; `link_paths` has what may be the path of a link, until that has been resolved. If a
# notebook had several names, its edits come together, and changes that were unseen under one name
# stay unseen.
_FILE_NAMES: Migration = (
    # Folders that are or were the roots of servers. An older release looks for modes there.
    "CREATE TABLE roots (root TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID",
    # The path by which a server reaches a notebook outside of its root, through links.
    """
    CREATE TABLE link_paths (
        root TEXT NOT NULL,
        path TEXT NOT NULL,
        name TEXT NOT NULL,
        is_resolved INTEGER NOT NULL,
        PRIMARY KEY (root, path)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX link_paths_by_name ON link_paths (name)",
    f"""
    INSERT OR IGNORE INTO roots
    SELECT root FROM notebooks WHERE {_IS_FOLDER} UNION
    SELECT root FROM proposals WHERE {_IS_FOLDER} UNION SELECT root FROM modes WHERE {_IS_FOLDER}
    """,  # noqa: S608 -- ours
    f"""
    INSERT OR IGNORE INTO link_paths
    SELECT root, name, {_FILE_NAME.format(name="name")}, 0 FROM (
        SELECT root, name FROM notebooks UNION SELECT root, name FROM proposals
        UNION SELECT root, name FROM modes WHERE name != ''
    ) WHERE {_IS_FOLDER}
    """,  # noqa: S608 -- ours
    f"""
    CREATE TEMP TABLE renamed_notebooks AS
    SELECT notebook_id, file_name, min(notebook_id) OVER (PARTITION BY file_name) AS target_id,
        count(*) OVER (PARTITION BY file_name) AS names
    FROM (
        SELECT notebook_id, {_FILE_NAME.format(name="name")} AS file_name
        FROM notebooks WHERE {_IS_FOLDER}
    )
    """,  # noqa: S608 -- ours
    "CREATE UNIQUE INDEX temp.renamed_notebooks_by_id ON renamed_notebooks (notebook_id)",
    # An edit and all older edits were seen: one row for each edit, before notebooks are merged.
    """
    CREATE TEMP TABLE seen_until AS
    SELECT notebook_id, user, edit_id FROM seen_edits JOIN renamed_notebooks USING (notebook_id)
    WHERE parts IS NULL AND names > 1
    """,
    """
    DELETE FROM seen_edits WHERE parts IS NULL
        AND notebook_id IN (SELECT notebook_id FROM renamed_notebooks WHERE names > 1)
    """,
    """
    INSERT OR REPLACE INTO seen_edits
    SELECT seen_until.notebook_id, user, edits.edit_id, '[]', 1
    FROM seen_until JOIN edits USING (notebook_id) WHERE edits.edit_id <= seen_until.edit_id
    """,
    """
    UPDATE edits SET notebook_id = (
        SELECT target_id FROM renamed_notebooks AS new WHERE new.notebook_id = edits.notebook_id
    ) WHERE notebook_id IN (SELECT notebook_id FROM renamed_notebooks WHERE names > 1)
    """,
    """
    UPDATE OR REPLACE seen_edits SET notebook_id = (
        SELECT target_id FROM renamed_notebooks AS new
        WHERE new.notebook_id = seen_edits.notebook_id
    ) WHERE notebook_id IN (SELECT notebook_id FROM renamed_notebooks WHERE names > 1)
    """,
    """
    DELETE FROM notebooks WHERE notebook_id IN (
        SELECT notebook_id FROM renamed_notebooks WHERE notebook_id != target_id
    )
    """,
    """
    UPDATE notebooks SET root = 'file:', name = (
        SELECT file_name FROM renamed_notebooks AS new
        WHERE new.notebook_id = notebooks.notebook_id
    ) WHERE notebook_id IN (SELECT notebook_id FROM renamed_notebooks)
    """,
    "DROP TABLE temp.seen_until",
    "DROP TABLE temp.renamed_notebooks",
    f"""
    UPDATE proposals SET name = {_FILE_NAME.format(name="name")}, root = 'file:'
    WHERE {_IS_FOLDER}
    """,  # noqa: S608 -- ours
    # If a notebook has several own modes, the strictest holds; an unknown mode stays unknown. The
    # old rows stay, because an older release reads them.
    f"""
    INSERT OR REPLACE INTO modes
    SELECT 'file:', file_name, CASE max(strictness)
        WHEN 0 THEN 'server' WHEN 1 THEN 'edit' WHEN 2 THEN 'review' WHEN 3 THEN 'plan'
        ELSE '?' END
    FROM (
        SELECT {_FILE_NAME.format(name="name")} AS file_name, CASE mode
            WHEN 'server' THEN 0 WHEN 'edit' THEN 1 WHEN 'review' THEN 2 WHEN 'plan' THEN 3 ELSE 4
            END AS strictness
        FROM modes WHERE {_IS_FOLDER} AND name != ''
    ) GROUP BY file_name
    """,  # noqa: S608 -- ours
)

# Who made an edit, as its payload says it, for an index that finds somebody's newest edit. Other
# statements read the payload: these columns lie behind the record, which can be large.
_AUTHORS: Migration = (
    "ALTER TABLE edits ADD COLUMN account TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE edits ADD COLUMN client TEXT",
    "ALTER TABLE edits ADD COLUMN session TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE edits ADD COLUMN is_from_page INTEGER NOT NULL DEFAULT 0",
    # Older releases knew a person in JupyterLab by the name of the client.
    """
    UPDATE edits SET account = coalesce(json_extract(CAST(payload AS TEXT), '$.account'), ''),
        client = json_extract(CAST(payload AS TEXT), '$.client'),
        is_from_page = json_extract(CAST(payload AS TEXT), '$.client') IS 'JupyterLab'
    WHERE json_valid(CAST(payload AS TEXT))
    """,
    """
    CREATE INDEX edits_by_author ON edits
    (notebook_id, account, client, edit_id, kind, time, session, is_from_page, undone_by,
        has_record)
    WHERE undone_by IS NULL AND has_record
    """,
)

# The oldest edits; the newest edit of a kind that can be undone, of all authors or of one; and the
# edits that may have changed a cell with an id such as `cell-3`, or more cells than the payload
# lists: they are found without reading other edits.
_NEWEST_BY_KIND: Migration = (
    "CREATE INDEX edits_by_time ON edits (time)",
    "DROP INDEX edits_by_author",
    """
    CREATE INDEX edits_by_kind ON edits (notebook_id, kind, edit_id, time)
    WHERE undone_by IS NULL AND has_record
    """,
    """
    CREATE INDEX edits_by_author ON edits
    (notebook_id, account, client, is_from_page, kind, edit_id, time, session)
    WHERE undone_by IS NULL AND has_record
    """,
    """
    CREATE INDEX edits_with_numbered_ids ON edits (notebook_id)
    WHERE instr(payload, CAST('"cell-' AS BLOB))
    """,
    """
    CREATE INDEX edits_with_many_cells ON edits (notebook_id)
    WHERE instr(payload, CAST('"truncated":true' AS BLOB))
        OR instr(payload, CAST('"truncated": true' AS BLOB))
    """,
)


@dataclass(frozen=True)
class Schema:
    """The tables of a file."""

    #: The statements that make the tables, in order.
    migrations: Sequence[Migration]
    #: The small tables that are checked completely, with their indexes, when the file is opened:
    #: their contents cannot be restored from elsewhere.
    checked_tables: Sequence[str] = ()

    def check_owner(self, connection: sqlite3.Connection) -> None:
        """Raise `UnknownDatabase` or `NewerFile` if this release has not written the file."""
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        version = _read_version(connection)
        if owner != _APPLICATION_ID or version < 1:
            raise UnknownDatabase("file is not a database of jupyter_nbedit")
        if version > len(self.migrations):
            raise NewerFile(version, len(self.migrations))

    def is_outdated(self, connection: sqlite3.Connection) -> bool:
        """Return whether there are migrations that the database has not had."""
        return _read_version(connection) < len(self.migrations)

    def migrate(self, connection: sqlite3.Connection) -> None:
        """Execute the migrations that the database has not had."""
        # Another server may have migrated it meanwhile.
        version = _read_version(connection)
        # A damaged file is found here, before a migration fails on it.
        _check_structure(connection, _describe_version(tuple(self.migrations[:version])))
        for statements in self.migrations[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {max(version, len(self.migrations))}")

    def check(self, connection: sqlite3.Connection) -> None:
        """Raise `UnknownDatabase` if tables are missing, do not fit together or are damaged."""
        _check_structure(connection, _describe_version(tuple(self.migrations)))
        for table in self.checked_tables:
            (result,) = connection.execute(f"PRAGMA integrity_check({table})").fetchone()
            if result != "ok":
                raise UnknownDatabase(result)


SCHEMA = Schema(
    (
        _FIRST,
        _CLAIMS,
        _GLOSSARY,
        _OUTSIDE_CHANGES,
        _SEEN_EDITS,
        _FILE_NAMES,
        _AUTHORS,
        _NEWEST_BY_KIND,
    ),
    ("modes", "notebooks", "edits_size", "claims", "roots", "link_paths"),
)


def _read_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


@cache
def _describe_version(migrations: Sequence[Migration]) -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statements in migrations:
            for statement in statements:
                connection.execute(statement)
        return _describe_structure(connection)


def _describe_structure(connection: sqlite3.Connection) -> set[tuple[object, ...]]:
    """Return the tables, columns, indexes and triggers, whatever the text of the statements."""
    return set(connection.execute(_STRUCTURE))


def _check_structure(connection: sqlite3.Connection, expected: set[tuple[object, ...]]) -> None:
    """Raise `UnknownDatabase` if something is missing, or triggers and tables do not fit."""
    if not expected <= _describe_structure(connection):
        raise UnknownDatabase("its tables are not those of jupyter_nbedit")
    for kind, name, *_ in sorted(expected, key=str):
        if kind != "table":
            continue
        for statement in ("INSERT INTO {} DEFAULT VALUES", "DELETE FROM {}"):
            try:
                # EXPLAIN compiles the statement and the triggers that it fires.
                connection.execute("EXPLAIN " + statement.format(name)).fetchall()
            except sqlite3.OperationalError as error:
                raise UnknownDatabase(str(error)) from None
