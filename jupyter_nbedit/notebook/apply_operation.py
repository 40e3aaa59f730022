"""What each operation does to the working copy of a notebook."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import singledispatch
from itertools import pairwise

from msgspec import UNSET

from jupyter_nbedit.errors import InvalidOperation, TextMismatch
from jupyter_nbedit.notebook import json_edit, json_spans, operations, sections, source_edit
from jupyter_nbedit.notebook.cell_order import InsertionPoint
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.metadata_rules import check_members, list_defined_members
from jupyter_nbedit.notebook.sections import NotebookSection
from jupyter_nbedit.notebook.source_edit import adapt_source, use_line_feeds
from jupyter_nbedit.notebook.working_copy import WorkingCopy

_MARKDOWN = "markdown"
# Members of a code cell's metadata that JupyterLab writes when a run starts and ends.
_EXECUTION, _STARTED, _ENDED = "execution", "iopub.execute_input", "shell.execute_reply"


#: The one cell that an operation addresses or inserts, if there is exactly one, and all cells that
#: it affects, if it can affect several.
ChangedCells = tuple[EditedCell | None, Sequence[EditedCell] | None]


@singledispatch
def apply_operation(
    operation: operations.Operation, working_copy: WorkingCopy, number: int
) -> ChangedCells:
    """Apply a valid operation, given by its index in the batch; return what it is about.

    Raises
    ------
    NbEditError
        The working copy must not be used afterwards.
    """
    raise NotImplementedError(operation, working_copy, number)


@apply_operation.register
def _replace(
    operation: operations.Replace, working_copy: WorkingCopy, _number: int
) -> ChangedCells:
    cell = working_copy.get_cell(operation.cell, operation.expect)
    cell.check_editable()
    if operation.source is not UNSET:
        cell.source = adapt_source(operation.source, cell.source)
    if operation.cell_type is not UNSET:
        _change_type(operation.cell_type, cell, working_copy)
    cell.clears_outputs = cell.clears_outputs or operation.outputs == "clear"
    return cell, None


def _change_type(cell_type: str, cell: EditedCell, working_copy: WorkingCopy) -> None:
    """Change a cell's type; refuse metadata that only the new type's schema refuses."""
    minor = working_copy.document.nbformat_minor
    only_new = list_defined_members(cell_type, minor) - list_defined_members(cell.cell_type, minor)
    if only_new:
        _check_members(cell.get_member("metadata"), only_new, cell_type, working_copy)
    cell.change_type(cell_type)


def _check_members(
    metadata: bytes | None, names: Collection[str], owner: str, working_copy: WorkingCopy
) -> None:
    """Refuse the named members of encoded metadata that nbformat's schema refuses."""
    values = json_edit.read_values(metadata)
    minor = working_copy.document.nbformat_minor
    members = {name: json_spans.decode(values[name]) for name in names if name in values}
    check_members(members, owner, minor)


@apply_operation.register
def _replace_text(
    operation: operations.ReplaceText, working_copy: WorkingCopy, _number: int
) -> ChangedCells:
    cell = working_copy.get_cell(operation.cell, operation.expect)
    cell.check_editable()
    try:
        cell.source = source_edit.replace_texts(cell.source, operation, working_copy.text_budget)
    except TextMismatch as error:
        stored_source = cell.source
        if cell.cell is not None:
            stored_source = cell.cell.source
            error.details["name"] = str(working_copy.document.get_name(cell.cell.index))
        error.details |= source_edit.build_mismatch_excerpt(stored_source, operation, error)
        raise
    cell.clears_outputs = cell.clears_outputs or operation.outputs == "clear"
    return cell, None


@apply_operation.register
def _insert(operation: operations.Insert, working_copy: WorkingCopy, _number: int) -> ChangedCells:
    cell_id = working_copy.create_id(operation.id)
    point = working_copy.find_insertion_point(operation)
    metadata = {} if operation.metadata is UNSET else operation.metadata
    check_members(metadata, operation.cell_type, working_copy.document.nbformat_minor)
    style = working_copy.style.get_new_cell_style(point.gap, operation.cell_type)
    cell = working_copy.insert(
        point,
        cell_id=cell_id,
        cell_type=operation.cell_type,
        source=use_line_feeds(operation.source),
        members={"metadata": style.write_value(metadata)},
    )
    return cell, None


def _find_addressed_cells(
    working_copy: WorkingCopy,
    operation: operations.Delete | operations.Move | operations.ClearOutputs,
) -> tuple[Sequence[EditedCell], ChangedCells]:
    """Return the cells that an operation addresses, and what it is about."""
    if operation.cells is not UNSET:
        cells = working_copy.get_cells(operation.cells)
        return cells, (None, cells)
    cell = working_copy.get_cell(operation.cell, operation.expect)  # type: ignore[arg-type] # check_form
    return [cell], (cell, None)


@apply_operation.register
def _delete(operation: operations.Delete, working_copy: WorkingCopy, number: int) -> ChangedCells:
    cells, affected_cells = _find_addressed_cells(working_copy, operation)
    for cell in cells:
        working_copy.remove(cell, number)
    return affected_cells


@apply_operation.register
def _move(operation: operations.Move, working_copy: WorkingCopy, _number: int) -> ChangedCells:
    (first, *other_cells), affected_cells = _find_addressed_cells(working_copy, operation)
    cell_order = working_copy.cell_order
    cell_order.move(first.token, working_copy.find_insertion_point(operation))
    for cell in other_cells:
        cell_order.move(cell.token, cell_order.get_point_at_cell(first.token, is_after=True))
    return affected_cells


@apply_operation.register
def _split(operation: operations.Split, working_copy: WorkingCopy, _number: int) -> ChangedCells:
    cell = working_copy.get_cell(operation.cell, operation.expect)
    cell.check_editable()
    working_copy.text_budget.spend(cell.lines_weight)
    parts = [cell, *(working_copy.get_cell_by_token(token) for token in cell.split_tokens)]
    parts = [part for part in parts if part.removed_by is None]
    part, line = source_edit.locate_line(
        cell.original_source, [part.source for part in parts], operation.at_line
    )
    addressed, cell = cell, parts[part]
    cell.check_editable()
    cell.source, second_source = source_edit.split_source(cell.source, line)
    cell.clears_outputs = True
    members = {name: cell.get_member(name) for name in ("metadata", "attachments")}
    metadata = members["metadata"]
    if metadata is not None and _is_running(cell):
        # As in JupyterLab: the first cell is running, and the new cell is not.
        style = cell.get_style(working_copy.style)
        members["metadata"] = json_edit.set_members(metadata, {_EXECUTION: None}, style)
    # Before what an earlier operation has split off, and after what it has inserted.
    following = parts[part + 1].token if part + 1 < len(parts) else None
    new_cell = working_copy.insert(
        working_copy.cell_order.get_point_at_cell(
            cell.token if following is None else following, is_after=following is None
        ),
        cell_id=working_copy.create_id(),
        cell_type=cell.cell_type,
        source=second_source,
        members=members,
    )
    position = addressed.split_tokens.index(cell.token) + 1 if cell is not addressed else 0
    addressed.split_tokens.insert(position, new_cell.token)
    return cell, [cell, new_cell]


def _is_running(cell: EditedCell) -> bool:
    execution = cell.metadata.get(_EXECUTION)
    return isinstance(execution, dict) and _STARTED in execution and _ENDED not in execution


@apply_operation.register
def _merge(operation: operations.Merge, working_copy: WorkingCopy, number: int) -> ChangedCells:
    cells = working_copy.get_cells(operation.cells)
    first, *other_cells = cells
    following_tokens = working_copy.cell_order.iterate_after(first.token)
    for cell_before, cell_after in pairwise(cells):
        if next(following_tokens, None) != cell_after.token:
            message = (
                f"`merge` needs consecutive cells, in their order; {cell_after.address!r} does not "
                f"follow {cell_before.address!r}. Move the later cell directly after the earlier "
                "one first, or send other cells."
            )
            raise InvalidOperation(message, cell=cell_after.address)
        if cell_before.cell_type != cell_after.cell_type:
            message = (
                f"`merge` needs cells of one type; {cell_before.address!r} is "
                f"{cell_before.cell_type} and {cell_after.address!r} is {cell_after.cell_type}. "
                "Change the type of one of them first."
            )
            raise InvalidOperation(message, cell=cell_after.address)
    for cell in cells:
        cell.check_editable()
    _gather_attachments(working_copy, first, other_cells)
    for cell in other_cells:
        working_copy.remove(cell, number)
        cell.clears_outputs = True
    working_copy.text_budget.spend(sum(len(cell.source) for cell in cells))
    first.source = "\n".join(cell.source for cell in cells)
    first.clears_outputs = True
    return first, cells


def _gather_attachments(
    working_copy: WorkingCopy, first: EditedCell, other_cells: Sequence[EditedCell]
) -> None:
    """Merge the attachments of the other cells into the first, whose source now refers to them."""
    attachments = first.get_member("attachments")
    known_attachments = json_edit.read_values(attachments)
    for cell in other_cells:
        new_attachments = json_edit.read_values(cell.get_member("attachments"))
        for name, value in new_attachments.items():
            if known_attachments.setdefault(name, value) != value:
                message = (
                    f"The cells have different attachments named {name!r}, of which only one "
                    "could be kept. Rename one of them first."
                )
                raise InvalidOperation(message, cell=cell.address)
        if new_attachments:
            style = first.get_style(working_copy.style)
            attachments = json_edit.set_members(attachments or b"{}", new_attachments, style)
    if attachments is not None:
        first.members["attachments"] = attachments


@apply_operation.register
def _clear_outputs(
    operation: operations.ClearOutputs, working_copy: WorkingCopy, _number: int
) -> ChangedCells:
    if operation.all is UNSET:
        cells, affected_cells = _find_addressed_cells(working_copy, operation)
    else:
        cells = working_copy.list_cells_with_outputs()
        affected_cells = None, cells
    for cell in cells:
        cell.check_editable()
        cell.clears_outputs = True
    return affected_cells


@apply_operation.register
def _set_metadata(
    operation: operations.SetMetadata, working_copy: WorkingCopy, _number: int
) -> ChangedCells:
    if operation.cell is UNSET:
        notebook_style = working_copy.style.get_notebook_style()
        metadata = working_copy.metadata or b"{}"
        working_copy.text_budget.spend_members(metadata)
        working_copy.metadata = json_edit.apply_merge_patch(
            metadata, operation.patch, notebook_style
        )
        _check_members(working_copy.metadata, operation.patch, "notebook", working_copy)
        return None, None
    cell = working_copy.get_cell(operation.cell, operation.expect)
    if operation.patch.get("editable", False) is False:
        cell.check_editable()
    style = cell.get_style(working_copy.style)
    metadata = cell.get_member("metadata") or b"{}"
    working_copy.text_budget.spend_members(metadata)
    cell.members["metadata"] = json_edit.apply_merge_patch(metadata, operation.patch, style)
    _check_members(cell.members["metadata"], operation.patch, cell.cell_type, working_copy)
    return cell, None


@apply_operation.register
def _append_to_section(
    operation: operations.AppendToSection, working_copy: WorkingCopy, _number: int
) -> ChangedCells:
    section = working_copy.outline.find_section(operation.section)
    if not section.ends_within_cell:
        point = working_copy.cell_order.get_point_in_gap(section.cells.stop)
        return _build_new_cell(working_copy, point, operation), None
    cell, extent = _find_part(working_copy, section, section.cells[-1])
    _check_markdown(operation, cell)
    with _protect_source(cell):
        cell.section_text.append(extent, use_line_feeds(operation.source))
    return cell, None


@apply_operation.register
def _replace_section(
    operation: operations.ReplaceSection, working_copy: WorkingCopy, number: int
) -> ChangedCells:
    section = working_copy.outline.find_section(operation.section)
    first, *others = section.cells
    heading_cell, extent = _find_part(working_copy, section, first)
    if not others and (operation.cell_type == _MARKDOWN or section.ends_within_cell):
        _check_markdown(operation, heading_cell)
        with _protect_source(heading_cell):
            heading_cell.section_text.replace(extent, use_line_feeds(operation.source))
        return heading_cell, [heading_cell]
    with _protect_source(heading_cell):
        heading_cell.section_text.replace(extent, "")
    affected_cells: list[EditedCell] = []
    for index in others:
        if section.ends_within_cell and index == section.cells[-1]:
            last_cell, extent = _find_part(working_copy, section, index)
            with _protect_source(last_cell):
                last_cell.section_text.remove(extent)
            affected_cells.append(last_cell)
        elif (cell := working_copy.get_cell_by_token(index)).removed_by is None:
            working_copy.remove(cell, number)
            affected_cells.append(cell)
    point = working_copy.cell_order.get_point_at_cell(heading_cell.token, is_after=True)
    new_cell = _build_new_cell(working_copy, point, operation)
    return new_cell, [heading_cell, new_cell, *affected_cells]


@apply_operation.register
def _remove_entry(
    operation: operations.RemoveEntry, working_copy: WorkingCopy, _number: int
) -> ChangedCells:
    section = working_copy.outline.find_section(operation.section)
    affected_cells: list[EditedCell] = []
    for index in section.cells:
        cell = working_copy.get_cell_by_token(index)
        if cell.cell_type != _MARKDOWN or cell.removed_by is not None:
            continue
        _, extent = _find_part(working_copy, section, index)
        working_copy.text_budget.spend(cell.markdown_weight)
        if cell.section_text.remove_entries(extent, operation.match):
            cell.check_editable()
            affected_cells.append(cell)
    if not affected_cells:
        raise sections.build_no_entry_error(operation.section, operation.match)
    return None, affected_cells


def _build_new_cell(
    working_copy: WorkingCopy,
    point: InsertionPoint,
    operation: operations.AppendToSection | operations.ReplaceSection,
) -> EditedCell:
    return working_copy.insert(
        point,
        cell_id=working_copy.create_id(),
        cell_type=operation.cell_type,
        source=use_line_feeds(operation.source),
        members={"metadata": b"{}"},
    )


@contextmanager
def _protect_source(cell: EditedCell) -> Iterator[None]:
    """Run the block, then raise if it changed the source of a cell that is not editable."""
    if cell.metadata.get("editable") is not False:
        yield
        return
    old_source = cell.source
    yield
    if cell.source != old_source:
        cell.check_editable()


def _find_part(
    working_copy: WorkingCopy, section: NotebookSection, index: int
) -> tuple[EditedCell, range]:
    """Return a Markdown cell of a section, and the part of its text that belongs to the section."""
    cell, heading = working_copy.get_cell_by_token(index), section.heading
    if cell.removed_by is None and cell.cell_type == _MARKDOWN:
        with suppress(LookupError):
            if index == section.cells[0]:
                return cell, cell.section_text.find(heading.level, heading.raw)
            return cell, cell.section_text.find_leading_part(heading.level)
    message = (
        f"An earlier operation of this batch has changed the cell {cell.address!r}, and the "
        f"section {heading.text!r} cannot be found in it any more. Send the operations in two "
        "requests."
    )
    raise InvalidOperation(message, cell=cell.address)


def _check_markdown(
    operation: operations.AppendToSection | operations.ReplaceSection, cell: EditedCell
) -> None:
    if operation.cell_type != _MARKDOWN:
        message = (
            f"The section {operation.section!r} ends within the cell {cell.address!r}, which also "
            "contains the next section, so only Markdown can be added there, not "
            f"{operation.cell_type}. Split the cell at the next heading first."
        )
        raise InvalidOperation(message, cell=cell.address)
