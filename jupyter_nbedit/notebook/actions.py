"""What each operation does to the notebook while a batch is applied to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import TypeVar

import msgspec
from msgspec import UNSET

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook import objects, section_actions, spans, textedit
from jupyter_nbedit.notebook.drafts import Draft
from jupyter_nbedit.notebook.line_ends import adapt_source, with_line_feeds
from jupyter_nbedit.notebook.metadata import check_members, defined_members
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
from jupyter_nbedit.notebook.spans import Span
from jupyter_nbedit.notebook.workspace import Workspace

SectionOperation = TypeVar("SectionOperation", AppendToSection, ReplaceSection)

# What a cell says of its last run, and what in it says that the run is over.
_EXECUTION, _STARTED, _ENDED = "execution", "iopub.execute_input", "shell.execute_reply"


@dataclass(frozen=True)
class Touched:
    """What an operation was about.

    Parameters
    ----------
    cell
        The one cell it names or makes, if there is one.
    cells
        All cells it touched, if it is one that may touch several.
    """

    cell: Draft | None = None
    cells: Sequence[Draft] | None = None


@singledispatch
def perform(operation: Operation, workspace: Workspace, number: int) -> Touched:
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


@perform.register
def _replace(operation: Replace, workspace: Workspace, _number: int) -> Touched:
    draft = workspace.draft(operation.cell, operation.expect)
    workspace.check_editable(draft)
    if operation.source is not UNSET:
        draft.source = adapt_source(operation.source, draft.source)
    if operation.cell_type is not UNSET:
        _change_type(operation.cell_type, draft, workspace)
    draft.clear = draft.clear or operation.outputs == "clear"
    return Touched(draft)


def _change_type(cell_type: str, draft: Draft, workspace: Workspace) -> None:
    """Change a cell's type, unless its metadata has what only the new type does not allow."""
    minor = workspace.document.nbformat_minor
    only_new = defined_members(cell_type, minor) - defined_members(draft.cell_type, minor)
    if only_new:
        _check_members(draft.member("metadata"), only_new, cell_type, workspace)
    draft.become(cell_type)


def _check_members(
    metadata: bytes | None, names: Collection[str], owner: str, workspace: Workspace
) -> None:
    """Refuse those of some members of written metadata that nbformat refuses."""
    written = objects.values(metadata)
    minor = workspace.document.nbformat_minor
    members = {
        name: spans.decode(written[name], Span(0, len(written[name])))
        for name in names
        if name in written
    }
    check_members(members, owner, minor)


@perform.register
def _replace_text(operation: ReplaceText, workspace: Workspace, _number: int) -> Touched:
    draft = workspace.draft(operation.cell, operation.expect)
    workspace.check_editable(draft)
    draft.source = textedit.edited(draft.source, operation)
    draft.clear = draft.clear or operation.outputs == "clear"
    return Touched(draft)


@perform.register
def _insert(operation: Insert, workspace: Workspace, _number: int) -> Touched:
    cell_id = workspace.new_id(operation.id)
    place = workspace.place(operation)
    near = workspace.arrangement.gap_of(place)
    metadata = {} if operation.metadata is UNSET else operation.metadata
    check_members(metadata, operation.cell_type, workspace.document.nbformat_minor)
    style = workspace.style.of_new_cell(near, operation.cell_type)
    draft = workspace.insert(
        place,
        cell_id=cell_id,
        cell_type=operation.cell_type,
        source=with_line_feeds(operation.source),
        members={"metadata": style.value(metadata)},
    )
    return Touched(draft)


def _named(workspace: Workspace, operation: Delete | Move | ClearOutputs) -> Touched:
    if operation.cells is not UNSET:
        return Touched(cells=workspace.several(operation.cells))
    return Touched(workspace.draft(operation.cell, operation.expect))  # type: ignore[arg-type] # check_form


def _all(touched: Touched) -> Sequence[Draft]:
    return [touched.cell] if touched.cell is not None else touched.cells or []


@perform.register
def _delete(operation: Delete, workspace: Workspace, number: int) -> Touched:
    touched = _named(workspace, operation)
    for draft in _all(touched):
        workspace.take_out(draft, number)
    return touched


@perform.register
def _move(operation: Move, workspace: Workspace, _number: int) -> Touched:
    touched = _named(workspace, operation)
    first, *others = _all(touched)
    arrangement = workspace.arrangement
    arrangement.move(first.token, workspace.place(operation))
    for draft in others:
        arrangement.move(draft.token, arrangement.beside(first.token, after=True))
    for draft in _all(touched):
        draft.moved = True
    return touched


@perform.register
def _split(operation: Split, workspace: Workspace, _number: int) -> Touched:
    draft = workspace.draft(operation.cell, operation.expect)
    workspace.check_editable(draft)
    draft.source, rest = textedit.cut(draft.source, operation.at_line)
    draft.clear = True
    members = {name: draft.member(name) for name in ("metadata", "attachments")}
    metadata = members["metadata"]
    if metadata is not None and _runs(draft):
        # As in JupyterLab: the new cell is not the one that is running.
        style = draft.style(workspace.style)
        members["metadata"] = objects.with_members(metadata, {_EXECUTION: None}, style)
    new = workspace.insert(
        workspace.arrangement.beside(draft.token, after=True),
        cell_id=workspace.new_id(),
        cell_type=draft.cell_type,
        source=rest,
        members=members,
    )
    return Touched(draft, [draft, new])


def _runs(draft: Draft) -> bool:
    execution = draft.metadata.get(_EXECUTION)
    return isinstance(execution, dict) and _STARTED in execution and _ENDED not in execution


@perform.register
def _merge(operation: Merge, workspace: Workspace, number: int) -> Touched:
    drafts = workspace.several(operation.cells)
    first, *others = drafts
    for one, other in pairwise(drafts):
        if workspace.arrangement.following(one.token) != other.token:
            message = (
                f"`merge` needs cells that stand one behind the other, in their order; "
                f"{workspace.address_of(other)!r} does not follow {workspace.address_of(one)!r}. "
                "Move it there first, or name other cells."
            )
            raise InvalidOperation(message, cell=workspace.address_of(other))
        if one.cell_type != other.cell_type:
            message = (
                f"`merge` needs cells of one type; {workspace.address_of(one)!r} is "
                f"{one.cell_type} and {workspace.address_of(other)!r} is {other.cell_type}. "
                "Change the type of one of them first."
            )
            raise InvalidOperation(message, cell=workspace.address_of(other))
    for draft in drafts:
        workspace.check_editable(draft)
    _gather_attachments(workspace, first, others)
    for draft in others:
        workspace.take_out(draft, number)
        draft.clear = True
    first.source = "\n".join(draft.source for draft in drafts)
    first.clear = True
    return Touched(first, drafts)


def _gather_attachments(workspace: Workspace, first: Draft, others: Sequence[Draft]) -> None:
    """Give the first cell the attachments of the others, whose sources refer to them."""
    gathered = first.member("attachments")
    known = {} if gathered is None else objects.values(gathered)
    for draft in others:
        attachments = draft.member("attachments")
        if attachments is None:
            continue
        new: dict[str, bytes | None] = {}
        for name, value in objects.values(attachments).items():
            if known.setdefault(name, value) != value:
                message = (
                    f"The cells have different attachments named {name!r}, of which only one "
                    "could stay. Rename one of them first."
                )
                raise InvalidOperation(message, cell=workspace.address_of(draft))
            new[name] = value
        if gathered is None:
            gathered = attachments
        elif new:
            style = first.style(workspace.style)
            gathered = objects.with_members(gathered, new, style)
    if gathered is not None and gathered != first.member("attachments"):
        first.members["attachments"] = gathered


@perform.register
def _clear_outputs(operation: ClearOutputs, workspace: Workspace, _number: int) -> Touched:
    if operation.all is UNSET:
        touched = _named(workspace, operation)
    else:
        touched = Touched(cells=workspace.all_with_outputs())
    for draft in _all(touched):
        workspace.check_editable(draft)
        draft.clear = True
    return touched


@perform.register
def _set_metadata(operation: SetMetadata, workspace: Workspace, _number: int) -> Touched:
    if operation.cell is UNSET:
        around = workspace.style.of_notebook()
        now = workspace.metadata or b"{}"
        workspace.metadata = objects.merge_patched(now, operation.patch, around)
        _check_members(workspace.metadata, operation.patch, "notebook", workspace)
        return Touched()
    draft = workspace.draft(operation.cell, operation.expect)
    if operation.patch.get("editable", False) is False:
        workspace.check_editable(draft)
    style = draft.style(workspace.style)
    now = draft.member("metadata") or b"{}"
    draft.members["metadata"] = objects.merge_patched(now, operation.patch, style)
    _check_members(draft.members["metadata"], operation.patch, draft.cell_type, workspace)
    return Touched(draft)


def _with_line_feeds(operation: SectionOperation) -> SectionOperation:
    """Return the operation as a new cell takes it; a cell that is there has its own line ends."""
    source = with_line_feeds(operation.source)
    return msgspec.structs.replace(operation, source=source)


@perform.register
def _append_to_section(operation: AppendToSection, workspace: Workspace, _number: int) -> Touched:
    return Touched(section_actions.append(workspace, _with_line_feeds(operation)))


@perform.register
def _replace_section(operation: ReplaceSection, workspace: Workspace, number: int) -> Touched:
    return Touched(*section_actions.replace(workspace, _with_line_feeds(operation), number))


@perform.register
def _remove_entry(operation: RemoveEntry, workspace: Workspace, _number: int) -> Touched:
    return Touched(cells=section_actions.remove_entry(workspace, operation))
