"""The storage kind of each contents manager, and changes of it at run time."""

import asyncio
import contextlib
import functools
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.filemanager import (
    AsyncFileContentsManager,
    FileContentsManager,
)
from jupyter_server.services.contents.largefilemanager import (
    AsyncLargeFileManager,
    LargeFileManager,
)
from tornado.web import HTTPError

from jupyter_nbedit.errors import Forbidden, NotAPlainFile
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.contents.manager_locks import install_locks
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from tests.handlers.error_checks import get_error, no_changes
from tests.storage.conftest import NAME, build_root, run_other_tasks
from tests.storage.managers import DECISIVE, InformativeManager, anything
from tests.support import samples
from tests.support.http import Answer, Local
from tests.support.sampling import is_nightly

TEXT = samples.three_cells()
REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}


@pytest.fixture
def locks(tmp_path: Path) -> PathLocks:
    return PathLocks(tmp_path / "locks", logging.getLogger(__name__))


def get_kind(manager: Any, locks: PathLocks) -> str:
    """Name the way in which a server with a manager keeps a notebook, as replies do."""
    return asyncio.run(StorageResolver({"contents_manager": manager}, locks).resolve(NAME)).kind


@pytest.mark.parametrize("kind", [AsyncFileContentsManager, AsyncLargeFileManager])
def test_the_stock_managers_use_file_storage(
    tmp_path: Path, locks: PathLocks, kind: type[AsyncFileContentsManager]
) -> None:
    manager = kind(root_dir=str(tmp_path))
    for _ in range(3):
        assert get_kind(manager, locks) == "file"
        install_locks(manager, locks)


def test_a_manager_with_irrelevant_overrides_uses_file_storage(
    tmp_path: Path, locks: PathLocks
) -> None:
    assert get_kind(InformativeManager(root_dir=str(tmp_path)), locks) == "file"


@pytest.mark.parametrize("name", DECISIVE)
def test_a_manager_that_overrides_a_decisive_method_uses_contents_storage(
    tmp_path: Path, locks: PathLocks, name: str
) -> None:
    stock = getattr(AsyncLargeFileManager, name)
    for method in (anything, functools.wraps(stock)(anything), property(anything), print, None):
        kind = type("Own", (AsyncLargeFileManager,), {name: method})
        heir = type("Heir", (kind,), {})
        for manager in (kind(root_dir=str(tmp_path)), heir(root_dir=str(tmp_path))):
            assert get_kind(manager, locks) == "contents"


@pytest.mark.parametrize("name", DECISIVE)
def test_a_manager_with_a_patched_decisive_method_uses_contents_storage(
    tmp_path: Path, locks: PathLocks, name: str
) -> None:
    for shadow in (
        anything,
        functools.wraps(getattr(AsyncLargeFileManager, name))(anything),
        functools.partial(anything),
    ):
        manager = AsyncLargeFileManager(root_dir=str(tmp_path))
        install_locks(manager, locks)
        setattr(manager, name, shadow)
        assert get_kind(manager, locks) == "contents"


@pytest.mark.parametrize("kind", [FileContentsManager, LargeFileManager])
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
def test_a_synchronous_manager_uses_contents_storage(
    tmp_path: Path, locks: PathLocks, kind: type[FileContentsManager]
) -> None:
    assert get_kind(kind(root_dir=str(tmp_path)), locks) == "contents"


def test_an_object_that_is_no_contents_manager_is_refused(locks: PathLocks) -> None:
    for manager in (object(), None):
        with pytest.raises(NotAPlainFile):
            get_kind(manager, locks)


@pytest.mark.parametrize("kind", [AsyncLargeFileManager, LargeFileManager, InformativeManager])
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
def test_a_pre_save_hook_is_not_bypassed(
    tmp_path: Path, locks: PathLocks, kind: type[FileContentsManager]
) -> None:
    by_trait = kind(root_dir=str(tmp_path))
    by_trait.pre_save_hook = anything
    registered = kind(root_dir=str(tmp_path))
    registered.register_pre_save_hook(anything)
    for manager in (by_trait, registered):
        assert get_kind(manager, locks) == "notebook"


# In a server -------------------------------------------------------------------------------------


class LenientManager(AsyncLargeFileManager):
    """Keeps notebooks in its own way, as Jupytext and others do."""

    async def save(self, model: Any, path: str = "") -> Any:
        return await super().save(model, path)  # type: ignore[no-untyped-call]


def change_text(text: bytes) -> bytes:
    return text.replace(b'"# Title"', b'"# Changed"')


async def test_a_manager_replaced_at_run_time_is_detected(
    local: Local, local_file: Path, jp_serverapp: Any
) -> None:
    assert_edited(await local.patch(NAME, REPLACE), "file", preserved=True)
    settings = jp_serverapp.web_app.settings
    stock = settings["contents_manager"]
    settings["contents_manager"] = LenientManager(parent=jp_serverapp)
    answer = await local.patch(NAME, {**REPLACE, "source": "# 2"})
    assert_edited(answer, "contents", preserved=True)
    assert local_file.read_bytes() == TEXT.replace(b"# Title", b"# 2")  # noqa: ASYNC240 -- as below
    assert answer.json["hash"] == samples.hash_file(local_file)
    elsewhere = local_file.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / NAME).write_bytes(TEXT)
    settings["contents_manager"] = AsyncLargeFileManager(
        parent=jp_serverapp, root_dir=str(elsewhere)
    )
    with no_changes(local.root):
        assert_edited(await local.patch(NAME, REPLACE), "file", preserved=True)
    assert (elsewhere / NAME).read_bytes() == change_text(TEXT)
    settings["contents_manager"] = object()
    with no_changes(local.root):
        get_error(await local.patch(NAME, REPLACE), 409, "not_a_plain_file")
    stock.register_pre_save_hook(anything)
    settings["contents_manager"] = stock
    assert_edited(await local.patch(NAME, REPLACE), "notebook", preserved=False)


def assert_edited(answer: Answer, kind: str, *, preserved: bool) -> None:
    assert answer.status == 200, answer.body
    reply = answer.json
    assert (reply["applied_via"], reply["bytes_preserved"]) == (kind, preserved)
    assert reply["persisted"] is True
    assert reply["warnings"] == []


async def test_a_hook_registered_while_an_edit_waits_is_detected(
    tmp_path: Path, locks: PathLocks
) -> None:
    (tmp_path / NAME).write_bytes(TEXT)
    manager = AsyncLargeFileManager(root_dir=str(tmp_path))
    storages = StorageResolver({"contents_manager": manager}, locks)
    kinds: list[str] = []

    async def edit() -> None:
        async with storages.lock(NAME) as storage:
            kinds.append(storage.kind)

    async with locks.lock(str(tmp_path / NAME)):
        waiting = asyncio.create_task(edit())
        await run_other_tasks()
        manager.register_pre_save_hook(anything)
    await waiting
    assert kinds == ["notebook"]


# What is large is worked on elsewhere, where others have their turns.
@pytest.mark.parametrize(("hooked", "size"), [(False, 1000), (True, 1000), (True, 200_000)])
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
async def test_a_concurrent_save_by_a_manager_without_locks_is_not_overwritten(
    tmp_path: Path,
    locks: PathLocks,
    hooked: bool,  # noqa: FBT001 -- a parameter of the test
    size: int,
) -> None:
    text = samples.notebook(samples.markdown("# Title", "beta"), samples.raw("x" * size, "gamma"))
    manager = LargeFileManager(root_dir=str(tmp_path))
    if hooked:
        manager.register_pre_save_hook(anything)
    storages = StorageResolver({"contents_manager": manager}, locks)
    (tmp_path / NAME).write_bytes(text.replace(b"xxx", b"x- ", 1))

    async def save(turn: int) -> None:
        for _ in range(turn):
            await asyncio.sleep(0 if size < 100_000 else 0.001)
        model = manager.get(NAME, type="file")
        manager.save(
            {**model, "content": re.sub("x(-|[0-9]+) ", f"x{turn} ", model["content"])}, NAME
        )

    # Each turn is another moment for the save.
    for turn in range(0, 25, 1 if is_nightly() or size < 100_000 else 3):
        async with storages.lock(NAME) as storage:
            base = await storage.read(NAME)
            start = base.text.index(b'"# ') + 1
            edit = Splice(start, base.text.index(b'"', start), b"# %d" % turn)
            saving = asyncio.create_task(save(turn))
            with contextlib.suppress(StaleContent):
                await storage.write(NAME, base, [edit])
            await saving
        assert b"x%d " % turn in (tmp_path / NAME).read_bytes()


async def test_an_out_of_band_change_while_a_hook_refuses_is_kept(
    tmp_path: Path, locks: PathLocks
) -> None:
    manager = AsyncLargeFileManager(root_dir=str(tmp_path))
    theirs = TEXT.replace(b"# Title", b"# Theirs")
    storages = StorageResolver({"contents_manager": manager}, locks)
    (tmp_path / NAME).write_bytes(TEXT)

    def hook(path: str, **_: Any) -> None:
        (tmp_path / path).write_bytes(theirs)
        raise HTTPError(403, "No.")

    manager.register_pre_save_hook(hook)
    async with storages.lock(NAME) as storage:
        base = await storage.read(NAME)
        with pytest.raises(Forbidden):
            await storage.write(NAME, base, [Splice(0, 0, b" ")])
    async with storages.lock("new.ipynb") as storage:
        with pytest.raises(Forbidden):
            await storage.create("new.ipynb", TEXT)
    for name in (NAME, "new.ipynb"):
        assert (tmp_path / name).read_bytes() == theirs


class UnreadableAfterSaveManager(AsyncLargeFileManager):
    """A manager that cannot be read after a save, as network stores may behave."""

    has_saved = False

    async def save(self, model: Any, path: str = "") -> Any:
        saved = await super().save(model, path)  # type: ignore[no-untyped-call]
        self.has_saved = True
        return saved

    async def get(self, path: str, content: bool = True, *args: Any, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 -- as its parent's
        if self.has_saved and content:
            raise HTTPError(503, "Slow down")
        return await super().get(path, content, *args, **kwargs)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("hooked", [False, True])
def test_a_write_that_cannot_be_read_back_is_reported_as_written(
    tmp_path: Path, *, hooked: bool
) -> None:
    place = build_root(tmp_path, UnreadableAfterSaveManager)
    (place.root / NAME).write_bytes(TEXT)
    if hooked:
        place.manager.register_pre_save_hook(anything)
    start = TEXT.index(b"# Title")
    result = place.write(place.read(), splices=[Splice(start, start + 7, b"# Changed")])
    assert result.warnings
    assert b"# Changed" in (place.root / NAME).read_bytes()
