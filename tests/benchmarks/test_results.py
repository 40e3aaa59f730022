from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import orjson
import pytest

from tests.benchmarks import notebooks
from tests.benchmarks.files import Library, check_edited, find, source
from tests.benchmarks.measuring import Contender, Figure, exponent, in_turns, percentile
from tests.benchmarks.page import BEGIN, END, PICTURE, write
from tests.benchmarks.results import Check, Row


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "shown"),
    [
        (1.49, 1.5, False, "1.49x"),
        (1.5, 1.5, False, "1.50x"),
        (1.501, 1.5, False, "1.501x"),
        (1.500_000_4, 1.5, False, "1.5000004x"),
        (99.96, 100, True, "99.96x"),
        (100.04, 100, True, "100x"),
        (799.7, 800, True, "799.7x"),
    ],
)
def test_a_miss_is_never_rounded_to_a_hit(
    *, value: float, limit: float, at_least: bool, shown: str
) -> None:
    check = Check(value, limit, "x", at_least=at_least)
    assert check.shown == shown
    assert check.is_met == (value >= limit if at_least else value <= limit)


def test_a_row_is_met_only_if_all_of_it_is() -> None:
    assert Row("work", [Check(1, 2), Check(1, 1)]).is_met
    assert not Row("work", [Check(1, 2), Check(2, 1)]).is_met


def test_a_figure_is_the_middle_and_the_middle_half() -> None:
    assert Figure.of([5, 1, 4, 2, 3]) == Figure(3, 2, 4)
    assert Figure.of([7]) == Figure(7, 7, 7)
    assert percentile(range(1, 101), 0.9) == 90


def test_the_exponent_tells_linear_from_quadratic() -> None:
    sizes = (10, 100, 1000)
    assert exponent(sizes, [3 * size for size in sizes]) == pytest.approx(1)
    assert exponent(sizes, [size**2 / 7 for size in sizes]) == pytest.approx(2)


def test_the_first_round_is_not_counted_and_the_order_changes() -> None:
    calls: list[str] = []

    def edit(name: str, turn: int) -> float:
        calls.append(f"{name}{turn}")
        return float(turn)

    contenders = {
        "a": Contender(lambda turn: edit("a", turn)),
        "b": Contender(lambda turn: edit("b", turn)),
        "slow": Contender(lambda turn: edit("s", turn), 1),
    }
    taken = in_turns(contenders, 2, settle=0)
    assert taken == {"a": [1, 2], "b": [1, 2], "slow": [1]}
    assert calls == ["a0", "b0", "s0", "b1", "a1", "s1", "a2", "b2"]


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (notebooks.mixed(20_000), 20_000),
        (notebooks.pictures(1_000_000), 1_000_000),
        (notebooks.printed(1_000_000), 1_000_000),
        (notebooks.many(1_000), 356_000),
    ],
)
def test_notebooks_are_of_the_size_asked_for_and_have_the_cell(content: bytes, size: int) -> None:
    assert len(content) == pytest.approx(size, rel=0.35)
    cells = orjson.loads(content)["cells"]
    assert find(cells, notebooks.EDITED)["cell_type"] == "code"
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_many_cells_are_that_many() -> None:
    assert len(orjson.loads(notebooks.many(1_000))["cells"]) == 1_000


def test_an_edit_that_was_not_made_is_not_measured(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    file.write_bytes(notebooks.mixed(20_000))
    with pytest.raises(RuntimeError, match="was not edited"):
        check_edited(file, notebooks.EDITED, source(1))
    library = Library(tmp_path)
    library.cold(file, notebooks.EDITED, source(1))
    check_edited(file, notebooks.EDITED, source(1))
    library.warm(file, notebooks.EDITED, source(2))
    check_edited(file, notebooks.EDITED, source(2))
    library.close()


def test_figures_and_picture_go_into_the_page_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    series = {"ours": [(20_000.0, 0.001), (2_000_000.0, 0.01)], "nbformat": [(20_000.0, 0.1)]}
    row = Row("work", [Check(3, 2, "x")], "others 4x", {"ours": Figure.of([0.001])}, series=series)
    write(page, [row], {"some peer": "there is none"})
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "| work | ≤ 2x | 3.00x | **missed** | others 4x |" in text
    assert "some peer was not measured: there is none" in text
    assert "old" not in text
    assert ET.parse(tmp_path / PICTURE).getroot().tag.endswith("svg")  # noqa: S314 - our own


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no marks")
    with pytest.raises(ValueError, match="has no lines"):
        write(page, [], {})
    assert page.read_text() == "no marks"
