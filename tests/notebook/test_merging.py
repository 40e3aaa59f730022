"""When cells can be merged, and what comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from tests.notebook.oracle import edit
from tests.support import samples

ONE, OTHER = {"image/png": "AAAA"}, {"image/png": "BBBB"}
NOTEBOOK = Document.parse(
    samples.notebook(
        samples.markdown("one", "a", attachments={"p": ONE}),
        samples.markdown("two", "b", attachments={"q": OTHER}),
        samples.markdown("three", "c"),
        samples.markdown("four", "d", attachments={"p": OTHER}),
        samples.code("x = 1", "e", execution_count=1, outputs=[samples.HTML_OUTPUT]),
        samples.code("x = 2", "f", execution_count=None),
        samples.markdown("five", "g", attachments={}),
    )
)


def cells_after(*operations: dict[str, Any]) -> list[dict[str, Any]]:
    return samples.cells_of(join(NOTEBOOK.text, edit(NOTEBOOK, *operations).splices))


def test_neighbours_of_a_type_become_the_first_of_them() -> None:
    first, *others = cells_after({"op": "merge", "cells": ["a", "b", "c"]})
    assert first == {
        "cell_type": "markdown",
        "id": "a",
        "metadata": {},
        "source": "one\ntwo\nthree",
        "attachments": {"p": ONE, "q": OTHER},
    }
    assert [cell["id"] for cell in others] == ["d", "e", "f", "g"]


def test_attachments_of_the_second_come_to_a_first_that_has_none() -> None:
    cells = cells_after({"op": "merge", "cells": ["c", "d"]})
    assert cells[2]["attachments"] == {"p": OTHER}
    assert "attachments" not in cells_after({"op": "delete", "cell": "a"})[1]


def test_the_outputs_of_all_parts_go() -> None:
    applied = edit(NOTEBOOK, {"op": "merge", "cells": ["e", "f"]})
    [result] = applied.results
    assert (result.op, result.outputs_cleared, result.index) == ("merge", True, 4)
    assert result.cells is not None
    cell = samples.cells_of(join(NOTEBOOK.text, applied.splices))[4]
    assert (cell["outputs"], cell["execution_count"]) == ([], None)
    swapped = edit(
        NOTEBOOK, {"op": "move", "cell": "f", "before": "e"}, {"op": "merge", "cells": ["f", "e"]}
    )
    assert swapped.results[1].outputs_cleared is True
    [nothing] = edit(NOTEBOOK, {"op": "merge", "cells": ["b", "c"]}).results
    assert nothing.outputs_cleared is False


@pytest.mark.parametrize(
    ("cells", "message", "about"),
    [
        (["a", "c"], "'c' does not follow 'a'", "c"),
        (["b", "a"], "'a' does not follow 'b'", "a"),
        (["a", "b", "d"], "'d' does not follow 'b'", "d"),
        (["d", "e"], "'d' is markdown and 'e' is code", "e"),
        (["a", "b", "c", "d"], "different attachments named 'p'", "d"),
    ],
)
def test_what_cannot_be_merged_is_refused_with_the_cell_in_the_way(
    cells: list[str], message: str, about: str
) -> None:
    with pytest.raises(InvalidOperation) as refusal:
        edit(NOTEBOOK, {"op": "merge", "cells": cells})
    assert message in str(refusal.value)
    assert refusal.value.details == {"cell": about, "operation": 0}


def test_nothing_is_gathered_where_the_first_has_all_already() -> None:
    same = Document.parse(
        samples.notebook(
            samples.markdown("one", "a", attachments={"p": ONE}),
            samples.markdown("two", "b", attachments={"p": ONE}),
        )
    )
    [cell] = samples.cells_of(
        join(same.text, edit(same, {"op": "merge", "cells": ["a", "b"]}).splices)
    )
    assert cell["attachments"] == {"p": ONE}


@pytest.mark.parametrize("odd", [1, [], "p", None])
def test_attachments_that_are_no_object_give_way_to_those_that_are(odd: Any) -> None:
    for mine, theirs, merged in (
        (odd, {"p": ONE}, {"p": ONE}),
        ({"p": ONE}, odd, {"p": ONE}),
        (odd, odd, odd),
    ):
        document = Document.parse(
            samples.notebook(
                samples.markdown("one", "a", attachments=mine),
                samples.markdown("two", "b", attachments=theirs),
            )
        )
        applied = edit(document, {"op": "merge", "cells": ["a", "b"]})
        [cell] = samples.cells_of(join(document.text, applied.splices))
        assert cell["attachments"] == merged
