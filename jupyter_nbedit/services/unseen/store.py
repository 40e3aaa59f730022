"""What each user has seen of the edits of a notebook, in SQL."""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timezone
from typing import Any

from jupyter_nbedit.db.database import Database
from jupyter_nbedit.db.link_paths import IS_IN_ROOT, PathFinder, build_root_values
from jupyter_nbedit.db.notebook_names import NotebookName, NotebookNames
from jupyter_nbedit.services.history.models import SeenParts, decode_author
from jupyter_nbedit.services.history.seen_parts import SEEN_BOUNDARY, find_last_seen_edit
from jupyter_nbedit.services.unseen.models import UnseenNotebook

# How many edits are read to find the notebooks with unseen ones: of each notebook, and of all.
_MAX_EDITS_OF_NOTEBOOK = 200
_MAX_EDITS = 2_000
#: A notebook, and its rows of `_UNSEEN_EDITS`.
_UnseenRows = tuple[NotebookName, list[tuple[Any, ...]]]

# The notebooks with edits after those that a user has seen, newest first.
_UNSEEN_NOTEBOOKS = f"""
    SELECT notebook_id, root, name, last_edit FROM (
        SELECT notebook_id, root, name,
            {SEEN_BOUNDARY.format(notebook="notebooks.notebook_id")} AS last_edit,
            (
                SELECT max(edit_id) FROM edits WHERE edits.notebook_id = notebooks.notebook_id
            ) AS newest_edit
        FROM notebooks WHERE {IS_IN_ROOT}
    ) WHERE newest_edit > last_edit ORDER BY newest_edit DESC
"""  # noqa: S608 -- ours
# The edits of a notebook that a user has not seen. If an edit undoes another unseen edit, neither
# of them counts.
_UNSEEN_EDITS = """
    SELECT edit_id, time, kind, payload FROM edits
    WHERE notebook_id = :notebook_id AND edit_id > :last_edit AND time > :oldest
        AND kind != 'create' AND has_record AND undone_by IS NULL
        AND (undoes IS NULL OR undoes <= :last_edit)
        AND NOT EXISTS (
            SELECT * FROM seen_edits WHERE (user = :user OR user IS NULL) AND is_whole
            AND seen_edits.notebook_id = edits.notebook_id AND seen_edits.edit_id = edits.edit_id
        )
    ORDER BY edit_id DESC LIMIT :limit
"""


@dataclass(frozen=True)
class SeenEdits:
    """What a user has seen of the edits of a notebook."""

    #: The newest edit up to which all edits were seen, or 0.
    last_edit: int = 0
    #: The parts that were seen of newer edits.
    parts: Mapping[int, Collection[int]] = field(default_factory=dict)
    #: The newer edits that were seen under another name of the notebook, with all their parts.
    whole_edits: Collection[int] = frozenset()


@dataclass
class SeenEditStore:
    """Stores what users have seen. Every method raises `HistoryUnavailable` if the database fails.

    Users are named by their accounts. The names of notebooks and the number of days are the same as
    in `EditStore`. It deletes the rows with its edits, and moves them when notebooks are renamed.
    """

    database: Database
    _: KW_ONLY
    names: NotebookNames

    async def read(self, path: str, user: str) -> SeenEdits:
        """Return what a user has seen of the edits of a notebook."""
        values = (*self.names.find(path), user)
        rows = await self.database.read(
            lambda connection: connection.execute(
                "SELECT edit_id, parts, is_whole FROM seen_edits JOIN notebooks USING (notebook_id)"
                " WHERE root = ? AND name = ? AND (user = ? OR user IS NULL)",
                values,
            ).fetchall()
        )
        last_edit = max((edit_id for edit_id, parts, _ in rows if parts is None), default=0)
        return SeenEdits(
            last_edit,
            {
                edit_id: frozenset(json.loads(parts))
                for edit_id, parts, _ in rows
                if parts is not None and edit_id > last_edit
            },
            frozenset(
                edit_id
                for edit_id, parts, is_whole in rows
                if is_whole and parts == "[]" and edit_id > last_edit
            ),
        )

    async def mark_all(self, path: str, user: str, edit_id: int) -> None:
        """Store that a user has seen an edit and all older ones."""

        def store(connection: sqlite3.Connection) -> None:
            notebook_id = self._find_notebook(connection, path)
            if notebook_id is None or find_last_seen_edit(connection, notebook_id, user) >= edit_id:
                return
            connection.execute(
                "DELETE FROM seen_edits WHERE notebook_id = ? AND user = ? AND edit_id <= ?",
                (notebook_id, user, edit_id),
            )
            connection.execute(
                "INSERT INTO seen_edits VALUES (?, ?, ?, NULL, 1)", (notebook_id, user, edit_id)
            )

        await self.database.write(store)

    async def mark_parts(self, path: str, user: str, marks: Sequence[SeenParts]) -> None:
        """Store that a user has seen parts of edits; edits that were deleted do not count."""

        def store(connection: sqlite3.Connection) -> None:
            notebook_id = self._find_notebook(connection, path)
            if notebook_id is None:
                return
            last_edit = find_last_seen_edit(connection, notebook_id, user)
            for mark in marks:
                row = connection.execute(
                    "SELECT parts, is_whole FROM edits LEFT JOIN seen_edits ON user = ?"
                    " AND seen_edits.notebook_id = edits.notebook_id"
                    " AND seen_edits.edit_id = edits.edit_id"
                    " WHERE edits.notebook_id = ? AND edits.edit_id = ?",
                    (user, notebook_id, mark.edit_id),
                ).fetchone()
                if row is None or mark.edit_id <= last_edit:
                    continue
                numbers = sorted({*mark.numbers, *json.loads(row[0] or "[]")})
                connection.execute(
                    "INSERT OR REPLACE INTO seen_edits VALUES (?, ?, ?, ?, ?)",
                    (
                        notebook_id,
                        user,
                        mark.edit_id,
                        json.dumps(numbers),
                        len(numbers) == mark.total or bool(row[1]),
                    ),
                )

        await self.database.write(store)

    async def list_notebooks(self, user: str) -> list[UnseenNotebook]:
        """List the notebooks with edits that a user has not seen, the newest first.

        Edits that undo each other, and edits by the user's own JupyterLab, do not count.
        """
        oldest = self.database.compute_oldest_time()

        def select(connection: sqlite3.Connection) -> tuple[PathFinder, list[_UnseenRows]]:
            finder = PathFinder.read(connection, self.names)
            notebooks = connection.execute(
                _UNSEEN_NOTEBOOKS, {**build_root_values(self.names), "user": user}
            )
            found: list[_UnseenRows] = []
            limit = _MAX_EDITS
            for notebook_id, root, name, last_edit in notebooks:
                values = {
                    "notebook_id": notebook_id,
                    "last_edit": last_edit,
                    "oldest": oldest,
                    "user": user,
                    "limit": min(limit, _MAX_EDITS_OF_NOTEBOOK),
                }
                rows = connection.execute(_UNSEEN_EDITS, values).fetchall()
                found.append((NotebookName(root, name), rows))
                limit -= len(rows)
                if limit <= 0:
                    break
            return finder, found

        finder, found = await self.database.read(select)
        notebooks: list[tuple[int, UnseenNotebook]] = []
        for name, rows in found:
            edits = [
                (row, author)
                for row in rows
                if not (author := decode_author(row[-1])).is_by(user, row[2])
            ]
            if edits and (path := finder.find(name)) is not None:
                clients = (author.client for _, author in edits if author.client)
                newest, seconds, *_ = edits[0][0]
                notebook = UnseenNotebook(
                    path=path,
                    edits=len(edits),
                    clients=list(dict.fromkeys(clients)),
                    time=datetime.fromtimestamp(seconds, tz=timezone.utc),
                )
                notebooks.append((newest, notebook))
        notebooks.sort(key=lambda found: -found[0])
        return [notebook for _, notebook in notebooks]

    def _find_notebook(self, connection: sqlite3.Connection, path: str) -> int | None:
        row = connection.execute(
            "SELECT notebook_id FROM notebooks WHERE root = ? AND name = ?", self.names.find(path)
        ).fetchone()
        return None if row is None else int(row[0])
