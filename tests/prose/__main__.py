"""Print sentences of documents and messages that are too long: ``python -m tests.prose``.

It is a linter of ``.pre-commit-config.yaml``.
"""

import sys

from tests.prose.sentences import MAX_WORDS, MESSAGES, find_long_sentences, list_pages
from tests.support.paths import ROOT


def main() -> int:
    """Return 1 if a sentence is too long."""
    is_clean = True
    for page in [*list_pages(), MESSAGES]:
        for sentence in find_long_sentences(page):
            is_clean = False
            print(f"{page.relative_to(ROOT)}:{sentence.line}: {sentence.word_count} words")
            print(f"    {sentence.text}")
    if not is_clean:
        print(f"A sentence has at most {MAX_WORDS} words: make two of it.")
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
