"""Undo: all bytes for the newest edit, the cells of an older one, never by halves."""

import json
from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jupyter_nbedit.errors import NbEditError, UndoConflict
from jupyter_nbedit.notebook.diff import render_unified_diff
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import AffectedCell
from jupyter_nbedit.notebook.splices import apply_splices
from jupyter_nbedit.notebook.undo.known_history import KnownHistory
from jupyter_nbedit.notebook.undo.record import CellUndo, UndoRecord
from jupyter_nbedit.notebook.undo.revert import revert
from tests.notebook import model
from tests.notebook.batches import cases
from tests.notebook.oracle import edit
from tests.notebook.random_operations import (
    CELL_OPERATIONS,
    SECTION_OPERATIONS,
    RandomOperations,
    rewrite,
)
from tests.notebook.strategies import FileLayout, layouts
from tests.notebook.undo.oracle import (
    Batch,
    Save,
    apply_edit,
    check_newest,
    check_older,
    parse_values,
    store_and_load,
    undo_edit,
)
from tests.support.samples import HTML_OUTPUT, code, load_cells, notebook, raw
from tests.support.sampling import is_nightly, seeded_random

seeds = st.integers(0, 2**32)
kinds = st.lists(st.sampled_from([*CELL_OPERATIONS, *SECTION_OPERATIONS]), min_size=1, max_size=3)
often = settings(max_examples=2000 if is_nightly() else 25)


def draw_usual_edit(layout: FileLayout, seed: int, kinds: list[str]) -> tuple[Document, Batch]:
    """A notebook as many are, and a batch on it."""
    document = Document.parse(RandomOperations(seed, 0).notebook(layout))
    drawn = RandomOperations(seed, len(document))
    return document, [drawn.operation(kind) for kind in kinds]


@given(cases())
def test_undo_of_the_newest_edit_restores_all_bytes(case: tuple[Document, Batch]) -> None:
    check_newest("generated", *case)


def draw_unrelated_edit(drawn: RandomOperations, left: Document, record: UndoRecord) -> Batch:
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
def test_undo_of_an_older_edit_restores_its_cells_and_leaves_all_others(
    layout: FileLayout, another: FileLayout | None, seed: int, kinds: list[str]
) -> None:
    before, batch = draw_usual_edit(layout, seed, kinds)
    found = check_newest("older", before, batch)
    assume(found is not None)
    assert found is not None
    left, record = found
    try:
        work = draw_unrelated_edit(RandomOperations(seed + 1, len(left)), left, record)
        text = apply_splices(left.text, edit(left, *work).splices)
    except NbEditError:
        event("the work between was refused")
        text = left.text[:]
    save: Save | None = None
    if another is not None:
        save = partial(rewrite, layout=another, change=lambda _: None)
    now = text if save is None else save(text)
    reasons = check_older(before, left, record, now, save)
    # Similar cells without ids cannot be distinguished; there is no other conflict.
    assert reasons is None or not before.has_ids
    event(f"refused: {reasons}")


@often
@given(layouts, seeds, kinds, st.sampled_from(["source", "type", "metadata", "gone"]))
def test_only_a_member_changed_since_is_a_conflict(
    layout: FileLayout, seed: int, kinds: list[str], how: str
) -> None:
    before, batch = draw_usual_edit(layout, seed, kinds)
    found = check_newest("conflict", before, batch)
    assume(found is not None)
    assert found is not None
    left, record = found
    parts = [part for part in record.parts if part.index is not None]
    assume(parts)
    part = RandomOperations(seed, 0).random.choice(parts)
    sources = [left.get_cell(at).source for at in range(len(left))]
    # Without ids another cell with the same source may have the same neighbours.
    assume(before.has_ids or sources.count(sources[part.index or 0]) == 1)
    cell: dict[str, Any] = {"cell": part.index}
    kind = left.headers[part.index or 0][1]
    change: dict[str, Any] = {
        "source": {"op": "replace", **cell, "source": "somebody else's"},
        "type": {"op": "replace", **cell, "cell_type": "raw" if kind != "raw" else "code"},
        "metadata": {"op": "set_metadata", **cell, "patch": {"somebody": "else"}},
        "gone": {"op": "delete", **cell},
    }[how]
    try:
        text = apply_splices(left.text, edit(left, change).splices)
    except NbEditError:
        return
    if not _is_conflict(part, how):
        if before.has_ids:
            undo_edit(text, record)
        return
    with pytest.raises(UndoConflict) as error:
        undo_edit(text, record)
    assert error.value.details["metadata"] == []
    cells = error.value.details["cells"]
    if before.has_ids:
        why = "gone" if how == "gone" else "changed"
        assert [(one["cell_id"], one["why"]) for one in cells] == [(part.cell_id, why)]
        source = None if how == "gone" else Document.parse(text).get_cell(cells[0]["index"]).source
        assert cells[0].get("source") == source
    else:
        # Similar cells cannot be distinguished.
        assert {one["why"] for one in cells} <= {"changed", "gone", "ambiguous", "no_place"}
        assert {one["index"] for one in cells if one["why"] == "changed"} <= {part.index}


def _is_conflict(part: CellUndo, how: str) -> bool:
    """Return whether an edit and a later change touched the same member of a cell."""
    before, after = part.before, part.after
    if before is None or after is None or how == "gone":
        return True
    touched = {
        "source": before.source != after.source,
        "type": before.cell_type != after.cell_type,
        "metadata": before.metadata != after.metadata,
    }
    # Outputs belong to a type and a source.
    only_outputs = part.outputs_cleared and not any(touched.values())
    return (touched[how] and how != "metadata") or (only_outputs and how != "metadata")


def metadata(text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)["metadata"]
    return found


def patch(**members: Any) -> dict[str, Any]:
    return {"op": "set_metadata", "patch": members}


def test_only_the_metadata_that_the_edit_changed_are_undone() -> None:
    before = notebook(metadata={"a": {"x": 1, "y": [1.0]}, "b": 1, "c": 1})
    text, record = apply_edit(before, patch(a={"x": 2}, b=None, d=1))
    text, _ = apply_edit(text, patch(c=2, e=3))

    assert metadata(undo_edit(text, record)) == {**metadata(before), "c": 2, "e": 3}


def test_metadata_changed_since_are_a_conflict() -> None:
    text, record = apply_edit(notebook(metadata={"a": 1, "b": 1}), patch(a=2, b=None, c=1))
    text, _ = apply_edit(text, patch(a=3, b=2, c=1))

    with pytest.raises(UndoConflict) as error:
        undo_edit(text, record)

    assert error.value.details == {"cells": [], "metadata": ["a", "b"]}


@pytest.mark.parametrize(
    "before",
    [
        b'{"cells": [], "nbformat": 4, "nbformat_minor": 5}',
        b'{"metadata":{} , "cells": [], "nbformat": 4, "nbformat_minor": 5}',
        b'{"cells": [], "nbformat": 4, "metadata":[1], "nbformat_minor": 5}',
    ],
)
def test_added_metadata_are_removed(before: bytes) -> None:
    text, record = apply_edit(before, patch(a=2))
    later, _ = apply_edit(text, {"op": "insert", "at": "end", "cell_type": "raw", "source": "x"})

    assert undo_edit(text, record) == before
    assert model.decode_notebook(undo_edit(later, record)).get("metadata") == model.decode_notebook(
        before
    ).get("metadata")
    later_text, record = apply_edit(undo_edit(text, record), patch(a=2))
    undone = revert(Document.parse(later_text), record, op="undo")
    again = revert(Document.parse(before), undone.build_record(), op="redo")
    assert metadata(apply_splices(before, again.splices)) == {"a": 2}


def three() -> bytes:
    return notebook(*(raw(one, one) for one in "abc"), metadata={"k": 1})


THREE = [
    {"op": "replace", "cell": "a", "source": "A"},
    {"op": "delete", "cell": "b"},
    {"op": "insert", "at": "end", "cell_type": "raw", "source": "d", "id": "d"},
    patch(k=2),
]


def join_sources(text: bytes) -> tuple[str, int]:
    return "".join(cell["source"] for cell in load_cells(text)), metadata(text)["k"]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("only", "undone", "made"),
    [
        ([0], ("acd", 2), ("Abc", 1)),
        ([1], ("Abcd", 2), ("ac", 1)),
        ([2], ("Ac", 2), ("abcd", 1)),
        ([3], ("Acd", 1), ("abc", 2)),
        ([0, 2], ("ac", 2), ("Abcd", 1)),
        ([0, 1, 2, 3], ("abc", 1), ("Acd", 2)),
        ([], ("Acd", 2), ("abc", 1)),
    ],
)
def test_a_part_of_an_edit_can_be_undone_and_a_part_of_a_proposal_applied(
    only: list[int], undone: tuple[str, int], made: tuple[str, int], *, exact: bool
) -> None:
    applied = edit(Document.parse(three()), *THREE)
    text = apply_splices(three(), applied.splices)
    record, offer = applied.build_record(), applied.build_forward_record()

    back = revert(Document.parse(text), record, op="undo", is_exact=exact, part_numbers=only)
    plan = revert(Document.parse(three()), offer, op="accept", is_exact=exact, part_numbers=only)

    assert join_sources(apply_splices(text, back.splices)) == undone
    assert join_sources(apply_splices(three(), plan.splices)) == made
    assert [(part.cell_id, part.index_before, part.index) for part in record.parts] == [
        ("a", 0, 0),
        ("b", 1, None),
        ("d", None, 2),
        (None, None, None),
    ]
    inverted_parts = [part.invert() for part in offer.parts]
    assert [(one.cell_id, one.before, one.after) for one in inverted_parts] == [
        (one.cell_id, one.before, one.after) for one in record.parts
    ]


def test_parts_that_are_not_undone_cause_no_conflict() -> None:
    text, record = apply_edit(three(), *THREE)
    text, _ = apply_edit(text, {"op": "replace", "cell": "a", "source": "else"}, patch(k=3))

    document = Document.parse(text)
    applied = revert(document, record, op="undo", part_numbers={1, 2})

    assert join_sources(apply_splices(text, applied.splices)) == ("elsebc", 3)


def test_the_result_of_each_cell_is_reported() -> None:
    before = notebook(code("x", "a", outputs=[HTML_OUTPUT]), raw("y", "b"), raw("z", "c"))
    insert = {"op": "insert", "at": "start", "cell_type": "raw", "source": "new", "id": "n"}
    text, record = apply_edit(before, {"op": "delete", "cell": "c"}, insert)
    undone = revert(Document.parse(text), record, op="undo", is_exact=True)
    text, record = apply_edit(before, {"op": "clear_outputs", "all": True})
    back = revert(Document.parse(text), record, op="undo")
    again = revert(Document.parse(before), back.build_record(), op="redo")

    assert [result.list_affected() for result in undone.results] == [
        [AffectedCell("undo", "n", 0), AffectedCell("undo", "c", 2)]
    ]
    assert [result.outputs_cleared for result in (*back.results, *again.results)] == [False, True]
    assert [part.outputs_returned for part in back.build_record().parts] == [True]
    assert "# deleted raw from 0" in render_unified_diff("n", undone)


def accept_in_parts(seed: int) -> str:
    """Accept a batch in parts, in random order; return whether that worked, or why not."""
    chance = seeded_random(f"parts of batch {seed}")
    layout = FileLayout(" ", "\n", ",", ": ", ascii=False, slashes=False)
    kinds = chance.choices(["insert", "move", "delete", *CELL_OPERATIONS], k=chance.randint(1, 4))
    before, batch = draw_usual_edit(layout, chance.getrandbits(32), kinds)
    try:
        applied = edit(before, *batch)
    except NbEditError:
        return "no batch"
    offer = store_and_load(applied.build_forward_record())
    numbers = list(range(len(offer.parts)))
    chance.shuffle(numbers)
    document = before
    for step, part in enumerate(numbers):
        past = KnownHistory(reverted_parts=set(numbers[:step]))
        try:
            accepted = revert(
                document, offer, op="accept", is_exact=step == 0, part_numbers=[part], history=past
            )
        except UndoConflict:
            # Similar cells without ids are not distinguished.
            assert not before.has_ids, batch
            return "refused"
        document = Document.parse(apply_splices(document.text, accepted.splices))
    assert parse_values(document.text[:]) == parse_values(
        apply_splices(before.text, applied.splices)
    ), batch
    return "accepted"


def test_a_batch_accepted_in_parts_in_any_order_ends_like_the_whole() -> None:
    batches = 6_000 if is_nightly() else 300
    outcomes = Counter(accept_in_parts(seed) for seed in range(batches))

    assert outcomes["accepted"] > batches / 3
    assert outcomes["refused"] < 0.1 * outcomes["accepted"]


def test_an_empty_edit_has_nothing_to_undo() -> None:
    text, record = apply_edit(three(), {"op": "move", "cell": "a", "at": "start"})

    assert (text, record.parts, record.reverse_splices) == (three(), [], [])


def test_cells_are_located_if_the_written_bytes_differ_from_the_planned_ones() -> None:
    text = notebook(code("e", "a"), code("x", "b"), code("mine", "c"))
    emptied = {"op": "replace", "cell": "a", "source": ""}
    changed = {"op": "replace", "cell": "b", "source": "y"}
    record = replace(
        edit(Document.parse(text), emptied, changed).build_record(), reverse_splices=None
    )
    # As a hook does that drops empty cells.
    stored_document = Document.parse(notebook(code("y", "b"), code("mine", "c")))
    with pytest.raises(UndoConflict):
        revert(stored_document, record, op="undo", is_exact=True)


@pytest.mark.parametrize("text", [b"", b"\x02", b"\x01", b"\x01abc", ...])
def test_an_invalid_record_is_refused(text: Any) -> None:
    whole = apply_edit(three(), *THREE)[1].encode()
    with pytest.raises(ValueError):  # noqa: PT011 -- the caller catches any
        UndoRecord.decode(whole[:-9] if text is ... else text)


def test_added_metadata_are_removed_even_if_they_moved_to_the_front() -> None:
    before = {"cells": [], "nbformat": 4, "nbformat_minor": 5}
    document = Document.parse(json.dumps(before).encode())
    record = edit(document, {"op": "set_metadata", "patch": {"title": "x"}}).build_record()
    moved = Document.parse(json.dumps({"metadata": {"title": "x"}, **before}).encode())

    splices = revert(moved, record, op="undo", is_exact=False).splices

    assert json.loads(apply_splices(moved.text, splices)) == before
