"""What undo restores in a cell, and which later changes stay."""

import json
from typing import Any

import pytest

from jupyter_nbedit.errors import UndoConflict
from tests.notebook.undo.oracle import apply_edit, undo_edit
from tests.support.samples import code, load_cells, markdown, notebook, raw

JSON = dict[str, Any]
RAN = {"output_type": "stream", "name": "stdout", "text": ["run since\n"]}
BEFORE = {"output_type": "stream", "name": "stdout", "text": ["run before\n"]}
JOINED = {"output_type": "stream", "name": "stdout", "text": "run before\n"}
LOOKS = {
    "collapsed": True,
    "jupyter": {"outputs_hidden": True},
    "scrolled": "auto",
    "jp-MarkdownHeadingCollapsed": True,
    "heading_collapsed": True,
    "ExecuteTime": {"end_time": "2026"},
    "papermill": {"status": "completed"},
    "trusted": True,
}
PICTURE = {"image.png": {"image/png": "aGk="}}
LATER = {"execution": {"shell.execute_reply": "later"}}

NOTEBOOK = notebook(
    code("x = 1", "a", execution_count=3, outputs=[BEFORE], metadata={"tags": ["t"]}),
    markdown("# Title", "b"),
)
CELL = load_cells(NOTEBOOK)[0]
KEEP = {"op": "replace", "cell": "a", "source": "x = 2", "outputs": "keep"}
CLEAR = {"op": "replace", "cell": "a", "source": "x = 2"}
PATCH = {"op": "set_metadata", "cell": "a", "patch": {"tags": ["u"], "n": 1}}


def change_cell(text: bytes, index: int, **members: Any) -> bytes:
    """Return the notebook as saved after changes by a person; `...` removes a member."""
    content = json.loads(text)
    cell = {**content["cells"][index], **members}
    content["cells"][index] = {name: value for name, value in cell.items() if value is not ...}
    return json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"


@pytest.mark.parametrize(
    ("operation", "since", "expected"),
    [
        # Outputs of a later run are not of the source that comes back.
        (KEEP, {}, CELL),
        (KEEP, {"outputs": [{**BEFORE, "text": "run before\n"}]}, CELL | {"outputs": [JOINED]}),
        (
            KEEP,
            {"outputs": [RAN], "execution_count": 9, "metadata": {"tags": ["t"], **LATER}},
            {
                **CELL,
                "outputs": [],
                "execution_count": None,
                "metadata": {"tags": ["t"], **LATER},
            },
        ),
        (CLEAR, {"outputs": [RAN], "execution_count": 9}, CELL),
        (
            {"op": "clear_outputs", "cell": "a"},
            {"outputs": [RAN], "execution_count": 9},
            {**CELL, "outputs": [RAN], "execution_count": 9},
        ),
        (
            PATCH,
            {"metadata": {"tags": ["u"], "n": 1, **LATER}},
            {**CELL, "metadata": {"tags": ["t"], **LATER}},
        ),
        # A browser writes numbers in its own way.
        (PATCH, {"metadata": {"tags": ["u"], "n": 1.0}}, CELL),
        # An undo that leaves the source leaves the outputs.
        (
            PATCH,
            {"metadata": {"tags": ["u"], "n": 1}, "outputs": [RAN], "execution_count": 9},
            {**CELL, "outputs": [RAN], "execution_count": 9},
        ),
        # What JupyterLab or an executor stores about looks and runs stays.
        (
            PATCH,
            {"metadata": {"tags": ["u"], "n": 1, **LOOKS}},
            {**CELL, "metadata": {"tags": ["t"], **LOOKS}},
        ),
        (
            CLEAR,
            {"metadata": {"tags": ["t"], **LOOKS}},
            {**CELL, "metadata": {"tags": ["t"], **LOOKS}},
        ),
        # So do other keys, a type and lines of the source that the edit did not change.
        (CLEAR, {"metadata": {"tags": ["v"]}}, {**CELL, "metadata": {"tags": ["v"]}}),
        (PATCH, {"source": "y"}, {**CELL, "source": "y"}),
        (
            {"op": "set_metadata", "cell": "a", "patch": {"tags": ["u"]}},
            {"metadata": {"tags": ["u"], "n": 2}},
            {**CELL, "metadata": {"tags": ["t"], "n": 2}},
        ),
        (
            {"op": "replace", "cell": "a", "source": "w = 0\n\nx = 1"},
            {"source": "w = 0\n\nx = 1\n\nz = 4"},
            {**CELL, "source": "x = 1\n\nz = 4"},
        ),
        (PATCH, {"attachments": {}}, {**CELL, "attachments": {}}),
        # Additions by others stay.
        (
            {"op": "replace", "cell": "a", "cell_type": "raw"},
            {"somebody": {"else": 1}},
            {**CELL, "somebody": {"else": 1}},
        ),
    ],
)
def test_a_cell_gets_back_what_the_edit_removed_and_keeps_later_changes(
    operation: JSON, since: JSON, expected: JSON
) -> None:
    text, record = apply_edit(NOTEBOOK, operation)

    assert load_cells(undo_edit(change_cell(text, 0, **since), record))[0] == expected


@pytest.mark.parametrize("n", [True, 2])
def test_other_metadata_are_a_conflict(n: Any) -> None:
    text, record = apply_edit(NOTEBOOK, PATCH)

    with pytest.raises(UndoConflict):
        undo_edit(change_cell(text, 0, metadata={"tags": ["u"], "n": n}), record)


@pytest.mark.parametrize(
    ("operation", "since"),
    [
        (CLEAR, {"source": "x = 3"}),
        (PATCH, {"metadata": {"tags": ["v"], "n": 1}}),
        ({"op": "replace", "cell": "a", "cell_type": "raw"}, {"cell_type": "markdown"}),
        # The outputs are of a source that the cell no longer has.
        ({"op": "clear_outputs", "cell": "a"}, {"source": "x = 3"}),
        # What an edit sets itself is compared.
        (
            {"op": "set_metadata", "cell": "a", "patch": {"collapsed": True}},
            {"metadata": {"tags": ["t"], "collapsed": False}},
        ),
    ],
)
def test_a_member_that_the_edit_touched_and_others_have_changed_is_a_conflict(
    operation: JSON, since: JSON
) -> None:
    text, record = apply_edit(NOTEBOOK, operation)

    with pytest.raises(UndoConflict):
        undo_edit(change_cell(text, 0, **since), record)


@pytest.mark.parametrize(
    "since",
    [{"metadata": LOOKS}, {"outputs": [RAN], "execution_count": 9}, {"metadata": LATER}],
)
def test_an_inserted_cell_is_removed_although_it_was_run_or_folded(since: JSON) -> None:
    insert = {"op": "insert", "before": "a", "cell_type": "code", "source": "n", "id": "n"}
    text, record = apply_edit(NOTEBOOK, insert)

    assert load_cells(undo_edit(change_cell(text, 0, **since), record)) == load_cells(NOTEBOOK)
    with pytest.raises(UndoConflict):
        undo_edit(change_cell(text, 0, metadata={"tags": ["t"]}), record)


def test_outputs_of_a_later_run_are_cleared_if_the_former_source_had_none() -> None:
    before = change_cell(NOTEBOOK, 0, outputs=[], execution_count=None)
    text, record = apply_edit(before, CLEAR)
    now = change_cell(text, 0, outputs=[RAN], execution_count=9)

    assert load_cells(undo_edit(now, record)) == load_cells(before)


def test_an_attachment_that_jupyterlab_has_dropped_comes_back_with_its_source() -> None:
    cell = markdown("![x](attachment:image.png)", "a", attachments=PICTURE)
    before = notebook(cell, raw("y"))
    text, record = apply_edit(before, {"op": "replace", "cell": "a", "source": "no picture"})
    # JupyterLab drops it when it saves.
    now = change_cell(text, 0, attachments=...)

    assert load_cells(undo_edit(now, record)) == load_cells(before)
    # One that the edit left is not written again.
    other = {**PICTURE, "other.png": {"image/png": "b3Ro"}}
    assert load_cells(undo_edit(change_cell(text, 0, attachments=other), record))[0] == {
        **cell,
        "attachments": other,
    }


def test_members_removed_later_by_others_stay_removed() -> None:
    before = change_cell(NOTEBOOK, 1, metadata={}, somebody="else")
    text, record = apply_edit(before, {"op": "replace", "cell": "b", "source": "x"})
    text = change_cell(text, 1, metadata=..., somebody=...)

    [_, cell] = load_cells(undo_edit(text, record))

    assert cell == {"cell_type": "markdown", "id": "b", "source": "# Title"}


def test_a_cell_with_reordered_members_is_restored() -> None:
    text, record = apply_edit(NOTEBOOK, KEEP)
    content = json.loads(text)
    cell = content["cells"][0]
    content["cells"][0] = {name: cell[name] for name in sorted(cell, reverse=True)}

    assert load_cells(undo_edit(json.dumps(content).encode(), record)) == load_cells(NOTEBOOK)


def test_an_id_added_by_a_later_save_stays() -> None:
    before = notebook(code("x = 1"), raw("y"))
    text, record = apply_edit(before, {"op": "replace", "cell": 0, "source": "x = 2"})

    [cell, _] = load_cells(undo_edit(change_cell(text, 0, id="given"), record))

    assert cell == {**load_cells(before)[0], "id": "given"}


@pytest.mark.parametrize(
    ("first", "operation"),
    [
        *(
            (
                markdown("![x](attachment:image.png)", "a", attachments=PICTURE),
                {"op": "replace", "cell": "a", "cell_type": cell_type},
            )
            for cell_type in ("code", "raw")
        ),
        (code("x\ny", "a", attachments=PICTURE), {"op": "split", "cell": "a", "at_line": 2}),
    ],
)
def test_attachments_are_restored(first: JSON, operation: JSON) -> None:
    before = notebook(first, raw("y"))
    text, record = apply_edit(before, operation)
    text, _ = apply_edit(text, {"op": "insert", "at": "end", "cell_type": "raw", "source": "z"})

    assert load_cells(undo_edit(text, record))[:2] == load_cells(before)


def test_a_protected_cell_is_restored() -> None:
    protect = {"op": "set_metadata", "cell": "a", "patch": {"editable": False, "deletable": False}}
    text, record = apply_edit(NOTEBOOK, CLEAR, protect)

    assert undo_edit(text, record) == NOTEBOOK


def test_a_duplicate_name_in_a_cell_is_preserved() -> None:
    before = NOTEBOOK.replace(b'"id": "a"', b'"x": 1,\n   "x": 2,\n   "id": "a"')
    text, record = apply_edit(before, {"op": "replace", "cell": "a", "cell_type": "raw"})
    text, _ = apply_edit(text, {"op": "delete", "cell": "b"})

    assert b'"x": 1,\n   "x": 2,' in undo_edit(text, record)
