"""The registry of open tabs: which pages have which notebook open, and which edits they show."""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from jupyter_nbedit.db.notebook_names import NotebookName, NotebookNames

#: What a tab does with a new version of the notebook.
State = Literal["shown", "merged", "waiting"]
ApiPath = Annotated[str, Meta(min_length=1)]

# 128 bits, which nobody can guess.
_PAGE_ID_BYTES = 16
# Two of sha512: for a pair, the Contents API returns the hashes of both files.
_MAX_HASH_LENGTH = 256


class TabCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The number of open tabs of a notebook, by what they have reported about an edit."""

    open: Annotated[
        int,
        Meta(
            ge=0,
            description="Tabs that have the notebook open, in all pages of JupyterLab. Views of "
            "one tab count once.",
        ),
    ] = 0
    shown: Annotated[
        int, Meta(ge=0, description="Tabs that show the notebook as it is stored, with the edit.")
    ] = 0
    merged: Annotated[
        int, Meta(ge=0, description="Tabs that show it together with unsaved changes of the user.")
    ] = 0
    waiting: Annotated[
        int,
        Meta(
            ge=0,
            description="Tabs that ask the user: the edit changed a cell with unsaved changes.",
        ),
    ] = 0

    @property
    def has_all_reports(self) -> bool:
        """Whether every tab has reported."""
        return self.shown + self.merged + self.waiting >= self.open


class TabReport(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The report of a page about its tabs of a notebook, as the page sends it."""

    path: ApiPath
    state: State
    #: The version that the tabs have; None if the page does not know it.
    hash: Annotated[str, Meta(max_length=_MAX_HASH_LENGTH)] | None = None
    #: The newest edit that the tabs have.
    edit_id: Annotated[int, Meta(ge=0)] | None = None

    def has_edit(self, edit_id: int | None, notebook_hash: str) -> bool:
        """Return whether the tabs have an edit or a later edit; ``edit_id`` is None if unknown."""
        if self.edit_id is not None and edit_id is not None and self.edit_id >= edit_id:
            return True
        return self.hash == notebook_hash


@dataclass(eq=False)
class TabConnection:
    """The connection of one page, with its open tabs and its reports by notebook."""

    #: The account that has opened the page.
    account: str = ""
    #: Known to this page only; who sends it is the person in the page.
    page_id: str = field(default_factory=lambda: secrets.token_hex(_PAGE_ID_BYTES), repr=False)
    open: Mapping[NotebookName, int] = field(default_factory=dict)
    #: The names of the open notebooks, by the paths by which the page calls them.
    names: Mapping[str, NotebookName] = field(default_factory=dict)
    reports: dict[NotebookName, TabReport] = field(default_factory=dict)


@dataclass
class TabRegistry:
    """Remembers the open tabs of all connected pages, and their reports.

    The reports are not verified, but a page can only report about its own tabs, and they are used
    for counts only.
    """

    notebook_names: NotebookNames
    #: False if no server runs; no page can then connect.
    has_server: bool = True
    _pages: dict[str, TabConnection] = field(default_factory=dict, repr=False)
    # Is set at the next change of any page, and is then replaced.
    _change: asyncio.Event = field(default_factory=asyncio.Event)
    # The same for a change of the open notebooks only.
    _open_change: asyncio.Event = field(default_factory=asyncio.Event)

    def connect(self, account: str = "") -> TabConnection:
        """Add a page of an account, without open tabs."""
        page = TabConnection(account)
        self._pages[page.page_id] = page
        return page

    def has_page(self, page_id: str, account: str) -> bool:
        """Return whether a page of an account has this id and is connected."""
        page = self._pages.get(page_id)
        return page is not None and page.account == account

    def disconnect(self, page: TabConnection) -> None:
        """Remove a page."""
        self._pages.pop(page.page_id, None)
        self._wake_waiters()
        self._wake_observers()

    def set_open(self, page: TabConnection, tabs: Mapping[str, int]) -> None:
        """Replace the open tabs of a page: their number by the path of the notebook."""
        after = dict[NotebookName, int]()
        names = {path: self.notebook_names.find(path) for path in tabs}
        for path, name in names.items():
            after[name] = after.get(name, 0) + tabs[path]
        page.open = after
        page.reports = {name: report for name, report in page.reports.items() if name in after}
        self._wake_waiters()
        if names != page.names:
            page.names = names
            self._wake_observers()

    def list_open(self) -> dict[str, set[str]]:
        """Return the open notebooks: by one path, all paths by which tabs call them."""
        notebooks: dict[NotebookName, set[str]] = {}
        for page in self._pages.values():
            for path, name in page.names.items():
                notebooks.setdefault(name, set()).add(path)
        return {
            self.notebook_names.get_path(name) or min(paths): paths
            for name, paths in notebooks.items()
        }

    async def wait_for_open_change(self, seconds: float | None = None) -> None:
        """Wait until a page opens or closes a notebook, at most for so many seconds."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._open_change.wait(), seconds)

    def report(self, page: TabConnection, report: TabReport) -> bool:
        """Store the report of a page; return False if the page does not have the notebook open."""
        name = self.notebook_names.find(report.path)
        if name not in page.open:
            return False
        page.reports[name] = report
        self._wake_waiters()
        return True

    def is_open(self, path: str) -> bool:
        """Return whether a page has the notebook open."""
        return self.count_open(path) > 0

    def count_open(self, path: str) -> int:
        """Return how many tabs have a notebook open."""
        if not self._pages:
            return 0
        name = self.notebook_names.find(path)
        return sum(page.open.get(name, 0) for page in self._pages.values())

    async def wait_for_reports(
        self, path: str, edit_id: int | None, notebook_hash: str, *, seconds: float
    ) -> TabCounts:
        """Count the tabs of a notebook by what they have reported about an edit or a later edit.

        ``edit_id`` is None if the edit is not in the history; ``notebook_hash`` is the hash after
        the edit. Wait until all tabs have reported, including tabs that open while this waits, but
        at most ``seconds``.
        """
        if not (self._pages or seconds):
            return TabCounts()
        name = self.notebook_names.find(path)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            page_change, counts = self._change, self._count(name, edit_id, notebook_hash)
            remaining_seconds = deadline - loop.time()
            if counts.has_all_reports or remaining_seconds <= 0:
                return counts
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(page_change.wait(), remaining_seconds)

    def _count(self, name: NotebookName, edit_id: int | None, notebook_hash: str) -> TabCounts:
        counts = dict.fromkeys(("open", "shown", "merged", "waiting"), 0)
        for page in self._pages.values():
            tabs = page.open.get(name, 0)
            counts["open"] += tabs
            report = page.reports.get(name)
            if report is not None and report.has_edit(edit_id, notebook_hash):
                counts[report.state] += tabs
        return TabCounts(**counts)

    def _wake_waiters(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    def _wake_observers(self) -> None:
        self._open_change.set()
        self._open_change = asyncio.Event()
