"""Merge the change of a cell by an undo with the changes by others since the edit.

An accepted proposal is applied in the same way. Its record is an undo record, in which the proposed
state of a cell is the state before the edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.undo.part_members import restore_members
from jupyter_nbedit.notebook.undo.record import CellUndo, UndoRecord

# Members that are restored in a way of their own.
_OTHER_MEMBERS = frozenset(("id", "source", "cell_type"))


@dataclass(frozen=True)
class ChosenSource:
    """The source that a person wants in a cell, and the source hash that the cell has now.

    The hash is None for a new cell. A source of None removes the cell.
    """

    source_hash: str | None
    source: str | None


@dataclass(frozen=True)
class Resolution:
    """What becomes of cells that were changed since the edit.

    ``chosen_sources`` has the sources for some parts. Without ``merges_lines``, the cells of the
    other parts are conflicts if their sources have changed, even in other lines.
    """

    chosen_sources: Mapping[int, ChosenSource] = field(default_factory=dict)
    merges_lines: bool = True


#: Sources are merged by line, and none is chosen.
NO_RESOLUTION = Resolution()


def merge_cell(
    record: UndoRecord, part: CellUndo, edited_cell: EditedCell, style: Style, source: str
) -> None:
    """Give an existing cell a source, and the other members that the undo restores.

    A member stays as it is now if others have changed it since the edit.
    """
    cell, before, after = edited_cell.cell, part.before, part.after
    edited_cell.source = source
    if cell is None or before is None or after is None or part.fragments is None:
        return
    values = restore_members(record, part, cell, style)
    if "cell_type" in values and cell.cell_type == after.cell_type:
        edited_cell.change_type(before.cell_type or "")
    for name in values.keys() - _OTHER_MEMBERS:
        if name == "metadata" or edited_cell.cell_type == before.cell_type:
            edited_cell.members[name] = values[name]
