"""The ledger: who did what to which notebook, and what it takes to take it back."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any, TypeVar

from jupyter_nbedit.db.database import Database
from jupyter_nbedit.errors import EditNotFound
from jupyter_nbedit.history.models import Entry, NewEntry, build_entry_from_row, encode_entry

_Decoded = TypeVar("_Decoded")

_DAY_SECONDS = 86_400.0
# How often it is looked whether something is too old, beside each start.
_AGING_SECONDS = 60.0
# What a row costs beside its texts.
_ROW_BYTES = 200


class EditHistory:
    """Keeps the edits of all notebooks; the oldest go first.

    **Taking back.** An edit is in effect unless an edit in effect takes it back, and ``undone_by``
    is the newest that does, or None. So an undo U of E makes ``E.undone_by = U``; a redo R, which
    takes back U, makes ``U.undone_by = R`` and E is in effect again; an undo by number of R makes U
    count again, and so on down the chain.

    Parameters
    ----------
    database
        Where.
    name
        Gives one name for all by which a notebook may be called.
    root
        Tells what the names are relative to: the servers of one user may have different roots.
    max_bytes, max_days
        How much is kept for how long, of all roots together.
    """

    def __init__(
        self,
        database: Database,
        *,
        name: Callable[[str], str] = str,
        root: Callable[[], str] = str,
        max_bytes: int = 256 * 1024 * 1024,
        max_days: float = 30,
    ) -> None:
        self._database = database
        self._name = name
        self._root = root
        self._max_bytes = max_bytes
        self._max_seconds = max_days * _DAY_SECONDS
        self._aged = float("-inf")

    async def add(self, entry: NewEntry, record: bytes | None) -> int:
        """Keep an edit, and do the bookkeeping for the one that it takes back.

        An edit that creates a notebook is its first: what an older notebook of that path has left
        is forgotten.

        Parameters
        ----------
        entry
            The edit.
        record
            What it takes to take the edit back, or to show it; None if that is not known.

        Returns
        -------
        The edit's number.

        Raises
        ------
        LedgerError
            If it cannot be kept.
        """
        where = self._root(), self._name(entry.path)
        said = encode_entry(entry)
        # One that is larger would push out all others.
        kept = None if record is None or len(record) > self._max_bytes // 2 else record

        ages = time.monotonic() > self._aged + _AGING_SECONDS
        if ages:
            self._aged = time.monotonic()

        def add(connection: sqlite3.Connection) -> int:
            place = get_notebook_number(connection, *where)
            if entry.kind == "create":
                delete_notebooks(connection, "place = ?", place)
                place = get_notebook_number(connection, *where)
            made = connection.execute(
                "INSERT INTO edits (place, time, kind, undoes, size, said, has_record, record)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    place,
                    time.time(),
                    entry.kind,
                    entry.undoes,
                    _ROW_BYTES + len(said) + len(kept or b""),
                    said,
                    kept is not None,
                    kept,
                ),
            ).lastrowid
            recompute_undone_by(connection, entry.undoes)
            if entry.claim is not None:
                connection.execute(
                    "UPDATE claims SET edit_id = ? WHERE claim = ?", (made, entry.claim)
                )
            if ages:
                delete_notebooks(connection, "time <= ?", self._compute_oldest_time())
            self._trim(connection)
            return int(made or 0)

        return await self._database.write(add, forget=ages or entry.kind == "create")

    async def list_page(
        self, path: str | None, *, limit: int, before: int | None = None
    ) -> list[Entry]:
        """List edits, newest first.

        Parameters
        ----------
        path
            Of a notebook; None for all of this root.
        limit
            How many at most.
        before
            Only those with a smaller number.

        Raises
        ------
        LedgerError
        """
        root = self._root()
        condition = "root = ?" if path is None else "root = ? AND name = ?"
        values = [root] if path is None else [root, self._name(path)]
        # The last edits of all are found from the end, not by sorting those of each notebook.
        join = "CROSS JOIN" if path is None else "JOIN"

        def page(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(
                f"SELECT {COLUMNS}, name FROM edits {join} places USING (place) WHERE {condition}"  # noqa: S608 -- ours
                " AND time > ? AND edit < ? ORDER BY edit DESC LIMIT ?",
                (
                    *values,
                    self._compute_oldest_time(),
                    (1 << 62) if before is None else before,
                    limit,
                ),
            ).fetchall()

        rows = await self._database.read(page)
        return [build_entry_from_row(row[:-1], row[-1] if path is None else path) for row in rows]

    async def get_entry(self, path: str, edit_id: int) -> tuple[Entry, bytes | None]:
        """Return an edit of a notebook and its record.

        Raises
        ------
        EditNotFound
            If the notebook's history has none of that number.
        LedgerError
        """
        where = self._root(), self._name(path)

        def entry(connection: sqlite3.Connection) -> Any:
            return connection.execute(
                f"SELECT {COLUMNS}, record FROM edits JOIN places USING (place)"  # noqa: S608 -- ours
                " WHERE root = ? AND name = ? AND time > ? AND edit = ?",
                (*where, self._compute_oldest_time(), edit_id),
            ).fetchone()

        row = await self._database.read(entry)
        if row is None:
            message = (
                f"The history of this notebook has no edit {edit_id}, or has it no longer. "
                "GET its `history` for those it has."
            )
            raise EditNotFound(message, edit_id=edit_id)
        return build_entry_from_row(row[:-1], path), row[-1]

    async def find_newest_repeat(self, path: str, edit_id: int) -> int:
        """Return the edit that made an edit in effect again last; the edit's own number if none.

        Parameters
        ----------
        path
            The notebook's.
        edit_id
            The number of an edit in effect.

        Raises
        ------
        LedgerError
        """
        where = self._root(), self._name(path)

        def repeat(connection: sqlite3.Connection) -> int:
            newest = edit_id
            while True:
                (found,) = connection.execute(
                    "SELECT max(again.edit) FROM edits AS back JOIN edits AS again"
                    " ON again.undoes = back.edit JOIN places ON places.place = again.place"
                    " WHERE root = ? AND name = ? AND back.undoes = ? AND again.undone_by IS NULL",
                    (*where, newest),
                ).fetchone()
                if found is None:
                    return newest
                newest = found

        return await self._database.read(repeat)

    async def list_related(
        self, path: str, edit_id: int, decode: Callable[[bytes], _Decoded]
    ) -> list[tuple[int, int | None, _Decoded | None]]:
        """Return the edits from one on, and the older ones that are taken back by any of them.

        Between them there is no gap.

        Parameters
        ----------
        path
            The notebook's.
        edit_id
            The number of an edit.
        decode
            Makes of a record what is needed of it. All records together may be as large as the
            history, so that only one at a time is in memory.

        Returns
        -------
        Of each, oldest first: its number, the number of the edit it takes back, and its decoded
        record, None if it has none.

        Raises
        ------
        LedgerError
        """
        where = self._root(), self._name(path)
        condition = "root = ? AND name = ? AND time > ? AND edit >= ?"

        def related(
            connection: sqlite3.Connection,
        ) -> list[tuple[int, int | None, _Decoded | None]]:
            first, values = edit_id, (*where, self._compute_oldest_time())
            while True:
                (oldest,) = connection.execute(
                    f"SELECT min(undoes) FROM edits JOIN places USING (place) WHERE {condition}",  # noqa: S608 -- ours
                    (*values, first),
                ).fetchone()
                if oldest is None or oldest >= first:
                    break
                first = oldest
            rows = connection.execute(
                "SELECT edit, undoes, record FROM edits JOIN places USING (place)"  # noqa: S608 -- ours
                f" WHERE {condition} ORDER BY edit",
                (*values, first),
            )
            return [
                (number, undoes, None if record is None else decode(record))
                for number, undoes, record in rows
            ]

        return await self._database.read(related)

    async def find_next_undoable(
        self, path: str, *, undone: bool, before: int | None = None
    ) -> int | None:
        """Return the number of the edit that is next to be taken back; None if there is none.

        Parameters
        ----------
        path
            The notebook's.
        undone
            False for the newest edit in effect that is neither an undo nor a redo, nor made the
            notebook; True for the newest undo in effect, which a redo takes back.
        before
            Only one with a smaller number.

        Raises
        ------
        LedgerError
        """
        where = self._root(), self._name(path), "undo" if undone else "edit"

        def newest(connection: sqlite3.Connection) -> int | None:
            row = connection.execute(
                "SELECT edit FROM edits JOIN places USING (place) WHERE root = ? AND name = ?"
                " AND kind = ? AND undone_by IS NULL AND time > ? AND edit < ?"
                " ORDER BY edit DESC LIMIT 1",
                (*where, self._compute_oldest_time(), (1 << 62) if before is None else before),
            ).fetchone()
            return None if row is None else int(row[0])

        return await self._database.read(newest)

    async def purge(self, path: str) -> int:
        """Forget all edits of a notebook, or of all notebooks in a folder, and leave no trace.

        Returns
        -------
        How many they were.

        Raises
        ------
        LedgerError
        """
        where = self._root(), self._name(path)

        def purge(connection: sqlite3.Connection) -> int:
            places = [place for place, _ in list_below(connection, *where)]
            return sum(delete_notebooks(connection, "place = ?", place) for place in places)

        return await self._database.write(purge, forget=True)

    async def on_deleted(self, path: str) -> None:
        """Forget what was deleted.

        Raises
        ------
        LedgerError
        """
        await self.purge(path)

    async def on_renamed(self, old: str, new: str) -> None:
        """Go along with a notebook, or with all notebooks in a folder.

        What is left of an older notebook that had the new name stays, for who says that something
        was renamed may be wrong.

        Raises
        ------
        LedgerError
        """
        root, was, now = self._root(), self._name(old), self._name(new)

        def rename(connection: sqlite3.Connection) -> None:
            for place, name in list_below(connection, root, was):
                there = get_notebook_number(connection, root, now + name[len(was) :])
                connection.execute("UPDATE edits SET place = ? WHERE place = ?", (there, place))
                connection.execute("DELETE FROM places WHERE place = ?", (place,))

        await self._database.write(rename)

    def _compute_oldest_time(self) -> float:
        return time.time() - self._max_seconds

    def _trim(self, connection: sqlite3.Connection) -> None:
        """Let the oldest go."""
        while True:
            (size,) = connection.execute("SELECT bytes FROM edits_size").fetchone()
            if size <= self._max_bytes:
                return
            if not delete_notebooks(connection, "edit = (SELECT min(edit) FROM edits)"):
                return


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
