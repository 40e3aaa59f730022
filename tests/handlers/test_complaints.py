"""What users of other tools complain about, by the reports that are public: not here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.handlers.refused import details, untouched
from tests.support import samples
from tests.support.http import Answer, Client

NAME = "complaint.ipynb"
Make = Callable[..., "Notebook"]
Operation = dict[str, Any]


class Notebook:
    """A notebook on the live server, and what an agent does to it."""

    def __init__(self, live: Client, text: bytes) -> None:
        self.live = live
        self.path = live.root / NAME
        self.path.write_bytes(text)

    def edit(self, *operations: Operation, **fields: Any) -> Answer:
        return self.live.patch(NAME, *operations, **fields)

    def does(self, *operations: Operation) -> dict[str, Any]:
        answer = self.edit(*operations)
        assert answer.status == 200, answer.body
        said: dict[str, Any] = answer.json
        return said

    def refuses(self, status: int, reason: str, *operations: Operation) -> dict[str, Any]:
        with untouched(self.path.parent):
            return details(self.edit(*operations), status, reason)

    @property
    def cells(self) -> list[dict[str, Any]]:
        return samples.cells_of(self.path.read_bytes())

    @property
    def sources(self) -> list[str]:
        return [cell["source"] for cell in self.cells]


@pytest.fixture
def make(live: Client) -> Iterator[Make]:
    def make(*sources: str, minor: int = 5, **members: Any) -> Notebook:
        ids = [f"id-{n}" if minor >= 5 else None for n in range(len(sources))]
        cells = [samples.code(*cell, **members) for cell in zip(sources, ids, strict=True)]
        return Notebook(live, samples.notebook(*cells, minor=minor))

    yield make
    (live.root / NAME).unlink()


def insert(source: str, **where: Any) -> Operation:
    return {"op": "insert", "cell_type": "code", "source": source, **where}


def replace(cell: str | int, source: str) -> Operation:
    return {"op": "replace", "cell": cell, "source": source}


SQL = "%%sql --out t\nSELECT *\nFROM t\nLIMIT 10"
LIMITS = {"op": "replace_text", "cell": "id-1", "old": "LIMIT 10", "new": "LIMIT 20"}
ZEROS = [{"old": "np.zeros", "new": "np.empty"}, {"old": "3", "new": "4", "all": True}]
#: The report and what it says; the sources, the operations, and the sources then.
EDITS: dict[str, tuple[list[str], list[Operation], list[str]]] = {
    "anthropics/claude-code/issues/2176: it landed before": (
        ["a", "b"],
        [insert("new", after="id-0")],
        ["a", "new", "b"],
    ),
    "anthropics/claude-code/issues/5197: they came in any order": (
        ["a", "z"],
        [insert("b", after="id-0", id="b"), insert("c", after="b", id="c"), insert("d", after="c")],
        ["a", "b", "c", "d", "z"],
    ),
    "anthropics/claude-code/issues/2925: always at the top": (
        ["a", "b"],
        [insert("last", at="end"), insert("first", at="start")],
        ["first", "a", "b", "last"],
    ),
    "microsoft/vscode-jupyter/issues/17373: the wrong cell; SQL cells break": (
        ["LIMIT 10", SQL],
        [LIMITS],
        ["LIMIT 10", SQL.replace("10", "20")],
    ),
    "datalayer/jupyter-mcp-server/issues/222: no patch": (
        ["np.zeros(3)\nnp.ones(3)", "y = 3"],
        [{"op": "replace_text", "cell": "id-0", "edits": ZEROS}],
        ["np.empty(4)\nnp.ones(4)", "y = 3"],
    ),
    "jupyter-ai-contrib/nb-cli/issues/68: one call for each cell": (
        ["0"],
        [insert(str(n), at="end") for n in range(1, 1000)],
        [str(n) for n in range(1000)],
    ),
}


@pytest.mark.parametrize("report", EDITS)
def test_cells_are_where_and_as_they_were_asked_for(make: Make, report: str) -> None:
    sources, operations, expected = EDITS[report]
    notebook = make(*sources)
    said = notebook.does(*operations)
    assert notebook.sources == expected
    # https://github.com/datalayer/jupyter-mcp-server/issues/96: success, but nowhere.
    assert (said["persisted"], said["hash"]) == (True, samples.hash_of(notebook.path))
    # https://github.com/jupyter-ai-contrib/jupyter-ai-tools/issues/40: left unsaved.
    contents = notebook.live.request("GET", f"api/contents/{NAME}").json["content"]
    assert [cell["source"] for cell in contents["cells"]] == expected


@pytest.mark.threat("S26")
def test_an_index_from_before_somebody_elses_insert_is_noticed(make: Make) -> None:
    """https://github.com/mito-ds/mito/issues/2076: often the wrong position."""
    notebook = make("a", "b")
    read = notebook.live.read(NAME).json
    notebook.does(insert("theirs", at="start"))
    expect = {"source_hash": read["cells"][1]["source_hash"]}
    found = notebook.refuses(409, "cell_changed", {**replace(1, "mine"), "expect": expect})
    assert found["source"] == "a"
    with untouched(notebook.path.parent):
        details(notebook.edit(replace(1, "mine"), hash=read["hash"]), 412, "hash_mismatch")


def test_notebooks_without_ids_are_read_and_edited_without_adding_any(make: Make) -> None:
    """Two reports: https://github.com/jsboige/CoursIA/pull/2136, 391 ids added by hand for a tool;
    https://github.com/jupyter-server/jupyter_ydoc/pull/13, other models must make them up.
    """
    notebook = make("a", "b", minor=4)
    assert [cell["id"] for cell in notebook.live.read(NAME).json["cells"]] == [None] * 2
    assert notebook.live.read(NAME, cell="cell-1").json["cells"][0]["source"] == "b"
    notebook.does(replace("cell-1", "c"), insert("d", after="cell-1"))
    assert notebook.sources == ["a", "c", "d"]
    assert b'"id"' not in notebook.path.read_bytes()
    assert b'"nbformat_minor": 4' in notebook.path.read_bytes()


def test_no_edit_changes_an_id(make: Make) -> None:
    """https://github.com/jupyterlab/jupyterlab/issues/9645: ids that change pollute diffs."""
    notebook = make("a", "b", "c")
    notebook.does({**replace("id-1", "B"), "cell_type": "markdown"})
    notebook.does({"op": "move", "cell": "id-2", "at": "start"})
    notebook.does({"op": "replace_text", "cell": "id-0", "old": "a", "new": "A"})
    assert [cell["id"] for cell in notebook.cells] == ["id-2", "id-0", "id-1"]


def test_an_edit_that_changes_nothing_does_not_claim_to(make: Make) -> None:
    """https://github.com/microsoft/vscode/issues/314579: "edited", but not."""
    notebook = make("a", execution_count=None)
    with untouched(notebook.path.parent):
        said = notebook.does(replace("id-0", "a"))
    assert (said["edit_id"], said["diff"]) == (None, "")


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
    assert notebook.path.read_bytes() == before.replace(b"x = 15", b"x = 16")


def test_neither_reading_nor_editing_takes_anything_from_the_metadata(live: Client) -> None:
    """https://github.com/microsoft/vscode-jupyter/issues/16207: viewing deletes language_info."""
    metadata = {"language_info": {"name": "python", "version": "3.11"}, "vscode": {"x": 1}}
    notebook = Notebook(live, samples.notebook(samples.code("a", "a"), metadata=metadata))
    with untouched(live.root):
        for view in ("outline", "source", "full"):
            assert live.read(NAME, view=view).status == 200
    notebook.does(insert("b", at="end"), {"op": "delete", "cell": "a"})
    assert json.loads(notebook.path.read_bytes())["metadata"] == metadata
