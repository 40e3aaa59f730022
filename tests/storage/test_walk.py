"""A walk through a folder finds exactly what the Contents API shows.

The same on disk, and where only the contents manager can be asked.
"""

import asyncio
import os
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import (
    AsyncLargeFileManager,
    LargeFileManager,
)

from jupyter_nbedit.errors import Busy, FolderNotFound, Forbidden, NotAPlainFile, NotebookNotFound
from jupyter_nbedit.storage.base import NotebookFile, SkippedNotebook, Walker, WalkItem
from tests.storage.conftest import TEXT, Root, build_root
from tests.support.clock import Clock
from tests.support.sampling import is_nightly

TREE = ("a.ipynb", "b/a.ipynb", "b/c/d.ipynb", "b-c.ipynb", "b.ipynb/x.ipynb", "d/e/f/g.ipynb")
ALL = sorted(TREE, key=lambda path: path.split("/"))

# The warning of synchronous managers at every call.
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


class CustomManager(AsyncLargeFileManager):
    """A manager with a look of its own, so that it must be asked for everything."""

    async def get(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return await super().get(path, *args, **kwargs)  # type: ignore[no-untyped-call]


@pytest.fixture
def on_disk(tmp_path: Path) -> Root:
    return fill(build_root(tmp_path))


@pytest.fixture(
    params=[AsyncLargeFileManager, *([CustomManager] if is_nightly() else []), LargeFileManager]
)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    return fill(build_root(tmp_path, request.param))


def fill(place: Root) -> Root:
    make(place.root, *TREE, "b/notes.txt", "c.py")
    return place


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(TEXT)


async def list_items(
    place: Root, path: str = "", start: str = "", *, recursive: bool = True
) -> list[Any]:
    """Walk as the search does: the loop prepares it, and another thread goes."""
    walk = await place.storages.walk(path, recursive=recursive)
    return await walk_items(walk, start)


async def walk_items(walk: Walker, start: str = "") -> list[WalkItem]:
    return await asyncio.to_thread(lambda: list(walk(start)))


async def list_notebooks(
    place: Root, path: str = "", start: str = "", *, recursive: bool = True
) -> Any:
    everything = await list_items(place, path, start, recursive=recursive)
    return [entry.path for entry in everything if isinstance(entry, NotebookFile)]


async def list_skipped(place: Root, path: str = "") -> list[tuple[str, str]]:
    everything = await list_items(place, path)
    return [
        (entry.path, entry.reason) for entry in everything if isinstance(entry, SkippedNotebook)
    ]


async def test_notebooks_come_in_the_order_of_their_path_components(tree: Root) -> None:
    assert await list_notebooks(tree) == ALL
    assert await list_notebooks(tree, "b") == ["b/a.ipynb", "b/c/d.ipynb"]
    assert await list_notebooks(tree, "/b/c/") == ["b/c/d.ipynb"]
    assert await list_notebooks(tree, recursive=False) == ["a.ipynb", "b-c.ipynb"]
    assert await list_notebooks(tree, "b", recursive=False) == ["b/a.ipynb"]
    assert await list_notebooks(tree, "b/c/d.ipynb") == ["b/c/d.ipynb"]
    assert await list_notebooks(tree, "b.ipynb") == ["b.ipynb/x.ipynb"]
    read = [entry.read for entry in await list_items(tree, "b") if isinstance(entry, NotebookFile)]
    assert [await asyncio.to_thread(one) for one in read] == [TEXT] * 2


async def test_a_walk_starts_at_the_given_path(tree: Root) -> None:
    starts = {*TREE, "b", "b/c", "b/c/d", "a", "b.ipynb", "c", "z", "b/z", "a.ipynb/x", "d/e/f"}
    for start in starts:
        after = [path for path in ALL if path.split("/") >= start.split("/")]
        assert await list_notebooks(tree, start=start) == after


async def test_folders_above_the_start_are_not_reported_again(tree: Root) -> None:
    async def list_entered(start: str) -> list[str]:
        items = await list_items(tree, start=start)
        return [one.path for one in items if not isinstance(one, (NotebookFile, SkippedNotebook))]

    assert await list_entered("") == ["b", "b/c", "b.ipynb", "d", "d/e", "d/e/f"]
    assert await list_entered("b/c") == ["b.ipynb", "d", "d/e", "d/e/f"]
    assert await list_entered("d/e/f/g.ipynb") == []


HIDDEN = [".a.ipynb", ".b/a.ipynb", "b/.ipynb_checkpoints/a.ipynb", "__pycache__/a.ipynb"]


async def test_hidden_folders_are_not_entered_and_have_one_reason(tree: Root) -> None:
    make(tree.root, *HIDDEN)
    assert await list_notebooks(tree) == ALL
    # What the manager does not list is not even known to be hidden.
    assert {reason for _, reason in await list_skipped(tree)} <= {"hidden"}


async def test_on_disk_all_hidden_paths_are_reported(on_disk: Root) -> None:
    make(on_disk.root, *HIDDEN)
    assert [reason for _, reason in await list_skipped(on_disk)] == ["hidden"] * len(HIDDEN)


async def test_hidden_paths_that_the_server_allows_are_found_except_checkpoints(tree: Root) -> None:
    make(tree.root, *HIDDEN)
    tree.manager.allow_hidden = True
    assert set(await list_notebooks(tree)) == {*TREE, ".a.ipynb", ".b/a.ipynb"}
    assert await list_notebooks(tree, ".b") == [".b/a.ipynb"]
    tree.manager.hide_globs = ["b*"]
    assert set(await list_notebooks(tree)) == {".a.ipynb", ".b/a.ipynb", "__pycache__/a.ipynb"} | {
        "a.ipynb",
        "d/e/f/g.ipynb",
    }


@pytest.mark.parametrize(
    "path",
    [
        *("nobody", ".b", ".b/c", "b/.c", "..", "../root", "b/..", ".", "b/./c", "b//c"),
        *("c.py", "c.py/x", "a.ipynb/x", "nobody.ipynb", "../outside.ipynb", "C:/x", "~"),
        *("b\\c", "\0", "\ud800", "b/\ud800.ipynb", "x" * 5000),
    ],
)
async def test_invisible_paths_are_not_found(tree: Root, path: str) -> None:
    make(tree.root, ".b/c/a.ipynb", "b/.c/a.ipynb")
    make(tree.root.parent, "outside.ipynb")
    with pytest.raises(FolderNotFound) as error:
        await list_items(tree, path)
    assert error.value.reason == NotebookNotFound.reason
    assert not error.value.details


async def test_links_are_skipped(tree: Root) -> None:
    outside = tree.root.parent / "outside"
    make(outside, "secret.ipynb")
    links = {
        "b/up": tree.root,
        "b/out": outside,
        "b/self": Path("self"),
        "b/same.ipynb": tree.root / "a.ipynb",
        "b/secret.ipynb": outside / "secret.ipynb",
        "b/broken.ipynb": tree.root / "nobody.ipynb",
        "b/circle.ipynb": Path("circle.ipynb"),
        "b/text": tree.root / "c.py",
    }
    for name, target in links.items():
        (tree.root / name).symlink_to(target)
    assert await list_notebooks(tree) == ALL
    items = ("broken.ipynb", "out", "same.ipynb", "secret.ipynb", "up")
    assert await list_skipped(tree) == [(f"b/{name}", "link") for name in items]


async def test_a_link_that_is_named_is_followed_like_in_the_contents_api(tree: Root) -> None:
    outside = tree.root.parent / "outside"
    make(outside, "given.ipynb")
    (tree.root / "link").symlink_to(outside)
    (tree.root / "link.ipynb").symlink_to(outside / "given.ipynb")
    assert await list_notebooks(tree, "link") == ["link/given.ipynb"]
    (only,) = await list_items(tree, "link.ipynb")
    assert (only.path, await asyncio.to_thread(only.read)) == ("link.ipynb", TEXT)


async def test_a_path_that_is_no_regular_file_is_refused_on_read(on_disk: Root) -> None:
    os.mkfifo(on_disk.root / "pipe.ipynb")
    (entry,) = [one for one in await list_items(on_disk) if one.path == "pipe.ipynb"]
    with pytest.raises(NotAPlainFile):
        entry.read()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_file_without_read_permission_is_refused_on_read(on_disk: Root) -> None:
    (on_disk.root / "a.ipynb").chmod(0)
    (entry,) = [one for one in await list_items(on_disk) if one.path == "a.ipynb"]
    with pytest.raises(Forbidden):
        entry.read()


async def test_a_name_that_is_not_utf8_is_skipped(on_disk: Root) -> None:
    os.close(os.open(os.fsencode(on_disk.root) + b"/b/\xff.ipynb", os.O_CREAT))
    assert await list_skipped(on_disk) == [("b/?.ipynb", "invalid_request")]


async def test_a_notebook_deleted_after_it_was_listed_is_not_found(tree: Root) -> None:
    (first, *_) = [entry for entry in await list_items(tree) if isinstance(entry, NotebookFile)]
    (tree.root / first.path).unlink()
    with pytest.raises(NotebookNotFound):
        await asyncio.to_thread(first.read)


async def test_folders_may_nest_deep(place: Root) -> None:
    # Not deeper, or pytest could not remove them.
    deep = "/".join(["f"] * 300)
    make(place.root, f"{deep}/a.ipynb")
    assert await list_notebooks(place) == [f"{deep}/a.ipynb"]
    assert await list_notebooks(place, start=deep) == [f"{deep}/a.ipynb"]


# Where only the manager can be asked -------------------------------------------------------------


class FailingGetManager(AsyncLargeFileManager):
    """A manager that cannot list one of its folders."""

    error: type[Exception]

    async def get(self, path: str, *args: Any, **kwargs: Any) -> Any:
        if path == "b":
            message = f"in {self.root_dir}"
            raise self.error(message)
        return await super().get(path, *args, **kwargs)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("error", [RuntimeError, TimeoutError])
async def test_a_folder_that_cannot_be_listed_is_reported(
    tmp_path: Path, error: type[Exception]
) -> None:
    place = fill(build_root(tmp_path, type("", (FailingGetManager,), {"error": error})))
    everything = await list_items(place)
    (passed,) = [entry for entry in everything if isinstance(entry, SkippedNotebook)]
    assert (passed.path, passed.reason) == ("b", "io_error")
    assert str(tmp_path) not in passed.message
    assert "d/e/f/g.ipynb" in [entry.path for entry in everything]


class SlowManager(AsyncLargeFileManager):
    """A manager that never comes to an end with one question."""

    def __init__(self, *, stuck: str, clock: Clock, **traits: Any) -> None:
        super().__init__(**traits)
        self.stuck = stuck
        self.clock = clock
        self.cancelled: list[str] = []

    async def _wait(self, question: str) -> None:
        if question == self.stuck:
            try:
                # The request begins to wait meanwhile; if not, the test only takes longer.
                await asyncio.sleep(0.05)
                self.clock.advance(3600)
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
async def test_a_slow_answer_of_the_manager_is_skipped_and_cancelled(
    tmp_path: Path, clock: Clock, stuck: str, path: str
) -> None:
    place = fill(build_root(tmp_path, partial(SlowManager, stuck=stuck, clock=clock)))
    everything = await list_items(place)
    passed = [
        (entry.path, entry.reason) for entry in everything if isinstance(entry, SkippedNotebook)
    ]
    assert passed == [(path, "busy")]
    assert vars(place.manager)["cancelled"] == [stuck]
    assert "d/e/f/g.ipynb" in [entry.path for entry in everything]


async def test_a_notebook_that_the_manager_returns_too_late_is_busy(
    tmp_path: Path, clock: Clock
) -> None:
    place = build_root(tmp_path, partial(SlowManager, stuck="get a.ipynb", clock=clock))
    make(place.root, "a.ipynb")
    (only,) = await list_items(place)
    assert isinstance(only, NotebookFile)
    with pytest.raises(Busy):
        await asyncio.to_thread(only.read)
    assert vars(place.manager)["cancelled"] == ["get a.ipynb"]


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_walk_ends_if_the_event_loop_has_stopped(tmp_path: Path, *, is_closed: bool) -> None:
    place = build_root(tmp_path, CustomManager)
    make(place.root, "a.ipynb")
    loop = asyncio.new_event_loop()
    walk = loop.run_until_complete(place.storages.walk("", recursive=True))
    if is_closed:
        loop.close()
    # The loop does not run: scheduled work never begins.
    passed: list[Any] = []
    thread = threading.Thread(target=lambda: passed.extend(walk("")), daemon=True)
    thread.start()
    thread.join()
    assert [(entry.path, entry.reason) for entry in passed] == [("", "busy")]
    loop.close()


class StoppingManager(AsyncLargeFileManager):
    """A manager on a loop that ends."""

    async def get(self, *_: Any, **__: Any) -> Any:
        raise asyncio.CancelledError


async def test_a_request_cancelled_by_a_stopping_loop_is_busy(tmp_path: Path) -> None:
    (passed,) = await list_items(build_root(tmp_path, StoppingManager))
    assert isinstance(passed, SkippedNotebook)
    assert (passed.path, passed.reason) == ("", "busy")


class ManagerOutsideRoot(AsyncLargeFileManager):
    """A manager that maps paths itself, so that it has no root of its own."""

    def _get_os_path(self, path: str) -> str:
        return super()._get_os_path(path)  # type: ignore[no-untyped-call, no-any-return]


@pytest.mark.parametrize("path", ["", "/"])
async def test_the_root_is_searched_if_links_may_not_leave_it(tmp_path: Path, path: str) -> None:
    place = build_root(tmp_path, ManagerOutsideRoot, links_outside_root=False)
    make(place.root, "b/a.ipynb")
    assert await list_notebooks(place, path) == ["b/a.ipynb"]
