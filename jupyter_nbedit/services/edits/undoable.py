"""Which edits of the history later changes prevent from being undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.undo.net_change import decode_record
from jupyter_nbedit.notebook.undo.revert import is_in_conflict
from jupyter_nbedit.services.reading.loading import LoadedNotebook, load_notebook
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

if TYPE_CHECKING:
    from jupyter_nbedit.services.history.models import Entry, HistoryEdit
    from jupyter_nbedit.services.history.store import EditStore
    from jupyter_nbedit.services.reading.loading import DocumentCache
    from jupyter_nbedit.storage.resolver import StorageResolver

# The newest edits that are compared, and the most bytes of their records.
_MAX_EDITS = 200
_MAX_BYTES = 8 << 20
# How long it takes to compare an edit, as bytes of a notebook to parse.
_EDIT_WEIGHT = 2_000


@dataclass(frozen=True)
class UndoConflictFinder:
    """Compares the newest edits of a notebook with the notebook as it is now."""

    history: EditStore
    storages: StorageResolver
    documents: DocumentCache

    async def find(self, path: str, edits: Sequence[HistoryEdit]) -> frozenset[int]:
        """Return the numbers of the edits whose undo is prevented by later changes.

        There is none among older edits than are compared, nor if the notebook cannot be read.
        """
        candidates = [edit for edit in edits if edit.undoable]
        if not candidates:
            return frozenset()
        try:
            storage = await self.storages.resolve(path)
            notebook = await load_notebook(storage, path, self.documents)
            await notebook.compute_hash()
        except NbEditError:
            # The history can be read without its notebook.
            return frozenset()
        numbers = {edit.edit_id for edit in candidates if edit.hash != notebook.hash}
        if not numbers:
            return frozenset()
        entries, _ = await self.history.list_newer(
            path, min(numbers) - 1, limit=_MAX_EDITS, max_bytes=_MAX_BYTES
        )
        compared = [entry for entry in entries if entry.edit_id in numbers]
        weight = len(notebook.content.data) + sum(
            len(entry.record) + _EDIT_WEIGHT for entry in compared
        )
        return await run_in_thread_if_large(weight, _compare, notebook, compared)


def _compare(notebook: LoadedNotebook, entries: Sequence[Entry]) -> frozenset[int]:
    conflicts: set[int] = set()
    for entry in entries:
        # One record at a time is in memory: decoded, it may be many times as large.
        record = decode_record(entry.record)
        if record is None or is_in_conflict(notebook.document, record):
            conflicts.add(entry.edit_id)
    return frozenset(conflicts)
