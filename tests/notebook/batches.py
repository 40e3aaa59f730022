"""Any notebook, and a batch of any operations on it."""

from typing import Any

from hypothesis import strategies as st

from jupyter_nbedit.notebook.document import Document
from tests.notebook.strategies import notebooks, texts

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


@st.composite
def replacements_of_text(draw: st.DrawFn, document: Document) -> dict[str, Any]:
    """Draw a replacement of text that may be there, once or more often, or not."""
    at = draw(st.integers(0, len(document) - 1))
    source = document.get_cell(at).source
    start = draw(st.integers(0, len(source)))
    old = source[start : start + draw(st.integers(1, 5))]
    if not old or any("\ud800" <= character <= "\udfff" for character in old):
        old = draw(texts) or "x"
    edit = {"old": old, "new": draw(texts), "all": draw(st.booleans())}
    fields: dict[str, Any] = draw(st.sampled_from([edit, {"edits": [edit, edit]}]))
    outputs = draw(st.sampled_from(["clear", "keep"]))
    return {"op": "replace_text", "cell": at, "outputs": outputs, **fields}


def operations(document: Document) -> st.SearchStrategy[dict[str, Any]]:
    """Draw any operation but those on sections; its addresses fit, the rest of it may not."""
    count = len(document)
    at, gap = st.integers(0, max(0, count - 1)), st.integers(0, count)
    outputs = {"outputs": st.sampled_from(["clear", "keep"])}
    some = st.lists(at, min_size=1, max_size=4, unique=True)
    new = {"index": gap, "source": texts, "cell_type": types, "metadata": metadatas}
    found: list[tuple[str, dict[str, st.SearchStrategy[Any]]]] = [
        ("insert", new),
        ("clear_outputs", {"all": st.sampled_from([True])}),
        ("set_metadata", {"patch": patches}),
    ]
    if count:
        found += [
            ("replace", {"cell": at, "source": texts, **outputs}),
            ("replace", {"cell": at, "cell_type": types, **outputs}),
            ("delete", {"cells": some}),
            ("move", {"cells": some, "index": gap}),
            ("split", {"cell": at, "at_line": st.integers(2, 4)}),
            (
                "merge",
                {
                    "cells": st.builds(
                        lambda one, n: list(range(one, one + n)), at, st.integers(2, 3)
                    )
                },
            ),
            ("clear_outputs", {"cells": some}),
            ("set_metadata", {"cell": at, "patch": patches}),
        ]
    drawn = [st.fixed_dictionaries({"op": st.just(op), **fields}) for op, fields in found]
    return st.one_of(*drawn, *([replacements_of_text(document)] if count else []))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Document, list[dict[str, Any]]]:
    document = Document.parse(draw(notebooks()))
    batch = draw(st.lists(operations(document), min_size=1, max_size=3))
    return document, batch
