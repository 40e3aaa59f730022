from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_nbedit.errors import InvalidRequest, TextMismatch
from jupyter_nbedit.tools.substitution import substituted

TEXT = st.text(st.sampled_from("ab\n\r"), max_size=20)
OLD = st.text(st.sampled_from("ab\n"), min_size=1, max_size=4)
NEW = st.text(st.sampled_from("abc\n"), max_size=4)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a\r\nb\r\n", "a\nb", "1\n2\n3", "1\r\n2\r\n3\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "1\r\n2", "1\r\n2\r\n"),
        ("a\nb\n", "a\r\nb", "1\r\n2", "1\n2\n"),
        ("a\r\nb", "b", "1\n2", "a\r\n1\r\n2"),
        ("a\nb\r\nc", "b", "1\n2", "a\n1\r\n2\r\nc"),
        ("a\r\nb\nc", "b", "1\n2", "a\r\n1\n2\nc"),
        ("a", "a", "1\n2", "1\n2"),
        ("a\r\n", "\n", "", "a"),
        ("a\rb\r\n", "\rb", "c", "ac\r\n"),
        ("\ufeffa\n", "a", "b", "\ufeffb\n"),
        ("a.b", ".", "\\1", "a\\1b"),
        ("end", "d", "d\n", "end\n"),
    ],
)
def test_a_line_end_means_the_one_that_is_there(
    text: str, old: str, new: str, expected: str
) -> None:
    assert substituted(text, old, new, every=False)[0] == expected


@given(TEXT, OLD, NEW)
def test_in_a_text_of_line_feeds_it_is_what_python_does(text: str, old: str, new: str) -> None:
    assume(old != new)
    text = text.replace("\r", "")
    count = text.count(old)
    if count:
        found, lines = substituted(text, old, new, every=True)
        assert found == text.replace(old, new)
        assert len(lines) == count
        assert lines[0] == text[: text.index(old)].count("\n") + 1
    else:
        with pytest.raises(TextMismatch):
            substituted(text, old, new, every=True)


@given(TEXT, OLD, NEW)
def test_a_text_of_crlf_stays_one(text: str, old: str, new: str) -> None:
    assume(old != new)
    plain = text.replace("\r", "")
    assume(old in plain)
    found, _ = substituted(plain.replace("\n", "\r\n"), old, new, every=True)
    if "\n" in plain:
        assert found == plain.replace(old, new).replace("\n", "\r\n")


@given(TEXT, TEXT, st.sampled_from(["\n", "\r\n"]))
def test_what_is_taken_out_leaves_all_else_byte_for_byte(
    before: str, after: str, line_end: str
) -> None:
    text = f"{before}X{line_end}Y{after}"
    assert substituted(text, "X\nY", "", every=False)[0] == before + after


def test_what_is_not_unique_is_answered_with_the_lines() -> None:
    with pytest.raises(TextMismatch) as refused:
        substituted("a\nb\r\na\n\na", "a", "b", every=False)
    assert refused.value.details == {"count": 3, "lines": [1, 3, 5]}


def test_at_most_twenty_lines_are_listed() -> None:
    with pytest.raises(TextMismatch) as refused:
        substituted("a\n" * 500, "a", "b", every=False)
    assert refused.value.details == {"count": 500, "lines": list(range(1, 21))}


@pytest.mark.parametrize(("old", "new"), [("", ""), ("a", "a")])
def test_nothing_to_look_for_and_nothing_to_change_are_refused(old: str, new: str) -> None:
    with pytest.raises(InvalidRequest):
        substituted("abc", old, new, every=True)


def test_a_huge_text_and_a_huge_old_one_take_no_time() -> None:
    text = "ab\r\n" * 500_000
    found, lines = substituted(text, text[2:].replace("\r\n", "\n"), "x", every=False)
    assert (found, lines) == ("abx", [1])
