"""The cells after an edit are found where it was, or by looking at all of it."""

from __future__ import annotations

import pytest

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import Splice, join
from tests.notebook.calls import counted

CELLS = [b'{"cell_type":"raw","id":"%c"}' % name for name in b"abcde"]
NEW = b'{"cell_type":"raw","id":"new"}'
TEXT = b'{"x":[],"cells":[ ' + b" ,\n".join(CELLS) + b'\t],"nbformat":4,"y":1}'
DOCUMENT = Document.parse(TEXT)
(A, B, C, D, E) = DOCUMENT.cell_spans


def check(*splices: Splice, is_seen: bool, before: Document = DOCUMENT) -> None:
    """Check that the cells are found as in the whole; tell by hand whether that takes the whole."""
    whole = Document.parse(join(before.text[:], splices))
    with counted() as calls:
        after = before.after(splices)
    assert (calls["parse"] == 0) == is_seen
    assert after.text == whole.text
    assert (after.span, after.members) == (whole.span, whole.members)
    assert (after.cells_span, after.cell_spans) == (whole.cells_span, whole.cell_spans)
    assert (after.heads, after.nbformat_minor) == (whole.heads, whole.nbformat_minor)


@pytest.mark.parametrize(
    "splices",
    [
        [Splice(*C, NEW)],
        [Splice(C.start + 1, C.start + 1, b'"more":[1], ')],
        [Splice(*A, NEW), Splice(*E, NEW + b", " + NEW)],
        [Splice(*A, NEW), Splice(*B, NEW)],
        [Splice(A.start, B.start, b"")],
        [Splice(D.stop, E.stop, b"")],
        [Splice(A.stop, D.stop, b"")],
        [Splice(A.start, E.stop, b"")],
        [Splice(A.start, E.stop, NEW)],
        [Splice(A.start, A.start, NEW + b",")],
        [Splice(B.start, B.start, NEW + b" , ")],
        [Splice(B.stop, B.stop, b"\n," + NEW)],
        [Splice(E.stop, E.stop, b"," + NEW)],
        [Splice(A.start - 1, A.start - 1, b"\n\n")],
        [Splice(B.stop, C.start, b" , ")],
        [Splice(A.start, B.start, b""), Splice(D.stop, D.stop, b"," + NEW)],
        [Splice(B.start, C.start, b""), Splice(C.stop, D.stop, b""), Splice(E.stop, E.stop, b" ")],
        [Splice(B.stop - 1, B.stop - 1, b" "), Splice(C.start + 1, C.start + 1, b" ")],
        [Splice(B.stop, B.stop, b" "), Splice(C.start, C.start, b" "), Splice(*D, NEW)],
        [Splice(B.stop - 1, B.stop - 1, b" "), Splice(B.stop + 1, B.stop + 1, b"," + NEW)],
        [],
    ],
)
def test_an_edit_within_the_array_is_seen_where_it_was(splices: list[Splice]) -> None:
    check(*splices, is_seen=True)


def test_the_first_and_the_last_cell_are_seen_without_white_space_around_them() -> None:
    before = Document.parse(b'{"cells":[' + b",".join(CELLS) + b'],"nbformat":4}')
    first, *_, last = before.cell_spans
    check(Splice(*first, NEW), Splice(*last, NEW), is_seen=True, before=before)
    check(Splice(*first, NEW + b"," + NEW), is_seen=True, before=before)
    check(Splice(last.start - 1, last.stop, b""), is_seen=True, before=before)


@pytest.mark.parametrize(
    "splices",
    [
        [Splice(2, 3, b"z")],
        [Splice(*A, NEW), Splice(len(TEXT) - 2, len(TEXT) - 1, b"2")],
        [Splice(DOCUMENT.cells_span.start, A.start, b"[")],
        [Splice(E.stop, DOCUMENT.cells_span.stop, b"]")],
        [Splice(A.start + 1, A.start + 1, b'"odd":NaN,')],
    ],
)
def test_an_edit_around_the_array_or_an_odd_one_takes_a_look_at_the_whole(
    splices: list[Splice],
) -> None:
    check(*splices, is_seen=False)


@pytest.mark.parametrize(
    "splices",
    [
        [Splice(*C, b"{")],
        [Splice(*C, b"")],
        [Splice(*A, b"")],
        [Splice(*E, b"")],
        [Splice(*C, b"1")],
        [Splice(*C, b"{}")],
        [Splice(B.stop, C.start, b" ")],
        [Splice(B.stop + 1, B.stop + 2, b"")],
        [Splice(B.stop + 1, B.stop + 2, b", ,")],
        [Splice(B.stop, C.start, b",,")],
        [Splice(A.start, A.start, b",")],
        [Splice(E.stop, E.stop, b",")],
        [Splice(A.start, A.start, b"[" * 100_000)],
        [Splice(A.start, A.start, b"X")],
        [Splice(C.start, C.start, b"X")],
        [Splice(E.stop, E.stop, b"X")],
        [Splice(C.stop, C.stop, b"X")],
        [Splice(B.stop + 1, B.stop + 2, b";")],
        [Splice(C.start - 3, C.start, b";")],
        [Splice(C.stop, D.start, b";")],
        [Splice(B.stop + 1, C.start + 1, b";{")],
        [Splice(C.stop - 1, D.start - 1, b"};")],
    ],
)
def test_what_is_no_notebook_after_an_edit_is_refused_as_ever(splices: list[Splice]) -> None:
    with pytest.raises(InvalidNotebook):
        Document.parse(join(TEXT, splices))
    with pytest.raises(InvalidNotebook):
        DOCUMENT.after(splices)


def test_the_first_cell_of_an_empty_array_is_found() -> None:
    empty = Document.parse(b'{"nbformat":4,"cells":[]}')
    after = empty.after([Splice(23, 23, NEW)])
    assert after.heads == [("new", "raw")]
    assert after.cell_spans == Document.parse(after.text).cell_spans
