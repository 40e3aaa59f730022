"""Which tabs have reported an edit, and how long an edit waits for the others."""

import asyncio
from pathlib import Path

import pytest

from jupyter_nbedit.services.tabs import TabConnection, TabCounts, TabRegistry, TabReport
from tests.support.names import FolderNames

OLD, NEW, NEWER = ("0" * 64, "1" * 64, "2" * 64)
NAME = "a.ipynb"
# A test would not wait for so long.
FOREVER_SECONDS = 1e6
EDIT_ID = 7


def open_page(tabs: TabRegistry, path: str = NAME, count: int = 1) -> TabConnection:
    page = tabs.connect()
    tabs.set_open(page, {path: count})
    return page


async def count(
    tabs: TabRegistry, edit_id: int | None = EDIT_ID, notebook_hash: str = NEW, path: str = NAME
) -> TabCounts:
    return await tabs.wait_for_reports(path, edit_id, notebook_hash, seconds=0)


@pytest.mark.parametrize(
    ("seen", "edit_id", "notebook_hash", "shown"),
    [
        # A tab with a later edit has this one.
        (TabReport(NAME, "shown", OLD, 6), EDIT_ID, NEW, 0),
        (TabReport(NAME, "shown", NEWER, 8), EDIT_ID, NEW, 1),
        # A tab without events is known by its hash.
        (TabReport(NAME, "shown", NEW, None), EDIT_ID, NEW, 1),
        (TabReport(NAME, "shown", NEW, None), None, NEW, 1),
        (TabReport(NAME, "shown", NEW, None), 7, NEWER, 0),
    ],
)
async def test_a_tab_has_reported_if_it_shows_the_newest_edit_or_its_hash(
    seen: TabReport, edit_id: int | None, notebook_hash: str, shown: int
) -> None:
    tabs = TabRegistry(FolderNames())
    page = open_page(tabs)
    tabs.report(page, seen)
    assert (await count(tabs, edit_id, notebook_hash)).shown == shown


async def test_a_tab_that_shows_the_bytes_of_the_edit_already_needs_no_report() -> None:
    tabs = TabRegistry(FolderNames())
    tabs.report(open_page(tabs), TabReport(NAME, "shown", NEW, 5))
    open_page(tabs)
    assert await count(tabs) == TabCounts(open=2, shown=1)


async def test_a_page_may_have_several_tabs_of_a_notebook_under_several_names(
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    tabs = TabRegistry(FolderNames(folder=str(tmp_path)))
    page = tabs.connect()
    tabs.set_open(page, {f"link/{NAME}": 1, NAME: 2})
    tabs.report(page, TabReport(f"link/{NAME}", "shown", NEW, 7))
    assert await count(tabs, path=f"link/{NAME}") == TabCounts(open=3, shown=3)


async def test_a_report_about_a_notebook_that_is_not_open_is_ignored() -> None:
    tabs = TabRegistry(FolderNames())
    page = open_page(tabs, "b.ipynb")
    tabs.report(page, TabReport(NAME, "shown", NEW, 7))
    tabs.set_open(page, {NAME: 1})
    assert await count(tabs) == TabCounts(open=1)
    tabs.report(page, TabReport(NAME, "shown", NEW, 7))
    tabs.set_open(page, {})
    assert await count(tabs) == TabCounts()
    tabs.set_open(page, {NAME: 1})
    assert await count(tabs) == TabCounts(open=1)
    tabs.disconnect(page)
    assert await count(tabs) == TabCounts()


async def begin_to_wait(tabs: TabRegistry) -> asyncio.Task[TabCounts]:
    """Wait in a task for tabs that never report."""
    waiting = tabs.wait_for_reports(NAME, EDIT_ID, NEW, seconds=FOREVER_SECONDS)
    task = asyncio.create_task(waiting)
    await take_turns()
    assert not task.done()
    return task


async def take_turns() -> None:
    """Run all tasks that are ready."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_the_wait_includes_tabs_that_open_meanwhile() -> None:
    tabs = TabRegistry(FolderNames())
    one, other = open_page(tabs), open_page(tabs)
    task = await begin_to_wait(tabs)
    late = open_page(tabs)
    for page, seen in (
        (one, TabReport(NAME, "merged", NEW, 7)),
        (other, TabReport(NAME, "shown", NEW, 7)),
        (late, TabReport(NAME, "shown", NEW, None)),
    ):
        await take_turns()
        assert not task.done()
        tabs.report(page, seen)
    assert await task == TabCounts(open=3, shown=2, merged=1)


async def test_a_tab_that_closes_is_not_waited_for() -> None:
    tabs = TabRegistry(FolderNames())
    one, other = open_page(tabs), open_page(tabs)
    task = await begin_to_wait(tabs)
    tabs.set_open(one, {})
    await take_turns()
    tabs.disconnect(other)
    assert await task == TabCounts()


async def test_a_cancelled_wait_does_not_affect_others() -> None:
    tabs = TabRegistry(FolderNames())
    page = open_page(tabs)
    task, other = await begin_to_wait(tabs), await begin_to_wait(tabs)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    tabs.report(page, TabReport(NAME, "shown", NEW, 7))
    assert (await other).shown == 1


def test_the_id_of_a_page_is_in_no_representation() -> None:
    tabs = TabRegistry(FolderNames())
    page = tabs.connect("ada")
    assert tabs.has_page(page.page_id, "ada")
    assert page.page_id not in f"{tabs!r}{page!r}"
