"""What every storage keeps to; the one in memory too, or it would prove nothing above it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage import Changed, Storage, Written
from tests.storage.conftest import Place
from tests.storage.memory import MemoryStorage

PATH = "folder/a.ipynb"


@dataclass(frozen=True)
class Kept:
    """A storage and what somebody else can do to what it keeps."""

    storage: Storage
    put: Callable[[bytes], object]
    now: Callable[[], bytes]
    remove: Callable[[], object]


@pytest.fixture(params=["memory", "file"])
def kept(request: pytest.FixtureRequest, place: Place) -> Kept:
    if request.param == "memory":
        notebooks: dict[str, bytes] = {}
        return Kept(
            MemoryStorage(notebooks),
            lambda text: notebooks.update({PATH: text}),
            lambda: notebooks[PATH],
            lambda: notebooks.pop(PATH),
        )
    path: Path = place.root / PATH
    path.parent.mkdir()
    return Kept(place.storage, path.write_bytes, path.read_bytes, path.unlink)


async def test_what_is_kept_is_read_as_it_is(kept: Kept) -> None:
    for text in (b"", b"\x00\xff", b"x" * 3_000_000):
        kept.put(text)
        assert (await kept.storage.read(PATH)).text == text


async def test_what_is_not_kept_is_not_found(kept: Kept) -> None:
    with pytest.raises(NotebookNotFound):
        await kept.storage.read(PATH)


async def test_splices_are_written_and_the_hash_is_that_of_the_outcome(kept: Kept) -> None:
    kept.put(b"0123456789")
    base = await kept.storage.read(PATH)
    splices = [Splice(0, 0, b"<"), Splice(2, 4, b""), Splice(9, 10, b"nine>")]
    written = await kept.storage.write(PATH, base, splices)
    assert kept.now() == b"<01456789"[:-1] + b"nine>"
    assert written.hash == hashlib.sha256(kept.now()).hexdigest()
    assert written.warnings == []


async def test_each_write_is_newer_than_the_one_before(kept: Kept) -> None:
    kept.put(b"0")
    before = await kept.storage.read(PATH)
    for n in range(20):
        written = await kept.storage.write(PATH, before, [Splice(0, 1, b"%d" % (n % 10))])
        after = await kept.storage.read(PATH)
        assert before.last_modified < written.last_modified == after.last_modified
        before = after


@pytest.mark.parametrize("now", [b"1", b"01", b""])
async def test_what_has_changed_since_it_was_read_is_not_written_over(
    kept: Kept, now: bytes
) -> None:
    kept.put(b"0")
    base = await kept.storage.read(PATH)
    kept.put(now)
    with pytest.raises(Changed):
        await kept.storage.write(PATH, base, [Splice(0, 1, b"x")])
    assert kept.now() == now


async def test_what_was_removed_since_it_was_read_does_not_come_back(kept: Kept) -> None:
    kept.put(b"0")
    base = await kept.storage.read(PATH)
    kept.remove()
    with pytest.raises(NotebookNotFound):
        await kept.storage.write(PATH, base, [Splice(0, 1, b"x")])
    with pytest.raises(NotebookNotFound):
        await kept.storage.read(PATH)


async def test_a_notebook_is_created_where_nothing_was(kept: Kept) -> None:
    written = await kept.storage.create(PATH, b"new")
    assert kept.now() == b"new"
    assert written.hash == hashlib.sha256(b"new").hexdigest()
    read = await kept.storage.read(PATH)
    assert (read.text, read.last_modified) == (b"new", written.last_modified)


async def test_what_is_there_is_not_overwritten_by_creating_it(kept: Kept) -> None:
    await kept.storage.check_vacant(PATH)
    kept.put(b"old")
    with pytest.raises(NotebookExists):
        await kept.storage.check_vacant(PATH)
    with pytest.raises(NotebookExists):
        await kept.storage.create(PATH, b"new")
    assert kept.now() == b"old"


async def test_of_many_who_create_one_notebook_one_does(kept: Kept) -> None:
    texts = [b"%d" % n for n in range(20)]
    done = await asyncio.gather(
        *[kept.storage.create(PATH, text) for text in texts], return_exceptions=True
    )
    winners = [text for text, how in zip(texts, done, strict=True) if isinstance(how, Written)]
    assert winners == [kept.now()]
    assert sum(isinstance(how, NotebookExists) for how in done) == len(texts) - 1


async def test_one_holds_a_notebook_at_a_time_in_the_order_they_came(kept: Kept) -> None:
    kept.put(b"0")
    order: list[str] = []

    async def work(name: str) -> None:
        async with kept.storage.hold(PATH):
            order.append(f"{name} in")
            await asyncio.sleep(0.01)
            order.append(f"{name} out")

    await asyncio.gather(*[work(name) for name in "abc"])
    assert order == [f"{name} {step}" for name in "abc" for step in ("in", "out")]


async def test_who_fails_while_holding_a_notebook_lets_go_of_it(kept: Kept) -> None:
    kept.put(b"0")
    with pytest.raises(ZeroDivisionError):
        async with kept.storage.hold(PATH):
            raise ZeroDivisionError
    async with kept.storage.hold(PATH):
        assert (await kept.storage.read(PATH)).text == b"0"


async def test_a_write_is_announced_without_complaint(kept: Kept) -> None:
    kept.put(b"{}")
    base = await kept.storage.read(PATH)
    written = await kept.storage.write(PATH, base, [Splice(1, 1, b" ")])
    assert await kept.storage.announce(PATH, written) == []
