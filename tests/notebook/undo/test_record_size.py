"""The size of an undo record: removed content once, untouched content never."""

import os
from typing import Any

import pytest

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import apply_splices
from jupyter_nbedit.notebook.undo.revert import revert
from tests.notebook.oracle import edit
from tests.notebook.undo.oracle import check_newest
from tests.support.samples import code, markdown, notebook

SIZE = 200_000


def output() -> dict[str, Any]:
    """An output that does not shrink."""
    return {"output_type": "stream", "name": "stdout", "text": os.urandom(SIZE // 2).hex()}


def large() -> Document:
    return Document.parse(
        notebook(
            markdown("# Title", "top"),
            code("one", "one", outputs=[output()], execution_count=1),
            code("two", "two", outputs=[output()]),
            code("three", "three", outputs=[output()]),
        )
    )


@pytest.mark.parametrize(
    ("operations", "outputs"),
    [
        ([{"op": "replace", "cell": "one", "source": "x", "outputs": "keep"}], 0),
        ([{"op": "replace_text", "cell": "one", "old": "n", "new": "x", "outputs": "keep"}], 0),
        ([{"op": "set_metadata", "cell": "one", "patch": {"tags": ["a"]}}], 0),
        ([{"op": "move", "cell": "one", "at": "end"}], 0),
        ([{"op": "move", "cells": ["three", "one", "two"], "at": "start"}], 0),
        (
            [
                {"op": "move", "cell": "one", "at": "end"},
                {"op": "set_metadata", "cell": "one", "patch": {"tags": ["a"]}},
            ],
            0,
        ),
        ([{"op": "insert", "before": "two", "cell_type": "code", "source": "x"}], 0),
        ([{"op": "replace", "cell": "one", "source": "x"}], 1),
        ([{"op": "replace", "cell": "one", "cell_type": "raw"}], 1),
        ([{"op": "delete", "cells": ["one", "two"]}], 2),
        ([{"op": "merge", "cells": ["one", "two"]}], 2),
        ([{"op": "split", "cell": "one", "at_line": 2}], 1),
        ([{"op": "clear_outputs", "all": True}], 3),
        ([{"op": "delete", "cell": "one"}, {"op": "move", "cell": "two", "at": "end"}], 1),
    ],
)
def test_removed_outputs_are_stored_once_and_others_never(
    operations: list[dict[str, Any]], outputs: int
) -> None:
    document = large()
    if operations[0]["op"] == "split":
        lines = [{"op": "replace", "cell": "one", "source": "a\nb", "outputs": "keep"}]
        document = Document.parse(apply_splices(document.text, edit(document, *lines).splices))

    applied = edit(document, *operations)
    record = applied.build_record()
    left = Document.parse(apply_splices(document.text, applied.splices))
    undone = revert(left, record, op="undo", is_exact=True)

    assert outputs * SIZE <= len(record.blob) < outputs * SIZE + 3000
    assert len(record.encode()) < outputs * SIZE * 0.6 + 3000
    # Undo restores outputs, and removes none; the forward record has the size of an undo.
    assert len(undone.build_record().blob) < 3000
    assert len(applied.build_forward_record().blob) < 3000
    assert check_newest("large", document, operations)
