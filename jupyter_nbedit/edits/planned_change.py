"""Planned changes, and the edits that are computed from them before anything is written."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from msgspec import UNSET

from jupyter_nbedit.models import EditReply, WriteRequest
from jupyter_nbedit.notebook.apply_batch import EditPlan, OperationResult, apply_operations
from jupyter_nbedit.notebook.diff import CellChange, MetadataChange, render_unified_diff
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.splices import Splice, iterate_spliced_chunks
from jupyter_nbedit.notebook.undo.edit_summary import CellStep, EditSummary
from jupyter_nbedit.notebook.undo.record import CellContent
from jupyter_nbedit.reading.loading import LoadedNotebook
from jupyter_nbedit.storage.base import Storage, WriteResult

# How long one operation takes, as the number of bytes of a notebook that take as long to parse.
_OPERATION_WEIGHT = 2_000


@dataclass(frozen=True)
class PlannedChange:
    """A change of a notebook that is not computed yet.

    Parameters
    ----------
    build
        Computes the change, which may take long; raises an `NbEditError` if it is not possible.
    weight
        How long that takes, as the number of bytes of a notebook that take as long to parse.
    kind
        The kind of the edit in the history.
    undoes
        The number of the edit that the change undoes.
    may_sign
        Whether the notebook stays trusted if it was: False if the change may bring back content
        that was not trusted.
    """

    build: Callable[[], EditPlan]
    weight: int
    kind: Literal["edit", "create", "undo", "redo"] = "edit"
    undoes: int | None = None
    may_sign: bool = True


def plan_operations(notebook: LoadedNotebook, operations: Sequence[Operation]) -> PlannedChange:
    """Return the planned change of a batch of operations."""
    source_size = sum(len(getattr(operation, "source", None) or "") for operation in operations)

    def build() -> EditPlan:
        return apply_operations(
            notebook.document, operations, fresh_id=lambda: uuid.uuid4().hex[:8]
        )

    return PlannedChange(
        build, len(notebook.content.data) + source_size + len(operations) * _OPERATION_WEIGHT
    )


def plan_full_document(data: bytes) -> Callable[[LoadedNotebook], PlannedChange]:
    """Return a function that plans to replace a notebook without cells by other bytes.

    The computation raises `InvalidNotebook` if the bytes are not a notebook.
    """

    def plan(base: LoadedNotebook) -> PlannedChange:
        return PlannedChange(
            lambda: _replace_document(base.document, Document.parse(data)), len(data)
        )

    return plan


def _replace_document(base: Document, document: Document) -> EditPlan:
    """Return the plan to replace a notebook without cells by another one."""
    cells = [document.get_cell(index) for index in range(len(document))]
    inserted_cells = [
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
    splices = [Splice(0, len(base.text), document.text[:])]

    def summarize() -> EditSummary:
        steps = [CellStep(cell.id, None, CellContent.from_cell(cell), cell.index) for cell in cells]
        return EditSummary(base, splices, steps, document.written_metadata, len(document))

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
        changes=[MetadataChange(base.metadata, document.metadata), *inserted_cells],
        total_cells=len(document),
        summarize=summarize,
    )


def compute_spliced_sha256(data: Buffer, splices: Sequence[Splice]) -> str:
    """Return the sha256 of bytes after splices, as hexadecimal digits."""
    digest = hashlib.sha256()
    for chunk in iterate_spliced_chunks(data, splices):
        digest.update(chunk)
    return digest.hexdigest()


@dataclass(frozen=True)
class ComputedEdit:
    """An edit that is computed and not written yet.

    Parameters
    ----------
    request
        The request.
    notebook
        The notebook before the edit.
    change
        The planned change that the edit was computed from.
    plan
        The splices, and what they do to the cells.
    diff
        The same as a unified diff by cell.
    language
        The language of the code cells after the edit; None if the notebook does not name it.
    """

    request: WriteRequest
    notebook: LoadedNotebook
    change: PlannedChange
    plan: EditPlan
    diff: str
    language: str | None

    @classmethod
    def compute(
        cls, request: WriteRequest, notebook: LoadedNotebook, change: PlannedChange
    ) -> ComputedEdit:
        """Compute an edit.

        Raises
        ------
        NbEditError
            If the change is not possible.
        """
        plan = change.build()
        after = notebook.document
        if any(isinstance(item, MetadataChange) for item in plan.changes):
            after = after.apply_splices(plan.splices)
        return cls(
            request,
            notebook,
            change,
            plan,
            render_unified_diff(request.path, plan.changes),
            after.language,
        )

    @cached_property
    def document_after(self) -> Document:
        """The notebook after the edit."""
        return self.notebook.document.apply_splices(self.plan.splices)

    def iterate_entries(self) -> Iterator[dict[str, Any]]:
        """Yield the operations as events list them: one entry for each affected cell."""
        for result in self.plan.results:
            yield from result.iterate_entries()

    def build_reply(self, storage: Storage, result: WriteResult) -> EditReply:
        """Return the reply, still without the number of the edit.

        Parameters
        ----------
        storage
            The storage of the notebook.
        result
            The result of the write, or of the write as it would be.
        """
        total = self.plan.total_cells
        return EditReply(
            path=self.request.path,
            edit_id=None,
            hash_before=self.notebook.hash or None,
            hash=result.hash,
            last_modified=result.last_modified,
            applied_via=storage.kind,
            bytes_preserved=storage.preserves_bytes,
            persisted=result.is_persisted and not self.request.dry_run,
            dry_run=self.request.dry_run,
            total_cells=total,
            cells_delta=total - len(self.notebook.document),
            language=self.language,
            operations=self.plan.results,
            diff=self.diff,
            warnings=result.warnings,
            guard=UNSET if result.guard is None else result.guard,
        )
