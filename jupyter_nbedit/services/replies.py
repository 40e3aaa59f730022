"""Replies that edits, proposals, tools and handlers share."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.notebook.edit_plan import Kind, OperationResult
from jupyter_nbedit.services.tabs import TabCounts
from jupyter_nbedit.storage.base import Guard


class RevisionChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The cells that were changed after the version that `rev` names, but not by this edit."""

    rev: str
    cells: Annotated[
        list[str] | None,
        Meta(
            description="The names of new and changed cells; the first 50. Null if the server does "
            "not remember the version."
        ),
    ]
    count: Annotated[int, Meta(ge=0, description="How many there are.")]


class UndoneEdit(msgspec.Struct, frozen=True, kw_only=True):
    """An edit that is undone or redone, and its author."""

    edit_id: int
    kind: Annotated[
        Kind,
        Meta(description="What it was: undo of an `undo_cells` brings back what that has undone."),
    ]
    user: Annotated[str, Meta(description="The user who made it; empty if unknown.")]
    client: Annotated[
        str | None, Meta(description="The name of the client, as it states it; not verified.")
    ]
    message: Annotated[str | None, Meta(description="The reason, as the client states it.")]


class CellSources(msgspec.Struct, frozen=True):
    """The source of a cell before and after an edit."""

    cell_id: str | None
    index_before: Annotated[
        int | None, Meta(description="The index before the edit; null if the cell is new.")
    ]
    index: Annotated[
        int | None, Meta(description="The index after the edit; null if the cell is deleted.")
    ]
    before: Annotated[str | None, Meta(description="Null if the cell is new.")]
    after: Annotated[str | None, Meta(description="Null if the cell is deleted.")]


class EditReply(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an edit: what is stored now, under which hash, and how it was written.

    ``edit_id`` is null if nothing was written, or if the history could not store the edit, which a
    warning then reports; ``hash_before`` is null if the edit created the notebook. ``proposal_id``
    is present if nothing was written because a person decides first.
    """

    path: str
    edit_id: int | None
    hash_before: str | None
    hash: str
    last_modified: datetime
    applied_via: str
    bytes_preserved: bool
    persisted: bool
    dry_run: bool
    total_cells: int
    cells_delta: int
    language: str | None
    operations: list[OperationResult]
    diff: Annotated[
        str,
        Meta(
            description="The edit as a unified diff by cell, for people and models. A line ends at "
            "a line feed. What does not print is escaped as in JSON: `\\r`, `\\u200b`; where "
            "lines would look the same, so are tabs, spaces at the end, marks and backslashes."
        ),
    ]
    warnings: list[str]
    proposal_id: Annotated[
        int | UnsetType, Meta(description="The proposal that the edit has become.")
    ] = UNSET
    undone: Annotated[
        list[UndoneEdit] | UnsetType,
        Meta(description="The edits that an undo or redo was about, oldest first."),
    ] = UNSET
    sources: Annotated[
        list[CellSources] | UnsetType,
        Meta(
            description="Of a dry run of an undo, redo or restore: the cells whose sources it "
            "changes, in the order of the notebook."
        ),
    ] = UNSET
    guard: Annotated[
        Guard | UnsetType,
        Meta(
            description="How the edit was prevented from overwriting what another program "
            "writes to the file at the same moment; present if a file was replaced. `lease`: "
            "the old and the new file exchanged their names, which would have been reversed if "
            "the old one had changed, while no program could open it for writing. `exchange`: "
            "the same, but another program may have had the file open. `compare`: the file was "
            "compared just before it was replaced."
        ),
    ] = UNSET
    tabs: TabCounts = TabCounts()
    changed_since: Annotated[
        RevisionChanges | UnsetType,
        Meta(description="Present if the request has a `rev` that was not the current one."),
    ] = UNSET

    @property
    def is_written(self) -> bool:
        """Whether the edit has changed the notebook."""
        is_applied = not self.dry_run and self.proposal_id is UNSET
        return is_applied and self.hash != self.hash_before
