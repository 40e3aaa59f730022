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
from jupyter_nbedit.notebook.arrange import Place
from jupyter_nbedit.notebook.drafts import Draft
from jupyter_nbedit.notebook.operations import AppendToSection, RemoveEntry, ReplaceSection
from jupyter_nbedit.notebook.sections import NotebookSection
from jupyter_nbedit.notebook.workspace import Workspace

_MARKDOWN = "markdown"


def append(workspace: Workspace, operation: AppendToSection) -> Draft:
    """Put a source at the end of a section; give the cell that holds it."""
    section = workspace.outline.section(operation.section)
    if not section.ends_within:
        return _new_cell(workspace, workspace.arrangement.gap(section.cells.stop), operation)
    draft = _part(workspace, section, section.cells[-1])
    _check_markdown(workspace, operation, draft)
    extent = _extent(workspace, section, draft)
    with _editing(workspace, draft):
        draft.section_text.append(extent, operation.source)
    return draft


def replace(
    workspace: Workspace, operation: ReplaceSection, number: int
) -> tuple[Draft, list[Draft]]:
    """Replace a section but its heading; give the cell that holds the source, and all touched."""
    section = workspace.outline.section(operation.section)
    first, *others = section.cells
    head = _part(workspace, section, first)
    extent = _extent(workspace, section, head)
    if not others and (operation.cell_type == _MARKDOWN or section.ends_within):
        _check_markdown(workspace, operation, head)
        with _editing(workspace, head):
            head.section_text.replace(extent, operation.source)
        return head, [head]
    with _editing(workspace, head):
        head.section_text.replace(extent, "")
    touched: list[Draft] = []
    for index in others:
        if section.ends_within and index == section.cells[-1]:
            last = _part(workspace, section, index)
            extent = _extent(workspace, section, last)
            with _editing(workspace, last):
                last.section_text.remove(extent)
            touched.append(last)
        elif (draft := workspace.draft_of(index)).gone_by is None:
            workspace.take_out(draft, number)
            touched.append(draft)
    made = _new_cell(workspace, workspace.arrangement.beside(head.token, after=True), operation)
    return made, [head, made, *touched]


def remove_entry(workspace: Workspace, operation: RemoveEntry) -> list[Draft]:
    """Remove list items of a section; give the cells that had them."""
    section = workspace.outline.section(operation.section)
    touched: list[Draft] = []
    for index in section.cells:
        draft = workspace.draft_of(index)
        if draft.cell_type != _MARKDOWN or draft.gone_by is not None:
            continue
        extent = _extent(workspace, section, draft)
        if draft.section_text.remove_entries(extent, operation.match):
            workspace.check_editable(draft)
            touched.append(draft)
    if not touched:
        raise sections.no_entry(operation.section, operation.match)
    return touched


def _new_cell(
    workspace: Workspace, place: Place, operation: AppendToSection | ReplaceSection
) -> Draft:
    return workspace.insert(
        place,
        cell_id=workspace.new_id(),
        cell_type=operation.cell_type,
        source=operation.source,
        members={"metadata": b"{}"},
    )


@contextmanager
def _editing(workspace: Workspace, draft: Draft) -> Iterator[None]:
    """Refuse a change of a cell whose metadata says that it is not to be changed."""
    if draft.metadata.get("editable") is not False:
        yield
        return
    before = draft.source
    yield
    if draft.source != before:
        workspace.check_editable(draft)


def _part(workspace: Workspace, section: NotebookSection, index: int) -> Draft:
    """Give a cell of which the section's heading or the next one is a part."""
    draft = workspace.draft_of(index)
    if draft.gone_by is not None or draft.cell_type != _MARKDOWN:
        raise _unclear(workspace, section, draft)
    return draft


def _extent(workspace: Workspace, section: NotebookSection, draft: Draft) -> range:
    """Find the part of a cell that belongs to a section."""
    heading = section.heading
    try:
        if draft.token == section.cells[0]:
            return draft.section_text.find(heading.level, heading.raw)
        return draft.section_text.find_before(heading.level)
    except LookupError:
        raise _unclear(workspace, section, draft) from None


def _check_markdown(
    workspace: Workspace, operation: AppendToSection | ReplaceSection, draft: Draft
) -> None:
    if operation.cell_type != _MARKDOWN:
        message = (
            f"The section {operation.section!r} ends within the cell "
            f"{workspace.address_of(draft)!r}, which goes on with another one, so only Markdown "
            f"can be put there, not {operation.cell_type}. Split the cell at the next heading "
            "first."
        )
        raise InvalidOperation(message, cell=workspace.address_of(draft))


def _unclear(workspace: Workspace, section: NotebookSection, draft: Draft) -> InvalidOperation:
    message = (
        f"An earlier operation of the same batch has changed the cell "
        f"{workspace.address_of(draft)!r}, and the section {section.heading.text!r} cannot be told "
        "in it any more. Send the operations in two requests."
    )
    return InvalidOperation(message, cell=workspace.address_of(draft))
