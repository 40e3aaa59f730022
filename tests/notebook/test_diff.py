"""Differences of texts are small, and can be applied beside other changes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.sequence_diff import Hunk, is_still_applied, list_hunks, rebase_hunks
from tests.notebook.line_diffs import CASES_PATH, render_cases

texts = st.text(st.sampled_from("ab \n(😀é\ŕx"), max_size=40)
sources = st.one_of(texts, st.lists(texts, max_size=6).map("\n".join), st.text(max_size=30))


def apply_changes(text: str, changes: list[Hunk]) -> str:
    for start, stop, new in reversed(changes):
        text = text[:start] + new + text[stop:]
    return text


@given(sources, sources)
def test_hunks_turn_one_text_into_another_and_each_changes_it(before: str, after: str) -> None:
    found = list_hunks(before, after)
    assert apply_changes(before, found) == after
    assert all(one.stop <= next_.start for one, next_ in pairwise(found))
    assert all(before[one.start : one.stop] != one.text for one in found)
    assert is_still_applied(before, after, after)
    assert is_still_applied(before, after, before) == (before == after)


def test_only_the_difference_in_a_line_is_changed() -> None:
    before = "import a\nx = compute(one, two)\ny = 2\n"
    after = "import a\nx = compute(one, three)\ny = 2\nz = 3\n"
    at, end = before.index("wo)"), len(before)
    assert list_hunks(before, after) == [Hunk(at, at + 2, "hree"), Hunk(end, end, "z = 3\n")]
    # A word that is replaced is replaced whole.
    assert list_hunks("alpha beta", "gamma beta") == [Hunk(0, 4, "gamm")]


@given(sources, sources, st.data())
def test_text_that_a_user_typed_elsewhere_and_the_change_are_both_kept(
    left: str, right: str, data: st.DataObject
) -> None:
    middle = "\n# one\n# two\n"
    edited, typed = data.draw(sources), data.draw(sources)
    before, now = left + middle + right, left + middle + typed
    found = rebase_hunks(list_hunks(left, edited), before, now)
    if found is not None:
        assert apply_changes(now, found) == edited + middle + typed
    # It may touch what is typed only if the common middle repeats itself there.
    assert found is not None or "\n" in typed + right or "#" in typed + right


@pytest.mark.parametrize(
    ("now", "found"),
    [
        ("x = 20 + y\n", True),
        ("x = y20\n", True),
        ("x = 2y0\n", False),
        ("x = 1 + y\n", False),
        ("", False),
    ],
)
def test_text_typed_next_to_a_change_does_not_hide_it(now: str, found: bool) -> None:  # noqa: FBT001
    assert is_still_applied("x = 1\n", "x = 20\n", now) is found


def test_text_typed_into_the_changed_span_is_not_overwritten() -> None:
    changes = list_hunks("x = 1\n", "x = 20\n")
    assert rebase_hunks(changes, "x = 1\n", "x = 11\n") is None
    assert rebase_hunks(changes, "x = 1\n", "x = 1\ny\n") == changes
    assert rebase_hunks(changes, "x = 1\n", "# a\nx = 1\n") == [Hunk(8, 9, "20")]


def test_the_page_is_tested_with_the_differences_of_lines_that_the_server_finds() -> None:
    # After an intended change: python -m tests.notebook.line_diffs
    assert CASES_PATH.read_text("utf-8") == render_cases()
