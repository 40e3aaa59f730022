"""What the operations on sections do.

Which cells a section has is said by the notebook as it was before the batch, and so is where a
section begins and ends within a cell that only operations on sections have changed. After any other
operation that is looked up anew in the cell as it is then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook import sections
from jupyter_nbedit.notebook.arrange import Slot
from jupyter_nbedit.notebook.drafts import EditedCell
from jupyter_nbedit.notebook.operations import AppendToSection, RemoveEntry, ReplaceSection
from jupyter_nbedit.notebook.sections import NotebookSection
from jupyter_nbedit.notebook.workspace import WorkingCopy

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
