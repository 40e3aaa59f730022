"""Every real notebook, every operation: taken back at once, and after others have worked there."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import nbformat
import pytest

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.sections import Outline
from jupyter_nbedit.notebook.splices import join
from tests.notebook import test_corpus as corpus
from tests.notebook.oracle import SOURCE, edit
from tests.notebook.undo import Batch, check_newest, check_older
from tests.support.sizes import is_nightly

NIGHTLY = is_nightly()
# The few large ones take as long as all others.
MOST_BYTES = 200_000


def sections(document: Document) -> Iterator[Batch]:
    headings = [heading.raw for _, heading in Outline(document).headings]
    for raw in headings[:: max(1, len(headings) // 3)]:
        if raw:
            fields = {"section": raw, "source": SOURCE}
            yield [{"op": "append_to_section", **fields}]
            yield [{"op": "replace_section", **fields}]
            yield [{"op": "remove_entry", "section": raw, "match": "e"}]


KINDS = [
    corpus.replaces,
    corpus.text_replacements,
    corpus.inserts,
    corpus.deletes,
    corpus.moves,
    corpus.splits,
    corpus.merges,
    corpus.clearings,
    corpus.metadata_changes,
    corpus.mixtures,
    sections,
]


def chosen(cases: Callable[[Document], Iterator[Batch]]) -> Iterator[tuple[str, Document, Batch]]:
    """By day one case of every eighth notebook, at night every third of all; in turn others."""
    for number, (path, document) in enumerate(corpus.documents(), start=len(cases.__name__)):
        if NIGHTLY or (number % 8 == 0 and len(document.text) <= MOST_BYTES):
            found = list(cases(document))
            turn = number if NIGHTLY else number // 8
            first = turn % max(1, len(found))
            for case in found[turn % 3 :: 3] if NIGHTLY else found[first : first + 1]:
                yield str(path), document, case


def worked_on(left: Document, record: Record) -> bytes | None:
    """What another edit makes of it, of a cell and in a place that the first did not touch."""
    own = {part.index for part in record.parts}
    free = [at for at in range(len(left)) if at not in own]
    if not free:
        return None
    new = {"op": "insert", "at": "end", "cell_type": "markdown", "source": "somebody else's"}
    other = {"op": "replace", "cell": free[len(free) // 2], "source": "somebody else's, too"}
    try:
        return join(left.text, edit(left, new, other).splices)
    except NbEditError:
        return None


def saved(text: bytes) -> bytes:
    """What a save by a tab makes of a notebook's bytes: Jupyter writes all of them anew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notebook = nbformat.reads(text.decode(), as_version=nbformat.NO_CONVERT)
        return str(nbformat.writes(notebook, version=nbformat.NO_CONVERT)).encode() + b"\n"


def can_be_saved(text: bytes) -> bool:
    """Whether nbformat can read it, and makes up no ids, which would be others each time."""
    try:
        return Document.parse(text).ids.keys() == Document.parse(saved(text)).ids.keys()
    except Exception:  # noqa: BLE001 -- whatever it raises, no tab can save it
        return False


@pytest.mark.parametrize("cases", KINDS)
def test_taking_back_gives_the_former_bytes_and_of_an_older_edit_those_of_its_cells(
    cases: Callable[[Document], Iterator[Batch]], capsys: pytest.CaptureFixture[str]
) -> None:
    count: Counter[str] = Counter()
    for path, before, case in chosen(cases):
        found = check_newest(path, before, case)
        if found is None:
            count["refused as an edit"] += 1
            continue
        count["newest"] += 1
        left, record = found
        text = worked_on(left, record)
        if text is None:
            count["nothing else in it"] += 1
            continue
        refused = check_older(before, left, record, text)
        count["older" if refused is None else "alike"] += 1
        if can_be_saved(text) and can_be_saved(before.text[:]):
            refused = check_older(before, left, record, saved(text), saved)
            count["older, saved since" if refused is None else "alike, saved since"] += 1
    with capsys.disabled():
        print(f"\n  {cases.__name__}: {dict(count)}", end=" ")
    assert count["newest"] > 10
    # Cells without ids that look alike cannot be told apart.
    assert count["alike"] < 0.05 * count["older"]
    assert count["alike, saved since"] < 0.05 * count["older, saved since"]
