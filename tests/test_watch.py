"""Changes of open notebooks by other programs are reported, recorded and undone."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jupyter_events.schema import EventSchema

from jupyter_nbedit.events.emitters import CHANGE_SCHEMA_ID, SCHEMAS
from jupyter_nbedit.handlers.base import SERVICES
from tests.events.listener import Listener, open_listener
from tests.handlers.requests import send_json_locally
from tests.handlers.test_tabs import PageSocket, open_page_socket
from tests.support import samples
from tests.support.http import Answer, Local
from tests.support.waiting import wait_until_async

NAME = "a.ipynb"
TEXT = samples.three_cells()
CHANGED = TEXT.replace(b"# Title", b"# By another program")


def compute_hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@dataclass
class OpenTab:
    """A notebook that is open in a tab of a server, and the events of the server."""

    local: Local
    file: Path
    listener: Listener
    page: PageSocket
    services: Any

    async def wait_until_known(self) -> None:
        """Wait until the server has a copy of the file as it is now."""
        status = self.file.stat()

        def is_known() -> bool:
            notebooks = self.services.watcher.recorder.list_open()
            versions = [notebook.version for notebook in notebooks]
            return bool(versions) and all(
                version is not None
                and version.copy is not None
                and version.identity[3:] == (status.st_mtime_ns, status.st_ctime_ns)
                for version in versions
            )

        await wait_until_async(is_known)

    async def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait for so many changes in all; no event may be missing or unknown to the schema."""
        events = await self.listener.wait_for(count, CHANGE_SCHEMA_ID)
        schema = EventSchema(SCHEMAS[CHANGE_SCHEMA_ID])
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
        return await send_json_locally(self.local, "POST", target, {"edit_id": edit_id})


_ENVELOPE = {
    "__schema__",
    "__timestamp__",
    "__schema_version__",
    "__metadata_version__",
    "schema_id",
}


Opener = Callable[..., AbstractAsyncContextManager[OpenTab]]


@pytest.fixture
def open_tab(local: Local, jp_ws_fetch: Any, jp_serverapp: Any) -> Opener:
    """Return what opens the notebook of a text in a tab."""

    @asynccontextmanager
    async def open_notebook(text: bytes = TEXT) -> AsyncIterator[OpenTab]:
        file = local.root / NAME
        file.write_bytes(text)
        services = jp_serverapp.web_app.settings[SERVICES]
        async with (
            open_listener(jp_ws_fetch) as listener,
            open_page_socket(jp_ws_fetch, NAME) as page,
        ):
            tab = OpenTab(local, file, listener, page, services)
            await tab.wait_until_known()
            yield tab

    return open_notebook


def write_in_place(file: Path) -> None:
    file.write_bytes(CHANGED)


def write_slowly(file: Path) -> None:
    with file.open("wb") as stream:
        for start in range(0, len(CHANGED), 300):
            stream.write(CHANGED[start : start + 300])
            stream.flush()
            time.sleep(0.3)


def rename_over(file: Path) -> None:
    other = file.with_name("new.tmp")
    other.write_bytes(CHANGED)
    other.replace(file)


def remove_and_create(file: Path) -> None:
    file.unlink()
    time.sleep(0.7)
    file.write_bytes(CHANGED)


def write_with_old_times(file: Path) -> None:
    status = file.stat()
    file.write_bytes(CHANGED)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns - 10**12))


def run_script(file: Path) -> None:
    script = (
        "import nbformat; n = nbformat.read('a.ipynb', 4);"
        "n.cells[1].source = '# By another program'; nbformat.write(n, 'a.ipynb')"
    )
    subprocess.run([sys.executable, "-c", script], cwd=file.parent, check=True)


def check_out(file: Path) -> None:
    def git(*arguments: str) -> str:
        command = [str(shutil.which("git")), "-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run([*command, *arguments], cwd=file.parent, check=True, stdout=-1)
        return done.stdout.decode().strip()

    git("init", "-q")
    git("add", NAME)
    git("commit", "-qm", "before")
    file.with_name("other").write_bytes(CHANGED)
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
    open_tab: Opener, write: Callable[[Path], None]
) -> None:
    async with open_tab() as tab:
        await asyncio.to_thread(write, tab.file)
        (event,) = await tab.wait_for(1)
        written = tab.file.read_bytes()
        (edit,) = await tab.list_edits()
        expected = {
            "kind": "changed",
            "path": NAME,
            "is_outside": True,
            "hash_before": compute_hash(TEXT),
            "hash": compute_hash(written),
            "edit_id": edit["edit_id"],
            "cells": [{"op": "changed", "cell_id": "beta", "index": 1}],
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
