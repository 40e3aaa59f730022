"""A proposed change of a cell that others have changed since: merged, chosen, or a conflict."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import UndoConflict
from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.line_merge import merge_lines
from jupyter_nbedit.notebook.splices import apply_splices
from jupyter_nbedit.notebook.undo.known_history import NO_KNOWN_HISTORY
from jupyter_nbedit.notebook.undo.part_states import PartState, list_part_states
from jupyter_nbedit.notebook.undo.record import CellState, UndoRecord
from jupyter_nbedit.notebook.undo.revert import ChosenSource, Resolution, revert
from tests.notebook.oracle import edit
from tests.support.samples import HTML_OUTPUT, code, load_cells, markdown, notebook, raw

JSON = dict[str, Any]

BASE = "a\nb\nc"
MERGE = Resolution()
NO_MERGE = Resolution(merges_lines=False)
#: A picture as nbformat stores it at a Markdown cell.
PICTURE = {"x.png": {"image/png": "AAAA"}}
OTHER_PICTURE = {"x.png": {"image/png": "BBBB"}}


def replace(source: str, **members: Any) -> JSON:
    return {"op": "replace", "cell": "x", "source": source, **members}


def patch(**metadata: Any) -> JSON:
    return {"op": "set_metadata", "cell": "x", "patch": metadata}


def build(cell: JSON, *others: JSON) -> bytes:
    return notebook(raw("first", "first"), cell, *others, raw("last", "last"))


def propose(text: bytes, *operations: JSON) -> UndoRecord:
    """Return the record that applies operations later, as it is stored."""
    plan = edit(Document.parse(text), *operations)
    return UndoRecord.decode(plan.build_forward_record().encode())


def apply(text: bytes, *operations: JSON) -> bytes:
    return apply_splices(text, edit(Document.parse(text), *operations).splices)


def accept(text: bytes, record: UndoRecord, resolution: Resolution = MERGE) -> bytes:
    plan = revert(
        Document.parse(text),
        record,
        op="accept",
        resolution=resolution,
        is_same_change_allowed=True,
    )
    return apply_splices(text, plan.splices)


def choose(current: str, source: str | None, part: int = 0) -> Resolution:
    return Resolution({part: ChosenSource(compute_source_hash(current), source)})


def compare(text: bytes, record: UndoRecord) -> dict[int, PartState]:
    numbers = range(len(record.parts))
    return list_part_states(Document.parse(text), record, numbers, NO_KNOWN_HISTORY)


def read_cell(text: bytes, cell_id: str = "x") -> JSON:
    (cell,) = (cell for cell in load_cells(text) if cell.get("id") == cell_id)
    return {**cell, "source": "".join(cell["source"])}


def fail(text: bytes, record: UndoRecord, resolution: Resolution = MERGE) -> list[JSON]:
    with pytest.raises(UndoConflict) as error:
        accept(text, record, resolution)
    cells: list[JSON] = error.value.details["cells"]
    return cells


# What can be merged -------------------------------------------------------------------------------


def test_changes_of_other_lines_of_a_cell_are_merged_unless_that_is_not_wanted() -> None:
    before = build(code(BASE, "x"))
    record = propose(before, replace("A\nb\nc"))
    now = apply(before, replace("a\nb\nC"))
    assert compare(now, record) == {
        0: PartState(
            "changed",
            CellState(cell_type="code", source="a\nb\nC", metadata={}),
            compute_source_hash("a\nb\nC"),
            "A\nb\nC",
        )
    }
    (conflict,) = fail(now, record, NO_MERGE)
    assert (conflict["why"], conflict["source"]) == ("changed", "a\nb\nC")
    assert read_cell(accept(now, record))["source"] == "A\nb\nC"


def test_changes_of_the_same_line_are_a_conflict() -> None:
    before = build(code(BASE, "x"))
    record = propose(before, replace("a\nours\nc"))
    now = apply(before, replace("a\ntheirs\nc"))
    assert compare(now, record)[0].merged is None
    (conflict,) = fail(now, record)
    assert conflict["why"] == "changed"


def test_a_cell_that_has_what_was_proposed_already_is_merged_without_a_change() -> None:
    before = build(code(BASE, "x"))
    now = apply(before, replace("A\nb\nc"))
    assert accept(now, propose(before, replace("A\nb\nc"))) == now


def test_a_merge_leaves_the_bytes_of_all_other_members() -> None:
    before = build(code(BASE, "x", metadata={"k": [1.0, "é"]})).replace(b'"k"', b'\t "\\u006b"')
    record = propose(before, replace("A\nb\nc"))
    now = apply(before, replace("a\nb\nC"))
    merged = accept(now, record)
    assert merged == now.replace(b'"a\\nb', b'"A\\nb')


def test_outputs_are_cleared_by_a_merge_as_by_the_proposal() -> None:
    outputs = [HTML_OUTPUT]
    before = build(code(BASE, "x", outputs=outputs, execution_count=1))
    now = apply(before, replace("a\nb\nC", outputs="keep"))
    cleared = read_cell(accept(now, propose(before, replace("A\nb\nc"))))
    assert (cleared["outputs"], cleared["execution_count"]) == ([], None)
    kept = read_cell(accept(now, propose(before, replace("A\nb\nc", outputs="keep"))))
    assert (kept["outputs"], kept["execution_count"]) == (outputs, 1)


def test_metadata_are_merged_by_name() -> None:
    before = build(code(BASE, "x", metadata={"mine": 1, "yours": 1, "both": 1}))
    record = propose(before, replace("A\nb\nc"), patch(mine=2, added=[2]))
    now = apply(before, replace("a\nb\nC"), patch(yours=None, new=3))
    merged = read_cell(accept(now, record))
    assert merged["source"] == "A\nb\nC"
    assert merged["metadata"] == {"mine": 2, "both": 1, "added": [2], "new": 3}


def test_the_same_name_in_the_metadata_changed_differently_is_a_conflict() -> None:
    before = build(code(BASE, "x", metadata={"k": 1}))
    record = propose(before, replace("A\nb\nc"), patch(k=2))
    now = apply(before, replace("a\nb\nC"), patch(k=3))
    assert compare(now, record)[0].merged is None
    assert [conflict["why"] for conflict in fail(now, record)] == ["changed"]
    # A person who chooses the source keeps the metadata.
    chosen = read_cell(accept(now, record, choose("a\nb\nC", "chosen")))
    assert (chosen["source"], chosen["metadata"]) == ("chosen", {"k": 3})


def test_the_same_value_in_the_metadata_is_no_conflict() -> None:
    before = build(code(BASE, "x", metadata={"k": 1}))
    record = propose(before, replace("A\nb\nc"), patch(k=2))
    now = apply(before, replace("a\nb\nC"), patch(k=2.0))
    assert read_cell(accept(now, record))["source"] == "A\nb\nC"


def test_times_of_a_later_run_are_no_conflict() -> None:
    metadata = {"execution": {"iopub.execute_input": "1"}}
    before = build(code(BASE, "x", metadata=metadata))
    record = propose(before, replace("A\nb\nc"), patch(execution=None, k=1))
    later = {"execution": {"iopub.execute_input": "2"}}
    now = apply(before, replace("a\nb\nC"), patch(**later))
    merged = read_cell(accept(now, record))
    assert (merged["source"], merged["metadata"]) == ("A\nb\nC", {"k": 1})


def test_a_changed_cell_is_moved_as_proposed() -> None:
    before = build(code(BASE, "x"), raw("y", "y"))
    record = propose(before, {"op": "move", "cell": "x", "at": "end"})
    now = apply(before, replace("theirs"))
    assert compare(now, record)[0] == PartState("as_proposed")
    assert [cell["id"] for cell in load_cells(accept(now, record))] == ["first", "y", "last", "x"]
    chosen = accept(now, record, choose("theirs", "chosen"))
    assert [cell["id"] for cell in load_cells(chosen)] == ["first", "y", "last", "x"]
    assert read_cell(chosen)["source"] == "chosen"


@pytest.mark.parametrize(("proposed", "kept"), [("markdown", "attachments"), ("code", "outputs")])
def test_a_type_is_changed_with_what_it_allows(proposed: str, kept: str) -> None:
    old = "code" if proposed == "markdown" else "markdown"
    cell = {**(code if old == "code" else markdown)(BASE, "x"), "cell_type": old}
    before = build(cell)
    record = propose(before, replace("A\nb\nc", cell_type=proposed))
    merged = read_cell(accept(apply(before, replace("a\nb\nC")), record))
    assert (merged["cell_type"], merged["source"]) == (proposed, "A\nb\nC")
    assert ("outputs" in merged) == (kept == "outputs")


def test_a_type_that_others_have_changed_stays() -> None:
    before = build(code(BASE, "x", outputs=[HTML_OUTPUT]))
    record = propose(before, replace("A\nb\nc"))
    now = apply(before, replace("a\nb\nC", cell_type="markdown"))
    assert compare(now, record)[0].merged == "A\nb\nC"
    merged = read_cell(accept(now, record))
    assert (merged["cell_type"], merged["source"]) == ("markdown", "A\nb\nC")
    assert "outputs" not in merged


def test_two_different_types_are_a_conflict() -> None:
    before = build(code(BASE, "x", outputs=[HTML_OUTPUT]))
    record = propose(before, replace("A\nb\nc", cell_type="raw"))
    now = apply(before, replace("a\nb\nC", cell_type="markdown"))
    assert compare(now, record)[0].merged is None
    fail(now, record)
    # Nor is the type that was proposed given to a cell that has become another one.
    chosen = read_cell(accept(now, record, choose("a\nb\nC", "chosen")))
    assert (chosen["cell_type"], chosen["source"]) == ("markdown", "chosen")


def test_attachments_are_merged_by_name() -> None:
    cell = {**markdown(BASE, "x"), "attachments": PICTURE}
    before = build(cell, {**markdown("d", "y"), "attachments": {"y.png": {"image/png": "DDDD"}}})
    record = propose(before, {"op": "merge", "cells": ["x", "y"]})
    now = apply(before, replace("A\nb\nc"))
    merged = read_cell(accept(now, record))
    assert merged["source"].startswith("A\nb\nc")
    assert merged["attachments"].keys() == {"x.png", "y.png"}
    theirs = now.replace(b"AAAA", b"BBBB")
    merged = read_cell(accept(theirs, record))
    assert merged["attachments"] == {**OTHER_PICTURE, "y.png": {"image/png": "DDDD"}}


def test_the_same_attachment_changed_differently_is_a_conflict() -> None:
    cell = {**markdown("x.png\nb\nc", "x")}
    other = {**markdown("d", "y"), "attachments": PICTURE}
    before = build(cell, other)
    record = propose(before, {"op": "merge", "cells": ["x", "y"]})
    content = json.loads(before)
    content["cells"][1]["attachments"] = OTHER_PICTURE
    now = json.dumps(content).encode()
    assert compare(now, record)[0].name == "changed"
    fail(now, record)
    chosen = read_cell(accept(now, record, choose("x.png\nb\nc", "chosen")))
    assert (chosen["source"], chosen["attachments"]) == ("chosen", OTHER_PICTURE)


# What a person chooses ----------------------------------------------------------------------------


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_chosen_source_is_written_in_a_cell_that_is_as_proposed_too(*, is_exact: bool) -> None:
    before = build(code(BASE, "x", outputs=[HTML_OUTPUT]))
    record = propose(before, replace("proposed"))
    plan = revert(
        Document.parse(before),
        record,
        op="accept",
        is_exact=is_exact,
        resolution=choose(BASE, "chosen"),
    )
    cell = read_cell(apply_splices(before, plan.splices))
    assert (cell["source"], cell["outputs"]) == ("chosen", [])


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_chosen_source_is_for_one_source_hash_only(*, is_exact: bool) -> None:
    before = build(code(BASE, "x"))
    record = propose(before, replace("proposed"))
    now = before if is_exact else apply(before, replace("theirs, later"))
    with pytest.raises(UndoConflict) as error:
        revert(
            Document.parse(now),
            record,
            op="accept",
            is_exact=is_exact,
            resolution=choose("theirs", "chosen"),
        )
    (conflict,) = error.value.details["cells"]
    found = (conflict["cell_id"], conflict["index"], conflict["why"], conflict["source"])
    assert found == ("x", 1, "changed", BASE if is_exact else "theirs, later")


def test_a_changed_cell_is_deleted_only_if_a_person_has_seen_it() -> None:
    before = build(code(BASE, "x"))
    record = propose(before, {"op": "delete", "cell": "x"})
    now = apply(before, replace("theirs"))
    assert compare(now, record)[0].merged is None
    fail(now, record)
    fail(now, record, choose("theirs, before", None))
    after = accept(now, record, choose("theirs", None))
    assert [cell["id"] for cell in load_cells(after)] == ["first", "last"]


def test_parts_are_merged_chosen_and_applied_together() -> None:
    before = build(code(BASE, "x"), code(BASE, "y"), code(BASE, "z"))
    record = propose(before, *({**replace("A\nb\nc"), "cell": cell} for cell in "xyz"))
    now = apply(before, replace("a\nb\nC"), {**replace("theirs"), "cell": "y"})
    resolution = Resolution({1: ChosenSource(compute_source_hash("theirs"), "chosen")})
    after = accept(now, record, resolution)
    assert [read_cell(after, cell)["source"] for cell in "xyz"] == ["A\nb\nC", "chosen", "A\nb\nc"]


# What is not there --------------------------------------------------------------------------------


def test_states_say_which_parts_cannot_be_applied_and_why() -> None:
    before = build(code(BASE, "x"), code("1", "y"), code("2", "z"))
    record = propose(
        before,
        replace("A\nb\nc"),
        {"op": "delete", "cell": "y"},
        {"op": "insert", "after": "z", "cell_type": "raw", "source": "new", "id": "new"},
        {"op": "set_metadata", "patch": {"k": 1}},
    )
    assert [state.name for state in compare(before, record).values()] == ["as_proposed"] * 4
    now = apply(
        before,
        {"op": "delete", "cells": ["x", "y"]},
        {"op": "insert", "at": "start", "cell_type": "raw", "source": "theirs", "id": "new"},
        {"op": "set_metadata", "patch": {"k": 2}},
    )
    states = compare(now, record)
    assert [state.name for state in states.values()] == ["gone", "gone", "ambiguous", "changed"]
    current = states[3].current
    assert current is not None
    assert (current.cell_type, current.source, current.metadata["k"]) == (None, None, 2)


def test_a_changed_cell_without_id_is_known_by_both_neighbours_or_not_at_all() -> None:
    before = notebook(raw("a"), code(BASE), raw("b"), minor=4)
    record = propose(before, {**replace("A\nb\nc"), "cell": 1})
    now = apply(before, {**replace("a\nb\nC"), "cell": 1})
    assert compare(now, record)[0].merged == "A\nb\nC"
    sources = ["".join(cell["source"]) for cell in load_cells(accept(now, record))]
    assert sources == ["a", "A\nb\nC", "b"]
    unknown = apply(now, {**replace("x"), "cell": 0})
    assert compare(unknown, record)[0].name == "ambiguous"
    fail(unknown, record)
    fail(unknown, record, choose("a\nb\nC", "chosen"))
    longer = apply(now, {"op": "insert", "at": "end", "cell_type": "raw", "source": "y"})
    assert compare(longer, record)[0].name == "gone"


def test_a_part_beside_another_one_without_id_is_accepted_alone() -> None:
    before = notebook(raw("a"), raw("b"), raw("c"), raw("d"), minor=4)
    insert = {"op": "insert", "index": 3, "cell_type": "raw", "source": "new"}
    record = propose(before, insert, {"op": "delete", "cell": 3})
    now = apply(before, {**replace("changed"), "cell": 2})
    assert [state.name for state in compare(now, record).values()] == ["as_proposed"] * 2
    document = Document.parse(now)
    plan = revert(document, record, op="accept", part_numbers=[0])
    sources = ["".join(cell["source"]) for cell in load_cells(apply_splices(now, plan.splices))]
    assert sources == ["a", "b", "changed", "new", "d"]


def test_two_cells_with_the_id_of_a_part_are_ambiguous() -> None:
    before = build(code(BASE, "x"))
    record = propose(before, replace("A\nb\nc"))
    now = build(code("a\nb\nC", "x"), code("a\nb\nC", "x"))
    assert compare(now, record)[0].name == "ambiguous"
    fail(now, record)


# In general ---------------------------------------------------------------------------------------


texts = st.lists(st.sampled_from(["", "a", "b"]), max_size=5).map("\n".join)


@given(texts, texts, texts)
def test_a_merged_cell_has_the_source_that_the_state_shows(
    base: str, mine: str, theirs: str
) -> None:
    before = build(code(base, "x"))
    record = propose(before, replace(theirs))
    if not record.parts:
        return
    now = apply(before, replace(mine))
    (state,) = compare(now, record).values()
    expected = theirs if mine == base else merge_lines(base, mine, theirs)
    if state.name == "as_proposed":
        assert mine == base
    else:
        assert state.merged == expected
    if expected is None:
        fail(now, record)
    else:
        after = accept(now, record)
        assert read_cell(after)["source"] == expected
        assert json.loads(after)["cells"][0]["source"] == json.loads(now)["cells"][0]["source"]
