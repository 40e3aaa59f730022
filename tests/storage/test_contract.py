"""The contract of every storage, including the one in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import nbformat.reader
import pytest
from jupyter_server.utils import ensure_async
from nbformat.sign import NotebookNotary

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound, UndoConflict
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.services.edits.service import EditService
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.storage.base import StaleContent, Storage, WriteResult
from tests.setups.needs import needs
from tests.storage.conftest import run_other_tasks
from tests.storage.storage_cases import (
    AVAILABLE,
    EXACT,
    KINDS,
    PACKAGES,
    PATH,
    TEXT,
    WHOLE,
    StorageCase,
    build_notebook,
)
from tests.support import samples
from tests.support.memory_storage import SingleStorage
from tests.support.services import ServiceBuilder

OTHER = build_notebook(samples.markdown("# Other", "gamma"))
# What other packages still use is their business.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(params=AVAILABLE)
def case(
    request: pytest.FixtureRequest, jp_asyncio_loop: asyncio.AbstractEventLoop, tmp_path: Path
) -> Iterator[StorageCase]:
    store = KINDS[request.param](tmp_path)
    yield jp_asyncio_loop.run_until_complete(store.__aenter__())
    jp_asyncio_loop.run_until_complete(store.__aexit__(None, None, None))


def keep_kinds(kinds: Sequence[str]) -> pytest.MarkDecorator:
    available = [kind for kind in kinds if kind in AVAILABLE]
    return pytest.mark.parametrize("case", available, indirect=True)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_that_a_storage_needs_is_installed(package: str) -> None:
    needs(package, PACKAGES[package])


def replace_title(new: bytes, text: bytes = TEXT) -> list[Splice]:
    """Return splices that replace the title."""
    start = text.index(b'"# ') + 1
    return [Splice(start, text.index(b'"', start), new)]


async def put(case: StorageCase, text: bytes) -> None:
    await ensure_async(case.write(text))


async def assert_stored(case: StorageCase, text: bytes) -> None:
    """Check the stored text, byte for byte or as nbformat reads it."""
    now = await ensure_async(case.read())
    if case.storage.preserves_bytes:
        assert now == text
    assert _cells(now) == _cells(text)
    assert (await case.storage.read(PATH)).text in {now, text}


def _cells(text: bytes) -> Any:
    return nbformat.reader.reads(text.decode())["cells"]


async def write(storage: Storage, splices: Sequence[Splice]) -> WriteResult:
    async with storage.lock(PATH):
        return await storage.write(PATH, await storage.read(PATH), splices)


async def test_a_stored_notebook_is_read_unchanged(case: StorageCase) -> None:
    for text in (TEXT, OTHER):
        await put(case, text)
        assert (await case.storage.read(PATH)).text == text


@keep_kinds(EXACT)
async def test_any_bytes_are_read_unchanged(case: StorageCase) -> None:
    for text in (b"", b"\x00\xff", b"\xef\xbb\xbf{}\r\n", b"x" * 3_000_000):
        await put(case, text)
        assert (await case.storage.read(PATH)).text == text


async def test_a_missing_notebook_is_not_found(case: StorageCase) -> None:
    with pytest.raises(NotebookNotFound):
        await case.storage.read(PATH)


async def test_splices_are_written_and_the_hash_is_that_of_the_result(case: StorageCase) -> None:
    await put(case, TEXT)
    splices = [Splice(at, at + 1, b"y") for at in range(len(TEXT)) if TEXT[at : at + 3] == b"x ="]
    splices += replace_title(b"## Sub")
    result = await write(case.storage, splices)
    await assert_stored(case, apply_splices(TEXT, splices))
    after = await case.storage.read(PATH)
    assert result.hash == samples.compute_hash(after.text)
    assert result.text in {None, after.text}
    assert result.is_persisted
    assert result.warnings == []


@keep_kinds(EXACT)
async def test_bytes_outside_the_splices_are_unchanged(case: StorageCase) -> None:
    odd = TEXT.replace(b"\n ", b"\r\n\t").replace(b'"# Title"', b'"# T\\u00eftle \\/"')[:-1]
    await put(case, odd)
    splices = [*replace_title(b"# One", odd), Splice(len(odd), len(odd), b" ")]
    result = await write(case.storage, splices)
    now = await ensure_async(case.read())
    assert now == apply_splices(odd, splices)
    assert result.hash == samples.compute_hash(now)


async def test_each_write_has_a_later_timestamp(case: StorageCase) -> None:
    await put(case, TEXT)
    before = await case.storage.read(PATH)
    for n in range(10):
        result = await write(case.storage, replace_title(b"# %d" % n, before.text))
        after = await case.storage.read(PATH)
        assert result.last_modified == after.last_modified
        assert before.last_modified <= after.last_modified
        assert not case.has_increasing_times or before.last_modified < after.last_modified
        before = after


@keep_kinds(WHOLE)
@pytest.mark.parametrize("now", [OTHER, TEXT + b"\n", TEXT.replace(b"x = 1", b"x = 2")])
async def test_a_version_changed_since_the_read_is_not_overwritten(
    case: StorageCase, now: bytes
) -> None:
    await put(case, TEXT)
    base = await case.storage.read(PATH)
    await put(case, now)
    async with case.storage.lock(PATH):
        with pytest.raises(StaleContent):
            await case.storage.write(PATH, base, replace_title(b"# Mine"))
    assert await ensure_async(case.read()) == now


async def test_a_notebook_removed_since_the_read_does_not_reappear(case: StorageCase) -> None:
    await put(case, TEXT)
    base = await case.storage.read(PATH)
    await ensure_async(case.remove())
    async with case.storage.lock(PATH):
        # It was gone before, or went just now.
        with pytest.raises((NotebookNotFound, StaleContent)):
            await case.storage.write(PATH, base, replace_title(b"# Mine"))
    with pytest.raises(NotebookNotFound):
        await case.storage.read(PATH)


async def test_a_notebook_is_created_at_a_free_path(case: StorageCase) -> None:
    async with case.storage.lock(PATH):
        await case.storage.ensure_absent(PATH)
        result = await case.storage.create(PATH, TEXT)
    await assert_stored(case, TEXT)
    read = await case.storage.read(PATH)
    assert result.hash == samples.compute_hash(read.text)
    assert (result.last_modified, result.warnings) == (read.last_modified, [])


async def test_create_does_not_overwrite_an_existing_notebook(case: StorageCase) -> None:
    await put(case, OTHER)
    async with case.storage.lock(PATH):
        with pytest.raises(NotebookExists):
            await case.storage.ensure_absent(PATH)
        with pytest.raises(NotebookExists):
            await case.storage.create(PATH, TEXT)
    assert await ensure_async(case.read()) == OTHER


async def test_one_of_many_concurrent_creates_succeeds(case: StorageCase) -> None:
    texts = [apply_splices(TEXT, replace_title(b"# %d" % n)) for n in range(20)]

    async def create(text: bytes) -> WriteResult:
        async with case.storage.lock(PATH):
            return await case.storage.create(PATH, text)

    results = await asyncio.gather(*map(create, texts), return_exceptions=True)
    (winner,) = [
        text for text, how in zip(texts, results, strict=True) if isinstance(how, WriteResult)
    ]
    await assert_stored(case, winner)
    assert sum(isinstance(how, NotebookExists) for how in results) == len(texts) - 1


async def test_no_concurrent_edit_of_a_notebook_is_lost(case: StorageCase) -> None:
    await put(case, TEXT)

    async def add(name: bytes) -> None:
        async with case.storage.lock(PATH):
            base = await case.storage.read(PATH)
            at = base.text.index(b'"# ') + 3
            await case.storage.write(PATH, base, [Splice(at, at, name)])

    await asyncio.gather(*[add(name.encode()) for name in "abcdef"])
    source = _cells((await case.storage.read(PATH)).text)[1]["source"]
    assert sorted(source) == sorted("# abcdefTitle")


async def test_a_notebook_is_locked_by_one_task_at_a_time_in_order(case: StorageCase) -> None:
    await put(case, TEXT)
    order: list[str] = []

    async def work(name: str) -> None:
        async with case.storage.lock(PATH):
            order.append(f"{name} in")
            await run_other_tasks()
            order.append(f"{name} out")

    await asyncio.gather(*[work(name) for name in "abc"])
    assert order == [f"{name} {step}" for name in "abc" for step in ("in", "out")]


async def test_a_failure_with_the_lock_held_releases_it(case: StorageCase) -> None:
    await put(case, TEXT)
    with pytest.raises(ZeroDivisionError):
        async with case.storage.lock(PATH):
            raise ZeroDivisionError
    async with case.storage.lock(PATH):
        assert (await case.storage.read(PATH)).text == TEXT


async def test_notify_saved_raises_nothing(case: StorageCase) -> None:
    await put(case, TEXT)
    result = await write(case.storage, replace_title(b"# New"))
    assert await case.storage.notify_saved(PATH, result) == []


# The managers of s3contents and jupyter-fs emit no events, neither for their own saves.
@keep_kinds(["file", "hook", "pair", "pair at once"])
async def test_a_write_emits_one_save_event_as_a_save_does(case: StorageCase) -> None:
    await put(case, TEXT)
    manager = vars(case.storage)["manager"]
    events: list[str] = []

    async def hear(logger: Any, schema_id: str, data: dict[str, str]) -> None:
        assert (logger, schema_id) == (manager.event_logger, manager.event_schema_id)
        if data["action"] == "save" and data["path"] == PATH:
            events.append(data["path"])

    manager.event_logger.add_listener(schema_id=manager.event_schema_id, listener=hear)
    for turn in range(1, 3):
        outcome = await write(
            case.storage, replace_title(b"# %d" % turn, await ensure_async(case.read()))
        )
        await case.storage.notify_saved(PATH, outcome)
        await asyncio.sleep(0)
        assert events == [PATH] * turn


@pytest.fixture
def editor(case: StorageCase, tmp_path: Path) -> Iterator[EditService]:
    notary = NotebookNotary(db_file=":memory:", data_dir=str(tmp_path))
    services = ServiceBuilder(tmp_path)
    yield services.build_editing(SingleStorage(case.storage), notary=notary).editor
    notary.store.close()


@pytest.fixture
def edits(editor: EditService) -> Callable[..., Awaitable[EditReply]]:
    def edit(**operation: Any) -> Awaitable[EditReply]:
        operations = msgspec.convert([operation], list[Operation])
        return editor.edit(WriteRequest(PATH), operations)

    return edit


async def test_an_edit_is_undone_and_redone(
    case: StorageCase, editor: EditService, edits: Callable[..., Awaitable[EditReply]]
) -> None:
    await put(case, TEXT)
    reply = await edits(op="replace", cell="alpha", source="x = 2")
    after = await ensure_async(case.read())
    assert _cells(after) != _cells(TEXT)
    back = await editor.undo(WriteRequest(PATH))
    assert (back.hash_before, back.warnings) == (reply.hash, [])
    await assert_stored(case, TEXT)
    await editor.undo(WriteRequest(PATH), redo=True)
    await assert_stored(case, after)


async def test_undo_restores_deleted_and_moved_cells_and_removes_inserted_ones(
    case: StorageCase, editor: EditService, edits: Callable[..., Awaitable[EditReply]]
) -> None:
    await put(case, TEXT)
    await edits(op="delete", cell="alpha")
    await edits(op="insert", cell_type="code", source="1", at="start")
    await edits(op="move", cell="beta", at="start")
    for _ in range(3):
        await editor.undo(WriteRequest(PATH))
    await assert_stored(case, TEXT)


async def test_undo_of_an_older_edit_reverts_only_its_cells(
    case: StorageCase, editor: EditService, edits: Callable[..., Awaitable[EditReply]]
) -> None:
    await put(case, TEXT)
    older = await edits(op="replace", cell="alpha", source="x = 2")
    await edits(op="replace", cell="beta", source="# Other")
    await editor.undo(WriteRequest(PATH), older.edit_id)
    alpha, beta = _cells(await ensure_async(case.read()))
    assert beta["source"] == "# Other"
    assert alpha == _cells(TEXT)[0]


async def test_a_cell_changed_since_is_not_undone(
    case: StorageCase, editor: EditService, edits: Callable[..., Awaitable[EditReply]]
) -> None:
    await put(case, TEXT)
    older = await edits(op="replace", cell="alpha", source="x = 2")
    await edits(op="replace", cell="alpha", source="x = 3")
    before = await ensure_async(case.read())
    with pytest.raises(UndoConflict):
        await editor.undo(WriteRequest(PATH), older.edit_id)
    assert await ensure_async(case.read()) == before
