"""Undo records and proposals of an older release are usable after the upgrade.

``records.json`` has what the release 81927d7 wrote: records with a fingerprint of the whole cell.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import UndoConflict
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import apply_splices
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.notebook.undo.revert import revert

JSON = dict[str, Any]
ROWS = json.loads((Path(__file__).parent / "records.json").read_text())
all_rows = pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
FOLDED = {"collapsed": True, "jupyter": {"outputs_hidden": True}, "ExecuteTime": {"end": 1}}


def find(name: str) -> JSON:
    (row,) = (row for row in ROWS if row["name"] == name)
    found: JSON = row
    return found


def run(text: str, record: str, *, is_exact: bool = False) -> bytes:
    data = text.encode()
    plan = revert(
        Document.parse(data),
        UndoRecord.decode(base64.b64decode(record)),
        op="undo",
        is_exact=is_exact,
    )
    return apply_splices(data, plan.splices)


def change(text: str, cell_id: str, **members: Any) -> str:
    """Return the notebook as JupyterLab saves it after a change of a cell."""
    content = json.loads(text)
    (cell,) = (cell for cell in content["cells"] if cell["id"] == cell_id)
    cell.update(members)
    return json.dumps(content, indent=1, sort_keys=True)


def fold_all(text: str) -> str:
    content = json.loads(text)
    for cell in content["cells"]:
        cell["metadata"] |= FOLDED
    return json.dumps(content, indent=1, sort_keys=True)


def unfold_all(data: bytes) -> JSON:
    content: JSON = json.loads(data)
    for cell in content["cells"]:
        cell["metadata"] = {
            name: value for name, value in cell["metadata"].items() if name not in FOLDED
        }
    return content


@all_rows
@pytest.mark.parametrize("is_exact", [True, False])
def test_a_record_of_the_older_release_is_undone_and_a_proposal_accepted(
    row: JSON, *, is_exact: bool
) -> None:
    undone = run(row["after"], row["undo"], is_exact=is_exact)
    assert json.loads(undone) == json.loads(row["before"])
    accepted = run(row["before"], row["proposal"], is_exact=is_exact)
    assert json.loads(accepted) == json.loads(row["after"])


@all_rows
def test_a_fold_is_no_conflict_for_a_record_of_the_older_release(row: JSON) -> None:
    assert unfold_all(run(fold_all(row["after"]), row["undo"])) == json.loads(row["before"])
    assert unfold_all(run(fold_all(row["before"]), row["proposal"])) == json.loads(row["after"])


@pytest.mark.parametrize(
    ("name", "cell_id", "members"),
    [
        ("a source", "a", {"source": "x = 3"}),
        ("a key of the metadata", "a", {"metadata": {"tags": ["v"]}}),
        ("an insertion", "n", {"source": "m"}),
        ("an insertion", "n", {"cell_type": "markdown", "attachments": {"a": {"b": "c"}}}),
        # What the attachments were after the edit is not known.
        ("a type", "b", {"attachments": {"image.png": {"image/png": "b3Ro"}}}),
    ],
)
def test_a_change_of_the_same_member_is_a_conflict_for_a_record_of_the_older_release(
    name: str, cell_id: str, members: JSON
) -> None:
    row = find(name)
    with pytest.raises(UndoConflict):
        run(change(row["after"], cell_id, **members), row["undo"])


def test_outputs_of_a_later_run_are_replaced_by_those_of_the_source_that_comes_back() -> None:
    row = find("a source")
    ran = change(row["after"], "a", outputs=[{"output_type": "stream"}], execution_count=9)
    assert json.loads(run(ran, row["undo"])) == json.loads(row["before"])
