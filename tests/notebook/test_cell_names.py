"""Guarded names: which cell they mean, and that a stale one never means another cell."""

import json
import random
from collections import Counter

import pytest

from jupyter_nbedit.errors import AmbiguousCell, CellChanged, InvalidNotebook
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.cell_names import CellName, compute_source_hash
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Replace
from jupyter_nbedit.notebook.splices import apply_splices
from tests.support import samples
from tests.support.sampling import seeded_random
from tests.support.user_changes import TrackedCell, change_as_user


def name(index: int, source: str, *, is_repeated: bool = False) -> str:
    return f"{index}:{compute_source_hash(source)[:6]}{'~' if is_repeated else ''}"


def document(*sources: str, ids: tuple[str | None, ...] = ()) -> Document:
    cells = [
        samples.raw(source, ids[index] if ids else None) for index, source in enumerate(sources)
    ]
    return Document.parse(samples.notebook(*cells))


@pytest.mark.parametrize(
    ("address", "is_current", "found"),
    [
        pytest.param(name(1, "b"), False, 1, id="the cell at the index"),
        pytest.param(name(0, "b"), False, 1, id="the cell was moved down"),
        pytest.param(name(9, "c"), False, 3, id="the cell was moved up"),
        pytest.param(name(2, "a"), True, 2, id="one of two, in the current version"),
        pytest.param(name(1, "b"), True, 1, id="one of one, in the current version"),
        pytest.param(name(2, "a", is_repeated=True), True, 2, id="one of several"),
    ],
)
def test_a_name_means_the_one_cell_with_that_source(
    address: str, *, is_current: bool, found: int
) -> None:
    assert document("a", "b", "a", "c").locate(address, is_current=is_current) == found


@pytest.mark.parametrize(
    ("address", "is_current"),
    [
        (name(2, "a"), False),
        (name(1, "a"), True),
        (name(9, "a"), True),
        (name(2, "a", is_repeated=True), False),
    ],
)
def test_a_name_of_several_cells_is_ambiguous(address: str, *, is_current: bool) -> None:
    notebook = document("a", "b", "a", "c")
    with pytest.raises(AmbiguousCell) as error:
        notebook.locate(address, is_current=is_current)
    assert error.value.details == {
        "cell": address,
        "indexes": [0, 2],
        "candidates": [name(index, "a", is_repeated=True) for index in (0, 2)],
        "rev": notebook.hash[:8],
    }


def test_a_name_of_several_cells_does_not_mean_the_one_that_is_left() -> None:
    with pytest.raises(AmbiguousCell) as error:
        document("a", "b", "c").locate(name(2, "a", is_repeated=True))
    assert error.value.details["candidates"] == [name(0, "a")]
    assert str(document("a", "b", "a").get_name(2)) == name(2, "a", is_repeated=True)


def test_a_name_of_no_cell_shows_the_cell_at_its_index() -> None:
    with pytest.raises(CellChanged) as error:
        document("a", "b\nc").locate(name(1, "x"))
    assert error.value.details == {
        "cell": name(1, "x"),
        "total_cells": 2,
        "index": 1,
        "name": name(1, "b\nc"),
        "cell_type": "raw",
        "source_hash": compute_source_hash("b\nc"),
        "source": "b\nc",
        "first_line": 1,
        "total_lines": 2,
    }
    with pytest.raises(CellChanged) as error:
        document("a").locate(name(1, "x"))
    assert error.value.details == {"cell": name(1, "x"), "total_cells": 1}


def test_an_error_shows_a_part_of_a_long_cell() -> None:
    with pytest.raises(CellChanged) as error:
        document("line\n" * 10_000).locate(name(0, "x"))
    assert error.value.details["source"] == ("line\n" * 400)[:-1]


@pytest.mark.threat("S31")
def test_an_exact_id_has_priority_unless_it_is_the_name_of_another_cell() -> None:
    forged = name(0, "a")
    assert document("b", "c", ids=("x", forged)).locate(forged) == 1
    for is_current in (False, True):
        with pytest.raises(AmbiguousCell) as error:
            document("a", "c", ids=("x", forged)).locate(forged, is_current=is_current)
        assert error.value.details["indexes"] == [0, 1]


@pytest.mark.parametrize(
    "text", ["01:aaaaaa", "1:aaaaa", "1:aaaaaaa", "1:AAAAAA", "-1:aaaaaa", "1:aaaaaa~~"]
)
def test_what_has_not_the_form_of_a_name_is_none(text: str) -> None:
    assert CellName.parse(text) is None


def test_cells_that_msgspec_refuses_have_names_if_they_can_be_read() -> None:
    cells = [{**samples.raw(""), "source": source} for source in (1, "\ud800", "x")]
    text = json.dumps({"cells": cells, "nbformat": 4, "x": float("nan")}).encode()
    notebook = Document.parse(text)
    assert notebook.locate(name(0, "\ud800")) == 1
    assert notebook.locate(name(0, "x")) == 2
    with pytest.raises(InvalidNotebook):
        notebook.locate(name(0, "1"))


# Races --------------------------------------------------------------------------------------------


def build_notebook(cells: list[TrackedCell], *, has_ids: bool) -> Document:
    parts = [samples.raw(cell.source, f"id-{cell.number}" if has_ids else None) for cell in cells]
    return Document.parse(samples.notebook(*parts, minor=5 if has_ids else 4))


def race(chance: random.Random) -> str:
    """Let a stale reader edit a notebook that its user has changed; return what happened."""
    has_ids, sends_rev = chance.random() < 0.5, chance.random() < 0.5
    cells = [TrackedCell(number, chance.choice("abcdefgh")) for number in range(6)]
    read = build_notebook(cells, has_ids=has_ids)
    index = chance.randrange(len(cells))
    meant, shown_name = cells[index], read.get_name(index)
    sources_read = {cell.number: cell.source for cell in cells}
    for step in range(chance.randint(0, 4)):
        change_as_user(cells, chance, 100 + step)
    now = build_notebook(cells, has_ids=has_ids)
    is_current = sends_rev and now.hash == read.hash
    candidates = [i for i, cell in enumerate(cells) if cell.source == meant.source]

    try:
        plan = apply_operations(
            now,
            [Replace(cell=str(shown_name), source="by the agent")],
            fresh_id=lambda: "new",
            is_current=is_current,
        )
    except CellChanged:
        assert not candidates
        return "changed"
    except AmbiguousCell:
        assert len(candidates) > 1 or shown_name.is_repeated
        assert not is_current
        return "ambiguous"
    after = samples.load_cells(apply_splices(now.text[:], plan.splices))
    (edited,) = [i for i, cell in enumerate(after) if cell["source"] == "by the agent"]
    assert edited in candidates
    if is_current:
        # The user has changed nothing, or has exchanged two equal cells without ids.
        assert edited == index
        return "edited"
    if cells[edited].number == meant.number:
        return "edited"
    # The user has changed or deleted the cell that was read, and has given its source to another.
    assert meant not in cells
    assert sources_read.get(cells[edited].number) != meant.source
    return "copy"


def list_names(found: Document) -> list[str]:
    return [str(found.get_name(index)) for index in range(len(found))]


def test_names_after_an_edit_are_of_the_new_sources() -> None:
    before = document("a", "b", "b")
    assert list_names(before) == [
        name(0, "a"), name(1, "b", is_repeated=True), name(2, "b", is_repeated=True)
    ]  # fmt: skip
    plan = apply_operations(before, [Replace(cell=1, source="a")], fresh_id=str)
    after = before.apply_splices(plan.splices)
    assert list_names(after) == list_names(Document.parse(after.text[:])) == [
        name(0, "a", is_repeated=True), name(1, "a", is_repeated=True), name(2, "b")
    ]  # fmt: skip
    # The same bytes in another buffer have the same names.
    assert list_names(after.bind(after.text[:])) == list_names(after)
    assert after.locate(name(2, "b")) == 2


@pytest.mark.threat("S26")
def test_a_stale_name_never_edits_a_cell_that_was_not_read() -> None:
    chance = seeded_random("races of names")
    outcomes = Counter(race(chance) for _ in range(1_000))
    assert outcomes["copy"] < 50
    assert min(outcomes[each] for each in ("edited", "changed", "ambiguous")) > 20
