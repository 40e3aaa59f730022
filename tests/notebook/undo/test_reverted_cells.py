"""What undo restores in a cell, and which later changes stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_nbedit.errors import UndoConflict
from tests.notebook.undo.oracle import apply_edit, undo_edit
from tests.support.samples import code, load_cells, markdown, notebook, raw

JSON = dict[str, Any]
RAN = {"output_type": "stream", "name": "stdout", "text": ["run since\n"]}
BEFORE = {"output_type": "stream", "name": "stdout", "text": ["run before\n"]}
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
        # Outputs of a later run stay, unless the edit cleared those that its source had.
        (
            KEEP,
            {"outputs": [RAN], "execution_count": 9, "metadata": {"tags": ["t"], **LATER}},
            {
                **CELL,
                "outputs": [RAN],
                "execution_count": 9,
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
        # A browser writes numbers in its own way, and trusts what was run there.
        (PATCH, {"metadata": {"tags": ["u"], "n": 1.0, "trusted": True}}, CELL),
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


PICTURE = {"image.png": {"image/png": "aGk="}}


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
