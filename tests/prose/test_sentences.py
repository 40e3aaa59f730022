from pathlib import Path

import pytest

from tests.prose import sentences
from tests.prose.sentences import MAX_WORDS, find_long_sentences

WORDS = " ".join(["word"] * MAX_WORDS)


def write_page(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{WORDS} more.", 1),
        (f"A heading\n\nShort. {WORDS} more. Short.", 3),
        (f"# A title\n\n- item\n- {WORDS} more", 4),
        (f"| a | b |\n|---|---|\n| c | d |\n| e | {WORDS} more |", 4),
        (f"**{WORDS}**\n[more](a.md)", 1),
        (f"{WORDS} `a`", 1),
        (f"![{WORDS} more](a.png)", 1),
        (f'{WORDS}, "more".', 1),
        (f"# {WORDS} more", 1),
        (f"```sh\n# a\n```\n\n> {WORDS} more", 5),
    ],
)
def test_a_sentence_with_one_word_too_many_is_found(tmp_path: Path, text: str, line: int) -> None:
    (found,) = find_long_sentences(write_page(tmp_path, text))
    assert (found.word_count, found.line) == (MAX_WORDS + 1, line)


@pytest.mark.parametrize(
    "text",
    [
        f"{WORDS}. More.",
        f'"{WORDS}!" More? {WORDS}',
        f"- {WORDS}\n- more",
        f"| {WORDS} | more |\n|---|---|\n| {WORDS} | more |",
        f"{WORDS} — …",
        f"{WORDS}.\n![more](a.png)",
        f"word `{WORDS}`",
        f"[word](<{WORDS}.md>)",
        f"```text\n{WORDS} more\n```",
        f"<!-- figures: of a day -->\n\n- {WORDS} more\n\n<!-- end of the figures -->",
    ],
)
def test_sentences_of_the_greatest_length_code_and_figures_are_allowed(
    tmp_path: Path, text: str
) -> None:
    assert not list(find_long_sentences(write_page(tmp_path, text)))


def test_the_newest_section_of_the_changelog_is_read_and_no_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = write_page(tmp_path, f"# Log\n\n## New\n\n- {WORDS} more\n\n## Old\n\n- {WORDS} more\n")
    monkeypatch.setattr(sentences, "CHANGELOG", page)
    assert [found.line for found in find_long_sentences(page)] == [5]


def test_each_line_of_messages_has_sentences_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = write_page(tmp_path, f"{WORDS}\n`a b c` {WORDS}\nmore\n")
    monkeypatch.setattr(sentences, "MESSAGES", page)
    assert [found.line for found in find_long_sentences(page)] == [2]
