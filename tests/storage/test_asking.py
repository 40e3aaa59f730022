"""What a walk brings where only the contents manager can be asked: the same as on disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import (
    AsyncLargeFileManager,
    LargeFileManager,
)

from jupyter_nbedit.errors import Busy, FolderNotFound, NotebookNotFound
from jupyter_nbedit.storage import Entry, Found, PassedOver, Walk, asking, listing
from jupyter_nbedit.storage.choice import ServerStorages
from jupyter_nbedit.storage.locks import PathLocks
from tests.storage.conftest import TEXT, Place
from tests.storage.test_listing import TREE, make

#: Only ends a test that hangs.
HANGING_SECONDS = 60

# What managers that are not asynchronous are told at every turn.
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


@pytest.fixture(params=[AsyncLargeFileManager, LargeFileManager])
def tree(request: pytest.FixtureRequest, place: Place) -> Place:
    make(place.root, *TREE, "b/notes.txt", "c.py")
    manager = request.param(root_dir=str(place.root))
    return Place(place.root, manager, place.locks, place.storage)


async def walked(place: Place, path: str = "", start: str = "", *, recursive: bool = True) -> Any:
    """Walk as the search does: the loop prepares it, and another thread goes."""
    walk = await asking.walk(place.manager, place.locks, path, recursive=recursive)
    return await asyncio.to_thread(_gone, walk, start)


def _gone(walk: Walk, start: str) -> list[tuple[Any, ...]]:
    return list(map(_told, walk(start)))


def _told(entry: Entry) -> tuple[Any, ...]:
    if isinstance(entry, Found):
        return entry.path, entry.read()
    return (entry.path, entry.reason) if isinstance(entry, PassedOver) else (entry.path,)


async def on_disk(place: Place, path: str = "", start: str = "", *, recursive: bool = True) -> Any:
    manager = AsyncLargeFileManager(root_dir=str(place.root))
    manager.allow_hidden = place.manager.allow_hidden
    manager.hide_globs = place.manager.hide_globs
    return _gone(await listing.walk(manager, path, recursive=recursive), start)


async def test_a_walk_brings_what_one_on_disk_brings(tree: Place) -> None:
    for path in ("", "b", "/b/c/", "b/c/d.ipynb", "b.ipynb", "a.ipynb"):
        for recursive in (True, False):
            found = await walked(tree, path, recursive=recursive)
            assert found == await on_disk(tree, path, recursive=recursive)
    assert ("b/a.ipynb", TEXT) in await walked(tree)


async def test_a_walk_begins_wherever_it_is_told_to(tree: Place) -> None:
    for start in {*TREE, "b", "b/c", "b/c/d", "a", "b.ipynb", "c", "z", "b/z", "a.ipynb/x", "d/e"}:
        assert await walked(tree, start=start) == await on_disk(tree, start=start)


def _show_all(manager: Any) -> None:
    manager.allow_hidden = True


def _hide_more(manager: Any) -> None:
    manager.hide_globs = ["b*"]


@pytest.mark.parametrize("change", [lambda _: None, _show_all, _hide_more])
async def test_hidden_things_are_not_looked_into(
    tree: Place, change: Callable[[Any], None]
) -> None:
    make(tree.root, ".a.ipynb", ".b/a.ipynb", "b/.ipynb_checkpoints/a.ipynb", "__pycache__/a.ipynb")
    change(tree.manager)
    # What the manager does not list is not even known to be hidden.
    known = [entry for entry in await on_disk(tree) if "hidden" not in entry]
    assert [entry for entry in await walked(tree) if "hidden" not in entry] == known


@pytest.mark.parametrize(
    "path",
    [
        *("nobody", ".b", ".b/c", "b/.c", "..", "../root", "b/..", ".", "b/./c", "b//c"),
        *("c.py", "c.py/x", "a.ipynb/x", "nobody.ipynb", "../outside.ipynb", "\0", "x" * 5000),
    ],
)
async def test_what_may_not_be_seen_is_not_there(tree: Place, path: str) -> None:
    make(tree.root, ".b/c/a.ipynb", "b/.c/a.ipynb")
    make(tree.root.parent, "outside.ipynb")
    with pytest.raises(FolderNotFound):
        await walked(tree, path)


async def test_a_notebook_that_has_gone_since_it_was_listed_is_not_found(tree: Place) -> None:
    walk = await asking.walk(tree.manager, tree.locks, "", recursive=True)
    first = await asyncio.to_thread(lambda: next(iter(walk(""))))
    assert isinstance(first, Found)
    (tree.root / first.path).unlink()
    with pytest.raises(NotebookNotFound):
        await asyncio.to_thread(first.read)


class Failing(AsyncLargeFileManager):
    """A manager that cannot list one of its folders."""

    async def get(self, path: str, *args: Any, **kwargs: Any) -> Any:
        if path == "b":
            message = f"in {self.root_dir}"
            raise RuntimeError(message)
        return await super().get(path, *args, **kwargs)  # type: ignore[no-untyped-call]


async def test_a_folder_that_cannot_be_listed_is_told_of(place: Place, tmp_path: Path) -> None:
    make(place.root, *TREE)
    manager = Failing(root_dir=str(place.root))
    locks: PathLocks = place.locks
    walk = await asking.walk(manager, locks, "", recursive=True)
    entries = await asyncio.to_thread(lambda: list(walk("")))
    (passed,) = [entry for entry in entries if isinstance(entry, PassedOver)]
    assert (passed.path, passed.reason) == ("b", "io_error")
    assert str(tmp_path) not in passed.message
    assert "d/e/f/g.ipynb" in [entry.path for entry in entries]


class Slow(AsyncLargeFileManager):
    """A manager that never comes to an end with some of its paths."""

    def __init__(self, *, stuck: str, **traits: Any) -> None:
        super().__init__(**traits)
        self.stuck = stuck
        self.cancelled: list[str] = []

    async def _wait(self, question: str) -> None:
        if question == self.stuck:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.append(question)
                raise

    async def get(self, path: str, *args: Any, **kwargs: Any) -> Any:
        await self._wait(f"get {path}")
        return await super().get(path, *args, **kwargs)  # type: ignore[no-untyped-call]

    async def is_hidden(self, path: str) -> bool:
        await self._wait(f"is_hidden {path}")
        return bool(await super().is_hidden(path))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("stuck", "path"),
    [("get b", "b"), ("is_hidden b", "b"), ("is_hidden b/a.ipynb", "b/a.ipynb")],
)
async def test_what_the_manager_does_not_answer_in_time_is_passed_over_and_cancelled(
    place: Place, stuck: str, path: str
) -> None:
    make(place.root, *TREE)
    manager = Slow(stuck=stuck, root_dir=str(place.root))
    walk = await asking.walk(manager, place.locks, "", recursive=True, patience=0.2)
    entries = await asyncio.to_thread(lambda: list(walk("")))
    passed = [(entry.path, entry.reason) for entry in entries if isinstance(entry, PassedOver)]
    assert passed == [(path, "busy")]
    assert manager.cancelled == [stuck]
    assert "d/e/f/g.ipynb" in [entry.path for entry in entries]


async def test_a_notebook_that_the_manager_does_not_give_in_time_is_busy(place: Place) -> None:
    make(place.root, "a.ipynb")
    manager = Slow(stuck="get a.ipynb", root_dir=str(place.root))
    walk = await asking.walk(manager, place.locks, "", recursive=True, patience=0.2)
    (found,) = await asyncio.to_thread(lambda: list(walk("")))
    assert isinstance(found, Found)
    with pytest.raises(Busy, match="has not answered"):
        await asyncio.to_thread(found.read)
    assert manager.cancelled == ["get a.ipynb"]


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_walk_ends_though_the_loop_that_it_asks_has_stopped(
    place: Place, *, is_closed: bool
) -> None:
    make(place.root, "a.ipynb")
    loop = asyncio.new_event_loop()
    walk = loop.run_until_complete(asking.walk(place.manager, place.locks, "", recursive=True))
    if is_closed:
        loop.close()
    # Nobody runs the loop: what is scheduled on it is never begun.
    entries: list[Entry] = []
    thread = threading.Thread(target=lambda: entries.extend(walk("")), daemon=True)
    thread.start()
    thread.join(HANGING_SECONDS)
    assert [_told(entry) for entry in entries] == [("", "busy")]
    loop.close()


async def test_links_are_told_of_and_not_followed(tree: Place) -> None:
    make(tree.root.parent, "outside/secret.ipynb")
    (tree.root / "away").symlink_to(tree.root.parent / "outside")
    (tree.root / "b" / "circle").symlink_to(tree.root)
    (tree.root / "one.ipynb").symlink_to(tree.root.parent / "outside" / "secret.ipynb")
    found = await walked(tree)
    assert found == await on_disk(tree)
    links = [path for path, *how in found if how == ["link"]]
    assert links == ["away", "b/circle", "one.ipynb"]
    assert await walked(tree, "away") == [("away/secret.ipynb", TEXT)]


class Elsewhere(AsyncLargeFileManager):
    """A manager that says itself where its files are, so that it has no root of its own."""

    def _get_os_path(self, path: str) -> str:
        return super()._get_os_path(path)  # type: ignore[no-untyped-call, no-any-return]


@pytest.mark.parametrize("path", ["", "/"])
async def test_the_root_is_searched_where_links_may_not_leave_it(place: Place, path: str) -> None:
    make(place.root, "b/a.ipynb")
    settings = {"contents_manager": Elsewhere(root_dir=str(place.root))}
    storages = ServerStorages(settings, place.locks, links_outside_root=False)
    walk = await storages.walk(path, recursive=True)
    assert await asyncio.to_thread(_gone, walk, "") == [("b",), ("b/a.ipynb", TEXT)]
