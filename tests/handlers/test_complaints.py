"""What users of other tools complain about, by the reports that are public: not here.

Each test names the report it answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.handlers.refused import details, untouched
from tests.support import samples
from tests.support.http import Answer, Client

NAME = "complaint.ipynb"


class Notebook:
    """A notebook on the live server, and what an agent does to it."""

    def __init__(self, live: Client, text: bytes) -> None:
        self.live = live
        self.path: Path = live.root / NAME
        self.path.write_bytes(text)

    def edit(self, *operations: dict[str, Any], **fields: Any) -> Answer:
        return self.live.patch(NAME, *operations, **fields)

    def does(self, *operations: dict[str, Any], **fields: Any) -> dict[str, Any]:
        answer = self.edit(*operations, **fields)
        assert answer.status == 200, answer.body
        said: dict[str, Any] = answer.json
        return said

    def refuses(self, status: int, reason: str, *operations: dict[str, Any]) -> dict[str, Any]:
        with untouched(self.path.parent):
            return details(self.edit(*operations), status, reason)

    @property
    def cells(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = samples.cells_of(self.path.read_bytes())
        return found

    @property
    def sources(self) -> list[str]:
        return [cell["source"] for cell in self.cells]


Make = Callable[..., Notebook]


@pytest.fixture
def make(live: Client) -> Make:
    def make(*sources: str, minor: int = 5, **members: Any) -> Notebook:
        cells = [
            samples.code(source, f"id-{n}" if minor >= 5 else None, **members)
            for n, source in enumerate(sources)
        ]
        return Notebook(live, samples.notebook(*cells, minor=minor))

    return make


def insert(source: str, **where: Any) -> dict[str, Any]:
    return {"op": "insert", "cell_type": "code", "source": source, **where}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# Wrong place, wrong cell ---------------------------------------------------------------------


def test_after_a_cell_means_after_it(make: Make) -> None:
    """https://github.com/anthropics/claude-code/issues/2176: it landed before."""
    notebook = make("a", "b")
    notebook.does(insert("new", after="id-0"))
    assert notebook.sources == ["a", "new", "b"]


def test_without_a_position_nothing_is_inserted_anywhere(make: Make) -> None:
    """https://github.com/anthropics/claude-code/issues/4613: it went to the top."""
    notebook = make("a", "b")
    assert notebook.refuses(400, "invalid_operation", insert("new")) == {"operation": 0}


def test_cells_that_follow_each_other_come_in_that_order(make: Make) -> None:
    """https://github.com/anthropics/claude-code/issues/5197: they came in any order."""
    notebook = make("a", "z")
    notebook.does(
        insert("b", after="id-0", id="b"), insert("c", after="b", id="c"), insert("d", after="c")
    )
    notebook.does(insert("x", before="id-1"), insert("y", before="id-1"))
    assert notebook.sources == ["a", "b", "c", "d", "x", "y", "z"]


def test_a_cell_for_the_end_comes_to_the_end(make: Make) -> None:
    """https://github.com/anthropics/claude-code/issues/2925: always at the top."""
    notebook = make("a", "b")
    said = notebook.does(insert("last", at="end"), insert("first", at="start"))
    assert notebook.sources == ["first", "a", "b", "last"]
    assert [done["index"] for done in said["operations"]] == [3, 0]


def test_an_agent_that_inserts_ten_times_in_a_row_builds_from_top_to_bottom(make: Make) -> None:
    """https://github.com/anthropics/claude-code/issues/18538: each at position 0."""
    notebook, last = make("0"), "id-0"
    for n in range(1, 10):
        last = notebook.does(insert(str(n), after=last))["operations"][0]["cell_id"]
    assert notebook.sources == [str(n) for n in range(10)]


@pytest.mark.threat("S26")
def test_an_index_from_before_somebody_elses_insert_is_noticed(make: Make) -> None:
    """https://github.com/mito-ds/mito/issues/2076: often the wrong position."""
    notebook = make("a", "b")
    read = notebook.live.read(NAME).json
    notebook.does(insert("theirs", at="start"))
    edit = {"op": "replace", "cell": 1, "source": "mine"}
    expect = {"source_hash": read["cells"][1]["source_hash"]}
    found = notebook.refuses(409, "cell_changed", {**edit, "expect": expect})
    assert found["source"] == "a"
    with untouched(notebook.path.parent):
        details(notebook.edit(edit, hash=read["hash"]), 412, "hash_mismatch")


def test_imports_are_moved_to_the_top_with_their_outputs(make: Make) -> None:
    """https://github.com/posit-dev/positron/issues/10553: no tool to reorder."""
    notebook = make("x = 1", "y = 2", "import os", outputs=[samples.HTML_OUTPUT])
    before = notebook.path.read_bytes()
    notebook.does({"op": "move", "cell": "id-2", "at": "start"})
    assert notebook.sources == ["import os", "x = 1", "y = 2"]
    assert sorted(notebook.path.read_bytes().splitlines()) == sorted(before.splitlines())


def test_a_targeted_edit_changes_one_line_of_one_cell(make: Make) -> None:
    """https://github.com/microsoft/vscode-jupyter/issues/17373: the wrong cell; SQL cells break."""
    sql = "%%sql --out t\nSELECT *\nFROM t\nLIMIT 10"
    notebook = make("LIMIT 10", sql)
    notebook.does({"op": "replace_text", "cell": "id-1", "old": "LIMIT 10", "new": "LIMIT 20"})
    assert notebook.sources == ["LIMIT 10", sql.replace("10", "20")]


# Ids -----------------------------------------------------------------------------------------


def test_a_source_in_the_place_of_an_id_is_answered_with_the_ids_there_are(make: Make) -> None:
    """https://github.com/datalayer/jupyter-mcp-server/issues/24: no guidance on valid ids."""
    notebook = make("import os", "x = 1")
    edit = {"op": "replace", "cell": "import os", "source": "import sys"}
    found = notebook.refuses(404, "cell_not_found", edit)
    assert found["available_ids"] == ["id-0", "id-1"]


def test_notebooks_without_ids_are_edited_without_adding_any(make: Make) -> None:
    """https://github.com/jsboige/CoursIA/pull/2136: 391 ids added by hand for a tool."""
    notebook = make("a", "b", minor=4)
    notebook.does({"op": "replace", "cell": "cell-1", "source": "c"}, insert("d", after="cell-1"))
    assert notebook.sources == ["a", "c", "d"]
    assert b'"id"' not in notebook.path.read_bytes()
    assert b'"nbformat_minor": 4' in notebook.path.read_bytes()


def test_no_edit_changes_an_id(make: Make) -> None:
    """https://github.com/jupyterlab/jupyterlab/issues/9645: ids that change pollute diffs."""
    notebook = make("a", "b", "c")
    notebook.does({"op": "replace", "cell": "id-1", "source": "B", "cell_type": "markdown"})
    notebook.does({"op": "move", "cell": "id-2", "at": "start"})
    notebook.does({"op": "replace_text", "cell": "id-0", "old": "a", "new": "A"})
    assert [cell["id"] for cell in notebook.cells] == ["id-2", "id-0", "id-1"]


def test_two_cells_of_one_id_are_told_apart_by_their_indexes(live: Client) -> None:
    """https://github.com/jupyter/notebook/issues/6001: ids that are not unique."""
    text = samples.notebook(samples.code("a", "same"), samples.code("b", "same"))
    notebook = Notebook(live, text)
    edit = {"op": "replace", "cell": "same", "source": "c"}
    assert notebook.refuses(409, "ambiguous_cell", edit)["indexes"] == [0, 1]
    notebook.does({**edit, "cell": 1})
    assert notebook.sources == ["a", "c"]


def test_reading_a_notebook_without_ids_invents_none(make: Make) -> None:
    """https://github.com/jupyter-server/jupyter_ydoc/pull/13: other models must make them up."""
    notebook = make("a", "b", minor=4)
    reads = [notebook.live.read(NAME).json for _ in range(2)]
    assert [cell["id"] for read in reads for cell in read["cells"]] == [None] * 4
    assert notebook.live.read(NAME, cell="cell-1").json["cells"][0]["source"] == "b"


# Claimed, but not done -----------------------------------------------------------------------


def test_what_is_answered_is_on_disk(make: Make) -> None:
    """https://github.com/datalayer/jupyter-mcp-server/issues/96: success, but nowhere."""
    notebook = make("a")
    said = notebook.does({"op": "replace", "cell": "id-0", "source": "b"})
    assert (said["persisted"], said["hash"]) == (True, digest(notebook.path))
    assert notebook.sources == ["b"]
    assert notebook.live.read(NAME).json["hash"] == said["hash"]


def test_an_edit_that_changes_nothing_does_not_claim_to(make: Make) -> None:
    """https://github.com/microsoft/vscode/issues/314579: "edited", but not."""
    notebook = make("a", execution_count=None)
    with untouched(notebook.path.parent):
        said = notebook.does({"op": "replace", "cell": "id-0", "source": "a"})
    assert (said["edit_id"], said["diff"]) == (None, "")
    edit = {"op": "replace_text", "cell": "id-0", "old": "gone", "new": "x"}
    assert notebook.refuses(409, "text_mismatch", edit)["count"] == 0


def test_an_edit_is_saved_without_anybody_saving_it(make: Make) -> None:
    """https://github.com/jupyter-ai-contrib/jupyter-ai-tools/issues/40: left unsaved."""
    notebook = make("a")
    notebook.does(insert("b", at="end"))
    contents = notebook.live.request("GET", f"api/contents/{NAME}").json
    assert [cell["source"] for cell in contents["content"]["cells"]] == ["a", "b"]


# Churn ---------------------------------------------------------------------------------------


def changed_lines(before: bytes, after: bytes) -> int:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return len(new) - head - tail


LAYOUTS: dict[str, Callable[[Any], str]] = {
    # https://github.com/open-reaction-database/ord-schema/pull/1000: 1086 lines for three
    "other key order and escapes": lambda value: json.dumps(value, indent=2, ensure_ascii=True),
    # https://github.com/nteract/archived-desktop-app/issues/4273: indentation changes
    "indented by four": lambda value: json.dumps(value, indent=4, ensure_ascii=False) + "\n",
    # https://github.com/jupyter/nbformat/issues/228: indentation is not recognised
    "indented by a tab": lambda value: json.dumps(value, indent="\t") + "\n",
    # https://github.com/jsboige/CoursIA/issues/13589: no final line break
    "without a final line break": lambda value: json.dumps(value, indent=1, sort_keys=True),
    "with two line breaks of Windows": lambda value: (
        json.dumps(value, indent=1).replace("\n", "\r\n") + "\r\n\r\n"
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_edit_of_one_line_is_a_diff_of_one_line(live: Client, layout: str) -> None:
    cells = [samples.code(f"# ünïcode {n}\nx = {n}", f"id-{n}") for n in range(30)]
    lines = [{**cell, "source": cell["source"].splitlines(keepends=True)} for cell in cells]
    value = json.loads(samples.notebook(*lines, metadata={"unknown": {"kept": True}}))
    before = LAYOUTS[layout](value).encode()
    notebook = Notebook(live, before)
    notebook.does({"op": "replace_text", "cell": "id-15", "old": "x = 15", "new": "x = 16"})
    after = notebook.path.read_bytes()
    assert changed_lines(before, after) == 1
    assert len(after) == len(before)


def test_neither_reading_nor_editing_takes_anything_from_the_metadata(live: Client) -> None:
    """https://github.com/microsoft/vscode-jupyter/issues/16207: viewing deletes language_info."""
    metadata = {"language_info": {"name": "python", "version": "3.11"}, "vscode": {"x": 1}}
    text = samples.notebook(samples.code("a", "a"), metadata=metadata)
    notebook = Notebook(live, text)
    for view in ("outline", "source", "full"):
        assert live.read(NAME, view=view).status == 200
    assert notebook.path.read_bytes() == text
    notebook.does(insert("b", at="end"), {"op": "delete", "cell": "a"})
    assert json.loads(notebook.path.read_bytes())["metadata"] == metadata


# Granularity, batches, metadata ----------------------------------------------------------------


def test_text_is_found_and_replaced_in_place(make: Make) -> None:
    """https://github.com/datalayer/jupyter-mcp-server/issues/222: no grep, no patch."""
    notebook = make("import numpy as np\nnp.zeros(3)\nnp.ones(3)", "y = 1")
    edits = [{"old": "np.zeros", "new": "np.empty"}, {"old": "3", "new": "4", "all": True}]
    notebook.does({"op": "replace_text", "cell": "id-0", "edits": edits})
    assert notebook.sources[0] == "import numpy as np\nnp.empty(4)\nnp.ones(4)"
    search = json.dumps({"query": "np.ones", "path": ""}).encode()
    answer = notebook.live.request(
        "POST", "nbedit/search", search, {"Content-Type": "application/json"}
    )
    mine = [hit for hit in answer.json["hits"] if hit["path"] == NAME]
    assert [(hit["index"], hit["line"]) for hit in mine] == [(0, 3)]


def test_many_cells_are_added_in_one_request(make: Make) -> None:
    """https://github.com/jupyter-ai-contrib/nb-cli/issues/68: one call for each cell."""
    notebook = make("0")
    said = notebook.does(*[insert(str(n), at="end") for n in range(1, 1000)])
    assert notebook.sources == [str(n) for n in range(1000)]
    assert said["total_cells"] == 1000
    assert len({done["cell_id"] for done in said["operations"]}) == 999


def test_a_batch_is_done_whole_or_not_at_all(make: Make) -> None:
    """https://github.com/marimo-team/marimo/issues/8172: no way to batch."""
    notebook = make("a", "b")
    fails = {"op": "delete", "cell": "nobody"}
    assert notebook.refuses(404, "cell_not_found", insert("c", at="end"), fails)["operation"] == 1
    said = notebook.does(insert("c", at="end"), {"op": "delete", "cell": "id-0"})
    assert notebook.sources == ["b", "c"]
    assert said["edit_id"] is not None


def test_the_state_of_all_cells_or_of_some_is_one_request(make: Make) -> None:
    """https://github.com/marimo-team/marimo/pull/8269: a request for each cell."""
    notebook = make(*"abcdef")
    whole = notebook.live.read(NAME, view="outline").json
    assert [cell["summary"] for cell in whole["cells"]] == list("abcdef")
    some = notebook.live.read(NAME, cell=["id-4", "id-1"]).json
    assert [cell["source"] for cell in some["cells"]] == ["b", "e"]


def test_tags_and_other_metadata_of_a_cell_are_edited(make: Make) -> None:
    """https://github.com/anthropics/claude-code/issues/4591: no parameters for papermill."""
    notebook = make("x = 1", outputs=[samples.HTML_OUTPUT], metadata={"keep": 1, "drop": 2})
    patch = {"tags": ["parameters"], "drop": None}
    notebook.does({"op": "set_metadata", "cell": "id-0", "patch": patch})
    (cell,) = notebook.cells
    assert cell["metadata"] == {"keep": 1, "tags": ["parameters"]}
    assert cell["outputs"] == [samples.HTML_OUTPUT]
