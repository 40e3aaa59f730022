"""Which cells contain a text to replace."""

from collections.abc import Sequence

import pytest

from jupyter_nbedit.errors import TextMismatch
from jupyter_nbedit.notebook.source_edit import find_cells_with_text

ADVICE = ("Send a cell", "Send a cell, or all")


def find(sources: Sequence[str | None], old: str, *, takes_all: bool = False) -> list[int]:
    return find_cells_with_text(
        sources, old, takes_all=takes_all, get_name="cell {}".format, advice=ADVICE
    )


def test_the_only_cell_with_the_text_is_found() -> None:
    assert find(["a", None, "", "b a"], "b") == [3]


def test_all_cells_with_the_text_are_found_if_all_may_be_changed() -> None:
    assert find(["a", "b", "a"], "a", takes_all=True) == [0, 2]


def test_a_text_that_is_sent_as_a_text_form_shows_it_is_found() -> None:
    assert find(["<cell", "other"], "\\<cell") == [0]


@pytest.mark.parametrize("takes_all", [False, True])
def test_a_text_that_no_cell_has_is_an_error(*, takes_all: bool) -> None:
    with pytest.raises(TextMismatch) as error:
        find(["a"], "b", takes_all=takes_all)
    assert ADVICE[0] in error.value.message
    assert error.value.details == {"count": 0, "lines": []}


@pytest.mark.parametrize(("count", "end"), [(20, "cell 19."), (21, "cell 19, ....")])
def test_several_cells_with_the_text_are_an_error_that_names_them(count: int, end: str) -> None:
    with pytest.raises(TextMismatch) as error:
        find(["a"] * count, "a")
    assert f"occurs in {count} cells: cell 0, " in error.value.message
    assert f"{end} {ADVICE[1]} to replace" in error.value.message
    assert error.value.details["candidates"] == [f"cell {index}" for index in range(20)]
