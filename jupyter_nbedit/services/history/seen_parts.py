"""Seen parts of edits, in the transaction that stores or undoes an edit."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence

from jupyter_nbedit.notebook.undo.net_change import decode_record
from jupyter_nbedit.services.history.models import Entry, SeenParts

#: How long it takes to revert an edit, as bytes of a notebook to parse.
EDIT_WEIGHT = 20_000
#: The largest number of edits for which one row each says whether they were seen.
MAX_MARKED_EDITS = 200
#: The SQL of the newest edit that a user has seen with all older ones.
SEEN_BOUNDARY = (
    "(SELECT coalesce(max(edit_id), 0) FROM seen_edits WHERE notebook_id = {notebook}"
    " AND parts IS NULL AND (user = :user OR user IS NULL))"
)


def find_last_seen_edit(connection: sqlite3.Connection, notebook_id: int, user: str) -> int:
    """Return the newest edit that a user has seen with all older ones; 0 if there is none."""
    select = f"SELECT {SEEN_BOUNDARY.format(notebook=':notebook_id')}"
    values = {"notebook_id": notebook_id, "user": user}
    (last_edit,) = connection.execute(select, values).fetchone()
    return int(last_edit)


def list_unseen_parts(
    connection: sqlite3.Connection, notebook_id: int, user: str, parts: Iterable[SeenParts]
) -> list[SeenParts]:
    """Return the parts that a user has not seen."""
    last_edit = find_last_seen_edit(connection, notebook_id, user)
    unseen: list[SeenParts] = []
    for edit_id, numbers, total in parts:
        rows = connection.execute(
            "SELECT parts, is_whole FROM seen_edits WHERE notebook_id = ? AND edit_id = ?"
            " AND (user = ? OR user IS NULL) AND parts IS NOT NULL",
            (notebook_id, edit_id, user),
        ).fetchall()
        if edit_id > last_edit and not any(is_whole for _, is_whole in rows):
            seen = {number for text, _ in rows for number in json.loads(text)}
            unseen.append(SeenParts(edit_id, sorted({*numbers} - seen), total))
    return [each for each in unseen if each.numbers]


def mark_parts_unseen(
    connection: sqlite3.Connection, notebook_id: int, user: str, parts: Sequence[SeenParts]
) -> None:
    """Store that a user has not seen some parts of edits; all other parts stay as they are.

    What counts as seen for all users, or is older than the edits that are compared, stays seen.
    """
    first = min(edit_id for edit_id, _, _ in parts)
    row = connection.execute(
        "SELECT edit_id FROM seen_edits WHERE notebook_id = ? AND user = ? AND parts IS NULL",
        (notebook_id, user),
    ).fetchone()
    if row is not None and row[0] >= first:
        rows = connection.execute(
            "SELECT edit_id FROM edits WHERE notebook_id = ? AND edit_id >= ?"
            " ORDER BY edit_id LIMIT ?",
            (notebook_id, first, MAX_MARKED_EDITS + 1),
        )
        numbers = [number for (number,) in rows]
        if len(numbers) > MAX_MARKED_EDITS:
            return
        connection.execute(
            "UPDATE OR REPLACE seen_edits SET edit_id = ? WHERE notebook_id = ? AND user = ?"
            " AND parts IS NULL",
            (first - 1, notebook_id, user),
        )
        connection.executemany(
            "INSERT OR REPLACE INTO seen_edits VALUES (?, ?, ?, '[]', 1)",
            [(notebook_id, user, number) for number in numbers if number <= row[0]],
        )
    for edit_id, unseen, total in parts:
        key = (notebook_id, user, edit_id)
        row = connection.execute(
            "SELECT parts, is_whole FROM seen_edits WHERE notebook_id = ? AND user = ?"
            " AND edit_id = ? AND parts IS NOT NULL",
            key,
        ).fetchone()
        if row is None:
            continue
        seen = {*(range(total) if row[1] else json.loads(row[0]))}.difference(unseen)
        connection.execute(
            "DELETE FROM seen_edits WHERE notebook_id = ? AND user = ? AND edit_id = ?"
            " AND parts IS NOT NULL",
            key,
        )
        if seen:
            connection.execute(
                "INSERT INTO seen_edits VALUES (?, ?, ?, ?, 0)", (*key, json.dumps(sorted(seen)))
            )


def list_seen_parts(
    entries: Iterable[Entry], sources: Iterable[tuple[int, int]]
) -> list[SeenParts]:
    """Return parts of edits, given as (edit, number), with the number of all parts of each."""
    numbers: dict[int, set[int]] = defaultdict(set)
    for edit_id, number in sources:
        numbers[edit_id].add(number)
    return [
        SeenParts(entry.edit_id, sorted(numbers[entry.edit_id]), len(record.parts))
        for entry in entries
        if entry.edit_id in numbers and (record := decode_record(entry.record)) is not None
    ]
