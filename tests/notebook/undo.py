"""What taking back must give, whatever notebook and whatever edit it is."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.batch import Applied
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.splices import join
from jupyter_nbedit.notebook.taking_back import take_back
from tests.notebook import model
from tests.notebook.oracle import edit


def kept(record: Record) -> Record:
    """The record as the ledger gives it back."""
    return Record.decode(record.encode())


def meaning(text: bytes) -> Any:
    """What the notebook says, however it is written."""
    value = model.loads(text)
    return {**value, "cells": [model.joined(cell) for cell in value["cells"]]}


def cell_bytes(text: bytes) -> list[bytes]:
    """The bytes of the cells, in order."""
    document = Document.parse(text)
    return [text[span.start : span.stop] for span in document.cell_spans]


def done(document: Document, applied: Applied) -> bytes:
    """What an edit gives; it says so truly."""
    text = join(document.text, applied.splices)
    after = Document.parse(text)
    assert applied.total_cells == len(after)
    for result in applied.results:
        for told in [result] if result.cells is msgspec.UNSET else result.cells:
            if told.index is not None and told.source is msgspec.UNSET:
                cell = after.cell(told.index)
                found = (cell.id, cell.cell_type, cell.source_hash)
                assert found == (told.cell_id, told.cell_type, told.source_hash)
    return text


def check_newest(
    label: str, document: Document, operations: list[dict[str, Any]]
) -> tuple[Document, Record] | None:
    """Check that a batch can be taken back, done again, and offered; None if it is refused."""
    label = f"{label}: {operations}"
    try:
        applied = edit(document, *operations)
    except NbEditError:
        return None
    text, before = join(document.text, applied.splices), document.text
    after, record = Document.parse(text), kept(applied.record())
    assert bool(record.parts) == (text != before), label

    undone = take_back(after, record, op="undo", exact=True)
    assert done(after, undone) == before, label
    redone = take_back(document, kept(undone.record()), op="redo", exact=True)
    assert done(document, redone) == text, label
    again = take_back(after, kept(redone.record()), op="undo", exact=True)
    assert done(after, again) == before, label
    accepted = take_back(document, kept(applied.offer()), op="accept", exact=True)
    assert done(document, accepted) == text, label

    # The way that older edits go: the white space between cells is all that may differ.
    by_cells = take_back(after, replace(record, back=None), op="undo", exact=True)
    text = done(after, by_cells)
    assert meaning(text) == meaning(before), label
    assert cell_bytes(text) == cell_bytes(before), label
    assert Document.parse(text).written_metadata == document.written_metadata, label
    assert by_cells.results == undone.results, label
    assert by_cells.changes == undone.changes, label
    assert by_cells.total_cells == undone.total_cells, label
    return after, record
