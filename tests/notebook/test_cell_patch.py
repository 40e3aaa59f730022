"""A cell patch does to cells what the edit did to the bytes, and nothing else."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.cell_patch import (
    ABSENT,
    CellPatch,
    MovedCell,
    compute_patch,
    is_applied,
)
from tests.notebook.cell_lists import Cells, code, edits, notebook


def apply_patch(cells: Cells, steps: CellPatch) -> Cells:
    """Apply the steps in the simplest way."""
    now = [dict(cell) for cell in cells]
    for change in steps.changed_cells:
        cell = now[change.index_before]
        if change.source is not None:
            assert cell["source"] == change.source[0]
            cell["source"] = change.source[1]
        if change.metadata is not None:
            assert cell["metadata"] == change.metadata[0]
            cell["metadata"] = change.metadata[1]
        for name, value in change.members.items():
            if value is ABSENT:
                del cell[name]
            else:
                cell[name] = value
    moved = {
        step.index: now[step.old_index] for step in steps.insertions if isinstance(step, MovedCell)
    }
    for index in reversed(steps.removed_indexes):
        del now[index]
    for step in steps.insertions:
        now.insert(step.index, moved[step.index] if isinstance(step, MovedCell) else step.cell)
    return now


@given(edits(), st.sets(st.integers(0, 6)))
def test_a_patch_turns_the_cells_before_into_the_cells_after(
    edit: tuple[Cells, Cells], moved_cells: set[int]
) -> None:
    before, after = edit
    for steps in (
        compute_patch(notebook(before), notebook(after)),
        # Whichever cells the edit took, too.
        compute_patch(notebook(before), notebook(after), moved_cells),
    ):
        assert apply_patch(before, steps) == after
        assert is_applied(steps, notebook(after))


@given(edits())
def test_a_patch_omits_unchanged_cells_that_do_not_move(
    edit: tuple[Cells, Cells],
) -> None:
    before, after = edit
    # Two similar cells without ids cannot be distinguished.
    assume(all("id" in one for one in [*before, *after]))
    steps = compute_patch(notebook(before), notebook(after))
    assert is_applied(steps, notebook(before)) == (before == after)
    for change in steps.changed_cells:
        assert before[change.index_before] not in after
    then, now = [one["id"] for one in before], [one["id"] for one in after]
    if [one for one in now if one in then] == [one for one in then if one in now]:
        removed_indices = {step.index for step in steps.removed_cells}
        assert not any(before[index] in after for index in removed_indices)
        assert not any(isinstance(step, MovedCell) for step in steps.insertions)


@given(st.lists(code, min_size=1, max_size=5))
def test_notebooks_are_compared_by_value_and_not_by_formatting(cells: Cells) -> None:
    cells = [{"id": f"c{n}", **one} for n, one in enumerate(cells)]
    lines = [{**one, "source": one["source"].splitlines(keepends=True)} for one in cells]
    steps = compute_patch(notebook(cells), notebook(lines))
    assert steps == CellPatch([], [], [], None, len(cells))


def raw(*ids: str) -> Cells:
    return [{"id": name, "cell_type": "raw", "source": "", "metadata": {}} for name in ids]


@pytest.mark.parametrize(
    ("after", "moved_cells", "moved"),
    [
        ("bcdefghia", set(), "a"),
        ("ba", {0}, "a"),
        ("ba", {1}, "b"),
        ("bacd", {0, 2, 3}, "a"),
    ],
)
def test_a_patch_moves_the_fewest_cells_and_those_of_the_edit(
    after: str, moved_cells: set[int], moved: str
) -> None:
    before = raw(*sorted(after))
    steps = compute_patch(notebook(before), notebook(raw(*after)), moved_cells)
    assert [step.cell_id for step in steps.insertions] == list(moved)
    assert all(after[step.index] == step.cell_id for step in steps.insertions)


def test_a_deleted_cell_without_an_id_is_identified_correctly() -> None:
    cells: Cells = [{"cell_type": "raw", "source": name, "metadata": {}} for name in "ab"]
    steps = compute_patch(notebook(cells), notebook(cells[:1]))
    assert is_applied(steps, notebook(cells[:1]))
    assert not is_applied(steps, notebook(cells))


@pytest.mark.parametrize(
    ("name", "value"), [("cell_type", "markdown"), ("outputs", [{"output_type": "error"}])]
)
def test_a_cell_with_another_type_or_outputs_is_replaced(name: str, value: object) -> None:
    cells: Cells = [{"id": "a", "cell_type": "code", "source": "x", "metadata": {}, "outputs": []}]
    steps = compute_patch(notebook(cells), notebook([{**cells[0], name: value}]))
    assert (len(steps.changed_cells), len(steps.removed_cells), len(steps.insertions)) == (0, 1, 1)


def test_a_patch_contains_the_metadata_of_the_notebook() -> None:
    steps = compute_patch(notebook([], {"a": 1}), notebook([], {"a": 2}))
    assert steps.metadata == ({"a": 1}, {"a": 2})
    assert is_applied(steps, notebook([], {"a": 2, "more": True}))
    assert not is_applied(steps, notebook([], {"a": 1}))


def test_a_patch_is_recognized_as_applied_despite_other_changes() -> None:
    one = {"id": "a", "cell_type": "raw", "source": "one\ntwo\nthree", "metadata": {}}
    two = {"id": "b", "cell_type": "raw", "source": "", "metadata": {}}
    steps = compute_patch(notebook([one, two]), notebook([{**one, "source": "ONE\ntwo\nthree"}]))
    assert is_applied(steps, notebook([{**one, "source": "ONE\ntwo\nthree and four"}]))
    assert is_applied(steps, notebook([{**two, "id": "c"}, {**one, "source": "ONE\ntwo\nthree"}]))
    assert not is_applied(steps, notebook([{**one, "source": "one\ntwo\nthree and four"}]))
    assert not is_applied(steps, notebook([{**one, "source": "ONE\ntwo\nthree"}, two]))
    assert not is_applied(steps, notebook([]))
