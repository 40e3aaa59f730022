"""The contents manager's writes and edits wait for each other."""

import asyncio
import functools
import inspect
import json
import logging
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from jupyter_core.utils import run_sync
from jupyter_server.services.contents.filecheckpoints import AsyncGenericFileCheckpoints
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.contents.manager_kinds import has_stock_methods
from jupyter_nbedit.storage.contents.manager_locks import get_unlocked_save, install_locks
from jupyter_nbedit.storage.files.file_storage import FileStorage
from jupyter_nbedit.storage.locks import PathLocks
from tests.handlers.error_checks import no_changes
from tests.storage.conftest import NAME, run_other_tasks
from tests.support import samples

TEXT = samples.three_cells()


@pytest.fixture
def locks(tmp_path: Path) -> PathLocks:
    return PathLocks(tmp_path / "locks", logging.getLogger(__name__))


@pytest.fixture
def manager(tmp_path: Path, locks: PathLocks) -> AsyncLargeFileManager:
    root = tmp_path / "root"
    root.mkdir()
    for name in (NAME, "second.ipynb"):
        (root / name).write_bytes(TEXT)
    manager = AsyncLargeFileManager(root_dir=str(root), delete_to_trash=False)
    install_locks(manager, locks)
    return manager


def model(text: bytes) -> dict[str, Any]:
    return {"type": "notebook", "format": "json", "content": json.loads(text)}


async def checkpoint(manager: AsyncLargeFileManager) -> str:
    return str((await manager.create_checkpoint(NAME))["id"])


SAVED = samples.notebook(samples.raw("saved", "saved"))
#: What the manager may do to a notebook, and how to see that it has.
WRITES: dict[str, Callable[[AsyncLargeFileManager, str], Any]] = {
    "save": lambda manager, _: manager.save(model(SAVED), NAME),
    "save by a name with slashes": lambda manager, _: manager.save(model(SAVED), f"/{NAME}/"),
    "save as text": lambda manager, _: manager.save(
        {"type": "file", "format": "text", "content": "{}"}, path=NAME
    ),
    "save by keyword": lambda manager, _: manager.save(path=NAME, model=model(SAVED)),
    "rename away": lambda manager, _: manager.rename(NAME, "b.ipynb"),
    "rename here": lambda manager, _: manager.rename_file("second.ipynb", NAME),
    "delete": lambda manager, _: manager.delete(NAME),
    "revert": lambda manager, point: manager.restore_checkpoint(point, NAME),
}


@pytest.mark.parametrize("what", WRITES)
async def test_a_method_of_the_manager_waits_for_an_edit(
    manager: AsyncLargeFileManager, locks: PathLocks, what: str
) -> None:
    root = Path(manager.root_dir)
    point = await checkpoint(manager)
    task = None
    async with locks.lock(str(root / NAME)):
        with no_changes(root):
            task = asyncio.create_task(WRITES[what](manager, point))
            await run_other_tasks()
            assert not task.done()
    # Only now it sees that there may be a notebook in the way.
    with pytest.raises(HTTPError) if what == "rename here" else nullcontext():
        await task


async def test_full_reads_wait_for_saves(manager: AsyncLargeFileManager, locks: PathLocks) -> None:
    whole = [{}, {"content": True}, {"type": "notebook"}, {"content": 1, "require_hash": True}]
    async with locks.lock(str(Path(manager.root_dir, NAME))):
        reading = [
            asyncio.create_task(manager.get(NAME, **how))  # type: ignore[arg-type]
            for how in whole
        ]
        await run_other_tasks()
        assert not [task for task in reading if task.done()]
        # The holder may read it, and other reads do no harm.
        assert (await manager.get(NAME))["content"]
        looks = manager.get(NAME, content=False), manager.get(NAME, type="file"), manager.get("")
        await asyncio.gather(*map(asyncio.ensure_future, looks))
    for model in await asyncio.gather(*reading):
        assert len(model["content"]["cells"]) == 3
    assert "require_hash" in inspect.signature(manager.get).parameters


async def test_an_edit_waits_for_a_method_of_the_manager(
    manager: AsyncLargeFileManager, locks: PathLocks
) -> None:
    storage = FileStorage(manager, locks)
    order: list[str] = []
    manager.register_post_save_hook(lambda **_: order.append("saved"))
    large = samples.notebook(*[samples.raw("x" * 1000, f"id-{n}") for n in range(2000)])
    saving = asyncio.create_task(manager.save(model(large), NAME))
    # It begins, and has the lock before it does anything.
    await asyncio.sleep(0)
    async with storage.lock(NAME):
        order.append("held")
        content = await storage.read(NAME)
        result = await storage.write(
            NAME, content, [Splice(len(content.text), len(content.text), b" ")]
        )
    await saving
    assert order == ["saved", "held"]
    assert len(samples.load_cells(content.text)) == 2000
    now = Path(manager.root_dir, NAME).read_bytes()  # noqa: ASYNC240
    assert samples.compute_hash(now) == result.hash


async def test_other_files_are_saved_meanwhile(
    manager: AsyncLargeFileManager, locks: PathLocks
) -> None:
    async with locks.lock(os.path.join(manager.root_dir, NAME)):  # noqa: PTH118
        text = {"type": "file", "format": "text", "content": "x"}
        await manager.save(text, "b.txt")


async def test_no_rename_waits_for_itself(manager: AsyncLargeFileManager, tmp_path: Path) -> None:
    # Names share lock files, so among this many pairs some share one. Who waits for itself is
    # refused in the end.
    await manager.rename(NAME, "0.ipynb")
    for n in range(300):
        await manager.rename_file(f"{n}.ipynb", f"{n + 1}.ipynb")
    assert (tmp_path / "root" / "300.ipynb").read_bytes() == TEXT


async def test_a_save_cancelled_while_waiting_leaves_no_lock(
    manager: AsyncLargeFileManager, locks: PathLocks
) -> None:
    task = asyncio.create_task(WRITES["save"](manager, ""))
    async with locks.lock(os.path.join(manager.root_dir, NAME)):  # noqa: PTH118
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await WRITES["save"](manager, "")


@pytest.mark.usefixtures("fast_clock")
async def test_a_save_that_waits_too_long_fails_with_an_http_error(
    manager: AsyncLargeFileManager, tmp_path: Path
) -> None:
    other_server = PathLocks(tmp_path / "locks", logging.getLogger(__name__))
    async with other_server.lock(os.path.join(manager.root_dir, NAME)):  # noqa: PTH118
        with pytest.raises(HTTPError) as error:
            await WRITES["save"](manager, "")
    assert error.value.status_code == 503


async def test_the_manager_keeps_its_own_errors(manager: AsyncLargeFileManager) -> None:
    for path in ("../a.ipynb", "a\0.ipynb"):
        with pytest.raises(HTTPError) as error:
            await manager.save(model(SAVED), path)
        assert error.value.status_code in {400, 404}
    with pytest.raises(HTTPError) as error:
        await manager.rename_file("second.ipynb", NAME)
    assert error.value.status_code == 409


async def test_a_method_that_calls_another_does_not_wait_for_itself(
    locks: PathLocks, tmp_path: Path
) -> None:
    # These checkpoints restore by saving.
    manager = AsyncLargeFileManager(
        root_dir=str(tmp_path), checkpoints_class=AsyncGenericFileCheckpoints
    )
    (tmp_path / NAME).write_bytes(TEXT)
    install_locks(manager, locks)
    point = await checkpoint(manager)
    await manager.save(model(SAVED), NAME)
    await manager.restore_checkpoint(point, NAME)
    assert [cell["id"] for cell in samples.load_cells((tmp_path / NAME).read_bytes())] == [
        cell["id"] for cell in samples.load_cells(TEXT)
    ]


class VerifyingManager(AsyncLargeFileManager):
    """Reads each save back, in a task of its own, and may do so once more later."""

    later: asyncio.Task[Any] | None = None

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.is_saved = asyncio.Event()

    async def save(self, model: dict[str, Any], path: str = "") -> Any:
        saved = await super().save(model, path)  # type: ignore[no-untyped-call]
        await asyncio.create_task(self.get(path))  # type: ignore[no-untyped-call]
        self.later = asyncio.create_task(self._read_later(path))
        return saved

    async def _read_later(self, path: str) -> Any:
        await self.is_saved.wait()
        return await self.get(path)  # type: ignore[no-untyped-call]


async def test_a_save_in_several_tasks_does_not_wait_for_itself(
    locks: PathLocks, tmp_path: Path
) -> None:
    (tmp_path / NAME).write_bytes(TEXT)
    manager = VerifyingManager(root_dir=str(tmp_path))
    install_locks(manager, locks)
    await manager.save(model(SAVED), NAME)
    # What goes on after the save waits like everybody else.
    assert manager.later is not None
    async with locks.lock(str(tmp_path / NAME)):
        manager.is_saved.set()
        await run_other_tasks()
        assert not manager.later.done()
    await manager.later


def test_a_locked_method_is_still_a_coroutine_function(manager: AsyncLargeFileManager) -> None:
    assert inspect.iscoroutinefunction(manager.save)
    assert run_sync(manager.get)(NAME)["name"] == NAME


def test_a_wrapper_of_a_locked_method_is_not_mistaken_for_the_lock(
    manager: AsyncLargeFileManager, locks: PathLocks
) -> None:
    inner = manager.save

    @functools.wraps(inner)
    async def save(*args: Any, **kwargs: Any) -> Any:
        return await inner(*args, **kwargs)  # type: ignore[no-untyped-call]

    assert has_stock_methods(manager, "save")
    manager.save = save  # type: ignore[method-assign] # as extensions do
    assert not has_stock_methods(manager, "save")
    assert get_unlocked_save(manager, locks) is save
