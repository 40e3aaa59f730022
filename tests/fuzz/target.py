"""What Atheris runs: ``python -m tests.fuzz.target FOLDER`` or, to see a crash again, ``… FILE``.

Whatever the bytes are, the scanners must find in them what Python's ``json`` does; and if they are
a notebook, an edit of it must mean what the model says and leave all other bytes.
"""

import random
import sys
import zlib
from typing import Any

import atheris

with atheris.instrument_imports(include=["jupyter_nbedit.notebook"], enable_loader_override=False):
    from jupyter_nbedit.errors import NbEditError
    from jupyter_nbedit.notebook.document import Document
    from jupyter_nbedit.notebook.splices import apply_splices, invert_splices
    from tests.fuzz import scanners
    from tests.notebook import model
    from tests.notebook.oracle import check_batch, edit
    from tests.support.sampling import is_nightly

# An edit, and what it means to the model, costs thirty times what finding the spans does.
ONE_IN = 12
SOURCES = ("", "x", 'a = "1"\n# \U0001f600 \\ \t\nb', "\x00\u2028")


def check_input(text: bytes) -> None:
    """Test one text."""
    scanners.compare_json(text)
    document = scanners.compare_scanners(text, is_brief=not is_nightly())
    if document is not None:
        chance = random.Random(zlib.crc32(text))
        if chance.randrange(ONE_IN) == 0:
            check_random_edit(document, chance)


def check_random_edit(document: Document, chance: random.Random) -> None:
    """Make one edit that fits the notebook, and check it."""
    batch = [draw_operation(document, chance) for _ in range(chance.choice((1, 1, 1, 2)))]
    try:
        splices = edit(document, *batch).splices
    except NbEditError:
        return
    text = apply_splices(document.text, splices)
    assert scanners.describe(document.apply_splices(splices)) == scanners.describe(
        Document.parse(text)
    )
    assert apply_splices(text, invert_splices(document.text, splices)) == document.text
    # By day the model is held against notebooks that nbformat would take, in tests/notebook.
    if is_nightly() and all(
        is_regular(cell) for cell in model.decode_notebook(document.text)["cells"]
    ):
        check_batch("fuzz", document, batch)


def is_regular(cell: dict[str, Any]) -> bool:
    """Return whether the model supports edits of the cell."""
    of_a_run = {"execution_count", "outputs"} & cell.keys()
    return (
        cell.get("cell_type") in {"code", "markdown", "raw"}
        and len(of_a_run) == (2 if cell["cell_type"] == "code" else 0)
        # The model reads a number as a string that contains its digits.
        and isinstance(cell.get("execution_count"), (str, type(None)))
        and isinstance(cell.get("id", ""), str)
        and isinstance(cell.get("metadata", {}), dict)
        and isinstance(cell.get("attachments", {}), dict)
        and isinstance(cell.get("outputs", []), list)
        and isinstance(cell.get("source", ""), (str, list))
        and all(isinstance(line, str) for line in cell.get("source", ""))
    )


def draw_operation(document: Document, chance: random.Random) -> dict[str, Any]:
    """Draw an operation."""
    count = len(document)
    new = {"source": chance.choice(SOURCES), "cell_type": chance.choice(("code", "markdown"))}
    kinds: list[dict[str, Any]] = [
        {"op": "insert", "index": chance.randint(0, count), "metadata": {"é": [1, {}]}, **new},
        {"op": "set_metadata", "patch": {"tags": ["a"], "é": {"n": None, "m": 1}}},
        {"op": "clear_outputs", "all": True},
    ]
    if count:
        at = chance.randrange(count)
        kinds += [
            {"op": "replace", "cell": at, "source": new["source"], "outputs": "keep"},
            {"op": "replace", "cell": at, **new},
            {"op": "delete", "cell": at},
            {"op": "move", "cell": at, "index": chance.randint(0, count)},
            {"op": "split", "cell": at, "at_line": 2},
            {"op": "merge", "cells": [at, at + 1]},
            {"op": "set_metadata", "cell": at, "patch": {"tags": ["a"], "x": None}},
            {"op": "replace_text", "cell": at, "old": "x", "new": new["source"], "all": True},
        ]
    return chance.choice(kinds)


if __name__ == "__main__":
    atheris.Setup(sys.argv, check_input)
    atheris.Fuzz()
