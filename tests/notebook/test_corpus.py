"""Every real notebook, every operation: all other bytes stay, and every edit can be undone.

Each operation is tried at one place of each notebook, at another one of each; the nightly run tries
all of them everywhere.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from markdown_it import MarkdownIt

from jupyter_nbedit.errors import CellProtected, InvalidNotebook, TextMismatch
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.markdown import headings
from jupyter_nbedit.notebook.sections import Outline
from jupyter_nbedit.notebook.splices import backwards, join
from tests.notebook.oracle import SOURCE, around, bytes_of, check, edit
from tests.support import corpora
from tests.support.sizes import is_nightly

Batch = list[dict[str, Any]]

NIGHTLY = is_nightly()


def readable(path: Path) -> bool:
    """Whether nbformat can read the file, as the issue has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            nbformat.reads(path.read_bytes().decode(), as_version=4)
        except Exception:  # noqa: BLE001 -- whatever it raises, it cannot read it
            return False
    return True


def documents() -> Iterator[tuple[Path, Document]]:
    for path in corpora.notebooks():
        text = path.read_bytes()
        try:
            yield path, Document.parse(text)
        except InvalidNotebook:
            if readable(path):
                assert json.loads(text).get("nbformat", 1) < 4, f"{path} is refused"


def some_cells(document: Document) -> list[int]:
    """The first, the last, and two cells between."""
    count = len(document)
    return sorted({0, count // 3, count // 2, count - 1} if count else set())


def places(document: Document) -> list[int]:
    """Where an operation is tried: at all of them, or at one that goes by the notebook's size."""
    found = some_cells(document)
    at = len(document.text) % len(found) if found else 0
    return found if NIGHTLY else found[at : at + 1]


def validates(text: bytes) -> bool:
    """Whether nbformat has nothing to say, not even that it made up an id."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            nbformat.validate(json.loads(text), relax_add_props=False)
        except (nbformat.ValidationError, ValueError, Warning):
            return False
    return True


def replaces(document: Document) -> Iterator[Batch]:
    for at in places(document):
        yield [{"op": "replace", "cell": at, "source": SOURCE}]
        yield [{"op": "replace", "cell": at, "cell_type": "raw", "outputs": "keep"}]
        yield [{"op": "replace", "cell": at, "cell_type": "code"}]


def text_replacements(document: Document) -> Iterator[Batch]:
    for at in places(document):
        source = document.cell(at).source
        middle = source[len(source) // 2 :][:20]
        if middle and middle.isprintable():
            yield [{"op": "replace_text", "cell": at, "old": middle, "new": SOURCE}]
            edits = [{"old": middle, "new": "é", "all": True}, {"old": "é", "new": middle}]
            yield [{"op": "replace_text", "cell": at, "edits": edits, "outputs": "keep"}]


def inserts(document: Document) -> Iterator[Batch]:
    for at in (*places(document), len(document)):
        for cell_type in ("code", "markdown", "raw"):
            metadata = {"tags": ["é"], "n": {"deep": [1, {}]}}
            cell = {"cell_type": cell_type, "source": SOURCE, "metadata": metadata}
            yield [{"op": "insert", "index": at, **cell}]


def deletes(document: Document) -> Iterator[Batch]:
    for at in places(document):
        yield [{"op": "delete", "cell": at}]
    if len(document):
        yield [{"op": "delete", "cells": some_cells(document)}]
        yield [{"op": "delete", "cells": list(range(len(document)))}]


def moves(document: Document) -> Iterator[Batch]:
    for at in places(document):
        for gap in (0, len(document) // 2, len(document)):
            yield [{"op": "move", "cell": at, "index": gap}]
    if len(document):
        yield [{"op": "move", "cells": some_cells(document)[::-1], "at": "end"}]


def splits(document: Document) -> Iterator[Batch]:
    for at in places(document):
        lines = document.cell(at).source.count("\n")
        yield [{"op": "split", "cell": at, "at_line": max(2, lines // 2)}]


def merges(document: Document) -> Iterator[Batch]:
    for at in places(document):
        yield [{"op": "merge", "cells": [at, at + 1]}]
        kind = {"op": "replace", "cell_type": "markdown"}
        if at + 1 < len(document):
            merge = {"op": "merge", "cells": [at, at + 1]}
            yield [{**kind, "cell": at}, {**kind, "cell": at + 1}, merge]


def clearings(document: Document) -> Iterator[Batch]:
    for at in places(document):
        yield [{"op": "clear_outputs", "cell": at}]
    if len(document):
        yield [{"op": "clear_outputs", "cells": some_cells(document)}]
    yield [{"op": "clear_outputs", "all": True}]


def metadata_changes(document: Document) -> Iterator[Batch]:
    patch = {"tags": ["é"], "nbedit": {"deep": [1, {}]}, "collapsed": None, "scrolled": True}
    for at in places(document):
        yield [{"op": "set_metadata", "cell": at, "patch": patch}]
        yield [{"op": "set_metadata", "cell": at, "patch": {"no such": None}}]
    yield [{"op": "set_metadata", "patch": {**patch, "language_info": {"name": "x", "mode": None}}}]


def mixtures(document: Document) -> Iterator[Batch]:
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


@pytest.mark.parametrize(
    "cases",
    [
        replaces,
        text_replacements,
        inserts,
        deletes,
        moves,
        splits,
        merges,
        clearings,
        metadata_changes,
        mixtures,
    ],
)
def test_an_operation_leaves_all_other_bytes_and_means_what_the_model_says(
    cases: Callable[[Document], Iterator[Batch]], capsys: pytest.CaptureFixture[str]
) -> None:
    total, seen, edits, refused = len(corpora.notebooks()), 0, 0, 0
    for path, document in documents():
        seen += 1
        for case in cases(document):
            done = check(str(path), document, case)
            edits, refused = edits + (done is not None), refused + (done is None)
    with capsys.disabled():
        print(
            f"\n  {cases.__name__}: {edits} edits of {seen} notebooks, {refused} refused as in the "
            f"model; {total - seen} files are no notebooks of nbformat 4",
            end=" ",
        )
    assert edits > 150
    assert seen > 300


def test_what_validated_before_validates_after(capsys: pytest.CaptureFixture[str]) -> None:
    valid, invalid = 0, 0
    for path, document in documents():
        if not validates(document.text[:]):
            invalid += 1
            continue
        valid += 1
        middle = len(document) // 2
        batches: list[list[dict[str, Any]]] = [
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
            text = join(document.text, edit(document, *batch).splices)
            assert validates(text), f"{path}: {batch}"
    with capsys.disabled():
        print(f"\n  {valid} notebooks validate before and after, {invalid} never did", end=" ")
    assert valid > 200


def test_inserting_and_deleting_again_gives_the_file_back() -> None:
    for path, document in documents():
        for at in (*places(document), len(document)):
            once = join(
                document.text,
                edit(
                    document, {"op": "insert", "index": at, "cell_type": "raw", "source": "x"}
                ).splices,
            )
            again = Document.parse(once)
            twice = join(once, edit(again, {"op": "delete", "cell": at}).splices)
            # Of the white space in an array without cells nothing is left to go by.
            assert twice == document.text or not len(document), f"{path}: {at}"


def test_moving_and_moving_back_gives_the_file_back() -> None:
    for path, document in documents():
        for at in places(document):
            for gap in (0, len(document) // 2, len(document)):
                once = join(
                    document.text, edit(document, {"op": "move", "cell": at, "index": gap}).splices
                )
                now = gap - (gap > at)
                home = at if at <= now else at + 1
                back = edit(Document.parse(once), {"op": "move", "cell": now, "index": home})
                assert join(once, back.splices) == document.text, f"{path}: {at} to {gap}"


def test_replacing_a_source_by_itself_changes_nothing() -> None:
    for path, document in documents():
        for at in range(len(document)):
            if document.cell(at).metadata.get("editable") is False:
                continue
            source = document.cell(at).source
            operation = {"op": "replace", "cell": at, "source": source, "outputs": "keep"}
            assert not edit(document, operation).splices, f"{path}: cell {at}"


def test_headings_are_where_a_markdown_parser_finds_them() -> None:
    parser = MarkdownIt("commonmark")
    cells, found = 0, 0
    for path, document in documents():
        for at, (_, cell_type) in enumerate(document.heads):
            if cell_type != "markdown":
                continue
            source = document.cell(at).source
            expected = [
                (int(token.tag[1]), token.map[0] + 1)
                for token in parser.parse(source)
                if token.type == "heading_open" and token.level == 0 and token.map
            ]
            ours = [(heading.level, heading.line) for heading in headings(source)]
            assert ours == expected, f"{path}: cell {at}"
            cells, found = cells + 1, found + len(ours)
    assert cells > 1000
    assert found > 1000


def test_operations_on_sections_leave_all_other_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    done: Counter[str] = Counter()
    for path, document in documents():
        outline = Outline(document)
        named = Counter(heading.raw for _, heading in outline.headings)
        apart = max(1, len(outline.headings) // (3 if NIGHTLY else 1))
        for _, heading in outline.headings[len(document.text) % apart :: apart]:
            if not heading.raw or named[heading.raw] > 1:
                continue
            section = outline.section(heading.raw)
            fields = {"section": heading.raw, "source": SOURCE}
            for operation in (
                {"op": "append_to_section", **fields},
                {"op": "replace_section", **fields},
                {"op": "remove_entry", "section": heading.raw, "match": "e"},
            ):
                try:
                    splices = edit(document, operation).splices
                except (CellProtected, TextMismatch) as refusal:
                    done[refusal.reason] += 1
                    continue
                text = join(document.text, splices)
                after = Document.parse(text)
                others = set(range(len(document))) - set(section.cells)
                kept = bytes_of(document, others)
                assert around(after) == around(document), f"{path}: {operation}"
                assert not kept - bytes_of(after, range(len(after))), f"{path}: {operation}"
                assert join(text, backwards(document.text, splices)) == document.text
                if operation["op"] != "remove_entry":
                    body = Outline(after).section(heading.raw)
                    held = "\n".join(after.cell(at).source for at in body.cells)
                    assert SOURCE in held, f"{path}: {operation}"
                if validates(document.text[:]):
                    assert validates(text), f"{path}: {operation}"
                done[str(operation["op"])] += 1
    with capsys.disabled():
        print(f"\n  {dict(done)}", end=" ")
    assert min(done[op] for op in ("append_to_section", "replace_section", "remove_entry")) > 25
