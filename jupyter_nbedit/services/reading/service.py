"""The read service: load a notebook and return a view of its cells."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.document import REV_LENGTH, Document
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.notebook.sections import Outline
from jupyter_nbedit.notebook.text_cells import (
    DEFAULT_CHARACTERS,
    TextOptions,
    TextOutputs,
    TextView,
    render_page,
)
from jupyter_nbedit.notebook.views import (
    CellTruncation,
    CellView,
    ViewOptions,
    render_cells,
    render_within_budget,
)
from jupyter_nbedit.services.history.numbered_ids import check_numbered_ids
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import (
    DocumentCache,
    LoadedNotebook,
    load_notebook,
    repeat_while_changed,
)
from jupyter_nbedit.services.reading.delta import list_parts, read_metadata
from jupyter_nbedit.services.reading.models import (
    ChangesSince,
    DeltaReply,
    Kernelspec,
    NotebookText,
    ReadOptions,
    ReadReply,
    TruncationTotals,
)
from jupyter_nbedit.services.reading.read_tracker import ReadTracker
from jupyter_nbedit.services.reading.versions import VersionCache, build_unknown_error
from jupyter_nbedit.services.requests import get_or_none
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.trust.manager import TrustManager


@dataclass(frozen=True)
class _Selection:
    """A notebook, and the cells of it that a request is about."""

    notebook: LoadedNotebook
    is_room: bool
    indexes: Sequence[int]
    since: ChangesSince | UnsetType


@dataclass
class ReadService:
    """Reads notebooks, and remembers what was read."""

    storages: StorageResolver
    trust: TrustManager
    read_tracker: ReadTracker
    versions: VersionCache
    documents: DocumentCache = field(default_factory=DocumentCache)
    #: Knows the ids of deleted cells; None if there is no history.
    history: EditStore | None = None
    # The versions that tabs have reported last, by the paths that are being read for them.
    _shown_hashes: dict[str, str] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def close(self) -> None:
        """Stop reading notebooks for tabs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @repeat_while_changed
    async def read(
        self, path: str, options: ReadOptions, *, session: str = "", is_known: Callable[[str], bool]
    ) -> ReadReply | str:
        """Read a notebook; return only its hash if the reader already knows that version.

        The session has read the notebook then; see `ReadTracker`.

        Raise the errors of `load_notebook`, and `CellNotFound`, `AmbiguousCell`, `CellChanged`,
        `SectionNotFound`, `AmbiguousSection` or `VersionUnknown` for the options.
        """
        selection = await self._load(path, options)
        notebook, indexes = selection.notebook, selection.indexes
        document, notebook_hash = notebook.document, notebook.hash
        if is_known(notebook_hash):
            self.read_tracker.record(session, path, notebook_hash)
            return notebook_hash
        page = indexes[: get_or_none(options.limit)]
        views, omitted = await run_in_thread_if_large(
            len(document.text), _render_page, document, page, options
        )
        self.read_tracker.record(session, path, notebook_hash)
        return ReadReply(
            path=path,
            hash=notebook_hash,
            last_modified=notebook.content.last_modified,
            nbformat=4,
            nbformat_minor=document.nbformat_minor,
            language=document.language,
            kernelspec=_read_kernelspec(document.metadata.get("kernelspec")),
            trusted=await self._is_trusted(notebook),
            live=selection.is_room,
            total_cells=len(document),
            cells=views,
            next=indexes[len(views)] if len(views) < len(indexes) else None,
            omitted=omitted,
            since=selection.since,
        )

    @repeat_while_changed
    async def read_hash(self, path: str) -> str:
        """Return the hash of a notebook; its bytes are read only if the hash is not known.

        Raise the errors of `Storage.read`.
        """
        storage = await self.storages.resolve(path)
        content = await storage.read(path)
        if content.hash is not None:
            return content.hash
        return await run_in_thread_if_large(len(content.data), compute_sha256, content.data)

    @repeat_while_changed
    async def read_delta(self, path: str, since: str) -> DeltaReply:
        """Return the difference of a notebook from the version of a hash.

        Raise `VersionUnknown` if the server does not know that version, or does not store the
        notebook as the file that the Contents API shows, and the errors of `load_notebook`.
        """
        storage = await self.storages.resolve(path)
        if not storage.is_plain_file:
            raise build_unknown_error(since)
        notebook = await load_notebook(storage, path, self.documents)
        notebook_hash = await notebook.compute_hash()
        self.documents.put(notebook_hash, notebook.document)
        size = len(notebook.document.text)
        reply = await run_in_thread_if_large(size, self._build_delta, notebook, since)
        return msgspec.structs.replace(reply, trusted=await self._is_trusted(notebook))

    def _build_delta(self, notebook: LoadedNotebook, since: str) -> DeltaReply:
        """Return the delta, as if the notebook were not trusted."""
        document = notebook.document
        before = None if since == notebook.hash else self.versions.get(since)
        after = self.versions.remember(notebook.hash, document)
        before = after if before is None else before
        minor = after.nbformat_minor
        return DeltaReply(
            since=since,
            hash=notebook.hash,
            last_modified=notebook.content.last_modified,
            trusted=False,
            cells=list_parts(before, after, document),
            metadata=read_metadata(before, after, document),
            nbformat_minor=UNSET if before.nbformat_minor == minor else minor,
        )

    def remember_shown_version(self, path: str, notebook_hash: str) -> None:
        """Soon remember a version that a tab shows, if the notebook is still this version.

        The tab can then get a later change of the notebook, by any program, as a delta.
        """
        if self.versions.is_known(notebook_hash):
            return
        is_reading = path in self._shown_hashes
        self._shown_hashes[path] = notebook_hash
        if not is_reading:
            task = asyncio.create_task(self._remember_shown_versions(path))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _remember_shown_versions(self, path: str) -> None:
        """Remember the version that was reported last, until no other one is reported meanwhile."""
        notebook_hash = ""
        try:
            while notebook_hash != self._shown_hashes[path]:
                notebook_hash = self._shown_hashes[path]
                # Without the version, the tab reads the whole notebook.
                with suppress(NbEditError):
                    await self._remember_shown_version(path, notebook_hash)
        finally:
            del self._shown_hashes[path]

    async def _remember_shown_version(self, path: str, notebook_hash: str) -> None:
        storage = await self.storages.resolve(path)
        if not storage.is_plain_file or self.versions.is_known(notebook_hash):
            return
        notebook = await load_notebook(storage, path, self.documents)
        if await notebook.compute_hash() == notebook_hash:
            size = len(notebook.document.text)
            await run_in_thread_if_large(
                size, self.versions.remember, notebook_hash, notebook.document
            )

    @repeat_while_changed
    async def read_text(
        self, path: str, options: ReadOptions, *, session: str = "", is_known: Callable[[str], bool]
    ) -> NotebookText | str:
        """Read a notebook as compact text; everything else is as in `read`."""
        selection = await self._load(path, options)
        notebook, since = selection.notebook, selection.since
        document = notebook.document
        if is_known(notebook.hash):
            self.read_tracker.record(session, path, notebook.hash)
            return notebook.hash
        indexes = selection.indexes[: get_or_none(options.limit)]
        page = await run_in_thread_if_large(
            len(document.text), render_page, document, indexes, _build_text_options(options)
        )
        self.read_tracker.record(session, path, notebook.hash)
        return NotebookText(
            path=path,
            hash=notebook.hash,
            total_cells=len(document),
            language=document.language,
            is_trusted=await self._is_trusted(notebook),
            is_room=selection.is_room,
            body=page.text,
            since=since,
        )

    async def _load(self, path: str, options: ReadOptions) -> _Selection:
        """Load a notebook and select the requested cells; invalid options raise an error."""
        storage = await self.storages.resolve(path)
        notebook = await load_notebook(storage, path, self.documents)
        document, notebook_hash = notebook.document, await notebook.compute_hash()
        self.documents.put(notebook_hash, document)
        if self.history is not None:
            await check_numbered_ids(self.history, path, document, options.cell)
        size = len(document.text)
        indexes, since = await run_in_thread_if_large(
            size, self._select_cells, document, notebook_hash, options
        )
        return _Selection(notebook, storage.is_shared, indexes, since)

    async def _is_trusted(self, notebook: LoadedNotebook) -> bool:
        """Return whether the notebook is trusted, by the notary if the storage does not know."""
        if notebook.content.is_trusted is not None:
            return notebook.content.is_trusted
        return await self.trust.find_signature(notebook.document, notebook.hash) is not None

    def _select_cells(
        self, document: Document, notebook_hash: str, options: ReadOptions
    ) -> tuple[list[int], ChangesSince | UnsetType]:
        """Remember the version; return the indexes of the requested cells, from `start` on."""
        self.versions.remember(notebook_hash, document)
        cells = _find_cells(document, notebook_hash, options)
        indexes = [index for index in cells if index >= options.start]
        since = options.since
        if since is UNSET:
            return indexes, UNSET
        is_rev = len(since) >= REV_LENGTH
        if since == notebook_hash or (is_rev and notebook_hash.startswith(since)):
            # The cache may not have this version.
            return [], ChangesSince(
                hash=notebook_hash, changed=0, gone=[], reordered=False, total_cells=len(document)
            )
        since = self.versions.find(since) if is_rev else since
        changed_indexes, changes = self.versions.compare(since, document)
        requested = set(indexes)
        return [index for index in changed_indexes if index in requested], changes


def _render_page(
    document: Document, indexes: Sequence[int], options: ReadOptions
) -> tuple[list[CellView], TruncationTotals | UnsetType]:
    cells = (document.get_cell(index) for index in indexes)
    show = ViewOptions(get_or_none(options.view) or "source", get_or_none(options.outputs))
    if options.max_chars is UNSET:
        return render_cells(cells, show), UNSET
    views = render_within_budget(cells, show, options.max_chars)
    return views, _count_truncated(views, len(indexes) - len(views))


def _build_text_options(options: ReadOptions) -> TextOptions:
    view: TextView = get_or_none(options.view) or "auto"
    outputs: TextOutputs = "text" if view == "full" else "summary"
    if options.outputs is not UNSET:
        outputs = "text" if options.outputs == "full" else options.outputs
    is_selection = bool(options.cell or options.section) or options.since is not UNSET
    return TextOptions(
        view, outputs, is_selection, get_or_none(options.max_chars) or DEFAULT_CHARACTERS
    )


def _find_cells(document: Document, notebook_hash: str, options: ReadOptions) -> Sequence[int]:
    """Return the indexes of the cells that the options name, in order; all if they name none."""
    if not options.cell and not options.section:
        return range(len(document))
    is_current = options.rev is not UNSET and notebook_hash.startswith(options.rev)
    indexes = {
        document.locate(document.parse_address(cell), is_current=is_current)
        for cell in options.cell
    }
    if options.section:
        outline = Outline(document)
        for name in options.section:
            indexes.update(outline.find_section(name).cells)
    return sorted(indexes)


def _count_truncated(views: Sequence[CellView], cells: int) -> TruncationTotals:
    """Return the totals over the cells of a page, of which so many are left out altogether."""
    omitted = [view.omitted for view in views if isinstance(view.omitted, CellTruncation)]
    totals = {
        name: sum(getattr(cell, name) for cell in omitted)
        for name in CellTruncation.__struct_fields__
    }
    return TruncationTotals(cells=cells, **totals)


def _read_kernelspec(value: Any) -> Kernelspec | None:
    if not isinstance(value, dict):
        return None
    name, display_name = value.get("name"), value.get("display_name")
    return Kernelspec(
        name if isinstance(name, str) else None,
        display_name if isinstance(display_name, str) else None,
    )
