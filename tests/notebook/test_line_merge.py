"""Merging two changes of a text by line; the tab's tests run the same table."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.line_merge import merge_lines
from tests.support.paths import ROOT

CASES = json.loads((ROOT / "tests" / "line_merges.json").read_text("utf-8"))

# Few different lines, so that many are equal; some of them empty.
lines = st.lists(st.sampled_from(["", "a", "b", "c"]), max_size=7)
texts = lines.map("\n".join)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_table_of_merges_holds_whichever_side_is_which(case: dict[str, str | None]) -> None:
    base, mine, theirs = (str(case[side]) for side in ("base", "mine", "theirs"))
    assert merge_lines(base, mine, theirs) == case["merged"]
    assert merge_lines(base, theirs, mine) == case["merged"]


def test_each_case_of_the_table_has_a_name_of_its_own() -> None:
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)


@given(texts, texts, texts)
def test_a_merge_does_not_depend_on_which_side_is_which(base: str, mine: str, theirs: str) -> None:
    assert merge_lines(base, mine, theirs) == merge_lines(base, theirs, mine)


@given(texts, texts)
def test_a_change_of_one_side_only_or_of_both_alike_is_the_merge(base: str, other: str) -> None:
    assert merge_lines(base, base, other) == other
    assert merge_lines(base, other, base) == other
    assert merge_lines(base, other, other) == other


@given(texts, texts, texts, texts)
def test_changes_apart_from_a_common_line_are_both_in_the_merge(
    head: str, tail: str, mine: str, theirs: str
) -> None:
    merged = merge_lines(
        f"{head}\n--middle--\n{tail}",
        f"{mine}\n--middle--\n{tail}",
        f"{head}\n--middle--\n{theirs}",
    )
    assert merged == f"{mine}\n--middle--\n{theirs}"


# The change of each side is told by lines that nothing else has.
@given(st.data())
def test_a_merge_has_the_new_lines_of_both_sides_and_no_line_that_one_side_has_removed(
    data: st.DataObject,
) -> None:
    base = [f"line {number}" for number in range(data.draw(st.integers(0, 8)))]
    sides = []
    for name in ("mine", "theirs"):
        side = list(base)
        for number in range(data.draw(st.integers(0, 3))):
            start = data.draw(st.integers(0, len(side)))
            stop = data.draw(st.integers(start, min(start + 2, len(side))))
            side[start:stop] = data.draw(st.sampled_from([[], [f"{name} {number}"]]))
        sides.append(side)
    merged = merge_lines(*("\n".join(text) for text in (base, *sides)))
    if merged is None:
        # Nothing conflicts unless both sides have changed something.
        assert base not in sides
        return
    mine, theirs = sides
    kept = [line for line in base if line in mine and line in theirs]
    result = merged.split("\n") if merged else []
    assert [line for line in result if line in base] == kept
    for side in sides:
        assert [line for line in result if line in side] == [
            line for line in side if line not in base or line in kept
        ]
    assert set(result) <= {*kept, *mine, *theirs}


@given(texts, texts, texts)
@example("a\n" * 300, "a\n" * 299 + "b\n", "c\n" + "a\n" * 300)
def test_a_clean_merge_is_the_same_when_it_is_done_again(base: str, mine: str, theirs: str) -> None:
    merged = merge_lines(base, mine, theirs)
    if merged is not None:
        assert merge_lines(base, merged, merged) == merged
        assert merge_lines(mine, mine, merged) == merged
