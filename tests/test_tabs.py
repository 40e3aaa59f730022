"""Which tabs have reported an edit, and how long an edit waits for the others."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_nbedit.tabs import TabChange, TabConnection, TabCounts, TabRegistry, TabReport

OLD, NEW, NEWER = ("0" * 64, "1" * 64, "2" * 64)
NAME = "a.ipynb"
# A test would not wait for so long.
FOREVER_SECONDS = 1e6
CHANGE = TabChange(NAME, 7, NEW)


def open_page(tabs: TabRegistry, path: str = NAME, count: int = 1) -> TabConnection:
    page = tabs.connect()
    tabs.set_open(page, {path: count})
    return page


async def count(tabs: TabRegistry, change: TabChange = CHANGE, since: int = 0) -> TabCounts:
    return await tabs.wait_for_reports(change, since=since, seconds=0)


@pytest.mark.parametrize(
    ("seen", "change", "shown"),
    [
        # A tab with a later edit has this one.
        (TabReport(6, OLD, "shown"), CHANGE, 0),
        (TabReport(8, NEWER, "shown"), CHANGE, 1),
        # A tab without events is known by its hash.
        (TabReport(None, NEW, "shown"), CHANGE, 1),
        (TabReport(None, NEW, "shown"), TabChange(NAME, None, NEW), 1),
        (TabReport(None, NEW, "shown"), TabChange(NAME, 7, NEWER), 0),
    ],
)
async def test_a_tab_has_reported_if_it_shows_the_newest_edit_or_its_hash(
    seen: TabReport, change: TabChange, shown: int
) -> None:
    tabs = TabRegistry()
    page = open_page(tabs)
    since = tabs.report_count
    tabs.report(page, NAME, seen)
    assert (await count(tabs, change, since)).shown == shown


async def test_a_tab_that_showed_the_same_bytes_before_the_edit_has_not_reported() -> None:
    tabs = TabRegistry()
    page = open_page(tabs)
    tabs.report(page, NAME, TabReport(5, NEW, "shown"))
    # Others changed it, and the edit takes that back.
    since = tabs.report_count
    assert (await count(tabs, since=since)).shown == 0
    tabs.report(page, NAME, TabReport(5, NEW, "shown"))
    assert (await count(tabs, since=since)).shown == 1


async def test_an_empty_edit_needs_no_report() -> None:
    tabs = TabRegistry()
    tabs.report(open_page(tabs), NAME, TabReport(5, NEW, "shown"))
    open_page(tabs)
    nothing = TabChange(NAME, None, NEW, is_written=False)
    counts = await tabs.wait_for_reports(nothing, since=tabs.report_count, seconds=FOREVER_SECONDS)
    assert counts == TabCounts(open=2, shown=1)


async def test_a_page_may_have_several_tabs_of_a_notebook_under_several_names() -> None:
    tabs = TabRegistry(lambda path: path.removeprefix("link/"))
    page = tabs.connect()
    tabs.set_open(page, {f"link/{NAME}": 1, NAME: 2})
    tabs.report(page, f"link/{NAME}", TabReport(7, NEW, "shown"))
    assert await count(tabs, TabChange(f"link/{NAME}", 7, NEW)) == TabCounts(open=3, shown=3)


async def test_a_report_about_a_notebook_that_is_not_open_is_ignored() -> None:
    tabs = TabRegistry()
    page = open_page(tabs, "b.ipynb")
    tabs.report(page, NAME, TabReport(7, NEW, "shown"))
    tabs.set_open(page, {NAME: 1})
    assert await count(tabs) == TabCounts(open=1)
    tabs.report(page, NAME, TabReport(7, NEW, "shown"))
    tabs.set_open(page, {})
    assert await count(tabs) == TabCounts()
    tabs.set_open(page, {NAME: 1})
    assert await count(tabs) == TabCounts(open=1)
    tabs.disconnect(page)
    assert await count(tabs) == TabCounts()


async def begin_to_wait(tabs: TabRegistry) -> asyncio.Task[TabCounts]:
    """Wait in a task for tabs that never report."""
    waiting = tabs.wait_for_reports(CHANGE, since=tabs.report_count, seconds=FOREVER_SECONDS)
    task = asyncio.create_task(waiting)
    await take_turns()
    assert not task.done()
    return task


async def take_turns() -> None:
    """Run all tasks that are ready."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_the_wait_includes_tabs_that_open_meanwhile() -> None:
    tabs = TabRegistry()
    one, other = open_page(tabs), open_page(tabs)
    task = await begin_to_wait(tabs)
    late = open_page(tabs)
    for page, seen in (
        (one, TabReport(7, NEW, "merged")),
        (other, TabReport(7, NEW, "shown")),
        (late, TabReport(None, NEW, "shown")),
    ):
        await take_turns()
        assert not task.done()
        tabs.report(page, NAME, seen)
    assert await task == TabCounts(open=3, shown=2, merged=1)


async def test_a_tab_that_closes_is_not_waited_for() -> None:
    tabs = TabRegistry()
    one, other = open_page(tabs), open_page(tabs)
    task = await begin_to_wait(tabs)
    tabs.set_open(one, {})
    await take_turns()
    tabs.disconnect(other)
    assert await task == TabCounts()


async def test_a_cancelled_wait_does_not_affect_others() -> None:
    tabs = TabRegistry()
    page = open_page(tabs)
    task, other = await begin_to_wait(tabs), await begin_to_wait(tabs)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    tabs.report(page, NAME, TabReport(7, NEW, "shown"))
    assert (await other).shown == 1
