"""The edit service above any storage: other writers, failures, odd notebooks."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_nbedit.errors import (
    Busy,
    CellChanged,
    CellNotFound,
    HashMismatch,
    HistoryUnavailable,
    InvalidNotebook,
    NbEditError,
    PlanMode,
)
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Expect, Insert, Operation, Replace
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.services.history.models import NewEntry
from jupyter_nbedit.services.history.store import EditStore, FollowUndo
from jupyter_nbedit.services.reading.models import ReadOptions
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.storage.base import Content, WriteResult
from tests.support import samples
from tests.support.clock import Clock
from tests.support.memory_storage import MemoryStorage, SingleStorage
from tests.support.names import FolderNames
from tests.support.services import EditingServices, ServiceBuilder
from tests.support.waiting import wait_until_async

NAME = "a.ipynb"
TEXT = samples.three_cells()
REPLACE = Replace(cell="beta", source="ours")


def build_service(services: ServiceBuilder, storage: MemoryStorage) -> EditingServices:
    return services.build_editing(SingleStorage(storage))


class ConflictingStorage(MemoryStorage):
    """Another program writes right before each write, as long as it has text left."""

    def __init__(self, theirs: Sequence[bytes]) -> None:
        super().__init__({NAME: TEXT})
        self._theirs = iter(theirs)
        self.writes = 0

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        self.writes += 1
        self.notebooks[NAME] = next(self._theirs, self.notebooks[NAME])
        return await super().write(path, base, splices)


def build_theirs(n: int) -> bytes:
    return TEXT.replace(b"as is", b"theirs %d" % n)


def sources(text: bytes) -> list[str]:
    return [cell["source"] for cell in samples.load_cells(text)]


@pytest.mark.parametrize("times", [1, 2, 7])
async def test_an_edit_is_computed_again_after_an_out_of_band_change(
    services: ServiceBuilder, times: int
) -> None:
    storage = ConflictingStorage([build_theirs(n) for n in range(times)])
    service = build_service(services, storage)
    reply = await service.edit(NAME, REPLACE)
    assert sources(storage.notebooks[NAME]) == ["x = 1\nx", "ours", f"theirs {times - 1}"]
    assert reply.hash_before == samples.compute_hash(build_theirs(times - 1))
    assert reply.hash == samples.compute_hash(storage.notebooks[NAME])
    assert storage.writes == times + 1
    assert [event["seq"] for event in await services.list_events()] == [1]
    assert len(storage.save_events) == 1


async def test_an_edit_that_always_conflicts_is_refused_and_overwrites_no_change(
    services: ServiceBuilder,
) -> None:
    storage = ConflictingStorage([build_theirs(n) for n in range(1000)])
    service = build_service(services, storage)
    with pytest.raises(Busy):
        await service.edit(NAME, REPLACE)
    assert storage.writes == 8
    assert storage.notebooks[NAME] == build_theirs(7)
    assert await services.list_events() == []
    assert storage.save_events == []


VERSION = samples.compute_hash(TEXT)


@pytest.mark.parametrize(
    ("other", "operation", "fields", "failure"),
    [
        pytest.param(build_theirs(0), REPLACE, {"hash": VERSION}, HashMismatch, id="version"),
        pytest.param(
            TEXT.replace(b"# Title", b"# Theirs"),
            Replace(cell="beta", source="ours", expect=Expect(source="# Title")),
            {},
            CellChanged,
            id="guard",
        ),
        pytest.param(samples.notebook(), REPLACE, {}, CellNotFound, id="cell"),
    ],
)
async def test_an_edit_that_does_not_fit_an_out_of_band_change_is_refused(
    services: ServiceBuilder,
    other: bytes,
    operation: Operation,
    fields: dict[str, str],
    failure: type[NbEditError],
) -> None:
    storage = ConflictingStorage([other])
    with pytest.raises(failure):
        await build_service(services, storage).edit(NAME, operation, **fields)
    assert storage.notebooks[NAME] == other
    assert await services.list_events() == []


async def test_an_edit_that_an_out_of_band_change_already_made_succeeds(
    services: ServiceBuilder,
) -> None:
    other = TEXT.replace(b"# Title", b"ours")
    storage = ConflictingStorage([other])
    service = build_service(services, storage)
    reply = await service.edit(NAME, REPLACE)
    assert (reply.edit_id, reply.hash) == (None, samples.compute_hash(other))
    assert await services.list_events() == []


class FailingHistory(EditStore):
    """Has no room for anything."""

    async def add(
        self, entry: NewEntry, record: bytes | None, _follow_undo: FollowUndo | None = None
    ) -> int:
        message = f"no room for {entry.path} and {record!r}"
        raise HistoryUnavailable(message)


async def test_an_edit_without_history_is_made_with_a_warning(
    services: ServiceBuilder,
) -> None:
    storage = MemoryStorage({NAME: TEXT})
    failing = FailingHistory(services.build_database(), names=FolderNames())
    service = build_service(services, storage)
    service.editor.publisher = replace(service.editor.publisher, history=failing)
    reply = await service.edit(NAME, REPLACE)
    assert b'"ours"' in storage.notebooks[NAME]
    assert reply.edit_id is None
    assert len(reply.warnings) == 1
    # Tabs must get the event nevertheless.
    (event,) = await services.list_events()
    assert (event["edit_id"], event["hash"]) == (None, reply.hash)


# Half written notebooks --------------------------------------------------------------------------


class IncompleteStorage(MemoryStorage):
    """A notebook that another program writes slowly."""

    def __init__(self, reads: int, age: timedelta = timedelta(0)) -> None:
        super().__init__({NAME: TEXT})
        self.left = reads
        self._age = age

    async def read(self, path: str) -> Content:
        whole = await super().read(path)
        modified = datetime.now(tz=timezone.utc) - self._age
        self.left -= 1
        return Content(whole.text if self.left < 0 else whole.text[: -10 * self.left], modified)


@pytest.mark.parametrize("age", [timedelta(seconds=3), timedelta(days=-1)])
async def test_an_old_incomplete_notebook_is_not_waited_for(
    services: ServiceBuilder, age: timedelta
) -> None:
    storage = IncompleteStorage(1, age)
    storage.notebooks[NAME] = b"{"
    with pytest.raises(InvalidNotebook):
        await build_service(services, storage).read(NAME)
    # It was read once, and not looked at again.
    assert storage.left == 0
    assert storage.notebooks[NAME] == b"{"


async def test_the_wait_for_a_notebook_that_is_always_incomplete_ends(
    services: ServiceBuilder, clock: Clock
) -> None:
    storage = IncompleteStorage(10**9)
    waiting = asyncio.create_task(build_service(services, storage).edit(NAME, REPLACE))
    await wait_until_async(lambda: storage.left < 10**9)
    # Longer than any wait.
    clock.advance(100)
    with pytest.raises(Busy):
        await waiting
    assert storage.notebooks[NAME] == TEXT


# Versions, plans, modes --------------------------------------------------------------------------


async def test_the_version_that_an_edit_made_from_a_known_version_is_remembered(
    services: ServiceBuilder,
) -> None:
    service = build_service(services, MemoryStorage({NAME: TEXT}))
    await service.read(NAME)
    first = await service.edit(NAME, REPLACE)
    await service.edit(NAME, Insert(source="y", cell_type="raw", at="end"))
    reply = await service.read(NAME, ReadOptions(since=first.hash))
    assert [cell.index for cell in reply.cells] == [3]


async def test_a_plan_is_computed_from_the_current_notebook(services: ServiceBuilder) -> None:
    storage = ConflictingStorage([build_theirs(1), build_theirs(2)])
    seen = []

    def plan(document: Document) -> list[Operation]:
        seen.append(document.get_cell(2).source)
        return [Replace(cell=len(document) - 1, source=f"after {seen[-1]}")]

    reply = await build_service(services, storage).editor.edit(WriteRequest(NAME), plan)
    assert seen == ["as is", "theirs 1", "theirs 2"]
    assert reply.operations[0].index == 2
    assert b"after theirs 2" in storage.notebooks[NAME]


async def test_an_edit_is_refused_if_the_notebook_is_paused_while_it_waits(
    services: ServiceBuilder,
) -> None:
    storage = MemoryStorage({NAME: TEXT})
    service = build_service(services, storage)
    async with storage.lock(NAME):
        edit = asyncio.create_task(service.edit(NAME, REPLACE))
        await asyncio.sleep(0)
        await service.editor.modes.change(NAME, "plan", "ann")
    with pytest.raises(PlanMode):
        await edit
    assert storage.notebooks[NAME] == TEXT
