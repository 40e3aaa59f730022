from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from tests.benchmarks import notebooks
from tests.benchmarks.files import FLOOR, Library, check_edit, list_contenders, source
from tests.benchmarks.measuring import Figure
from tests.benchmarks.report import BEGIN, END, Check, ReportRow, write_page
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "how-we-know.md"


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "text"),
    [
        (1.5, 1.5, False, "1.50x"),
        (1.501, 1.5, False, "1.501x"),
        (1.500_000_4, 1.5, False, "1.5000004x"),
        (99.96, 100, True, "99.96x"),
        (100.04, 100, True, "100x"),
    ],
)
def test_a_missed_target_is_never_rounded_to_a_met_one(
    *, value: float, limit: float, at_least: bool, text: str
) -> None:
    check = Check(value, limit, "x", at_least=at_least)
    assert check.format_value() == text
    assert check.is_met == (value >= limit if at_least else value <= limit)


def test_every_contender_makes_the_measured_edit(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    with closing(Library(tmp_path)) as library:
        for who, edit in list_contenders(library).items():
            file.write_bytes(notebooks.build_mixed(20_000))
            assert edit(file, notebooks.EDITED, source(1)) > 0
            if who != FLOOR:
                check_edit(file, notebooks.EDITED, source(1))
    with pytest.raises(RuntimeError):
        check_edit(file, notebooks.EDITED, source(2))


def test_only_the_text_between_the_markers_of_the_page_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    row = ReportRow("work", [Check(3, 2, "x")], "others 4x", {"ours": Figure.summarize([0.001])})
    write_page(page, [row], {"some peer": "there is none"})
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "| work | ≤ 2x | 3.00x | **missed** | others 4x |" in text
    assert "some peer was not measured: there is none" in text
    assert "old" not in text
    page.write_text("no marks")
    with pytest.raises(ValueError, match=BEGIN):
        write_page(page, [], {})
    assert page.read_text() == "no marks"


def test_the_page_names_only_existing_folders_and_has_the_markers() -> None:
    text = PAGE.read_text()
    assert text.index(BEGIN) < text.index(END)
    named = set(re.findall(r"`((?:tests|ui-tests)(?:/[\w./]+)?)`", text[: text.index(BEGIN)]))
    assert "tests/benchmarks" in named
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]
    links = re.findall(r"\]\(([\w./-]+)\)", text)
    assert not [link for link in links if not (PAGE.parent / link).exists()]
