"""Which tabs have told of an edit, and how long is waited for the others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from jupyter_nbedit.tabs import Page, Seen, State, TabCounts, Tabs

OLD, NEW, NEWER = ("0" * 64, "1" * 64, "2" * 64)

#: Only ends a test that hangs.
HANGING_SECONDS = 60


@dataclass(frozen=True)
class Change:
    edit_id: int | None = 7
    hash: str = NEW
    path: str = "a.ipynb"
    is_written: bool = True


def page_with(tabs: Tabs, path: str = "a.ipynb", count: int = 1) -> Page:
    page = tabs.enter()
    tabs.opened(page, {path: count})
    return page


async def now(tabs: Tabs, change: Change | None = None, since: int = 0) -> TabCounts:
    return await tabs.told(change or Change(), since=since, seconds=0)


async def test_nobody_is_counted_where_nothing_is_open() -> None:
    tabs = Tabs()
    page_with(tabs, "b.ipynb")
    assert await now(tabs) == TabCounts()


async def test_tabs_are_counted_by_what_they_have_made_of_the_edit() -> None:
    tabs = Tabs()
    states: list[State] = ["shown", "shown", "merged", "waiting"]
    for state in states:
        tabs.saw(page_with(tabs), "a.ipynb", Seen(7, NEW, state))
    page_with(tabs)
    assert await now(tabs) == TabCounts(open=5, shown=2, merged=1, waiting=1)


async def test_who_has_taken_in_a_later_edit_has_this_one() -> None:
    tabs = Tabs()
    page = page_with(tabs)
    tabs.saw(page, "a.ipynb", Seen(6, OLD, "shown"))
    assert (await now(tabs)).shown == 0
    tabs.saw(page, "a.ipynb", Seen(8, NEWER, "shown"))
    assert (await now(tabs)).shown == 1


async def test_a_tab_that_heard_of_no_edit_is_known_by_the_hash_it_shows() -> None:
    tabs = Tabs()
    page = page_with(tabs)
    since = tabs.heard
    tabs.saw(page, "a.ipynb", Seen(None, NEW, "shown"))
    assert (await now(tabs, since=since)).shown == 1
    assert (await now(tabs, Change(edit_id=None), since=since)).shown == 1
    assert (await now(tabs, Change(hash=NEWER), since=since)).shown == 0


async def test_a_tab_that_showed_the_same_bytes_before_the_edit_has_not_told_of_it() -> None:
    tabs = Tabs()
    page = page_with(tabs)
    tabs.saw(page, "a.ipynb", Seen(5, NEW, "shown"))
    # Others changed it, and the edit takes that back.
    since = tabs.heard
    assert (await now(tabs, since=since)).shown == 0
    tabs.saw(page, "a.ipynb", Seen(5, NEW, "shown"))
    assert (await now(tabs, since=since)).shown == 1


async def test_an_edit_that_changed_nothing_is_shown_by_who_shows_what_is_there() -> None:
    tabs = Tabs()
    tabs.saw(page_with(tabs), "a.ipynb", Seen(5, NEW, "shown"))
    page_with(tabs)
    nothing = Change(edit_id=None, is_written=False)
    telling = tabs.told(nothing, since=tabs.heard, seconds=3600)
    # Nobody waits for the page that has not told.
    counts = await asyncio.wait_for(telling, HANGING_SECONDS)
    assert counts == TabCounts(open=2, shown=1)


async def test_one_page_may_have_several_tabs_of_a_notebook() -> None:
    tabs = Tabs()
    tabs.saw(page_with(tabs, count=2), "a.ipynb", Seen(7, NEW, "shown"))
    assert await now(tabs) == TabCounts(open=2, shown=2)


async def test_all_names_of_a_notebook_are_one() -> None:
    tabs = Tabs(lambda path: path.removeprefix("link/"))
    page = tabs.enter()
    tabs.opened(page, {"link/a.ipynb": 1, "a.ipynb": 1})
    tabs.saw(page, "link/a.ipynb", Seen(7, NEW, "shown"))
    assert await now(tabs, Change(path="link/a.ipynb")) == TabCounts(open=2, shown=2)


async def test_what_a_page_says_of_a_notebook_it_has_not_open_is_not_kept() -> None:
    tabs = Tabs()
    page = page_with(tabs, "b.ipynb")
    tabs.saw(page, "a.ipynb", Seen(7, NEW, "shown"))
    tabs.opened(page, {"a.ipynb": 1})
    assert await now(tabs) == TabCounts(open=1)


async def test_what_was_said_of_a_tab_goes_with_it() -> None:
    tabs = Tabs()
    page = page_with(tabs)
    tabs.saw(page, "a.ipynb", Seen(7, NEW, "shown"))
    tabs.opened(page, {})
    assert await now(tabs) == TabCounts()
    tabs.opened(page, {"a.ipynb": 1})
    assert await now(tabs) == TabCounts(open=1)
    tabs.leave(page)
    assert await now(tabs) == TabCounts()


async def waiting(tabs: Tabs, seconds: float = 3600) -> asyncio.Task[TabCounts]:
    task = asyncio.create_task(tabs.told(Change(), since=tabs.heard, seconds=seconds))
    await asyncio.sleep(0.01)
    assert not task.done()
    return task


async def test_all_open_tabs_are_waited_for() -> None:
    tabs = Tabs()
    one, other = page_with(tabs), page_with(tabs)
    task = await waiting(tabs)
    tabs.saw(one, "a.ipynb", Seen(7, NEW, "merged"))
    await asyncio.sleep(0.01)
    assert not task.done()
    tabs.saw(other, "a.ipynb", Seen(7, NEW, "shown"))
    assert await task == TabCounts(open=2, shown=1, merged=1)


async def test_a_tab_that_closes_is_not_waited_for() -> None:
    tabs = Tabs()
    one, other = page_with(tabs), page_with(tabs)
    task = await waiting(tabs)
    tabs.opened(one, {})
    await asyncio.sleep(0.01)
    tabs.leave(other)
    assert await task == TabCounts()


async def test_a_tab_that_opens_meanwhile_is_waited_for() -> None:
    tabs = Tabs()
    one = page_with(tabs)
    task = await waiting(tabs)
    late = page_with(tabs)
    tabs.saw(one, "a.ipynb", Seen(7, NEW, "shown"))
    await asyncio.sleep(0.01)
    assert not task.done()
    tabs.saw(late, "a.ipynb", Seen(None, NEW, "shown"))
    assert await task == TabCounts(open=2, shown=2)


async def test_a_page_that_never_answers_is_waited_for_so_long_and_no_longer() -> None:
    tabs = Tabs()
    page_with(tabs)
    await waiting(tabs, 3600)
    telling = tabs.told(Change(), since=tabs.heard, seconds=0.2)
    assert await asyncio.wait_for(telling, HANGING_SECONDS) == TabCounts(open=1)


async def test_who_stops_waiting_leaves_nothing_behind() -> None:
    tabs = Tabs()
    page = page_with(tabs)
    task = await waiting(tabs)
    other = await waiting(tabs)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    tabs.saw(page, "a.ipynb", Seen(7, NEW, "shown"))
    assert (await other).shown == 1
    assert not tabs._waiting
