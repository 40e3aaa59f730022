"""Batches: bytes, results and diffs, and what the model does not cover.

What the operations mean is held against the model, in `test_properties`, `test_stateful` and
`test_corpus`, and stands in a table in `tests/handlers/test_operation_table.py`.
"""

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import astuple

from jupyter_nbedit.errors import (
    CellChanged,
    CellProtected,
    InvalidNotebook,
    InvalidOperation,
    TooLarge,
)
from jupyter_nbedit.notebook.apply_batch import MAX_ADDED_LINES
from jupyter_nbedit.notebook.apply_operation import apply_operation
from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.diff import render_unified_diff
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import apply_splices
from tests.notebook.oracle import NEW_ID, edit
from tests.support import samples
from tests.support.samples import load_cells

RAN = {"execution_count": 1, "outputs": [samples.HTML_OUTPUT]}
STARTED = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
ENDED = {**STARTED, "shell.execute_reply": "2026-01-01T00:00:01Z"}
ODD = b"""{"nbformat_minor":5, "nbformat":4,
"metadata" : {"z":NaN ,"a":[1,\t2],"n":{"\\u0065":1e400}},
"cells":[{"cell_type":"raw","id":"x","source":"\\u0041","metadata":{
   "b" : "\\/" ,"tags":["t"], "k":{ } }}]}"""


def notebook(*cells: dict[str, Any], minor: int = 5) -> Document:
    return Document.parse(samples.notebook(*cells, minor=minor))


def raw(source: str, /, **members: Any) -> dict[str, Any]:
    """Return a raw cell whose id is its source."""
    return samples.raw(source, source, **members)


ABC = notebook(raw("a"), raw("b"), raw("c"))
NOTEBOOK = notebook(
    samples.code("x = 1\ny = 2", "a", **RAN),
    samples.code("z = 3\n0", "b", metadata={"execution": STARTED, "k": 1}, **RAN),
    samples.code("z = 4\n0", "c", metadata={"execution": ENDED, "k": 1}, **RAN),
    samples.code("locked\n0", "d", metadata={"editable": False}, **RAN),
    samples.raw("kept", "e", metadata={"deletable": False}),
)


def apply_and_join(document: Document, *operations: dict[str, Any]) -> bytes:
    return apply_splices(document.text, edit(document, *operations).splices)


def sources(document: Document, *operations: dict[str, Any]) -> list[str]:
    return [cell["source"] for cell in load_cells(apply_and_join(document, *operations))]


def put(source: str, **fields: Any) -> dict[str, Any]:
    return {"op": "insert", "cell_type": "raw", "source": source, **fields}


def move(cell: str, **place: Any) -> dict[str, Any]:
    return {"op": "move", "cell": cell, **place}


def replace(cell: str | int, source: str, **more: Any) -> dict[str, Any]:
    return {"op": "replace", "cell": cell, "source": source, **more}


def set_metadata(cell: str | None = None, **patch: Any) -> dict[str, Any]:
    named = {} if cell is None else {"cell": cell}
    return {"op": "set_metadata", "patch": patch, **named}


NEW = put("x", at="start", id="new")
DELETE_NEW = {"op": "delete", "cell": "new"}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        # Positions mean the notebook as it was, and one gap is filled in order.
        (
            [put("x", at="start"), put("y", index=1), put("z", after="c"), put("w", before=2)],
            "xaybwcz",
        ),
        ([put("x", after="a"), put("y", before="b"), put("z", index=1)], "axyzbc"),
        ([NEW, put("z", after="new"), put("y", before="new"), replace("new", "X")], "yXzabc"),
        ([NEW, move("new", at="end"), DELETE_NEW], "abc"),
        ([NEW, DELETE_NEW, put("y", after="new")], "yabc"),
        # A position beside a cell goes with it, and stays where it was if it goes.
        ([move("a", at="end"), put("x", after="a")], "bcax"),
        ([{"op": "delete", "cell": "b"}, put("x", after="b")], "axc"),
        ([move("a", at="end"), move("c", at="start")], "cba"),
    ],
)
def test_operations_of_a_batch_interact(operations: list[dict[str, Any]], expected: str) -> None:
    assert sources(ABC, *operations) == list(expected)


def test_cells_that_the_batch_made_adjacent_can_be_merged() -> None:
    operations = [
        move("a", after="c"),
        {"op": "delete", "cell": "b"},
        put("d", after="c", id="d"),
        move("d", after="a"),
        {"op": "merge", "cells": ["c", "a", "d"]},
    ]

    assert sources(ABC, *operations) == ["c\na\nd"]


def test_a_thousand_cells_can_be_inserted_each_after_the_previous_one() -> None:
    chain = [put("0", after="a", id="i0")]
    chain += [put("x", after=f"i{at}", id=f"i{at + 1}") for at in range(999)]

    ids = [cell["id"] for cell in load_cells(apply_and_join(ABC, *chain))]

    assert ids == ["a", *(f"i{at}" for at in range(1000)), "b", "c"]


# Bytes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "old", "new"),
    [
        (set_metadata("x", tags=["u"]), '["t"]', '["u"]'),
        (set_metadata("x", tags=None), ' ,"tags":["t"]', ""),
        (set_metadata("x", b=None), '"b" : "\\/" ,"tags"', '"tags"'),
        (set_metadata(n={"e": 2}), "1e400", "2"),
        (set_metadata(n={"e": None}), '{"\\u0065":1e400}', "{}"),
        (set_metadata(z="é"), "NaN", '"é"'),
        (set_metadata(n=1), '{"\\u0065":1e400}', "1"),
        (set_metadata("x", tags=["t"], b="/", k={"no": None}, missing=None), "", ""),
    ],
)
def test_a_metadata_patch_changes_only_the_bytes_of_its_members(
    operation: dict[str, Any], old: str, new: str
) -> None:
    assert apply_and_join(Document.parse(ODD), operation).decode() == ODD.decode().replace(old, new)


def test_new_metadata_are_placed_where_nbformat_places_them() -> None:
    document = Document.parse(samples.three_cells())
    of_cell = set_metadata("alpha", tags=["a"], k={"b": {"c": []}})

    text = apply_and_join(document, set_metadata(authors=[{"name": "x"}], title="y"), of_cell)

    again = json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert text.decode() == again


def test_only_the_changed_lines_are_rewritten() -> None:
    text = ABC.text[:].replace(b'"b"\n', b'["\\u0062\\n",  "\\/c\\n" ,\n"\\u0064"]\n')
    document = Document.parse(text)
    assert document.get_cell(1).source == "b\n/c\nd"

    [splice] = edit(document, replace(1, "b\nX\nd")).splices

    assert text[splice.start : splice.stop] == b'"\\/c\\n"'
    assert splice.text == b'"X\\n"'


def test_a_source_with_a_lone_surrogate_can_be_edited_elsewhere() -> None:
    text = samples.notebook(samples.raw("x 1", "x")).replace(b"x 1", b"\\ud83d 1")
    operation = {"op": "replace_text", "cell": "x", "old": "1", "new": "2"}

    assert apply_and_join(Document.parse(text), operation) == text.replace(b" 1", b" 2")


@pytest.mark.parametrize(
    ("cell", "operation", "old", "new"),
    [
        (
            b'{"cell_type": "markdown", "execution_count": 1, "metadata": {}, "source": "x"}',
            replace(0, "y"),
            b'"x"',
            b'"y"',
        ),
        (
            b'{"cell_type": "code", "execution_count": [], "outputs": [ ], "source": ""}',
            {"op": "clear_outputs", "all": True},
            b"[],",
            b"null,",
        ),
    ],
)
def test_an_invalid_execution_count_is_cleared_only_in_code_cells(
    cell: bytes, operation: dict[str, Any], old: bytes, new: bytes
) -> None:
    document = Document.parse(b'{"cells": [' + cell + b'], "nbformat": 4}')

    assert apply_and_join(document, operation) == document.text[:].replace(old, new)


def test_metadata_that_a_notebook_lacks_are_added_after_its_last_member() -> None:
    document = Document.parse(b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "x": 1}')

    assert apply_and_join(document, set_metadata(title="t")) == (
        b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "x": 1, "metadata": {"title": "t"}}'
    )


def test_a_cell_without_metadata_can_be_split_and_can_get_metadata() -> None:
    cell = {"cell_type": "raw", "source": "a\nb"}
    top = {"cells": [cell], "nbformat": 4, "nbformat_minor": 4}
    document = Document.parse(json.dumps(top).encode())
    of_cell = {"op": "set_metadata", "patch": {"k": 1}, "cell": 0}

    assert sources(document, {"op": "split", "cell": 0, "at_line": 2}) == ["a", "b"]
    changed = json.loads(apply_and_join(document, of_cell, set_metadata(k=1)))
    assert changed == {**top, "cells": [{**cell, "metadata": {"k": 1}}], "metadata": {"k": 1}}


def split(cell: Any, *lines: int) -> list[dict[str, Any]]:
    return [{"op": "split", "cell": cell, "at_line": line} for line in lines]


@pytest.mark.parametrize("lines", [(2, 3, 5), (5, 3, 2), (3, 5, 2)])
def test_several_splits_of_a_cell_count_its_lines_before_the_batch(lines: tuple[int, ...]) -> None:
    for line_end in ("\n", "\r\n"):
        text = line_end.join("abcdef")
        document = notebook(samples.raw(text, "x"), samples.raw("end"))
        expected = ["a", "b", f"c{line_end}d", f"e{line_end}f", "end"]
        assert sources(document, *split("x", *lines)) == expected


def test_lines_of_a_split_are_found_beside_other_changes() -> None:
    document = notebook(samples.raw("a\nb\nc\nd", "x"))
    edit = {"op": "replace_text", "cell": "x", "old": "b", "new": "1\n2\n3"}
    assert sources(document, edit, *split("x", 4)) == ["a\n1\n2\n3\nc", "d"]
    assert sources(document, *split("x", 3), edit, *split("x", 4)) == ["a\n1\n2\n3", "c", "d"]
    with pytest.raises(InvalidOperation, match="has changed line 2"):
        sources(document, edit, *split("x", 2))


@pytest.mark.parametrize(
    ("lines", "message"),
    [((2, 2), "begins a cell already"), ((5,), "expected 2 to 4"), ((3, 5), "expected 2 to 4")],
)
def test_a_split_where_nothing_can_be_split_is_refused(
    lines: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InvalidOperation, match=message):
        sources(notebook(samples.raw("a\nb\nc\nd", "x")), *split("x", *lines))


def test_split_copies_attachments_and_execution_times_of_finished_cells() -> None:
    image = {"a.png": {"image/png": "QQ=="}}
    document = notebook(
        samples.code("1\n2", "code", metadata={"execution": STARTED, "k": 1}),
        samples.code("1\n2", "done", metadata={"execution": ENDED}),
        samples.markdown("1\n2", "text", attachments=image),
    )
    splits = [{"op": "split", "cell": at, "at_line": 2} for at in range(3)]

    cells = load_cells(apply_and_join(document, *splits))

    executions = [cell["metadata"].get("execution") for cell in cells]
    assert executions == [STARTED, None, ENDED, ENDED, None, None]
    assert cells[1]["metadata"] == {"k": 1}
    assert [cell.get("attachments") for cell in cells[4:]] == [image, image]


# Merging -----------------------------------------------------------------------------------------

ONE, OTHER = {"image/png": "AAAA"}, {"image/png": "BBBB"}
ODD_ONES: list[Any] = [1, [], "p", None]


@pytest.mark.parametrize(
    ("attachments", "merged"),
    [
        ([{"p": ONE}, {"q": OTHER}, ...], {"p": ONE, "q": OTHER}),
        ([..., {"p": OTHER}], {"p": OTHER}),
        ([{"p": ONE}, {"p": ONE}], {"p": ONE}),
        *(([odd, {"p": ONE}], {"p": ONE}) for odd in ODD_ONES),
        *(([{"p": ONE}, odd], {"p": ONE}) for odd in ODD_ONES),
        *(([odd, odd], odd) for odd in ODD_ONES),
    ],
)
def test_merge_combines_attachments(attachments: list[Any], merged: Any) -> None:
    members = [{} if one is ... else {"attachments": one} for one in attachments]
    document = notebook(*(samples.markdown("x", f"c{n}", **one) for n, one in enumerate(members)))

    [cell] = load_cells(
        apply_and_join(document, {"op": "merge", "cells": list(range(len(members)))})
    )

    assert cell["attachments"] == merged


def test_cells_with_different_attachments_of_the_same_name_are_not_merged() -> None:
    cells = [
        samples.markdown("x", f"c{n}", attachments={"p": one}) for n, one in ((1, ONE), (2, OTHER))
    ]

    with pytest.raises(InvalidOperation) as error:
        edit(notebook(*cells), {"op": "merge", "cells": ["c1", "c2"]})
    assert error.value.details == {"cell": "c2", "operation": 0}


# Errors ------------------------------------------------------------------------------------------


def test_an_error_has_the_number_of_the_operation() -> None:
    with pytest.raises(CellChanged) as raised:
        edit(ABC, move("a", at="end"), replace("a", "", expect={"source": "b"}))

    assert raised.value.details["operation"] == 1


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\u2028"])
def test_a_batch_may_add_a_limited_number_of_lines(line_end: str) -> None:
    def replace(source: str) -> dict[str, Any]:
        return {"op": "replace", "cell": "a", "source": source}

    document = notebook(samples.code("x\r\n" * 9, "a"))
    assert edit(document, replace("x" * (MAX_ADDED_LINES + 9))).splices
    assert edit(document, replace(line_end * (MAX_ADDED_LINES + 9))).splices
    with pytest.raises(TooLarge) as error:
        edit(document, replace(line_end * (MAX_ADDED_LINES + 10)))
    assert error.value.details == {"limit": MAX_ADDED_LINES}


def test_lines_that_a_batch_moves_to_another_cell_are_not_added() -> None:
    many = "x\n" * (MAX_ADDED_LINES + 1)
    insert = {"op": "insert", "at": "end", "cell_type": "raw", "source": many}
    document = notebook(samples.code(many, "a"))
    assert edit(document, insert, {"op": "delete", "cell": "a"}).splices
    with pytest.raises(TooLarge):
        edit(document, insert)


def test_expect_compares_the_cell_before_the_batch() -> None:
    guard = {"source_hash": compute_source_hash("a")}

    found = sources(ABC, *(replace("a", text, expect=guard) for text in "xy"))

    assert found == list("ybc")


@pytest.mark.parametrize(
    "operations",
    [
        [replace("d", "new")],
        [{"op": "replace_text", "cell": "d", "old": "0", "new": "x"}],
        [{"op": "split", "cell": "d", "at_line": 2}],
        [{"op": "clear_outputs", "cell": "d"}],
        [{"op": "clear_outputs", "all": True}],
        [{"op": "merge", "cells": ["c", "d"]}],
        [set_metadata("d", k=2)],
        [set_metadata("d", editable=False)],
        [{"op": "delete", "cell": "e"}],
        [set_metadata("d", editable=True), set_metadata("d", editable=False), replace("d", "new")],
    ],
    ids=str,
)
def test_a_protected_cell_can_be_edited_after_it_is_made_editable(
    operations: list[dict[str, Any]],
) -> None:
    with pytest.raises(CellProtected) as error:
        edit(NOTEBOOK, *operations)
    assert error.value.details["operation"] == len(operations) - 1

    free = [set_metadata("d", editable=None, k=3), set_metadata("e", deletable=True)]
    assert edit(NOTEBOOK, *free, *operations[:1]).splices


def test_a_duplicate_member_in_the_edited_cell_is_refused() -> None:
    text = ABC.text[:].replace(b'"source": "b"', b'"source": "x", "source": "b"')
    document = Document.parse(text)

    with pytest.raises(InvalidNotebook):
        edit(document, replace(1, "x"))
    unchanged = edit(document, move("a", at="start"))
    assert (unchanged.splices, unchanged.changes) == ([], [])


def test_metadata_with_a_duplicate_name_are_not_patched() -> None:
    document = Document.parse(ODD.replace(b'"z":NaN', b'"a":0'))

    with pytest.raises(InvalidNotebook):
        edit(document, set_metadata(a=1))
    assert edit(document, set_metadata(n=1)).splices


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        apply_operation(None, None, 0)  # type: ignore[arg-type]


# Answers -----------------------------------------------------------------------------------------


def answer(*operations: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results as JSON."""
    results = edit(NOTEBOOK, *operations).results
    found: list[dict[str, Any]] = json.loads(msgspec.json.encode(results))
    return found


def test_results_have_the_final_index_of_each_cell() -> None:
    operations = [
        put("x", at="start", id="new"),
        move("c", before="b"),
        {"op": "delete", "cells": ["a"]},
        replace("b", "B"),
    ]
    applied = edit(NOTEBOOK, *operations)

    [inserted, moved, deleted, replaced] = answer(*operations)
    assert [deleted["cells"][0][name] for name in ("cell_id", "source")] == ["a", "x = 1\ny = 2"]
    assert [one["index"] for one in (inserted, moved, replaced)] == [0, 1, 2]
    assert (replaced["source_hash"], replaced["outputs_cleared"]) == (
        compute_source_hash("B"),
        True,
    )
    assert [[*astuple(cell)] for one in applied.results for cell in one.list_affected()] == [
        ["insert", "new", 0],
        ["move", "c", 1],
        ["delete", "a", 0],
        ["replace", "b", 2],
    ]


def test_outputs_are_reported_as_cleared_only_if_there_were_some() -> None:
    merge = {"op": "merge", "cells": ["b", "c"]}
    [merged, kept, bare] = answer(merge, replace("a", "x", outputs="keep"), set_metadata("e", k=1))
    assert (merged["outputs_cleared"], kept["outputs_cleared"]) == (True, False)
    assert "outputs_cleared" not in bare
    plain = notebook(samples.code("x", "b"), samples.code("y", "c"))
    assert edit(plain, merge).results[0].outputs_cleared is False
    # Those of any of the merged cells go.
    last = notebook(samples.code("x", "b"), samples.code("y", "c", **RAN))
    assert edit(last, merge).results[0].outputs_cleared is True


def test_an_execution_count_without_outputs_is_not_reported_as_outputs() -> None:
    counted = notebook(samples.code("x", "a", execution_count=3))
    clear = {"op": "clear_outputs", "cell": "a"}
    for operation in (replace("a", "y"), clear):
        applied = edit(counted, operation)

        assert applied.results[0].outputs_cleared is False
        assert [change.outputs_cleared for change in applied.changes] == [False]
        (cell,) = load_cells(apply_splices(counted.text, applied.splices))
        assert cell["execution_count"] is None
        # The undo returns the execution count, and knows a later run.
        part = applied.build_record().parts[0]
        assert (part.outputs_cleared, part.run_hash) == (False, "")
    assert "# execution count changed" in render_unified_diff("n", edit(counted, clear))
    retyped = edit(counted, {"op": "replace", "cell": "a", "cell_type": "markdown"})
    assert [change.outputs_cleared for change in retyped.changes] == [False]


def test_a_new_cell_has_no_id_in_formats_without_ids() -> None:
    document = notebook(samples.raw("a"), minor=4)

    applied = edit(document, put("x", at="end"))

    assert applied.results[0].cell_id is None
    assert "id" not in load_cells(apply_splices(document.text, applied.splices))[1]


def test_moved_cells_are_listed_as_moved() -> None:
    applied = edit(NOTEBOOK, {"op": "move", "cells": ["c", "a", "d"], "after": "e"})

    assert {step.id for step in applied.changes if step.is_moved} == {"c", "a", "d"}


def test_metadata_are_appended_to_a_notebook_that_has_none() -> None:
    document = Document.parse(b'{"nbformat": 4, "nbformat_minor": 5, "cells": []}')

    assert apply_and_join(document, set_metadata(a=1)) == (
        b'{"nbformat": 4, "nbformat_minor": 5, "cells": [], "metadata": {"a": 1}}'
    )


# The diff ----------------------------------------------------------------------------------------


def test_the_diff_of_each_cell_is_a_unified_diff() -> None:
    document = notebook(samples.code("x = 1\ny", "a", **RAN), raw("b"))

    applied = edit(document, replace(0, "x = 2\ny"), move("b", at="start"), put("new", at="end"))

    assert render_unified_diff("a.ipynb", applied).splitlines() == [
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
        f"+++ a.ipynb {NEW_ID}",
        "# inserted raw at 2",
        "@@ -0,0 +1 @@",
        "+new",
    ]


def test_the_diff_shows_that_a_cell_lost_its_metadata() -> None:
    applied = edit(notebook(raw("a", metadata={"x": 1})), set_metadata("a", x=None))

    assert render_unified_diff("n.ipynb", applied).splitlines()[2:] == [
        "# metadata",
        "@@ -1,3 +0,0 @@",
        "-{",
        '- "x": 1',
        "-}",
    ]


@pytest.mark.parametrize(
    "operations",
    [
        [set_metadata("a", x=1), replace("a", "b")],
        [put("b", at="end", metadata={})],
        [set_metadata("a", x=2), {"op": "delete", "cell": "a"}],
    ],
)
def test_the_diff_of_a_cell_whose_metadata_stay_is_only_its_source(operations: list[Any]) -> None:
    applied = edit(notebook(raw("a", metadata={"x": 1})), *operations)

    assert "# " not in render_unified_diff("n.ipynb", applied).replace(
        "# inserted raw at 1", ""
    ).replace("# deleted raw from 0", "")


def test_the_diff_of_a_new_cell_contains_its_metadata() -> None:
    applied = edit(ABC, put("x", at="end", metadata={"k": 1}))

    assert render_unified_diff("n.ipynb", applied).splitlines()[2:] == [
        "# inserted raw at 3",
        "# metadata",
        "@@ -0,0 +1,3 @@",
        "+{",
        '+ "k": 1',
        "+}",
        "# source",
        "@@ -0,0 +1 @@",
        "+x",
    ]


def test_the_diff_of_a_merge_shows_only_attachments_that_changed() -> None:
    cells = [samples.markdown(name, name, attachments={"p": ONE}) for name in "abc"]
    cells[2] = samples.markdown("c", "c", attachments={"p": ONE, "q": {}})
    for merged, is_shown in ((["a", "b"], False), (["b", "c"], True)):
        applied = edit(notebook(*cells), {"op": "merge", "cells": merged})
        text = render_unified_diff("n.ipynb", applied)
        assert ("# attachments changed" in text) == is_shown


def test_the_diff_of_metadata_is_line_by_line() -> None:
    document = notebook(raw("a", metadata={"tags": ["t"]}))

    applied = edit(
        document, set_metadata(title="x"), set_metadata("a", tags=["u"]), replace("a", "b")
    )

    assert render_unified_diff("n.ipynb", applied).splitlines() == [
        "--- n.ipynb",
        "+++ n.ipynb",
        "# metadata",
        "@@ -0,0 +1,3 @@",
        "+{",
        '+ "title": "x"',
        "+}",
        "--- n.ipynb a",
        "+++ n.ipynb a",
        "# metadata",
        "@@ -1,5 +1,5 @@",
        " {",
        '  "tags": [',
        '-  "t"',
        '+  "u"',
        "  ]",
        " }",
        "# source",
        "@@ -1 +1 @@",
        "-a",
        "+b",
    ]
