"""Undo: of the newest edit to the byte, of an older one cell by cell, and never by halves."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_nbedit.notebook.document import Document
from tests.notebook.generated import Layout, layouts
from tests.notebook.test_properties import cases
from tests.notebook.test_stateful import CELL_OPERATIONS, SECTION_OPERATIONS, Drawn
from tests.notebook.undo import check_newest

seeds = st.integers(0, 2**32)
kinds = st.lists(st.sampled_from([*CELL_OPERATIONS, *SECTION_OPERATIONS]), min_size=1, max_size=4)
often = settings(max_examples=4 * settings().max_examples)


@often
@given(cases())
def test_taking_back_the_newest_edit_gives_any_notebook_back_to_the_byte(
    case: tuple[Document, list[dict[str, object]]],
) -> None:
    check_newest("generated", *case)


@often
@given(layouts, seeds, kinds)
def test_taking_back_gives_the_bytes_and_doing_it_again_gives_the_others(
    layout: Layout, seed: int, kinds: list[str]
) -> None:
    document = Document.parse(Drawn(seed, 0).notebook(layout))
    drawn = Drawn(seed, len(document))
    check_newest("usual", document, [drawn.operation(kind) for kind in kinds])
