"""Find the parts of an edit that remain to be undone, if some were reverted by hand."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from msgspec.structs import replace

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.undo.known_history import KnownHistory
from jupyter_nbedit.notebook.undo.record import (
    CellContent,
    CellUndo,
    UndoRecord,
    compute_fingerprint,
)


def list_remaining_parts(
    document: Document, record: UndoRecord, part_numbers: Collection[int], history: KnownHistory
) -> dict[int, CellUndo]:
    """Return the chosen parts by number, without those that already are as before the edit.

    Parameters
    ----------
    document
        The current notebook.
    record
        The record of the edit.
    part_numbers
        The numbers of the chosen parts.
    history
        The known later edits. A cell that one of them changed as well is not left out, because
        undoing that edit could restore what this one did.
    """
    parts = {number: record.parts[number] for number in part_numbers}
    later_parts = history.list_later_parts(record)
    if later_parts is None:
        return parts
    changed_ids = {part.cell_id for part in later_parts}
    # Without ids, cells are identified by position: the edit's order must be unchanged.
    is_same_size = (
        not history.has_later_rearrangement(record) and len(document) == record.total_cells
    )
    remaining_parts: dict[int, CellUndo] = {}
    for number, part in parts.items():
        remaining_part: CellUndo | None = part
        if part.cell_id is None:
            if is_same_size and not changed_ids and not part.is_moved:
                remaining_part = _compute_remaining_part(document, record, part, part.index)
        elif part.cell_id not in changed_ids:
            indexes = document.ids.get(part.cell_id, [])
            if len(indexes) < 2:  # noqa: PLR2004 -- an id that two cells have names neither
                remaining_part = _compute_remaining_part(
                    document, record, part, indexes[0] if indexes else None
                )
        if remaining_part is not None:
            remaining_parts[number] = remaining_part
    return remaining_parts


def _compute_remaining_part(
    document: Document, record: UndoRecord, part: CellUndo, index: int | None
) -> CellUndo | None:
    """Return what remains of a part whose cell has an index, or does not exist; None if nothing."""
    if index is None:
        return part if part.before is not None or part.is_notebook_metadata else None
    state = None
    with suppress(InvalidNotebook):
        state = CellContent.from_cell(document.get_cell(index))
    if state is None or not _has_content_before_edit(record, part, state):
        return part
    if part.index is not None and state.fingerprint == part.fingerprint:
        # The edit changed only values that are not part of the fingerprint, such as outputs.
        return part
    if part.is_moved:
        # Only the position remains to be restored.
        return replace(part, fragments=None, after=state.state, fingerprint=state.fingerprint)
    return None


def _has_content_before_edit(record: UndoRecord, part: CellUndo, state: CellContent) -> bool:
    before = part.before
    if before is None or before.cell_type is None or before.source is None:
        return False
    attachments = None if "attachments" in part.added_members else state.attachments
    for fragment in part.fragments or ():
        if fragment.name == "attachments" and fragment.blob_range is not None:
            value = record.read_blob(*fragment.blob_range)
            attachments = json_spans.decode(value, Span(0, len(value)))
    fingerprint = compute_fingerprint(before.cell_type, before.source, before.metadata, attachments)
    return fingerprint == state.fingerprint
