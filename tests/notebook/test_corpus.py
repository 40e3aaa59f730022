"""Every real notebook, every operation: all other bytes stay, and every edit can be undone."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from tests import corpora
from tests.notebook import model
from tests.notebook.oracle import NEW_ID, SOURCE, Case, check, edit


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


def places(document: Document) -> list[int]:
    """The first, the last, and two cells between."""
    count = len(document)
    return sorted({0, count // 3, count // 2, count - 1} if count else set())


def validates(text: bytes) -> bool:
    """Whether nbformat has nothing to say, not even that it made up an id."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            nbformat.validate(json.loads(text), relax_add_props=False)
        except (nbformat.ValidationError, ValueError, Warning):
            return False
    return True


def replaces(document: Document) -> Iterator[Case]:
    for at in places(document):
        yield (
            [{"op": "replace", "cell": at, "source": SOURCE}],
            partial(model.replace, at=at, text=SOURCE),
            {at},
        )


def inserts(document: Document) -> Iterator[Case]:
    for at in (*places(document), len(document)):
        for cell_type in ("code", "markdown", "raw"):
            metadata = {"tags": ["é"], "n": {"deep": [1, {}]}}
            cell = model.new_cell(
                cell_type,
                SOURCE,
                NEW_ID if document.has_ids else None,
                {**metadata, "n": {"deep": [model.number("1"), {}]}},
            )
            yield (
                [
                    {
                        "op": "insert",
                        "index": at,
                        "cell_type": cell_type,
                        "source": SOURCE,
                        "metadata": metadata,
                    }
                ],
                partial(model.insert, at=at, cell=cell),
                set(),
            )


def deletes(document: Document) -> Iterator[Case]:
    for at in places(document):
        yield (
            [{"op": "delete", "cell": at}],
            partial(model.delete, at=at),
            {at},
        )


def moves(document: Document) -> Iterator[Case]:
    for at in places(document):
        for gap in (0, len(document) // 2, len(document)):
            yield (
                [{"op": "move", "cell": at, "index": gap}],
                partial(model.move, at=at, gap=gap),
                set(),
            )


@pytest.mark.parametrize("cases", [replaces, inserts, deletes, moves])
def test_an_operation_leaves_all_other_bytes_and_means_what_the_model_says(
    cases: Callable[[Document], Iterator[Case]], capsys: pytest.CaptureFixture[str]
) -> None:
    total, seen, edits = len(corpora.notebooks()), 0, 0
    for path, document in documents():
        seen += 1
        for case in cases(document):
            check(str(path), document, case)
            edits += 1
    with capsys.disabled():
        print(
            f"\n  {cases.__name__}: {edits} edits of {seen} notebooks; {total - seen} files are no "
            "notebooks of nbformat 4",
            end=" ",
        )
    assert edits > seen > 300


def test_what_validated_before_validates_after(capsys: pytest.CaptureFixture[str]) -> None:
    valid, invalid = 0, 0
    for path, document in documents():
        if not validates(document.text):
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
