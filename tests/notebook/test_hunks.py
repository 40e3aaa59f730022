"""What changes in a text is little, and fits beside what others change in it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.hunks import Hunk, hunks, outlives, rebased

texts = st.text(st.sampled_from("ab \n(😀é\ŕx"), max_size=40)
sources = st.one_of(texts, st.lists(texts, max_size=6).map("\n".join), st.text(max_size=30))


def changed(text: str, changes: list[Hunk]) -> str:
    for start, stop, new in reversed(changes):
        text = text[:start] + new + text[stop:]
    return text


@given(sources, sources)
def test_the_hunks_turn_one_text_into_the_other(before: str, after: str) -> None:
    assert changed(before, hunks(before, after)) == after


@given(sources, sources)
def test_hunks_stand_in_order_and_each_changes_something(before: str, after: str) -> None:
    found = hunks(before, after)
    assert all(one.stop <= next_.start for one, next_ in pairwise(found))
    assert all(before[one.start : one.stop] != one.text for one in found)


def test_only_what_differs_in_a_line_is_touched() -> None:
    before = "import a\nx = compute(one, two)\ny = 2\n"
    after = "import a\nx = compute(one, three)\ny = 2\nz = 3\n"
    at = before.index("wo)")
    assert hunks(before, after) == [
        Hunk(at, at + 2, "hree"),
        Hunk(len(before), len(before), "z = 3\n"),
    ]


def test_a_word_that_is_replaced_is_replaced_whole() -> None:
    assert hunks("alpha beta", "gamma beta") == [Hunk(0, 4, "gamm")]


def test_long_texts_without_anything_in_common_are_compared_at_once() -> None:
    before, after = "a\n" * 100_000, "b\n" * 100_000
    assert changed(before, hunks(before, after)) == after


@given(sources, sources, st.data())
def test_what_somebody_else_typed_elsewhere_and_the_change_are_both_kept(
    left: str, right: str, data: st.DataObject
) -> None:
    middle = "\n# one\n# two\n"
    edited, typed = data.draw(sources), data.draw(sources)
    before, now = left + middle + right, left + middle + typed
    found = rebased(hunks(left, edited), before, now)
    if found is not None:
        assert changed(now, found) == edited + middle + typed
    # It may touch what is typed only if the common middle repeats itself there.
    assert found is not None or "\n" in typed + right or "#" in typed + right


@given(sources, sources)
def test_a_change_is_found_in_the_text_after_it_and_not_in_the_one_before(
    before: str, after: str
) -> None:
    assert outlives(before, after, after)
    assert outlives(before, after, before) == (before == after)


@pytest.mark.parametrize(
    ("now", "found"),
    [
        ("x = 20 + y\n", True),
        ("x = y20\n", True),
        ("x = 20\ny\n", True),
        ("x = 2y0\n", False),
        ("x = 1 + y\n", False),
        ("x = y1\n", False),
        ("", False),
    ],
)
def test_what_is_typed_right_beside_a_change_does_not_hide_it(now: str, found: bool) -> None:  # noqa: FBT001
    assert outlives("x = 1\n", "x = 20\n", now) is found


def test_what_somebody_typed_into_the_changed_place_is_not_overwritten() -> None:
    changes = hunks("x = 1\n", "x = 20\n")
    assert rebased(changes, "x = 1\n", "x = 11\n") is None
    assert rebased(changes, "x = 1\n", "x = 1\ny\n") == changes
    assert rebased(changes, "x = 1\n", "# a\nx = 1\n") == [Hunk(8, 9, "20")]
