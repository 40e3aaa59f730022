from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from jupyter_nbedit.errors import (
    AmbiguousCell,
    CellChanged,
    CellNotFound,
    CellProtected,
    InvalidNotebook,
    InvalidOperation,
)
from jupyter_nbedit.notebook.batch import TouchedCell
from jupyter_nbedit.notebook.diff import unified
from jupyter_nbedit.notebook.document import Document, source_hash
from jupyter_nbedit.notebook.splices import join
from tests.notebook.oracle import edit


def notebook(*cells: dict[str, Any], minor: int = 5) -> Document:
    return Document.parse(
        json.dumps(
            {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": minor}, indent=1
        ).encode()
    )


def raw(source: str, /, **members: Any) -> dict[str, Any]:
    return {"cell_type": "raw", "id": source, "metadata": {}, "source": [source], **members}


def code(source: str, /, **members: Any) -> dict[str, Any]:
    output = {"output_type": "stream", "name": "stdout", "text": ["1"]}
    return {
        "cell_type": "code",
        "execution_count": 3,
        "id": source,
        "metadata": {},
        "outputs": [output],
        "source": [source],
        **members,
    }


ABC = notebook(raw("a"), raw("b"), raw("c"))


def sources(document: Document, *operations: dict[str, Any]) -> list[str]:
    after = Document.parse(join(document.text, edit(document, *operations).splices))
    return [after.cell(at).source for at in range(len(after))]


def put(source: str, **position: Any) -> dict[str, Any]:
    return {"op": "insert", "cell_type": "raw", "source": source, **position}


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ({"at": "start"}, "xabc"),
        ({"at": "end"}, "abcx"),
        ({"index": 0}, "xabc"),
        ({"index": 2}, "abxc"),
        ({"index": 3}, "abcx"),
        ({"before": "a"}, "xabc"),
        ({"after": "a"}, "axbc"),
        ({"after": 2}, "abcx"),
        ({"before": "cell-1"}, "axbc"),
    ],
)
def test_a_position_says_where_a_cell_goes(position: dict[str, Any], expected: str) -> None:
    assert sources(ABC, put("x", **position)) == list(expected)


def test_positions_mean_the_notebook_as_it_was_before_the_batch() -> None:
    operations = [put("x", at="start"), put("y", index=1), put("z", after="c"), put("w", before=2)]

    assert sources(ABC, *operations) == list("xaybwcz")


def test_what_goes_into_one_gap_stands_there_in_the_order_of_the_operations() -> None:
    operations = [put("x", after="a"), put("y", before="b"), put("z", index=1)]

    assert sources(ABC, *operations) == list("axyzbc")


def test_an_operation_may_name_a_cell_that_an_earlier_one_inserted() -> None:
    operations = [
        put("x", at="start", id="new"),
        put("z", after="new"),
        put("y", before="new"),
        {"op": "replace", "cell": "new", "source": "X"},
    ]

    assert sources(ABC, *operations) == ["y", "X", "z", "a", "b", "c"]


def test_a_cell_inserted_in_a_batch_may_be_moved_and_deleted_in_it() -> None:
    operations = [put("x", at="start", id="new"), {"op": "move", "cell": "new", "at": "end"}]

    assert sources(ABC, *operations) == list("abcx")
    assert sources(ABC, *operations, {"op": "delete", "cell": "new"}) == list("abc")


def test_a_position_beside_a_moved_cell_goes_where_the_cell_went() -> None:
    operations = [{"op": "move", "cell": "a", "at": "end"}, put("x", after="a")]

    assert sources(ABC, *operations) == list("bcax")


def test_a_position_beside_a_deleted_cell_is_where_the_cell_was() -> None:
    operations = [{"op": "delete", "cell": "b"}, put("x", after="b")]

    assert sources(ABC, *operations) == list("axc")


def test_cells_swap_places_in_one_batch() -> None:
    operations = [
        {"op": "move", "cell": "a", "at": "end"},
        {"op": "move", "cell": "c", "at": "start"},
    ]

    assert sources(ABC, *operations) == list("cba")


@pytest.mark.parametrize("position", [{"before": "b"}, {"after": "b"}, {"index": 1}, {"index": 2}])
def test_moving_a_cell_to_where_it_is_changes_nothing(position: dict[str, Any]) -> None:
    assert not edit(ABC, {"op": "move", "cell": "b", **position}).splices


def test_the_results_tell_where_each_cell_stands_afterwards() -> None:
    applied = edit(
        ABC,
        put("x", at="start", id="new"),
        {"op": "move", "cell": "c", "before": "b"},
        {"op": "delete", "cell": "a"},
        {"op": "replace", "cell": "b", "source": "B"},
    )

    after = Document.parse(join(ABC.text, applied.splices))
    assert [after.cell(at).source for at in range(len(after))] == ["x", "c", "B"]
    assert [(done.op, done.cell_id, done.index) for done in applied.results] == [
        ("insert", "new", 0),
        ("move", "c", 1),
        ("delete", "a", 0),
        ("replace", "b", 2),
    ]
    assert applied.results[2].source == "a"
    assert applied.results[3].source_hash == source_hash("B")
    assert applied.total_cells == 3


def test_of_a_cell_no_more_is_told_than_there_is_to_tell() -> None:
    delete, clear = {"op": "delete", "cells": ["a"]}, {"op": "clear_outputs", "cells": ["c"]}
    deleted, cleared = edit(ABC, delete, clear).results
    assert deleted.cells is not UNSET
    assert cleared.cells is not UNSET
    bare = TouchedCell(cell_id="a", index=0, cell_type="raw", source_hash="")
    told: list[Any] = [deleted, *deleted.cells, *cleared.cells, bare]
    for part in told:
        with pytest.raises(AttributeError, match="immutable"):
            part.index = 7
        with pytest.raises(TypeError):
            type(part)(*(getattr(part, name) for name in part.__struct_fields__))
    sometimes = {"source", "outputs_cleared", "cells"}
    assert [set(msgspec.to_builtins(part)) & sometimes for part in told] == [
        {"cells"},
        {"source"},
        {"outputs_cleared"},
        set(),
    ]


def test_a_replaced_code_cell_loses_its_outputs_and_count_unless_they_are_kept() -> None:
    document = notebook(code("x"))

    cleared = edit(document, {"op": "replace", "cell": "x", "source": "y"})
    kept = edit(document, {"op": "replace", "cell": "x", "source": "y", "outputs": "keep"})

    [cell] = json.loads(join(document.text, cleared.splices))["cells"]
    assert (cell["outputs"], cell["execution_count"]) == ([], None)
    assert cleared.results[0].outputs_cleared is True
    [cell] = json.loads(join(document.text, kept.splices))["cells"]
    assert (len(cell["outputs"]), cell["execution_count"]) == (1, 3)
    assert kept.results[0].outputs_cleared is False


def test_clearing_what_is_clear_already_changes_nothing() -> None:
    document = notebook(code("x", outputs=[], execution_count=None))

    assert not edit(document, {"op": "replace", "cell": "x", "source": "x"}).splices


def test_a_change_of_type_brings_what_nbformat_demands_and_takes_what_it_forbids() -> None:
    document = notebook(code("x"), raw("y", attachments={"a": {}}))

    text = join(
        document.text,
        edit(
            document,
            {"op": "replace", "cell": "x", "cell_type": "markdown"},
            {"op": "replace", "cell": "y", "cell_type": "code"},
        ).splices,
    )

    markdown, now_code = json.loads(text)["cells"]
    assert markdown == {"cell_type": "markdown", "id": "x", "metadata": {}, "source": ["x"]}
    assert list(now_code) == ["cell_type", "execution_count", "id", "metadata", "outputs", "source"]
    assert (now_code["outputs"], now_code["execution_count"]) == ([], None)


def test_only_the_lines_that_differ_are_written_anew() -> None:
    text = ABC.text[:].replace(b'"b"\n', b'"\\u0062\\n",  "\\/c\\n" ,\n"\\u0064"\n')
    document = Document.parse(text)
    assert document.cell(1).source == "b\n/c\nd"

    [splice] = edit(document, {"op": "replace", "cell": 1, "source": "b\nX\nd"}).splices

    assert text[splice.start : splice.stop] == b'"\\/c\\n"'
    assert splice.text == b'"X\\n"'


def test_a_new_cell_has_no_id_where_the_format_has_none() -> None:
    document = notebook({"cell_type": "raw", "metadata": {}, "source": []}, minor=4)

    applied = edit(document, put("x", at="end"))

    assert applied.results[0].cell_id is None
    assert "id" not in json.loads(join(document.text, applied.splices))["cells"][1]


@pytest.mark.parametrize(
    ("operation", "refusal", "says"),
    [
        ({"op": "delete", "cell": "nobody"}, CellNotFound, "nobody"),
        ({"op": "delete", "cell": 3}, CellNotFound, "3 cells"),
        ({"op": "delete", "cell": "cell-3"}, CellNotFound, "cell-3"),
        ({"op": "delete", "cell": "cell-01"}, CellNotFound, "cell-01"),
        ({"op": "delete", "cell": "CELL-1"}, CellNotFound, "CELL-1"),
        (put("x"), InvalidOperation, "found none"),
        (put("x", at="end", index=1), InvalidOperation, "`index` and `at`"),
        (put("x", index=4), InvalidOperation, "0 to 3"),
        (put("x", at="end", id="a"), InvalidOperation, "already"),
        (put("x", at="end", metadata={"a": [{"trusted": True}]}), InvalidOperation, "trusted"),
        ({"op": "replace", "cell": "a"}, InvalidOperation, "neither"),
        ({"op": "replace", "cell": "a", "source": "", "expect": {}}, InvalidOperation, "one of"),
        (
            {"op": "replace", "cell": "a", "source": "", "expect": {"source": "b"}},
            CellChanged,
            "details",
        ),
    ],
)
def test_an_operation_that_fits_nothing_is_refused(
    operation: dict[str, Any], refusal: type[Exception], says: str
) -> None:
    with pytest.raises(refusal, match=says) as raised:
        edit(ABC, {"op": "move", "cell": "a", "at": "end"}, operation)

    assert raised.value.details["operation"] == 1  # type: ignore[attr-defined]


def test_an_id_that_two_cells_have_is_refused_with_their_indexes() -> None:
    document = notebook(raw("a"), raw("b"), raw("a"))

    with pytest.raises(AmbiguousCell) as raised:
        edit(document, {"op": "delete", "cell": "a"})

    assert raised.value.details["indexes"] == [0, 2]
    assert sources(document, {"op": "delete", "cell": 2}) == ["a", "b"]


def test_an_id_that_looks_like_an_index_is_an_id() -> None:
    document = notebook(raw("a"), raw("b", id="cell-0"))

    assert sources(document, {"op": "delete", "cell": "cell-0"}) == ["a"]


def test_the_ids_a_refusal_offers_are_addresses() -> None:
    document = notebook(*({"cell_type": "raw", "metadata": {}, "source": []} for _ in range(12)))

    with pytest.raises(CellNotFound) as raised:
        edit(document, {"op": "delete", "cell": "x"})

    assert raised.value.details["available_ids"] == [f"cell-{n}" for n in range(10)]
    assert raised.value.details["total_cells"] == 12


def test_a_guard_looks_at_the_cell_as_it_was_before_the_batch() -> None:
    guard = {"source_hash": source_hash("a")}
    operations = [{"op": "replace", "cell": "a", "source": text, "expect": guard} for text in "xy"]

    assert sources(ABC, *operations) == list("ybc")


@pytest.mark.parametrize(
    ("flag", "operation"),
    [
        ("editable", {"op": "replace", "cell": "a", "source": "x"}),
        ("deletable", {"op": "delete", "cell": "a"}),
    ],
)
def test_a_protected_cell_is_left_alone(flag: str, operation: dict[str, Any]) -> None:
    with pytest.raises(CellProtected, match=flag):
        edit(notebook(raw("a", metadata={flag: False})), operation)

    edit(notebook(raw("a", metadata={flag: True})), operation)


def test_a_cell_deleted_in_a_batch_cannot_be_edited_in_it() -> None:
    with pytest.raises(InvalidOperation, match="Operation 0"):
        edit(
            ABC,
            {"op": "delete", "cell": "a"},
            {"op": "replace", "cell": "a", "source": "x"},
        )


def test_a_member_that_stands_twice_in_the_touched_cell_is_refused() -> None:
    text = ABC.text[:].replace(b'"source": [\n    "b"', b'"source": "x", "source": [\n    "b"')
    document = Document.parse(text)

    with pytest.raises(InvalidNotebook, match="source"):
        edit(document, {"op": "replace", "cell": 1, "source": "x"})
    assert not edit(document, {"op": "move", "cell": 0, "at": "start"}).splices


def test_the_diff_shows_each_cell_as_diff_u_would() -> None:
    document = notebook(code("a", source="x = 1\ny"), raw("b"))

    applied = edit(
        document,
        {"op": "replace", "cell": 0, "source": "x = 2\ny"},
        {"op": "move", "cell": "b", "at": "start"},
        put("new", at="end"),
    )

    assert unified("a.ipynb", applied.changes).splitlines() == [
        "--- a.ipynb b",
        "+++ a.ipynb b",
        "# moved from 1 to 0",
        "--- a.ipynb a",
        "+++ a.ipynb a",
        "# outputs cleared",
        "@@ -1,2 +1,2 @@",
        "-x = 1",
        "+x = 2",
        " y",
        "--- /dev/null",
        "+++ a.ipynb fresh-id",
        "# inserted raw at 2",
        "@@ -0,0 +1 @@",
        "+new",
    ]


def test_what_only_a_run_gives_stays_in_a_cell_that_never_runs() -> None:
    odd = b'{"cell_type": "markdown", "execution_count": 1, "metadata": {}, "source": "x"}'
    document = Document.parse(b'{"cells": [' + odd + b'], "nbformat": 4}')
    applied = edit(document, {"op": "replace", "cell": 0, "source": "y"})
    assert join(document.text, applied.splices) == document.text[:].replace(b'"x"', b'"y"')
    assert applied.results[0].outputs_cleared is False


def test_a_count_that_is_none_is_cleared_whatever_it_is() -> None:
    odd = b'{"cell_type": "code", "execution_count": [], "outputs": [ ], "source": ""}'
    document = Document.parse(b'{"cells": [' + odd + b'], "nbformat": 4}')
    applied = edit(document, {"op": "clear_outputs", "all": True})
    assert join(document.text, applied.splices) == document.text[:].replace(b"[],", b"null,")
