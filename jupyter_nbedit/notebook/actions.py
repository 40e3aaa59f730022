"""What each operation does to the notebook while a batch is applied to it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import TypeVar

import msgspec
from msgspec import UNSET

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook import json_edit, json_spans, sections, source_edit
from jupyter_nbedit.notebook.cell_order import Slot
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.line_ends import adapt_source, use_line_feeds
from jupyter_nbedit.notebook.metadata_rules import check_members, list_defined_members
from jupyter_nbedit.notebook.operations import (
    AppendToSection,
    ClearOutputs,
    Delete,
    Insert,
    Merge,
    Move,
    Operation,
    RemoveEntry,
    Replace,
    ReplaceSection,
    ReplaceText,
    SetMetadata,
    Split,
)
from jupyter_nbedit.notebook.sections import NotebookSection
from jupyter_nbedit.notebook.working_copy import WorkingCopy

SectionOperation = TypeVar("SectionOperation", AppendToSection, ReplaceSection)

# What a cell says of its last run, and what in it says that the run is over.
_EXECUTION, _STARTED, _ENDED = "execution", "iopub.execute_input", "shell.execute_reply"


@dataclass(frozen=True)
class AffectedCells:
    """What an operation was about.

    Parameters
    ----------
    cell
        The one cell it names or makes, if there is one.
    cells
        All cells it touched, if it is one that may touch several.
    """

    cell: EditedCell | None = None
    cells: Sequence[EditedCell] | None = None


@singledispatch
def apply_operation(operation: Operation, workspace: WorkingCopy, number: int) -> AffectedCells:
    """Do one operation of a batch.

    Parameters
    ----------
    operation
        The operation; its form has been checked.
    workspace
        What the operations before it have left.
    number
        Its index in the batch.

    Raises
    ------
    NbEditError
        The workspace is of no use any more.
    """
    raise NotImplementedError(operation, workspace, number)


@apply_operation.register
def _replace(operation: Replace, workspace: WorkingCopy, _number: int) -> AffectedCells:
    draft = workspace.get_cell(operation.cell, operation.expect)
    workspace.check_editable(draft)
    if operation.source is not UNSET:
        draft.source = adapt_source(operation.source, draft.source)
    if operation.cell_type is not UNSET:
        _change_type(operation.cell_type, draft, workspace)
    draft.clear = draft.clear or operation.outputs == "clear"
    return AffectedCells(draft)


def _change_type(cell_type: str, draft: EditedCell, workspace: WorkingCopy) -> None:
    """Change a cell's type, unless its metadata has what only the new type does not allow."""
    minor = workspace.document.nbformat_minor
    only_new = list_defined_members(cell_type, minor) - list_defined_members(draft.cell_type, minor)
    if only_new:
        _check_members(draft.get_member("metadata"), only_new, cell_type, workspace)
    draft.change_type(cell_type)


def _check_members(
    metadata: bytes | None, names: Collection[str], owner: str, workspace: WorkingCopy
) -> None:
    """Refuse those of some members of written metadata that nbformat refuses."""
    written = json_edit.read_values(metadata)
    minor = workspace.document.nbformat_minor
    members = {
        name: json_spans.decode(written[name], Span(0, len(written[name])))
        for name in names
        if name in written
    }
    check_members(members, owner, minor)


@apply_operation.register
def _replace_text(operation: ReplaceText, workspace: WorkingCopy, _number: int) -> AffectedCells:
    draft = workspace.get_cell(operation.cell, operation.expect)
    workspace.check_editable(draft)
    draft.source = source_edit.replace_texts(draft.source, operation)
    draft.clear = draft.clear or operation.outputs == "clear"
    return AffectedCells(draft)


@apply_operation.register
def _insert(operation: Insert, workspace: WorkingCopy, _number: int) -> AffectedCells:
    cell_id = workspace.create_id(operation.id)
    place = workspace.find_slot(operation)
    near = workspace.arrangement.get_gap_index(place)
    metadata = {} if operation.metadata is UNSET else operation.metadata
    check_members(metadata, operation.cell_type, workspace.document.nbformat_minor)
    style = workspace.style.get_new_cell_style(near, operation.cell_type)
    draft = workspace.insert(
        place,
        cell_id=cell_id,
        cell_type=operation.cell_type,
        source=use_line_feeds(operation.source),
        members={"metadata": style.write_value(metadata)},
    )
    return AffectedCells(draft)


def _clear_named(workspace: WorkingCopy, operation: Delete | Move | ClearOutputs) -> AffectedCells:
    if operation.cells is not UNSET:
        return AffectedCells(cells=workspace.get_cells(operation.cells))
    return AffectedCells(workspace.get_cell(operation.cell, operation.expect))  # type: ignore[arg-type] # check_form


def _list_all(touched: AffectedCells) -> Sequence[EditedCell]:
    return [touched.cell] if touched.cell is not None else touched.cells or []


@apply_operation.register
def _delete(operation: Delete, workspace: WorkingCopy, number: int) -> AffectedCells:
    touched = _clear_named(workspace, operation)
    for draft in _list_all(touched):
        workspace.remove(draft, number)
    return touched


@apply_operation.register
def _move(operation: Move, workspace: WorkingCopy, _number: int) -> AffectedCells:
    touched = _clear_named(workspace, operation)
    first, *others = _list_all(touched)
    arrangement = workspace.arrangement
    arrangement.move(first.token, workspace.find_slot(operation))
    for draft in others:
        arrangement.move(draft.token, arrangement.get_slot_at_cell(first.token, after=True))
    for draft in _list_all(touched):
        draft.moved = True
    return touched


@apply_operation.register
def _split(operation: Split, workspace: WorkingCopy, _number: int) -> AffectedCells:
    draft = workspace.get_cell(operation.cell, operation.expect)
    workspace.check_editable(draft)
    draft.source, rest = source_edit.cut(draft.source, operation.at_line)
    draft.clear = True
    members = {name: draft.get_member(name) for name in ("metadata", "attachments")}
    metadata = members["metadata"]
    if metadata is not None and _is_code(draft):
        # As in JupyterLab: the new cell is not the one that is running.
        style = draft.get_style(workspace.style)
        members["metadata"] = json_edit.set_members(metadata, {_EXECUTION: None}, style)
    new = workspace.insert(
        workspace.arrangement.get_slot_at_cell(draft.token, after=True),
        cell_id=workspace.create_id(),
        cell_type=draft.cell_type,
        source=rest,
        members=members,
    )
    return AffectedCells(draft, [draft, new])


def _is_code(draft: EditedCell) -> bool:
    execution = draft.metadata.get(_EXECUTION)
    return isinstance(execution, dict) and _STARTED in execution and _ENDED not in execution


@apply_operation.register
def _merge(operation: Merge, workspace: WorkingCopy, number: int) -> AffectedCells:
    drafts = workspace.get_cells(operation.cells)
    first, *others = drafts
    for one, other in pairwise(drafts):
        if workspace.arrangement.get_next_cell(one.token) != other.token:
            message = (
                f"`merge` needs cells that stand one behind the other, in their order; "
                f"{workspace.get_address(other)!r} does not follow {workspace.get_address(one)!r}. "
                "Move it there first, or name other cells."
            )
            raise InvalidOperation(message, cell=workspace.get_address(other))
        if one.cell_type != other.cell_type:
            message = (
                f"`merge` needs cells of one type; {workspace.get_address(one)!r} is "
                f"{one.cell_type} and {workspace.get_address(other)!r} is {other.cell_type}. "
                "Change the type of one of them first."
            )
            raise InvalidOperation(message, cell=workspace.get_address(other))
    for draft in drafts:
        workspace.check_editable(draft)
    _gather_attachments(workspace, first, others)
    for draft in others:
        workspace.remove(draft, number)
        draft.clear = True
    first.source = "\n".join(draft.source for draft in drafts)
    first.clear = True
    return AffectedCells(first, drafts)


def _gather_attachments(
    workspace: WorkingCopy, first: EditedCell, others: Sequence[EditedCell]
) -> None:
    """Add the attachments of the other cells to the first one: their sources refer to them."""
    gathered = first.get_member("attachments")
    known = {} if gathered is None else json_edit.read_values(gathered)
    for draft in others:
        attachments = draft.get_member("attachments")
        if attachments is None:
            continue
        new: dict[str, bytes | None] = {}
        for name, value in json_edit.read_values(attachments).items():
            if known.setdefault(name, value) != value:
                message = (
                    f"The cells have different attachments named {name!r}, of which only one "
                    "could stay. Rename one of them first."
                )
                raise InvalidOperation(message, cell=workspace.get_address(draft))
            new[name] = value
        if gathered is None:
            gathered = attachments
        elif new:
            style = first.get_style(workspace.style)
            gathered = json_edit.set_members(gathered, new, style)
    if gathered is not None and gathered != first.get_member("attachments"):
        first.members["attachments"] = gathered


@apply_operation.register
def _clear_outputs(operation: ClearOutputs, workspace: WorkingCopy, _number: int) -> AffectedCells:
    if operation.all is UNSET:
        touched = _clear_named(workspace, operation)
    else:
        touched = AffectedCells(cells=workspace.list_cells_with_outputs())
    for draft in _list_all(touched):
        workspace.check_editable(draft)
        draft.clear = True
    return touched


@apply_operation.register
def _set_metadata(operation: SetMetadata, workspace: WorkingCopy, _number: int) -> AffectedCells:
    if operation.cell is UNSET:
        around = workspace.style.get_notebook_style()
        now = workspace.metadata or b"{}"
        workspace.metadata = json_edit.apply_merge_patch(now, operation.patch, around)
        _check_members(workspace.metadata, operation.patch, "notebook", workspace)
        return AffectedCells()
    draft = workspace.get_cell(operation.cell, operation.expect)
    if operation.patch.get("editable", False) is False:
        workspace.check_editable(draft)
    style = draft.get_style(workspace.style)
    now = draft.get_member("metadata") or b"{}"
    draft.members["metadata"] = json_edit.apply_merge_patch(now, operation.patch, style)
    _check_members(draft.members["metadata"], operation.patch, draft.cell_type, workspace)
    return AffectedCells(draft)


def _use_line_feeds(operation: SectionOperation) -> SectionOperation:
    """Return the operation as a new cell takes it; a cell that is there has its own line ends."""
    source = use_line_feeds(operation.source)
    return msgspec.structs.replace(operation, source=source)


@apply_operation.register
def _perform_append_to_section(
    operation: AppendToSection, workspace: WorkingCopy, _number: int
) -> AffectedCells:
    return AffectedCells(append_to_section(workspace, _use_line_feeds(operation)))


@apply_operation.register
def _perform_replace_section(
    operation: ReplaceSection, workspace: WorkingCopy, number: int
) -> AffectedCells:
    return AffectedCells(*replace_section(workspace, _use_line_feeds(operation), number))


@apply_operation.register
def _perform_remove_entry(
    operation: RemoveEntry, workspace: WorkingCopy, _number: int
) -> AffectedCells:
    return AffectedCells(cells=remove_section_entry(workspace, operation))


_MARKDOWN = "markdown"


def append_to_section(workspace: WorkingCopy, operation: AppendToSection) -> EditedCell:
    """Put a source at the end of a section; give the cell that holds it."""
    section = workspace.outline.find_section(operation.section)
    if not section.ends_within:
        return _build_new_cell(
            workspace, workspace.arrangement.get_slot_in_gap(section.cells.stop), operation
        )
    draft = _get_part(workspace, section, section.cells[-1])
    _check_markdown(workspace, operation, draft)
    extent = _find_extent(workspace, section, draft)
    with _check_editable(workspace, draft):
        draft.section_text.append(extent, operation.source)
    return draft


def replace_section(
    workspace: WorkingCopy, operation: ReplaceSection, number: int
) -> tuple[EditedCell, list[EditedCell]]:
    """Replace a section but its heading; give the cell that holds the source, and all touched."""
    section = workspace.outline.find_section(operation.section)
    first, *others = section.cells
    head = _get_part(workspace, section, first)
    extent = _find_extent(workspace, section, head)
    if not others and (operation.cell_type == _MARKDOWN or section.ends_within):
        _check_markdown(workspace, operation, head)
        with _check_editable(workspace, head):
            head.section_text.replace(extent, operation.source)
        return head, [head]
    with _check_editable(workspace, head):
        head.section_text.replace(extent, "")
    touched: list[EditedCell] = []
    for index in others:
        if section.ends_within and index == section.cells[-1]:
            last = _get_part(workspace, section, index)
            extent = _find_extent(workspace, section, last)
            with _check_editable(workspace, last):
                last.section_text.remove(extent)
            touched.append(last)
        elif (draft := workspace.get_cell_by_token(index)).removed_by is None:
            workspace.remove(draft, number)
            touched.append(draft)
    made = _build_new_cell(
        workspace, workspace.arrangement.get_slot_at_cell(head.token, after=True), operation
    )
    return made, [head, made, *touched]


def remove_section_entry(workspace: WorkingCopy, operation: RemoveEntry) -> list[EditedCell]:
    """Remove list items of a section; give the cells that had them."""
    section = workspace.outline.find_section(operation.section)
    touched: list[EditedCell] = []
    for index in section.cells:
        draft = workspace.get_cell_by_token(index)
        if draft.cell_type != _MARKDOWN or draft.removed_by is not None:
            continue
        extent = _find_extent(workspace, section, draft)
        if draft.section_text.remove_entries(extent, operation.match):
            workspace.check_editable(draft)
            touched.append(draft)
    if not touched:
        raise sections.build_no_entry_error(operation.section, operation.match)
    return touched


def _build_new_cell(
    workspace: WorkingCopy, place: Slot, operation: AppendToSection | ReplaceSection
) -> EditedCell:
    return workspace.insert(
        place,
        cell_id=workspace.create_id(),
        cell_type=operation.cell_type,
        source=operation.source,
        members={"metadata": b"{}"},
    )


@contextmanager
def _check_editable(workspace: WorkingCopy, draft: EditedCell) -> Iterator[None]:
    """Refuse a change of a cell whose metadata says that it is not to be changed."""
    if draft.metadata.get("editable") is not False:
        yield
        return
    before = draft.source
    yield
    if draft.source != before:
        workspace.check_editable(draft)


def _get_part(workspace: WorkingCopy, section: NotebookSection, index: int) -> EditedCell:
    """Return a cell of which the section's heading or the next one is a part."""
    draft = workspace.get_cell_by_token(index)
    if draft.removed_by is not None or draft.cell_type != _MARKDOWN:
        raise _build_unclear_error(workspace, section, draft)
    return draft


def _find_extent(workspace: WorkingCopy, section: NotebookSection, draft: EditedCell) -> range:
    """Find the part of a cell that belongs to a section."""
    heading = section.heading
    try:
        if draft.token == section.cells[0]:
            return draft.section_text.find(heading.level, heading.raw)
        return draft.section_text.find_before(heading.level)
    except LookupError:
        raise _build_unclear_error(workspace, section, draft) from None


def _check_markdown(
    workspace: WorkingCopy, operation: AppendToSection | ReplaceSection, draft: EditedCell
) -> None:
    if operation.cell_type != _MARKDOWN:
        message = (
            f"The section {operation.section!r} ends within the cell "
            f"{workspace.get_address(draft)!r}, which goes on with another one, so only Markdown "
            f"can be put there, not {operation.cell_type}. Split the cell at the next heading "
            "first."
        )
        raise InvalidOperation(message, cell=workspace.get_address(draft))


def _build_unclear_error(
    workspace: WorkingCopy, section: NotebookSection, draft: EditedCell
) -> InvalidOperation:
    message = (
        f"An earlier operation of the same batch has changed the cell "
        f"{workspace.get_address(draft)!r}, and the section {section.heading.text!r} cannot be "
        "told in it any more. Send the operations in two requests."
    )
    return InvalidOperation(message, cell=workspace.get_address(draft))
