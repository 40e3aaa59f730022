"""The edit history in SQL: who changed which notebook and when, with an undo record each."""

import re
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from jupyter_nbedit.db.database import Database
from jupyter_nbedit.db.link_paths import (
    IS_IN_ROOT,
    PathFinder,
    build_root_values,
    move_paths,
    store_path,
)
from jupyter_nbedit.db.notebook_names import NotebookName, NotebookNames
from jupyter_nbedit.db.notebook_rows import get_notebook_id, list_notebooks, move_edits
from jupyter_nbedit.errors import EditNotFound
from jupyter_nbedit.notebook.cell_names import is_numbered_id
from jupyter_nbedit.notebook.edit_plan import Kind
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.services.history.models import (
    Entry,
    HistoryEdit,
    NewEntry,
    SeenParts,
    build_edit_from_row,
    encode_entry,
    get_deciding_account,
)
from jupyter_nbedit.services.history.seen_parts import list_unseen_parts, mark_parts_unseen
from jupyter_nbedit.services.requests import Author

#: Stores what follows an undo or redo. It gets the edits that the new edit undoes, directly or
#: through other edits, and whether each is in effect now.
FollowUndo: TypeAlias = Callable[[sqlite3.Connection, Mapping[int, bool]], None]

# How often old edits are deleted; the first edit after a start deletes them as well.
_PRUNE_SECONDS = 60.0
#: How many edits from one on are compared at most to undo that edit; and how many bytes of records.
MAX_RELATED = 2_000
_MAX_RELATED_BYTES = 16 * 1024 * 1024
# How many edits, and how many bytes of them, one transaction deletes at most: other servers wait.
_MAX_PRUNED_EDITS = 500
_MAX_PRUNED_BYTES = 8 << 20
# What a row takes besides its texts.
_ROW_BYTES = 200
_MAX_NUMBER = 1 << 62
# Fewer unused pages (of 4 KiB) stay in the file; and how many one transaction removes.
_MIN_UNUSED_PAGES = 1_000
_MAX_REMOVED_PAGES = 2_000
# How many records are read for the ids of cells, and how many bytes.
_MAX_RECORDS = 100
_MAX_RECORD_BYTES = 32 * 1024 * 1024
# In the JSON of an entry: a quote inside a string would have a backslash.
_NUMBERED_ID = re.compile(rb'"cell_id": ?"(cell-[0-9]+)"')
# What `build_edit_from_row` takes.
_COLUMNS = "edit_id, time, kind, undoes, undone_by, payload, has_record"
_OF_NOTEBOOK = " FROM edits JOIN notebooks USING (notebook_id) WHERE root = ? AND name = ?"
# A session counts only if both edits state one.
_BY_AUTHOR = (
    " AND account = ? AND is_from_page = ? AND (session = '' OR ? = '' OR session = ?)"
    " AND client IS ?"
)


class RelatedEdit(NamedTuple):
    """An edit, the number of the edit that it undoes, and its encoded undo record if it has one."""

    edit_id: int
    undoes: int | None
    record: bytes | None


@dataclass
class EditStore:
    """Stores the edits of all notebooks, and deletes the oldest ones when there are too many.

    Every method raises `HistoryUnavailable` if the database fails.

    ``undone_by``: an edit is in effect unless an edit in effect undoes it. ``undone_by`` is the
    newest edit in effect that undoes it, or None. An undo U of E sets ``E.undone_by = U``; a redo
    R, which undoes U, sets ``U.undone_by = R``, and E is in effect again; an undo of R (by its
    number) puts U in effect again, and so on along the chain.
    """

    database: Database
    _: KW_ONLY
    names: NotebookNames
    #: How much is stored for all roots together.
    max_bytes: int = 256 * 1024 * 1024
    _last_pruned: float = float("-inf")

    async def add(
        self, entry: NewEntry, record: bytes | None, follow_undo: FollowUndo | None = None
    ) -> int:
        """Store an edit and its encoded undo record; return the number of the edit.

        An edit that creates a notebook is the first of that notebook: the history of an older
        notebook of the same path is deleted. ``follow_undo`` is called in the same transaction if
        the edit undoes another; it may be called again if the transaction is repeated.
        """
        name = self.names.find(entry.path)
        if record is not None and len(record) > self.max_bytes // 2:
            # It would push out all other edits.
            record = None
        must_prune = time.monotonic() > self._last_pruned + _PRUNE_SECONDS
        if must_prune:
            self._last_pruned = time.monotonic()

        def insert(connection: sqlite3.Connection) -> int:
            store_path(connection, self.names, entry.path, name)
            notebook_id = get_notebook_id(connection, name)
            if entry.kind == "create":
                _delete_edits(connection, notebook_id)
                notebook_id = get_notebook_id(connection, name)
            user = get_deciding_account(entry)
            # An undo by cells counts as seen, also by a program of the user.
            is_by_person = entry.is_from_page or entry.accepted_by is not None
            reversed_parts = (
                entry.reversed_parts if is_by_person or entry.kind == "undo_cells" else ()
            )
            unseen = list_unseen_parts(connection, notebook_id, user, reversed_parts)
            payload = encode_entry(entry, unseen)
            edit_id = connection.execute(
                "INSERT INTO edits"
                " (notebook_id, time, kind, undoes, size, payload, has_record, record,"
                " account, client, session, is_from_page)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    notebook_id,
                    time.time(),
                    entry.kind,
                    entry.undoes,
                    _ROW_BYTES + len(payload) + len(record or b""),
                    payload,
                    record is not None,
                    record,
                    entry.account,
                    entry.author.client,
                    entry.author.session_name,
                    entry.is_from_page,
                ),
            ).lastrowid
            if entry.undoes is not None:
                effects = _recompute_undone_by(connection, entry.undoes)
                _return_unseen_parts(connection, notebook_id, entry.undoes)
                if follow_undo is not None:
                    follow_undo(connection, effects)
            if entry.claim_id is not None:
                connection.execute(
                    "UPDATE claims SET edit_id = ? WHERE claim_id = ?", (edit_id, entry.claim_id)
                )
            if must_prune:
                oldest_time = self.database.compute_oldest_time()
                if _prune(connection, "WHERE time <= ? ORDER BY time", oldest_time):
                    # The next edit deletes the next ones.
                    self._last_pruned = float("-inf")
            self._trim(connection, len(record or b""))
            return int(edit_id or 0)

        return await self.database.write(insert, forget=must_prune or entry.kind == "create")

    async def list_page(
        self, path: str | None, *, limit: int, before: int | None = None
    ) -> list[HistoryEdit]:
        """List edits of a notebook, or of all of this root, newest first.

        If ``before`` is given, only edits with a smaller number are listed.
        """
        if path is not None:
            values: dict[str, object] = dict(self.names.find(path)._asdict())
            tables = (
                " FROM edits JOIN notebooks USING (notebook_id) WHERE root = :root AND name = :name"
            )
        else:
            # CROSS JOIN makes SQLite read the newest edits of all notebooks from the end of the
            # table, instead of sorting the edits of each notebook.
            values = dict(build_root_values(self.names))
            tables = f" FROM edits CROSS JOIN notebooks USING (notebook_id) WHERE {IS_IN_ROOT}"
        select = (
            f"SELECT {_COLUMNS}, root, name{tables} AND time > :oldest AND edit_id < :before"
            " ORDER BY edit_id DESC LIMIT :limit"
        )
        values |= {
            "oldest": self.database.compute_oldest_time(),
            "before": _MAX_NUMBER if before is None else before,
            "limit": limit,
        }

        def read(connection: sqlite3.Connection) -> tuple[PathFinder, list[tuple[Any, ...]]]:
            finder = PathFinder.read(connection, self.names)
            return finder, connection.execute(select, values).fetchall()

        finder, rows = await self.database.read(read)
        return [
            build_edit_from_row(
                # The path is empty if no path leads to the notebook any more.
                row,
                path or finder.find(NotebookName(root, name)) or "",
                HistoryEdit,
            )
            for *row, root, name in rows
        ]

    async def get_entry(self, path: str, edit_id: int) -> Entry:
        """Return an edit of a notebook with its undo record.

        Raise `EditNotFound` if the history of the notebook has no edit of that number.
        """
        select = f"SELECT {_COLUMNS}, record{_OF_NOTEBOOK} AND time > ? AND edit_id = ?"
        values = (*self.names.find(path), self.database.compute_oldest_time(), edit_id)
        row = await self.database.read(
            lambda connection: connection.execute(select, values).fetchone()
        )
        if row is None:
            message = (
                f"The history of this notebook has no edit {edit_id}; it may have been deleted. "
                "GET its `history` for the edits it has."
            )
            raise EditNotFound(message, edit_id=edit_id)
        return replace(build_edit_from_row(row[:-1], path, Entry), record=row[-1] or b"")

    async def list_newer(
        self, path: str, after: int, *, limit: int, max_bytes: int
    ) -> tuple[list[Entry], bool]:
        """Return the edits of a notebook after one with their undo records, newest first.

        At most ``limit`` edits with records of ``max_bytes`` are returned; the second value is
        whether there are more. An edit that created the notebook is not one of them.
        """
        select = (
            f"SELECT {_COLUMNS}, record{_OF_NOTEBOOK} AND time > ? AND edit_id > ?"
            " AND kind != 'create' ORDER BY edit_id DESC LIMIT ?"
        )
        values = (*self.names.find(path), self.database.compute_oldest_time(), after, limit + 1)

        def read(connection: sqlite3.Connection) -> tuple[list[tuple[Any, ...]], bool]:
            rows: list[tuple[Any, ...]] = []
            size = 0
            for row in connection.execute(select, values):
                size += len(row[-1] or b"")
                if len(rows) == limit or size > max_bytes:
                    return rows, True
                rows.append(row)
            return rows, False

        rows, has_more = await self.database.read(read)
        entries = [
            replace(build_edit_from_row(row[:-1], path, Entry), record=row[-1] or b"")
            for row in rows
        ]
        return entries, has_more

    async def find_last_redo(self, path: str, edit_id: int) -> int:
        """Return the last redo of an edit, or ``edit_id`` itself if the edit was not redone."""
        root, name = self.names.find(path)

        def find(connection: sqlite3.Connection) -> int:
            newest = edit_id
            while True:
                (repeat,) = connection.execute(
                    # CROSS JOIN makes SQLite begin with the edits that undo the edit, not with
                    # all edits of the notebook.
                    "SELECT max(again.edit_id) FROM edits AS back CROSS JOIN edits AS again"
                    " ON again.undoes = back.edit_id"
                    " CROSS JOIN notebooks ON notebooks.notebook_id = again.notebook_id"
                    " WHERE root = ? AND name = ? AND back.undoes = ? AND again.undone_by IS NULL",
                    (root, name, newest),
                ).fetchone()
                if repeat is None:
                    return newest
                newest = repeat

        return await self.database.read(find)

    async def list_related(self, path: str, edit_id: int) -> list[RelatedEdit] | None:
        """List the edits from one on, and the older edits that any of them undoes, without gaps.

        The oldest comes first. None if there are too many, or their records are too large.
        """
        values = (*self.names.find(path), self.database.compute_oldest_time())
        condition = f"{_OF_NOTEBOOK} AND time > ? AND edit_id >= ?"
        select_all = f"SELECT edit_id, undoes, record{condition} ORDER BY edit_id"
        rows_between = f"SELECT length(record) AS size, undoes{condition} AND edit_id < ? LIMIT ?"
        select = f"SELECT count(*), total(size), min(undoes) FROM ({rows_between})"  # noqa: S608 -- ours

        def read(connection: sqlite3.Connection) -> list[RelatedEdit] | None:
            first, stop, count, size = edit_id, _MAX_NUMBER, 0, 0
            while True:
                # Edits that were counted before are left out.
                limits = (first, stop, MAX_RELATED + 1 - count)
                added, added_size, oldest = connection.execute(
                    select, (*values, *limits)
                ).fetchone()
                count, size = count + added, size + added_size
                if count > MAX_RELATED or size > _MAX_RELATED_BYTES:
                    return None
                if oldest is None or oldest >= first:
                    rows = connection.execute(select_all, (*values, first))
                    return [RelatedEdit(*row) for row in rows]
                first, stop = oldest, first

        return await self.database.read(read)

    async def list_numbered_ids(self, path: str) -> frozenset[str]:
        """Return all ids of the form ``cell-N`` of cells that edits of a notebook have changed.

        Entries list at most 20 cells. If an entry lists fewer cells than were changed, its record
        is read: the newest records first, up to a number and a size.
        """
        condition = f"{_OF_NOTEBOOK} AND time > ?"
        values = (*self.names.find(path), self.database.compute_oldest_time())

        def read(connection: sqlite3.Connection) -> frozenset[str]:
            found: set[str] = set()
            # The conditions of two indexes.
            payloads = connection.execute(
                f"SELECT payload{condition} AND instr(payload, CAST('\"cell-' AS BLOB))", values
            )
            for (payload,) in payloads:
                found.update(number.decode() for number in _NUMBERED_ID.findall(payload))
            size = 0
            records = connection.execute(
                f"SELECT record{condition} AND record IS NOT NULL"
                # `encode_entry` writes both forms.
                " AND (instr(payload, CAST('\"truncated\":true' AS BLOB))"
                " OR instr(payload, CAST('\"truncated\": true' AS BLOB)))"
                " ORDER BY edit_id DESC LIMIT ?",
                (*values, _MAX_RECORDS),
            )
            for (record,) in records:
                size += len(record)
                if size > _MAX_RECORD_BYTES:
                    break
                if (order := decode_order(record)) is not None:
                    ids = (part.cell_id for part in order.parts)
                    found.update(each for each in ids if each is not None and is_numbered_id(each))
            return frozenset(found)

        return await self.database.read(read)

    async def find_next_undoable(
        self,
        path: str,
        kinds: Collection[Kind],
        *,
        before: int | None = None,
        author: Author | None = None,
    ) -> int | None:
        """Return the number of the edit that the next undo or redo undoes, or None.

        It is the newest edit of these kinds that is in effect and can be undone. With ``before``,
        its number must be smaller; with ``author``, the edit must be by this author.
        """
        select = (
            f"SELECT max(edit_id){_OF_NOTEBOOK} AND time > ? AND edit_id < ?"
            " AND undone_by IS NULL AND has_record AND kind = ?"
        )
        values = (
            *self.names.find(path),
            self.database.compute_oldest_time(),
            _MAX_NUMBER if before is None else before,
        )
        # An index has the edits of one kind, and of one client, in order.
        requests: list[tuple[str, tuple[Any, ...]]]
        if author is None:
            requests = [(select, (*values, kind)) for kind in kinds]
        else:
            own = (author.account, author.is_person, author.session_name, author.session_name)
            requests = [
                (f"{select}{_BY_AUTHOR}", (*values, kind, *own, client))
                for kind, client in product(kinds, author.client_names)
            ]

        def find(connection: sqlite3.Connection) -> int | None:
            rows = [connection.execute(*request).fetchone() for request in requests]
            return max((int(number) for (number,) in rows if number is not None), default=None)

        return await self.database.read(find)

    async def purge(self, path: str) -> int:
        """Delete the edits of a notebook, or of all in a folder, without a trace; count them."""
        name = self.names.find(path)

        def delete(connection: sqlite3.Connection) -> int:
            return sum(
                _delete_edits(connection, notebook_id)
                for notebook_id, _ in list_notebooks(connection, name)
            )

        return await self.database.write(delete, forget=True)

    async def on_deleted(self, path: str) -> None:
        """Delete the history of a notebook, or of all notebooks in a folder.

        Of a link, only its paths are deleted.
        """
        await self.purge(path)
        await self.database.write(
            lambda connection: move_paths(connection, self.names, path, None), forget=True
        )

    async def on_renamed(self, old: str, new: str) -> None:
        """Follow a notebook, or all notebooks in a folder, to a new path.

        The history of an older notebook of the new path stays, because the notice of the rename
        may be wrong; what users have seen of it is forgotten. What has renamed a link changes no
        name.
        """
        old_name, new_name = self.names.find(old), self.names.find(new)
        is_link = self.names.is_link(new)

        def rename(connection: sqlite3.Connection) -> None:
            move_paths(connection, self.names, old, new)
            for notebook_id, name in [] if is_link else list_notebooks(connection, old_name):
                target = name._replace(name=new_name.name + name.name[len(old_name.name) :])
                connection.execute(
                    "DELETE FROM seen_edits WHERE notebook_id IN"
                    " (SELECT notebook_id FROM notebooks WHERE root = ? AND name = ?)",
                    target,
                )
                move_edits(connection, notebook_id, target)

        await self.database.write(rename)

    def _trim(self, connection: sqlite3.Connection, added_bytes: int) -> None:
        """Delete the oldest edits until the rest is small enough, or as many as one edit may."""
        (size,) = connection.execute("SELECT bytes FROM edits_size").fetchone()
        excess = size - self.max_bytes
        if excess > 0:
            _prune(
                connection,
                "ORDER BY edit_id",
                max_bytes=min(excess, _MAX_PRUNED_BYTES + added_bytes),
            )


def decode_order(data: bytes) -> UndoRecord | None:
    """Return a record without texts, for the order of the cells; None if it is damaged."""
    with suppress(ValueError):
        return UndoRecord.decode(data).drop_text()
    return None


def _prune(
    connection: sqlite3.Connection,
    order: str,
    *values: object,
    max_bytes: int = _MAX_PRUNED_BYTES,
) -> bool:
    """Delete the first edits of an order, at most of a size; return whether there may be more.

    The edit that reaches the size is deleted as well.
    """
    select = f"SELECT edit_id, notebook_id, size FROM edits {order} LIMIT ?"  # noqa: S608 -- ours
    edit_ids: list[tuple[int]] = []
    notebook_ids: set[int] = set()
    bytes_left = max_bytes
    for edit_id, notebook_id, size in connection.execute(select, (*values, _MAX_PRUNED_EDITS)):
        edit_ids.append((edit_id,))
        notebook_ids.add(notebook_id)
        bytes_left -= size
        if bytes_left <= 0:
            break
    connection.executemany("DELETE FROM edits WHERE edit_id = ?", edit_ids)
    _delete_empty_notebooks(connection, notebook_ids)
    _shrink_file(connection)
    return bytes_left <= 0 or len(edit_ids) == _MAX_PRUNED_EDITS


def _shrink_file(connection: sqlite3.Connection) -> None:
    """Remove unused pages from the file, unless later edits will soon fill them."""
    (unused,) = connection.execute("PRAGMA freelist_count").fetchone()
    (total,) = connection.execute("PRAGMA page_count").fetchone()
    if unused > max(_MIN_UNUSED_PAGES, total // 4):
        for _ in range(min(unused, _MAX_REMOVED_PAGES)):
            # Python executes only the first step of this statement, which removes one page.
            connection.execute("PRAGMA incremental_vacuum(1)")


def _delete_edits(connection: sqlite3.Connection, notebook_id: int) -> int:
    """Delete a notebook with its edits; return how many edits."""
    delete = "DELETE FROM edits WHERE notebook_id = ?"
    count = connection.execute(delete, (notebook_id,)).rowcount
    _delete_empty_notebooks(connection, [notebook_id])
    return count


def _delete_empty_notebooks(connection: sqlite3.Connection, notebook_ids: Iterable[int]) -> None:
    """Delete those of some notebooks that have no edits left."""
    connection.executemany(
        "DELETE FROM notebooks WHERE notebook_id = ?"
        " AND NOT EXISTS (SELECT * FROM edits WHERE edits.notebook_id = notebooks.notebook_id)",
        [(notebook_id,) for notebook_id in notebook_ids],
    )


def _return_unseen_parts(connection: sqlite3.Connection, notebook_id: int, edit_id: int) -> None:
    """Make what an undo had taken back unseen again, because the undo is undone."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM edits WHERE notebook_id = ? AND edit_id = ?",  # noqa: S608 -- ours
        (notebook_id, edit_id),
    ).fetchone()
    if row is None:
        return
    undo = build_edit_from_row(row, "", Entry)
    if undo.unseen_before:
        # Its own parts count as seen. This would hide that the edit and its undo are together no
        # change.
        parts = [*undo.unseen_before, SeenParts(edit_id, (), 0)]
        mark_parts_unseen(connection, notebook_id, get_deciding_account(undo), parts)


def _recompute_undone_by(connection: sqlite3.Connection, edit_id: int) -> dict[int, bool]:
    """Update ``undone_by`` of an edit, of the edit that it undoes, and so on.

    Return whether each of these edits is in effect.
    """
    effects: dict[int, bool] = {}
    undone: int | None = edit_id
    while undone is not None:
        connection.execute(
            "UPDATE edits SET undone_by = (SELECT max(edit_id) FROM edits AS other"
            " WHERE other.undoes = edits.edit_id AND other.undone_by IS NULL) WHERE edit_id = ?",
            (undone,),
        )
        row = connection.execute(
            "SELECT undone_by IS NULL, undoes FROM edits WHERE edit_id = ?", (undone,)
        ).fetchone()
        if row is None:
            break
        effects[undone] = bool(row[0])
        undone = row[1]
    return effects
