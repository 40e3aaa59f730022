"""Markdown that could take long, in any size, and operations on it."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook import sections
from jupyter_nbedit.notebook.markdown import blocks
from jupyter_nbedit.notebook.operations import AppendToSection, RemoveEntry, ReplaceSection


def _repeat(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + unit * (size // len(unit)) + after


def _number(unit: str) -> Callable[[int], str]:
    """Repeat a unit with a number in it."""
    return lambda size: "".join(unit.format(n) for n in range(size // (len(unit) + 2)))


def _repeat_run(mark: str) -> Callable[[int], str]:
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
    "emphasis": _repeat("*a ", "# "),
    "emphasis without space": _repeat("a**b*", "# "),
    "emphasis of three kinds": _repeat("*a _b ~~c ", "# "),
    "emphasis that another mark closes": _repeat("*a_ ", "# "),
    "a run of asterisks": _repeat("*", "# a", "b"),
    "closed emphasis": _repeat("*a* **b** ", "# "),
    "spaces": _repeat(" ", "# a", "b"),
    "closing sequences": _repeat(" #", "# a", " b"),
    "number signs": _repeat("#", "# a ", " b"),
    "opening brackets": _repeat("[", "# "),
    "closing brackets": _repeat("[]", "# [["),
    "targets without end": _repeat("[a](b", "# "),
    "targets with parentheses": _repeat("](a)", "# [[[[["),
    "targets with escapes": _repeat("](\\a", "# " + "[" * 40),
    "images": _repeat("![a][", "# "),
    "tags": _repeat("<a ", "# "),
    "a tag without end": _repeat(" b", "# <a"),
    "backticks": _repeat_run("`"),
    "tildes": _repeat_run("~"),
    "escapes": _repeat("\\*", "# "),
    "headings": _repeat("# a\n"),
    "named headings": _number("# a{}\n"),
    "levels": _repeat("# a\n## b\n### c\n"),
    "underlines": _repeat("a\n=\n"),
    "a paragraph": _repeat("a\n", "", "==="),
    "definitions": _repeat("[a]: b\n", "", "c\n==="),
    "definitions with a title": _repeat("[a]: b '\n", "", "c\n==="),
    "a label": _repeat("[a\n", "", "===\n"),
    "items": _repeat("- a\n"),
    "items with blank lines": _repeat("- a\n\n"),
    "numbers": _number("{}. a\n"),
    "nested items": _steps,
    "items on a line": _repeat("- ", "", "a\n\n\n"),
    "items and lines that go on": _repeat("a\n", "- " * 40 + "a\n"),
    "items and blank lines": _repeat("\n", "- " * 200 + "a\n", "a"),
    "quotes on a line": _repeat(">", "", " a\na\n"),
    "quotes and lines that go on": _repeat("a\n", "> " * 40 + "a\n"),
    "quotes and items": _repeat("> - ", "", "a\n\n"),
    "breaks": _repeat("- - a\n* * *\n"),
    "marks that are no break": _repeat("* ", "", "a\n\n"),
    "tabs": _repeat("-\ta\n\t"),
    "attributes": _repeat(" b='c'", "<a", " <\n\n"),
    "attributes with spaces": _repeat(" b ", "<a", " =\n\n"),
    "tags on lines": _repeat("<a b='c'>\n\n"),
    "comments": _repeat("<!-- a -->\n"),
    "verbatim HTML": _repeat("</b>", "<pre>", "</pre>\n"),
    "fences": _repeat("```\na\n```\n"),
    "white space": _repeat(" \t", "a", "b\n\n"),
    "front matter": _repeat("a\r\n", "---\r\n", "a\r\n\r\n"),
}
BROKEN_JSON: Mapping[str, Callable[[int], bytes]] = {
    "a string without end": lambda size: b'{"a": "' + b"\\n" * (size // 2),
    "an array without end": lambda size: b'{"a": NaN, "b": [' + b"[]," * (size // 3),
}


def attempt(work: Callable[..., object], *args: object) -> None:
    """Run a function that may raise an error."""
    with suppress(NbEditError):
        work(*args)


def read(text: str) -> None:
    """Read all that an expression is matched with."""
    for heading in blocks.list_headings(text):
        assert heading.text is not None
    blocks.find_list_items(text)


def change(text: str) -> None:
    attempt(sections.read, text, "ok")
    attempt(sections.apply_to_text, text, AppendToSection(section="ok", source=text))
    attempt(sections.apply_to_text, text, ReplaceSection(section="ok", source=text))
    removal = RemoveEntry(section="ok", match="a")
    attempt(sections.apply_to_text, f"# ok\n\n{text}", removal)
