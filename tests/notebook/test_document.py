"""A document: what its cells are and say, and how they are addressed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from jupyter_nbedit.errors import AmbiguousCell, CellNotFound, InvalidNotebook, InvalidRequest
from jupyter_nbedit.notebook.document import Document, plain_index, source_hash
from jupyter_nbedit.notebook.spliced import Spliced
from jupyter_nbedit.notebook.splices import Splice, backwards, join, pieces, runs
from jupyter_nbedit.notebook.text import CHUNK_BYTES, chunks, is_ascii
from tests.notebook.calls import counted
from tests.notebook.parked import Parked
from tests.support import samples

THREE = samples.three_cells()


def document(*cells: Any, **top: Any) -> Document:
    notebook = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **top}
    return Document.parse(json.dumps(notebook).encode())


def raw(**members: Any) -> dict[str, Any]:
    return {"cell_type": "raw", "metadata": {}, "source": "", **members}


@pytest.mark.parametrize("kept", [bytes, Parked], ids=["in memory", "not in memory"])
def test_a_notebook_is_where_its_parts_stand(kept: Callable[[bytes], Any]) -> None:
    found = Document.parse(kept(THREE))

    assert found.text[:] == THREE
    assert found.hash == hashlib.sha256(THREE).hexdigest()
    assert found.heads == [("alpha", "code"), ("beta", "markdown"), ("gamma", "raw")]
    assert found.nbformat_minor == 5
    assert found.has_ids
    assert len(found) == 3
    assert [member.name for member in found.members] == list(json.loads(THREE))
    assert THREE[found.span.start : found.span.stop] == THREE.strip()
    assert json.loads(THREE[slice(*found.cells_span)]) == json.loads(THREE)["cells"]
    cell = found.cell(1)
    assert (cell.index, cell.id, cell.cell_type, cell.source) == (1, "beta", "markdown", "# Title")
    assert cell.source_hash == hashlib.sha256(b"# Title").hexdigest()
    assert cell.written("source") == b'"# Title"'
    assert cell.written("attachments") is None
    assert cell.value("attachments") is None
    assert cell.value("attachments", 7) == 7
    assert json.loads(found.written_metadata or b"") == found.metadata


def test_what_is_missing_or_odd_in_metadata_counts_as_none() -> None:
    assert document(metadata=[1]).metadata == {}
    assert document(metadata=[1]).written_metadata == b"[1]"
    without = Document.parse(b'{"cells":[],"nbformat":4}')
    assert (without.metadata, without.written_metadata, without.metadata_span) == ({}, None, None)
    assert (without.nbformat_minor, without.has_ids) == (0, False)
    assert document(raw(metadata=None)).cell(0).metadata == {}
    assert document(raw(metadata={"a": 1})).cell(0).metadata == {"a": 1}


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({}, None),
        ({"language_info": {"name": "R"}, "kernelspec": {"language": "julia"}}, "R"),
        ({"language_info": {"name": ""}, "kernelspec": {"language": "julia"}}, "julia"),
        ({"language_info": {"name": 1}, "kernelspec": {"language": "julia"}}, "julia"),
        ({"language_info": [], "kernelspec": {"language": "julia"}}, "julia"),
        ({"kernelspec": {"language": ""}}, None),
        ({"kernelspec": "python"}, None),
    ],
)
def test_the_language_is_that_of_the_kernel_last_used_or_else_of_the_one_to_be_used(
    metadata: dict[str, Any], language: str | None
) -> None:
    assert document(metadata=metadata).language == language


def test_a_source_is_a_text_or_a_list_of_texts_and_nothing_else() -> None:
    assert document(raw(source=["a\n", "b"])).cell(0).source == "a\nb"
    assert document({"cell_type": "raw"}).cell(0).source == ""
    odds: tuple[Any, ...] = (1, None, {}, ["a", 1], [None])
    for odd in odds:
        with pytest.raises(InvalidNotebook, match="neither a string nor a list") as refusal:
            _ = document(raw(), raw(source=odd)).cell(1).source
        assert refusal.value.details == {"index": 1}


def test_of_a_lone_surrogate_there_is_a_hash_too() -> None:
    assert source_hash("\ud800") == hashlib.sha256(b"\xed\xa0\x80").hexdigest()


@pytest.mark.parametrize(
    "name",
    ["attachments", "cell_type", "execution_count", "id", "metadata", "outputs", "source"],
)
def test_a_cell_in_which_a_name_that_matters_stands_twice_is_refused(name: str) -> None:
    twice = b'{"cell_type":"raw","%s":"raw","%s":"raw"}' % (name.encode(), name.encode())
    found = Document.parse(b'{"nbformat":4,"cells":[{"cell_type":"raw"},' + twice + b"]}")
    with pytest.raises(InvalidNotebook, match=f"two members named '{name}'") as refusal:
        _ = found.cell(1).members
    assert refusal.value.details == {"index": 1, "member": name}


def test_a_cell_in_which_another_name_stands_twice_is_read() -> None:
    found = Document.parse(b'{"nbformat":4,"cells":[{"x":1,"cell_type":"raw","x":2}]}')
    assert found.cell(0).value("x") == 2
    assert [member.name for member in found.cell(0).all_members] == ["x", "cell_type", "x"]


@pytest.mark.parametrize("name", ["cells", "metadata", "nbformat", "nbformat_minor"])
def test_a_notebook_in_which_a_name_that_matters_stands_twice_is_refused(name: str) -> None:
    more = b'"%s": [], ' % name.encode()
    with pytest.raises(InvalidNotebook, match=f"two members named '{name}'") as refusal:
        Document.parse(b'{ "metadata": {}, "nbformat_minor": 5, "nbformat": 4, ' + more + THREE[1:])
    assert refusal.value.details == {"member": name}


def test_a_notebook_in_which_another_name_stands_twice_is_read() -> None:
    assert len(Document.parse(b'{ "x": 1, "x": 2, ' + THREE.lstrip(b"{ \n"))) == 3


@pytest.mark.parametrize(
    ("text", "message", "details"),
    [
        (b"", "The file is empty", {}),
        (b"\xef\xbb\xbf \n", "The file is empty", {}),
        (b"{", "not a notebook that can be read", {}),
        (b"[]", "not an object", {}),
        (b"{}", "expected an integer `nbformat`", {"member": "nbformat"}),
        (b'{"nbformat":"4"}', "expected an integer `nbformat`", {"member": "nbformat"}),
        (b'{"nbformat":true}', "expected an integer `nbformat`", {"member": "nbformat"}),
        (b'{"nbformat":3}', "nbformat is 3, expected 4", {"nbformat": 3}),
        (b'{"nbformat":5}', "nbformat is 5, expected 4", {"nbformat": 5}),
        (b'{"nbformat":4}', "no `cells` array", {}),
        (b'{"nbformat":4,"cells":{}}', "no `cells` array", {}),
        (
            b'{"nbformat":4,"cells":[],"nbformat_minor":"x"}',
            "expected an integer `nbformat_minor`",
            {"member": "nbformat_minor"},
        ),
        (
            b'{"nbformat":4,"cells":[{"cell_type":"raw"},1]}',
            "Cell 1 .* not an object",
            {"index": 1},
        ),
        (
            b'{"nbformat":4,"cells":[{"cell_type":"raw"},{}]}',
            "Cell 1 .* no `cell_type`",
            {"index": 1},
        ),
        (b'{"nbformat":4,"cells":[{"cell_type":NaN}]}', "Cell 0 .* no `cell_type`", {"index": 0}),
    ],
)
@pytest.mark.parametrize("kept", [bytes, Parked], ids=["in memory", "not in memory"])
def test_what_is_no_notebook_is_refused_with_what_it_lacks(
    text: bytes, message: str, details: dict[str, Any], kept: Callable[[bytes], Any]
) -> None:
    with pytest.raises(InvalidNotebook, match=message) as refusal:
        Document.parse(kept(text))
    assert refusal.value.details == details


def test_the_head_of_a_cell_that_msgspec_refuses_is_read_as_python_reads_it() -> None:
    found = Document.parse(
        b'{"nbformat":4,"cells":[{"id":"a","x":NaN,"cell_type":"raw"},{"cell_type":"raw","id":1}]}'
    )
    assert found.heads == [("a", "raw"), (None, "raw")]


# Addresses ---------------------------------------------------------------------------------------

NAMED = document(
    raw(id="a"), raw(id="7"), raw(id="twice"), raw(id="twice"), raw(), raw(id="cell-0")
)


def test_of_a_usual_notebook_the_heads_are_read_as_they_are() -> None:
    for cells in (
        b"",
        b'{"cell_type":"raw"}',
        b'{"id":"a","cell_type":"raw"}, {"cell_type":"code"}',
    ):
        text = b'{"nbformat": 4, "cells": [' + cells + b"]}"
        with counted() as calls:
            Document.parse(text)
        assert (calls["_read_head"], calls["add"], calls["decode"]) == (0, 0, 1)


def test_of_odd_cells_alone_more_is_read_than_the_heads() -> None:
    odd = b'{"cell_type":"raw","metadata":{"x":NaN}}'
    text = b'{"nbformat": 4, "cells": [' + odd + b',{"cell_type":"code","id":"b"}]}'
    with counted() as calls:
        assert Document.parse(text).heads == [(None, "raw"), ("b", "code")]
    # Of values, one for the number of the format, and one for the odd cell.
    assert (calls["_read_head"], calls["_local"]) == (2, 2)


@pytest.mark.parametrize(
    ("address", "index"),
    [("a", 0), ("7", 1), (0, 0), (5, 5), ("cell-4", 4), ("cell-0", 5), ("cell-1", 1)],
)
def test_an_address_is_an_id_or_a_number(address: str | int, index: int) -> None:
    assert NAMED.locate(address) == index


@pytest.mark.parametrize(
    "address",
    ["b", "", "cell-6", "cell-", "cell-01", "Cell-1", "cell-x", "1", 6, "cell-" + "1" * 10],
)
def test_an_address_of_no_cell_is_refused_with_those_there_are(address: str | int) -> None:
    with pytest.raises(CellNotFound) as refusal:
        NAMED.locate(address)
    assert refusal.value.details == {
        "cell": address,
        "available_ids": ["a", "7", "twice", "twice", "cell-4", "cell-0"],
        "total_cells": 6,
    }
    assert ("index" if isinstance(address, int) else "id") in str(refusal.value)


def test_no_more_than_ten_ids_are_shown() -> None:
    with pytest.raises(CellNotFound) as refusal:
        document(*[raw(id=f"x{n}") for n in range(11)]).locate("b")
    assert refusal.value.details["available_ids"] == [f"x{n}" for n in range(10)]


def test_an_id_of_two_cells_is_refused_with_both() -> None:
    with pytest.raises(AmbiguousCell, match="2 cells have the id 'twice'") as refusal:
        NAMED.locate("twice")
    assert refusal.value.details == {"cell": "twice", "indexes": [2, 3]}


def test_a_text_of_digits_is_an_index_unless_it_is_an_id() -> None:
    assert NAMED.address("7") == "7"
    assert NAMED.address("3") == 3
    assert NAMED.address("03") == "03"
    assert NAMED.address("a") == "a"
    assert NAMED.address("-a") == "-a"
    with pytest.raises(InvalidRequest, match="found -1"):
        NAMED.address("-1")


@pytest.mark.parametrize(
    ("digits", "index"),
    [("0", 0), ("12", 12), ("999999999", 999_999_999), ("1000000000", None), ("", None)]
    + [(odd, None) for odd in ("01", "+1", "-1", " 1", "1_0", "٣", "1.0", "x")],
)
def test_an_index_has_one_spelling(digits: str, index: int | None) -> None:
    assert plain_index(digits) == index


# Splices -----------------------------------------------------------------------------------------

SPLICES = [Splice(0, 1, b"AA"), Splice(2, 2, b"+"), Splice(3, 6, b"")]


def test_a_spliced_text_consists_of_what_stays_and_what_is_new() -> None:
    assert list(runs(8, SPLICES)) == [b"AA", (1, 2), b"+", (2, 3), (6, 8)]
    assert list(runs(6, SPLICES)) == [b"AA", (1, 2), b"+", (2, 3)]
    assert list(runs(3, [])) == [(0, 3)]
    assert list(runs(0, [])) == []
    assert [bytes(piece) for piece in pieces(b"abcdefgh", SPLICES)] == [
        b"AA",
        b"b",
        b"+",
        b"c",
        b"gh",
    ]
    assert join(b"abcdefgh", SPLICES) == b"AAb+cgh"


@pytest.mark.parametrize("kept", [bytes, Parked], ids=["in memory", "not in memory"])
def test_a_text_is_gone_through_in_chunks(kept: Callable[[bytes], Any]) -> None:
    size = 2 * CHUNK_BYTES + 5
    text = kept(bytes(size))
    assert [len(chunk) for chunk in chunks(kept(b"abc"), 3)] == []
    assert [bytes(chunk) for chunk in chunks(kept(b"abc"), 1)] == [b"bc"]
    assert [bytes(chunk) for chunk in chunks(kept(b"abc"), 0, 2)] == [b"ab"]
    assert b"".join(chunks(text)) == bytes(size)
    assert b"".join(chunks(text, 3, CHUNK_BYTES + 9)) == bytes(CHUNK_BYTES + 6)
    assert is_ascii(text)
    assert not is_ascii(kept(bytes(CHUNK_BYTES) + b"\x80"))


def test_of_a_spliced_text_no_more_is_read_than_is_asked_for() -> None:
    base = Parked(b"0123456789")
    text = Spliced(base, [Splice(2, 4, b"new")])
    assert [text[at] for at in (0, 2, 4, 5, 10, -1)] == list(b"0nw499")
    assert base.most_read == 1


def test_splices_backwards_give_the_base_back() -> None:
    undo = backwards(b"abcdefgh", SPLICES)
    assert undo == [Splice(0, 2, b"a"), Splice(3, 4, b""), Splice(5, 5, b"def")]
    assert join(b"AAb+cgh", undo) == b"abcdefgh"


def test_a_document_after_splices_is_that_of_the_spliced_text() -> None:
    found = Document.parse(THREE)
    at = found.cell_spans[1]
    splices = [Splice(at.start, at.stop, b'{"cell_type":"raw","id":"new"}')]
    for after in (found.after(splices), Document.parse(Parked(THREE)).after(splices)):
        whole = Document.parse(join(THREE, splices))
        assert after.text[:] == whole.text
        assert (after.span, after.members, after.cells_span) == (
            whole.span,
            whole.members,
            whole.cells_span,
        )
        assert (after.cell_spans, after.heads) == (whole.cell_spans, whole.heads)
    same = found.after([])
    assert (same.text, same.cell_spans) == (THREE, found.cell_spans)
