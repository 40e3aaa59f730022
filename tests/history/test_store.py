"""The ledger, in real files of SQLite."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from jupyter_nbedit.errors import EditNotFound, LedgerError
from jupyter_nbedit.history.models import NewEntry
from jupyter_nbedit.history.store import EditHistory
from tests.support.clock import Clock
from tests.support.services import ServiceBuilder

DAY_SECONDS = 86_400
CANARY = "a text that was deleted and shall be nowhere"
REPLACED = {"op": "replace", "cell_id": "alpha", "index": 0}


def new(path: str = "a.ipynb", **fields: Any) -> NewEntry:
    return NewEntry(path=path, **{"user": "ada", "hash": "1", "applied_via": "file", **fields})


async def numbers(ledger: EditHistory, path: str | None = "a.ipynb", limit: int = 50) -> list[int]:
    return [entry.edit_id for entry in await ledger.list_page(path, limit=limit)]


# What is kept -------------------------------------------------------------------------------------


async def test_edit_numbers_are_not_reused_after_purge_and_restart(
    services: ServiceBuilder,
) -> None:
    first = services.build_ledger()
    assert [await first.add(new(), None) for _ in range(3)] == [1, 2, 3]
    await first.purge("a.ipynb")
    await services.close()
    assert await services.build_ledger().add(new(), None) == 4


async def test_an_entry_lists_20_operations_and_counts_the_others(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    await ledger.add(new(operations=[{**REPLACED, "index": n} for n in range(20)]), None)
    await ledger.add(new(operations=[{**REPLACED, "index": n} for n in range(21)]), None)
    more, all_ = await ledger.list_page("a.ipynb", limit=2)
    assert (len(more.operations), more.truncated) == (20, True)
    assert (len(all_.operations), all_.truncated) == (20, False)
    assert more.operations[-1].index == 19


async def test_a_cell_id_that_is_not_utf8_is_stored(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    await ledger.add(new(operations=[{**REPLACED, "cell_id": "\ud800"}]), None)
    ((entry,),) = [await ledger.list_page("a.ipynb", limit=1)]
    assert entry.operations[0].cell_id == "\ud800"


async def test_histories_are_separate_for_each_root(
    services: ServiceBuilder,
) -> None:
    one, other = (services.build_ledger(root=lambda root=root: root) for root in ("/x", "/y"))
    number = await one.add(new(), b"record")
    await other.add(new(), None)
    assert await numbers(one, None) == await numbers(one) == [number]
    with pytest.raises(EditNotFound):
        await other.get_entry("a.ipynb", number)
    assert await other.purge("a.ipynb") == 1
    assert await numbers(one) == [number]


async def test_a_damaged_edit_in_the_database_is_an_error(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    number = await ledger.add(new(), b"record")
    with closing(sqlite3.connect(services.database_file)) as base, base:
        base.execute("UPDATE edits SET said = x'7b'")
    with pytest.raises(LedgerError):
        await ledger.get_entry("a.ipynb", number)


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
    ledger = services.build_ledger()
    for kind, undoes, undone_by, next_undo, next_redo in steps:
        await ledger.add(new(kind=kind, undoes=undoes), b"record")
        entries = list(reversed(await ledger.list_page("a.ipynb", limit=50)))
        assert [entry.undone_by for entry in entries] == undone_by
        assert [entry.undoable for entry in entries] == [
            entry.undone_by is None and entry.kind != "create" for entry in entries
        ]
        assert await ledger.find_next_undoable("a.ipynb", undone=False) == next_undo
        assert await ledger.find_next_undoable("a.ipynb", undone=True) == next_redo
    assert entries[-1].undoes == steps[-1][1]


# How much, for how long ---------------------------------------------------------------------------


async def test_the_oldest_edits_are_pruned_above_the_size_limit(
    services: ServiceBuilder,
) -> None:
    one = services.build_ledger(root=lambda: "/x", max_bytes=100_000)
    other = services.build_ledger(root=lambda: "/y", max_bytes=100_000)
    for number in range(50):
        await (one, other)[number % 2].add(new(), os.urandom(10_000))
    kept = sorted([*await numbers(one), *await numbers(other)])
    assert kept == list(range(51 - len(kept), 51))
    assert 5 <= len(kept) <= 10


async def test_stored_sizes_are_counted_correctly(services: ServiceBuilder) -> None:
    ledger = services.build_ledger(max_bytes=100_000)
    for number in range(30):
        await ledger.add(new(f"{number % 7}.ipynb"), bytes(number * 500))
        if number % 5 == 0:
            await ledger.purge(f"{number % 3}.ipynb")
    with closing(sqlite3.connect(services.database_file)) as base:
        counted, size, texts, idle = base.execute(
            "SELECT (SELECT bytes FROM edits_size), sum(size), sum(length(said) + length(record)),"
            " (SELECT count(*) FROM places WHERE place NOT IN (SELECT place FROM edits)) FROM edits"
        ).fetchone()
    assert counted == size
    assert texts < size <= 100_000
    assert idle == 0


async def test_a_record_that_would_displace_all_others_is_not_stored(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger(max_bytes=100_000)
    small = await ledger.add(new(), b"record")
    large = await ledger.add(new(), bytes(60_000))
    kept = [await ledger.get_entry("a.ipynb", number) for number in (small, large)]
    assert [(entry.undoable, record) for entry, record in kept] == [
        (True, b"record"),
        (False, None),
    ]


async def test_old_edits_are_pruned_and_leave_no_bytes(
    services: ServiceBuilder, clock: Clock
) -> None:
    ledger = services.build_ledger(max_days=2)
    for _ in range(3):
        await ledger.add(new(message=CANARY), CANARY.encode())
        clock.advance(DAY_SECONDS)
    assert CANARY.encode() in services.read_database_files()
    # They are not told, though nothing was edited since.
    assert await numbers(ledger) == await numbers(ledger, None) == [3]
    with pytest.raises(EditNotFound):
        await ledger.get_entry("a.ipynb", 2)
    clock.advance(DAY_SECONDS)
    assert await ledger.find_next_undoable("a.ipynb", undone=False) is None
    assert await services.build_ledger(max_days=2).add(new("b.ipynb"), None) == 4
    assert CANARY.encode() not in services.read_database_files()
    with closing(sqlite3.connect(services.database_file)) as base:
        assert base.execute("SELECT edit FROM edits").fetchall() == [(4,)]


# Names that go, names that change -----------------------------------------------------------------


async def test_deleting_a_folder_deletes_exactly_the_histories_in_it(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    for path in ("x/a", "x/y/b", "x", "x.ipynb", "x0", "xx/a", "X/a", "w/x/a"):
        await ledger.add(new(path), None)
    await ledger.on_deleted("x")
    assert {entry.path for entry in await ledger.list_page(None, limit=50)} == {
        "x.ipynb", "x0", "xx/a", "X/a", "w/x/a",
    }  # fmt: skip


async def test_a_history_is_renamed_with_its_notebook_and_folder(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    for path in ("a", "x/a", "x/%/b", "x0/c"):
        await ledger.add(new(path), b"record")
    await ledger.on_renamed("a", "b")
    await ledger.on_renamed("x", "deep/er")
    paths = {entry.path for entry in await ledger.list_page(None, limit=50)}
    assert paths == {"b", "deep/er/a", "deep/er/%/b", "x0/c"}
    assert (await ledger.get_entry("b", 1))[1] == b"record"
    assert await ledger.find_next_undoable("deep/er/a", undone=False) == 2
    with pytest.raises(EditNotFound):
        await ledger.get_entry("a", 1)


async def test_an_unverified_rename_onto_a_notebook_does_not_delete_its_history(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    await ledger.add(new("a"), b"of a")
    await ledger.add(new("b"), b"of b")
    await ledger.on_renamed("c", "b")
    assert await numbers(ledger, "b") == [2]
    await ledger.on_renamed("a", "b")
    assert await numbers(ledger, "b") == [2, 1]
    assert await numbers(ledger, "a") == []


# A file that is broken in any way ---------------------------------------------------------------
