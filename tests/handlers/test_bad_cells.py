"""Cells that cannot be read, or lack members, and files that are something else."""

from itertools import product
from typing import Any

import pytest

from tests.handlers.agent_tools import call
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client

GOOD = [samples.markdown("# Title", "good"), samples.code("x = 1", "alpha")]
#: What stands in the place of a cell.
NO_CELLS: dict[str, Any] = {
    "null instead of a cell": None,
    "a number instead of a cell": 5,
    "a string instead of a cell": "x",
    "an array instead of a cell": [],
    "no members": {},
    "no type": {"id": "bad", "metadata": {}, "source": "x = 1"},
    "a number as type": {"cell_type": 5, "id": "bad", "metadata": {}, "source": "x = 1"},
    "an empty type": {"cell_type": "", "id": "bad", "metadata": {}, "source": "x = 1"},
}
BAD: dict[str, dict[str, Any] | None] = {
    "number": {"source": 1},
    "list of numbers": {"source": ["a", 1]},
    "null": {"source": None},
    "object": {"source": {}},
    "repeated source": None,
    "repeated metadata": None,
}


def build(kind: str, cell_type: str) -> bytes:
    if kind in NO_CELLS:
        return samples.notebook(GOOD[0], NO_CELLS[kind], GOOD[1])
    cell = {**samples.raw("?", "bad"), "cell_type": cell_type, **(BAD[kind] or {})}
    if cell_type == "code":
        cell |= {"outputs": [], "execution_count": None}
    if BAD[kind] is not None:
        return samples.notebook(GOOD[0], cell, GOOD[1])
    name = kind.rpartition(" ")[2]
    text = samples.notebook(GOOD[0], {**cell, "again": {}}, GOOD[1])
    return text.replace(b'"again"', f'"{name}"'.encode())


@pytest.mark.parametrize(
    ("kind", "cell_type"),
    [*product(BAD, ["code", "markdown", "raw"]), *((kind, "") for kind in NO_CELLS)],
)
def test_a_bad_cell_does_not_hide_the_others(
    live: Client, notebook: Notebook, kind: str, cell_type: str
) -> None:
    notebook.file.write_bytes(build(kind, cell_type))
    for view in ("auto", "outline", "source", "full"):
        done, text = call(
            live, "notebook_read", {"path": notebook.path, "view": view, "outputs": "text"}
        )
        assert done, text
        assert "# Title" in text
        assert "x = 1" in text
        assert text.count("<note>Cell 1 (") == 1
        assert "is unreadable: " in text
    assert call(live, "notebook_read", {"path": notebook.path, "section": "Title"})[0]
    for query in ({}, {"view": "outline"}, {"view": "full"}, {"max_chars": 1_000}):
        answer = notebook.read(**query)
        assert answer.status == 200, answer.body
        cells = answer.json["cells"]
        assert len(cells) == 3
        assert (cells[1]["source_hash"], "source" in cells[1]) == ("", False)
        assert cells[1]["problem"]
        assert ["problem" in cell for cell in cells] == [False, True, False]
    # By their bytes the other cells have no match for the text, but might have one for the pattern.
    for words in ({"text": "x ="}, {"text": "x .", "regex": True}, {"text": "x|y", "regex": True}):
        done, text = call(live, "notebook_search", {"folder": notebook.path, **words})
        assert done
        assert "x = 1" in text
    assert f"<note>Not searched: {notebook.path} (invalid_notebook).</note>" in text
    file = {"file_path": str(notebook.file)}
    shown = live.send_json("POST", "tools/claude_code/Read", file).json["content"][0]["text"]
    assert "x = 1" in shown
    assert "is unreadable" in shown
    operations = [
        {"op": "replace_text", "old": "x = 1", "new": "x = 2"},
        {"op": "append_to_section", "section": "Title", "source": "more"},
        {"op": "insert", "at": "start", "source": "new"},
    ]
    done, text = call(live, "notebook_edit", {"path": notebook.path, "operations": operations})
    assert done, text
    done, text = call(live, "notebook_history", {"path": notebook.path, "action": "undo"})
    assert done, text
    assert notebook.text == build(kind, cell_type)
    delete = {"op": "delete", "cell": "2:000000"}
    done, text = call(live, "notebook_edit", {"path": notebook.path, "operations": [delete]})
    assert (done, text.partition(":")[0]) == (False, "cell_changed")


@pytest.mark.parametrize("name", ["metadata", "outputs", "execution_count"])
def test_an_edit_of_a_cell_without_a_required_member_warns(notebook: Notebook, name: str) -> None:
    cell = {key: value for key, value in samples.code("x", "a").items() if key != name}
    notebook.write(cell, samples.raw("y", "b"))
    answer = notebook.patch({"op": "replace", "cell": 0, "source": "z"})
    (warning,) = answer.json["warnings"]
    assert f"has no `{name}`, which nbformat requires" in warning
    assert notebook.patch({"op": "replace", "cell": 1, "source": "z"}).json["warnings"] == []


CONFLICT = samples.three_cells().replace(b"\n", b"\n<<<<<<< HEAD\n=======\n>>>>>>> other\n", 1)
OTHER: dict[str, tuple[bytes, str]] = {
    "conflict": (CONFLICT, "conflict of a merge: line 2 is `<<<<<<< HEAD`"),
    "conflict with CR LF": (CONFLICT.replace(b"\n", b"\r\n"), "line 2 is `<<<<<<< HEAD`"),
    "rest of a conflict": (
        samples.three_cells().replace(b"\n", b"\n>>>>>>> 1a2b (x)\n", 1),
        "line 2 is `>>>>>>> 1a2b (x)`",
    ),
    "whole conflict": (b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", "line 1 is"),
    "LFS": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        "pointer of Git LFS",
    ),
    "LFS with BOM": (b"\xef\xbb\xbfversion https://git-lfs.github.com/spec/v1\r\n", "Git LFS"),
    "annex": (b"/annex/objects/SHA256E-s3--12.ipynb\n", "pointer of git-annex"),
}


@pytest.mark.parametrize(("text", "message"), OTHER.values(), ids=OTHER)
def test_what_stands_in_place_of_a_notebook_is_named(
    live: Client, notebook: Notebook, text: bytes, message: str
) -> None:
    notebook.file.write_bytes(text)
    done, shown = call(live, "notebook_read", {"path": notebook.path})
    assert not done
    assert shown.startswith("invalid_notebook: ")
    assert message in shown
    answer: Any = notebook.patch({"op": "delete", "cell": 0})
    assert (answer.status, message in answer.json["message"]) == (422, True)
