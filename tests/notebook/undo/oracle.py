"""What undo must produce, for any notebook and any edit."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from jupyter_nbedit.errors import NbEditError, UndoConflict
from jupyter_nbedit.notebook.diff import render_unified_diff
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import EditPlan
from jupyter_nbedit.notebook.splices import apply_splices
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.notebook.undo.revert import revert
from tests.notebook import model
from tests.notebook.oracle import edit

Batch = list[dict[str, Any]]
Save = Callable[[bytes], bytes]


def store_and_load(record: UndoRecord) -> UndoRecord:
    """Return the record as the history returns it."""
    return UndoRecord.decode(record.encode())


def parse_values(text: bytes) -> Any:
    """Return the values of a notebook, without its formatting."""
    value = model.decode_notebook(text)
    return {**value, "cells": [model.join_source(cell) for cell in value["cells"]]}


def list_cell_bytes(text: bytes) -> list[bytes]:
    """The bytes of the cells, in order."""
    document = Document.parse(text)
    return [text[span.start : span.stop] for span in document.cell_spans]


def list_cell_values(text: bytes) -> list[bytes]:
    """Return the values of the cells, without their formatting."""
    return [json.dumps(cell, sort_keys=True).encode() for cell in parse_values(text)["cells"]]


def apply_plan(document: Document, applied: EditPlan) -> bytes:
    """Return the text after a plan, whose results must be correct."""
    text = apply_splices(document.text, applied.splices)
    after = Document.parse(text)
    assert applied.total_cells == len(after)
    for result in applied.results:
        for cell_result in [result] if result.cells is msgspec.UNSET else result.cells:
            if cell_result.index is not None and cell_result.source is msgspec.UNSET:
                cell = after.get_cell(cell_result.index)
                found = (cell.id, cell.cell_type, cell.source_hash)
                assert found == (
                    cell_result.cell_id,
                    cell_result.cell_type,
                    cell_result.source_hash,
                )
    return text


def check_newest(
    label: str, document: Document, operations: Batch
) -> tuple[Document, UndoRecord] | None:
    """Check that a batch can be undone, redone, and offered; None if it is refused."""
    label = f"{label}: {operations}"
    try:
        applied = edit(document, *operations)
    except NbEditError:
        return None
    text, before = apply_splices(document.text, applied.splices), document.text
    after, record = Document.parse(text), store_and_load(applied.build_record())
    # A cell that is deleted and made again in its place leaves no trace in the bytes.
    assert record.parts or text == before, label

    undone = revert(after, record, op="undo", is_exact=True)
    assert apply_plan(after, undone) == before, label
    redone = revert(document, store_and_load(undone.build_record()), op="redo", is_exact=True)
    assert apply_plan(document, redone) == text, label
    again = revert(after, store_and_load(redone.build_record()), op="undo", is_exact=True)
    assert apply_plan(after, again) == before, label
    accepted = revert(
        document, store_and_load(applied.build_forward_record()), op="accept", is_exact=True
    )
    assert apply_plan(document, accepted) == text, label

    # The way that older edits go: the white space between cells is all that may differ. Cells that
    # have no name of their own may not be told apart on it.
    is_clear = has_unique_ids(document) and has_unique_ids(after)
    try:
        by_cells = revert(after, replace(record, reverse_splices=None), op="undo", is_exact=True)
    except UndoConflict as conflict:
        assert not is_clear, label
        whys = {cell["why"] for cell in conflict.details["cells"]}
        assert whys <= {"ambiguous", "no_place"}, label
        return after, record
    text = apply_plan(after, by_cells)
    assert parse_values(text) == parse_values(before), label
    assert list_cell_bytes(text) == list_cell_bytes(before), label
    assert Document.parse(text).written_metadata == document.written_metadata, label
    assert not is_clear or by_cells.results == undone.results, label
    diffs = {render_unified_diff("n", plan) for plan in (by_cells, undone)}
    assert not is_clear or len(diffs) == 1, label
    assert by_cells.total_cells == undone.total_cells, label
    return after, record


def apply_edit(text: bytes, *operations: dict[str, Any]) -> tuple[bytes, UndoRecord]:
    """Return a notebook after an edit, and the undo record."""
    applied = edit(Document.parse(text), *operations)
    return apply_splices(text, applied.splices), store_and_load(applied.build_record())


def undo_edit(text: bytes, record: UndoRecord) -> bytes:
    """Return the text after undo in a notebook that has changed since the edit."""
    document = Document.parse(text)
    return apply_plan(document, revert(document, record, op="undo"))


def list_ids(document: Document) -> list[str]:
    """The ids of the cells, in order."""
    return [cell_id for cell_id, _ in document.headers if cell_id is not None]


def has_unique_ids(document: Document) -> bool:
    """Whether each cell has an id of its own."""
    return len(set(list_ids(document))) == len(document)


def check_older(
    before: Document, left: Document, record: UndoRecord, text: bytes, save: Save | None = None
) -> set[str] | None:
    """Check that an edit can be undone after others; give what is in the way, if something is.

    ``left`` is the notebook that the edit left, ``text`` is what others have made of it since, on
    other cells; ``save`` is how they have written it anew, if they have.
    """
    try:
        gives = undo_edit(text, record)
    except UndoConflict as error:
        conflict = error
    else:

        def cells(text: bytes) -> list[bytes]:
            return list_cell_bytes(text) if save is None else list_cell_values(save(text))

        parts = [part for part in record.parts if not part.is_notebook_metadata]
        was = [part.index_before for part in parts if part.index_before is not None]
        now = [part.index for part in parts if part.index is not None]
        expected = Counter(cells(text))
        expected.subtract(cells(left.text[:])[at] for at in now)
        expected.update(cells(before.text[:])[at] for at in was)
        assert Counter(cells(gives)) == +expected
        if before.has_ids:
            both = set(list_ids(before)) & set(list_ids(Document.parse(gives)))
            after = [one for one in list_ids(Document.parse(gives)) if one in both]
            assert after == [one for one in list_ids(before) if one in both]
        return None
    assert not conflict.details["metadata"]
    reasons = {cell["why"] for cell in conflict.details["cells"]}
    assert reasons <= {"ambiguous", "no_place"}, conflict.details
    return reasons
