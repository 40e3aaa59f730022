"""The real notebooks, each changed in every way, and every operation on them.

What an edit must keep and must mean is in `tests.notebook.oracle`; here it meets files that no
Jupyter has written.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from jupyter_nbedit.notebook.taking_back import take_back
from tests.fuzz.budget import LIMIT_SECONDS, limit_cases
from tests.fuzz.mutators import MUTATORS
from tests.notebook.oracle import SOURCE, check, edit
from tests.notebook.undo import done, kept
from tests.support import corpora
from tests.support.sizes import run_seed, seeded_random

Batch = list[dict[str, Any]]
#: Of every mutator with every operation.
BY_DAY = 60


def check_undo(label: str, document: Document, batch: Batch) -> None:
    """Check that a batch, if it is not refused, can be taken back to the byte, and made again."""
    if (text := check(label, document, batch)) is None:
        return
    applied, after = edit(document, *batch), Document.parse(text)
    undone = take_back(after, kept(applied.record()), op="undo", exact=True)
    assert done(after, undone) == document.text, label
    redone = take_back(document, kept(undone.record()), op="redo", exact=True)
    assert done(document, redone) == text, label


def change_nothing(label: str, document: Document, at: int) -> None:
    """Check that what changes nothing writes nothing."""
    batch: Batch = [{"op": "set_metadata", "patch": {"no such member": None}}]
    cell = document.cell(at)
    if cell.metadata.get("editable") is not False:
        batch.append({"op": "replace", "cell": at, "source": cell.source, "outputs": "keep"})
    if document.metadata_span is not None:
        assert not edit(document, *batch).splices, label


def move_and_back(label: str, document: Document, at: int) -> None:
    for gap in (0, len(document)):
        once = check(label, document, [{"op": "move", "cell": at, "index": gap}])
        assert once is not None, label
        now, home = gap - (gap > at), at + (at > gap)
        home = at if at <= now else at + 1
        back = edit(Document.parse(once), {"op": "move", "cell": now, "index": home})
        assert join(once, back.splices) == document.text, label


def replace_text(label: str, document: Document, at: int) -> None:
    source = document.cell(at).source
    old = source[len(source) // 2 :][:5] or "absent"
    edits = [{"old": old, "new": SOURCE, "all": True}, {"old": "ünïcödé", "new": "x", "all": True}]
    check(label, document, [{"op": "replace_text", "cell": at, "edits": edits}])


def edit_much(label: str, document: Document, at: int) -> None:
    batch: Batch = [
        {"op": "insert", "before": at, "cell_type": "code", "source": SOURCE},
        {"op": "clear_outputs", "all": True},
        {"op": "replace", "cell": at, "source": "x\ny", "cell_type": "raw"},
        {"op": "set_metadata", "cell": at, "patch": {"tags": ["a"]}},
        {"op": "move", "cell": at, "at": "end"},
        {"op": "delete", "cell": 0},
    ]
    check_undo(label, document, batch)


def one(**operation: Any) -> Callable[[str, Document, int], None]:
    """Build a check of one operation against the model; AT is the cell, NEXT the one behind."""

    def test(label: str, document: Document, at: int) -> None:
        names = {"AT": at, "NEXT": at + 1}
        fields = {
            key: [names[part] for part in value] if key == "cells" else names.get(str(value), value)
            for key, value in operation.items()
        }
        check_undo(label, document, [fields])

    return test


_NEW = {"cell_type": "markdown", "source": SOURCE, "metadata": {"tags": ["é"]}}
_PATCH = {"tags": ["é"], "deep": {"er": [1, {}], "gone": None}, "odd-1": None}
INSERT = one(op="insert", index="AT", **_NEW)
CHECKS: Mapping[str, Callable[[str, Document, int], None]] = {
    "nothing": change_nothing,
    "insert": INSERT,
    "replace": one(op="replace", cell="AT", source=SOURCE),
    "replace text": replace_text,
    "change the type": one(op="replace", cell="AT", cell_type="code"),
    "delete": one(op="delete", cell="AT"),
    "move and back": move_and_back,
    "split": one(op="split", cell="AT", at_line=2),
    "merge": one(op="merge", cells=["AT", "NEXT"]),
    "clear all": one(op="clear_outputs", all=True),
    "set metadata": one(op="set_metadata", patch=_PATCH),
    "set metadata of a cell": one(op="set_metadata", cell="AT", patch=_PATCH),
    "batch": edit_much,
}


def parse(text: bytes) -> Document | None:
    try:
        return Document.parse(text)
    except InvalidNotebook:
        return None


def choose_cases(chance: random.Random) -> Iterator[tuple[Path, str, str]]:
    """Yield every mutator with every operation in random order, again and again."""
    paths = corpora.notebooks()
    assert len(paths) > 300
    pairs = [(mutator, operation) for mutator in MUTATORS for operation in CHECKS]
    while True:
        for pair in chance.sample(pairs, len(pairs)):
            yield chance.choice(paths), *pair


@pytest.mark.timeout(LIMIT_SECONDS)
def test_a_mutated_notebook_keeps_all_other_bytes_and_means_what_the_model_says() -> None:
    tried = 0
    cases = choose_cases(seeded_random("mutated notebooks"))
    for path, mutator, operation in limit_cases(cases, BY_DAY):
        text = path.read_bytes()
        if parse(text) is None:
            continue
        label = f"{path.name}, {mutator}, {operation}"
        chance = random.Random(f"{run_seed()} {label}")
        document = Document.parse(MUTATORS[mutator](text, chance))
        if len(document) == 0:
            INSERT(label, document, 0)
        else:
            CHECKS[operation](label, document, chance.randrange(len(document)))
        tried += 1
    print(f"{tried} edits")
    assert tried > BY_DAY / 2


def test_each_mutator_makes_a_different_notebook_that_can_be_read() -> None:
    paths = seeded_random("mutators").sample(corpora.notebooks(), 10)
    texts = [text for path in paths if parse(text := path.read_bytes()) is not None]
    changed: Counter[str] = Counter()
    for name, mutator in MUTATORS.items():
        for text in texts:
            mutated = mutator(text, random.Random(name))
            Document.parse(mutated)
            changed[name] += mutated != text
    assert all(changed[name] for name in MUTATORS), changed
