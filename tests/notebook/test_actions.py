"""What the operations do to bytes, and what is shown of it, where the model does not look."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_nbedit.errors import CellProtected, InvalidNotebook, InvalidOperation
from jupyter_nbedit.notebook.actions import perform
from jupyter_nbedit.notebook.diff import unified
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from jupyter_nbedit.notebook.workspace import Workspace
from tests.notebook.oracle import NEW_ID, edit
from tests.support import samples

ODD = b"""{"nbformat_minor":5, "nbformat":4,
"metadata" : {"z":NaN ,"a":[1,\t2],"n":{"\\u0065":1e400}},
"cells":[{"cell_type":"raw","id":"x","source":"\\u0041","metadata":{
   "b" : "\\/" ,"tags":["t"], "k":{ } }}]}"""


def after(document: Document, *operations: dict[str, Any]) -> bytes:
    return join(document.text, edit(document, *operations).splices)


@pytest.mark.parametrize(
    ("cell", "patch", "old", "new"),
    [
        ("x", {"tags": ["u"]}, b'["t"]', b'["u"]'),
        ("x", {"tags": None}, b' ,"tags":["t"]', b""),
        ("x", {"b": None}, b'"b" : "\\/" ,"tags"', b'"tags"'),
        (None, {"n": {"e": 2}}, b"1e400", b"2"),
        (None, {"n": {"e": None}}, b'{"\\u0065":1e400}', b"{}"),
        (None, {"z": "é"}, b"NaN", '"é"'.encode()),
        (None, {"n": 1}, b'{"\\u0065":1e400}', b"1"),
    ],
)
def test_only_the_members_that_a_patch_names_change_their_bytes(
    cell: str | None, patch: dict[str, Any], old: bytes, new: bytes
) -> None:
    named = {} if cell is None else {"cell": cell}

    text = after(Document.parse(ODD), {"op": "set_metadata", "patch": patch, **named})

    assert text == ODD.replace(old, new)


@pytest.mark.parametrize(
    "patch", [{}, {"tags": ["t"]}, {"b": "/"}, {"k": {}}, {"missing": None, "k": {"no": None}}]
)
def test_a_patch_that_says_what_is_so_already_changes_nothing(patch: dict[str, Any]) -> None:
    assert not edit(Document.parse(ODD), {"op": "set_metadata", "cell": 0, "patch": patch}).splices


def test_new_metadata_stand_where_nbformat_would_have_put_them() -> None:
    document = Document.parse(samples.three_cells())
    patch = {"authors": [{"name": "x"}], "title": "y"}
    operations: list[dict[str, Any]] = [
        {"op": "set_metadata", "patch": patch},
        {"op": "set_metadata", "cell": 0, "patch": {"tags": ["a"], "k": {"b": {"c": []}}}},
    ]

    text = after(document, *operations)

    again = json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert text.decode() == again


def test_a_notebook_or_cell_without_metadata_gets_some() -> None:
    cell = {"cell_type": "raw", "source": "x"}
    top = {"cells": [cell], "nbformat": 4, "nbformat_minor": 4}
    document = Document.parse(json.dumps(top).encode())
    patch = {"op": "set_metadata", "patch": {"a": 1}}

    notebook = json.loads(after(document, patch, {**patch, "cell": 0}))

    assert notebook == {**top, "cells": [{**cell, "metadata": {"a": 1}}], "metadata": {"a": 1}}


def test_a_name_that_stands_twice_in_metadata_is_not_patched() -> None:
    document = Document.parse(ODD.replace(b'"z":NaN', b'"a":0'))

    with pytest.raises(InvalidNotebook, match="'a'"):
        edit(document, {"op": "set_metadata", "patch": {"a": 1}})
    assert edit(document, {"op": "set_metadata", "patch": {"n": 1}}).splices


def test_a_cell_that_is_not_editable_can_be_made_so_and_then_edited() -> None:
    document = Document.parse(samples.notebook(samples.raw("x", "x", metadata={"editable": False})))
    unlock = {"op": "set_metadata", "cell": "x", "patch": {"editable": None}}
    replace = {"op": "replace", "cell": "x", "source": "y"}

    assert samples.cells_of(after(document, unlock, replace))[0]["source"] == "y"
    for refused in (
        [replace],
        [{**unlock, "patch": {"tags": []}}],
        [unlock, {**unlock, "patch": {"editable": False}}, replace],
    ):
        with pytest.raises(CellProtected):
            edit(document, *refused)


def test_attachments_come_together_when_cells_are_merged() -> None:
    images = [{"a.png": {"image/png": "QQ=="}}, {"b.png": {"image/png": "Qg=="}}]
    cells = [samples.markdown(f"![]({n})", f"c{n}", attachments=images[n]) for n in (0, 1)]
    plain = samples.markdown("words", "plain")
    merge = {"op": "merge", "cells": [0, 1, 2]}

    for order in ([*cells, plain], [plain, *cells]):
        [cell] = samples.cells_of(after(Document.parse(samples.notebook(*order)), merge))
        assert cell["attachments"] == images[0] | images[1]
    clash = samples.markdown("", "c2", attachments={"a.png": {"image/png": "Qw=="}})
    with pytest.raises(InvalidOperation, match=r"a\.png"):
        edit(Document.parse(samples.notebook(*cells, clash)), merge)


def test_a_split_cell_has_its_attachments_twice_and_is_running_once() -> None:
    running = {"execution": {"iopub.execute_input": "now"}, "tags": ["a"]}
    image = {"a.png": {"image/png": "QQ=="}}
    document = Document.parse(
        samples.notebook(
            samples.code("1\n2", "code", metadata=running),
            samples.markdown("1\n2", "text", attachments=image),
        )
    )

    cells = samples.cells_of(
        after(document, *({"op": "split", "cell": at, "at_line": 2} for at in (0, 1)))
    )

    assert [cell["metadata"] for cell in cells[:2]] == [running, {"tags": ["a"]}]
    assert [cell.get("attachments") for cell in cells[2:]] == [image, image]
    assert [cell["id"] for cell in cells] == ["code", NEW_ID, "text", f"{NEW_ID}-1"]


def test_merging_undoes_splitting() -> None:
    document = Document.parse(samples.notebook(samples.raw("a\n\nb\n", "x")))
    split = after(document, {"op": "split", "cell": 0, "at_line": 2})

    assert after(Document.parse(split), {"op": "merge", "cells": [0, 1]}) == document.text


def test_cells_merge_that_the_batch_itself_put_side_by_side() -> None:
    document = Document.parse(samples.notebook(*(samples.raw(name, name) for name in "abc")))
    insert = {"op": "insert", "after": "c", "id": "d", "cell_type": "raw", "source": "d"}

    text = after(
        document,
        {"op": "move", "cell": "a", "after": "c"},
        {"op": "delete", "cell": "b"},
        insert,
        {"op": "move", "cell": "d", "after": "a"},
        {"op": "merge", "cells": ["c", "a", "d"]},
    )

    assert [cell["source"] for cell in samples.cells_of(text)] == ["c\na\nd"]


def test_a_position_beside_a_new_cell_that_is_gone_is_where_it_was() -> None:
    document = Document.parse(samples.notebook(*(samples.raw(name, name) for name in "ab")))
    insert = {"op": "insert", "cell_type": "raw", "source": "x"}

    text = after(
        document,
        {**insert, "after": "a", "id": "new"},
        {"op": "delete", "cell": "new"},
        {**insert, "after": "new"},
    )

    assert [cell["source"] for cell in samples.cells_of(text)] == ["a", "x", "b"]


def test_a_source_with_a_lone_surrogate_can_be_edited_around_it() -> None:
    text = samples.notebook(samples.raw("x 1", "x")).replace(b"x 1", b"\\ud83d 1")
    replace = {"op": "replace_text", "cell": "x", "old": "1", "new": "2"}

    assert after(Document.parse(text), replace) == text.replace(b" 1", b" 2")


def test_the_diff_shows_metadata_line_by_line() -> None:
    document = Document.parse(samples.notebook(samples.raw("a", "a", metadata={"tags": ["t"]})))

    applied = edit(
        document,
        {"op": "set_metadata", "patch": {"title": "x"}},
        {"op": "set_metadata", "cell": "a", "patch": {"tags": ["u"]}},
        {"op": "replace_text", "cell": "a", "old": "a", "new": "b"},
    )

    assert unified("n.ipynb", applied.changes).splitlines() == [
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


def test_an_event_has_an_entry_for_each_cell_that_was_touched() -> None:
    document = Document.parse(samples.three_cells())

    applied = edit(
        document,
        {"op": "clear_outputs", "all": True},
        {"op": "delete", "cells": ["beta", "gamma"]},
        {"op": "set_metadata", "patch": {}},
    )

    assert [list(entry.values()) for done in applied.results for entry in done.entries()] == [
        ["clear_outputs", "alpha", 0],
        ["delete", "beta", 1],
        ["delete", "gamma", 2],
        ["set_metadata", None, None],
    ]


def test_a_thousand_cells_can_be_inserted_each_behind_the_one_before() -> None:
    cells = [samples.raw("a\nb", f"c{at}") for at in range(2000)]
    document = Document.parse(samples.notebook(*cells))
    chain = [{"op": "insert", "after": "c0", "id": "i0", "cell_type": "raw", "source": "0"}]
    chain += [
        {"op": "insert", "after": f"i{at}", "id": f"i{at + 1}", "cell_type": "raw", "source": "x"}
        for at in range(999)
    ]

    text = after(document, *chain)

    assert [cell["id"] for cell in samples.cells_of(text)][:1002] == [
        "c0",
        *(f"i{at}" for at in range(1000)),
        "c1",
    ]


def test_what_is_no_operation_cannot_be_done() -> None:
    workspace = Workspace(Document.parse(ODD), lambda: "new")
    with pytest.raises(NotImplementedError):
        perform(None, workspace, 0)  # type: ignore[arg-type]
