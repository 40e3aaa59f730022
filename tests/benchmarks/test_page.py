"""The page with the figures says what there is."""

from __future__ import annotations

import re

from tests.benchmarks.page import BEGIN, END
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "how-we-know.md"


def test_the_page_names_only_what_there_is_and_has_room_for_the_figures() -> None:
    text = PAGE.read_text()
    assert text.index(BEGIN) < text.index(END)
    told = text[: text.index(BEGIN)]
    named = set(re.findall(r"`((?:tests|ui-tests)(?:/[\w./]+)?)`", told))
    assert "tests/benchmarks" in named
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]
    links = re.findall(r"\]\(([\w./-]+)\)", text)
    assert not [link for link in links if not (PAGE.parent / link).exists()]


def test_the_readme_leads_there() -> None:
    assert "(docs/how-we-know.md)" in (ROOT / "README.md").read_text()
