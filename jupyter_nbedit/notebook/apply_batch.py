"""Apply a batch of operations to a document: all of them, or none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import msgspec
from msgspec import UNSET

from jupyter_nbedit.errors import NbEditError, TooLarge
from jupyter_nbedit.notebook.apply_operation import ChangedCells, apply_operation
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import CellChange, CellResult, EditPlan, OperationResult
from jupyter_nbedit.notebook.edit_warnings import list_warnings
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.operations import (
    Merge,
    Operation,
    get_operation_name,
    validate_operation,
)
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.working_copy import WorkingCopy

#: The most lines that a batch may add to the sources of a notebook. One string of a request may
#: have millions of lines. Each takes some hundred bytes of memory: a file has a source as a list
#: of lines, and a diff compares lines.
MAX_ADDED_LINES = 500_000
# Where `str.splitlines` ends a line, as nbformat does.
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def apply_operations(
    document: Document,
    operations: Sequence[Operation],
    *,
    fresh_id: Callable[[], str],
    is_current: bool = False,
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
    is_current
        Whether the request knows that the notebook is the current one; see `Document.locate`.

    Raises
    ------
    NbEditError
        The first error; ``details["operation"]`` is the index of the operation that caused it.
    TooLarge
        If the batch adds too many lines.
    """
    working_copy = WorkingCopy(document, fresh_id, is_current)
    results: list[tuple[int, Operation, ChangedCells]] = []
    for number, operation in enumerate(operations):
        try:
            validate_operation(operation)
            results.append((number, operation, apply_operation(operation, working_copy, number)))
        except NbEditError as error:
            error.details.setdefault("operation", number)
            raise
    _check_added_lines(working_copy.cells.values())
    order = working_copy.cell_order.build_order()
    plan = build_plan(working_copy, order, [_build_result(order, *each) for each in results])
    return replace(plan, warnings=list_warnings(plan.changes))


def build_plan(
    working_copy: WorkingCopy,
    order: FinalOrder,
    results: list[OperationResult],
    exact_splices: list[Splice] | None = None,
) -> EditPlan:
    """Return the plan for a notebook whose cells have been edited.

    If exact splices with the same effect are known, they are used instead of computed splices.
    """
    return EditPlan(
        document=working_copy.document,
        splices=compile_splices(working_copy, order) if exact_splices is None else exact_splices,
        changes=list(_iterate_changes(working_copy, order)),
        metadata=working_copy.metadata,
        total_cells=len(order),
        results=results,
    )


def _build_result(
    order: FinalOrder, number: int, operation: Operation, affected_cells: ChangedCells
) -> OperationResult:
    def describe(cell: EditedCell) -> CellResult:
        return CellResult.from_cell(cell, order, number, is_clearing=operation.reports_cleared)

    cell, cells = affected_cells
    result = OperationResult.from_cells(
        get_operation_name(operation),
        None if cell is None else describe(cell),
        UNSET if cells is None else list(map(describe, cells)),
    )
    if isinstance(operation, Merge) and cells is not None:
        # All merged cells lose their outputs.
        is_cleared = any(cell.outputs_cleared for cell in cells)
        result = msgspec.structs.replace(result, outputs_cleared=is_cleared)
    return result


def compile_splices(working_copy: WorkingCopy, order: FinalOrder) -> list[Splice]:
    """Return the splices that apply the edits of a working copy to the document's bytes, sorted."""
    style, edited_cells = working_copy.style, working_copy.cells
    written_cells = {
        token: edited_cells[token].write_cell(style)
        for changed_range in order.changed_ranges
        for token in changed_range.tokens
    }
    splices = order.compile_splices(style, written_cells)
    for edited_cell in edited_cells.values():
        # A cell that was moved and moved back is not in the changed ranges.
        if edited_cell.removed_by is None and edited_cell.token not in written_cells:
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


def _iterate_changes(working_copy: WorkingCopy, order: FinalOrder) -> Iterator[CellChange]:
    """Yield what was done to each cell that differs."""
    moved_tokens = order.moved_tokens
    for edited_cell in working_copy.cells.values():
        cell, is_moved = edited_cell.cell, edited_cell.token in moved_tokens
        if edited_cell.removed_by is not None:
            if cell is not None:
                yield CellChange(edited_cell.id, cell, None, None)
            continue
        changed_members = edited_cell.changed_members
        if cell is None or changed_members or is_moved:
            yield CellChange(
                edited_cell.id,
                cell,
                edited_cell,
                order.get_index(edited_cell.token),
                is_moved=is_moved,
                changed_members=changed_members,
                outputs_cleared=edited_cell.outputs_cleared,
                outputs_returned=edited_cell.outputs_returned,
            )


def _check_added_lines(cells: Iterable[EditedCell]) -> None:
    """Raise `TooLarge` if the cells that a batch has edited have too many lines more than before.

    Lines that it moves to another cell are not added.
    """
    before, after = [], []
    for cell in cells:
        if cell.cell is not None:
            before.append(cell.original_source)
        if cell.removed_by is None:
            after.append(cell.source)
    # No text has more lines than characters.
    if sum(map(len, after)) <= MAX_ADDED_LINES:
        return
    count = sum(map(_count_line_ends, after)) - sum(map(_count_line_ends, before))
    if count > MAX_ADDED_LINES:
        message = (
            f"The request would add {count} lines to the sources of the notebook; at most "
            f"{MAX_ADDED_LINES} are allowed. Send the operations in several requests."
        )
        raise TooLarge(message, limit=MAX_ADDED_LINES)


def _count_line_ends(source: str) -> int:
    return sum(map(source.count, _LINE_ENDS)) - source.count("\r\n")
