"""A batch does not go over long cells without end."""

from collections.abc import Callable
from typing import Any

import pytest

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.source_edit import MAX_BATCH_CHARACTERS
from tests.notebook.oracle import edit
from tests.support import samples
from tests.support.sampling import is_nightly

Operations = list[dict[str, Any]]
LONG = 3_000_000
GROW: dict[str, Any] = {"old": "y", "new": "y" * 3_200, "all": True}
FLIP: Operations = [{"old": "y", "new": "z", "all": True}, {"old": "z", "new": "y", "all": True}]


def repeat(count: int, build: Callable[[int], dict[str, Any]]) -> Operations:
    return [build(number) for number in range(count)]


# Many lines and members take minutes where coverage is measured.
_NIGHTLY = pytest.mark.skipif(not is_nightly(), reason="many members: nightly")


@pytest.mark.parametrize(
    ("cell", "operations"),
    [
        (
            samples.code("y", "a"),
            [{"op": "replace_text", "cell": "a", "edits": [GROW, GROW, *FLIP * 10]}],
        ),
        (
            samples.code("y", "a"),
            [{"op": "replace_text", "cell": "a", **each} for each in (GROW, GROW, *FLIP * 10)],
        ),
        (
            samples.code("x" * LONG, "a"),
            repeat(50, lambda n: {"op": "replace_text", "cell": "a", "old": f"{n}", "new": ""}),
        ),
        (
            samples.code("x\n" * LONG, "a"),
            repeat(10, lambda n: {"op": "split", "cell": "a", "at_line": n + 2}),
        ),
        pytest.param(
            samples.code("x", "a", metadata={f"a{n}": 0 for n in range(100_000)}),
            repeat(20, lambda n: {"op": "set_metadata", "cell": "a", "patch": {f"b{n}": 0}}),
            marks=_NIGHTLY,
        ),
        pytest.param(
            samples.markdown("# H\n" + "- x\n" * 100_000 + "- y 1\n- y 2\n- y 3\n", "a"),
            repeat(3, lambda n: {"op": "remove_entry", "section": "H", "match": f"y {n + 1}"}),
            marks=_NIGHTLY,
        ),
    ],
    ids=["growth", "growth, each alone", "search", "split", "metadata", "entries"],
)
def test_operations_on_a_long_cell_are_refused_when_they_are_too_many(
    cell: dict[str, Any], operations: Operations
) -> None:
    document = Document.parse(samples.notebook(cell))
    if "old" in operations[-1] and operations[-1]["old"].isdigit():
        # Each must be found.
        text = "".join(f"<{number}>" for number in range(len(operations)))
        document = Document.parse(samples.notebook(samples.code(text + "x" * LONG, "a")))
        operations = [{**each, "old": f"<{each['old']}>"} for each in operations]
    with pytest.raises(InvalidOperation) as error:
        edit(document, *operations)
    assert error.value.details["limit"] == MAX_BATCH_CHARACTERS
    assert "Send them in several requests" in error.value.message


def test_a_thousand_operations_on_a_cell_of_usual_size_are_made() -> None:
    lines = "".join(f"value_{number} = {number}\n" for number in range(1_000))
    document = Document.parse(samples.notebook(samples.code(lines, "a"), samples.raw("x", "b")))
    edits = repeat(999, lambda n: {"old": f"value_{n} =", "new": f"name_{n} ="})
    edit(document, {"op": "replace_text", "cell": "a", "edits": edits})
    edit(document, *({"op": "replace_text", "cell": "a", **each} for each in edits))
    edit(document, *repeat(998, lambda n: {"op": "split", "cell": "a", "at_line": n + 2}))
