"""Lists of cells before and after an edit."""

import json
from typing import Any

from hypothesis import strategies as st

from jupyter_nbedit.notebook.document import Document

Cells = list[dict[str, Any]]


def notebook(cells: Cells, metadata: dict[str, Any] | None = None, minor: int = 5) -> Document:
    value = {"cells": cells, "metadata": metadata or {}, "nbformat": 4, "nbformat_minor": minor}
    return Document.parse(json.dumps(value).encode())


sources = st.text(st.sampled_from("ab\n😀"), max_size=6)


metadata = st.dictionaries(st.sampled_from("kl"), st.integers(0, 2), max_size=2)


outputs = st.lists(
    st.builds(lambda text: {"output_type": "stream", "text": text}, sources), max_size=2
)


code = st.fixed_dictionaries(
    {
        "cell_type": st.just("code"),
        "source": sources,
        "metadata": metadata,
        "outputs": outputs,
        "execution_count": st.one_of(st.none(), st.integers(0, 3)),
    }
)


markdown: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"cell_type": st.just("markdown"), "source": sources, "metadata": metadata},
    optional={"attachments": st.just({"a": {}})},
)


cell = st.one_of(code, markdown)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Cells, Cells]:
    """Draw cells before and after: some go, some come, some move, some change."""
    ids = draw(st.booleans())
    before: Cells = draw(st.lists(cell, max_size=7))
    if ids:
        before = [{"id": f"c{n}", **one} for n, one in enumerate(before)]
    after = list(before)
    for n in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(after) - 1)))
        how = draw(st.sampled_from(["insert", "delete", "move", "change", "clear"]))
        if how == "insert" or not after:
            fresh = draw(cell)
            after.insert(at, {"id": f"new{n}", **fresh} if ids else fresh)
        elif how == "delete":
            del after[at]
        elif how == "move":
            after.insert(draw(st.integers(0, len(after) - 1)), after.pop(at))
        elif how == "change":
            cell_id = {"id": after[at]["id"]} if ids else {}
            after[at] = {**cell_id, **draw(cell)}
        elif after[at]["cell_type"] == "code":
            after[at] = {**after[at], "outputs": [], "execution_count": None}
    return before, after
