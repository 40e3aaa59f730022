"""Headings and list items in Markdown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from jupyter_nbedit.notebook.markdown.blocks import find_list_items, list_headings, split_lines
from jupyter_nbedit.notebook.markdown.inline import to_plain_text
from jupyter_nbedit.notebook.sections import list_text_headings

#: Texts whose headings a Markdown parser finds, too.
STRUCTURES = [
    *("# A", "#A\n#\n####### B", "   ###### A ##  ", "# A #b\n## #", "    # code\n\ttext"),
    *("text\n    # goes on", "A\n=\n\nB\nC\n---", "---\n\n===\n\n- a\n---\n> b\n---"),
    *("text\n# A\ntext\n\n---", "```\n# A\n```\n# B", "~~~~\n# A\n~~~\n# B\n~~~~\n# C"),
    *("``` `\n# A", "```\n# never closed", "<!-- one line -->\n# A\n<!--\n# B\n-->\n# C"),
    *("<pre>\n# A\n</pre>\n# B", "<pre><b>x</b>\n# A\n</pre>\n# B"),
    *("<SCRIPT>\n# A\n</Script> # B\n# C", "<!-- a\n\n# A\n--> # B\n# C"),
    *("<?php\n# A\n\n# B\n?>\n# C", "<!DOCTYPE\n# A\n>\n# B", "<![CDATA[\n# A\n]]>\n# B"),
    *('<div class="alert">\n# A\n</div>\n# B\n\n# C', "text\n</table>\n# A\n\n# B"),
    *("<a href='x'>\n# A\n\n# B", "text\n<a href='x'>\n# A", "<a href='x'> text\n# A"),
    *("    <div>\n# A", "$$\n# A\n$$", "[a]: b\n'c\nd'\nA\n===", "[a]: b\n==="),
    *("[a]: b c\n===", "[a]: <b> (c)\n[d]:\n(e)f\n---", "[]: b\n---\n\n[a]: b(\n---"),
    *("- " * 60 + "a\n\n# A", "> " * 60 + "a\n# A", "-\n\n  # A", "-\n  # A\n\n  # B\n# C"),
    *("- a\n\tb\n\n\t# A\n\n # B", "> # A\n\n# B", "- # A\n\n  # B\n\n# C"),
    *("- a\n  ```\n  # A\n  ```\n\n# B", "- a\n  ```\n  never closed\n# B"),
    *("# A\r\n\r\nB\r\n-\r\n# C\r", "1986. A year\n===", "text\n14. is no item\n==="),
]


def parse_headings(text: str) -> list[tuple[int, int, str]]:
    """Return the level, the line and the text of each heading as a Markdown parser has it."""
    # More levels than that are never closed.
    tokens = MarkdownIt("commonmark", {"maxNesting": 200}).parse(text)
    return [
        (int(token.tag[1]), token.map[0] + 1, " ".join(inline.content.split()))
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


@pytest.mark.parametrize("text", STRUCTURES)
def test_headings_of_examples_equal_those_of_a_markdown_parser(text: str) -> None:
    found = [(heading.level, heading.line, heading.text) for heading in list_headings(text)]
    assert found == parse_headings(text)


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
    assert to_plain_text("**a * b** [c][d] \\*e\\*  f") == "a * b c *e* f"


_FRAGMENTS = st.sampled_from(
    [
        *("- ", "+ ", "* * *", "-\n", "1. ", "2) ", "> ", ">"),
        *("    ", "  ", " ", "\t", "\n", "\n\n", "a", "b\n"),
        *("# ", "#", "## b", "=", "===", "---", "```", "```\n", "~~~\n", "`", "\\", "*"),
        *("<div>\n", "<!--", "-->", "<pre>", "</pre>", "<b>\n", "<a ", "<a b='c'>", "</p>"),
        *("<br/>", "<?", "?>", "<!X", "<![CDATA[", "]]>", "'", '"', "[a]", "(", ")", "$$\n"),
    ]
)


@given(st.lists(_FRAGMENTS, max_size=16).map("".join))
@example("- a\n\n\tb\n\n# A\n> b\n=\n---")
def test_headings_of_random_texts_equal_those_of_a_markdown_parser(text: str) -> None:
    # Link reference definitions are left out: markdown-it ends the paragraph with them, where
    # CommonMark's own parser goes on with it.
    expected = [(level, line) for level, line, _ in parse_headings(text)]

    assert [(heading.level, heading.line) for heading in list_headings(text)] == expected
