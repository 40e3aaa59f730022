"""How cells and places are found again, and when they are not: never by a guess."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_nbedit.errors import UndoConflict
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.splices import join
from jupyter_nbedit.notebook.taking_back import take_back
from tests.notebook.oracle import edit
from tests.notebook.undo import taken_back
from tests.support.samples import cells_of, notebook, raw

JSON = dict[str, Any]


def named(ids: str) -> bytes:
    """A notebook of cells that say their ids."""
    return notebook(*(raw(one, one) for one in ids))


def unnamed(sources: str) -> bytes:
    return notebook(*(raw(one) for one in sources), minor=4)


def said(text: bytes) -> str:
    return "".join(cell["source"] for cell in cells_of(text))


def done(text: bytes, *operations: JSON) -> tuple[bytes, Record]:
    applied = edit(Document.parse(text), *operations)
    return join(text, applied.splices), applied.record()


def conflicts(text: bytes, record: Record) -> list[JSON]:
    with pytest.raises(UndoConflict) as refusal:
        take_back(Document.parse(text), record, op="undo")
    cells: list[JSON] = refusal.value.details["cells"]
    return cells


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("abde", "abcde"),
        ("ab1de", "abc1de"),
        ("ade", "acde"),
        ("abe", "abce"),
        ("ae", "ace"),
        ("12b345", "12bc345"),
        ("12a345", "12ac345"),
        ("1e2", "1ce2"),
        ("deab", "deabc"),
    ],
)
def test_a_deleted_cell_comes_back_to_the_nearest_neighbour_that_is_left(
    now: str, expected: str
) -> None:
    _, record = done(named("abcde"), {"op": "delete", "cell": "c"})

    assert said(taken_back(named(now), record)) == expected


@pytest.mark.parametrize("now", ["", "123"])
def test_a_cell_none_of_whose_neighbours_is_left_has_no_place(now: str) -> None:
    _, record = done(named("abcde"), {"op": "delete", "cell": "c"})

    assert conflicts(named(now), record) == [{"cell_id": "c", "index": None, "why": "no_place"}]


def test_the_start_and_the_end_are_places_for_cells_that_stood_there() -> None:
    _, record = done(named("abc"), {"op": "delete", "cells": ["a", "c"]})

    assert said(taken_back(named("12"), record)) == "a12c"


def test_all_cells_of_a_notebook_come_back_in_their_order() -> None:
    _, record = done(named("abc"), {"op": "delete", "cells": ["c", "a", "b"]})

    assert said(taken_back(named(""), record)) == "abc"
    assert said(taken_back(named("1"), record)) == "abc1"


def test_neighbours_that_came_back_before_are_no_riddle() -> None:
    _, record = done(
        named("abcdef"),
        {"op": "delete", "cells": ["b", "c"]},
        {"op": "move", "cell": "e", "at": "start"},
        {"op": "insert", "after": "d", "cell_type": "raw", "source": "1", "id": "one"},
    )

    text = notebook(*(raw(one, {"1": "one"}.get(one, one)) for one in "ea2d1f"))

    assert said(taken_back(text, record)) == "abc2def"


@pytest.mark.parametrize(
    ("now", "expected"),
    [("xxaxx", "xxabxx"), ("xxa", "xxab"), ("xaxx", "xabxx"), ("1xxaxx", "1xxabxx")],
)
def test_neighbours_without_ids_are_told_by_what_they_say(now: str, expected: str) -> None:
    _, record = done(unnamed("xxabxx"), {"op": "delete", "cell": 3})

    assert said(taken_back(unnamed(now), record)) == expected


def test_among_cells_that_say_the_same_there_is_no_place() -> None:
    _, record = done(unnamed("xxbxxx"), {"op": "delete", "cell": 2})

    # Right after the edit it still is the one that has all its neighbours beside it.
    assert said(taken_back(unnamed("xxxxx"), record)) == "xxbxxx"
    assert [one["why"] for one in conflicts(unnamed("1xxxxxx2"), record)] == ["no_place"]


@pytest.mark.parametrize(
    ("now", "expected"), [("aXc", "abc"), ("1aXc", "1abc"), ("1Xc", "1bc"), ("1X2", "1b2")]
)
def test_a_cell_without_an_id_is_found_beside_a_neighbour_or_where_it_stood(
    now: str, expected: str
) -> None:
    _, record = done(unnamed("abc"), {"op": "replace", "cell": 1, "source": "X"})

    assert said(taken_back(unnamed(now), record)) == expected


@pytest.mark.parametrize(
    ("now", "why", "index"),
    [
        ("abc", "changed", 1),
        # Another cell says the same, but it stands beside none of the neighbours.
        ("ab1X", "ambiguous", None),
        ("X12c", "ambiguous", None),
        ("aXaX", "ambiguous", None),
        ("12", "gone", None),
    ],
)
def test_a_cell_without_an_id_is_never_taken_for_another(
    now: str, why: str, index: int | None
) -> None:
    _, record = done(unnamed("abc"), {"op": "replace", "cell": 1, "source": "X"})

    [conflict] = conflicts(unnamed(now), record)

    assert (conflict["why"], conflict["index"]) == (why, index)


def test_of_two_neighbours_that_say_the_same_the_one_that_is_left_is_not_taken() -> None:
    _, record = done(
        unnamed("aXb"), {"op": "insert", "before": 1, "cell_type": "raw", "source": "X"}
    )

    assert said(taken_back(unnamed("aXXb"), record)) == "aXb"
    assert [one["why"] for one in conflicts(unnamed("aXb"), record)] == ["ambiguous"]


def test_an_id_that_two_cells_have_names_neither() -> None:
    text, record = done(named("ab"), {"op": "replace", "cell": "a", "source": "X"})
    twice = join(
        text,
        edit(
            Document.parse(text), {"op": "insert", "at": "end", "cell_type": "raw", "source": "X"}
        ).splices,
    ).replace(b'"fresh-id"', b'"a"')

    assert conflicts(twice, record) == [{"cell_id": "a", "index": None, "why": "ambiguous"}]


def test_a_deleted_cell_does_not_come_back_beside_one_that_has_its_id() -> None:
    _, record = done(named("abc"), {"op": "delete", "cell": "b"})

    [conflict] = conflicts(named("acb"), record)

    assert conflict == {"cell_id": "b", "index": 2, "why": "ambiguous", "source": "b"}


def test_everything_that_is_in_the_way_is_told_at_once_and_long_sources_in_part() -> None:
    long = "y" * 5000
    _, record = done(
        named("abcd"),
        {"op": "replace", "cell": "a", "source": "X"},
        {"op": "replace", "cell": "b", "source": "X"},
        {"op": "delete", "cell": "d"},
        {"op": "set_metadata", "patch": {"k": 1, "l": 1, "m": 1}},
    )
    now = json.loads(notebook(raw(long, "b"), metadata={"k": 2, "m": 1}))

    with pytest.raises(UndoConflict) as refusal:
        take_back(Document.parse(json.dumps(now).encode()), record, op="undo")

    assert refusal.value.details == {
        "cells": [
            {"cell_id": "a", "index": None, "why": "gone"},
            {"cell_id": "b", "index": 0, "why": "changed", "source": "y" * 2000},
        ],
        "metadata": ["k", "l"],
    }
    assert "the cell 'a', the cell 'b', 'k' in the notebook's metadata" in str(refusal.value)
