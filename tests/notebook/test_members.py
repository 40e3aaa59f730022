"""Which members two changes of a cell have in common; the tab's tests run the same table."""

import json
from typing import Any

import pytest

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.members import CellMembers, list_conflicts
from tests.support.paths import ROOT
from tests.support.samples import notebook

CASES = json.loads((ROOT / "tests" / "member_conflicts.json").read_text("utf-8"))


def read_members(cell: dict[str, Any] | None) -> CellMembers | None:
    """Return the members of a cell of the table, which leaves out what is usual."""
    if cell is None:
        return None
    text = notebook({"cell_type": "code", "source": "", "metadata": {}, **cell})
    return CellMembers.from_cell(Document.parse(text).get_cell(0))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_table_of_conflicts_holds_whichever_side_is_which(case: dict[str, Any]) -> None:
    base, mine, theirs = (read_members(case[side]) for side in ("base", "mine", "theirs"))
    assert base is not None
    assert list_conflicts(base, mine, theirs) == case["conflicts"]
    assert list_conflicts(base, theirs, mine) == case["conflicts"]


def test_a_long_source_with_many_attachments_is_taken_to_refer_to_each() -> None:
    names = [f"{number}.png" for number in range(2_000)]
    source = "x" * 100_000
    base = CellMembers("markdown", source, {}, dict.fromkeys(names, "notebook_hash"))
    changed = CellMembers("markdown", source, {}, {})
    assert list_conflicts(base, changed, None) == ["existence"]
    short = CellMembers("markdown", "x", {}, {})
    few = CellMembers("markdown", "x", {}, {"0.png": "notebook_hash"})
    assert list_conflicts(few, short, None) == []


def test_each_case_of_the_table_has_a_name_of_its_own() -> None:
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ({"source": "a"}, {"source": "b"}, "source"),
        ({}, {"cell_type": "raw"}, "type"),
        ({}, {"metadata": {"k": 1}}, "metadata.k"),
        ({"source": "x"}, {"source": "x", "attachments": {"x": {}}}, "attachments.x"),
    ],
)
def test_the_same_change_of_both_is_a_conflict_only_if_that_is_asked(
    old: dict[str, Any], new: dict[str, Any], name: str
) -> None:
    base, changed = read_members(old), read_members(new)
    assert base is not None
    assert list_conflicts(base, changed, changed) == []
    assert list_conflicts(base, changed, changed, is_same_change_allowed=False) == [name]
