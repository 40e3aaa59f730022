"""The edit history in real SQLite files."""

import os
import re
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from itertools import count
from typing import Any

import pytest

from jupyter_nbedit.db.database import Database
from jupyter_nbedit.errors import EditNotFound, HistoryUnavailable
from jupyter_nbedit.notebook.edit_plan import Kind
from jupyter_nbedit.notebook.undo.record import CellUndo, UndoRecord
from jupyter_nbedit.services.history.models import NewEntry, SeenParts
from jupyter_nbedit.services.history.store import MAX_RELATED, EditStore
from jupyter_nbedit.services.requests import Author
from jupyter_nbedit.services.unseen.store import SeenEditStore
from tests.support.clock import Clock
from tests.support.names import FolderNames
from tests.support.services import ServiceBuilder

DAY_SECONDS = 86_400
CANARY = "a text that was deleted and shall be nowhere"
REPLACED = {"op": "replace", "cell_id": "alpha", "index": 0}


def build_entry(path: str = "a.ipynb", message: str | None = None, **fields: Any) -> NewEntry:
    author = Author("ada", message=message)
    return NewEntry(path=path, **{"author": author, "hash": "1", "applied_via": "file", **fields})


async def list_numbers(
    history: EditStore, path: str | None = "a.ipynb", limit: int = 50
) -> list[int]:
    return [entry.edit_id for entry in await history.list_page(path, limit=limit)]


# What is kept -------------------------------------------------------------------------------------


async def test_edit_numbers_are_not_used_again_after_purge(
    services: ServiceBuilder,
) -> None:
    first = services.build_history()
    assert [await first.add(build_entry(), None) for _ in range(3)] == [1, 2, 3]
    await first.purge("a.ipynb")
    await services.close()
    assert await services.build_history().add(build_entry(), None) == 4


async def test_an_entry_lists_20_operations_and_counts_the_others(services: ServiceBuilder) -> None:
    history = services.build_history()
    await history.add(build_entry(operations=[{**REPLACED, "index": n} for n in range(20)]), None)
    await history.add(build_entry(operations=[{**REPLACED, "index": n} for n in range(21)]), None)
    more, all_ = await history.list_page("a.ipynb", limit=2)
    assert (len(more.operations), more.truncated) == (20, True)
    assert (len(all_.operations), all_.truncated) == (20, False)
    assert more.operations[-1].index == 19


async def test_a_cell_id_that_is_not_utf8_is_stored(services: ServiceBuilder) -> None:
    history = services.build_history()
    await history.add(build_entry(operations=[{**REPLACED, "cell_id": "\ud800"}]), None)
    ((entry,),) = [await history.list_page("a.ipynb", limit=1)]
    assert entry.operations[0].cell_id == "\ud800"


async def test_ids_with_numbers_are_listed_also_of_cells_that_an_entry_leaves_out(
    services: ServiceBuilder,
) -> None:
    history = services.build_history()
    ids = ["cell-1", "alpha", "cell-x", "xcell-2", "cell-03", None]
    await history.add(build_entry(operations=[{**REPLACED, "cell_id": each} for each in ids]), None)
    await history.add(build_entry(message='"cell_id":"cell-4"', operations=[REPLACED]), None)
    await history.add(build_entry("b.ipynb", operations=[{**REPLACED, "cell_id": "cell-5"}]), None)
    assert await history.list_numbered_ids("a.ipynb") == {"cell-1", "cell-03"}

    for first in ("\ud800", "alpha"):
        operations = [{**REPLACED, "cell_id": first}, *[REPLACED] * 20]
        parts = [
            CellUndo(
                cell_id=f"cell-{first.isascii():d}0{n}", index_before=n, before=None, after=None
            )
            for n in range(2)
        ]
        record = UndoRecord(parts=parts, gaps=[], reverse_splices=None, total_cells=2, blob=b"")
        await history.add(build_entry(operations=operations), record.encode())
    await history.add(build_entry(operations=[REPLACED] * 21), b"damaged")
    found = await history.list_numbered_ids("a.ipynb")
    assert found == {"cell-1", "cell-03", "cell-000", "cell-001", "cell-100", "cell-101"}


async def test_of_many_large_edits_the_newest_are_read_for_ids(services: ServiceBuilder) -> None:
    history = services.build_history()
    for number in range(105):
        part = CellUndo(cell_id=f"cell-{number}", index_before=0, before=None, after=None)
        record = UndoRecord(parts=[part], gaps=[], reverse_splices=None, total_cells=0, blob=b"")
        await history.add(build_entry(operations=[REPLACED] * 21), record.encode())
    found = await history.list_numbered_ids("a.ipynb")
    assert found == {f"cell-{number}" for number in range(5, 105)}


async def test_histories_are_separate_for_each_root(services: ServiceBuilder) -> None:
    one, other = (services.build_history(names=FolderNames(folder=root)) for root in ("/x", "/y"))
    number = await one.add(build_entry(), b"record")
    await other.add(build_entry(), None)
    assert await list_numbers(one, None) == await list_numbers(one) == [number]
    with pytest.raises(EditNotFound):
        await other.get_entry("a.ipynb", number)
    assert await other.purge("a.ipynb") == 1
    assert await list_numbers(one) == [number]


async def test_a_damaged_edit_in_the_database_is_an_error(services: ServiceBuilder) -> None:
    history = services.build_history()
    number = await history.add(build_entry(), b"record")
    with closing(sqlite3.connect(services.database_file)) as base, base:
        base.execute("UPDATE edits SET payload = x'7b'")
    with pytest.raises(HistoryUnavailable):
        await history.get_entry("a.ipynb", number)


# What is in effect --------------------------------------------------------------------------------

# Each row: kind and the edit it takes back; then `undone_by` of all so far, and what comes next to
# be undone and to be redone.
BOOKKEEPING: dict[str, list[tuple[str, int | None, list[int | None], int | None, int | None]]] = {
    "undo twice, redo twice": [
        ("edit", None, [None], 1, None),
        ("edit", None, [None, None], 2, None),
        ("undo", 2, [None, 3, None], 1, 3),
        ("undo", 1, [4, 3, None, None], None, 4),
        ("redo", 4, [None, 3, None, 5, None], 1, 3),
        ("redo", 3, [None, None, 6, 5, None, None], 2, None),
    ],
    "a redo that is undone by its number": [
        ("edit", None, [None], 1, None),
        ("undo", 1, [2, None], None, 2),
        ("redo", 2, [None, 3, None], 1, None),
        # The first undo counts again.
        ("undo", 3, [2, None, 4, None], None, 4),
        ("redo", 4, [None, 3, None, 5, None], 1, None),
    ],
    "an undo that is undone by its number": [
        ("edit", None, [None], 1, None),
        ("undo", 1, [2, None], None, 2),
        ("undo", 2, [None, 3, None], 1, 3),
        ("redo", 3, [2, None, 4, None], None, 2),
    ],
    "a notebook that was made is not unmade": [
        ("create", None, [None], None, None),
        ("edit", None, [None, None], 2, None),
        ("undo", 2, [None, 3, None], None, 3),
    ],
    "what takes back an edit that is gone": [
        ("undo", 77, [None], None, 1),
        ("redo", 1, [2, None], None, None),
    ],
}


@pytest.mark.parametrize("steps", BOOKKEEPING.values(), ids=BOOKKEEPING)
async def test_edits_in_effect_and_the_next_undo_and_redo_are_computed(
    services: ServiceBuilder, steps: list[Any]
) -> None:
    history = services.build_history()
    for kind, undoes, undone_by, next_undo, next_redo in steps:
        await history.add(build_entry(kind=kind, undoes=undoes), b"record")
        entries = list(reversed(await history.list_page("a.ipynb", limit=50)))
        assert [entry.undone_by for entry in entries] == undone_by
        assert [entry.undoable for entry in entries] == [
            entry.undone_by is None and entry.kind != "create" for entry in entries
        ]
        assert await history.find_next_undoable("a.ipynb", ["edit"]) == next_undo
        assert await history.find_next_undoable("a.ipynb", ["undo"]) == next_redo
    assert entries[-1].undoes == steps[-1][1]


# How much, for how long ---------------------------------------------------------------------------


async def test_the_oldest_edits_are_pruned_above_the_size_limit(services: ServiceBuilder) -> None:
    one = services.build_history(names=FolderNames(folder="/x"), max_bytes=100_000)
    other = services.build_history(names=FolderNames(folder="/y"), max_bytes=100_000)
    for number in range(50):
        await (one, other)[number % 2].add(build_entry(), os.urandom(10_000))
    numbers = sorted([*await list_numbers(one), *await list_numbers(other)])
    assert numbers == list(range(51 - len(numbers), 51))
    assert 5 <= len(numbers) <= 10


async def test_stored_sizes_are_counted_correctly(services: ServiceBuilder) -> None:
    history = services.build_history(max_bytes=100_000)
    for number in range(30):
        await history.add(build_entry(f"{number % 7}.ipynb"), bytes(number * 500))
        if number % 5 == 0:
            await history.purge(f"{number % 3}.ipynb")
    with closing(sqlite3.connect(services.database_file)) as base:
        counted, size, texts, idle = base.execute(
            "SELECT (SELECT bytes FROM edits_size), sum(size),"
            " sum(length(payload) + length(record)),"
            " (SELECT count(*) FROM notebooks WHERE notebook_id NOT IN"
            " (SELECT notebook_id FROM edits)) FROM edits"
        ).fetchone()
    assert counted == size
    assert texts < size <= 100_000
    assert idle == 0


async def test_a_record_too_large_for_others_is_not_stored(
    services: ServiceBuilder,
) -> None:
    history = services.build_history(max_bytes=100_000)
    small = await history.add(build_entry(), b"record")
    large = await history.add(build_entry(), bytes(60_000))
    entries = [await history.get_entry("a.ipynb", number) for number in (small, large)]
    assert [(entry.undoable, entry.record) for entry in entries] == [
        (True, b"record"),
        (False, b""),
    ]


async def test_old_edits_are_pruned_without_trace(services: ServiceBuilder, clock: Clock) -> None:
    history = services.build_history(max_days=2)
    for _ in range(3):
        await history.add(build_entry(message=CANARY), CANARY.encode())
        clock.advance(DAY_SECONDS)
    assert CANARY.encode() in services.read_database_files()
    # They are not listed, though nothing was edited since.
    assert await list_numbers(history) == await list_numbers(history, None) == [3]
    with pytest.raises(EditNotFound):
        await history.get_entry("a.ipynb", 2)
    clock.advance(DAY_SECONDS)
    assert await history.find_next_undoable("a.ipynb", ["edit"]) is None
    assert await services.build_history(max_days=2).add(build_entry("b.ipynb"), None) == 4
    assert CANARY.encode() not in services.read_database_files()
    with closing(sqlite3.connect(services.database_file)) as base:
        assert base.execute("SELECT edit_id FROM edits").fetchall() == [(4,)]


async def test_an_edit_deletes_at_most_500_old_edits_and_later_edits_the_rest(
    services: ServiceBuilder, clock: Clock
) -> None:
    history = services.build_history(max_days=2)
    for _ in range(1_100):
        await history.add(build_entry(), None)
    clock.advance(2 * DAY_SECONDS)
    counts = []
    for _ in range(3):
        await history.add(build_entry("b.ipynb"), None)
        with closing(sqlite3.connect(services.database_file)) as base:
            counts.append(base.execute("SELECT count(*) FROM edits").fetchone()[0])
    assert counts == [601, 102, 3]


async def test_a_smaller_size_limit_is_reached_by_several_edits(services: ServiceBuilder) -> None:
    large = services.build_history(max_bytes=100 << 20)
    for _ in range(20):
        await large.add(build_entry(), os.urandom(1 << 20))
    small = services.build_history(max_bytes=2 << 20)
    numbers = []
    for _ in range(4):
        await small.add(build_entry(), b"record")
        numbers.append((await list_numbers(small))[::-1][0])
    # A transaction deletes 8 MiB and the edit that reaches them.
    assert numbers == [9, 17, 20, 20]
    await services.close()
    # At most a quarter of the file, or 4 MiB, is unused.
    assert services.database_file.stat().st_size < 7 << 20


# What grows with the history ----------------------------------------------------------------------

EVERY_EDIT = re.compile(r"SCAN (edits|back|again|seen_edits|notebooks)\b")


async def test_no_statement_reads_all_edits_or_notebooks(services: ServiceBuilder) -> None:
    history = services.build_history(max_bytes=10_000)
    seen = SeenEditStore(history.database, names=history.names)
    statements: set[str] = set()
    await history.database.write(lambda base: base.set_trace_callback(statements.add))
    author = Author("ada", "a client", session="ada\nfirst", account="ada")
    path = "a.ipynb"
    first = await history.add(build_entry(author=author, kind="create"), b"record")
    for kind, undoes in (("edit", None), ("undo", first + 1), ("redo", first + 2)):
        parts = [SeenParts(undoes, [0], 1)] if undoes else []
        entry = build_entry(author=author, kind=kind, undoes=undoes, reversed_parts=parts)
        await history.add(entry, bytes(4_000))
    number = first + 3
    await history.list_page(path, limit=5)
    await history.list_page(None, limit=5, before=number)
    await history.get_entry(path, number)
    await history.list_newer(path, 1, limit=5, max_bytes=100)
    await history.find_last_redo(path, number)
    await history.list_related(path, number)
    await history.list_numbered_ids(path)
    undoable: tuple[Kind, ...] = ("edit", "redo")
    undos: tuple[Kind, ...] = ("undo",)
    for kinds in (undoable, undos):
        await history.find_next_undoable(path, kinds)
        await history.find_next_undoable(path, kinds, author=author)
    await seen.read(path, "bob")
    await seen.list_notebooks("bob")
    await seen.mark_parts(path, "bob", [SeenParts(number, [0], 2)])
    await seen.mark_all(path, "bob", number)
    await history.on_renamed(path, "b.ipynb")
    await history.on_deleted("b.ipynb")
    plans = await history.database.read(
        lambda base: {
            (step, statement)
            for statement in statements
            if statement.split()[0] in {"SELECT", "INSERT", "UPDATE", "DELETE"}
            for _, _, _, step in base.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
        }
    )
    assert len({statement for _, statement in plans}) > 40
    reading_all = [plan for plan in plans if EVERY_EDIT.match(plan[0])]
    # In the order of the numbers, it stops at the limit.
    assert [
        plan for plan in reading_all if not plan[1].endswith("ORDER BY edit_id LIMIT 500")
    ] == []


async def count_steps(database: Database, query: Callable[[], Awaitable[object]]) -> int:
    """Return how many steps of SQLite's virtual machine a query takes."""
    steps = count()
    await database.read(lambda base: base.set_progress_handler(lambda: next(steps) < 0, 1))
    await query()
    await database.read(lambda base: base.set_progress_handler(None, 1))
    return next(steps)


async def count_steps_of_queries(history: EditStore) -> dict[str, int]:
    """Return how many steps each query of one notebook takes."""
    author = Author("ada", "a client", session="ada\nfirst", account="ada")
    seen = SeenEditStore(history.database, names=history.names)
    path = "a.ipynb"
    newest = (await history.list_page(path, limit=1))[0].edit_id
    await seen.mark_all(path, "bob", newest - 5)
    undo = await history.add(build_entry(author=author, kind="undo", undoes=newest), b"record")
    await history.add(build_entry(author=author, kind="redo", undoes=undo), b"record")
    queries: dict[str, Callable[[], Awaitable[object]]] = {
        "add": lambda: history.add(build_entry(author=author), b"record"),
        "page": lambda: history.list_page(path, limit=5),
        "page of all": lambda: history.list_page(None, limit=5),
        "entry": lambda: history.get_entry(path, newest),
        "newer": lambda: history.list_newer(path, 1, limit=5, max_bytes=1_000_000),
        "last redo": lambda: history.find_last_redo(path, newest),
        "related": lambda: history.list_related(path, newest),
        "numbered ids": lambda: history.list_numbered_ids(path),
        "next undo": lambda: history.find_next_undoable(path, ["edit", "redo"]),
        "next redo": lambda: history.find_next_undoable(path, ["undo"]),
        "own undo": lambda: history.find_next_undoable(path, ["edit"], author=author),
        "own redo": lambda: history.find_next_undoable(path, ["undo"], author=author),
        "undo of nobody": lambda: history.find_next_undoable(path, ["edit"], author=Author("eve")),
        "seen": lambda: seen.read(path, "bob"),
        "unseen notebooks": lambda: seen.list_notebooks("bob"),
    }
    counts: dict[str, int] = {}
    for name, query in queries.items():
        counts[name] = await count_steps(history.database, query)
    return counts


async def test_queries_take_as_many_steps_with_2000_edits_as_with_200(
    services: ServiceBuilder,
) -> None:
    history = services.build_history()
    author = Author("ada", "a client", session="ada\nfirst", account="ada")
    counts = []
    for number in (200, 1_800):
        for _ in range(number):
            await history.add(build_entry(author=author), b"record")
        counts.append(await count_steps_of_queries(history))
    few, many = counts
    # A tree of an index may be one level higher.
    assert {
        name: (few[name], many[name]) for name in few if many[name] > 1.2 * few[name] + 50
    } == {}


async def test_edits_that_are_compared_for_an_undo_are_limited(services: ServiceBuilder) -> None:
    history = services.build_history()
    for _ in range(MAX_RELATED):
        await history.add(build_entry(), b"record")
    related = await history.list_related("a.ipynb", 1)
    assert related is not None
    assert [edit.edit_id for edit in related] == list(range(1, MAX_RELATED + 1))
    # An edit that undoes an older one is compared with all edits since that.
    await history.add(build_entry(kind="undo", undoes=1), b"record")
    assert await history.list_related("a.ipynb", MAX_RELATED + 1) is None
    assert await history.list_related("a.ipynb", MAX_RELATED) is None
    assert await history.list_related("a.ipynb", 2) is None
    await history.add(build_entry("b.ipynb"), bytes(16 << 20))
    assert await history.list_related("b.ipynb", MAX_RELATED + 2) is not None
    await history.add(build_entry("b.ipynb"), b"record")
    assert await history.list_related("b.ipynb", MAX_RELATED + 2) is None


# Names that go, names that change -----------------------------------------------------------------


async def test_a_deleted_folder_takes_only_its_histories_along(
    services: ServiceBuilder,
) -> None:
    history = services.build_history()
    for path in ("x/a", "x/y/b", "x", "x.ipynb", "x0", "xx/a", "X/a", "w/x/a"):
        await history.add(build_entry(path), None)
    await history.on_deleted("x")
    assert {entry.path for entry in await history.list_page(None, limit=50)} == {
        "x.ipynb", "x0", "xx/a", "X/a", "w/x/a",
    }  # fmt: skip


async def test_a_history_is_renamed_with_its_notebook_and_folder(services: ServiceBuilder) -> None:
    history = services.build_history()
    for path in ("a", "x/a", "x/%/b", "x0/c"):
        await history.add(build_entry(path), b"record")
    await history.on_renamed("a", "b")
    await history.on_renamed("x", "deep/er")
    paths = {entry.path for entry in await history.list_page(None, limit=50)}
    assert paths == {"b", "deep/er/a", "deep/er/%/b", "x0/c"}
    assert (await history.get_entry("b", 1)).record == b"record"
    assert await history.find_next_undoable("deep/er/a", ["edit"]) == 2
    with pytest.raises(EditNotFound):
        await history.get_entry("a", 1)


async def test_an_unverified_rename_onto_a_notebook_does_not_delete_its_history(
    services: ServiceBuilder,
) -> None:
    history = services.build_history()
    await history.add(build_entry("a"), b"of a")
    await history.add(build_entry("b"), b"of b")
    await history.on_renamed("c", "b")
    assert await list_numbers(history, "b") == [2]
    await history.on_renamed("a", "b")
    assert await list_numbers(history, "b") == [2, 1]
    assert await list_numbers(history, "a") == []


# A file that is broken in any way ---------------------------------------------------------------
