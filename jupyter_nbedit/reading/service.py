"""Show notebooks to whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.errors import ChangedDuringRead
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.sections import Outline
from jupyter_nbedit.notebook.view_budget import render_within_budget
from jupyter_nbedit.notebook.views import CellTruncation, CellView, render_cells
from jupyter_nbedit.reading.loading import DocumentCache, LoadedNotebook, load_notebook
from jupyter_nbedit.reading.models import (
    ChangesSince,
    Kernelspec,
    ReadOptions,
    ReadReply,
    TruncationTotals,
)
from jupyter_nbedit.reading.read_tracker import ReadTracker
from jupyter_nbedit.reading.versions import VersionCache, VersionDiff
from jupyter_nbedit.storage.base import Storages
from jupyter_nbedit.trust.manager import TrustManager

# How often a notebook is read anew because somebody wrote it meanwhile.
_ATTEMPTS = 8


@dataclass
class ReadService:
    """Reads notebooks.

    Parameters
    ----------
    storages
        The ways in which notebooks are kept.
    trust
        Knows which notebooks are trusted.
    readings
        Knows who has read what.
    versions
        Knows what the versions that were shown looked like.
    documents
        Those that need not be parsed again.
    """

    storages: Storages
    trust: TrustManager
    readings: ReadTracker
    versions: VersionCache
    documents: DocumentCache = field(default_factory=DocumentCache)

    async def read(
        self, path: str, selection: ReadOptions, *, known: Callable[[str], bool]
    ) -> ReadReply | str:
        """Read a notebook.

        Parameters
        ----------
        path
            Its API path.
        selection
            Which cells, and how much of them.
        known
            Tells whether the reader has the version with a hash already; then only the hash is
            returned.

        Raises
        ------
        NbEditError
            Of the storage or the notebook; `CellNotFound`, `AmbiguousCell`, `SectionNotFound`,
            `AmbiguousSection` or `VersionUnknown` of the selection.
        """
        for _ in range(_ATTEMPTS - 1):
            with suppress(ChangedDuringRead):
                return await self._try_read(path, selection, known)
        return await self._try_read(path, selection, known)

    async def _try_read(
        self, path: str, selection: ReadOptions, known: Callable[[str], bool]
    ) -> ReadReply | str:
        storage = await self.storages.resolve(path)
        read = await load_notebook(storage, path, self.documents)
        document, digest = read.document, await read.compute_hash()
        self.documents.put(digest, document)
        size = len(document.text)
        await run_in_thread_if_large(size, self.versions.remember, digest, document)
        # What cannot be shown has not been read, nor is it known.
        selected = await run_in_thread_if_large(
            size, self._select_cells, document, digest, selection
        )
        if known(digest):
            self.readings.record(selection.session, path, digest)
            return digest
        shown = await run_in_thread_if_large(size, _render_cells, document, selected, selection)
        self.readings.record(selection.session, path, digest)
        return ReadReply(
            path=path,
            hash=digest,
            last_modified=read.content.last_modified,
            nbformat=4,
            nbformat_minor=document.nbformat_minor,
            language=document.language,
            kernelspec=_read_kernelspec(document.metadata.get("kernelspec")),
            trusted=await self._is_trusted(read),
            live=storage.kind == "room",
            total_cells=len(document),
            cells=shown.cells,
            next=shown.next,
            omitted=shown.omitted,
            since=shown.since,
        )

    async def _is_trusted(self, read: LoadedNotebook) -> bool:
        """Return whether the notebook is trusted; the notary is asked where nobody knows better."""
        if read.content.is_trusted is not None:
            return read.content.is_trusted
        return await self.trust.find_digest(read.document, read.hash) is not None

    def _select_cells(
        self, document: Document, digest: str, selection: ReadOptions
    ) -> _SelectedCells:
        chosen = _choose_cells(document, selection)
        since: ChangesSince | UnsetType = UNSET
        if selection.since is not None:
            # The current version needs no memory to be compared with itself.
            changes = (
                VersionDiff([], [], reordered=False, total_cells=len(document))
                if selection.since == digest
                else self.versions.compare(selection.since, document)
            )
            changed = set(changes.indexes)
            chosen = [index for index in chosen if index in changed]
            since = ChangesSince(
                hash=selection.since,
                changed=len(changes.indexes),
                gone=changes.gone,
                reordered=changes.reordered,
                total_cells=changes.total_cells,
            )
        return _SelectedCells([index for index in chosen if index >= selection.start], since)


@dataclass(frozen=True)
class _SelectedCells:
    """The cells that were asked for, and what has changed since when."""

    indexes: list[int]
    since: ChangesSince | UnsetType


def _render_cells(
    document: Document, selected: _SelectedCells, selection: ReadOptions
) -> _RenderedCells:
    chosen = selected.indexes
    page = chosen[: selection.limit]
    cells = (document.get_cell(index) for index in page)
    if selection.max_chars is None:
        views = render_cells(cells, selection.show)
        omitted: TruncationTotals | UnsetType = UNSET
    else:
        views = render_within_budget(cells, selection.show, selection.max_chars)
        omitted = _count_truncated(views, len(page) - len(views))
    following = chosen[len(views)] if len(views) < len(chosen) else None
    return _RenderedCells(views, following, omitted, selected.since)


@dataclass(frozen=True)
class _RenderedCells:
    """The part of a reply that depends on what was asked for."""

    cells: list[CellView]
    next: int | None
    omitted: TruncationTotals | UnsetType
    since: ChangesSince | UnsetType


def _choose_cells(document: Document, selection: ReadOptions) -> Sequence[int]:
    """Find the indexes of the cells that are named, in order; all if none is."""
    if not selection.cells and not selection.sections:
        return range(len(document))
    chosen = {document.locate(document.parse_address(cell)) for cell in selection.cells}
    if selection.sections:
        outline = Outline(document)
        for name in selection.sections:
            chosen.update(outline.find_section(name).cells)
    return sorted(chosen)


def _count_truncated(views: Sequence[CellView], cells: int) -> TruncationTotals:
    """Add up what is left out."""
    omitted = [view.omitted for view in views if isinstance(view.omitted, CellTruncation)]
    return TruncationTotals(
        cells=cells,
        source=sum(one.source for one in omitted),
        metadata=sum(one.metadata for one in omitted),
        attachments=sum(one.attachments for one in omitted),
        outputs=sum(one.outputs for one in omitted),
        output_count=sum(one.output_count for one in omitted),
    )


def _read_kernelspec(value: Any) -> Kernelspec | None:
    if not isinstance(value, dict):
        return None
    name, display_name = value.get("name"), value.get("display_name")
    return Kernelspec(
        name if isinstance(name, str) else None,
        display_name if isinstance(display_name, str) else None,
    )
