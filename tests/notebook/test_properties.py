"""Any notebook, any operation: the same guarantees as for real notebooks."""

from typing import Any

from hypothesis import given, settings

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from tests.notebook.batches import cases
from tests.notebook.oracle import check_batch
from tests.notebook.strategies import notebooks

# All other tests build on this.
thoroughly = settings(max_examples=max(50, settings().max_examples))


@thoroughly
@given(cases())
def test_a_batch_preserves_all_other_bytes_and_matches_the_model(
    case: tuple[Document, list[dict[str, Any]]],
) -> None:
    check_batch("generated", *case)


@thoroughly
@given(notebooks())
def test_a_value_that_is_no_valid_json_hides_no_change(text: bytes) -> None:
    # It is read by another scanner than what JSON knows, cell by cell.
    before = Document.parse(text)
    starts = sorted(span.start + 1 for span in (before.span, *before.cell_spans))
    odd, plain = (
        Document.parse(
            apply_splices(text, [Splice(at, at, b'"zz": %s, ' % value) for at in starts])
        )
        for value in (b"NaN", b"123")
    )
    assert (odd.span, odd.members, odd.cells_span) == (plain.span, plain.members, plain.cells_span)
    assert (odd.cell_spans, odd.headers) == (plain.cell_spans, plain.headers)
    for at in range(len(before)):
        assert odd.get_cell(at).all_members == plain.get_cell(at).all_members
        assert len(odd.get_cell(at).all_members) == len(before.get_cell(at).all_members) + 1
