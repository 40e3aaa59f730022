"""Headings and list items in Markdown."""

import pytest

from jupyter_nbedit.notebook.markdown.blocks import (
    find_list_items,
    list_headings,
    split_lines,
    strip_markup,
)
from jupyter_nbedit.notebook.sections import list_text_headings

#: Texts, and the level, the line and the text of their headings as CommonMark has them.
STRUCTURES: list[tuple[str, list[tuple[int, int, str]]]] = [
    ("# A", [(1, 1, "A")]),
    ("#A\n#\n####### B", [(1, 2, "")]),
    ("   ###### A ##  ", [(6, 1, "A")]),
    ("# A #b\n## #", [(1, 1, "A #b"), (2, 2, "")]),
    ("    # code\n\ttext", []),
    ("text\n    # goes on", []),
    ("A\n=\n\nB\nC\n---", [(1, 1, "A"), (2, 4, "B C")]),
    ("---\n\n===\n\n- a\n---\n> b\n---", []),
    ("text\n# A\ntext\n\n---", [(1, 2, "A")]),
    ("```\n# A\n```\n# B", [(1, 4, "B")]),
    ("~~~~\n# A\n~~~\n# B\n~~~~\n# C", [(1, 6, "C")]),
    ("``` `\n# A", [(1, 2, "A")]),
    ("```\n# never closed", []),
    ("<!-- one line -->\n# A\n<!--\n# B\n-->\n# C", [(1, 2, "A"), (1, 6, "C")]),
    ("<pre>\n# A\n</pre>\n# B", [(1, 4, "B")]),
    ("<pre><b>x</b>\n# A\n</pre>\n# B", [(1, 4, "B")]),
    ("<SCRIPT>\n# A\n</Script> # B\n# C", [(1, 4, "C")]),
    ("<!-- a\n\n# A\n--> # B\n# C", [(1, 5, "C")]),
    ("<?php\n# A\n\n# B\n?>\n# C", [(1, 6, "C")]),
    ("<!DOCTYPE\n# A\n>\n# B", [(1, 4, "B")]),
    ("<![CDATA[\n# A\n]]>\n# B", [(1, 4, "B")]),
    ('<div class="alert">\n# A\n</div>\n# B\n\n# C', [(1, 6, "C")]),
    ("text\n</table>\n# A\n\n# B", [(1, 5, "B")]),
    ("<a href='x'>\n# A\n\n# B", [(1, 4, "B")]),
    ("text\n<a href='x'>\n# A", [(1, 3, "A")]),
    ("<a href='x'> text\n# A", [(1, 2, "A")]),
    ("    <div>\n# A", [(1, 2, "A")]),
    ("$$\n# A\n$$", [(1, 2, "A")]),
    ("[a]: b\n'c\nd'\nA\n===", [(1, 4, "A")]),
    ("[a]: b\n===", []),
    ("[a]: b c\n===", [(1, 1, "[a]: b c")]),
    ("[a]: <b> (c)\n[d]:\n(e)f\n---", []),
    ("[]: b\n---\n\n[a]: b(\n---", [(2, 1, "[]: b"), (2, 4, "[a]: b(")]),
    ("- " * 45 + "a\n\n# A", [(1, 3, "A")]),
    ("> " * 45 + "a\n# A", [(1, 2, "A")]),
    ("-\n\n  # A", [(1, 3, "A")]),
    ("-\n  # A\n\n  # B\n# C", [(1, 5, "C")]),
    ("- a\n\tb\n\n\t# A\n\n # B", [(1, 6, "B")]),
    ("> # A\n\n# B", [(1, 3, "B")]),
    ("- # A\n\n  # B\n\n# C", [(1, 5, "C")]),
    ("- a\n  ```\n  # A\n  ```\n\n# B", [(1, 6, "B")]),
    ("- a\n  ```\n  never closed\n# B", [(1, 4, "B")]),
    ("# A\r\n\r\nB\r\n-\r\n# C\r", [(1, 1, "A"), (2, 3, "B"), (1, 5, "C")]),
    ("1986. A year\n===", []),
    ("text\n14. is no item\n===", [(1, 1, "text 14. is no item")]),
]


@pytest.mark.parametrize(("text", "expected"), STRUCTURES)
def test_the_headings_of_a_text_are_those_of_commonmark(
    text: str, expected: list[tuple[int, int, str]]
) -> None:
    found = [(heading.level, heading.line, heading.text) for heading in list_headings(text)]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# *A* **b** `c` [d](e) ![f](g) <a id='h'></a>\\#", [(1, "A b c d f #")]),
        ("# snake_case and _this_ ~~that~~", [(1, "snake_case and this that")]),
        ("# [![a](b)](c (d)) [e] ![f", [(1, "a [e] ![f")]),
        ("# `` a`b*c* `` `d \\*e* \\f", [(1, "a`b*c* `d *e* \\f")]),
        ("# ***a** b* *c**d* 2 * 3 * 4 ~e~", [(1, "a b c**d 2 * 3 * 4 ~e~")]),
        ("# a < b *c _d* e_ **", [(1, "a < b c _d e_ **")]),
    ],
)
def test_the_text_of_a_heading_has_no_markup(text: str, expected: list[tuple[int, str]]) -> None:
    assert [(heading.level, heading.text) for heading in list_headings(text)] == expected


def test_a_heading_has_its_line_number() -> None:
    text = "text\n\nA\nB\n==\nbody"

    [heading] = list_headings(text)

    assert (heading.line, text[heading.start :]) == (3, "A\nB\n==\nbody")
    assert text[heading.body :] == "body"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: b\n---\n# A", ["A"]),
        ("\ufeff---\r\n# a\r\n---\r\n# A", ["A"]),
        ("\ufeff# A", ["A"]),
        ("---\n# A", ["A"]),
        ("", []),
    ],
)
def test_front_matter_has_no_headings(text: str, expected: list[str]) -> None:
    assert [heading.text for heading in list_text_headings(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n* b\n+ c\n1. d\n2) e", ["a", "b", "c", "d", "e"]),
        ("- a\nlazy\n  more\n\n  apart\n\nnot", ["a lazy more apart"]),
        ("- a\n  - b\n    c\n  d\n- e", ["a", "b c d", "e"]),
        ("-not\n\n- \n* * *\n- [ ] task", ["", "[ ] task"]),
        ("```\n- a\n```\n- b", ["b"]),
        ("- a\n# A\ntext", ["a"]),
        ("> - quoted", []),
        ("- a\n  > - b\n  > c\n- - d\n  - e", ["a > - b > c", "- d", "e"]),
        ("- a\n\n      code\n\n  <div>\n  - b\n\n  - c", ["a code <div> - b", "c"]),
    ],
)
def test_list_items_have_their_own_text(text: str, expected: list[str]) -> None:
    assert [item.text for item in find_list_items(text)] == expected


def test_an_item_includes_all_its_lines() -> None:
    text = "- a\n\n  b\n  - c\n\n- d\n\ntext"

    assert [item.lines for item in find_list_items(text)] == [range(4), range(3, 4), range(5, 6)]


def test_only_line_breaks_of_markdown_separate_lines() -> None:
    text = "a\r\nb\rc\n\x0b\x0c\x85\u2028\u2029d"

    assert split_lines(text) == ["a\r\n", "b\r", "c\n", "\x0b\x0c\x85\u2028\u2029d"]
    assert "".join(split_lines(text)) == text


def test_markup_is_removed_once() -> None:
    assert strip_markup("**a * b** [c](d) \\*e\\*  f") == "a * b c *e* f"
