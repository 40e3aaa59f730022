"""The Python API for other server extensions."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.api import PythonAPI
from jupyter_nbedit.errors import (
    AmbiguousCell,
    CellNotFound,
    HashMismatch,
    InvalidOperation,
    InvalidRequest,
    NothingToUndo,
    PlanMode,
)
from jupyter_nbedit.notebook.cell_names import CellName
from jupyter_nbedit.notebook.operations import Replace
from jupyter_nbedit.services.tabs import TabCounts, TabReport
from jupyter_nbedit.wiring import WiredServices
from tests.handlers.requests import find_services
from tests.support import samples
from tests.support.http import Local
from tests.support.waiting import wait_until_async

NAME = "a.ipynb"
TEXT = samples.three_cells()
REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}


@pytest.fixture
def api(jp_serverapp: Any) -> PythonAPI:
    found = jp_serverapp.web_app.settings["jupyter_nbedit"]
    assert isinstance(found, PythonAPI)
    return found


@pytest.fixture
def wired(jp_serverapp: Any) -> WiredServices:
    return find_services(jp_serverapp)


def text(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def sources(path: Path) -> list[str]:
    return [cell["source"] for cell in samples.load_cells(text(path))]


async def test_an_edit_is_answered_and_recorded_like_one_over_http(
    api: PythonAPI, wired: WiredServices, local: Local, local_file: Path
) -> None:
    reply = await api.edit(NAME, [REPLACE], user="ada", client="an extension", message="why")
    assert sources(local_file)[1] == "# Changed"
    assert reply.operations[0].cell_id == "beta"
    entry = await wired.edit_history.get_entry(NAME, reply.edit_id or 0)
    assert (entry.user, entry.client, entry.message) == ("ada", "an extension", "why")
    over_http = await local.patch(NAME, {**REPLACE, "source": "again"})
    assert over_http.json["hash_before"] == reply.hash


async def test_the_rev_chooses_among_cells_with_one_source(
    api: PythonAPI, local_file: Path
) -> None:
    write(local_file, samples.notebook(samples.raw("twin"), samples.raw("twin"), minor=4))
    name = str(CellName.from_source(1, "twin"))
    with pytest.raises(AmbiguousCell) as error:
        await api.edit(NAME, [{**REPLACE, "cell": name}], user="ada")
    rev = error.value.details["rev"]
    await api.edit(NAME, [{**REPLACE, "cell": name}], user="ada", rev=rev)
    assert sources(local_file) == ["twin", "# Changed"]


async def test_operations_may_be_structs(api: PythonAPI, local_file: Path) -> None:
    await api.edit(NAME, [Replace(cell="alpha", source="x = 2"), REPLACE], user="ada")
    assert sources(local_file)[:2] == ["x = 2", "# Changed"]


async def test_an_error_is_raised_and_nothing_is_written(api: PythonAPI, local_file: Path) -> None:
    for operations, fields, failure in (
        ([{**REPLACE, "cell": "nobody"}], {}, CellNotFound),
        ([REPLACE], {"hash": "0" * 64}, HashMismatch),
        ([REPLACE, {"op": "explode"}], {}, InvalidOperation),
        ([{**REPLACE, "source": "\ud800"}], {}, InvalidRequest),
        ([], {}, InvalidRequest),
        ([REPLACE], {"client": "x" * 1000}, InvalidRequest),
    ):
        with pytest.raises(failure):
            await api.edit(NAME, operations, user="ada", **fields)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest):
        await api.undo(NAME, 0, user="ada")
    assert text(local_file) == TEXT


@pytest.mark.parametrize("jp_server_config", [{"NbEditApp": {"mode": "plan"}}], indirect=True)
async def test_plan_mode_applies_to_extensions(api: PythonAPI, local_file: Path) -> None:
    with pytest.raises(PlanMode):
        await api.edit(NAME, [REPLACE], user="ada")
    assert text(local_file) == TEXT


async def test_an_edit_is_undone_and_redone(api: PythonAPI, local_file: Path) -> None:
    first = await api.edit(NAME, [REPLACE], user="ada")
    changed = text(local_file)
    with pytest.raises(NothingToUndo) as error:
        await api.undo(NAME, user="ada", client="an extension")
    assert error.value.details["newest"]["edit_id"] == first.edit_id
    undone = await api.undo(NAME, user="ada", client="an extension", whose="all")
    assert text(local_file) == TEXT
    assert undone.operations[0].op == "undo"
    assert [edit.user for edit in undone.undone or []] == ["ada"]
    await api.undo(NAME, undone.edit_id, user="ada", redo=True)
    assert text(local_file) == changed
    assert first.edit_id is not None


async def test_an_edit_waits_for_open_tabs(
    api: PythonAPI, wired: WiredServices, local_file: Path
) -> None:
    page = wired.services.tabs.connect()
    wired.services.tabs.set_open(page, {local_file.name: 1})
    waiting = asyncio.create_task(api.edit(NAME, [REPLACE], user="ada", wait_tabs=60_000))
    await wait_until_async(lambda: text(local_file) != TEXT)
    assert not waiting.done()
    wired.services.tabs.report(page, TabReport(NAME, "shown", edit_id=1_000))
    assert (await waiting).tabs == TabCounts(open=1, shown=1)
    assert (await api.undo(NAME, user="ada")).tabs.open == 1


async def wait_for(events: list[Any], count: int) -> None:
    await wait_until_async(lambda: len(events) >= count)


@pytest.mark.usefixtures("local_file")
async def test_a_listener_gets_every_edit_until_it_is_removed(api: PythonAPI, local: Local) -> None:
    events: list[dict[str, Any]] = []
    stop = api.on_edit(events.append)
    over_http = await local.patch(NAME, REPLACE, client="robo")
    reply = await api.edit(NAME, [{**REPLACE, "source": "2"}], user="ada")
    await wait_for(events, 2)
    assert [event["edit_id"] for event in events] == [over_http.json["edit_id"], reply.edit_id]
    assert (events[0]["client"], events[1]["user"]) == ("robo", "ada")
    assert events[1]["operations"] == [{"op": "replace", "cell_id": "beta", "index": 1}]
    assert "source" not in str(events)
    stop()
    stop()
    others: list[dict[str, Any]] = []
    api.on_edit(others.append)
    await api.edit(NAME, [{**REPLACE, "source": "3"}], user="ada")
    await wait_for(others, 1)
    assert len(events) == 2


@pytest.mark.usefixtures("local_file")
async def test_a_forged_event_is_not_passed_to_listeners(
    api: PythonAPI, jp_serverapp: Any, local: Local
) -> None:
    events: list[dict[str, Any]] = []
    api.on_edit(events.append)
    await api.edit(NAME, [REPLACE], user="ada")
    await wait_for(events, 1)
    schema = "urn:jupyter-nbedit:edit:v1"
    jp_serverapp.event_logger.emit(schema_id=schema, data={**events[0], "client": "forged"})
    await local.patch(NAME, {**REPLACE, "source": "2"})
    await wait_for(events, 2)
    assert "forged" not in str(events)


async def test_a_failing_listener_is_logged_and_affects_no_other(
    api: PythonAPI, local_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[dict[str, Any]] = []

    def fail(event: dict[str, Any]) -> None:
        event.clear()
        message = "a listener's own"
        raise ValueError(message)

    async def fail_later(event: dict[str, Any]) -> None:
        event["operations"].clear()
        await asyncio.sleep(0)
        message = "a coroutine's own"
        raise ValueError(message)

    api.on_edit(fail)
    api.on_edit(fail_later)
    api.on_edit(events.append)
    reply = await api.edit(NAME, [REPLACE], user="ada")
    assert reply.warnings == []
    assert sources(local_file)[1] == "# Changed"
    await wait_for(events, 1)
    assert events[0]["operations"]
    assert f"A listener for edits failed at edit {reply.edit_id}" in caplog.text
    assert "a coroutine's own" in caplog.text
    assert "a listener's own" in caplog.text
    assert caplog.text.count("A listener for edits failed") == 2


async def test_a_listener_may_edit(api: PythonAPI, local_file: Path) -> None:
    replies: list[Any] = []

    async def answer(event: dict[str, Any]) -> None:
        if event["client"] != "echo":
            replace = {"op": "replace", "cell": "alpha", "source": "# seen"}
            replies.append(await api.edit(event["path"], [replace], user="echo", client="echo"))

    api.on_edit(answer)
    await api.edit(NAME, [REPLACE], user="ada")
    await wait_for(replies, 1)
    assert sources(local_file)[:2] == ["# seen", "# Changed"]


async def test_unseen_changes_are_kept_undone_and_restored(
    api: PythonAPI, local_file: Path
) -> None:
    first = await api.edit(NAME, [REPLACE], user="agent")
    await api.edit(NAME, [{"op": "delete", "cell": "gamma"}], user="agent")
    unseen = await api.get_unseen(NAME, user="ada")
    beta, gamma = [cell.key for cell in unseen.cells]
    kept = await api.keep(NAME, [beta], user="ada", until=unseen.until)
    assert [cell.key for cell in kept.cells] == [gamma]
    # This server makes up the names of users: all are one account.
    assert (await api.get_unseen(NAME, user="bob")).cells == kept.cells
    await api.undo_cells(NAME, [gamma], user="ada", client="an extension")
    assert (await api.get_unseen(NAME, user="ada")).cells == []
    reply = await api.restore(NAME, first.edit_id or 0, user="ada", dry_run=True)
    assert (reply.hash, reply.edit_id) == (first.hash, None)
    assert text(local_file) == TEXT.replace(b"# Title", b"# Changed")
    assert (await api.keep(NAME, user="ada")).cells == []
