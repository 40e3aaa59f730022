"""Any notebook, any operation: the same promises as for the real ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_nbedit.notebook import spans
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.spans import Span
from jupyter_nbedit.notebook.splices import join
from tests.notebook import model
from tests.notebook.generated import notebooks, texts
from tests.notebook.oracle import NEW_ID, Case, check, edit

# The floor everything stands on is worth more examples than the rest.
thoroughly = settings(max_examples=4 * settings().max_examples)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Document, Case]:
    document = Document.parse(draw(notebooks()))
    count = len(document)
    kinds = ["insert"] if not count else ["replace", "convert", "insert", "delete", "move"]
    kind = draw(st.sampled_from(kinds))
    at = draw(st.integers(0, count if kind == "insert" else count - 1))
    text = draw(texts)
    if kind == "replace":
        keep = draw(st.booleans())
        operation = {"op": kind, "cell": at, "source": text, "outputs": "keep" if keep else "clear"}
        return document, (
            [operation],
            lambda cells: model.replace(cells, at, text, keep=keep),
            {at},
        )
    if kind == "convert":
        cell_type = draw(st.sampled_from(["code", "markdown", "raw"]))
        return document, (
            [{"op": "replace", "cell": at, "cell_type": cell_type}],
            lambda cells: model.convert(cells, at, cell_type),
            {at},
        )
    if kind == "insert":
        cell_type = draw(st.sampled_from(["code", "markdown", "raw"]))
        metadata = draw(
            st.dictionaries(texts.filter(lambda name: name != "trusted"), texts, max_size=2)
        )
        operation = {
            "op": kind,
            "index": at,
            "cell_type": cell_type,
            "source": text,
            "metadata": metadata,
        }
        cell = model.new_cell(cell_type, text, NEW_ID if document.has_ids else None, metadata)
        return document, ([operation], lambda cells: model.insert(cells, at, cell), set())
    if kind == "delete":
        return document, ([{"op": kind, "cell": at}], lambda cells: model.delete(cells, at), {at})
    gap = draw(st.integers(0, count))
    return document, (
        [{"op": kind, "cell": at, "index": gap}],
        lambda cells: model.move(cells, at, gap),
        set(),
    )


@thoroughly
@given(cases())
def test_an_operation_leaves_all_other_bytes_and_means_what_the_model_says(
    case: tuple[Document, Case],
) -> None:
    check("generated", *case)


@thoroughly
@given(notebooks(), st.data())
def test_a_batch_means_what_its_operations_mean_on_the_notebook_as_it_was(
    text: bytes, data: st.DataObject
) -> None:
    document = Document.parse(text)
    order: list[Any] = list(range(len(document)))
    operations: list[dict[str, Any]] = []
    # Each cell is touched once at most, so that the order of the operations cannot matter to what
    # the model does one by one with the cells' original numbers.
    for at in data.draw(st.permutations(range(len(document)))):
        kind = data.draw(st.sampled_from(["none", "replace", "delete", "insert"]))
        if kind == "replace":
            operations.append({"op": kind, "cell": at, "source": f"new {at}", "outputs": "keep"})
        elif kind == "delete":
            operations.append({"op": kind, "cell": at})
            order.remove(at)
        elif kind == "insert":
            operations.append(
                {"op": kind, "before": at, "cell_type": "raw", "source": f"before {at}"}
            )
            place = order.index(at) if at in order else None
            place = (
                place
                if place is not None
                else next(
                    (n for n, other in enumerate(order) if isinstance(other, int) and other > at),
                    len(order),
                )
            )
            order.insert(place, f"before {at}")
    if not operations:
        return
    applied = edit(document, *operations)
    after = Document.parse(join(text, applied.splices))
    replaced = {op["cell"] for op in operations if op["op"] == "replace"}
    expected = [
        other
        if isinstance(other, str)
        else f"new {other}"
        if other in replaced
        else document.cell(other).source
        for other in order
    ]
    assert [after.cell(at).source for at in range(len(after))] == expected
    assert applied.total_cells == len(after)
    for result, operation in zip(applied.results, operations, strict=True):
        if operation["op"] != "delete":
            assert after.cell(result.index).source_hash == result.source_hash


@thoroughly
@given(notebooks())
def test_both_scanners_find_the_same_spans(text: bytes) -> None:
    document = Document.parse(text)
    pending: list[Span] = [document.span]
    while pending:
        span = pending.pop()
        if spans.is_object(text, span):
            members = spans.members(text, span)
            assert members == spans._walk_members(text, span, spans._hop_member)
            pending += [member.value for member in members]
        elif spans.is_array(text, span):
            elements = spans.elements(text, span)
            assert elements == spans._hop_elements(text, span)
            pending += elements
        else:
            assert spans._hop(text, span.start) == span.stop
