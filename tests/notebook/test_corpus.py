"""Real notebooks, every operation: all other bytes stay, and every edit can be undone.

By day a part of the notebooks is taken, others for each test, and an operation is tried at one
place of each; the nightly run takes all notebooks and several places.
"""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

from jupyter_nbedit.errors import CellProtected, InvalidNotebook, NbEditError, TextMismatch
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.sections import Outline
from jupyter_nbedit.notebook.splices import apply_splices, invert_splices
from jupyter_nbedit.notebook.undo.record import UndoRecord
from tests.notebook.oracle import SOURCE, check_batch, count_cell_bytes, edit, list_rest
from tests.notebook.undo.oracle import Batch, check_newest, check_older, has_unique_ids
from tests.support import corpora
from tests.support.sampling import is_nightly

NIGHTLY = is_nightly()
STEP = 1 if NIGHTLY else 25
# The few larger ones take as long as all others.
MAX_BYTES = 10**9 if NIGHTLY else 200_000


def is_readable(path: Path) -> bool:
    """Return whether nbformat can read the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            nbformat.reads(path.read_bytes().decode(), as_version=4)
        except Exception:  # noqa: BLE001 -- whatever it raises, it cannot read it
            return False
    return True


def documents(name: str) -> Iterator[tuple[Path, Document]]:
    """Yield the notebooks of a test, by day those whose turn it is by the test's name."""
    for path in corpora.notebooks()[len(name) % STEP :: STEP]:
        text = path.read_bytes()
        try:
            document = Document.parse(text)
        except InvalidNotebook:
            if is_readable(path):
                assert json.loads(text).get("nbformat", 1) < 4, f"{path} is refused"
        else:
            if len(text) <= MAX_BYTES:
                yield path, document


def some_cells(document: Document) -> list[int]:
    """The first, the last, and two cells between."""
    count = len(document)
    return sorted({0, count // 3, count // 2, count - 1} if count else set())


def places(document: Document) -> list[int]:
    """Where an operation is tried: at all of them, or at one that goes by the notebook's size."""
    found = some_cells(document)
    at = len(document.text) % len(found) if found else 0
    return found if NIGHTLY else found[at : at + 1]


def is_valid(text: bytes) -> bool:
    """Return whether nbformat accepts a notebook without any change."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            nbformat.validate(json.loads(text), relax_add_props=False)
        except (nbformat.ValidationError, ValueError, Warning):
            return False
    return True


def list_replaces(document: Document) -> Iterator[Batch]:
    for at in places(document):
        yield [{"op": "replace", "cell": at, "source": SOURCE}]
        yield [{"op": "replace", "cell": at, "cell_type": "raw", "outputs": "keep"}]
        yield [{"op": "replace", "cell": at, "cell_type": "code"}]
        same = document.get_cell(at).source
        yield [{"op": "replace", "cell": at, "source": same, "outputs": "keep"}]


def list_text_replacements(document: Document) -> Iterator[Batch]:
    for at in places(document):
        source = document.get_cell(at).source
        middle = source[len(source) // 2 :][:20]
        if middle and middle.isprintable():
            yield [{"op": "replace_text", "cell": at, "old": middle, "new": SOURCE}]
            edits = [{"old": middle, "new": "é", "all": True}, {"old": "é", "new": middle}]
            yield [{"op": "replace_text", "cell": at, "edits": edits, "outputs": "keep"}]


def list_inserts(document: Document) -> Iterator[Batch]:
    for at in (*places(document), len(document)):
        for cell_type in ("code", "markdown", "raw"):
            metadata = {"tags": ["é"], "n": {"deep": [1, {}]}}
            cell = {"cell_type": cell_type, "source": SOURCE, "metadata": metadata}
            yield [{"op": "insert", "index": at, **cell}]


def list_deletes(document: Document) -> Iterator[Batch]:
    for at in places(document):
        yield [{"op": "delete", "cell": at}]
    if len(document):
        yield [{"op": "delete", "cells": some_cells(document)}]
        yield [{"op": "delete", "cells": list(range(len(document)))}]


def list_moves(document: Document) -> Iterator[Batch]:
    for at in places(document):
        for gap in (0, len(document) // 2, len(document)):
            yield [{"op": "move", "cell": at, "index": gap}]
    if len(document):
        yield [{"op": "move", "cells": some_cells(document)[::-1], "at": "end"}]


def list_splits(document: Document) -> Iterator[Batch]:
    for at in places(document):
        lines = document.get_cell(at).source.count("\n")
        yield [{"op": "split", "cell": at, "at_line": max(2, lines // 2)}]


def list_merges(document: Document) -> Iterator[Batch]:
    for at in places(document):
        yield [{"op": "merge", "cells": [at, at + 1]}]
        kind = {"op": "replace", "cell_type": "markdown"}
        if at + 1 < len(document):
            merge = {"op": "merge", "cells": [at, at + 1]}
            yield [{**kind, "cell": at}, {**kind, "cell": at + 1}, merge]


def list_clearings(document: Document) -> Iterator[Batch]:
    for at in places(document):
        yield [{"op": "clear_outputs", "cell": at}]
    if len(document):
        yield [{"op": "clear_outputs", "cells": some_cells(document)}]
    yield [{"op": "clear_outputs", "all": True}]


def list_metadata_changes(document: Document) -> Iterator[Batch]:
    patch = {"tags": ["é"], "nbedit": {"deep": [1, {}]}, "collapsed": None, "scrolled": True}
    for at in places(document):
        yield [{"op": "set_metadata", "cell": at, "patch": patch}]
        yield [{"op": "set_metadata", "cell": at, "patch": {"no such": None}}]
    yield [{"op": "set_metadata", "patch": {**patch, "language_info": {"name": "x", "mode": None}}}]


def list_mixtures(document: Document) -> Iterator[Batch]:
    if len(document):
        first, last = 0, len(document) - 1
        new = {"cell_type": "markdown", "metadata": {"a": 1}}
        named = {"id": "new-1"} if document.has_ids else {}
        batch: Batch = [
            {"op": "insert", "before": first, "source": "x\ny", **new, **named},
            {"op": "clear_outputs", "all": True},
            {"op": "set_metadata", "cell": last, "patch": {"tags": ["a"]}},
            {"op": "move", "cell": last, "at": "start"},
            {"op": "insert", "after": last, "source": SOURCE, **new},
        ]
        if named:
            batch += [
                {"op": "split", "cell": "new-1", "at_line": 2},
                {"op": "replace_text", "cell": "new-1", "old": "x", "new": "z"},
                {"op": "set_metadata", "cell": "new-1", "patch": {"a": None, "b": {"c": None}}},
            ]
        yield batch


def list_section_operations(document: Document) -> Iterator[Batch]:
    outline = Outline(document)
    named = Counter(heading.raw for _, heading in outline.headings)
    apart = max(1, len(outline.headings) // (3 if NIGHTLY else 1))
    for _, heading in outline.headings[len(document.text) % apart :: apart]:
        if heading.raw and named[heading.raw] == 1:
            fields = {"section": heading.raw, "source": SOURCE}
            yield [{"op": "append_to_section", **fields}]
            yield [{"op": "replace_section", **fields}]
            yield [{"op": "remove_entry", "section": heading.raw, "match": "e"}]


CELL_CASES = [
    list_replaces,
    list_text_replacements,
    list_inserts,
    list_deletes,
    list_moves,
    list_splits,
    list_merges,
    list_clearings,
    list_metadata_changes,
    list_mixtures,
]


@pytest.mark.parametrize("cases", CELL_CASES)
def test_an_operation_preserves_all_other_bytes_and_matches_the_model(
    cases: Callable[[Document], Iterator[Batch]],
) -> None:
    edits = 0
    for path, document in documents(cases.__name__):
        for case in cases(document):
            edits += check_batch(str(path), document, case) is not None
    assert edits > 150 // STEP


def edit_elsewhere(
    before: Document, left: Document, record: UndoRecord
) -> tuple[bytes, bool] | None:
    """Return the notebook after another edit of an untouched cell, and whether it must not matter.

    The other edit changes a cell that is not beside one of the edit, where there is one, and
    inserts one at the end. A cell without id is found by its contents and by the cells beside it.
    """
    own = {part.index for part in record.parts if part.index is not None}
    gaps = {
        record.gaps[part.gap_number].gap_index
        for part in record.parts
        if part.gap_number is not None
    }
    beside = {at + step for at in own for step in (-1, 0, 1)} | gaps | {gap - 1 for gap in gaps}
    count = len(left)
    free = [at for at in range(count) if at not in own]
    apart = [at for at in free if at not in beside]
    if not free:
        return None
    chosen = (apart or free)[len(apart or free) // 2]
    new = {"op": "insert", "at": "end", "cell_type": "markdown", "source": "somebody else's"}
    other = {"op": "replace", "cell": chosen, "source": "somebody else's, too"}
    try:
        text = apply_splices(left.text, edit(left, new, other).splices)
    except NbEditError:
        return None
    if left.has_ids:
        return text, has_unique_ids(before) and has_unique_ids(left)
    is_apart = bool(apart) and not {count - 1, count} & beside
    return text, is_apart and len({left.get_cell(at).source for at in range(count)}) == count


def save(text: bytes) -> bytes:
    """Return the notebook after a save by a tab: Jupyter rewrites all of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notebook = nbformat.reads(text.decode(), as_version=nbformat.NO_CONVERT)
        return str(nbformat.writes(notebook, version=nbformat.NO_CONVERT)).encode() + b"\n"


def can_be_saved(text: bytes) -> bool:
    """Return whether nbformat can read it, and makes up no ids, which would be others each time."""
    try:
        return Document.parse(text).ids.keys() == Document.parse(save(text)).ids.keys()
    except Exception:  # noqa: BLE001 -- whatever it raises, no tab can save it
        return False


@pytest.mark.parametrize("cases", [*CELL_CASES, list_section_operations])
def test_undo_restores_all_bytes_or_those_of_the_cells_of_an_older_edit(
    cases: Callable[[Document], Iterator[Batch]],
) -> None:
    count: Counter[str] = Counter()
    for number, (path, before) in enumerate(documents(cases.__name__)):
        found_cases = list(cases(before))
        first = number % max(1, len(found_cases))
        for case in found_cases[number % 3 :: 3] if NIGHTLY else found_cases[first : first + 1]:
            found = check_newest(str(path), before, case)
            if found is None:
                continue
            count["newest"] += 1
            elsewhere = edit_elsewhere(before, *found)
            if elsewhere is None:
                continue
            text, is_clear = elsewhere
            label = f"{path}: {case}"
            reasons = check_older(before, *found, text)
            assert reasons is None or not is_clear, (label, reasons)
            count["refused" if reasons else "clear" if is_clear else "older"] += 1
            if can_be_saved(text) and can_be_saved(before.text[:]):
                reasons = check_older(before, *found, save(text), save)
                assert reasons is None or not is_clear, (label, reasons)
                count["refused" if reasons else "clear" if is_clear else "older"] += 1
    print(dict(count))
    # Few notebooks would prove little.
    assert count["newest"] > (10 if NIGHTLY else 2)
    if NIGHTLY:
        assert count["clear"] > 25
        # Cells without ids are often alike, or beside a cell that others have changed as well.
        assert count["refused"] * 3 < count["older"] + count["clear"]


def test_a_valid_notebook_stays_valid() -> None:
    valid = 0
    for path, document in documents("validates"):
        if not is_valid(document.text[:]):
            continue
        valid += 1
        middle = len(document) // 2
        batches: list[Batch] = [
            [{"op": "insert", "at": "end", "cell_type": "markdown", "source": SOURCE}]
        ]
        if len(document):
            batches += [
                [{"op": "replace", "cell": middle, "source": SOURCE}],
                [{"op": "replace", "cell": middle, "source": SOURCE, "cell_type": "code"}],
                [{"op": "replace", "cell": middle, "cell_type": "markdown"}],
                [{"op": "move", "cell": middle, "at": "start"}],
                [{"op": "delete", "cell": middle}],
                [{"op": "insert", "before": middle, "cell_type": "code", "source": SOURCE}],
            ]
        for batch in batches:
            text = apply_splices(document.text, edit(document, *batch).splices)
            assert is_valid(text), f"{path}: {batch}"
    assert valid > 200 // STEP


def test_section_operations_preserve_all_other_bytes() -> None:
    counts: Counter[str] = Counter()
    for path, document in documents("sections of notebooks"):
        was_valid = is_valid(document.text[:])
        for [operation] in list_section_operations(document):
            try:
                splices = edit(document, operation).splices
            except (CellProtected, TextMismatch):
                continue
            name = operation["section"]
            text = apply_splices(document.text, splices)
            now = Document.parse(text)
            others = set(range(len(document))) - set(Outline(document).find_section(name).cells)
            assert list_rest(now) == list_rest(document), f"{path}: {operation}"
            untouched_bytes = count_cell_bytes(document, others)
            assert not untouched_bytes - count_cell_bytes(now, range(len(now))), (
                f"{path}: {operation}"
            )
            assert apply_splices(text, invert_splices(document.text, splices)) == document.text
            if operation["op"] != "remove_entry":
                held = [now.get_cell(at).source for at in Outline(now).find_section(name).cells]
                assert SOURCE in "\n".join(held), f"{path}: {operation}"
            assert not was_valid or is_valid(text), f"{path}: {operation}"
            counts[operation["op"]] += 1
    assert len(counts) == 3
    assert min(counts.values()) >= 25 // STEP
