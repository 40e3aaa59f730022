"""An edit worked out: what it does, and all that is said of it whether it is written or not."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from msgspec import UNSET

from jupyter_nbedit.models import EditReply, WriteRequest
from jupyter_nbedit.notebook.apply import EditPlan, OperationResult, apply_operations
from jupyter_nbedit.notebook.diff import CellChange, MetadataChange, render_unified_diff
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.splices import Splice, iterate_spliced_chunks
from jupyter_nbedit.notebook.undo.edit_summary import CellStep, EditSummary
from jupyter_nbedit.notebook.undo.record import CellContent
from jupyter_nbedit.reading.loading import LoadedNotebook
from jupyter_nbedit.storage.base import Storage, WriteResult

# What one operation costs to work out, in bytes of a notebook to read.
_OPERATION_WEIGHT = 2_000


@dataclass(frozen=True)
class PlannedChange:
    """How a change of a notebook is worked out.

    Parameters
    ----------
    run
        Works it out, which may take time; refuses it by raising an `NbEditError`.
    weight
        How much work that is, in bytes of a notebook that are as much.
    kind
        What the ledger calls it: ``edit``, ``create``, ``undo`` or ``redo``.
    undoes
        The number of the edit that it takes back.
    may_sign
        Whether nothing comes into the notebook that was not in a trusted one.
    """

    build: Callable[[], EditPlan]
    weight: int
    kind: Literal["edit", "create", "undo", "redo"] = "edit"
    undoes: int | None = None
    may_sign: bool = True


def plan_operations(read: LoadedNotebook, operations: Sequence[Operation]) -> PlannedChange:
    """Prepare to apply a batch of operations."""
    sources = sum(len(getattr(operation, "source", None) or "") for operation in operations)

    def run() -> EditPlan:
        return apply_operations(read.document, operations, fresh_id=lambda: uuid.uuid4().hex[:8])

    return PlannedChange(
        run, len(read.content.data) + sources + len(operations) * _OPERATION_WEIGHT
    )


def plan_full_document(text: bytes) -> Callable[[LoadedNotebook], PlannedChange]:
    """Prepare to create a notebook that is given as a whole.

    Raises
    ------
    InvalidNotebook
        If it is none.
    """

    def prepare(base: LoadedNotebook) -> PlannedChange:
        return PlannedChange(
            lambda: _replace_document(base.document, Document.parse(text)), len(text)
        )

    return prepare


def _replace_document(base: Document, given: Document) -> EditPlan:
    """Put a notebook in the place of one without cells."""
    cells = [given.get_cell(index) for index in range(len(given))]
    inserted = [
        CellChange(
            cell_id=cell.id,
            index_before=None,
            index_after=cell.index,
            cell_type_before=None,
            cell_type_after=cell.cell_type,
            source_before="",
            source_after=cell.source,
            is_moved=False,
            outputs_cleared=False,
        )
        for cell in cells
    ]
    splices = [Splice(0, len(base.text), given.text[:])]

    def edit() -> EditSummary:
        steps = [CellStep(cell.id, None, CellContent.from_cell(cell), cell.index) for cell in cells]
        return EditSummary(base, splices, steps, given.written_metadata, len(given))

    return EditPlan(
        splices=splices,
        results=[
            OperationResult(
                op="insert",
                cell_id=cell.id,
                index=cell.index,
                cell_type=cell.cell_type,
                source_hash=cell.source_hash,
            )
            for cell in cells
        ],
        changes=[MetadataChange(base.metadata, given.metadata), *inserted],
        total_cells=len(given),
        summarize=edit,
    )


def compute_spliced_sha256(text: Buffer, splices: Sequence[Splice]) -> str:
    """Return the sha256 of a spliced text."""
    digest = hashlib.sha256()
    for piece in iterate_spliced_chunks(text, splices):
        digest.update(piece)
    return digest.hexdigest()


@dataclass(frozen=True)
class ComputedEdit:
    """A change worked out.

    Parameters
    ----------
    asked
        What was asked.
    read
        The notebook it was worked out for.
    job
        How it was worked out.
    applied
        What it does.
    diff
        The same, for people.
    language
        The language of the code cells after it.
    """

    asked: WriteRequest
    read: LoadedNotebook
    job: PlannedChange
    applied: EditPlan
    diff: str
    language: str | None

    @classmethod
    def compute(cls, asked: WriteRequest, read: LoadedNotebook, job: PlannedChange) -> ComputedEdit:
        """Work a change out.

        Raises
        ------
        NbEditError
            If it is refused.
        """
        applied = job.build()
        after = read.document
        if any(isinstance(change, MetadataChange) for change in applied.changes):
            after = after.apply_splices(applied.splices)
        return cls(
            asked,
            read,
            job,
            applied,
            render_unified_diff(asked.path, applied.changes),
            after.language,
        )

    @cached_property
    def after(self) -> Document:
        """The notebook after it."""
        return self.read.document.apply_splices(self.applied.splices)

    def iterate_entries(self) -> Iterator[dict[str, Any]]:
        """Yield what an event tells of the operations: one entry for each cell."""
        for result in self.applied.results:
            yield from result.iterate_entries()

    def build_reply(self, storage: Storage, written: WriteResult) -> EditReply:
        """Return what was done, or what would be; nobody has given it a number yet."""
        total = self.applied.total_cells
        return EditReply(
            path=self.asked.path,
            edit_id=None,
            hash_before=self.read.hash or None,
            hash=written.hash,
            last_modified=written.last_modified,
            applied_via=storage.kind,
            bytes_preserved=storage.preserves_bytes,
            persisted=written.is_persisted and not self.asked.dry_run,
            dry_run=self.asked.dry_run,
            total_cells=total,
            cells_delta=total - len(self.read.document),
            language=self.language,
            operations=self.applied.results,
            diff=self.diff,
            warnings=written.warnings,
            guard=UNSET if written.guard is None else written.guard,
        )
