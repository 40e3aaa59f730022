"""What a cell gets back, and what of it stays as others have made it since."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.splices import join
from jupyter_nbedit.notebook.taking_back import take_back
from tests.notebook.oracle import edit
from tests.notebook.undo import taken_back
from tests.support.samples import cells_of, code, markdown, notebook, raw

JSON = dict[str, Any]
RAN = {"output_type": "stream", "name": "stdout", "text": ["run since\n"]}
BEFORE = {"output_type": "stream", "name": "stdout", "text": ["run before\n"]}


def done(text: bytes, *operations: JSON) -> tuple[bytes, Record]:
    applied = edit(Document.parse(text), *operations)
    return join(text, applied.splices), applied.record()


def changed(text: bytes, index: int, **members: Any) -> bytes:
    """What JupyterLab saves after somebody has worked on a cell; `...` takes a member out."""
    content = json.loads(text)
    cell = {**content["cells"][index], **members}
    content["cells"][index] = {name: value for name, value in cell.items() if value is not ...}
    return json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"


def a_notebook() -> bytes:
    return notebook(
        code("x = 1", "a", execution_count=3, outputs=[BEFORE], metadata={"tags": ["t"]}),
        markdown("# Title", "b"),
    )


def test_outputs_of_a_later_run_stay_if_the_edit_kept_those_there_were() -> None:
    replace = {"op": "replace", "cell": "a", "source": "x = 2", "outputs": "keep"}
    text, record = done(a_notebook(), replace)
    timed = {"tags": ["t"], "execution": {"shell.execute_reply": "later"}}
    text = changed(text, 0, outputs=[RAN], execution_count=9, metadata=timed)

    [cell, _] = cells_of(taken_back(text, record))

    assert (cell["source"], cell["outputs"], cell["execution_count"]) == ("x = 1", [RAN], 9)
    assert cell["metadata"] == timed


def test_outputs_that_the_edit_cleared_come_back_with_the_source_they_are_of() -> None:
    text, record = done(a_notebook(), {"op": "replace", "cell": "a", "source": "x = 2"})
    text = changed(text, 0, outputs=[RAN], execution_count=9)

    after = taken_back(text, record)

    assert cells_of(after)[0] == cells_of(a_notebook())[0]


def test_what_the_metadata_say_of_a_later_run_outlives_taking_back_other_metadata() -> None:
    patch = {"op": "set_metadata", "cell": "a", "patch": {"tags": ["u"], "n": 1}}
    text, record = done(a_notebook(), patch)
    timed = {"tags": ["u"], "n": 1, "execution": {"shell.execute_reply": "later"}}
    text = changed(text, 0, metadata=timed)

    [cell, _] = cells_of(taken_back(text, record))

    assert cell["metadata"] == {"tags": ["t"], "execution": timed["execution"]}


def test_what_others_have_given_a_cell_since_stays() -> None:
    text, record = done(a_notebook(), {"op": "replace", "cell": "a", "cell_type": "raw"})
    text = changed(text, 0, somebody={"else": 1})

    [cell, _] = cells_of(taken_back(text, record))

    assert cell == {**cells_of(a_notebook())[0], "somebody": {"else": 1}}


def test_what_others_have_taken_out_since_and_the_edit_left_alone_stays_out() -> None:
    before = changed(a_notebook(), 1, metadata={}, somebody="else")
    text, record = done(before, {"op": "replace", "cell": "b", "source": "x"})
    text = changed(text, 1, metadata=..., somebody=...)

    [_, cell] = cells_of(taken_back(text, record))

    assert cell == {"cell_type": "markdown", "id": "b", "source": "# Title"}


def test_a_cell_whose_members_somebody_has_put_in_another_order_keeps_its_outputs() -> None:
    replace = {"op": "replace", "cell": "a", "source": "x = 2", "outputs": "keep"}
    text, record = done(a_notebook(), replace)
    content = json.loads(text)
    cell = content["cells"][0]
    content["cells"][0] = {name: cell[name] for name in sorted(cell, reverse=True)}
    document = Document.parse(json.dumps(content).encode())

    applied = take_back(document, record, op="undo")

    after = join(document.text, applied.splices)
    assert cells_of(after) == cells_of(a_notebook())
    assert not any(b"run before" in splice.text for splice in applied.splices)


def test_an_id_that_a_save_has_given_since_stays() -> None:
    before = notebook(code("x = 1"), raw("y"))
    text, record = done(before, {"op": "replace", "cell": 0, "source": "x = 2"})
    text = changed(text, 0, id="given")

    assert cells_of(taken_back(text, record))[0] == {**cells_of(before)[0], "id": "given"}


@pytest.mark.parametrize("cell_type", ["code", "raw"])
def test_attachments_come_back_with_the_type_that_has_them(cell_type: str) -> None:
    picture = {"image.png": {"image/png": "aGk="}}
    before = notebook(markdown("![x](attachment:image.png)", "a", attachments=picture), raw("y"))
    text, record = done(before, {"op": "replace", "cell": "a", "cell_type": cell_type})
    text, _ = done(text, {"op": "insert", "at": "start", "cell_type": "raw", "source": "z"})

    assert cells_of(taken_back(text, record))[1] == cells_of(before)[0]


def test_a_protected_cell_gets_back_what_it_was() -> None:
    text, record = done(
        a_notebook(),
        {"op": "replace", "cell": "a", "source": "x = 2"},
        {"op": "set_metadata", "cell": "a", "patch": {"editable": False, "deletable": False}},
    )

    assert taken_back(text, record) == a_notebook()


def test_a_name_that_stands_twice_in_a_cell_still_does() -> None:
    before = a_notebook().replace(b'"id": "a"', b'"x": 1,\n   "x": 2,\n   "id": "a"')
    text, record = done(before, {"op": "replace", "cell": "a", "cell_type": "raw"})
    text, _ = done(text, {"op": "delete", "cell": "b"})

    after = taken_back(text, record)

    assert b'"x": 1,\n   "x": 2,' in after


def test_a_part_of_a_split_code_cell_is_found_though_the_cell_had_attachments() -> None:
    before = notebook(code("x\ny", "a", attachments={"p.png": {"image/png": "aGk="}}), raw("z"))
    text, record = done(before, {"op": "split", "cell": "a", "at_line": 2})
    text, _ = done(text, {"op": "insert", "at": "end", "cell_type": "raw", "source": "w"})

    assert cells_of(taken_back(text, record))[:2] == cells_of(before)


def test_outputs_of_a_later_run_stay_if_the_edit_only_cleared_those_there_were() -> None:
    text, record = done(a_notebook(), {"op": "clear_outputs", "cell": "a"})
    text = changed(text, 0, outputs=[RAN], execution_count=9)

    assert cells_of(taken_back(text, record)) == cells_of(text)
