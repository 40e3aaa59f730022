"""Names and lines as texts show them, and back."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.shown_text import list_names, make_line, quote_name, read_name
from tests.support.sampling import is_nightly

UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}


def test_every_character_that_does_not_print_is_escaped_and_read_again() -> None:
    step = 1 if is_nightly() else 61
    for number in (*range(0x3000), *range(0x3000, sys.maxunicode + 1, step)):
        char = chr(number)
        shown = quote_name(char)
        assert read_name(shown) == char
        assert shown.isprintable()
        if unicodedata.category(char) in UNPRINTABLE:
            assert shown.isascii(), hex(number)


@given(st.text())
def test_a_name_means_itself_and_is_one_line(name: str) -> None:
    shown = quote_name(name)
    assert read_name(shown) == name
    assert shown.isprintable()
    assert len(quote_name(name, 5)) <= 5
    assert make_line(name, 5).count("\n") == 0


@pytest.mark.parametrize("text", ['"', '""a', '"a', 'a"', '"\\x"', '"\n"', "'a'"])
def test_what_is_not_a_quoted_name_means_itself(text: str) -> None:
    assert read_name(text) == text


def test_names_in_a_list_are_told_apart() -> None:
    assert list_names(["a", "b, c", "", "d|e"]) == 'a, "b, c", "", d|e'


def test_a_line_keeps_what_can_be_copied_and_no_direction() -> None:
    assert make_line("a\u00a0\tb\u200dc", 10) == "a\u00a0\tb\u200dc"
    assert make_line("a\u202eb\x1b\ud800\u2028c\n", 10) == "a b   c"
