"""One writer at a time: in a process, among servers, and between saves and edits."""

import asyncio
import errno
import fcntl
import logging
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from jupyter_nbedit.errors import Busy
from jupyter_nbedit.storage.locks import PathLocks
from tests.storage.conftest import NAME, OtherProcesses, Root, list_names, run_other_tasks

LOG = logging.getLogger(__name__)


@pytest.fixture
def locks(tmp_path: Path) -> PathLocks:
    return PathLocks(tmp_path / "locks", LOG)


@pytest.fixture
def other_server(tmp_path: Path) -> PathLocks:
    """Build the locks of another server, which exclude those of the first one."""
    return PathLocks(tmp_path / "locks", LOG)


async def assert_alone(locks: PathLocks, *paths: str) -> None:
    """Hold paths in tasks of their own, and check that there is one of them at a time."""
    inside: list[str] = []

    async def work(path: str) -> None:
        async with locks.lock(path):
            inside.append(path)
            await run_other_tasks()
            assert inside == [path]
            inside.remove(path)

    await asyncio.gather(*map(work, paths))


async def test_a_path_is_locked_by_one_holder_under_all_its_names(
    locks: PathLocks, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    # In some folders the last two are the same file as well.
    names = ("\u00e9", "./\u00e9", "link/\u00e9", "link/link/\u00e9", "\u00c9", "e\u0301")
    await assert_alone(locks, *[str(tmp_path / name) for name in names])


async def test_a_lock_is_reentrant_and_others_still_wait(locks: PathLocks, tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    async with locks.lock(path, names=["a"]):
        async with locks.lock(path), locks.lock(names=["a"]):
            pass
        other = asyncio.create_task(_hold(locks, path))
        named = asyncio.create_task(_hold(locks, names=["a"]))
        await run_other_tasks()
        assert not other.done()
        assert not named.done()
    await asyncio.gather(other, named)


async def _hold(locks: PathLocks, *paths: str, names: Sequence[str] = ()) -> None:
    async with locks.lock(*paths, names=names):
        pass


async def test_different_paths_are_locked_independently(locks: PathLocks, tmp_path: Path) -> None:
    async with locks.lock(str(tmp_path / "a")), locks.lock(str(tmp_path / "b")):
        pass


async def test_paths_that_share_a_lock_file_are_locked_together(
    locks: PathLocks, tmp_path: Path
) -> None:
    # There are fewer lock files than this, so some must share one; who waits for itself is refused
    # in the end.
    paths = [str(tmp_path / f"{n}.ipynb") for n in range(300)]
    async with locks.lock(*paths):
        pass


async def test_paths_that_share_a_lock_file_can_be_locked_in_turn_in_one_process(
    locks: PathLocks,
) -> None:
    # A task that waits for itself is refused in the end.
    async with AsyncExitStack() as held:
        for n in range(300):
            await held.enter_async_context(locks.lock(names=[str(n)]))
        # Another task, too, that the first may wait for.
        await asyncio.gather(*[_hold(locks, names=[f"other {n}"]) for n in range(300)])


async def test_locks_of_the_same_paths_in_different_orders_do_not_deadlock(
    locks: PathLocks, tmp_path: Path
) -> None:
    one, other = str(tmp_path / "a"), str(tmp_path / "b")

    async def work(*paths: str) -> None:
        for _ in range(20):
            async with locks.lock(*paths):
                await asyncio.sleep(0)

    await asyncio.gather(work(one, other), work(other, one))


async def test_a_task_cancelled_while_waiting_or_holding_leaves_no_lock(
    locks: PathLocks, tmp_path: Path
) -> None:
    path = str(tmp_path / "a")

    async def work() -> None:
        async with locks.lock(path):
            await asyncio.Event().wait()

    holding, waiting = asyncio.create_task(work()), asyncio.create_task(work())
    await run_other_tasks()
    for task in (waiting, holding):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with locks.lock(path):
        pass


async def test_lock_files_are_private_few_and_not_next_to_the_notebooks(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "locks"
    locks = PathLocks(folder, LOG)
    for n in range(300):
        async with locks.lock(str(tmp_path / f"{n}.ipynb")):
            pass
    files = list(folder.iterdir())
    assert 0 < len(files) <= 256
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list_names(tmp_path) == ["deep"]


@pytest.mark.parametrize("obstacle", ["a file", "nothing to make it in"])
async def test_without_lock_files_the_server_continues_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, obstacle: str
) -> None:
    folder = tmp_path / "locks"
    folder.write_text("in the way")
    locks = PathLocks(folder if obstacle == "a file" else folder / "locks", LOG)
    # Within the process it is as safe as ever.
    await assert_alone(locks, *[str(tmp_path / "a")] * 3)
    assert "No lock among servers" in caplog.text


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
async def test_without_locks_of_the_file_system_the_server_continues_with_a_warning(
    locks: PathLocks,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
) -> None:
    def flock(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    await assert_alone(locks, *[str(tmp_path / "a")] * 3)
    assert "No lock among servers" in caplog.text


def test_three_processes_that_count_in_one_notebook_lose_no_update(
    processes: OtherProcesses, place: Root, tmp_path: Path
) -> None:
    (place.root / NAME).write_bytes(b"0")
    arguments = {"root": str(place.root), "locks": str(tmp_path / "locks"), "times": 30}
    counting = [processes.start("count", **arguments) for _ in range(3)]
    # With the lock, none ever finds that another wrote meanwhile.
    assert [processes.wait_for(number) for number in counting] == [0, 0, 0]
    assert (place.root / NAME).read_bytes() == b"90"


async def test_a_lock_of_another_server_is_waited_for(
    locks: PathLocks, other_server: PathLocks, tmp_path: Path
) -> None:
    path = str(tmp_path / "a")
    async with other_server.lock(path):
        waiting = asyncio.create_task(_hold(locks, path))
        await run_other_tasks()
        assert not waiting.done()
    await waiting


@pytest.mark.usefixtures("fast_clock")
async def test_the_wait_for_a_lock_of_another_server_ends(
    locks: PathLocks, other_server: PathLocks, tmp_path: Path
) -> None:
    path = str(tmp_path / "a")
    async with other_server.lock(path):
        with pytest.raises(Busy):
            await _hold(locks, path)
    await _hold(locks, path)
