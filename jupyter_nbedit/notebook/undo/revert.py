"""Revert an edit, immediately or after further edits of the notebook."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from msgspec import UNSET

from jupyter_nbedit.errors import UndoConflict
from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.apply_batch import CellResult, EditPlan, OperationResult, build_plan
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Document, compute_source_hash
from jupyter_nbedit.notebook.edited_cell import (
    EditedCell,
)
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.cell_locator import CellLocator, CellNotLocated
from jupyter_nbedit.notebook.undo.known_history import NO_KNOWN_HISTORY, KnownHistory
from jupyter_nbedit.notebook.undo.record import (
    CellUndo,
    UndoRecord,
    compute_short_hash,
    is_json_equal,
)
from jupyter_nbedit.notebook.undo.remaining_parts import list_remaining_parts
from jupyter_nbedit.notebook.undo.restored_cell import RestoredCell
from jupyter_nbedit.notebook.working_copy import WorkingCopy


def revert(  # noqa: PLR0913 -- each says something else of the one thing that is done
    document: Document,
    record: UndoRecord,
    *,
    op: str,
    is_exact: bool = False,
    part_numbers: Collection[int] | None = None,
    history: KnownHistory = NO_KNOWN_HISTORY,
) -> EditPlan:
    """Revert an edit, or some of its parts.

    A cell is restored if it is unchanged since the edit. Members that the edit did not change stay
    as they are now, such as the outputs of a later run. `editable: false` is ignored: the state
    that is restored is one from before it was set, or the one in which it was set.

    Parameters
    ----------
    document
        The current notebook.
    record
        The record of the edit.
    op
        The operation's name in the reply.
    is_exact
        Whether the document has exactly the bytes after the edit. Then its bytes before the edit
        are restored exactly.
    part_numbers
        The numbers of the parts to revert; None for all.
    history
        What is known of later edits. It determines the positions of cells whose neighbours were
        removed or restored since.

    Raises
    ------
    UndoConflict
        If a part was changed since. The details contain all conflicts.
    InvalidNotebook
        As `Cell` does.
    """
    # Without reverse splices for these bytes, the indexes of the parts are not valid either.
    is_exact = is_exact and record.reverse_splices is not None
    chosen_numbers = [
        number
        for number in range(len(record.parts))
        if part_numbers is None or number in part_numbers
    ]
    plan = _RevertPlan.build(document, record, chosen_numbers, history, is_exact=is_exact)
    working_copy, order = plan.apply()
    is_whole_record = is_exact and len(chosen_numbers) == len(record.parts)
    return build_plan(
        working_copy,
        order,
        [_build_result(op, working_copy, order)],
        _build_reverse_splices(document, record) if is_whole_record else None,
    )


def _build_reverse_splices(document: Document, record: UndoRecord) -> list[Splice]:
    """Return the splices that restore the bytes before the edit."""
    blob, current = record.blob, document.text
    return [
        Splice(
            start,
            stop,
            b"".join(
                (current if byte_range.is_in_notebook else blob)[byte_range.start : byte_range.stop]
                for byte_range in reverse_splice.ranges
            ),
        )
        for reverse_splice in record.reverse_splices or ()
        for start, stop in [(reverse_splice.start, reverse_splice.stop)]
    ]


@dataclass(frozen=True)
class _RevertPlan:
    """The indexes of cells and gaps of the parts, and the restored metadata of the notebook."""

    document: Document
    record: UndoRecord
    parts: dict[int, CellUndo]
    cells: dict[int, int]
    gaps: dict[int, int]
    metadata: bytes | None

    @classmethod
    def build(
        cls,
        document: Document,
        record: UndoRecord,
        part_numbers: Sequence[int],
        history: KnownHistory,
        *,
        is_exact: bool,
    ) -> _RevertPlan:
        """Locate all parts, or raise with all conflicts."""
        parts = {number: record.parts[number] for number in part_numbers}
        if not is_exact:
            parts = list_remaining_parts(document, record, part_numbers, history)
        locator = CellLocator(document, record, parts, history)
        is_whole = len(part_numbers) == len(record.parts)
        # Gap indexes are ambiguous for cells that left a gap together with parts that are not
        # chosen.
        if is_exact and (is_whole or not locator.has_ids):
            cells = {
                part_number: part.index
                for part_number, part in parts.items()
                if part.index is not None
            }
            gaps = {
                part_number: record.gaps[part.gap_number].gap_index
                for part_number, part in parts.items()
                if part.gap_number is not None
            }
            not_located: list[CellNotLocated] = []
        else:
            cells, gaps, not_located = locator.find()
        later_parts = history.list_later_parts(record)
        metadata, names = _restore_metadata(
            document, record, parts.values(), later_parts, is_exact=is_exact
        )
        if not_located or names:
            _raise_conflict(not_located, names, has_later_edits=later_parts != [])
        return cls(document, record, parts, cells, gaps, metadata)

    def apply(self) -> tuple[WorkingCopy, FinalOrder]:
        """Restore all cells and their positions."""
        working_copy = WorkingCopy(self.document, fresh_id=_forbid_new_id)
        working_copy.metadata = self.metadata
        removed_indexes: list[int] = []
        cells_by_gap: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, part in self.parts.items():
            if part.is_notebook_metadata:
                continue
            token = self.cells.get(number, -1 - number)
            cell = self._restore_cell(part, token, number, working_copy.style)
            working_copy.cells[token] = cell
            if token >= 0 and (part.is_moved or cell.removed_by is not None):
                removed_indexes.append(token)
            if number in self.gaps:
                cells_by_gap[self.gaps[number]].append((part.index_before or 0, token))
        tokens_by_gap = {
            gap: [token for _, token in sorted(cells_by_gap[gap])] for gap in sorted(cells_by_gap)
        }
        return working_copy, FinalOrder(self.document, sorted(removed_indexes), tokens_by_gap)

    def _restore_cell(self, part: CellUndo, token: int, number: int, style: Style) -> EditedCell:
        if token < 0:
            return RestoredCell.from_record(self.record, part, token, self.gaps[number])
        current_cell = self.document.get_cell(token)
        if part.fragments is not None:
            restored_cell: EditedCell = RestoredCell.from_cell(
                self.record, part, current_cell, style
            )
        else:
            restored_cell = EditedCell(
                token,
                current_cell,
                token,
                current_cell.id,
                current_cell.cell_type,
                current_cell.source,
            )
        restored_cell.is_moved = part.is_moved
        if part.before is None:
            restored_cell.removed_by = 0
        return restored_cell


def _forbid_new_id() -> NoReturn:
    message = "Taking back gives cells the ids they had, and makes up none."
    raise AssertionError(message)


def _raise_conflict(
    not_located: Sequence[CellNotLocated], names: list[str], *, has_later_edits: bool
) -> NoReturn:
    cells = [conflict.conflict for conflict in not_located]
    cell_names = [
        repr(conflict["index"] if conflict["cell_id"] is None else conflict["cell_id"])
        for conflict in cells
    ]
    descriptions = [f"the cell {name}" for name in cell_names[:3] if name != "None"]
    descriptions += (
        [f"{len(cells) - len(descriptions)} more cells"] if len(cells) > len(descriptions) else []
    )
    descriptions += [f"{name!r} in the notebook's metadata" for name in names[:3]]
    advice = "change it by an edit of your own, or undo another edit by its number, `edit_id`"
    if has_later_edits:
        advice = "take back later edits first, or change it by an edit of your own"
    message = (
        "This cannot be taken back, because of what was done since then to "
        f"{', '.join(descriptions)}. Nothing was written. The details say what it is like now; "
        f"{advice}."
    )
    raise UndoConflict(message, cells=cells, metadata=names)


def _restore_metadata(
    document: Document,
    record: UndoRecord,
    parts: Iterable[CellUndo],
    later_parts: Sequence[CellUndo] | None,
    *,
    is_exact: bool,
) -> tuple[bytes | None, list[str]]:
    """Return the restored metadata of the notebook, and the names that were changed since."""
    current_bytes = document.written_metadata
    part = next((part for part in parts if part.is_notebook_metadata), None)
    if part is None or part.before is None or part.after is None:
        return current_bytes, []
    old_bytes = (
        None
        if part.fragments is None
        else record.read_blob(*(part.fragments[0].blob_range or (0, 0)))
    )
    if (
        is_exact
        or (None if current_bytes is None else compute_short_hash(current_bytes))
        == part.fingerprint
    ):
        return old_bytes, []
    before, after, current = part.before.metadata, part.after.metadata, document.metadata
    names = [name for name in {**before, **after} if not _is_same(before, after, name)]
    if later_parts is not None and not any(
        later_part.is_notebook_metadata for later_part in later_parts
    ):
        # No edit did this, so these values were restored by hand.
        names = [name for name in names if not _is_same(current, before, name)]
    if not names:
        return current_bytes, []
    conflicting_names = [name for name in names if not _is_same(current, after, name)]
    text = (
        current_bytes
        if current_bytes is not None
        and json_spans.is_object(current_bytes, Span(0, len(current_bytes)))
        else b"{}"
    )
    values = json_edit.read_values(old_bytes)
    return json_edit.set_members(
        text, {name: values.get(name) for name in names}, Style(document).get_notebook_style()
    ), conflicting_names


def _is_same(first: dict[str, Any], second: dict[str, Any], name: str) -> bool:
    return (name in first) == (name in second) and is_json_equal(first.get(name), second.get(name))


def _build_result(op: str, working_copy: WorkingCopy, order: FinalOrder) -> OperationResult:
    """Return the result with a description of each cell."""
    cells = list(working_copy.cells.values())
    descriptions = [_describe_cell(order, cell) for cell in cells]
    if len(descriptions) == 1:
        return OperationResult(op=op, **descriptions[0])
    null_fields: dict[str, Any] = dict.fromkeys(("cell_id", "index", "cell_type", "source_hash"))
    return OperationResult(
        op=op,
        **null_fields,
        cells=[CellResult(**description) for description in descriptions]
        if descriptions
        else UNSET,
    )


def _describe_cell(order: FinalOrder, cell: EditedCell) -> dict[str, Any]:
    is_removed = cell.removed_by is not None
    return {
        "cell_id": cell.id,
        "index": cell.anchor_index if is_removed else order.get_index(cell.token),
        "cell_type": cell.cell_type,
        "source_hash": compute_source_hash(cell.source),
        "outputs_cleared": UNSET if is_removed else cell.outputs_cleared,
        "source": cell.source if is_removed else UNSET,
    }
