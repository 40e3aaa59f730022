"""Any notebook, any operation: the same promises as for the real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import Splice, join
from tests.notebook.generated import notebooks, texts
from tests.notebook.oracle import check

# All other tests build on this.
thoroughly = settings(max_examples=2 * settings().max_examples)

patches = st.dictionaries(
    st.one_of(
        st.sampled_from(["tags", "k", "collapsed", "kernelspec"]),
        texts.filter(lambda name: name != "trusted"),
    ),
    st.one_of(st.none(), texts, st.lists(texts, max_size=2), st.dictionaries(texts, st.none())),
    max_size=3,
).filter(lambda patch: "trusted" not in str(patch))
types = st.sampled_from(["code", "markdown", "raw"])
metadatas = st.dictionaries(texts.filter(lambda name: name != "trusted"), texts, max_size=2)


def fields(draw: st.DrawFn, document: Document, kind: str) -> dict[str, Any]:
    """Draw what an operation says beside its name."""
    count = len(document)
    at = draw(st.integers(0, max(0, count - 1)))
    gap = st.integers(0, count)
    some = st.lists(st.integers(0, max(0, count - 1)), min_size=1, max_size=4, unique=True)
    outputs = st.sampled_from(["clear", "keep"])
    several: dict[str, Any] = {"cells": draw(some)} if count else {"all": True}
    drawn: dict[str, Callable[[], dict[str, Any]]] = {
        "replace": lambda: {
            "cell": at,
            **draw(st.sampled_from([{"source": draw(texts)}, {"cell_type": draw(types)}])),
            "outputs": draw(outputs),
        },
        "replace_text": lambda: {
            "cell": at,
            "outputs": draw(outputs),
            **edit_of(draw, document, at),
        },
        "insert": lambda: {
            "index": draw(gap),
            "source": draw(texts),
            "cell_type": draw(types),
            "metadata": draw(metadatas),
        },
        "delete": lambda: several,
        "move": lambda: {**several, "index": draw(gap)},
        "split": lambda: {"cell": at, "at_line": draw(st.integers(2, 4))},
        "merge": lambda: {"cells": [at, *range(at + 1, at + 2 + draw(st.integers(0, 1)))]},
        "clear_outputs": lambda: several,
        "set_metadata": lambda: {
            "patch": draw(patches),
            **({"cell": at} if count and draw(st.booleans()) else {}),
        },
    }
    return drawn[kind]()


def edit_of(draw: st.DrawFn, document: Document, at: int) -> dict[str, Any]:
    """Draw a replacement of text that may be there, once or more often, or not."""
    source = document.cell(at).source
    start = draw(st.integers(0, len(source)))
    old = source[start : start + draw(st.integers(1, 5))]
    if not old or any("\ud800" <= character <= "\udfff" for character in old):
        old = draw(texts) or "x"
    edit = {"old": old, "new": draw(texts), "all": draw(st.booleans())}
    return draw(st.sampled_from([edit, {"edits": [edit, edit]}]))


@st.composite
def operations(draw: st.DrawFn, document: Document) -> dict[str, Any]:
    """Any operation but those on sections; its addresses fit, the rest of it may not."""
    kinds = ["insert", "clear_outputs", "set_metadata"]
    if len(document):
        kinds += ["replace", "replace_text", "delete", "move", "split", "merge"]
    kind = draw(st.sampled_from(kinds))
    return {"op": kind, **fields(draw, document, kind)}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Document, list[dict[str, Any]]]:
    document = Document.parse(draw(notebooks()))
    batch = draw(st.lists(operations(document), min_size=1, max_size=3))
    return document, batch


@thoroughly
@given(cases())
def test_a_batch_leaves_all_other_bytes_and_means_what_the_model_says(
    case: tuple[Document, list[dict[str, Any]]],
) -> None:
    check("generated", *case)


@thoroughly
@given(notebooks())
def test_a_value_that_json_does_not_know_hides_nothing(text: bytes) -> None:
    # It is read by another scanner than what JSON knows, cell by cell.
    before = Document.parse(text)
    starts = sorted(span.start + 1 for span in (before.span, *before.cell_spans))
    odd, plain = (
        Document.parse(join(text, [Splice(at, at, b'"zz": %s, ' % value) for at in starts]))
        for value in (b"NaN", b"123")
    )
    assert (odd.span, odd.members, odd.cells_span) == (plain.span, plain.members, plain.cells_span)
    assert (odd.cell_spans, odd.heads) == (plain.cell_spans, plain.heads)
    for at in range(len(before)):
        assert odd.cell(at).all_members == plain.cell(at).all_members
        assert len(odd.cell(at).all_members) == len(before.cell(at).all_members) + 1
