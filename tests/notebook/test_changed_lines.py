"""The lines that an edit changes are counted, and the first of them is its snippet."""

from typing import Any

import pytest

from jupyter_nbedit.notebook.diff import (
    MAX_SNIPPET_LENGTH,
    ChangedLines,
    count_changed_lines,
)
from jupyter_nbedit.notebook.document import Document
from tests.notebook.oracle import edit
from tests.support import samples

CELLS = [samples.code("a = 1\nb = 2\nc = 3", "alpha"), samples.markdown("# Title", "beta")]


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        pytest.param(
            [{"op": "replace", "cell": "alpha", "source": "a = 1\n\n  b = 20\nc = 3"}],
            ChangedLines(2, 1, "b = 20"),
            id="the first added line that is not blank",
        ),
        pytest.param(
            [{"op": "delete", "cell": "alpha"}],
            ChangedLines(0, 3, "a = 1"),
            id="a removed line if none is added",
        ),
        pytest.param(
            [
                {"op": "insert", "cell_type": "code", "source": "z", "at": "end"},
                {"op": "replace", "cell": "beta", "source": "# Other"},
            ],
            ChangedLines(2, 1, "# Other"),
            id="in the order of the notebook",
        ),
        pytest.param(
            [{"op": "move", "cell": "beta", "at": "start"}],
            ChangedLines(0, 0, None),
            id="a move changes no line",
        ),
        pytest.param(
            [{"op": "replace", "cell": "beta", "source": "é" * 500}],
            ChangedLines(1, 1, "é" * MAX_SNIPPET_LENGTH),
            id="a long line is cut",
        ),
        pytest.param(
            [{"op": "insert", "cell_type": "code", "source": "", "at": "end"}],
            ChangedLines(0, 0, None),
            id="an empty cell has no lines",
        ),
    ],
)
def test_changed_lines_are_counted(
    operations: list[dict[str, Any]], expected: ChangedLines
) -> None:
    plan = edit(Document.parse(samples.notebook(*CELLS)), *operations)
    assert count_changed_lines(plan.changes) == expected
