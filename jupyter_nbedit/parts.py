"""What an edit did, or would do, to one cell after the other, as it is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from jupyter_nbedit.notebook import record
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.record import CellState


class CellDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one cell, or to the notebook's own metadata: then all addresses are null."""

    part: Annotated[int, Meta(ge=0, description="Its number, from 0.")]
    cell_id: str | None
    index_before: Annotated[
        int | None, Meta(description="Where the cell stands before the edit; null if it is new.")
    ]
    index: Annotated[
        int | None, Meta(description="Where it stands after it; null if it is deleted.")
    ]
    moved: Annotated[
        bool, Meta(description="Whether the cell is taken to another place among the others.")
    ]
    outputs_cleared: Annotated[bool, Meta(description="Whether the cell loses its outputs.")]
    before: CellState | None
    after: CellState | None


def build_cell_diffs(changed: Iterable[record.CellUndo]) -> list[CellDiff]:
    """Show the parts of a record, numbered as they come."""
    return [
        CellDiff(
            part=number,
            cell_id=one.cell_id,
            index_before=one.index_before,
            index=one.index,
            moved=one.moved,
            outputs_cleared=one.outputs_cleared,
            before=one.before,
            after=one.after,
        )
        for number, one in enumerate(changed)
    ]


def build_cell_diffs_of_new(document: Document) -> list[CellDiff]:
    """Show the cells of a new notebook."""
    return [
        CellDiff(
            part=cell.index,
            cell_id=cell.id,
            index_before=None,
            index=cell.index,
            moved=False,
            outputs_cleared=False,
            before=None,
            after=CellState(cell_type=cell.cell_type, source=cell.source, metadata=cell.metadata),
        )
        for cell in map(document.get_cell, range(len(document)))
    ]
