"""Cell patches applied to real shared documents, alone and with concurrent changes."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.cell_patch import CellPatch, compute_patch
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.rtc.shared_notebook import apply_patch, repair_ids, take_snapshot
from tests.notebook.cell_lists import Cells, edits, notebook
from tests.setups.needs import needs


def build_shared(cells: Cells) -> tuple[Any, list[str]]:
    """Share cells; a room never has none."""
    import jupyter_ydoc  # noqa: PLC0415 -- not everywhere

    document = jupyter_ydoc.ydocs["notebook"]()
    minor = 5 if all("id" in cell for cell in cells) else 4
    value = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": minor}
    document.set(copy.deepcopy(value))
    return document, [cell["id"] for cell in document.ycells]


@pytest.fixture(autouse=True, scope="module")
def _rooms() -> None:
    """Both kinds of rooms share such documents; one of them is enough here."""
    needs("jupyter_server_ydoc")


@given(edits())
def test_applying_a_patch_gives_the_expected_shared_cells(edit_: tuple[Cells, Cells]) -> None:
    before, after = edit_
    if before:
        document, ids = build_shared(before)
        apply_patch(document, compute_patch(notebook(before), notebook(after)), ids)
        assert document.get()["cells"] == after


@given(edits(), st.data())
def test_a_concurrently_inserted_cell_stops_the_edit(
    edit_: tuple[Cells, Cells], data: st.DataObject
) -> None:
    before, after = edit_
    steps = compute_patch(notebook(before), notebook(after))
    if before and steps != compute_patch(notebook(before), notebook(before)):
        document, ids = build_shared(before)
        at = data.draw(st.integers(0, len(before)))
        fresh = {"cell_type": "raw", "source": "mine", "metadata": {}, "id": "mine"}
        document.ycells.insert(at, document.create_ycell(fresh))
        _assert_stopped(document, steps, ids)


def _assert_stopped(document: Any, steps: CellPatch, ids: list[str]) -> None:
    now = document.get()
    with pytest.raises(StaleContent):
        apply_patch(document, steps, ids)
    assert document.get() == now


_CELLS: Cells = [
    {"cell_type": "markdown", "id": name, "source": f"# {name}\n\n", "metadata": {"k": 1}}
    for name in "abcd"
]
_EDITS: dict[str, Cells] = {
    "change": [_CELLS[0], {**_CELLS[1], "source": "# B\n\n"}, *_CELLS[2:]],
    "metadata": [_CELLS[0], {**_CELLS[1], "metadata": {"k": 2}}, *_CELLS[2:]],
    "insert": [*_CELLS[:2], {**_CELLS[0], "id": "new"}, *_CELLS[2:]],
    "delete": [_CELLS[0], *_CELLS[2:]],
    "move": [_CELLS[0], _CELLS[2], _CELLS[3], _CELLS[1]],
}


@pytest.mark.parametrize("name", _EDITS)
def test_concurrently_reordered_cells_stop_the_edit(name: str) -> None:
    document, ids = build_shared(_CELLS)
    swapped = document.get_cell(1)
    del document.ycells[1]
    document.ycells.insert(2, document.create_ycell(swapped))
    _assert_stopped(document, compute_patch(notebook(_CELLS), notebook(_EDITS[name])), ids)


@pytest.mark.parametrize(
    ("name", "what"),
    [("change", "source"), ("delete", "source"), ("delete", "metadata"), ("metadata", "metadata")],
)
def test_a_concurrent_change_of_the_edited_cell_stops_the_edit(name: str, what: str) -> None:
    document, ids = build_shared(_CELLS)
    if what == "source":
        document.ycells[1]["source"].insert(2, "typed")
    else:
        document.ycells[1]["metadata"]["k"] = 3
    _assert_stopped(document, compute_patch(notebook(_CELLS), notebook(_EDITS[name])), ids)


@pytest.mark.parametrize("name", _EDITS)
def test_text_typed_elsewhere_stays(name: str) -> None:
    document, ids = build_shared(_CELLS)
    document.ycells[0]["source"].insert(0, "typed")
    document.ycells[3]["metadata"]["trusted"] = True
    apply_patch(document, compute_patch(notebook(_CELLS), notebook(_EDITS[name])), ids)
    after = [dict(cell) for cell in copy.deepcopy(_EDITS[name])]
    for cell in after:
        if cell["id"] == "a":
            cell["source"] = f"typed{cell['source']}"
        elif cell["id"] == "d":
            cell["metadata"]["trusted"] = True
    assert document.get()["cells"] == after


def test_text_typed_at_the_end_of_the_edited_cell_stays() -> None:
    document, ids = build_shared(_CELLS)
    text = document.ycells[1]["source"]
    text += "typed 😀"
    apply_patch(document, compute_patch(notebook(_CELLS), notebook(_EDITS["change"])), ids)
    assert document.get()["cells"][1]["source"] == "# B\n\ntyped 😀"


@pytest.mark.filterwarnings("ignore:Non-unique cell ID")
def test_cells_with_duplicate_ids_are_kept_in_formats_without_ids() -> None:
    import jupyter_ydoc  # noqa: PLC0415 -- not everywhere

    document = jupyter_ydoc.ydocs["notebook"]()
    cells = [{**_CELLS[0], "source": source} for source in ("one", "two", "one")]
    document.set({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    repair_ids(document)
    assert [cell["source"] for cell in document.get()["cells"]] == ["one", "two", "one"]
    assert len({cell["id"] for cell in document.ycells}) == 3


async def test_a_document_without_a_notebook_in_it_is_refused() -> None:
    import jupyter_ydoc  # noqa: PLC0415 -- not everywhere

    with pytest.raises(InvalidNotebook):
        await take_snapshot(jupyter_ydoc.ydocs["notebook"](), lambda _: True)
