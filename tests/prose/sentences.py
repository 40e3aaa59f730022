"""Find sentences that are too long, in Markdown and in messages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.paths import ROOT

MAX_WORDS = 35
SKILL = ROOT / "jupyter_nbedit" / "agents" / "skill"
CHANGELOG = ROOT / "CHANGELOG.md"
MESSAGES = ROOT / "tests" / "handlers" / "messages.txt"
FIGURES = re.compile(r"^<!-- figures.*?^<!-- end of the figures -->", re.DOTALL | re.MULTILINE)
MARKDOWN = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the line on which its paragraph, its item or its row begins."""

    text: str
    line: int

    @property
    def word_count(self) -> int:
        """Return how many of its words have a letter or a digit."""
        return sum(re.search(r"\w", word) is not None for word in self.text.split())


def list_pages() -> list[Path]:
    """List the pages that people and agents read."""
    own = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*own, CHANGELOG, *sorted(ROOT.glob("docs/*.md")), *sorted(SKILL.rglob("*.md"))]


def find_long_sentences(page: Path) -> Iterator[Sentence]:
    """Find the long sentences of a page; of the changelog, those of its newest section."""
    text = page.read_text(encoding="utf-8")
    if page == MESSAGES:
        sentences = read_messages(text)
    else:
        sentences = read_markdown(keep_newest_section(text) if page == CHANGELOG else text)
    return (sentence for sentence in sentences if sentence.word_count > MAX_WORDS)


def keep_newest_section(changelog: str) -> str:
    """Return a changelog without the sections of older versions."""
    begin, *sections = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    return begin + "".join(sections[:1])


def read_messages(text: str) -> Iterator[Sentence]:
    """Read a text in which code is between backticks, and each line has sentences of its own."""
    for number, line in enumerate(text.splitlines(), 1):
        yield from _split(re.sub(r"`[^`]*`", "code", line), number)


def read_markdown(text: str) -> Iterator[Sentence]:
    """Read the sentences of paragraphs, items, cells of tables, headings and pictures."""
    line = 0
    # The figures of the benchmarks are lists.
    text = FIGURES.sub(lambda found: "\n" * found[0].count("\n"), text)
    for token in MARKDOWN.parse(text):
        line = token.map[0] + 1 if token.map else line
        if token.type == "inline":
            children = token.children or []
            yield from _split("".join(_read(child) for child in children), line)
            for child in children:
                if child.type == "image":
                    yield from _split(child.content, line)


def _read(token: Token) -> str:
    """Return the text that a part of a paragraph adds; code counts as a word."""
    match token.type:
        case "text":
            return token.content
        case "code_inline":
            return "code"
        case "softbreak" | "hardbreak":
            return " "
        case _:
            return ""


def _split(text: str, line: int) -> Iterator[Sentence]:
    for sentence in re.split(r"(?<=[.!?])[\"”')]*\s+", text):
        yield Sentence(sentence.strip(), line)
