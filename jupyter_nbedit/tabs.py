"""Who has which notebook open, and which edits they have shown: pages say so themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

#: What a tab makes of the version on disk.
State = Literal["shown", "merged", "waiting"]


class TabCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What the open tabs of a notebook have said of an edit."""

    open: Annotated[
        int,
        Meta(
            ge=0,
            description="Tabs that have the notebook open, in all pages of JupyterLab. Views of "
            "one tab count once.",
        ),
    ] = 0
    shown: Annotated[
        int, Meta(ge=0, description="Those that show the notebook as it is kept, with the edit.")
    ] = 0
    merged: Annotated[
        int, Meta(ge=0, description="Those that show it beside unsaved changes of their user.")
    ] = 0
    waiting: Annotated[
        int,
        Meta(
            ge=0,
            description="Those that ask their user about it: the edit changed a cell that they "
            "have unsaved changes in.",
        ),
    ] = 0

    @property
    def all_told(self) -> bool:
        """Whether every tab has said what it makes of the edit."""
        return self.shown + self.merged + self.waiting >= self.open


class TabChange(Protocol):
    """What tabs are asked about; the reply to an edit says as much."""

    @property
    def path(self) -> str:
        """The notebook's."""

    @property
    def edit_id(self) -> int | None:
        """The edit's number; None if it has none."""

    @property
    def hash(self) -> str:
        """The sha256 of what is kept."""

    @property
    def is_written(self) -> bool:
        """Whether that is another version than before."""


@dataclass(frozen=True)
class TabReport:
    """What a page has said last of its tabs of one notebook.

    Parameters
    ----------
    edit_id
        The newest edit that it had heard of and has taken in.
    hash
        The version that it has taken in, if it is certain.
    state
        What it made of that.
    """

    edit_id: int | None
    hash: str | None
    state: State


@dataclass(eq=False)
class TabConnection:
    """One page of a browser."""

    open: Mapping[str, int] = field(default_factory=dict)
    reports: dict[str, tuple[int, TabReport]] = field(default_factory=dict)

    def get_state(self, name: str, change: TabChange, since: int) -> State | None:
        """Return what the page has made of a change or a later one, None if it has not told yet."""
        heard, seen = self.reports.get(name, (0, None))
        if seen is None:
            return None
        newest, asked = seen.edit_id, change.edit_id
        if newest is not None and asked is not None and newest >= asked:
            return seen.state
        # Who named the hash earlier may have seen an older version that was the same.
        return seen.state if seen.hash == change.hash and heard > since else None


@dataclass
class TabRegistry:
    """Remembers what pages say, for as long as they are connected.

    What they say is a claim: a page may only err about itself, and nothing but a count depends on
    it.

    Parameters
    ----------
    name
        Gives one name for all by which a notebook may be called.
    """

    name: Callable[[str], str] = str
    #: How often a page has told of what it shows.
    heard: int = 0
    _pages: set[TabConnection] = field(default_factory=set)
    _waiting: dict[str, set[asyncio.Event]] = field(default_factory=dict)

    def connect(self) -> TabConnection:
        """Let a page come; it has nothing open yet."""
        page = TabConnection()
        self._pages.add(page)
        return page

    def disconnect(self, page: TabConnection) -> None:
        """Let a page go."""
        self._pages.discard(page)
        self._wake_waiters(page.open)

    def set_open(self, page: TabConnection, tabs: Mapping[str, int]) -> None:
        """Take in which notebooks a page has open: these, and no others.

        Parameters
        ----------
        page
            As `enter` gave it.
        tabs
            By the notebook's path, how many tabs there are that show it each by itself.
        """
        before, now = page.open, dict[str, int]()
        for path, count in tabs.items():
            name = self.name(path)
            now[name] = now.get(name, 0) + count
        page.open = now
        page.reports = {name: said for name, said in page.reports.items() if name in now}
        self._wake_waiters({**before, **now})

    def report(self, page: TabConnection, path: str, seen: TabReport) -> None:
        """Take in what a page has made of a version of a notebook; of others than its own nothing.

        Parameters
        ----------
        page
            As `enter` gave it.
        path
            The notebook's.
        seen
            What it says.
        """
        name = self.name(path)
        if name in page.open:
            self.heard += 1
            page.reports[name] = (self.heard, seen)
            self._wake_waiters([name])

    async def wait_for_reports(self, change: TabChange, *, since: int, seconds: float) -> TabCounts:
        """Count the tabs of a notebook by what they have made of a change.

        Parameters
        ----------
        change
            Or a later one: who has taken that in has this one.
        since
            What `heard` was before the change.
        seconds
            How long to wait at most until all of them have told. Tabs that open meanwhile are
            waited for, those that close are not; if nothing was written nobody is.
        """
        if not change.is_written:
            since = seconds = 0
        if not (self._pages or seconds):
            return TabCounts()
        name = self.name(change.path)
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        changed = asyncio.Event()
        waiting = self._waiting.setdefault(name, set())
        waiting.add(changed)
        try:
            while True:
                changed.clear()
                counts = self._count(name, change, since)
                left = end - loop.time()
                if counts.all_told or left <= 0:
                    return counts
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(changed.wait(), left)
        finally:
            waiting.discard(changed)
            if not waiting:
                self._waiting.pop(name, None)

    def _count(self, name: str, change: TabChange, since: int) -> TabCounts:
        counts = dict.fromkeys(("open", "shown", "merged", "waiting"), 0)
        for page in self._pages:
            tabs = page.open.get(name, 0)
            counts["open"] += tabs
            state = page.get_state(name, change, since)
            if state is not None:
                counts[state] += tabs
        return TabCounts(**counts)

    def _wake_waiters(self, names: Iterable[str]) -> None:
        for name in names:
            for waiting in self._waiting.get(name, ()):
                waiting.set()
