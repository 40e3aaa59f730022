"""The service above any storage: what it does when others write, fail, or hand it odd notebooks."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jupyter_events import EventLogger
from nbformat.sign import NotebookNotary

from jupyter_nbedit import trust
from jupyter_nbedit.afterwards import Afterwards
from jupyter_nbedit.editor import Always, NotebookEditor
from jupyter_nbedit.errors import (
    Busy,
    CellChanged,
    CellNotFound,
    HashMismatch,
    InvalidNotebook,
    InvalidRequest,
    LedgerError,
    NbEditError,
    NotebookNotFound,
    PlanMode,
)
from jupyter_nbedit.events import SCHEMA_ID, SCHEMA_PATH, EditEvents
from jupyter_nbedit.history.entries import NewEntry
from jupyter_nbedit.messages import EditReply, EditRequest, ReadReply, Selection
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Delete, Expect, Insert, Move, Operation, Replace
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.reader import NotebookReader
from jupyter_nbedit.readings import Readings
from jupyter_nbedit.storage import Content, Written
from jupyter_nbedit.trust import Trust
from jupyter_nbedit.versions import Versions
from tests.support import samples
from tests.support.memory_storage import MemoryStorage, Only
from tests.support.services import MemoryLedger
from tests.support.sizes import is_nightly

NAME = "a.ipynb"
TEXT = samples.three_cells()
REPLACE = Replace(cell="beta", source="ours")


class Heard:
    """What was told of edits, by a real event logger."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.logger = EventLogger()
        self.logger.register_event_schema(SCHEMA_PATH)
        self.logger.add_listener(schema_id=SCHEMA_ID, listener=self._hear)

    async def _hear(self, logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:
        assert (logger, schema_id) == (self.logger, SCHEMA_ID)
        self.events.append(data)


@pytest.fixture
def notary(tmp_path: Path) -> Iterator[NotebookNotary]:
    notary = NotebookNotary(db_file=":memory:", data_dir=str(tmp_path))
    yield notary
    notary.store.close()


def afterwards(heard: Heard, readings: Readings, versions: Versions) -> Afterwards:
    return Afterwards(
        ledger=MemoryLedger(),
        readings=readings,
        versions=versions,
        events=EditEvents(heard.logger),
        log=logging.getLogger(__name__),
    )


class Service:
    """An editor on a storage, and what it tells."""

    def __init__(self, storage: MemoryStorage, notary: NotebookNotary, mode: str = "edit") -> None:
        self.storage = storage
        self.heard = Heard()
        readings, versions = Readings(), Versions()
        self.reader = NotebookReader(
            storages=Only(storage),
            trust=Trust(lambda: notary),
            readings=readings,
            versions=versions,
        )
        self.editor = NotebookEditor(
            storages=Only(storage),
            afterwards=afterwards(self.heard, readings, versions),
            trust=Trust(lambda: notary),
            modes=Always(mode),
        )

    async def edit(self, *operations: Operation, **more: Any) -> EditReply:
        reply = await self.editor.edit(EditRequest(NAME, operations, **more))
        await asyncio.sleep(0)
        return reply

    async def read(self) -> ReadReply:
        reply = await self.reader.read(NAME, Selection(), known=lambda _: False)
        assert isinstance(reply, ReadReply)
        return reply


class Contested(MemoryStorage):
    """Somebody else writes right before each of our writes, as long as they have something."""

    def __init__(self, theirs: Sequence[bytes]) -> None:
        super().__init__({NAME: TEXT})
        self._theirs = iter(theirs)
        self.writes = 0

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> Written:
        self.writes += 1
        self.notebooks[NAME] = next(self._theirs, self.notebooks[NAME])
        return await super().write(path, base, splices)


def theirs(n: int) -> bytes:
    return TEXT.replace(b"as is", b"theirs %d" % n)


def sources(text: bytes) -> list[str]:
    return [cell["source"] for cell in samples.cells_of(text)]


@pytest.mark.parametrize("times", [1, 2, 7])
async def test_an_edit_is_made_anew_on_what_others_wrote(
    notary: NotebookNotary, times: int
) -> None:
    storage = Contested([theirs(n) for n in range(times)])
    service = Service(storage, notary)
    reply = await service.edit(REPLACE)
    assert sources(storage.notebooks[NAME]) == ["x = 1\nx", "ours", f"theirs {times - 1}"]
    assert reply.hash_before == hashlib.sha256(theirs(times - 1)).hexdigest()
    assert reply.hash == hashlib.sha256(storage.notebooks[NAME]).hexdigest()
    assert storage.writes == times + 1
    assert [event["seq"] for event in service.heard.events] == [1]
    assert len(storage.announced) == 1


async def test_an_edit_that_never_gets_a_turn_is_refused_and_those_who_wrote_keep_theirs(
    notary: NotebookNotary,
) -> None:
    storage = Contested([theirs(n) for n in range(1000)])
    service = Service(storage, notary)
    with pytest.raises(Busy):
        await service.edit(REPLACE)
    assert storage.writes == 8
    assert storage.notebooks[NAME] == theirs(7)
    assert service.heard.events == []
    assert storage.announced == []


async def test_an_edit_of_one_version_is_not_made_on_another_that_came_meanwhile(
    notary: NotebookNotary,
) -> None:
    storage = Contested([theirs(0)])
    service = Service(storage, notary)
    known = hashlib.sha256(TEXT).hexdigest()
    with pytest.raises(HashMismatch) as refused:
        await service.edit(REPLACE, hash=known)
    current = hashlib.sha256(theirs(0)).hexdigest()
    assert refused.value.details == {"expected": known, "hash": current}
    assert storage.notebooks[NAME] == theirs(0)
    assert service.heard.events == []


async def test_a_guard_is_looked_at_again_on_what_others_wrote(notary: NotebookNotary) -> None:
    other = TEXT.replace(b"# Title", b"# Theirs")
    storage = Contested([other])
    guarded = Replace(cell="beta", source="ours", expect=Expect(source="# Title"))
    with pytest.raises(CellChanged) as refused:
        await Service(storage, notary).edit(guarded)
    assert refused.value.details["source"] == "# Theirs"
    assert storage.notebooks[NAME] == other


async def test_a_cell_that_others_deleted_meanwhile_is_not_found(notary: NotebookNotary) -> None:
    other = samples.notebook(samples.raw("left", "gamma"))
    storage = Contested([other])
    with pytest.raises(CellNotFound):
        await Service(storage, notary).edit(REPLACE)
    assert storage.notebooks[NAME] == other


async def test_what_others_have_already_done_is_done(notary: NotebookNotary) -> None:
    other = TEXT.replace(b"# Title", b"ours")
    storage = Contested([other])
    service = Service(storage, notary)
    reply = await service.edit(REPLACE)
    assert (reply.edit_id, reply.hash) == (None, hashlib.sha256(other).hexdigest())
    assert service.heard.events == []


async def test_a_new_cell_gets_an_id_that_none_of_theirs_has(notary: NotebookNotary) -> None:
    storage = MemoryStorage({NAME: samples.notebook()})
    service = Service(storage, notary)
    for _ in range(50):
        await service.edit(Insert(source="", cell_type="raw", at="end"))
    assert len({cell["id"] for cell in samples.cells_of(storage.notebooks[NAME])}) == 50


async def test_edits_are_numbered_only_if_they_were_made(notary: NotebookNotary) -> None:
    service = Service(MemoryStorage({NAME: TEXT}), notary)
    assert (await service.edit(REPLACE, dry_run=True)).edit_id is None
    assert (await service.edit(Replace(cell="beta", source="# Title"))).edit_id is None
    with pytest.raises(CellNotFound):
        await service.edit(Delete(cell="nobody"))
    assert [(await service.edit(Delete(cell=0))).edit_id for _ in range(3)] == [1, 2, 3]
    assert [event["edit_id"] for event in service.heard.events] == [1, 2, 3]


async def test_the_reply_names_the_storage_it_went_to(notary: NotebookNotary) -> None:
    storage = MemoryStorage({NAME: TEXT})
    reply = await Service(storage, notary).edit(REPLACE)
    assert reply.applied_via == "memory"
    assert storage.announced == [(NAME, reply.hash)]


async def test_in_plan_mode_the_storage_is_not_even_asked(notary: NotebookNotary) -> None:
    class Nowhere(Only):
        async def of(self, _path: str) -> MemoryStorage:
            raise AssertionError

    editor = NotebookEditor(
        storages=Nowhere(MemoryStorage({})),
        afterwards=afterwards(Heard(), Readings(), Versions()),
        trust=Trust(lambda: notary),
        modes=Always("plan"),
    )
    with pytest.raises(PlanMode):
        await editor.edit(EditRequest(NAME, [REPLACE]))
    planning = Service(MemoryStorage({NAME: TEXT}), notary, mode="plan")
    reply = await planning.edit(REPLACE, dry_run=True)
    assert (reply.persisted, planning.storage.notebooks[NAME]) == (False, TEXT)


async def test_the_storage_is_chosen_for_each_request(notary: NotebookNotary) -> None:
    chosen = [MemoryStorage({NAME: TEXT}), MemoryStorage({})]

    class Changing(Only):
        @asynccontextmanager
        async def hold(self, _path: str) -> AsyncIterator[MemoryStorage]:
            yield chosen.pop(0)

    editor = NotebookEditor(
        storages=Changing(MemoryStorage({})),
        afterwards=afterwards(Heard(), Readings(), Versions()),
        trust=Trust(lambda: notary),
    )
    await editor.edit(EditRequest(NAME, [REPLACE]))
    with pytest.raises(NotebookNotFound):
        await editor.edit(EditRequest(NAME, [REPLACE]))


class Complaining(MemoryStorage):
    """Cannot tell anybody."""

    async def announce(self, path: str, written: Written) -> list[str]:
        if written.hash:
            raise OSError(5, "I/O error", f"/secret/{path}")
        return ["never"]


class Full(MemoryLedger):
    """Has no room for anything."""

    async def add(self, entry: NewEntry, record: bytes | None) -> int:
        message = f"no room for {entry.path} and {record!r}"
        raise LedgerError(message)


async def test_an_edit_that_cannot_be_recorded_is_made_and_says_so(notary: NotebookNotary) -> None:
    service = Service(MemoryStorage({NAME: TEXT}), notary)
    service.editor.afterwards = replace(service.editor.afterwards, ledger=Full())
    reply = await service.edit(REPLACE)
    assert b'"ours"' in service.storage.notebooks[NAME]
    assert reply.edit_id is None
    (warning,) = reply.warnings
    assert "could not be recorded" in warning
    # Tabs must hear of it all the same.
    (event,) = service.heard.events
    assert (event["edit_id"], event["hash"]) == (None, reply.hash)


async def test_what_fails_after_the_write_is_a_warning(notary: NotebookNotary) -> None:
    storage = Complaining({NAME: TEXT})
    service = Service(storage, notary)
    reply = await service.edit(REPLACE)
    assert hashlib.sha256(storage.notebooks[NAME]).hexdigest() == reply.hash
    (warning,) = reply.warnings
    assert "/secret" not in warning
    assert len(service.heard.events) == 1


# Half written notebooks --------------------------------------------------------------------------


class Torn(MemoryStorage):
    """Is being written by somebody who takes their time."""

    def __init__(self, reads: int, age: timedelta = timedelta(0)) -> None:
        super().__init__({NAME: TEXT})
        self.left = reads
        self._age = age

    async def read(self, path: str) -> Content:
        whole = await super().read(path)
        modified = datetime.now(tz=timezone.utc) - self._age
        self.left -= 1
        return Content(whole.text if self.left < 0 else whole.text[: -10 * self.left], modified)


async def test_a_notebook_that_is_being_written_is_waited_for(notary: NotebookNotary) -> None:
    storage = Torn(5)
    reply = await Service(storage, notary).edit(REPLACE)
    assert reply.hash_before == hashlib.sha256(TEXT).hexdigest()
    assert (await Service(Torn(5), notary).read()).total_cells == 3


@pytest.mark.parametrize("age", [timedelta(seconds=3), timedelta(days=-1)])
async def test_a_notebook_that_was_broken_long_ago_is_not_waited_for(
    notary: NotebookNotary, age: timedelta
) -> None:
    storage = Torn(1, age)
    storage.notebooks[NAME] = b"{"
    with pytest.raises(InvalidNotebook):
        await Service(storage, notary).read()
    # It was read once, and not looked at again.
    assert storage.left == 0
    assert storage.notebooks[NAME] == b"{"


@pytest.mark.skipif(not is_nightly(), reason="takes six seconds: nightly")
async def test_a_notebook_that_is_written_without_end_is_not_waited_for_forever(
    notary: NotebookNotary,
) -> None:
    storage = Torn(10**9)
    with pytest.raises((Busy, InvalidNotebook)):
        await Service(storage, notary).edit(REPLACE)
    assert storage.notebooks[NAME] == TEXT


# Odd notebooks -----------------------------------------------------------------------------------

Way = tuple[str | int, ...]


def places(value: Any, path: Way = ()) -> Iterator[Way]:
    """List the ways to all values in a value."""
    yield path
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, name))


def replaced(value: Any, path: Way, by: Any) -> Any:
    """Copy a value with another one in some place."""
    if not path:
        return by
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


CONTENT = json.loads(TEXT)
PLACES = list(places(CONTENT))
ANYTHING = [None, True, 0, 1.5, "", "text", [], {}, [None], ["x", 1], {"text": None}, 10**40]
ONE_OF_EACH: list[Operation] = [
    Replace(cell=0, source="new"),
    Replace(cell=1, cell_type="code"),
    Insert(source="new", cell_type="code", index=1),
    Move(cell=0, at="end"),
    Delete(cell=0),
]


@pytest.mark.parametrize("by", ANYTHING, ids=repr)
async def test_a_notebook_with_anything_anywhere_is_edited_or_refused_and_never_fails(
    notary: NotebookNotary, by: Any
) -> None:
    edited = refused = 0
    for path in PLACES:
        text = json.dumps(replaced(CONTENT, path, by), indent=1).encode()
        storage = Torn(0, timedelta(days=1))
        service = Service(storage, notary)
        for operation in ONE_OF_EACH:
            storage.notebooks[NAME] = text
            try:
                await service.read()
            except NbEditError:
                refused += 1
            try:
                await service.edit(operation)
            except NbEditError:
                assert storage.notebooks[NAME] == text
            else:
                edited += 1
                json.loads(storage.notebooks[NAME])
    assert refused
    assert edited


# Trust -------------------------------------------------------------------------------------------

cells = st.integers(0, 2)
operations = st.one_of(
    st.builds(Replace, cell=cells, source=st.text(max_size=5)),
    st.builds(Replace, cell=cells, source=st.just("x"), outputs=st.just("keep")),
    st.builds(Replace, cell=cells, cell_type=st.sampled_from(["code", "markdown", "raw"])),
    st.builds(
        Insert,
        source=st.text(max_size=5),
        cell_type=st.sampled_from(["code", "markdown", "raw"]),
        at=st.sampled_from(["start", "end"]),
    ),
    st.builds(Move, cell=cells, index=st.integers(0, 3)),
    st.builds(Delete, cell=cells),
)
batches = st.lists(st.lists(operations, min_size=1, max_size=3), min_size=1, max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=batches, trusted=st.booleans())
def test_no_history_of_edits_gives_or_takes_trust(
    tmp_path: Path, history: list[list[Operation]], *, trusted: bool
) -> None:
    notary = NotebookNotary(db_file=":memory:", data_dir=str(tmp_path))

    async def live() -> None:
        storage = MemoryStorage({NAME: TEXT})
        service = Service(storage, notary)
        if trusted:
            notary.sign(nbformat.reads(TEXT, as_version=4))
        for batch in history:
            try:
                reply = await service.edit(*batch)
            except NbEditError:
                continue
            assert reply.warnings == []
            assert await trust.is_trusted(notary, storage.notebooks[NAME]) is trusted
            assert (await service.read()).trusted is trusted

    asyncio.run(live())
    notary.store.close()


async def test_what_an_edit_made_of_a_version_that_was_read_is_remembered_too(
    notary: NotebookNotary,
) -> None:
    service = Service(MemoryStorage({NAME: TEXT}), notary)
    await service.read()
    first = await service.edit(REPLACE)
    second = await service.edit(Insert(source="y", cell_type="raw", at="end"))
    for since, changed in ((first.hash_before, [1, 3]), (first.hash, [3]), (second.hash, [])):
        reply = await service.reader.read(NAME, Selection(since=since), known=lambda _: False)
        assert isinstance(reply, ReadReply)
        assert [cell.index for cell in reply.cells] == changed


async def test_a_plan_decides_on_the_notebook_as_it_is(notary: NotebookNotary) -> None:
    storage = Contested([theirs(1), theirs(2)])
    seen = []

    def plan(document: Document) -> list[Operation]:
        seen.append(document.cell(2).source)
        return [Replace(cell=len(document) - 1, source=f"after {seen[-1]}")]

    reply = await Service(storage, notary).editor.edit(EditRequest(NAME, plan))
    assert seen == ["as is", "theirs 1", "theirs 2"]
    assert reply.operations[0].index == 2
    assert b"after theirs 2" in storage.notebooks[NAME]


async def test_what_a_plan_refuses_is_the_answer(notary: NotebookNotary) -> None:
    def plan(document: Document) -> list[Operation]:
        message = f"{len(document)} cells are too many."
        raise InvalidRequest(message)

    storage = MemoryStorage({NAME: TEXT})
    with pytest.raises(InvalidRequest, match="3 cells"):
        await Service(storage, notary).editor.edit(EditRequest(NAME, plan))
    assert storage.notebooks[NAME] == TEXT


class Changing:
    """Modes that a person changes while an edit is on its way."""

    server = "edit"

    def __init__(self, *modes: str) -> None:
        self.modes = list(modes)

    async def of(self, path: str) -> str:
        assert path == NAME
        return self.modes.pop(0) if len(self.modes) > 1 else self.modes[0]


@pytest.mark.parametrize("before", ["review", "edit"])
async def test_an_edit_that_is_paused_on_its_way_is_not_made(
    notary: NotebookNotary, before: str
) -> None:
    service = Service(MemoryStorage({NAME: TEXT}), notary)
    service.editor.modes = Changing(before, "plan")
    with pytest.raises(PlanMode):
        await service.edit(REPLACE)
    assert service.storage.notebooks[NAME] == TEXT
