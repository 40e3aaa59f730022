"""What every edit must preserve and must mean, for any notebook."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from jupyter_nbedit.errors import InvalidNotebook, NbEditError
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import EditPlan
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.splices import apply_splices, invert_splices
from tests.notebook import model
from tests.notebook.lazy.fake_buffer import FakeBuffer

SOURCE = 'a = "1"\n# ünïcödé \U0001f600 \\ \t\nb'
NEW_ID = "fresh-id"

_DECODER = msgspec.json.Decoder(list[Operation])


def generate_ids() -> Iterator[str]:
    """The ids that new cells get, in order."""
    return (f"{NEW_ID}-{n}" if n else NEW_ID for n in itertools.count())


def edit(document: Document, *operations: dict[str, Any]) -> EditPlan:
    batch = _DECODER.decode(json.dumps(operations).encode())
    return apply_operations(document, batch, fresh_id=generate_ids().__next__)


def count_cell_bytes(document: Document, cells: Iterable[int]) -> Counter[bytes]:
    """The bytes of cells."""
    spans = (document.cell_spans[at] for at in cells)
    return Counter(document.text[span.start : span.stop] for span in spans)


def list_rest(document: Document) -> list[bytes]:
    """The bytes before and after the array of cells, without the notebook's metadata."""
    text, cells, metadata = document.text, document.cells_span, document.metadata_span
    parts = [(0, cells.start + 1), (cells.stop - 1, len(text))]
    if metadata is None:
        return [text[start:stop] for start, stop in parts]
    cut = [metadata.start, metadata.stop]
    at = metadata.start > cells.start
    (start, stop) = parts[at]
    parts[at : at + 1] = [(start, cut[0]), (cut[1], stop)]
    return [text[start:stop] for start, stop in parts]


def check_results(
    label: str, applied: EditPlan, after: Document, expected: model.ModelBatch
) -> None:
    """Check that the cells of a result are at their index."""
    for result in applied.results:
        for cell_result in [result] if result.cells is msgspec.UNSET else result.cells:
            if (
                cell_result.cell_id is not None
                and cell_result.index is not None
                and cell_result.source is msgspec.UNSET
            ):
                is_deleted = any(cell.get("id") == cell_result.cell_id for cell in expected.gone)
                assert is_deleted or after.headers[cell_result.index][0] == cell_result.cell_id, (
                    label
                )


def find_repeated_names(text: bytes) -> set[str]:
    """Return the names that an object of a notebook has more than once."""
    names: set[str] = set()

    def add_repeated_names(pairs: list[tuple[str, Any]]) -> None:
        names.update(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)

    json.loads(text.decode("utf-8-sig"), parse_int=str, object_pairs_hook=add_repeated_names)
    return names


def check_batch(label: str, document: Document, operations: list[dict[str, Any]]) -> bytes | None:
    """Check a batch against the model; return the notebook after it, or None if it is refused."""
    label = f"{label}: {operations}"
    before_value = model.decode_notebook(document.text[:])
    expected = model.ModelBatch(before_value, generate_ids())
    try:
        for operation in operations:
            expected.apply(operation)
    except model.RefusedByModel as error:
        try:
            edit(document, *operations)
        except NbEditError as raised_error:
            assert raised_error.reason == str(error), label  # noqa: PT017 -- the other way round below
            return None
        raise AssertionError(label) from error
    try:
        applied = edit(document, *operations)
    except InvalidNotebook as error:
        # The model sees only the last of two members with one name.
        assert error.details["member"] in find_repeated_names(document.text[:]), label  # noqa: PT017
        return None
    text = apply_splices(document.text, applied.splices)
    after = Document.parse(text)
    renewed = document.apply_splices(applied.splices)
    for part in ("text", "span", "members", "cells_span", "cell_spans", "headers"):
        assert getattr(renewed, part) == getattr(after, part), (label, part)

    origins = applied.list_origins()
    kept = [index for index in origins if index is not None]
    assert len(origins) == len(after), label
    assert len(set(kept)) == len(kept), label
    # A cell that was there before has kept its id.
    for (cell_id, _), index in zip(after.headers, origins, strict=True):
        assert index is None or document.headers[index][0] in {None, cell_id}, label
    if document.metadata_span is not None:
        assert list_rest(after) == list_rest(document), label
    untouched_bytes = count_cell_bytes(document, expected.list_untouched())
    assert not untouched_bytes - count_cell_bytes(after, range(len(after))), label
    if expected.top.get("metadata") == before_value.get("metadata"):
        assert after.written_metadata == document.written_metadata, label

    after_value = model.decode_notebook(text)
    assert [model.join_source(cell) for cell in after_value.pop("cells")] == expected.result, label
    assert after_value == expected.top, label
    assert applied.total_cells == len(after), label
    check_results(label, applied, after, expected)
    assert apply_splices(text, invert_splices(document.text, applied.splices)) == document.text, (
        label
    )
    parked = edit(Document.parse(FakeBuffer(document.text[:])), *operations)
    assert (parked.splices, parked.results) == (applied.splices, applied.results), label
    assert parked.build_record().encode() == applied.build_record().encode(), label
    if expected.is_unchanged(before_value):
        assert not applied.splices, label
    return text
