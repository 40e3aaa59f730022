"""Show notebooks to whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType

from jupyter_nbedit.beside import away
from jupyter_nbedit.errors import Overtaken
from jupyter_nbedit.loading import Documents, Loaded, settled
from jupyter_nbedit.messages import Kernelspec, LeftOut, ReadReply, Selection, Since
from jupyter_nbedit.notebook.budget import fit
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.sections import Outline
from jupyter_nbedit.notebook.view import CellView, Omitted, cell_views
from jupyter_nbedit.readings import Readings
from jupyter_nbedit.storage import Storages
from jupyter_nbedit.trust import Trust
from jupyter_nbedit.versions import Changes, Versions

# How often a notebook is read anew because somebody wrote it meanwhile.
_ATTEMPTS = 8


@dataclass
class NotebookReader:
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
    trust: Trust
    readings: Readings
    versions: Versions
    documents: Documents = field(default_factory=Documents)

    async def read(
        self, path: str, selection: Selection, *, known: Callable[[str], bool]
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
            with suppress(Overtaken):
                return await self._attempt(path, selection, known)
        return await self._attempt(path, selection, known)

    async def _attempt(
        self, path: str, selection: Selection, known: Callable[[str], bool]
    ) -> ReadReply | str:
        storage = await self.storages.of(path)
        read = await settled(storage, path, self.documents)
        document, digest = read.document, await read.hashed()
        self.documents.note(digest, document)
        size = len(document.text)
        await away(size, self.versions.note, digest, document)
        # What cannot be shown has not been read, nor is it known.
        selected = await away(size, self._selected, document, digest, selection)
        if known(digest):
            self.readings.note(selection.session, path, digest)
            return digest
        shown = await away(size, _shown, document, selected, selection)
        self.readings.note(selection.session, path, digest)
        return ReadReply(
            path=path,
            hash=digest,
            last_modified=read.content.last_modified,
            nbformat=4,
            nbformat_minor=document.nbformat_minor,
            language=document.language,
            kernelspec=_kernelspec(document.metadata.get("kernelspec")),
            trusted=await self._is_trusted(read),
            live=storage.kind == "room",
            total_cells=len(document),
            cells=shown.cells,
            next=shown.next,
            omitted=shown.omitted,
            since=shown.since,
        )

    async def _is_trusted(self, read: Loaded) -> bool:
        """Tell whether the notebook is trusted; the notary is asked where nobody knows better."""
        if read.content.trusted is not None:
            return read.content.trusted
        return await self.trust.known(read.document, read.hash) is not None

    def _selected(self, document: Document, digest: str, selection: Selection) -> _Selected:
        chosen = _chosen(document, selection)
        since: Since | UnsetType = UNSET
        if selection.since is not None:
            # The current version needs no memory to be compared with itself.
            changes = (
                Changes([], [], reordered=False, total_cells=len(document))
                if selection.since == digest
                else self.versions.changed_since(selection.since, document)
            )
            changed = set(changes.indexes)
            chosen = [index for index in chosen if index in changed]
            since = Since(
                hash=selection.since,
                changed=len(changes.indexes),
                gone=changes.gone,
                reordered=changes.reordered,
                total_cells=changes.total_cells,
            )
        return _Selected([index for index in chosen if index >= selection.start], since)


@dataclass(frozen=True)
class _Selected:
    """The cells that were asked for, and what has changed since when."""

    indexes: list[int]
    since: Since | UnsetType


def _shown(document: Document, selected: _Selected, selection: Selection) -> _Shown:
    chosen = selected.indexes
    page = chosen[: selection.limit]
    cells = (document.cell(index) for index in page)
    if selection.max_chars is None:
        views = cell_views(cells, selection.show)
        omitted: LeftOut | UnsetType = UNSET
    else:
        views = fit(cells, selection.show, selection.max_chars)
        omitted = _left_out(views, len(page) - len(views))
    following = chosen[len(views)] if len(views) < len(chosen) else None
    return _Shown(views, following, omitted, selected.since)


@dataclass(frozen=True)
class _Shown:
    """The part of a reply that depends on what was asked for."""

    cells: list[CellView]
    next: int | None
    omitted: LeftOut | UnsetType
    since: Since | UnsetType


def _chosen(document: Document, selection: Selection) -> Sequence[int]:
    """Find the indexes of the cells that are named, in order; all if none is."""
    if not selection.cells and not selection.sections:
        return range(len(document))
    chosen = {document.locate(document.address(cell)) for cell in selection.cells}
    if selection.sections:
        outline = Outline(document)
        for name in selection.sections:
            chosen.update(outline.section(name).cells)
    return sorted(chosen)


def _left_out(views: Sequence[CellView], cells: int) -> LeftOut:
    """Add up what is left out."""
    omitted = [view.omitted for view in views if isinstance(view.omitted, Omitted)]
    return LeftOut(
        cells=cells,
        source=sum(one.source for one in omitted),
        metadata=sum(one.metadata for one in omitted),
        attachments=sum(one.attachments for one in omitted),
        outputs=sum(one.outputs for one in omitted),
        output_count=sum(one.output_count for one in omitted),
    )


def _kernelspec(value: Any) -> Kernelspec | None:
    if not isinstance(value, dict):
        return None
    name, display_name = value.get("name"), value.get("display_name")
    return Kernelspec(
        name if isinstance(name, str) else None,
        display_name if isinstance(display_name, str) else None,
    )
