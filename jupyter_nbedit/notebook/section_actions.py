"""What the operations on sections do.

Which cells a section has is said by the notebook as it was before the batch. Where a section begins
or ends within a cell is looked up in the cell as earlier operations have left it.
"""

from __future__ import annotations

from typing import NamedTuple

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook import markdown, sections
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
    last = section.cells[-1]
    draft = _part(workspace, section, last)
    _check_markdown(workspace, operation, draft)
    extent = _extent(workspace, section, draft)
    source = sections.appended(draft.source, extent.start, extent.stop, operation.source)
    _change(workspace, draft, source)
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
        source = sections.replaced(head.source, extent.body, extent.stop, operation.source)
        _change(workspace, head, source)
        return head, [head]
    _change(workspace, head, sections.replaced(head.source, extent.body, extent.stop, ""))
    touched: list[Draft] = []
    for index in others:
        if section.ends_within and index == section.cells[-1]:
            last = _part(workspace, section, index)
            _change(workspace, last, last.source[_extent(workspace, section, last).stop :])
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
        rest, removed = sections.without_entries(
            draft.source, extent.body, extent.stop, operation.match
        )
        if removed:
            _change(workspace, draft, rest)
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


def _change(workspace: Workspace, draft: Draft, source: str) -> None:
    if source != draft.source:
        workspace.check_editable(draft)
        draft.source = source


def _part(workspace: Workspace, section: NotebookSection, index: int) -> Draft:
    """Give a cell of which the section's heading or the next one is a part."""
    draft = workspace.draft_of(index)
    if draft.gone_by is not None or draft.cell_type != _MARKDOWN:
        raise _unclear(workspace, section, draft)
    return draft


class _Extent(NamedTuple):
    """Which part of a cell's source belongs to a section; ``body`` is behind the heading."""

    start: int
    body: int
    stop: int


def _extent(workspace: Workspace, section: NotebookSection, draft: Draft) -> _Extent:
    found = markdown.headings(draft.source)
    level, raw = section.heading.level, section.heading.raw
    if draft.token != section.cells[0]:
        return _Extent(0, 0, sections.end_of(draft.source, level, found))
    same = [heading for heading in found if (heading.level, heading.raw) == (level, raw)]
    if len(same) != 1:
        raise _unclear(workspace, section, draft)
    [head] = same
    stop = sections.end_of(draft.source, level, found, after=head.start)
    return _Extent(head.start, head.body, stop)


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
