"""What has been done to a notebook by all that was done to its cells in a workspace."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jupyter_nbedit.notebook.arrange import Order
from jupyter_nbedit.notebook.diff import Change, MetadataChange
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.drafts import Draft, decoded
from jupyter_nbedit.notebook.edits import Edit, State, Step
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.workspace import Workspace


def splices(workspace: Workspace, order: Order) -> list[Splice]:
    """Give what is to be done to the bytes."""
    style = workspace.style
    written: set[int] = set()

    def write(token: int) -> bytes:
        written.add(token)
        return workspace.drafts[token].written(style)

    done = order.splices(style, write)
    for draft in workspace.drafts.values():
        # A cell that was moved to where it was is not written with its neighbours.
        if draft.gone_by is None and draft.token not in written:
            done += draft.changes(style)
    document, metadata = workspace.document, workspace.metadata
    if metadata != document.written_metadata:
        if metadata is None:
            done.append(_without_metadata(document))
        elif document.metadata_span is not None:
            done.append(Splice(*document.metadata_span, metadata))
        else:
            end = document.members[-1].value.stop
            own = style.of_notebook()
            member = own.object.separator + own.member("metadata", metadata)
            done.append(Splice(end, end, member))
    return sorted(done)


def _without_metadata(document: Document) -> Splice:
    members = document.members
    at = next(at for at, member in enumerate(members) if member.name == "metadata")
    if at:
        return Splice(members[at - 1].value.stop, members[at].value.stop, b"")
    return Splice(members[at].name_span.start, members[at + 1].name_span.start, b"")


def changes(workspace: Workspace, order: Order) -> Iterator[Change | MetadataChange]:
    """Give what a reader of a diff is shown."""
    document, metadata = workspace.document, workspace.metadata
    if metadata != document.written_metadata:
        yield MetadataChange(document.metadata, decoded(metadata))
    for draft in workspace.drafts.values():
        yield _change(draft, order)


def _change(draft: Draft, order: Order) -> Change:
    cell, gone = draft.cell, draft.gone_by is not None
    changed = {
        name for name, value in draft.members.items() if cell is None or value != cell.written(name)
    }
    metadata = None
    if "metadata" in changed and not gone and (cell is not None or draft.metadata):
        metadata = MetadataChange(cell.metadata if cell else {}, draft.metadata)
    return Change(
        cell_id=draft.id,
        index_before=cell.index if cell else None,
        index_after=None if gone else order.index(draft.token),
        cell_type_before=cell.cell_type if cell else None,
        cell_type_after=None if gone else draft.cell_type,
        before=cell.source if cell else "",
        after="" if gone else draft.source,
        moved=draft.moved,
        outputs_cleared=not gone and draft.outputs_cleared,
        attachments_changed="attachments" in changed and not gone,
        metadata=metadata,
    )


def edit(workspace: Workspace, order: Order, made: list[Splice]) -> Edit:
    """Give what was done to each cell, and by which splices."""
    moved = order.moved
    steps = [
        step
        for draft in workspace.drafts.values()
        if (step := _step(draft, order, moved)) is not None
    ]
    return Edit(workspace.document, made, steps, workspace.metadata, len(order))


def _step(draft: Draft, order: Order, moved: Collection[int]) -> Step | None:
    if draft.gone_by is not None:
        return None if draft.cell is None else Step(draft.id, draft.cell, None, None)
    touched = draft.touched
    if draft.cell is not None and not touched and draft.token not in moved:
        return None
    return Step(
        draft.id,
        draft.cell,
        State(draft.cell_type, draft.source, draft.metadata, draft.attachments),
        order.index(draft.token),
        moved=draft.token in moved,
        touched=touched,
        cleared=draft.outputs_cleared,
        returned=draft.outputs_returned,
    )
