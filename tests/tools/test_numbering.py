from __future__ import annotations

import pytest

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.tools.numbering import numbered


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a", "     1\ta"),
        ("a\n", "     1\ta"),
        ("a\r\nb\r\n", "     1\ta\n     2\tb"),
        ("\n\n", "     1\t\n     2\t"),
        ("\ufeffa\n", "     1\ta"),
        ("a\rb\x0cc\u2028d\n", "     1\ta\rb\x0cc\u2028d"),
        ("", "The file is empty."),
        ("\ufeff", "The file is empty."),
    ],
)
def test_a_line_ends_where_cat_ends_it(text: str, shown: str) -> None:
    assert numbered(text) == shown


def test_numbers_are_those_of_the_file() -> None:
    text = "".join(f"{n}\n" for n in range(1, 1_000_002))
    assert numbered(text, 1_000_000) == "1000000\t1000000\n1000001\t1000001"


def test_what_is_left_out_is_said() -> None:
    assert numbered("a\nb\nc\n", 1, 2) == (
        "     1\ta\n     2\tb\n\n(Lines 3 to 3 are not shown; read on with `offset` 3.)"
    )


def test_the_first_line_that_is_not_there_is_refused() -> None:
    assert numbered("a\nb", 2)
    with pytest.raises(InvalidRequest, match=r"2 lines.*3"):
        numbered("a\nb", 3)


def test_a_long_line_is_cut_between_characters() -> None:
    assert numbered("x" * 2000) == "     1\t" + "x" * 2000
    family = "\U0001f469‍\U0001f469‍\U0001f467"
    shown = numbered("x" * 1999 + family)
    assert shown.startswith("     1\t" + "x" * 1999 + "… (5 more characters")
