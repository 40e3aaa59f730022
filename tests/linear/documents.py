"""Markdown that is meant to take long, which grows with its size, and what is done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook import sections
from jupyter_nbedit.notebook.markdown import blocks


def _repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + unit * (size // len(unit)) + after


def _numbered(unit: str) -> Callable[[int], str]:
    """Repeat a unit with a number in it."""
    return lambda size: "".join(unit.format(n) for n in range(size // (len(unit) + 2)))


def _runs(mark: str) -> Callable[[int], str]:
    """Runs of a character, each longer than the one before."""

    def build(size: int) -> str:
        count = int((2 * size) ** 0.5)
        return "# " + " ".join(mark * n for n in range(1, count))

    return build


def _steps(size: int) -> str:
    """A list in which each item is in the one before."""
    return "".join(f"{'  ' * n}- a\n" for n in range(int(size**0.5)))


#: Each by what it is made of.
DOCUMENTS: Mapping[str, Callable[[int], str]] = {
    "emphasis": _repeated("*a ", "# "),
    "emphasis without space": _repeated("a**b*", "# "),
    "emphasis of three kinds": _repeated("*a _b ~~c ", "# "),
    "emphasis that another mark closes": _repeated("*a_ ", "# "),
    "a run of asterisks": _repeated("*", "# a", "b"),
    "closed emphasis": _repeated("*a* **b** ", "# "),
    "spaces": _repeated(" ", "# a", "b"),
    "closing sequences": _repeated(" #", "# a", " b"),
    "number signs": _repeated("#", "# a ", " b"),
    "opening brackets": _repeated("[", "# "),
    "closing brackets": _repeated("[]", "# [["),
    "targets without end": _repeated("[a](b", "# "),
    "targets with parentheses": _repeated("](a)", "# [[[[["),
    "targets with escapes": _repeated("](\\a", "# " + "[" * 40),
    "images": _repeated("![a][", "# "),
    "tags": _repeated("<a ", "# "),
    "a tag without end": _repeated(" b", "# <a"),
    "backticks": _runs("`"),
    "tildes": _runs("~"),
    "escapes": _repeated("\\*", "# "),
    "headings": _repeated("# a\n"),
    "named headings": _numbered("# a{}\n"),
    "levels": _repeated("# a\n## b\n### c\n"),
    "underlines": _repeated("a\n=\n"),
    "a paragraph": _repeated("a\n", "", "==="),
    "definitions": _repeated("[a]: b\n", "", "c\n==="),
    "definitions with a title": _repeated("[a]: b '\n", "", "c\n==="),
    "a label": _repeated("[a\n", "", "===\n"),
    "items": _repeated("- a\n"),
    "items with blank lines": _repeated("- a\n\n"),
    "numbers": _numbered("{}. a\n"),
    "nested items": _steps,
    "items on a line": _repeated("- ", "", "a\n\n\n"),
    "items and lines that go on": _repeated("a\n", "- " * 40 + "a\n"),
    "items and blank lines": _repeated("\n", "- " * 200 + "a\n", "a"),
    "quotes on a line": _repeated(">", "", " a\na\n"),
    "quotes and lines that go on": _repeated("a\n", "> " * 40 + "a\n"),
    "quotes and items": _repeated("> - ", "", "a\n\n"),
    "breaks": _repeated("- - a\n* * *\n"),
    "marks that are no break": _repeated("* ", "", "a\n\n"),
    "tabs": _repeated("-\ta\n\t"),
    "attributes": _repeated(" b='c'", "<a", " <\n\n"),
    "attributes with spaces": _repeated(" b ", "<a", " =\n\n"),
    "tags on lines": _repeated("<a b='c'>\n\n"),
    "comments": _repeated("<!-- a -->\n"),
    "verbatim HTML": _repeated("</b>", "<pre>", "</pre>\n"),
    "fences": _repeated("```\na\n```\n"),
    "white space": _repeated(" \t", "a", "b\n\n"),
    "front matter": _repeated("a\r\n", "---\r\n", "a\r\n\r\n"),
}
BROKEN_JSON: Mapping[str, Callable[[int], bytes]] = {
    "a string without end": lambda size: b'{"a": "' + b"\\n" * (size // 2),
    "an array without end": lambda size: b'{"a": NaN, "b": [' + b"[]," * (size // 3),
}


def attempt(work: Callable[..., object], *args: object) -> None:
    """Do what may be refused: that must not take long either."""
    with suppress(NbEditError):
        work(*args)


def read(text: str) -> None:
    """Read all that an expression is matched with."""
    for heading in blocks.list_headings(text):
        assert heading.text is not None
    blocks.find_list_items(text)


def change(text: str) -> None:
    attempt(sections.read, text, "ok")
    attempt(sections.append, text, "ok", text)
    attempt(sections.replace, text, "ok", text)
    attempt(sections.remove_entry, f"# ok\n\n{text}", "ok", "a")
