from contextlib import closing
from pathlib import Path

import pytest

from benchmarks import notebooks
from benchmarks.files import FLOOR, Library, check_edit, list_contenders, source
from benchmarks.measuring import Figure
from benchmarks.report import AGENTS, EDITS, END, PAGE, Check, ReportRow, write_section


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


def test_only_the_text_of_a_section_of_the_page_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    edits, others = f"{EDITS}\nold\n{END}\n", f"{AGENTS}\nold figures\n{END}\nafter\n"
    page.write_text(f"before\n{edits}between\n{others}")
    row = ReportRow("work", [Check(3, 2, "x")], "others 4x", {"ours": Figure.summarize([0.001])})
    write_section(page, EDITS, [row], {"some peer": "there is none"})
    text = page.read_text()
    assert text.startswith(f"before\n{EDITS}\n")
    assert text.endswith(f"{END}\nbetween\n{others}")
    assert "| work | ≤ 2x | 3x | **missed** | others 4x |" in text
    assert "some peer was not measured: there is none" in text
    assert "old\n" not in text
    write_section(page, AGENTS, [row], {})
    assert "old figures" not in page.read_text()
    page.write_text("no marks")
    with pytest.raises(ValueError, match=EDITS):
        write_section(page, EDITS, [], {})
    assert page.read_text() == "no marks"


def test_the_page_of_the_figures_has_the_markers() -> None:
    text = PAGE.read_text()
    assert text.index(AGENTS) < text.index(EDITS)
    assert text.count(END) == 2
