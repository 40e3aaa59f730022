"""A unified diff shows every change of a text, and equal lines never as removed and added."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.diff import count_changed_lines, render_hunks, render_unified_diff
from jupyter_nbedit.notebook.document import Document
from tests.notebook.oracle import edit
from tests.support import samples

LINES = st.text(
    st.sampled_from("ab \t\\\r\f\v\x1c\x85\u00a0\u200b\u200d\u2028\ufe0fé\u0301e😀\x00"), max_size=5
)
TEXTS = st.one_of(st.lists(LINES, max_size=8).map("\n".join), st.text(max_size=20))


def list_changed_lines(before: str, after: str) -> list[str]:
    return [line[:-1] for line in render_hunks(before, after) if line[0] in "-+"]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        pytest.param("a = 1", "a = 1\nb = 2", ["+b = 2"], id="a line appended"),
        pytest.param("a\n\nb", "a\n\nx\n\nb", ["+x", "+"], id="a blank line is equal, too"),
        pytest.param("a", "a\n", ["+"], id="a line feed at the end"),
        pytest.param("a\n", "a", ["-"], id="no line feed at the end"),
        pytest.param("", "a", ["+a"], id="the first line"),
        pytest.param("a\r\nb\r\n", "a\nb\n", ["-a\\r", "-b\\r", "+a", "+b"], id="line ends"),
        pytest.param("a\rb", "a\nb", ["-a\\rb", "+a", "+b"], id="a carriage return"),
        pytest.param("a\fb", "ab", ["-a\\fb", "+ab"], id="a form feed"),
        pytest.param("a\u2028b", "a b", ["-a\\u2028b", "+a b"], id="a line separator"),
        pytest.param("a\x85", "a", ["-a\\u0085", "+a"], id="a next line"),
        pytest.param("a\u00a0b", "a b", ["-a\\u00a0b", "+a b"], id="a no-break space"),
        pytest.param("a\u200bb", "ab", ["-a\\u200bb", "+ab"], id="a space without width"),
        pytest.param("\u202ea", "a", ["-\\u202ea", "+a"], id="a direction"),
        pytest.param("a ", "a", ["-a\\u0020", "+a"], id="a space at the end"),
        pytest.param("\ta", "    a", ["-\\ta", "+    a"], id="a tab and spaces"),
        pytest.param("\ta", "\tb", ["-\ta", "+\tb"], id="a tab stays"),
        pytest.param("é", "e\u0301", ["-é", "+e\\u0301"], id="a letter and its mark"),
        pytest.param("a;", "a\u037e", ["-a;", "+a\\u037e"], id="a Greek question mark"),
        pytest.param("\u212b", "\u00c5", ["-\\u212b", "+\u00c5"], id="an angstrom sign"),
        pytest.param(
            "\u1100\u1161", "\uac00", ["-\\u1100\\u1161", "+\uac00"], id="parts of a syllable"
        ),
        pytest.param("❤\ufe0f", "❤", ["-❤\\ufe0f", "+❤"], id="a selector"),
        pytest.param("❤\ufe0f a", "❤\ufe0f b", ["-❤\ufe0f a", "+❤\ufe0f b"], id="an emoji stays"),
        pytest.param("'\r'", "'\\r'", ["-'\\r'", "+'\\\\r'"], id="an escape in the source"),
    ],
)
def test_each_change_of_a_text_is_shown(before: str, after: str, shown: list[str]) -> None:
    assert list_changed_lines(before, after) == shown


@given(TEXTS, TEXTS)
def test_no_line_is_shown_as_removed_and_added_at_one_place(before: str, after: str) -> None:
    lines = [line[:-1] for line in render_hunks(before, after)]
    assert (lines == []) is (before == after)
    # What shapes an emoji is shown with it.
    assert all(re.sub("[\t\u200d]", "", line).isprintable() for line in lines)
    removed = set[str]()
    for line in lines:
        if line[0] == "-":
            removed.add(line[1:])
        elif line[0] != "+":
            removed = set()
        assert line[0] != "+" or line[1:] not in removed


@given(TEXTS, TEXTS)
def test_the_counts_are_those_of_the_diff(before: str, after: str) -> None:
    document = Document.parse(samples.notebook(samples.code(before, "alpha")))
    plan = edit(document, {"op": "replace", "cell": "alpha", "source": after})
    counts = count_changed_lines(plan.changes)
    # An operation keeps the line ends of its cell, so it may write something else.
    for change in plan.changes:
        after = change.after.source if change.after else ""
    shown = list_changed_lines(before, after) if plan.changes else []
    counts = count_changed_lines(plan.changes)
    assert counts.added == sum(line[0] == "+" for line in shown)
    assert counts.removed == sum(line[0] == "-" for line in shown)


def test_equal_values_of_other_types_are_shown() -> None:
    document = Document.parse(samples.notebook(metadata={"flag": True}))
    plan = edit(document, {"op": "set_metadata", "patch": {"flag": 1}})
    lines = render_unified_diff("a.ipynb", plan).split("\n")
    assert [line for line in lines if line[:1] in "+-"][2:-1] == ['- "flag": true', '+ "flag": 1']


def test_values_of_metadata_are_shown_as_they_are_stored() -> None:
    document = Document.parse(samples.notebook(metadata={"title": "a\u2028b"}))
    plan = edit(document, {"op": "set_metadata", "patch": {"title": "a b"}})
    assert render_unified_diff("a.ipynb", plan).split("\n")[4:-1] == [
        " {",
        '- "title": "a\\u2028b"',
        '+ "title": "a b"',
        " }",
    ]
