"""Which contents managers keep notebooks in plain files, and who waits for whom."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable
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

from jupyter_nbedit.errors import NotAPlainFile
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.managers import storage_for
from tests import samples
from tests.handlers.client import Local
from tests.handlers.refused import details, untouched
from tests.storage.conftest import NAME, Others

TEXT = samples.three_cells()
REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}


def anything(*_: Any, **__: Any) -> None:
    """Stand for what an extension may put in a method's place."""


@pytest.fixture
def locks(tmp_path: Path) -> PathLocks:
    return PathLocks(tmp_path / "locks", logging.getLogger(__name__))


@pytest.mark.parametrize("kind", [AsyncFileContentsManager, AsyncLargeFileManager])
def test_the_stock_managers_keep_plain_files(
    tmp_path: Path, locks: PathLocks, kind: type[AsyncFileContentsManager]
) -> None:
    manager = kind(root_dir=str(tmp_path))
    for _ in range(3):
        assert storage_for(manager, {}, locks).kind == "file"


class Informative(AsyncLargeFileManager):
    """Differs in nothing that is written."""

    def info_string(self) -> str:
        return "Serving notebooks with care"

    async def copy(self, from_path: str, to_path: str | None = None) -> Any:
        return await super().copy(from_path, to_path)  # type: ignore[no-untyped-call]


def test_a_manager_that_differs_in_nothing_that_matters_keeps_plain_files(
    tmp_path: Path, locks: PathLocks
) -> None:
    assert storage_for(Informative(root_dir=str(tmp_path)), {}, locks).kind == "file"


DECISIVE = [
    "get",
    "save",
    "open",
    "exists",
    "file_exists",
    "dir_exists",
    "is_hidden",
    "atomic_writing",
    "check_and_sign",
    "mark_trusted_cells",
    "rename_file",
    "delete_file",
    "restore_checkpoint",
    "run_pre_save_hooks",
    "run_post_save_hooks",
    "_get_os_path",
    "_read_file",
    "_save_file",
    "_read_notebook",
    "_save_notebook",
    "_notebook_model",
    "_file_model",
    "_base_model",
]


@pytest.mark.parametrize("name", DECISIVE)
def test_a_manager_with_a_decisive_method_of_its_own_is_refused(
    tmp_path: Path, locks: PathLocks, name: str
) -> None:
    stock = getattr(AsyncLargeFileManager, name)
    for method in (anything, functools.wraps(stock)(anything), property(anything), print, None):
        kind = type("Own", (AsyncLargeFileManager,), {name: method})
        heir = type("Heir", (kind,), {})
        for manager in (kind(root_dir=str(tmp_path)), heir(root_dir=str(tmp_path))):
            with pytest.raises(NotAPlainFile, match=name):
                storage_for(manager, {}, locks)


@pytest.mark.parametrize("name", DECISIVE)
def test_a_manager_with_a_decisive_method_put_in_place_is_refused(
    tmp_path: Path, locks: PathLocks, name: str
) -> None:
    for shadow in (
        anything,
        functools.wraps(getattr(AsyncLargeFileManager, name))(anything),
        functools.partial(anything),
    ):
        manager = AsyncLargeFileManager(root_dir=str(tmp_path))
        storage_for(manager, {}, locks)
        setattr(manager, name, shadow)
        with pytest.raises(NotAPlainFile, match=name):
            storage_for(manager, {}, locks)


@pytest.mark.parametrize("kind", [FileContentsManager, LargeFileManager])
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
def test_a_manager_that_is_not_asynchronous_is_refused(
    tmp_path: Path, locks: PathLocks, kind: type[FileContentsManager]
) -> None:
    with pytest.raises(NotAPlainFile, match=kind.__name__):
        storage_for(kind(root_dir=str(tmp_path)), {}, locks)


def test_a_manager_of_another_kind_altogether_is_refused(locks: PathLocks) -> None:
    for manager in (object(), None):
        with pytest.raises(NotAPlainFile):
            storage_for(manager, {}, locks)


def test_a_pre_save_hook_is_not_gone_around(tmp_path: Path, locks: PathLocks) -> None:
    by_trait = AsyncLargeFileManager(root_dir=str(tmp_path))
    storage_for(by_trait, {}, locks)
    by_trait.pre_save_hook = anything
    registered = AsyncLargeFileManager(root_dir=str(tmp_path))
    storage_for(registered, {}, locks)
    registered.register_pre_save_hook(anything)
    for manager in (by_trait, registered):
        with pytest.raises(NotAPlainFile, match="pre-save hook"):
            storage_for(manager, {}, locks)


@pytest.mark.parametrize("key", ["jupyter_server_ydoc", "yroom_manager"])
def test_where_people_edit_together_nothing_is_written_under_their_rooms(
    tmp_path: Path, locks: PathLocks, key: str
) -> None:
    manager = AsyncLargeFileManager(root_dir=str(tmp_path))
    assert storage_for(manager, {key: None}, locks).kind == "file"
    with pytest.raises(NotAPlainFile, match="collaboration"):
        storage_for(manager, {key: object()}, locks)


# In a server -------------------------------------------------------------------------------------


@pytest.fixture
def notebook(local: Local) -> Path:
    path = local.root / NAME
    path.write_bytes(TEXT)
    return path


class Lenient(AsyncLargeFileManager):
    """Keeps notebooks in its own way, as Jupytext and others do."""

    async def save(self, model: Any, path: str = "") -> Any:
        return await super().save(model, path)  # type: ignore[no-untyped-call]


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"contents_manager_class": Lenient}}], indirect=True
)
async def test_with_another_manager_nothing_is_read_or_written(local: Local) -> None:
    with untouched(local.root):
        for answer in (
            await local.read(NAME),
            await local.patch(NAME, REPLACE),
            await local.patch(NAME, REPLACE, dry_run=True),
        ):
            details(answer, 409, "not_a_plain_file")
            assert "Lenient" in answer.json["message"]


async def test_a_manager_that_is_replaced_while_the_server_runs_is_noticed(
    local: Local, notebook: Path, jp_serverapp: Any
) -> None:
    assert (await local.patch(NAME, REPLACE)).status == 200
    settings = jp_serverapp.web_app.settings
    stock = settings["contents_manager"]
    settings["contents_manager"] = Lenient(parent=jp_serverapp)
    with untouched(local.root):
        details(await local.patch(NAME, {**REPLACE, "source": "2"}), 409, "not_a_plain_file")
    elsewhere = notebook.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / NAME).write_bytes(TEXT)
    settings["contents_manager"] = AsyncLargeFileManager(
        parent=jp_serverapp, root_dir=str(elsewhere)
    )
    with untouched(local.root):
        assert (await local.patch(NAME, REPLACE)).status == 200
    assert b"# Changed" in (elsewhere / NAME).read_bytes()
    settings["contents_manager"] = stock


async def test_a_hook_that_comes_later_is_noticed(
    local: Local, notebook: Path, jp_serverapp: Any
) -> None:
    assert (await local.patch(NAME, REPLACE)).status == 200
    jp_serverapp.contents_manager.register_pre_save_hook(anything)
    with untouched(notebook.parent):
        details(await local.patch(NAME, {**REPLACE, "source": "2"}), 409, "not_a_plain_file")


# Who waits for whom ------------------------------------------------------------------------------


@pytest.fixture
def manager(tmp_path: Path, locks: PathLocks) -> AsyncLargeFileManager:
    root = tmp_path / "root"
    root.mkdir()
    for name in (NAME, "second.ipynb"):
        (root / name).write_bytes(TEXT)
    manager = AsyncLargeFileManager(root_dir=str(root), delete_to_trash=False)
    storage_for(manager, {}, locks)
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
async def test_what_the_manager_does_to_a_notebook_waits_for_our_edit(
    manager: AsyncLargeFileManager, locks: PathLocks, what: str
) -> None:
    root = Path(manager.root_dir)
    point = await checkpoint(manager)
    task = None
    async with locks.hold(str(root / NAME)):
        with untouched(root):
            task = asyncio.create_task(WRITES[what](manager, point))
            await asyncio.sleep(0.1)
            assert not task.done()
    if what == "rename here":
        # Only now it sees that there is a notebook in the way.
        with pytest.raises(HTTPError):
            await asyncio.wait_for(task, 30)
    else:
        await asyncio.wait_for(task, 30)


async def test_our_edit_waits_for_what_the_manager_is_doing(
    manager: AsyncLargeFileManager, locks: PathLocks
) -> None:
    storage = storage_for(manager, {}, locks)
    order: list[str] = []
    manager.register_post_save_hook(lambda **_: order.append("saved"))
    large = samples.notebook(*[samples.raw("x" * 1000, f"id-{n}") for n in range(2000)])
    saving = asyncio.create_task(manager.save(model(large), NAME))
    # It begins, and has the lock before it does anything.
    await asyncio.sleep(0)
    async with storage.hold(NAME):
        order.append("held")
        content = await storage.read(NAME)
        written = await storage.write(
            NAME, content, [Splice(len(content.text), len(content.text), b" ")]
        )
    await saving
    assert order == ["saved", "held"]
    assert len(samples.cells_of(content.text)) == 2000
    now = Path(manager.root_dir, NAME).read_bytes()  # noqa: ASYNC240
    assert hashlib.sha256(now).hexdigest() == written.hash


async def test_other_files_are_saved_meanwhile(
    manager: AsyncLargeFileManager, locks: PathLocks
) -> None:
    async with locks.hold(os.path.join(manager.root_dir, NAME)):  # noqa: PTH118
        text = {"type": "file", "format": "text", "content": "x"}
        await asyncio.wait_for(manager.save(text, "b.txt"), 30)


async def test_a_renaming_never_waits_for_itself(
    manager: AsyncLargeFileManager, tmp_path: Path
) -> None:
    # Names share lock files, so among this many pairs some share one.
    began = time.monotonic()
    await manager.rename(NAME, "0.ipynb")
    for n in range(1000):
        await manager.rename_file(f"{n}.ipynb", f"{n + 1}.ipynb")
    assert time.monotonic() - began < 9
    assert (tmp_path / "root" / "1000.ipynb").read_bytes() == TEXT


async def test_a_save_that_is_given_up_while_it_waits_leaves_no_lock_behind(
    manager: AsyncLargeFileManager, locks: PathLocks
) -> None:
    task = asyncio.create_task(WRITES["save"](manager, ""))
    async with locks.hold(os.path.join(manager.root_dir, NAME)):  # noqa: PTH118
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(WRITES["save"](manager, ""), 30)


@pytest.mark.skipif("NBEDIT_NIGHTLY" not in os.environ, reason="takes ten seconds: nightly")
async def test_a_save_that_waits_too_long_is_told_in_the_servers_own_way(
    manager: AsyncLargeFileManager, others: Others, tmp_path: Path
) -> None:
    marker = tmp_path / "held"
    arguments = {"root": manager.root_dir, "locks": str(tmp_path / "locks"), "marker": str(marker)}
    holding = others.begin("hold", seconds=20, **arguments)
    while not marker.exists():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    with pytest.raises(HTTPError) as refused:
        await WRITES["save"](manager, "")
    assert refused.value.status_code == 503
    assert others.outcome(holding) == "held"


async def test_the_manager_refuses_in_its_own_words(manager: AsyncLargeFileManager) -> None:
    for path in ("../a.ipynb", "a\0.ipynb"):
        with pytest.raises(HTTPError) as refused:
            await manager.save(model(SAVED), path)
        assert refused.value.status_code in {400, 404}
    with pytest.raises(HTTPError) as refused:
        await manager.rename_file("second.ipynb", NAME)
    assert refused.value.status_code == 409
