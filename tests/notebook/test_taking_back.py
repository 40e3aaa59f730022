"""Undo: of the newest edit to the byte, of an older one cell by cell, and never by halves."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from jupyter_nbedit.errors import NbEditError, UndoConflict
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.splices import join
from tests.notebook.generated import Layout, layouts
from tests.notebook.oracle import edit
from tests.notebook.test_properties import cases
from tests.notebook.test_stateful import CELL_OPERATIONS, SECTION_OPERATIONS, Drawn, rewritten
from tests.notebook.undo import Batch, Save, check_newest, check_older, taken_back

seeds = st.integers(0, 2**32)
kinds = st.lists(st.sampled_from([*CELL_OPERATIONS, *SECTION_OPERATIONS]), min_size=1, max_size=3)
often = settings(max_examples=4 * settings().max_examples)


def usual(layout: Layout, seed: int, kinds: list[str]) -> tuple[Document, Batch]:
    """A notebook as many are, and a batch on it."""
    document = Document.parse(Drawn(seed, 0).notebook(layout))
    drawn = Drawn(seed, len(document))
    return document, [drawn.operation(kind) for kind in kinds]


@given(cases())
def test_taking_back_the_newest_edit_gives_any_notebook_back_to_the_byte(
    case: tuple[Document, Batch],
) -> None:
    check_newest("generated", *case)


@often
@given(layouts, seeds, kinds)
def test_taking_back_gives_the_bytes_and_doing_it_again_gives_the_others(
    layout: Layout, seed: int, kinds: list[str]
) -> None:
    check_newest("usual", *usual(layout, seed, kinds))


def unrelated(drawn: Drawn, left: Document, record: Record) -> Batch:
    """Some work on cells that an edit has not changed, and on new ones."""
    own = {part.index for part in record.parts}
    free = [at for at in range(len(left)) if at not in own]
    drawn.random.shuffle(free)
    batch: Batch = []
    for at in free[:2]:
        kind = drawn.random.choice(["replace", "set_metadata", "clear_outputs"])
        fields = {**drawn.operation(kind), "cell": at}
        batch.append({name: fields[name] for name in fields if name not in {"all", "cells"}})
    if free[2:]:
        batch.append({"op": "delete", "cell": free[2]})
    for _ in range(drawn.random.randrange(3)):
        at, source = drawn.random.randrange(len(left) + 1), drawn.source()
        batch.append({"op": "insert", "index": at, "cell_type": "raw", "source": source})
    drawn.random.shuffle(batch)
    return batch


@often
@given(layouts, st.none() | layouts, seeds, kinds)
def test_taking_back_an_older_edit_gives_its_cells_back_and_leaves_all_others(
    layout: Layout, another: Layout | None, seed: int, kinds: list[str]
) -> None:
    before, batch = usual(layout, seed, kinds)
    found = check_newest("older", before, batch)
    assume(found is not None)
    assert found is not None
    left, record = found
    try:
        work = unrelated(Drawn(seed + 1, len(left)), left, record)
        text = join(left.text, edit(left, *work).splices)
    except NbEditError:
        event("the work between was refused")
        text = left.text
    save: Save | None = None
    if another is not None:
        save = partial(rewritten, layout=another, change=lambda _: None)
    now = text if save is None else save(text)
    refused = check_older(before, left, record, now, save)
    # Cells that look alike cannot be told apart without ids; nothing else is ever in the way.
    assert refused is None or not before.has_ids
    event(f"refused: {refused}")


@often
@given(layouts, seeds, kinds, st.sampled_from(["source", "type", "metadata", "gone"]))
def test_a_cell_that_was_changed_since_is_in_the_way_and_nothing_else_is(
    layout: Layout, seed: int, kinds: list[str], how: str
) -> None:
    before, batch = usual(layout, seed, kinds)
    found = check_newest("conflict", before, batch)
    assume(found is not None)
    assert found is not None
    left, record = found
    parts = [part for part in record.parts if part.index is not None]
    assume(parts)
    part = Drawn(seed, 0).random.choice(parts)
    cell: dict[str, Any] = {"cell": part.index}
    kind = left.heads[part.index or 0][1]
    change: dict[str, Any] = {
        "source": {"op": "replace", **cell, "source": "somebody else's"},
        "type": {"op": "replace", **cell, "cell_type": "raw" if kind != "raw" else "code"},
        "metadata": {"op": "set_metadata", **cell, "patch": {"somebody": "else"}},
        "gone": {"op": "delete", **cell},
    }[how]
    try:
        text = join(left.text, edit(left, change).splices)
    except NbEditError:
        return
    with pytest.raises(UndoConflict) as refusal:
        taken_back(text, record)
    assert refusal.value.details["metadata"] == []
    cells = refusal.value.details["cells"]
    if before.has_ids:
        why = "gone" if how == "gone" else "changed"
        assert [(one["cell_id"], one["why"]) for one in cells] == [(part.cell_id, why)]
        source = None if how == "gone" else Document.parse(text).cell(cells[0]["index"]).source
        assert cells[0].get("source") == source
    else:
        # Of cells that look alike nobody can tell which one it was.
        assert {one["why"] for one in cells} <= {"changed", "gone", "ambiguous"}
        assert {one["index"] for one in cells if one["why"] == "changed"} <= {part.index}
