"""Planned edits: a change that is computed, not written yet; and the planner of new notebooks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import UNSET, UnsetType

from jupyter_nbedit.notebook.diff import ChangedLines, count_changed_lines, render_unified_diff
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import (
    AffectedCell,
    CellChange,
    EditPlan,
    Kind,
    OperationResult,
)
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.services.history.models import SeenParts
from jupyter_nbedit.services.loading import LoadedNotebook
from jupyter_nbedit.services.replies import CellSources, EditReply, RevisionChanges, UndoneEdit
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.storage.base import Storage, WriteResult
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

if TYPE_CHECKING:
    from typing_extensions import Self

# The kinds of edits that return notebooks to an earlier state.
_REVERSALS = frozenset(("undo", "redo", "undo_cells", "restore"))


@dataclass
class EditResult:
    """What became of a planned edit; its reply is built from this when all is done."""

    #: What was written, or what would be.
    written: WriteResult
    _: KW_ONLY
    #: The number in the history; None if the edit is not there.
    edit_id: int | None = None
    proposal_id: int | UnsetType = UNSET
    changed_since: RevisionChanges | UnsetType = UNSET
    #: What failed after the write.
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PlannedEdit:
    """A change of a notebook, computed and not written yet.

    Parameters
    ----------
    notebook
        The notebook before the edit.
    plan
        The splices, and what they do to the cells.
    diff
        The same as a unified diff by cell.
    changed_lines
        How many lines of sources it changes.
    language
        The language of the code cells after the edit; None if the notebook does not name it.
    kind
        The kind of the edit in the history.
    undoes
        The number of the edit that the change undoes.
    undone
        The edits that the change is about, if it is an undo or redo.
    reversed_parts
        The parts of edits that it takes back, if it is an undo or a restore.
    store_follow_up
        Stores what follows from the edit, whose number it gets (None if it has none), when nobody
        decides on it first. An `NbEditError` of it becomes a warning.
    may_sign
        Whether the notebook stays trusted if it was: False if the change may bring back content
        that was not trusted.
    """

    notebook: LoadedNotebook
    plan: EditPlan
    diff: str
    changed_lines: ChangedLines
    language: str | None
    kind: Kind
    undoes: int | None
    may_sign: bool
    undone: Sequence[UndoneEdit] = ()
    reversed_parts: Sequence[SeenParts] = ()
    store_follow_up: Callable[[int | None], Awaitable[None]] | None = None

    @classmethod
    def from_plan(
        cls,
        notebook: LoadedNotebook,
        plan: EditPlan,
        *,
        kind: Kind = "edit",
        undoes: int | None = None,
        may_sign: bool = True,
        **fields: Any,
    ) -> Self:
        """Return the planned edit with its diff, which may take long; ``fields`` are the others."""
        after = notebook.document
        if plan.changes_metadata:
            after = after.apply_splices(plan.splices)
        diff = render_unified_diff(notebook.path, plan)
        lines = count_changed_lines(plan.changes)
        return cls(notebook, plan, diff, lines, after.language, kind, undoes, may_sign, **fields)

    @cached_property
    def document_after(self) -> Document:
        """The notebook after the edit; the first use may take long."""
        return self.notebook.document.apply_splices(self.plan.splices)

    @property
    def hash_before(self) -> str | None:
        """The hash of the notebook before the edit; None if there was no notebook."""
        return self.notebook.hash or None

    @cached_property
    def affected_cells(self) -> Sequence[AffectedCell]:
        """The operations as events and the history list them: one entry for each cell.

        Accepting a proposal or undoing changes is one operation on many cells: an entry then says
        what became of its cell.
        """
        results = self.plan.results
        # A new notebook without cells has no results.
        op = results[0].op if results else None
        is_undo_of_cells = op == "undo" and self.kind in ("edit", "undo_cells")
        if op is not None and (op == "accept" or is_undo_of_cells) and self.plan.changes:
            changes = sorted(self.plan.changes, key=lambda change: change.sort_key)
            return [
                AffectedCell(
                    _name_operation(change, op),
                    change.id,
                    change.index_before if change.index is None else change.index,
                )
                for change in changes
            ]
        return [cell for result in results for cell in result.list_affected()]

    def build_reply(self, request: WriteRequest, storage: Storage, result: EditResult) -> EditReply:
        """Return the reply when all is done that belongs to the edit, without its tabs."""
        total, written = self.plan.total_cells, result.written
        is_proposed = result.proposal_id is not UNSET
        return EditReply(
            path=request.path,
            edit_id=result.edit_id,
            hash_before=self.hash_before,
            hash=written.hash,
            last_modified=written.last_modified,
            applied_via=storage.kind,
            bytes_preserved=storage.preserves_bytes,
            persisted=written.is_persisted and not request.dry_run and not is_proposed,
            dry_run=request.dry_run,
            total_cells=total,
            cells_delta=total - len(self.notebook.document),
            language=self.language,
            operations=self.plan.results,
            diff=self.diff,
            warnings=[*self.plan.warnings, *written.warnings, *result.warnings],
            proposal_id=result.proposal_id,
            undone=[*self.undone] or UNSET,
            sources=self._list_sources() if request.dry_run and self.kind in _REVERSALS else UNSET,
            guard=UNSET if written.guard is None else written.guard,
            changed_since=result.changed_since,
        )

    def _list_sources(self) -> list[CellSources]:
        sources = [
            CellSources(
                cell_id=change.id,
                index_before=change.index_before,
                index=change.index,
                before=None if change.before is None else change.before.source,
                after=None if change.after is None else change.after.source,
            )
            for change in sorted(self.plan.changes, key=lambda change: change.sort_key)
        ]
        return [cell for cell in sources if cell.before != cell.after]


def _name_operation(change: CellChange, op: str) -> str:
    """Return the operation that does to a cell what an accepted proposal or an undo has done."""
    if op == "undo":
        return "restore" if change.operation == "insert" else op
    if change.operation == "change":
        return "set_metadata" if set(change.changed_members) == {"metadata"} else "replace"
    return change.operation


class Planner(Protocol):
    """Plans a change of a notebook; implemented for batches, undo, proposals and whole files."""

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the change of the notebook as it is now, while it is locked.

        This is called again if the notebook changes before the write; the errors that it raises
        reach the client.
        """


@dataclass(frozen=True)
class NewNotebookPlanner:
    """Plans to replace a notebook without cells by the bytes of a new one.

    Planning raises `InvalidNotebook` if ``data`` is not a notebook.
    """

    data: bytes

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the replacement."""
        return await run_in_thread_if_large(len(self.data), self._replace, notebook)

    def _replace(self, notebook: LoadedNotebook) -> PlannedEdit:
        base, document = notebook.document, Document.parse(self.data)
        cells = [document.get_cell(index) for index in range(len(document))]
        plan = EditPlan(
            document=base,
            splices=[Splice(0, len(base.text), document.text[:])],
            changes=[
                CellChange(cell.id, before=None, after=cell, index=cell.index) for cell in cells
            ],
            metadata=document.written_metadata,
            total_cells=len(document),
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
        )
        return PlannedEdit.from_plan(notebook, plan, kind="create")
