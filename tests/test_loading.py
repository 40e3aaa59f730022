"""Documents are parsed once, and known again by their hash."""

from __future__ import annotations

from jupyter_nbedit.loading import Documents
from jupyter_nbedit.notebook.document import Document
from tests.notebook.test_windows import code, written


def test_a_document_is_known_again_with_the_bytes_it_is_asked_for() -> None:
    documents, text = Documents(), written([code(1)])
    document = Document.parse(text)
    documents.note("h", document)
    known = documents.of("h", text)
    assert known == document
    assert documents.of("other", text) is None


def test_what_was_not_used_for_longest_is_forgotten_first() -> None:
    documents = Documents(most_cells=5)
    two = Document.parse(written([code(1), code(2)]))
    for name in "ab":
        documents.note(name, two)
    assert documents.of("a", two.text) is not None
    documents.note("c", two)
    assert [documents.of(name, two.text) is None for name in "abc"] == [False, True, False]


def test_one_notebook_is_remembered_however_large_it_is() -> None:
    documents = Documents(most_cells=1)
    two = Document.parse(written([code(1), code(2)]))
    documents.note("a", two)
    assert documents.of("a", two.text) is not None
    documents.note("b", two)
    assert documents.of("a", two.text) is None
