"""What every edit must keep and must mean, whatever notebook it is made on."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from jupyter_nbedit.notebook.batch import Applied, apply
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.splices import backwards, join
from tests.notebook import model

SOURCE = 'a = "1"\n# ünïcödé \U0001f600 \\ \t\nb'
NEW_ID = "fresh-id"

#: Operations, what they do to the model's cells, and the indexes of the cells they change.
Case = tuple[list[dict[str, Any]], Callable[[list[Any]], list[Any]], set[int]]

_DECODER = msgspec.json.Decoder(list[Operation])


def edit(document: Document, *operations: dict[str, Any]) -> Applied:
    batch = _DECODER.decode(json.dumps(operations).encode())
    numbers = itertools.count()
    return apply(
        document, batch, fresh_id=lambda: f"{NEW_ID}-{n}" if (n := next(numbers)) else NEW_ID
    )


def untouched(document: Document, touched: set[int]) -> Counter[bytes]:
    """The bytes of every cell an operation has no business with."""
    spans = (span for at, span in enumerate(document.cell_spans) if at not in touched)
    return Counter(document.text[span.start : span.stop] for span in spans)


def around(document: Document) -> tuple[bytes, bytes]:
    """The bytes before and after the array of cells."""
    return (
        document.text[: document.cells_span.start + 1],
        document.text[document.cells_span.stop - 1 :],
    )


def check(label: str, document: Document, case: Case) -> None:
    operations, expected, touched = case
    label = f"{label}: {operations}"
    applied = edit(document, *operations)
    text = join(document.text, applied.splices)
    after = Document.parse(text)

    assert around(after) == around(document), label
    assert not untouched(document, touched) - untouched(after, set()), label

    before_value, after_value = model.loads(document.text), model.loads(text)
    cells = [model.joined(cell) for cell in before_value.pop("cells")]
    cells_after = [model.joined(cell) for cell in after_value.pop("cells")]
    assert cells_after == expected(cells), label
    assert after_value == before_value, label

    assert join(text, backwards(document.text, applied.splices)) == document.text, label
