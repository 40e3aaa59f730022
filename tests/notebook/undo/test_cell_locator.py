"""Recorded cells and gaps are located again, or reported as lost; never guessed."""

import json
from typing import Any

import pytest

from jupyter_nbedit.errors import UndoConflict
from tests.notebook.undo.oracle import apply_edit, undo_edit
from tests.support.samples import load_cells, notebook, raw

JSON = dict[str, Any]


def build_named(ids: str) -> bytes:
    """Return a notebook of cells whose sources are their ids."""
    return notebook(*(raw(one, one) for one in ids))


def build_unnamed(sources: str) -> bytes:
    return notebook(*(raw(one) for one in sources), minor=4)


def join_sources(text: bytes) -> str:
    return "".join(cell["source"] for cell in load_cells(text))


def delete(*cells: str | int) -> JSON:
    return {"op": "delete", "cells": list(cells)}


def replace(cell: str | int) -> JSON:
    return {"op": "replace", "cell": cell, "source": "X"}


@pytest.mark.parametrize(
    ("before", "operation", "now", "expected"),
    [
        *(
            (build_named("abcde"), delete("c"), build_named(now), expected)
            for now, expected in [
                ("abde", "abcde"),
                ("ab1de", "abc1de"),
                ("ade", "acde"),
                ("abe", "abce"),
                ("ae", "ace"),
                ("12b345", "12bc345"),
                ("12a345", "12ac345"),
                ("1e2", "1ce2"),
                ("deab", "deabc"),
            ]
        ),
        # The start and the end are gaps for cells that were there.
        (build_named("abc"), delete("a", "c"), build_named("12"), "a12c"),
        (build_named("abc"), delete("c", "a", "b"), build_named(""), "abc"),
        (build_named("abc"), delete("c", "a", "b"), build_named("1"), "abc1"),
        # Without ids neighbours are identified by their sources.
        *(
            (build_unnamed("xxabxx"), delete(3), build_unnamed(now), expected)
            for now, expected in [
                ("xxaxx", "xxabxx"),
                ("xxa", "xxab"),
                ("xaxx", "xabxx"),
                ("1xxaxx", "1xxabxx"),
            ]
        ),
        # Right after the edit it still is the place that has all its neighbours beside it.
        (build_unnamed("xxbxxx"), delete(2), build_unnamed("xxxxx"), "xxbxxx"),
        # A cell without an id is found beside a neighbour, or at its index.
        *(
            (build_unnamed("abc"), replace(1), build_unnamed(now), now.replace("X", "b"))
            for now in ("aXc", "1aXc", "1Xc", "1X2")
        ),
    ],
)
def test_a_deleted_cell_is_restored_at_its_position(
    before: bytes, operation: JSON, now: bytes, expected: str
) -> None:
    _, record = apply_edit(before, operation)

    assert join_sources(undo_edit(now, record)) == expected


@pytest.mark.parametrize(
    ("before", "operation", "now", "conflict"),
    [
        (build_named("abcde"), delete("c"), build_named(""), ("c", "no_place", None)),
        (build_named("abcde"), delete("c"), build_named("123"), ("c", "no_place", None)),
        (build_named("abc"), delete("b"), build_named("acb"), ("b", "ambiguous", 2)),
        (build_unnamed("xxbxxx"), delete(2), build_unnamed("1xxxxxx2"), (None, "no_place", None)),
        (build_unnamed("abc"), replace(1), build_unnamed("abc"), (None, "changed", 1)),
        # Another cell has the same source, but none of the neighbours.
        (build_unnamed("abc"), replace(1), build_unnamed("ab1X"), (None, "ambiguous", None)),
        (build_unnamed("abc"), replace(1), build_unnamed("X12c"), (None, "ambiguous", None)),
        (build_unnamed("abc"), replace(1), build_unnamed("aXaX"), (None, "ambiguous", None)),
        (build_unnamed("abc"), replace(1), build_unnamed("12"), (None, "gone", None)),
        # Neighbours with the same id do not tell where the gap was.
        (
            build_named("axbcxxxxxz"),
            {"op": "move", "cell": 9, "at": "start"},
            build_named("zaxbcxxxxx1"),
            ("z", "no_place", 0),
        ),
        # An id that two cells have names neither.
        (
            build_named("ab"),
            replace("a"),
            notebook(raw("X", "a"), raw("b", "b"), raw("X", "a")),
            ("a", "ambiguous", None),
        ),
    ],
)
def test_no_cell_or_gap_is_confused_with_another(
    before: bytes, operation: JSON, now: bytes, conflict: tuple[str | None, str, int | None]
) -> None:
    _, record = apply_edit(before, operation)

    with pytest.raises(UndoConflict) as error:
        undo_edit(now, record)
    [found] = error.value.details["cells"]
    assert (found["cell_id"], found["why"], found["index"]) == conflict


def test_neighbours_that_were_restored_earlier_are_recognized() -> None:
    _, record = apply_edit(
        build_named("abcdef"),
        delete("b", "c"),
        {"op": "move", "cell": "e", "at": "start"},
        {"op": "insert", "after": "d", "cell_type": "raw", "source": "1", "id": "one"},
    )

    text = notebook(*(raw(one, {"1": "one"}.get(one, one)) for one in "ea2d1f"))

    assert join_sources(undo_edit(text, record)) == "abc2def"


def test_the_remaining_one_of_two_identical_neighbours_is_not_chosen() -> None:
    insert = {"op": "insert", "before": 1, "cell_type": "raw", "source": "X"}
    _, record = apply_edit(build_unnamed("aXb"), insert)

    assert join_sources(undo_edit(build_unnamed("aXXb"), record)) == "aXb"
    with pytest.raises(UndoConflict) as error:
        undo_edit(build_unnamed("aXb"), record)
    assert [one["why"] for one in error.value.details["cells"]] == ["ambiguous"]


def test_all_conflicts_are_reported_at_once_with_shortened_sources() -> None:
    patch = {"op": "set_metadata", "patch": {"k": 1, "l": 1, "m": 1}}
    _, record = apply_edit(build_named("abcd"), replace("a"), replace("b"), delete("d"), patch)
    now = json.loads(notebook(raw("y" * 5000, "b"), metadata={"k": 2, "m": 1}))

    with pytest.raises(UndoConflict) as error:
        undo_edit(json.dumps(now).encode(), record)

    assert error.value.details == {
        "cells": [
            {"cell_id": "a", "index": None, "why": "gone"},
            {"cell_id": "b", "index": 0, "why": "changed", "source": "y" * 2000},
        ],
        "metadata": ["k", "l"],
    }
