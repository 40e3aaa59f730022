"""Apply a batch of operations to a document: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.apply_operation import AffectedCells, apply_operation
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
    get_operation_name,
    validate_operation,
)
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.edit_summary import CellStep, EditSummary
from jupyter_nbedit.notebook.undo.record import CellContent, UndoRecord
from jupyter_nbedit.notebook.working_copy import WorkingCopy

_OUTPUT_CLEARING_OPERATIONS = (Replace, ReplaceText, Split, Merge, ClearOutputs)


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """One of the cells that an operation affected."""

    cell_id: str | None
    index: Annotated[
        int,
        Meta(description="The cell's index after the batch; of a deleted cell, its index before."),
    ]
    cell_type: str
    source_hash: str
    outputs_cleared: (
        Annotated[bool, Meta(description="Whether the cell had outputs that were cleared.")]
        | UnsetType
    ) = UNSET
    source: (
        Annotated[str, Meta(description="The cell's source, if the operation removed it.")]
        | UnsetType
    ) = UNSET


class OperationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation did.

    The fields of a cell describe the one cell that the operation addresses or inserts. They are
    null if the operation is about several cells, which are in ``cells``, or about the notebook
    itself.
    """

    op: str
    cell_id: str | None
    index: Annotated[
        int | None,
        Meta(description="The cell's index after the batch; of a deleted cell, its index before."),
    ]
    cell_type: str | None
    source_hash: str | None
    outputs_cleared: bool | UnsetType = UNSET
    source: (
        Annotated[str, Meta(description="The cell's source, if the operation removed it.")]
        | UnsetType
    ) = UNSET
    cells: (
        Annotated[
            list[CellResult],
            Meta(description="All affected cells, if the operation can affect several."),
        ]
        | UnsetType
    ) = UNSET

    def iterate_entries(self) -> Iterator[dict[str, Any]]:
        """Yield the entries of an event: one for each affected cell."""
        for cell in [self] if self.cells is UNSET else self.cells:
            yield {"op": self.op, "cell_id": cell.cell_id, "index": cell.index}


@dataclass(frozen=True)
class EditPlan:
    """What a batch does to a document."""

    #: Splices on the document's bytes; empty if nothing changes.
    splices: list[Splice]
    #: One result for each operation.
    results: list[OperationResult]
    #: The changes that a diff shows.
    changes: list[CellChange | MetadataChange]
    #: The number of cells afterwards.
    total_cells: int
    #: Returns what the batch does to each cell; computed only when an undo record is needed.
    summarize: Callable[[], EditSummary]

    def build_record(self) -> UndoRecord:
        """Return the record that undoes the batch."""
        return self.summarize().build_record()

    def build_forward_record(self) -> UndoRecord:
        """Return a record that applies the batch, or parts of it, at a later time.

        It is the undo record of the inverse edit, for the notebook as the batch would leave it:
        undoing the inverse applies the batch. This parses that notebook.
        """
        return self.summarize().invert().build_record()


def apply_operations(
    document: Document, operations: Sequence[Operation], *, fresh_id: Callable[[], str]
) -> EditPlan:
    """Compute what a batch of operations does.

    Parameters
    ----------
    document
        The notebook. Ids, indexes, sections and `expect` refer to it as it is before the batch;
        replaced texts and cell protection refer to the cells as earlier operations left them.
    operations
        The batch. An operation may address a cell that an earlier operation inserted with an id.
    fresh_id
        Returns a random cell id; called again if a cell already has it.

    Raises
    ------
    NbEditError
        The first error; ``details["operation"]`` is the index of the operation that caused it.
    """
    working_copy = WorkingCopy(document, fresh_id)
    results: list[tuple[int, Operation, AffectedCells]] = []
    for number, operation in enumerate(operations):
        try:
            validate_operation(operation)
            results.append((number, operation, apply_operation(operation, working_copy, number)))
        except NbEditError as error:
            error.details.setdefault("operation", number)
            raise
    order = working_copy.cell_order.build_order()
    return build_plan(working_copy, order, [_build_result(order, *each) for each in results])


def build_plan(
    working_copy: WorkingCopy,
    order: FinalOrder,
    results: list[OperationResult],
    exact_splices: Sequence[Splice] | None = None,
) -> EditPlan:
    """Return the plan for a notebook whose cells have been edited.

    Exact splices, with the same effect, are used instead of computed ones.
    """
    splices = compile_splices(working_copy, order) if exact_splices is None else list(exact_splices)
    return EditPlan(
        splices=splices,
        results=results,
        changes=list(compile_changes(working_copy, order)),
        total_cells=len(order),
        summarize=partial(compile_edit, working_copy, order, splices),
    )


def _build_result(
    order: FinalOrder, number: int, operation: Operation, affected_cells: AffectedCells
) -> OperationResult:
    nothing = dict.fromkeys(("cell_id", "index", "cell_type", "source_hash"))
    values = (
        nothing
        if affected_cells.cell is None
        else _describe_cell(order, number, operation, affected_cells.cell)
    )
    cells: list[CellResult] | UnsetType = UNSET
    if affected_cells.cells is not None:
        cells = [
            CellResult(**_describe_cell(order, number, operation, cell))
            for cell in affected_cells.cells
        ]
    if isinstance(operation, Merge) and affected_cells.cells is not None:
        # All merged cells lose their outputs.
        values["outputs_cleared"] = any(cell.outputs_cleared for cell in affected_cells.cells)
    return OperationResult(op=get_operation_name(operation), cells=cells, **values)


def _describe_cell(
    order: FinalOrder, number: int, operation: Operation, edited_cell: EditedCell
) -> dict[str, Any]:
    is_removed = edited_cell.removed_by == number
    is_clearing = isinstance(operation, _OUTPUT_CLEARING_OPERATIONS) and not is_removed
    return describe_cell(order, edited_cell, is_removed=is_removed, is_clearing=is_clearing)


def describe_cell(
    order: FinalOrder, edited_cell: EditedCell, *, is_removed: bool, is_clearing: bool
) -> dict[str, Any]:
    """Return the fields of a result that describe a cell."""
    return {
        "cell_id": edited_cell.id,
        "index": (
            order.get_index(edited_cell.token)
            if edited_cell.removed_by is None
            else edited_cell.anchor_index
        ),
        "cell_type": edited_cell.cell_type,
        "source_hash": edited_cell.source_hash,
        "outputs_cleared": edited_cell.outputs_cleared if is_clearing else UNSET,
        "source": edited_cell.source if is_removed else UNSET,
    }


def compile_splices(working_copy: WorkingCopy, order: FinalOrder) -> list[Splice]:
    """Return the splices that apply the edits of a working copy to the document's bytes, sorted."""
    style = working_copy.style
    written_tokens: set[int] = set()

    def write(token: int) -> bytes:
        written_tokens.add(token)
        return working_copy.cells[token].write_cell(style)

    splices = order.compile_splices(style, write)
    for edited_cell in working_copy.cells.values():
        # A cell that was moved and moved back is not in the changed ranges.
        if edited_cell.removed_by is None and edited_cell.token not in written_tokens:
            splices += edited_cell.compile_splices(style)
    document, metadata = working_copy.document, working_copy.metadata
    if metadata != document.written_metadata:
        if metadata is None:
            splices.append(_remove_metadata(document))
        elif document.metadata_span is not None:
            splices.append(Splice(*document.metadata_span, metadata))
        else:
            end = document.members[-1].value.stop
            notebook_style = style.get_notebook_style()
            member = notebook_style.object.separator + notebook_style.write_member(
                "metadata", metadata
            )
            splices.append(Splice(end, end, member))
    return sorted(splices)


def _remove_metadata(document: Document) -> Splice:
    members = document.members
    index = next(index for index, member in enumerate(members) if member.name == "metadata")
    if index:
        return Splice(members[index - 1].value.stop, members[index].value.stop, b"")
    return Splice(members[index].name_span.start, members[index + 1].name_span.start, b"")


def compile_changes(
    working_copy: WorkingCopy, order: FinalOrder
) -> Iterator[CellChange | MetadataChange]:
    """Yield the changes that a diff shows: the notebook's metadata first, then the cells."""
    document, metadata = working_copy.document, working_copy.metadata
    if metadata != document.written_metadata:
        yield MetadataChange(document.metadata, decode_metadata(metadata))
    for edited_cell in working_copy.cells.values():
        yield _compile_change(edited_cell, order)


def _compile_change(edited_cell: EditedCell, order: FinalOrder) -> CellChange:
    cell, is_removed = edited_cell.cell, edited_cell.removed_by is not None
    changed_members = {
        name
        for name, value in edited_cell.members.items()
        if cell is None or value != cell.get_raw(name)
    }
    metadata = None
    if (
        "metadata" in changed_members
        and not is_removed
        and (cell is not None or edited_cell.metadata)
    ):
        metadata = MetadataChange(cell.metadata if cell else {}, edited_cell.metadata)
    return CellChange(
        cell_id=edited_cell.id,
        index_before=cell.index if cell else None,
        index_after=None if is_removed else order.get_index(edited_cell.token),
        cell_type_before=cell.cell_type if cell else None,
        cell_type_after=None if is_removed else edited_cell.cell_type,
        source_before=cell.source if cell else "",
        source_after="" if is_removed else edited_cell.source,
        is_moved=edited_cell.is_moved,
        outputs_cleared=not is_removed and edited_cell.outputs_cleared,
        attachments_changed="attachments" in changed_members and not is_removed,
        metadata=metadata,
    )


def compile_edit(
    working_copy: WorkingCopy, order: FinalOrder, splices: list[Splice]
) -> EditSummary:
    """Return what was done to each cell, and by which splices."""
    moved_tokens = order.moved_tokens
    steps = [
        step
        for edited_cell in working_copy.cells.values()
        if (step := _compile_step(edited_cell, order, moved_tokens)) is not None
    ]
    return EditSummary(working_copy.document, splices, steps, working_copy.metadata, len(order))


def _compile_step(
    edited_cell: EditedCell, order: FinalOrder, moved_tokens: Collection[int]
) -> CellStep | None:
    if edited_cell.removed_by is not None:
        return (
            None
            if edited_cell.cell is None
            else CellStep(edited_cell.id, edited_cell.cell, None, None)
        )
    changed_members = edited_cell.changed_members
    if (
        edited_cell.cell is not None
        and not changed_members
        and edited_cell.token not in moved_tokens
    ):
        return None
    return CellStep(
        edited_cell.id,
        edited_cell.cell,
        CellContent(
            edited_cell.cell_type, edited_cell.source, edited_cell.metadata, edited_cell.attachments
        ),
        order.get_index(edited_cell.token),
        is_moved=edited_cell.token in moved_tokens,
        changed_members=changed_members,
        outputs_cleared=edited_cell.outputs_cleared,
        outputs_returned=edited_cell.outputs_returned,
    )
