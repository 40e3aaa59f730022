"""The ledger, in real files of SQLite."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import time
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from jupyter_nbedit.errors import EditNotFound, LedgerError
from jupyter_nbedit.history import Ledger
from jupyter_nbedit.history.entries import Entry, NewEntry, Touched
from tests.support.services import ServiceBuilder
from tests.support.sizes import is_nightly, seeded_random

CANARY = "a text that was deleted and shall be nowhere"
REPLACED = {"op": "replace", "cell_id": "alpha", "index": 0}


def new(path: str = "a.ipynb", **fields: Any) -> NewEntry:
    return NewEntry(path=path, **{"user": "ada", "hash": "1", "applied_via": "file", **fields})


async def numbers(ledger: Ledger, path: str | None = "a.ipynb", limit: int = 50) -> list[int]:
    return [entry.edit_id for entry in await ledger.page(path, limit=limit)]


# What is kept -------------------------------------------------------------------------------------


async def test_an_edit_is_told_as_it_was_and_with_what_takes_it_back(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    entry = new(
        client="curl",
        message="why",
        accepted_by="grace",
        operations=[REPLACED],
        cells_changed=1,
        hash_before="0",
        total_cells=3,
        cells_delta=-1,
        trusted=True,
    )
    number = await ledger.add(entry, b"record")
    found, record = await ledger.entry("a.ipynb", number)
    assert datetime.now(tz=timezone.utc) - found.time < timedelta(seconds=10)
    assert found == Entry(
        edit_id=number,
        time=found.time,
        path="a.ipynb",
        kind="edit",
        user="ada",
        client="curl",
        message="why",
        accepted_by="grace",
        operations=[Touched("replace", "alpha", 0)],
        truncated=False,
        cells_changed=1,
        hash_before="0",
        hash="1",
        applied_via="file",
        total_cells=3,
        cells_delta=-1,
        undoes=None,
        undone_by=None,
        undoable=True,
        trusted=True,
    )
    assert record == b"record"
    assert await ledger.page("a.ipynb", limit=1) == [found]


async def test_the_history_outlasts_a_restart_and_numbers_are_never_given_again(
    services: ServiceBuilder,
) -> None:
    first = services.build_ledger()
    assert [await first.add(new(), None) for _ in range(3)] == [1, 2, 3]
    await first.purge("a.ipynb")
    await services.close()
    assert await services.build_ledger().add(new(), None) == 4


async def test_the_newest_come_first_and_page_by_page(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    for number in range(10):
        await ledger.add(new("ab"[number % 2]), None)
    assert await numbers(ledger, "a") == [9, 7, 5, 3, 1]
    assert await numbers(ledger, "b", 2) == [10, 8]
    assert [each.edit_id for each in await ledger.page("b", limit=2, before=8)] == [6, 4]
    assert await ledger.page("b", limit=2, before=2) == []
    assert await numbers(ledger, None, 3) == [10, 9, 8]
    assert [each.path for each in await ledger.page(None, limit=2)] == ["b", "a"]


async def test_twenty_operations_are_told_and_that_there_were_more(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    await ledger.add(new(operations=[{**REPLACED, "index": n} for n in range(20)]), None)
    await ledger.add(new(operations=[{**REPLACED, "index": n} for n in range(21)]), None)
    more, all_ = await ledger.page("a.ipynb", limit=2)
    assert (len(more.operations), more.truncated) == (20, True)
    assert (len(all_.operations), all_.truncated) == (20, False)
    assert more.operations[-1].index == 19


async def test_an_id_that_no_utf_8_has_is_kept(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    await ledger.add(new(operations=[{**REPLACED, "cell_id": "\ud800"}]), None)
    ((entry,),) = [await ledger.page("a.ipynb", limit=1)]
    assert entry.operations[0].cell_id == "\ud800"


async def test_an_edit_of_another_notebook_or_number_is_not_found(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    number = await ledger.add(new(), None)
    for path, wanted in (("b.ipynb", number), ("a.ipynb", number + 1), ("a.ipynb", 0)):
        with pytest.raises(EditNotFound) as refused:
            await ledger.entry(path, wanted)
        assert refused.value.details == {"edit_id": wanted}


async def test_servers_with_other_roots_have_histories_of_their_own(
    services: ServiceBuilder,
) -> None:
    one, other = (services.build_ledger(root=lambda root=root: root) for root in ("/x", "/y"))
    number = await one.add(new(), b"record")
    await other.add(new(), None)
    assert await numbers(one, None) == await numbers(one) == [number]
    with pytest.raises(EditNotFound):
        await other.entry("a.ipynb", number)
    assert await other.purge("a.ipynb") == 1
    assert await numbers(one) == [number]


async def test_a_notebook_with_several_names_has_one_history(services: ServiceBuilder) -> None:
    ledger = services.build_ledger(name=lambda path: path.replace("link", "a"))
    await ledger.add(new("link.ipynb"), None)
    await ledger.add(new("a.ipynb"), None)
    for path in ("link.ipynb", "a.ipynb"):
        # Whoever asks knows it by the name they ask for.
        assert {entry.path for entry in await ledger.page(path, limit=9)} == {path}
        assert await numbers(ledger, path) == [2, 1]
    assert {entry.path for entry in await ledger.page(None, limit=9)} == {"a.ipynb"}


async def test_an_edit_that_is_broken_in_the_file_is_a_refusal(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    number = await ledger.add(new(), b"record")
    base = sqlite3.connect(services.database_file)
    with base:
        base.execute("UPDATE edits SET said = x'7b'")
    base.close()
    with pytest.raises(LedgerError):
        await ledger.entry("a.ipynb", number)


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
    "undo, redo, undo again": [
        ("edit", None, [None], 1, None),
        ("undo", 1, [2, None], None, 2),
        ("redo", 2, [None, 3, None], 1, None),
        ("undo", 1, [4, 3, None, None], None, 4),
        ("redo", 4, [None, 3, None, 5, None], 1, None),
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
    "an older edit, then a newer one": [
        ("edit", None, [None], 1, None),
        ("edit", None, [None, None], 2, None),
        ("undo", 1, [3, None, None], 2, 3),
        ("edit", None, [3, None, None, None], 4, 3),
        ("undo", 4, [3, None, None, 5, None], 2, 5),
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
async def test_what_is_in_effect_and_what_comes_next(
    services: ServiceBuilder, steps: list[Any]
) -> None:
    ledger = services.build_ledger()
    for kind, undoes, undone_by, next_undo, next_redo in steps:
        await ledger.add(new(kind=kind, undoes=undoes), b"record")
        entries = list(reversed(await ledger.page("a.ipynb", limit=50)))
        assert [entry.undone_by for entry in entries] == undone_by
        assert [entry.undoable for entry in entries] == [
            entry.undone_by is None and entry.kind != "create" for entry in entries
        ]
        assert await ledger.newest("a.ipynb", undone=False) == next_undo
        assert await ledger.newest("a.ipynb", undone=True) == next_redo
    assert entries[-1].undoes == steps[-1][1]


async def test_what_is_next_is_of_the_notebook_alone(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    number = await ledger.add(new(), b"record")
    await ledger.add(new("b.ipynb"), b"record")
    assert await ledger.newest("a.ipynb", undone=False) == number
    assert await ledger.newest("c.ipynb", undone=False) is None


async def test_an_edit_without_a_record_is_told_and_cannot_be_undone(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    number = await ledger.add(new(), None)
    entry, record = await ledger.entry("a.ipynb", number)
    assert (entry.undoable, record) == (False, None)


# How much, for how long ---------------------------------------------------------------------------


async def test_the_oldest_edits_go_first_when_there_are_too_many_bytes(
    services: ServiceBuilder,
) -> None:
    one = services.build_ledger(root=lambda: "/x", max_bytes=100_000)
    other = services.build_ledger(root=lambda: "/y", max_bytes=100_000)
    for number in range(50):
        await (one, other)[number % 2].add(new(), os.urandom(10_000))
    kept = sorted([*await numbers(one), *await numbers(other)])
    assert kept == list(range(51 - len(kept), 51))
    assert 5 <= len(kept) <= 10


async def test_what_is_kept_is_counted_right(services: ServiceBuilder) -> None:
    ledger = services.build_ledger(max_bytes=100_000)
    for number in range(30):
        await ledger.add(new(f"{number % 7}.ipynb"), bytes(number * 500))
        if number % 5 == 0:
            await ledger.purge(f"{number % 3}.ipynb")
    base = sqlite3.connect(services.database_file)
    (counted,) = base.execute("SELECT bytes FROM edits_size").fetchone()
    (size,) = base.execute("SELECT sum(size) FROM edits").fetchone()
    (texts,) = base.execute("SELECT sum(length(said) + length(record)) FROM edits").fetchone()
    (idle,) = base.execute(
        "SELECT count(*) FROM places WHERE place NOT IN (SELECT place FROM edits)"
    ).fetchone()
    base.close()
    assert counted == size
    assert texts < size <= 100_000
    assert idle == 0


async def test_a_record_that_would_push_out_all_others_is_not_kept(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger(max_bytes=100_000)
    small = await ledger.add(new(), b"record")
    large = await ledger.add(new(), bytes(60_000))
    assert await numbers(ledger) == [large, small]
    assert await ledger.entry("a.ipynb", large) != await ledger.entry("a.ipynb", small)
    assert (await ledger.entry("a.ipynb", large))[1] is None


async def test_old_edits_go(services: ServiceBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = services.build_ledger(max_days=2)
    now = time.time()
    for days in (3, 1):
        monkeypatch.setattr(time, "time", lambda days=days: now - days * 86_400)
        await ledger.add(new(message=f"{CANARY} {days}"), b"record")
    monkeypatch.undo()
    # They are not told, though nothing was edited since.
    assert await numbers(ledger) == await numbers(ledger, None) == [2]
    with pytest.raises(EditNotFound):
        await ledger.entry("a.ipynb", 1)
    monkeypatch.setattr(time, "time", lambda: now + 86_400)
    assert await ledger.newest("a.ipynb", undone=False) is None
    monkeypatch.undo()
    again = services.build_ledger(max_days=2)
    await again.add(new("b.ipynb"), None)
    base = sqlite3.connect(services.database_file)
    assert base.execute("SELECT edit FROM edits").fetchall() == [(2,), (3,)]
    base.close()


# Names that go, names that change -----------------------------------------------------------------


async def test_what_is_purged_is_in_no_byte_of_the_files(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    for number in range(30):
        await ledger.add(new(client=CANARY, message=CANARY), CANARY.encode() * 100 * number)
        await ledger.add(new("b.ipynb"), b"record")
    assert CANARY.encode() in services.read_database_files()
    assert await ledger.purge("a.ipynb") == 30
    assert CANARY.encode() not in services.read_database_files()
    assert b"a.ipynb" not in services.read_database_files()
    assert len(await numbers(ledger, "b.ipynb")) == 30
    assert await ledger.purge("a.ipynb") == 0


async def test_a_folder_that_goes_takes_the_histories_in_it_and_no_others(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    for path in ("x/a", "x/y/b", "x", "x.ipynb", "x0", "xx/a", "X/a", "w/x/a"):
        await ledger.add(new(path), None)
    await ledger.gone("x")
    assert {entry.path for entry in await ledger.page(None, limit=50)} == {
        "x.ipynb", "x0", "xx/a", "X/a", "w/x/a",
    }  # fmt: skip


async def test_a_history_follows_its_notebook_and_its_folder(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    for path in ("a", "x/a", "x/%/b", "x0/c"):
        await ledger.add(new(path), b"record")
    await ledger.renamed("a", "b")
    await ledger.renamed("x", "deep/er")
    paths = {entry.path for entry in await ledger.page(None, limit=50)}
    assert paths == {"b", "deep/er/a", "deep/er/%/b", "x0/c"}
    assert (await ledger.entry("b", 1))[1] == b"record"
    assert await ledger.newest("deep/er/a", undone=False) == 2
    with pytest.raises(EditNotFound):
        await ledger.entry("a", 1)


async def test_nobody_loses_a_history_because_something_is_said_to_have_got_its_name(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    await ledger.add(new("a"), b"of a")
    await ledger.add(new("b"), b"of b")
    await ledger.renamed("c", "b")
    assert await numbers(ledger, "b") == [2]
    await ledger.renamed("a", "b")
    assert await numbers(ledger, "b") == [2, 1]
    assert await numbers(ledger, "a") == []


async def test_a_new_notebook_begins_anew(services: ServiceBuilder) -> None:
    ledger = services.build_ledger()
    await ledger.add(new(message=CANARY), CANARY.encode())
    await ledger.add(new("b.ipynb"), None)
    made = await ledger.add(new(kind="create"), None)
    assert await numbers(ledger) == [made]
    assert CANARY.encode() not in services.read_database_files()
    assert len(await numbers(ledger, "b.ipynb")) == 1


# A file that is broken in any way ---------------------------------------------------------------


async def test_a_file_that_is_broken_anywhere_keeps_nobody_from_anything(
    services: ServiceBuilder,
) -> None:
    ledger = services.build_ledger()
    for number in range(60):
        taking_back = {"kind": "undo", "undoes": number - 3} if number % 7 == 6 else {}
        await ledger.add(new(f"{number % 5}.ipynb", **taking_back), b"r" * (number * 40))
    await services.close()
    whole = services.database_file.read_bytes()
    chance = seeded_random("damaged database")
    for number in range(300 if is_nightly() else 30):
        there = ServiceBuilder(services.folder / str(number))
        there.database_file.parent.mkdir(parents=True)
        there.database_file.write_bytes(damaged(whole, chance))
        await use(there.build_ledger())
        await there.close()


async def use(ledger: Ledger) -> None:
    """Ask for everything there is; any of it may be refused."""
    for ask in (
        lambda: ledger.page("1.ipynb", limit=50),
        lambda: ledger.page(None, limit=50),
        lambda: ledger.entry("1.ipynb", 2),
        lambda: ledger.newest("1.ipynb", undone=False),
        lambda: ledger.add(new("1.ipynb", undoes=11), b"record"),
        lambda: ledger.renamed("2.ipynb", "x.ipynb"),
        lambda: ledger.purge("3.ipynb"),
    ):
        with contextlib.suppress(EditNotFound, LedgerError):
            await ask()


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """Change some bytes, half of them where a page says what is in it."""
    text = bytearray(whole)
    for _ in range(chance.randint(1, 300)):
        within = chance.randrange(100 if chance.random() < 0.5 else 4096)
        text[chance.randrange(len(text) // 4096) * 4096 + within] = chance.randrange(256)
    return bytes(text)


async def test_what_was_too_old_is_in_no_byte_of_the_files(
    services: ServiceBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = services.build_ledger(max_days=2)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3 * 86_400)
    await old.add(new(message=CANARY), CANARY.encode())
    monkeypatch.undo()
    assert CANARY.encode() in services.read_database_files()
    await services.build_ledger(max_days=2).add(new("b.ipynb"), None)
    assert CANARY.encode() not in services.read_database_files()
