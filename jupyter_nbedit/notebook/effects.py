"""What has been done to a notebook by all that was done to its cells in a workspace."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jupyter_nbedit.notebook.arrange import FinalOrder
from jupyter_nbedit.notebook.diff import MetadataChange, PatchedCell
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.drafts import EditedCell, decode_metadata
from jupyter_nbedit.notebook.edits import CellContent, CellStep, EditSummary
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.workspace import WorkingCopy


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
) -> Iterator[PatchedCell | MetadataChange]:
    """Yield what a reader of a diff is shown."""
    document, metadata = workspace.document, workspace.metadata
    if metadata != document.written_metadata:
        yield MetadataChange(document.metadata, decode_metadata(metadata))
    for draft in workspace.cells.values():
        yield _compile_change(draft, order)


def _compile_change(draft: EditedCell, order: FinalOrder) -> PatchedCell:
    cell, gone = draft.cell, draft.removed_by is not None
    changed = {
        name for name, value in draft.members.items() if cell is None or value != cell.get_raw(name)
    }
    metadata = None
    if "metadata" in changed and not gone and (cell is not None or draft.metadata):
        metadata = MetadataChange(cell.metadata if cell else {}, draft.metadata)
    return PatchedCell(
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
