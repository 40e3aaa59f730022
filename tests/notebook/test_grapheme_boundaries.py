"""Where a text may be cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.graphemes import find_grapheme_boundary

#: Each is one character to a reader.
CLUSTERS = [
    *("e\u0301\u0323", " \u0308"),  # marks on a letter, and on a space
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
    *("\U0001f44b\U0001f3fd", "1\ufe0f\u20e3", "\u2764\ufe0f"),  # skin, keycap, coloured heart
    "\U0001f1e6\U0001f1f9",  # a flag
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e007f",  # a flag of a region, in tags
    *("\u1112\u1161\u11ab", "\u0915\u093f", "\uff76\uff9e"),  # Korean, Devanagari, katakana
    *("\r\n", "\ud83d\ude00"),  # a line break of Windows, a character of two escapes
]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_grapheme_cluster_is_never_cut(cluster: str) -> None:
    text, end = f"ab{cluster}cd", 2 + len(cluster)
    for limit in range(len(text) + 2):
        is_within = 2 < limit < end
        assert find_grapheme_boundary(text, limit) == (2 if is_within else min(limit, len(text)))


def test_flags_are_cut_between_pairs_of_regional_indicators() -> None:
    flags = "\U0001f1e6\U0001f1f9\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"
    assert [find_grapheme_boundary(flags, limit) for limit in range(7)] == [0, 0, 2, 2, 4, 4, 6]
    assert [find_grapheme_boundary(f"x{flags}", limit) for limit in range(8)] == [
        0,
        1,
        1,
        3,
        3,
        5,
        5,
        7,
    ]


def test_a_text_of_combining_marks_only_is_not_cut() -> None:
    marks = "\u0301" * 10_000
    assert find_grapheme_boundary(f"a{marks}", 5_000) == 0
    assert find_grapheme_boundary(f"a{marks}b", 10_001) == 10_001


@given(text=st.text(max_size=30), limit=st.integers(-3, 40))
def test_a_cut_is_within_the_limit_and_stable(text: str, limit: int) -> None:
    stop = find_grapheme_boundary(text, limit)
    assert 0 <= stop <= max(limit, 0)
    assert stop == len(text) or limit < len(text)
    assert find_grapheme_boundary(text, stop) == stop


@given(text=st.text(alphabet=st.characters(max_codepoint=0x7E, min_codepoint=0x20)))
def test_plain_text_is_cut_at_the_limit(text: str) -> None:
    assert [find_grapheme_boundary(text, limit) for limit in range(len(text))] == list(
        range(len(text))
    )
