"""What an edit does to a notebook, and the undo record that is built from it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import filterfalse
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook import json_edit
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.edited_cell import EXECUTION_MEMBERS, EditedCell, list_filled_members
from jupyter_nbedit.notebook.json_spans import decode_object
from jupyter_nbedit.notebook.members import compute_short_hash, hash_attachments, hash_run
from jupyter_nbedit.notebook.splices import Splice, invert_splices
from jupyter_nbedit.notebook.undo.record import (
    CellState,
    CellUndo,
    Fragment,
    GapAnchor,
    NeighbourKey,
    UndonePart,
    UndoRecord,
)
from jupyter_nbedit.notebook.undo.removed_bytes import UndoBlobBuilder

# The number of neighbours of a gap that are stored on either side.
_NEIGHBOURS = 3
# Outputs belong to a type and a source.
_RUN_MEMBERS = EXECUTION_MEMBERS | {"cell_type", "source"}
_INDEX = Meta(description="The cell's index after the batch; of a deleted cell, its index before.")
_SOURCE = Meta(description="The cell's source, if the operation removed it.")

#: The kind of an edit: how it came about.
Kind = Literal["edit", "create", "undo", "redo", "undo_cells", "restore", "outside"]


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """One of the cells that an operation affected."""

    cell_id: str | None
    index: Annotated[int, _INDEX]
    cell_type: str
    source_hash: str
    outputs_cleared: Annotated[
        bool | UnsetType, Meta(description="Whether the cell had outputs that were cleared.")
    ] = UNSET
    source: Annotated[str, _SOURCE] | UnsetType = UNSET

    @classmethod
    def from_cell(
        cls, cell: EditedCell, order: FinalOrder, number: int, *, is_clearing: bool
    ) -> CellResult:
        """Return what the operation with a number did to a cell."""
        is_removed = cell.removed_by == number
        return cls(
            cell_id=cell.id,
            index=order.get_index(cell.token) if cell.removed_by is None else cell.anchor_index,
            cell_type=cell.cell_type,
            source_hash=cell.source_hash,
            outputs_cleared=cell.outputs_cleared if is_clearing and not is_removed else UNSET,
            source=cell.source if is_removed else UNSET,
        )


class AffectedCell(msgspec.Struct, frozen=True):
    """One cell that an operation affected; null fields mean the same as in the edit event."""

    op: str
    cell_id: str | None
    index: int | None


class OperationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation did.

    The fields of a cell describe the one cell that the operation addresses or inserts. They are
    null if the operation is about several cells, which are in ``cells``, or about the notebook
    itself.
    """

    op: str
    cell_id: str | None
    index: Annotated[int | None, _INDEX]
    cell_type: str | None
    source_hash: str | None
    outputs_cleared: bool | UnsetType = UNSET
    source: Annotated[str, _SOURCE] | UnsetType = UNSET
    cells: Annotated[
        list[CellResult] | UnsetType,
        Meta(description="All affected cells, if the operation can affect several."),
    ] = UNSET

    @classmethod
    def from_cells(
        cls, op: str, cell: CellResult | None, cells: list[CellResult] | UnsetType = UNSET
    ) -> OperationResult:
        """Return the result of an operation on one cell, on several, or on the notebook."""
        nothing: dict[str, Any] = dict.fromkeys(("cell_id", "index", "cell_type", "source_hash"))
        fields = nothing if cell is None else msgspec.structs.asdict(cell)
        return cls(op=op, cells=cells, **fields)

    def list_affected(self) -> list[AffectedCell]:
        """Return each affected cell, as events and the history list it."""
        cells = [self] if self.cells is UNSET else self.cells
        return [AffectedCell(self.op, cell.cell_id, cell.index) for cell in cells]


@dataclass(frozen=True)
class CellChange:
    """What an edit does to one cell; None means that the cell does not exist before or after."""

    id: str | None
    before: Cell | None
    after: Cell | EditedCell | None
    #: The index after the edit.
    index: int | None
    is_moved: bool = False
    #: The names of the changed members, if the cell exists before and after.
    changed_members: Collection[str] = ()
    outputs_cleared: bool = False
    outputs_returned: bool = False
    #: Of an inverse edit: whether the edit clears the outputs of the cell, also if it has none.
    clears_outputs: bool = False
    is_inverse: bool = False

    @property
    def index_before(self) -> int | None:
        """The index before the edit."""
        return None if self.before is None else self.before.index

    @property
    def operation(self) -> str:
        """What was done to the cell: insert, delete, move or change."""
        if self.before is None:
            return "insert"
        if self.after is None:
            return "delete"
        return "change" if self.changed_members or not self.is_moved else "move"

    @property
    def sort_key(self) -> tuple[int, bool]:
        """Sorts changes by index; a removed cell precedes the cell that is then at its index."""
        if self.index is not None:
            return self.index, True
        return self.index_before or 0, False

    def invert(self, document: Document) -> CellChange:
        """Return what the inverse edit does; ``document`` is the notebook after this edit."""
        before = None if self.index is None else document.get_cell(self.index)
        return CellChange(
            id=self.id,
            before=before,
            after=self.before,
            index=self.index_before,
            is_moved=self.is_moved,
            changed_members=self.changed_members,
            outputs_cleared=self.outputs_returned,
            outputs_returned=self.outputs_cleared,
            clears_outputs=isinstance(self.after, EditedCell) and self.after.clears_later_outputs,
            is_inverse=True,
        )


@dataclass(frozen=True)
class EditPlan:
    """What an edit does to a notebook: in bytes, and for each changed cell."""

    #: The notebook before the edit.
    document: Document
    #: Splices on the notebook's bytes; empty if nothing changes.
    splices: list[Splice]
    changes: list[CellChange]
    #: The encoded metadata of the notebook after the edit.
    metadata: bytes | None
    #: The number of cells after the edit.
    total_cells: int
    #: One result for each operation.
    results: list[OperationResult]
    #: What the author may not have meant.
    warnings: Sequence[str] = ()
    #: Of a plan that reverts parts of an edit: by the numbers of the parts, the indexes after it of
    #: the cells; None if there is no such cell.
    reverted_indexes: Mapping[int, int | None] = field(default_factory=dict)
    #: What it undoes, if that is in the history.
    undone_parts: Sequence[UndonePart] = ()

    @property
    def changes_metadata(self) -> bool:
        """Whether the metadata of the notebook changes."""
        return self.metadata != self.document.written_metadata

    @cached_property
    def unmoved(self) -> tuple[Sequence[int], Sequence[int]]:
        """The indexes, before and after the edit, of the cells that stay in order."""
        moved = [c for c in self.changes if c.is_moved or c.before is None or c.after is None]
        return (
            _exclude(len(self.document), {change.index_before for change in moved}),
            _exclude(self.total_cells, {change.index for change in moved}),
        )

    def list_origins(self) -> list[int | None]:
        """Return the index before the edit of each cell after it; None for a new cell."""
        origins: list[int | None] = [None] * self.total_cells
        for index_before, index in zip(*self.unmoved, strict=True):
            origins[index] = index_before
        for change in self.changes:
            if change.is_moved and change.index is not None:
                origins[change.index] = change.index_before
        return origins

    def build_record(self) -> UndoRecord:
        """Return the record that undoes the edit; reads only changed cells and their neighbours."""
        blob_builder = UndoBlobBuilder(self.document.text, self.splices)
        anchors = _AnchorTable(self)
        changes = sorted(self.changes, key=lambda change: change.sort_key)
        parts = [_build_part(change, blob_builder, anchors) for change in changes]
        if self.changes_metadata:
            parts.append(_build_metadata_part(self, blob_builder))
        return UndoRecord(
            parts=parts,
            gaps=anchors.gaps,
            reverse_splices=blob_builder.build_reverse_splices(),
            total_cells=self.total_cells,
            blob=bytes(blob_builder.blob),
            undone_parts=[*self.undone_parts],
        )

    def build_forward_record(self) -> UndoRecord:
        """Return a record that applies the edit, or parts of it, at a later time.

        It is the undo record of the inverse edit, for the notebook as the edit would leave it:
        undoing the inverse applies the edit. This parses that notebook.
        """
        base = self.document
        document = base.apply_splices(self.splices)
        inverse = EditPlan(
            document,
            invert_splices(base.text, self.splices),
            [change.invert(document) for change in self.changes],
            base.written_metadata,
            len(base),
            results=[],
        )
        return inverse.build_record()


def _build_part(
    change: CellChange, blob_builder: UndoBlobBuilder, anchors: _AnchorTable
) -> CellUndo:
    before, after = change.before, change.after
    cell_id = anchors.get_unique_id(change.id)
    part = CellUndo(
        cell_id=cell_id,
        index_before=change.index_before,
        index=change.index,
        is_moved=change.is_moved,
        outputs_cleared=change.outputs_cleared,
        outputs_returned=change.outputs_returned,
        clears_outputs=change.clears_outputs,
        before=None if before is None else CellState.from_cell(before),
        after=None if after is None else CellState.from_cell(after),
    )
    if cell_id is None and change.index is not None:
        part.neighbour_keys = anchors.get_key(change.index - 1), anchors.get_key(change.index + 1)
    if before is None:
        part.attachments = {} if after is None else hash_attachments(after.attachments)
    else:
        if after is None:
            part.fragments = blob_builder.add_cell(before)
        else:
            stored_members = set(change.changed_members)
            if _loses_reference(before, after):
                # JupyterLab drops such attachments, and an undo returns them.
                stored_members.add("attachments")
            part.fragments = blob_builder.add_changed_members(before, stored_members)
            part.added_members = sorted(set(change.changed_members) - before.members.keys())
            if "attachments" in stored_members:
                part.attachments = hash_attachments(after.attachments)
            if not (change.is_inverse or stored_members.isdisjoint(_RUN_MEMBERS)):
                part.run_hash = _hash_run(after)
        if after is None or change.is_moved:
            part.gap_number = anchors.get_number(before.index)
    return part


def _loses_reference(before: Cell, after: Cell | EditedCell) -> bool:
    """Return whether the source refers to an attachment, and the source after the edit does not."""
    names = json_edit.read_values(before.get_raw("attachments"))
    source, new_source = (before.source, after.source) if names else ("", "")
    return any(name in source and name not in new_source for name in names)


def _hash_run(cell: Cell | EditedCell) -> str | None:
    """Return a hash of the outputs after the edit; empty if there are none."""
    if cell.cell_type != "code":
        return None
    if isinstance(cell, EditedCell):
        return hash_run(cell.get_member) if cell.is_filled_after else ""
    return hash_run(cell.get_raw) if list_filled_members(cell) else ""


def _build_metadata_part(plan: EditPlan, blob_builder: UndoBlobBuilder) -> CellUndo:
    span, after = plan.document.metadata_span, plan.metadata
    return CellUndo(
        before=CellState(cell_type=None, source=None, metadata=plan.document.metadata),
        after=CellState(cell_type=None, source=None, metadata=decode_object(after)),
        fragments=None if span is None else [Fragment(None, blob_builder.add_range(*span))],
        fingerprint=None if after is None else compute_short_hash(after),
    )


class _AnchorTable:
    """The gaps of removed and moved cells, between cells that the edit did not move."""

    def __init__(self, plan: EditPlan) -> None:
        self.gaps: list[GapAnchor] = []
        self._numbers: dict[int, int] = {}
        self._plan = plan

    def get_number(self, index: int) -> int:
        """Return the number of the gap where a cell was, adding it if necessary."""
        before, after = self._plan.unmoved
        rank = bisect_left(before, index)
        if rank not in self._numbers:
            self._numbers[rank] = len(self.gaps)
            ranks_before = range(rank - 1, max(-1, rank - 1 - _NEIGHBOURS), -1)
            ranks_after = range(rank, min(len(before), rank + _NEIGHBOURS))
            self.gaps.append(
                GapAnchor(
                    list(map(self._build_anchor, ranks_before)),
                    list(map(self._build_anchor, ranks_after)),
                    after[rank - 1] + 1 if rank else 0,
                )
            )
        return self._numbers[rank]

    def get_unique_id(self, cell_id: str | None) -> str | None:
        """Return an id if it identifies a cell before and after the edit, else None."""
        ids = self._plan.document.ids
        count = len(ids.get(cell_id or "", ())) + self._inserted_ids[cell_id]
        return cell_id if count <= 1 else None

    @cached_property
    def _inserted_ids(self) -> Counter[str | None]:
        return Counter(change.id for change in self._plan.changes if change.before is None)

    def _build_anchor(self, rank: int) -> NeighbourKey:
        before, after = self._plan.unmoved
        cell_id = self.get_unique_id(self._plan.document.headers[before[rank]][0])
        return NeighbourKey(cell_id, self.get_key(after[rank]) if cell_id is None else None)

    @cached_property
    def _changed_cells(self) -> dict[int | None, Cell | EditedCell | None]:
        return {change.index: change.after for change in self._plan.changes}

    def get_key(self, index: int) -> str:
        """Return the content key of the cell at an index after the edit; empty if it has none."""
        if not 0 <= index < self._plan.total_cells:
            return ""
        cell = self._changed_cells.get(index)
        if cell is None:
            before, after = self._plan.unmoved
            cell = self._plan.document.get_cell(before[bisect_left(after, index)])
        # An unreadable neighbour must not prevent the edit.
        with suppress(InvalidNotebook):
            return CellState.from_cell(cell).content_key
        return ""


def _exclude(count: int, indexes: Collection[int | None]) -> Sequence[int]:
    """Return all indexes but some."""
    return [*filterfalse(indexes.__contains__, range(count))] if indexes else range(count)
