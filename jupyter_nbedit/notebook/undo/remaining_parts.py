"""What there is left to undo of an edit, parts of which somebody has undone by hand."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from msgspec.structs import replace

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.undo.known_history import Past
from jupyter_nbedit.notebook.undo.record import (
    CellContent,
    CellUndo,
    UndoRecord,
    compute_fingerprint,
)


def list_remaining_parts(
    document: Document, record: UndoRecord, chosen: Collection[int], past: Past
) -> dict[int, CellUndo]:
    """Return the chosen parts by their numbers, without what is as before the edit already.

    A cell that a later edit in effect has changed as well is not left out: the later edit, too, may
    be undone, and would bring back what this one did.
    """
    parts = {number: record.parts[number] for number in chosen}
    since = past.list_parts_since(record)
    if since is None:
        return parts
    changed = {part.cell_id for part in since}
    # Without ids, positions tell the cells: they must be those that the edit left.
    is_same_size = not past.is_rearranged_since(record) and len(document) == record.total_cells
    found: dict[int, CellUndo] = {}
    for number, part in parts.items():
        left: CellUndo | None = part
        if part.cell_id is None:
            if is_same_size and not changed and not part.moved:
                left = _compute_remainder(document, record, part, part.index)
        elif part.cell_id not in changed:
            indexes = document.ids.get(part.cell_id, [])
            if len(indexes) < 2:  # noqa: PLR2004 -- an id that two cells have names neither
                left = _compute_remainder(document, record, part, indexes[0] if indexes else None)
        if left is not None:
            found[number] = left
    return found


def _compute_remainder(
    document: Document, record: UndoRecord, part: CellUndo, index: int | None
) -> CellUndo | None:
    """Return what is left of a part whose cell is at an index, or is not there; None if nothing."""
    if index is None:
        return part if part.before is not None or part.of_notebook else None
    state = None
    with suppress(InvalidNotebook):
        state = CellContent.from_cell(document.get_cell(index))
    if state is None or not _is_as_before(record, part, state):
        return part
    if part.index is not None and state.fingerprint == part.fingerprint:
        # The edit changed only what does not tell cells apart, such as outputs.
        return part
    if part.moved:
        # It remains to move it back.
        return replace(part, former=None, after=state.side, fingerprint=state.fingerprint)
    return None


def _is_as_before(record: UndoRecord, part: CellUndo, state: CellContent) -> bool:
    before = part.before
    if before is None or before.cell_type is None or before.source is None:
        return False
    attachments = None if "attachments" in part.added else state.attachments
    for piece in part.former or ():
        if piece.name == "attachments" and piece.blob_range is not None:
            value = record.read_blob(*piece.blob_range)
            attachments = json_spans.decode(value, Span(0, len(value)))
    was = compute_fingerprint(before.cell_type, before.source, before.metadata, attachments)
    return was == state.fingerprint
