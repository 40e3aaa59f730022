"""The real notebooks, each mangled in every way, and every operation on them.

By day a sample, at night all of it. What an edit must keep and must mean is said in
`tests.notebook.oracle`; here it meets files that no Jupyter has written.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from jupyter_nbedit.notebook.taking_back import take_back
from tests.fuzz import chance
from tests.fuzz.mutators import MUTATORS
from tests.notebook.oracle import SOURCE, check, edit
from tests.notebook.undo import done, kept
from tests.support import corpora
from tests.support.sizes import is_nightly

Batch = list[dict[str, Any]]

NIGHTLY = is_nightly()
SAMPLE = 500


def check_undo(label: str, document: Document, batch: Batch) -> None:
    """Check that a batch, if it is not refused, can be taken back to the byte, and made again."""
    if (text := check(label, document, batch)) is None:
        return
    after, record = Document.parse(text), kept(edit(document, *batch).record())
    undone = take_back(after, record, op="undo", exact=True)
    assert done(after, undone) == document.text, label
    redone = take_back(document, kept(undone.record()), op="redo", exact=True)
    assert done(document, redone) == text, label


def nothing(label: str, document: Document, at: int) -> None:
    """What changes nothing writes nothing."""
    batch: Batch = [{"op": "set_metadata", "patch": {"no such member": None}}]
    cell = document.cell(at)
    if cell.metadata.get("editable") is not False:
        same = {"source": cell.source, "outputs": "keep"}
        batch.append({"op": "replace", "cell": at, **same})
    if document.metadata_span is not None:
        assert not edit(document, *batch).splices, label


def operation(**fields: Any) -> Callable[[str, Document, int], None]:
    """One operation on a cell, against the model."""

    def test(label: str, document: Document, at: int) -> None:
        check(label, document, [{"cell": at, **fields}])

    return test


def inserted(label: str, document: Document, at: int) -> None:
    new = {"cell_type": "markdown", "source": SOURCE, "metadata": {"tags": ["é"]}}
    check(label, document, [{"op": "insert", "index": at, **new}])


def text_replaced(label: str, document: Document, at: int) -> None:
    source = document.cell(at).source
    old = source[len(source) // 2 :][:5] or "absent"
    edits = [{"old": old, "new": SOURCE, "all": True}, {"old": "ünïcödé", "new": "x", "all": True}]
    check(label, document, [{"op": "replace_text", "cell": at, "edits": edits}])


def deleted_and_undone(label: str, document: Document, at: int) -> None:
    check_undo(label, document, [{"op": "delete", "cell": at}])


def moved_and_back(label: str, document: Document, at: int) -> None:
    for gap in (0, len(document)):
        once = check(label, document, [{"op": "move", "cell": at, "index": gap}])
        assert once is not None, label
        now, home = gap - (gap > at), at + (at > gap)
        home = at if at <= now else at + 1
        back = edit(Document.parse(once), {"op": "move", "cell": now, "index": home})
        assert join(once, back.splices) == document.text, label


def split(label: str, document: Document, at: int) -> None:
    check(label, document, [{"op": "split", "cell": at, "at_line": 2}])


def merged(label: str, document: Document, at: int) -> None:
    check(label, document, [{"op": "merge", "cells": [at, at + 1]}])


def all_cleared(label: str, document: Document, _at: int) -> None:
    check(label, document, [{"op": "clear_outputs", "all": True}])


def described(label: str, document: Document, at: int) -> None:
    patch = {"tags": ["é"], "deep": {"er": [1, {}], "gone": None}, "odd-1": None}
    check(label, document, [{"op": "set_metadata", "patch": patch}])
    check(label, document, [{"op": "set_metadata", "cell": at, "patch": patch}])


def mixed(label: str, document: Document, at: int) -> None:
    batch: Batch = [
        {"op": "insert", "before": at, "cell_type": "code", "source": SOURCE},
        {"op": "clear_outputs", "all": True},
        {"op": "replace", "cell": at, "source": "x\ny", "cell_type": "raw"},
        {"op": "set_metadata", "cell": at, "patch": {"tags": ["a"]}},
        {"op": "move", "cell": at, "at": "end"},
        {"op": "delete", "cell": 0},
    ]
    check_undo(label, document, batch)


BY_DAY: Mapping[str, Callable[[str, Document, int], None]] = {
    "nothing": nothing,
    "replace": operation(op="replace", source=SOURCE),
    "insert": inserted,
    "delete and undo": deleted_and_undone,
    "move and back": moved_and_back,
    "batch": mixed,
}
AT_NIGHT = {
    **BY_DAY,
    "replace text": text_replaced,
    "change the type": operation(op="replace", cell_type="code"),
    "split": split,
    "merge": merged,
    "clear all": all_cleared,
    "set metadata": described,
}


def documents() -> list[Path]:
    """The notebooks that can be read as they are."""
    found = []
    for path in corpora.notebooks():
        try:
            Document.parse(path.read_bytes())
        except InvalidNotebook:
            continue
        found.append(path)
    return found


def test_a_mangled_notebook_keeps_all_other_bytes_and_means_what_the_model_says() -> None:
    seed = chance.seed()
    paths, draw = documents(), random.Random(seed)
    assert len(paths) > 300
    if NIGHTLY:
        cases = [(path, name, does) for path in paths for name in MUTATORS for does in AT_NIGHT]
    else:
        # Every mutator with every operation, on whatever notebooks.
        pairs = [(name, does) for name in MUTATORS for does in BY_DAY]
        pairs += draw.choices(pairs, k=max(0, SAMPLE - len(pairs)))
        cases = [(draw.choice(paths), *pair) for pair in pairs]
    done: Counter[str] = Counter()
    for path, name, does in cases:
        label = f"{path.name}, {name}, {does}"
        chosen = random.Random(f"{seed} {label}")
        text = MUTATORS[name](path.read_bytes(), chosen)
        document = Document.parse(text)
        if len(document) == 0:
            inserted(label, document, 0)
        else:
            AT_NIGHT[does](label, document, chosen.randrange(len(document)))
        done[name] += 1
    print(f"{len(cases)} edits of {len(paths)} notebooks: {dict(done)}")
    assert len(cases) >= SAMPLE


@pytest.mark.parametrize("name", MUTATORS)
def test_a_mutator_changes_what_it_is_given_into_what_can_still_be_read(name: str) -> None:
    changed = 0
    for path in documents()[::20]:
        text = path.read_bytes()
        mangled = MUTATORS[name](text, random.Random(name))
        Document.parse(mangled)
        changed += mangled != text
    assert changed > 5
