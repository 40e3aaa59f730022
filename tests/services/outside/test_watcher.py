"""Changes of open notebooks by other programs are reported, recorded and undone."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import shutil
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jupyter_core.paths import jupyter_runtime_dir
from jupyter_events.schema import EventSchema
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from jupyter_nbedit.handlers.context import CONTEXT
from jupyter_nbedit.services.events.models import OutsideChangeEvent
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from jupyter_nbedit.storage.locks import PathLocks
from tests.handlers.requests import replace
from tests.notebook.outside_changes import change_at_random
from tests.notebook.random_operations import RandomOperations
from tests.notebook.strategies import FileLayout
from tests.notebook.undo.oracle import parse_values
from tests.races.servers import RaceServers, run_servers
from tests.services.events.listener import Listener, open_listener
from tests.support import samples
from tests.support.clock import Clock
from tests.support.http import JSON, Answer, Client, Local
from tests.support.page_socket import PageSocket, open_page_socket
from tests.support.sampling import choose, get_seed, is_nightly
from tests.support.waiting import LIMIT_SECONDS, wait_until, wait_until_async

NAME = "a.ipynb"
LAYOUT = FileLayout(" ", "\n", ", ", ": ", ascii=False, slashes=False)
TEXT = samples.three_cells()
CHANGED = TEXT.replace(b"# Title", b"# By another program")


@dataclass
class OpenTab:
    """A notebook that is open in a tab of a server, and the events of the server."""

    local: Local
    file: Path
    listener: Listener
    page: PageSocket
    services: Any
    clock: Clock

    @asynccontextmanager
    async def advance_clock(self) -> AsyncIterator[None]:
        """Advance the timers of the server by ten seconds, in steps, while the block waits."""

        async def advance() -> None:
            for _ in range(50):
                self.clock.advance_timers(0.2)
                # The loop wakes up for this, whatever the clock says.
                await asyncio.to_thread(time.sleep, 0.01)

        task = asyncio.create_task(advance())
        try:
            yield
        finally:
            task.cancel()

    async def wait_until_known(self) -> None:
        """Wait until the server has a copy of the file as it is now."""
        status = self.file.stat()

        def is_known() -> bool:
            notebooks = list(self.services.watcher.examiner.notebooks)
            versions = [notebook.version for notebook in notebooks]
            return bool(versions) and all(
                version is not None
                and version.copy is not None
                and version.identity[3:] == (status.st_mtime_ns, status.st_ctime_ns)
                for version in versions
            )

        async with self.advance_clock():
            await wait_until_async(is_known)

    def wait_until_looked_at(self) -> None:
        """Wait, outside of the event loop, until the server has seen the file as it is now."""
        identity = read_file_identity(os.path.realpath(self.file))
        notebooks = self.services.watcher.examiner.notebooks
        wait_until(
            lambda: all(notebook.identity == identity for notebook in notebooks),
            "a look at the file",
        )

    async def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait for so many changes in all; no event may be missing or unknown to the schema."""
        async with self.advance_clock():
            events = await self.listener.wait_for(count, OutsideChangeEvent.get_schema_id())
        schema = EventSchema(OutsideChangeEvent.read_schema())
        for number, event in enumerate(events, 1):
            data = {name: value for name, value in event.items() if name not in _ENVELOPE}
            schema.validate(data)
            assert set(data) == set(schema._schema["required"])
            assert event["seq"] == number
        return events

    async def list_edits(self) -> list[dict[str, Any]]:
        answer = await self.local.request("GET", "nbedit", "notebooks", self.file.name, "history")
        edits: list[dict[str, Any]] = answer.json["edits"]
        return edits

    async def undo(self, edit_id: int, verb: str = "undo") -> Answer:
        target = f"notebooks/{self.file.name}/{verb}"
        return await self.local.send_json("POST", target, {"edit_id": edit_id})


_ENVELOPE = {
    "__schema__",
    "__timestamp__",
    "__schema_version__",
    "__metadata_version__",
    "schema_id",
}


Opener = Callable[..., AbstractAsyncContextManager[OpenTab]]


@pytest.fixture
def open_tab(local: Local, jp_ws_fetch: Any, jp_serverapp: Any, clock: Clock) -> Opener:
    """Return what opens the notebook of a text in a tab."""

    @asynccontextmanager
    async def open_notebook(text: bytes = TEXT) -> AsyncIterator[OpenTab]:
        file = local.root / NAME
        file.write_bytes(text)
        services = jp_serverapp.web_app.settings[CONTEXT].services
        async with (
            open_listener(jp_ws_fetch) as listener,
            open_page_socket(jp_ws_fetch, NAME) as page,
        ):
            tab = OpenTab(local, file, listener, page, services, clock)
            await tab.wait_until_known()
            yield tab

    return open_notebook


def write_in_place(tab: OpenTab) -> None:
    tab.file.write_bytes(CHANGED)


def write_slowly(tab: OpenTab) -> None:
    with tab.file.open("wb") as stream:
        for start in range(0, len(CHANGED), 300):
            stream.write(CHANGED[start : start + 300])
            stream.flush()
            tab.wait_until_looked_at()


def rename_over(tab: OpenTab) -> None:
    other = tab.file.with_name("new.tmp")
    other.write_bytes(CHANGED)
    other.replace(tab.file)


def remove_and_create(tab: OpenTab) -> None:
    tab.file.unlink()
    tab.wait_until_looked_at()
    tab.file.write_bytes(CHANGED)


def write_with_old_times(tab: OpenTab) -> None:
    status = tab.file.stat()
    tab.file.write_bytes(CHANGED)
    os.utime(tab.file, ns=(status.st_atime_ns, status.st_mtime_ns - 10**12))


def run_script(tab: OpenTab) -> None:
    script = (
        "import nbformat; n = nbformat.read('a.ipynb', 4);"
        "n.cells[1].source = '# By another program'; nbformat.write(n, 'a.ipynb')"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tab.file.parent, check=True)


def check_out(tab: OpenTab) -> None:
    folder = tab.file.parent

    def git(*arguments: str) -> str:
        command = [str(shutil.which("git")), "-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run([*command, *arguments], cwd=folder, check=True, stdout=-1)
        return done.stdout.decode().strip()

    git("init", "-q")
    git("add", NAME)
    git("commit", "-qm", "before")
    (folder / "other").write_bytes(CHANGED)
    blob = git("hash-object", "-w", "other")
    git("update-index", "--cacheinfo", f"100644,{blob},{NAME}")
    git("checkout", "--", NAME)


WRITERS = [
    write_in_place,
    write_slowly,
    rename_over,
    remove_and_create,
    write_with_old_times,
    run_script,
    pytest.param(check_out, marks=pytest.mark.skipif(not shutil.which("git"), reason="no git")),
]


@pytest.mark.parametrize("write", WRITERS)
async def test_a_change_by_any_writer_is_reported_once_and_undone_to_the_byte(
    open_tab: Opener, write: Callable[[OpenTab], None]
) -> None:
    async with open_tab() as tab:
        await asyncio.to_thread(write, tab)
        (event,) = await tab.wait_for(1)
        written = tab.file.read_bytes()
        (edit,) = await tab.list_edits()
        expected = {
            "kind": "changed",
            "path": NAME,
            "is_outside": True,
            "hash_before": samples.compute_hash(TEXT),
            "hash": samples.compute_hash(written),
            "edit_id": edit["edit_id"],
            "undoable": True,
            "cells": [{"op": "change", "cell_id": "beta", "index": 1}],
            "cells_changed": 1,
            "truncated": False,
            "metadata_changed": False,
            "total_cells": 3,
            "mode": "edit",
            "new_path": None,
            "message": None,
        }
        assert {name: event[name] for name in expected} == expected
        assert (edit["kind"], edit["user"], edit["client"]) == ("outside", "", None)
        assert (edit["hash_before"], edit["hash"]) == (event["hash_before"], event["hash"])
        assert (edit["operations"], edit["undoable"]) == (event["cells"], True)
        assert (await tab.undo(edit["edit_id"])).status == 200
        assert tab.file.read_bytes() == TEXT
        assert (await tab.undo(edit["edit_id"], "redo")).status == 200
        assert tab.file.read_bytes() == written
        # Neither was reported as a change by another program.
        await tab.wait_until_known()
        tab.file.write_bytes(TEXT)
        events = await tab.wait_for(2)
        assert (events[1]["hash_before"], events[1]["hash"]) == (
            event["hash"],
            event["hash_before"],
        )


async def test_random_changes_are_undone_to_the_byte_or_by_cells_or_refused_with_a_reason(
    open_tab: Opener,
) -> None:
    seed, counts = get_seed(), Counter[str]()
    text = RandomOperations(seed, 0).notebook(LAYOUT)
    async with open_tab(text) as tab:
        for number in range(300 if is_nightly() else 12):
            drawn = RandomOperations(seed + number, 0)
            before = tab.file.read_bytes()
            after = change_at_random(before, LAYOUT, seed + number)
            if after == before:
                continue
            if drawn.random.random() < 0.1:
                after = drawn.notebook(LAYOUT)
            tab.file.write_bytes(after)
            counts["changes"] += 1
            event = (await tab.wait_for(counts["changes"]))[-1]
            assert event["hash"] == samples.compute_hash(after)
            if drawn.random.random() < 0.5:
                # The way back is by cells.
                await save_text(tab, after + b" ")
            current = tab.file.read_bytes()
            answer = await tab.undo(event["edit_id"])
            found = tab.file.read_bytes()
            if answer.status != 200:
                counts["refused"] += 1
                assert (answer.status, answer.json["reason"]) == (409, "undo_conflict")
                assert current != after
                assert found == current
            elif current == after:
                counts["bytes"] += 1
                assert found == before
            else:
                counts["cells"] += 1
                assert parse_values(found)["cells"] == parse_values(before)["cells"]
            await tab.wait_until_known()
    print(counts)
    assert counts["bytes"] >= counts["changes"] / 5
    # By day there are few.
    assert counts["cells"] >= counts["changes"] / 5 or not is_nightly()


# What is no change by another program ----------------------------------------------------------


def save_content(text: bytes) -> dict[str, Any]:
    return {"type": "notebook", "format": "json", "content": json.loads(text)}


async def save(tab: OpenTab, text: bytes) -> None:
    """Save as JupyterLab does."""
    body = json.dumps(save_content(text)).encode()
    answer = await tab.local.request("PUT", "api", "contents", NAME, body=body)
    assert answer.status == 200


async def save_text(tab: OpenTab, text: bytes) -> None:
    """Save other bytes of the same notebook, as a program does that uses the Contents API."""
    body = json.dumps({"type": "file", "format": "text", "content": text.decode()}).encode()
    answer = await tab.local.request("PUT", "api", "contents", NAME, body=body)
    assert answer.status == 200


async def save_in_jupyterlab(tab: OpenTab) -> None:
    for number in range(3):
        await save(tab, TEXT.replace(b"# Title", b"# Saved %d" % number))


async def edit_here(tab: OpenTab) -> None:
    for number in range(3):
        answer = await tab.local.patch(NAME, replace("beta", f"edit {number}"))
        assert (answer.status, answer.json["warnings"]) == (200, [])


async def test_a_change_right_after_an_edit_does_not_include_the_edit(open_tab: Opener) -> None:
    async with open_tab() as tab:
        for act in (edit_here, save_in_jupyterlab):
            await act(tab)
            # Mostly before the next look, so that the version before is not known.
            own = samples.compute_hash(tab.file.read_bytes())
            text = CHANGED + b" " * len(act.__name__)
            tab.file.write_bytes(text)
            events = await tab.wait_for(1 if act is edit_here else 2)
            assert events[-1]["hash"] == samples.compute_hash(text)
            assert events[-1]["hash_before"] in {None, own}
            assert events[-1]["undoable"] == (events[-1]["hash_before"] == own)
            await tab.wait_until_known()


async def wait_until_copied(copies: Path, text: bytes) -> None:
    """Wait until the server has a copy of a text in its folder of copies."""
    await wait_until_async(
        lambda: any(copy.read_bytes() == text for copy in copies.iterdir() if copy.is_file())
    )


async def test_a_change_after_writes_of_another_server_does_not_include_them(
    open_tab: Opener,
) -> None:
    async with open_tab() as tab:
        (notebook,) = tab.services.watcher.examiner.notebooks
        assert notebook.version is not None
        assert notebook.version.copy is not None
        copies = Path(notebook.version.copy.path).parent
        logger = logging.getLogger(__name__)
        other_server = PathLocks(Path(jupyter_runtime_dir()) / "nbedit" / "locks", logger)

        name = await asyncio.to_thread(os.path.realpath, tab.file)

        def save_elsewhere(text: bytes) -> None:
            tab.file.write_bytes(text)
            other_server.writes.record(name, read_file_identity(name))

        async with tab.services.storages.lock(NAME):
            save_elsewhere(TEXT + b" ")
            # The watcher has read this version, and waits for the lock.
            await wait_until_copied(copies, TEXT + b" ")
            save_elsewhere(TEXT + b"  ")
            tab.file.write_bytes(CHANGED)
        (event,) = await tab.wait_for(1)
        assert (event["is_outside"], event["hash"]) == (True, samples.compute_hash(CHANGED))
        await tab.wait_until_known()
        assert [edit["hash"] for edit in await tab.list_edits()] == [samples.compute_hash(CHANGED)]


async def test_a_write_of_this_server_that_is_found_before_it_is_logged_is_not_reported(
    open_tab: Opener,
) -> None:
    async with open_tab() as tab:
        storages = tab.services.storages
        (notebook,) = tab.services.watcher.examiner.notebooks
        assert notebook.version is not None
        assert notebook.version.copy is not None
        copies = Path(notebook.version.copy.path).parent
        name = await asyncio.to_thread(os.path.realpath, tab.file)
        written = TEXT + b" "
        async with storages.lock(NAME):
            tab.file.write_bytes(written)
            # The watcher has read this version, and waits for the lock.
            await wait_until_copied(copies, written)
            storages.locks.writes.record(name, read_file_identity(name))
        await tab.wait_until_known()
        tab.file.write_bytes(CHANGED)
        (event,) = await tab.wait_for(1)
        assert event["hash_before"] == samples.compute_hash(written)
        assert [edit["hash"] for edit in await tab.list_edits()] == [samples.compute_hash(CHANGED)]


async def edit_and_undo(tab: OpenTab) -> None:
    answer = await tab.local.patch(NAME, replace("beta", "edit"))
    assert (await tab.undo(answer.json["edit_id"])).status == 200


async def restore_checkpoint(tab: OpenTab) -> None:
    target = ("api", "contents", NAME, "checkpoints")
    checkpoint = await tab.local.request("POST", *target)
    await edit_here(tab)
    restored = await tab.local.request("POST", *target, checkpoint.json["id"])
    assert restored.status == 204


async def change_times_and_mode(tab: OpenTab) -> None:
    tab.file.chmod(0o640)
    os.utime(tab.file, ns=(10**18, 10**18))


async def write_the_same_bytes(tab: OpenTab) -> None:
    tab.file.write_bytes(tab.file.read_bytes())


@pytest.mark.parametrize(
    "act",
    [
        save_in_jupyterlab,
        edit_here,
        edit_and_undo,
        restore_checkpoint,
        change_times_and_mode,
        write_the_same_bytes,
    ],
)
async def test_what_this_server_writes_is_no_change_by_another_program(
    open_tab: Opener, act: Callable[[OpenTab], Awaitable[None]]
) -> None:
    async with open_tab() as tab:
        await act(tab)
        await tab.wait_until_known()
        before = tab.file.read_bytes()
        # The next event is the first.
        tab.file.write_bytes(CHANGED + b" ")
        (event,) = await tab.wait_for(1)
        assert (event["hash_before"], event["hash"]) == tuple(
            map(samples.compute_hash, (before, CHANGED + b" "))
        )
        assert [edit["kind"] for edit in await tab.list_edits()].count("outside") == 1


async def test_a_change_just_before_an_edit_is_recorded_before_it(open_tab: Opener) -> None:
    async with open_tab() as tab:
        tab.file.write_bytes(CHANGED)
        # The server has had no time to look at the file, or just had it.
        await tab.local.patch(NAME, replace("gamma", "edit"))
        (event,) = await tab.wait_for(1)
        edit, outside = await tab.list_edits()
        assert (outside["kind"], outside["edit_id"]) == ("outside", event["edit_id"])
        assert (edit["kind"], edit["hash_before"]) == ("edit", outside["hash"])
        undone = await tab.undo(outside["edit_id"])
        assert undone.status == 200
        sources = [cell["source"] for cell in samples.load_cells(tab.file.read_bytes())]
        assert sources == ["x = 1\nx", "# Title", "edit"]


# What cannot be read ---------------------------------------------------------------------------


def empty(file: Path) -> None:
    file.write_bytes(b"")


def truncate(file: Path) -> None:
    file.write_bytes(TEXT[: len(TEXT) // 2])


def write_no_notebook(file: Path) -> None:
    file.write_bytes(b"{}")


def write_old_notebook(file: Path) -> None:
    file.write_bytes(b'{"nbformat": 3, "worksheets": []}')


def make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def make_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def make_dangling_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere.ipynb")


def remove(file: Path) -> None:
    file.unlink()


def rename(file: Path) -> None:
    file.rename(file.with_name("renamed.ipynb"))


UNREADABLE = [empty, truncate, write_no_notebook, write_old_notebook, make_folder, make_pipe]


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [
        *((spoil, "unreadable") for spoil in choose("unreadable", UNREADABLE, 2)),
        *((spoil, "deleted") for spoil in choose("deleted", [make_dangling_link, remove], 1)),
        (rename, "renamed"),
    ],
)
async def test_a_problem_is_reported_once_and_so_is_its_end(
    open_tab: Opener, spoil: Callable[[Path], None], kind: str, clock: Clock
) -> None:
    async with open_tab() as tab:
        other = tab.file.with_name("b.ipynb")
        other.write_bytes(TEXT)
        await tab.page.open_notebooks(NAME, other.name)
        notebooks = tab.services.watcher.examiner.notebooks
        await wait_until_async(
            lambda: [one.version is not None for one in notebooks] == [True, True]
        )
        spoil(tab.file)
        (event,) = await tab.wait_for(1)
        new_path = "renamed.ipynb" if kind == "renamed" else None
        assert (event["kind"], event["new_path"]) == (kind, new_path)
        assert (event["hash_before"], event["hash"]) == (samples.compute_hash(TEXT), None)
        assert bool(event["message"]) == (kind == "unreadable")
        # Both files are looked at together, and the problem is not reported again.
        for count in (2, 3):
            clock.advance_timers(60)
            other.write_bytes(TEXT + b" " * count)
            assert (await tab.wait_for(count))[-1]["path"] == other.name
        if tab.file.is_dir():
            tab.file.rmdir()
        elif kind != "deleted" or tab.file.is_symlink():
            tab.file.unlink(missing_ok=True)
        tab.file.write_bytes(CHANGED)
        event = (await tab.wait_for(4))[-1]
        assert (event["kind"], event["is_outside"]) == ("changed", True)
        assert (event["hash_before"], event["hash"]) == (
            samples.compute_hash(TEXT),
            samples.compute_hash(CHANGED),
        )
        (edit,) = await tab.list_edits()
        assert (edit["kind"], edit["undoable"]) == ("outside", True)
        # The same version as before a problem has changed nothing.
        remove(tab.file)
        await tab.wait_for(5)
        tab.file.write_bytes(CHANGED)
        event = (await tab.wait_for(6))[-1]
        found = (event["kind"], event["is_outside"], event["cells_changed"], event["hash"])
        assert found == ("changed", False, 0, samples.compute_hash(CHANGED))
        assert len(await tab.list_edits()) == 1


class WindowsEntry:
    """An entry of a folder whose status has no inode, as on Windows."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self._entry = entry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def stat(self, **options: bool) -> os.stat_result:
        fields = list(self._entry.stat(**options))
        fields[stat.ST_INO] = fields[stat.ST_DEV] = 0
        return os.stat_result(fields)


class WindowsFolder:
    """The entries of a folder as on Windows."""

    def __init__(self, path: Any) -> None:
        self._entries = SCAN(path)

    def __enter__(self) -> Iterator[WindowsEntry]:
        return map(WindowsEntry, self._entries.__enter__())

    def __exit__(self, *_: object) -> None:
        self._entries.close()


SCAN = os.scandir


@pytest.mark.parametrize("scan", [SCAN, WindowsFolder], ids=["Linux", "Windows"])
async def test_a_history_follows_a_notebook_that_another_program_has_renamed(
    open_tab: Opener, monkeypatch: pytest.MonkeyPatch, scan: Any
) -> None:
    async with open_tab() as tab:
        monkeypatch.setattr(os, "scandir", scan)
        await edit_here(tab)
        await tab.wait_until_known()
        rename(tab.file)
        await tab.wait_for(1)
        target = ("nbedit", "notebooks", "renamed.ipynb", "history")

        async def has_followed() -> bool:
            answer = await tab.local.request("GET", *target)
            return len(answer.json["edits"]) == 3

        await wait_until_async(has_followed)


async def test_a_notebook_that_is_written_all_the_time_is_reported_now_and_then(
    open_tab: Opener,
) -> None:
    async with open_tab() as tab:
        begin = time.monotonic()
        for number in range(300):
            tab.file.write_bytes(TEXT.replace(b"# Title", b"# %d" % number))
            await asyncio.sleep(0.005)
        events: list[dict[str, Any]] = []
        while not events or events[-1]["hash"] != samples.compute_hash(tab.file.read_bytes()):
            events = await tab.wait_for(len(events) + 1)
        # The first and the last come at once, the others at most twice a second or so.
        assert len(events) <= 2 + (time.monotonic() - begin) / 0.4
        hashes = [samples.compute_hash(TEXT), *(event["hash"] for event in events)]
        assert [event["hash_before"] for event in events] == hashes[:-1]


# Tabs, modes, settings -------------------------------------------------------------------------


async def test_each_path_of_a_notebook_and_its_mode_are_reported(open_tab: Opener) -> None:
    async with open_tab() as tab:
        (tab.local.root / "link.ipynb").symlink_to(NAME)
        await tab.page.open_notebooks(NAME, "link.ipynb")
        notebooks = tab.services.watcher.examiner.notebooks
        await wait_until_async(lambda: any(len(one.paths) == 2 for one in notebooks))
        await tab.local.send_json("PUT", "mode", {"path": NAME, "mode": "review"})
        tab.file.write_bytes(CHANGED)
        events = await tab.wait_for(2)
        found = [(event["path"], event["mode"], event["edit_id"]) for event in events]
        assert found == [(NAME, "review", 1), ("link.ipynb", "review", 1)]


async def test_nothing_runs_and_nothing_is_kept_without_open_tabs(
    open_tab: Opener, jp_data_dir: Path
) -> None:
    def list_copies() -> list[Path]:
        return [
            file for file in (jp_data_dir / "nbedit").glob("versions-*/*") if file.stat().st_size
        ]

    async with open_tab() as tab:
        assert [file.read_bytes() for file in list_copies()] == [TEXT]
        notebooks = tab.services.watcher.examiner.notebooks
    await wait_until_async(lambda: not list(notebooks))
    assert not list_copies()


@pytest.mark.parametrize(
    "jp_server_config", [{"NbEditApp": {"follow_outside_changes": False}}], indirect=True
)
async def test_the_setting_switches_everything_off(
    local: Local, jp_ws_fetch: Any, jp_serverapp: Any
) -> None:
    (local.root / NAME).write_bytes(TEXT)
    async with open_page_socket(jp_ws_fetch, NAME):
        assert (await local.patch(NAME, replace("beta", "x"))).status == 200
    assert jp_serverapp.web_app.settings[CONTEXT].services.watcher is None


class Bucket(AsyncLargeFileManager):
    """A manager that tells versions, and need not have files: it says itself which exist."""

    async def file_exists(self, path: str = "") -> bool:
        return bool(await super().file_exists(path))


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"contents_manager_class": Bucket}}], indirect=True
)
async def test_a_manager_without_files_is_asked_for_versions(
    local: Local, jp_ws_fetch: Any, jp_serverapp: Any, clock: Clock
) -> None:
    file = local.root / NAME
    file.write_bytes(TEXT)
    services = jp_serverapp.web_app.settings[CONTEXT].services
    async with (
        open_listener(jp_ws_fetch) as listener,
        open_page_socket(jp_ws_fetch, NAME) as page,
    ):
        tab = OpenTab(local, file, listener, page, services, clock)
        notebooks = services.watcher.examiner.notebooks
        await wait_until_async(lambda: any(one.version for one in notebooks))
        await save_in_jupyterlab(tab)
        await edit_here(tab)
        (answer,) = [(await local.patch(NAME, replace("beta", "last"))).json]
        assert answer["applied_via"] == "contents"

        def has_seen_writes() -> bool:
            (notebook,) = notebooks
            return bool(notebook.version.identity[2] == file.stat().st_size)

        await wait_until_async(has_seen_writes)
        file.write_bytes(CHANGED)
        (event,) = await tab.wait_for(1)
        # The version before was never read.
        found = (event["hash_before"], event["hash"], event["cells_changed"], event["is_outside"])
        assert found == (None, samples.compute_hash(CHANGED), None, True)
        file.write_bytes(TEXT + b" ")
        _, event = await tab.wait_for(2)
        assert event["cells"] == [{"op": "change", "cell_id": "beta", "index": 1}]
        newest, older, *edits = await tab.list_edits()
        assert [newest["undoable"], older["undoable"]] == [True, False]
        assert {edit["kind"] for edit in edits} == {"edit"}
        answer = await tab.undo(older["edit_id"])
        assert (answer.status, answer.json["reason"]) == (404, "edit_not_found")
        assert (await tab.undo(newest["edit_id"])).status == 200
        assert file.read_bytes() == CHANGED


# Several servers -------------------------------------------------------------------------------


@dataclass
class WatchingServer:
    """A server in a process of its own that has the notebook open, and the events it sends."""

    client: Client
    socket: WebSocketClientConnection
    page: WebSocketClientConnection

    @classmethod
    async def connect(cls, client: Client) -> WatchingServer:
        async def connect(target: str) -> WebSocketClientConnection:
            headers = {"Authorization": f"token {client.token}"}
            url = f"ws://127.0.0.1:{client.port}/{target}"
            return await websocket_connect(HTTPRequest(url, headers=headers))

        socket, page = await connect("api/events/subscribe"), await connect("nbedit/tabs")
        await page.write_message(json.dumps({"tabs": {NAME: 1}}))
        return cls(client, socket, page)

    async def wait_until_watching(self, file: Path) -> None:
        """Write the file until the server notices; the first version it sees is no change."""
        for number in itertools.count(1):
            text = TEXT + b" " * number
            await asyncio.to_thread(file.write_bytes, text)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.read_changes(samples.compute_hash(text)), 2)
                return

    async def read_changes(self, notebook_hash: str) -> list[dict[str, Any]]:
        """Return all changes up to the one to a hash."""
        changes: list[dict[str, Any]] = []
        while not changes or changes[-1]["hash"] != notebook_hash:
            message = await asyncio.wait_for(self.socket.read_message(), LIMIT_SECONDS)
            assert message is not None
            event = json.loads(message)
            if event["schema_id"] == OutsideChangeEvent.get_schema_id():
                changes.append(event)
        return changes

    def list_edits(self) -> list[dict[str, Any]]:
        edits: list[dict[str, Any]] = self.client.request(
            "GET", f"nbedit/notebooks/{NAME}/history"
        ).json["edits"]
        return edits

    def close(self) -> None:
        self.socket.close()
        self.page.close()


@asynccontextmanager
async def watch_with_two_servers(folder: Path, file: Path) -> AsyncIterator[list[WatchingServer]]:
    """Run two servers that have a file open and have reported all that was written to it."""
    with run_servers(RaceServers(folder)) as servers:
        await asyncio.to_thread(file.write_bytes, TEXT)
        both = [await WatchingServer.connect(run.server.client) for run in servers.runs.values()]
        try:
            for server in both:
                await server.wait_until_watching(file)
            # The first one may yet have to find what was written for the second.
            text = TEXT + b"\n"
            await asyncio.to_thread(file.write_bytes, text)
            for server in both:
                await server.read_changes(samples.compute_hash(text))
            yield both
        finally:
            for server in both:
                server.close()


async def test_what_other_servers_of_the_user_do_is_reported_but_not_as_by_another_program(
    tmp_path: Path,
) -> None:
    file = tmp_path / "notebooks" / NAME
    async with watch_with_two_servers(tmp_path, file) as (first, second):
        earlier_edits = first.list_edits()

        answer = second.client.patch(NAME, replace("beta", "by the second server"))
        event = (await first.read_changes(answer.json["hash"]))[-1]
        assert (event["is_outside"], event["edit_id"]) == (False, answer.json["edit_id"])
        assert event["cells"] == [{"op": "change", "cell_id": "beta", "index": 1}]

        body = json.dumps(save_content(TEXT)).encode()
        for server, other in ((second, first), (first, second)):
            text = file.read_bytes()
            assert server.client.request("PUT", f"api/contents/{NAME}", body, JSON).status == 200
            if file.read_bytes() != text:
                event = (await other.read_changes(samples.compute_hash(file.read_bytes())))[-1]
                assert (event["is_outside"], event["edit_id"]) == (False, None)

        file.write_bytes(CHANGED + b" ")
        for server in (first, second):
            event = (await server.read_changes(samples.compute_hash(CHANGED + b" ")))[-1]
            assert event["is_outside"]
            assert event["edit_id"] == first.list_edits()[0]["edit_id"]
        later_edits = first.list_edits()[: -len(earlier_edits)]
        assert [edit["kind"] for edit in later_edits] == ["outside", "edit"]


async def test_saves_and_edits_of_two_servers_are_never_changes_by_another_program(
    tmp_path: Path,
) -> None:
    file = tmp_path / "notebooks" / NAME
    async with watch_with_two_servers(tmp_path, file) as both:
        rounds = 500 if is_nightly() else 10
        for number in range(rounds):
            for server in both:
                text = TEXT.replace(b"# Title", f"# Save {number}".encode())
                body = json.dumps(save_content(text)).encode()
                answers = [
                    server.client.request("PUT", f"api/contents/{NAME}", body, JSON),
                    server.client.patch(NAME, replace("beta", f"edit {number}")),
                ]
                assert [answer.status for answer in answers] == [200, 200]
            # The watchers look at some of the versions, at any moment of a write.
            await asyncio.sleep(number % 7 / 10)
        file.write_bytes(CHANGED + b" ")
        for server in both:
            changes = await server.read_changes(samples.compute_hash(CHANGED + b" "))
            assert [change["hash"] for change in changes if change["is_outside"]] == [
                samples.compute_hash(CHANGED + b" ")
            ]
        count = min(2 * rounds, 49)
        kinds = [edit["kind"] for edit in both[0].list_edits()][: count + 1]
        assert kinds == ["outside", *["edit"] * count]
