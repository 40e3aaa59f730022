"""A batch of operations applied to a document: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.actions import AffectedCells, apply_operation
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.diff import CellChange, MetadataChange
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edited_cell import EditedCell, decode_metadata
from jupyter_nbedit.notebook.operations import (
    ClearOutputs,
    Merge,
    Operation,
    Replace,
    ReplaceText,
    Split,
    get_name,
    validate_operation,
)
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.edit_summary import CellStep, EditSummary
from jupyter_nbedit.notebook.undo.record import CellContent, UndoRecord
from jupyter_nbedit.notebook.working_copy import WorkingCopy

_CLEARING = (Replace, ReplaceText, Split, Merge, ClearOutputs)


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """One of the cells that an operation touched."""

    cell_id: str | None
    index: Annotated[
        int,
        Meta(
            description="Where the cell stands after the batch; of one that is gone, where it "
            "stood before."
        ),
    ]
    cell_type: str
    source_hash: str
    outputs_cleared: (
        Annotated[bool, Meta(description="Whether the cell had outputs and has none any more.")]
        | UnsetType
    ) = UNSET
    source: (
        Annotated[str, Meta(description="What the cell said, if the operation took it out.")]
        | UnsetType
    ) = UNSET


class OperationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation did.

    The fields of a cell are those of the one cell that the operation names or makes; they are null
    if it is about several, which are in ``cells``, or about the notebook as a whole.
    """

    op: str
    cell_id: str | None
    index: Annotated[
        int | None,
        Meta(
            description="Where the cell stands after the batch; of a deleted one, where it stood "
            "before."
        ),
    ]
    cell_type: str | None
    source_hash: str | None
    outputs_cleared: bool | UnsetType = UNSET
    source: (
        Annotated[str, Meta(description="What the cell said, if the operation took it out.")]
        | UnsetType
    ) = UNSET
    cells: (
        Annotated[
            list[CellResult],
            Meta(
                description="All cells the operation touched, if it is one that may touch several."
            ),
        ]
        | UnsetType
    ) = UNSET

    def iterate_entries(self) -> Iterator[dict[str, Any]]:
        """Yield what an event tells of the operation: one entry for each cell."""
        for cell in [self] if self.cells is UNSET else self.cells:
            yield {"op": self.op, "cell_id": cell.cell_id, "index": cell.index}


@dataclass(frozen=True)
class EditPlan:
    """What a batch does to a document.

    Parameters
    ----------
    splices
        On the document's bytes; none if nothing changes.
    results
        One for each operation.
    changes
        What a reader of a diff is shown.
    total_cells
        How many cells there are afterwards.
    edit
        Gives what the batch does, cell by cell.
    """

    splices: list[Splice]
    results: list[OperationResult]
    changes: list[CellChange | MetadataChange]
    total_cells: int
    edit: Callable[[], EditSummary]

    def build_record(self) -> UndoRecord:
        """Return what is to be kept so that the batch can be taken back."""
        return self.edit().build_record()

    def build_forward_record(self) -> UndoRecord:
        """Return what is to be kept so that the batch can be done later, or a part of it.

        It is the record of the opposite edit, on the notebook as the batch would leave it: to take
        that back is to do the batch. The notebook is parsed for it.
        """
        return self.edit().invert().build_record()


def apply_operations(
    document: Document, operations: Sequence[Operation], *, fresh_id: Callable[[], str]
) -> EditPlan:
    """Work out what a batch of operations does.

    Parameters
    ----------
    document
        The notebook. Ids, indexes, sections and guards mean it, as it is before the batch; texts
        and protections mean the cells as the operations before have left them.
    operations
        The batch. An operation may name a cell that an earlier one inserted with an id.
    fresh_id
        Gives a random cell id; called again if a cell has it already.

    Raises
    ------
    NbEditError
        The first refusal; ``details["operation"]`` is the index of the operation it is about.
    """
    workspace = WorkingCopy(document, fresh_id)
    done: list[tuple[int, Operation, AffectedCells]] = []
    for number, operation in enumerate(operations):
        try:
            validate_operation(operation)
            done.append((number, operation, apply_operation(operation, workspace, number)))
        except NbEditError as refusal:
            refusal.details.setdefault("operation", number)
            raise
    order = workspace.arrangement.build_order()
    return build_plan(workspace, order, [_build_result(order, *each) for each in done])


def build_plan(
    workspace: WorkingCopy,
    order: FinalOrder,
    results: list[OperationResult],
    exact: Sequence[Splice] | None = None,
) -> EditPlan:
    """Return what has been done to a notebook.

    Parameters
    ----------
    workspace
        The notebook, with all its cells and its metadata as they shall be.
    order
        The order in which they shall stand.
    results
        What is answered.
    exact
        Splices that do the same, to be taken instead of those that would be made.
    """
    splices = compile_splices(workspace, order) if exact is None else list(exact)
    return EditPlan(
        splices=splices,
        results=results,
        changes=list(compile_changes(workspace, order)),
        total_cells=len(order),
        edit=partial(compile_edit, workspace, order, splices),
    )


def _build_result(
    order: FinalOrder, number: int, operation: Operation, touched: AffectedCells
) -> OperationResult:
    nothing = dict.fromkeys(("cell_id", "index", "cell_type", "source_hash"))
    told = (
        nothing if touched.cell is None else _describe_cell(order, number, operation, touched.cell)
    )
    cells: list[CellResult] | UnsetType = UNSET
    if touched.cells is not None:
        cells = [
            CellResult(**_describe_cell(order, number, operation, one)) for one in touched.cells
        ]
    if isinstance(operation, Merge) and touched.cells is not None:
        # The outputs of all its parts go.
        told["outputs_cleared"] = any(one.outputs_cleared for one in touched.cells)
    return OperationResult(op=get_name(operation), cells=cells, **told)


def _describe_cell(
    order: FinalOrder, number: int, operation: Operation, draft: EditedCell
) -> dict[str, Any]:
    """Return what is told of a cell that an operation touched."""
    taken_out = draft.removed_by == number
    clears = isinstance(operation, _CLEARING) and not taken_out
    return {
        "cell_id": draft.id,
        "index": _get_index(order, draft),
        "cell_type": draft.cell_type,
        "source_hash": draft.source_hash,
        "outputs_cleared": draft.outputs_cleared if clears else UNSET,
        "source": draft.source if taken_out else UNSET,
    }


def _get_index(order: FinalOrder, draft: EditedCell) -> int:
    return order.get_index(draft.token) if draft.removed_by is None else draft.anchor_index


def compile_splices(workspace: WorkingCopy, order: FinalOrder) -> list[Splice]:
    """Return what is to be done to the bytes."""
    style = workspace.style
    written: set[int] = set()

    def write(token: int) -> bytes:
        written.add(token)
        return workspace.cells[token].write_cell(style)

    done = order.compile_splices(style, write)
    for draft in workspace.cells.values():
        # A cell that was moved to where it was is not written with its neighbours.
        if draft.removed_by is None and draft.token not in written:
            done += draft.compile_splices(style)
    document, metadata = workspace.document, workspace.metadata
    if metadata != document.written_metadata:
        if metadata is None:
            done.append(_remove_metadata(document))
        elif document.metadata_span is not None:
            done.append(Splice(*document.metadata_span, metadata))
        else:
            end = document.members[-1].value.stop
            own = style.get_notebook_style()
            member = own.object.separator + own.write_member("metadata", metadata)
            done.append(Splice(end, end, member))
    return sorted(done)


def _remove_metadata(document: Document) -> Splice:
    members = document.members
    at = next(at for at, member in enumerate(members) if member.name == "metadata")
    if at:
        return Splice(members[at - 1].value.stop, members[at].value.stop, b"")
    return Splice(members[at].name_span.start, members[at + 1].name_span.start, b"")


def compile_changes(
    workspace: WorkingCopy, order: FinalOrder
) -> Iterator[CellChange | MetadataChange]:
    """Yield what a reader of a diff is shown."""
    document, metadata = workspace.document, workspace.metadata
    if metadata != document.written_metadata:
        yield MetadataChange(document.metadata, decode_metadata(metadata))
    for draft in workspace.cells.values():
        yield _compile_change(draft, order)


def _compile_change(draft: EditedCell, order: FinalOrder) -> CellChange:
    cell, gone = draft.cell, draft.removed_by is not None
    changed = {
        name for name, value in draft.members.items() if cell is None or value != cell.get_raw(name)
    }
    metadata = None
    if "metadata" in changed and not gone and (cell is not None or draft.metadata):
        metadata = MetadataChange(cell.metadata if cell else {}, draft.metadata)
    return CellChange(
        cell_id=draft.id,
        index_before=cell.index if cell else None,
        index_after=None if gone else order.get_index(draft.token),
        cell_type_before=cell.cell_type if cell else None,
        cell_type_after=None if gone else draft.cell_type,
        before=cell.source if cell else "",
        after="" if gone else draft.source,
        moved=draft.moved,
        outputs_cleared=not gone and draft.outputs_cleared,
        attachments_changed="attachments" in changed and not gone,
        metadata=metadata,
    )


def compile_edit(workspace: WorkingCopy, order: FinalOrder, made: list[Splice]) -> EditSummary:
    """Return what was done to each cell, and by which splices."""
    moved = order.moved
    steps = [
        step
        for draft in workspace.cells.values()
        if (step := _compile_step(draft, order, moved)) is not None
    ]
    return EditSummary(workspace.document, made, steps, workspace.metadata, len(order))


def _compile_step(draft: EditedCell, order: FinalOrder, moved: Collection[int]) -> CellStep | None:
    if draft.removed_by is not None:
        return None if draft.cell is None else CellStep(draft.id, draft.cell, None, None)
    touched = draft.changed_members
    if draft.cell is not None and not touched and draft.token not in moved:
        return None
    return CellStep(
        draft.id,
        draft.cell,
        CellContent(draft.cell_type, draft.source, draft.metadata, draft.attachments),
        order.get_index(draft.token),
        moved=draft.token in moved,
        touched=touched,
        cleared=draft.outputs_cleared,
        returned=draft.outputs_returned,
    )
