"""Documents: their cells, and the addresses of cells."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from jupyter_nbedit.errors import AmbiguousCell, CellNotFound, InvalidNotebook, InvalidRequest
from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Document, parse_index, write_new_notebook
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from tests.notebook.lazy.fake_buffer import FakeBuffer
from tests.support import samples
from tests.support.sampling import is_nightly, seeded_random

THREE = samples.three_cells()


def document(*cells: Any, **top: Any) -> Document:
    notebook = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **top}
    return Document.parse(json.dumps(notebook).encode())


def raw(**members: Any) -> dict[str, Any]:
    return {"cell_type": "raw", "metadata": {}, "source": "", **members}


@pytest.mark.parametrize("buffer_type", [bytes, FakeBuffer], ids=["in memory", "not in memory"])
def test_a_document_has_the_spans_of_its_parts(buffer_type: Callable[[bytes], Any]) -> None:
    found = Document.parse(buffer_type(THREE))

    assert found.text[:] == THREE
    assert found.hash == samples.compute_hash(THREE)
    assert found.headers == [("alpha", "code"), ("beta", "markdown"), ("gamma", "raw")]
    assert found.nbformat_minor == 5
    assert found.has_ids
    assert len(found) == 3
    assert [member.name for member in found.members] == list(json.loads(THREE))
    assert THREE[found.span.start : found.span.stop] == THREE.strip()
    assert json.loads(THREE[slice(*found.cells_span)]) == json.loads(THREE)["cells"]
    cell = found.get_cell(1)
    assert (cell.index, cell.id, cell.cell_type, cell.source) == (1, "beta", "markdown", "# Title")
    assert cell.source_hash == samples.compute_hash(b"# Title")
    assert cell.get_raw("source") == b'"# Title"'
    assert cell.get_raw("attachments") is None
    assert cell.read_value("attachments") is None
    assert cell.read_value("attachments", 7) == 7
    assert json.loads(found.written_metadata or b"") == found.metadata


def test_missing_or_invalid_metadata_are_empty() -> None:
    assert document(metadata=[1]).metadata == {}
    assert document(metadata=[1]).written_metadata == b"[1]"
    without = Document.parse(b'{"cells":[],"nbformat":4}')
    assert (without.metadata, without.written_metadata, without.metadata_span) == ({}, None, None)
    assert (without.nbformat_minor, without.has_ids) == (0, False)
    assert document(raw(metadata=None)).get_cell(0).metadata == {}
    assert document(raw(metadata={"a": 1})).get_cell(0).metadata == {"a": 1}


@pytest.mark.parametrize(
    ("info", "kernel", "language"),
    [
        ({"name": "R"}, {"language": "julia"}, "R"),
        ({"name": ""}, {"language": "julia"}, "julia"),
        ([], {"language": ""}, None),
        ({"name": 1}, "python", None),
    ],
)
def test_the_language_is_that_of_the_last_kernel_or_else_of_the_kernelspec(
    info: Any, kernel: Any, language: str | None
) -> None:
    metadata = {"language_info": info, "kernelspec": kernel}
    assert document(metadata=metadata).language == language


def test_a_source_is_a_string_or_a_list_of_strings() -> None:
    assert document(raw(source=["a\n", "b"])).get_cell(0).source == "a\nb"
    assert document({"cell_type": "raw"}).get_cell(0).source == ""
    odds: tuple[Any, ...] = (1, None, {}, ["a", 1], [None])
    for odd in odds:
        with pytest.raises(InvalidNotebook) as error:
            _ = document(raw(), raw(source=odd)).get_cell(1).source
        assert error.value.details == {"index": 1}


def test_a_source_with_a_lone_surrogate_has_a_hash() -> None:
    assert compute_source_hash("\ud800") == samples.compute_hash(b"\xed\xa0\x80")


@pytest.mark.parametrize(
    "name",
    ["attachments", "cell_type", "execution_count", "id", "metadata", "outputs", "source", "x"],
)
def test_a_cell_with_a_duplicate_essential_name_is_refused(name: str) -> None:
    twice = b'{"cell_type":"raw","%s":"raw","%s":"raw"}' % (name.encode(), name.encode())
    found = Document.parse(b'{"nbformat":4,"cells":[{"cell_type":"raw"},' + twice + b"]}").get_cell(
        1
    )
    assert [member.name for member in found.all_members] == ["cell_type", name, name]
    if name == "x":
        assert found.read_value("x") == "raw"
        return
    with pytest.raises(InvalidNotebook) as error:
        _ = found.members
    assert error.value.details == {"index": 1, "member": name}


@pytest.mark.parametrize("name", ["cells", "metadata", "nbformat", "nbformat_minor", "x"])
def test_a_notebook_with_a_duplicate_essential_name_is_refused(name: str) -> None:
    twice = b'"%s": [], "%s": [], ' % (name.encode(), name.encode())
    if name == "x":
        assert len(Document.parse(b"{" + twice + THREE[1:])) == 3
        return
    with pytest.raises(InvalidNotebook) as error:
        Document.parse(b"{" + twice + THREE[1:])
    assert error.value.details == {"member": name}


@pytest.mark.parametrize(
    ("text", "details"),
    [
        (b"", {}),
        (b"\xef\xbb\xbf \n", {}),
        (b"{", {}),
        (b"[]", {}),
        (b"{}", {"member": "nbformat"}),
        (b'{"nbformat":"4"}', {"member": "nbformat"}),
        (b'{"nbformat":true}', {"member": "nbformat"}),
        (b'{"nbformat":3}', {"nbformat": 3}),
        (b'{"nbformat":5}', {"nbformat": 5}),
        (b'{"nbformat":4}', {}),
        (b'{"nbformat":4,"cells":{}}', {}),
        (b'{"nbformat":4,"cells":[],"nbformat_minor":"x"}', {"member": "nbformat_minor"}),
    ],
)
@pytest.mark.parametrize("buffer_type", [bytes, FakeBuffer], ids=["in memory", "not in memory"])
def test_an_invalid_notebook_is_refused_with_the_missing_part(
    text: bytes, details: dict[str, Any], buffer_type: Callable[[bytes], Any]
) -> None:
    with pytest.raises(InvalidNotebook) as error:
        Document.parse(buffer_type(text))
    assert error.value.details == details


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n", "lfs_pointer"),
        (b"/annex/objects/SHA256E-s1--1.ipynb\n", "annex_pointer"),
        (b'{\n<<<<<<< ours\n "a": 1\n=======\n "a": 2\n>>>>>>> theirs\n}\n', "conflict"),
    ],
)
def test_what_stands_in_the_place_of_a_notebook_is_named(text: bytes, found: str) -> None:
    with pytest.raises(InvalidNotebook) as error:
        Document.parse(text)
    assert error.value.details["found"] == found


def test_a_cell_header_that_msgspec_refuses_is_read_like_json_loads() -> None:
    found = Document.parse(
        b'{"nbformat":4,"cells":[{"id":"a","x":NaN,"cell_type":"raw"},{"cell_type":"raw","id":1}]}'
    )
    assert found.headers == [("a", "raw"), (None, "raw")]


@pytest.mark.parametrize("cell", [b"1", b"null", b"[]", b'"x"', b"{}", b'{"cell_type":NaN}'])
@pytest.mark.parametrize("buffer_type", [bytes, FakeBuffer], ids=["in memory", "not in memory"])
def test_what_is_no_cell_with_a_type_cannot_be_read_and_hides_no_other_cell(
    cell: bytes, buffer_type: Callable[[bytes], Any]
) -> None:
    text = b'{"nbformat":4,"cells":[{"cell_type":"raw","source":"x"},%b,{"cell_type":"code"}]}'
    found = Document.parse(buffer_type(text % cell))
    assert found.headers == [(None, "raw"), (None, ""), (None, "code")]
    assert (found.get_cell(0).source, found.find_source(1)) == ("x", None)
    for name in ("source", "metadata", "members", "source_hash"):
        with pytest.raises(InvalidNotebook) as error:
            getattr(found.get_cell(1), name)
        assert error.value.details == {"index": 1}


# Addresses ---------------------------------------------------------------------------------------

NAMED = document(
    raw(id="a"), raw(id="7"), raw(id="twice"), raw(id="twice"), raw(), raw(id="cell-x")
)
NUMBERED = document(
    raw(id="a"), raw(), raw(), raw(source="x"), raw(source=1), raw(id="cell-0"), raw(id="cell-7")
)


@pytest.mark.parametrize(
    ("address", "index"),
    [("a", 0), ("7", 1), (0, 0), (5, 5), ("cell-4", 4), ("cell-5", 5), ("cell-1", 1)],
)
def test_an_address_is_an_id_or_an_index(address: str | int, index: int) -> None:
    assert NAMED.locate(address) == index


@pytest.mark.parametrize(
    "address",
    ["b", "", "cell-6", "cell-", "cell-01", "Cell-1", "cell-y", "1", 6, "cell-" + "1" * 10],
)
def test_an_unknown_address_is_refused_with_the_existing_ones(address: str | int) -> None:
    with pytest.raises(CellNotFound) as error:
        NAMED.locate(address)
    assert error.value.details == {
        "cell": address,
        "available_ids": ["a", "7", "twice", "twice", "cell-4", "cell-x"],
        "total_cells": 6,
    }


NUMBERED_NAMES: list[str | int] = ["a", 1, 2, "3:2d7116", 4, "cell-0", "cell-7"]


@pytest.mark.parametrize(("address", "index"), [("cell-0", 5), ("cell-7", 6), (1, 1), (4, 4)])
def test_among_ids_with_numbers_an_address_is_an_id(address: str | int, index: int) -> None:
    assert NUMBERED.locate(address) == index


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("cell-1", "the cell at index 1, which has no id, send the integer 1 where"),
        ("cell-3", "which has no id, send its guarded name '3:2d7116', or the integer 3 where"),
        ("cell-4", "send the integer 4 where"),
        ("cell-6", ""),
        ("cell-9", ""),
        ("cell-01", ""),
        ("b", ""),
        (7, ""),
    ],
)
def test_among_ids_with_numbers_no_other_is_an_index(address: str | int, hint: str) -> None:
    with pytest.raises(CellNotFound) as error:
        NUMBERED.locate(address)
    assert error.value.details["available_ids"] == NUMBERED_NAMES
    assert hint in error.value.message
    assert ("which has no id" in error.value.message) == bool(hint)
    for index, name in enumerate(NUMBERED_NAMES):
        assert NUMBERED.locate(name) == index


def test_at_most_ten_ids_are_listed() -> None:
    with pytest.raises(CellNotFound) as error:
        document(*[raw(id=f"x{n}") for n in range(11)]).locate("b")
    assert error.value.details["available_ids"] == [f"x{n}" for n in range(10)]


def test_an_id_of_two_cells_is_refused_with_both() -> None:
    with pytest.raises(AmbiguousCell) as error:
        NAMED.locate("twice")
    assert error.value.details == {"cell": "twice", "indexes": [2, 3]}


def test_ids_are_listed_with_the_indexes_of_their_cells() -> None:
    ids = document(raw(id="once"), raw(id="twice"), raw(), raw(id="twice")).ids
    assert dict(ids) == {"once": [0], "twice": [1, 3]}
    assert len(ids) == 2


def test_a_string_of_digits_is_an_index_unless_it_is_an_id() -> None:
    assert NAMED.parse_address("7") == "7"
    assert NAMED.parse_address("3") == 3
    assert NAMED.parse_address("03") == "03"
    assert NAMED.parse_address("a") == "a"
    assert NAMED.parse_address("-a") == "-a"
    with pytest.raises(InvalidRequest):
        NAMED.parse_address("-1")


@pytest.mark.parametrize(
    ("digits", "index"),
    [("0", 0), ("12", 12), ("999999999", 999_999_999), ("1000000000", None), ("", None)]
    + [(odd, None) for odd in ("01", "+1", "-1", " 1", "1_0", "٣", "1.0", "x")],
)
def test_an_index_has_one_spelling(digits: str, index: int | None) -> None:
    assert parse_index(digits) == index


# Splices -----------------------------------------------------------------------------------------

PIECES = [b'{"cell_type":"raw","id":"%c"}' % name for name in b"abcde"]
NEW = b'{"cell_type":"raw","id":"new"}'
BEFORE = Document.parse(
    b'{"x":[],"cells":[ ' + b" ,\n".join(PIECES) + b'\t],"nbformat":4,"y":1}',
)
TIGHT = Document.parse(b'{"cells":[' + b",".join(PIECES) + b'],"nbformat":4}')
EMPTY = Document.parse(b'{"nbformat":4,"cells":[]}')
PUT = [b"", b" ", b",", b", ,", NEW, b"," + NEW, NEW + b" , ", b"{", b"1", b"{}", b";", b"X", b"}"]
PUT += [b"[", b"]", b'"odd":NaN,', b'"more":[1], ', b"[" * 100_000]


def parts(find: Callable[[], Document]) -> object:
    """Return all that a document has found, or that it is refused."""
    try:
        found = find()
    except InvalidNotebook:
        return "refused"
    return (
        *(found.text[:], found.span, found.members, found.cells_span),
        *(list(found.cell_spans), list(found.headers), found.nbformat_minor),
    )


@pytest.mark.parametrize("before", [BEFORE, TIGHT, EMPTY], ids=["usual", "tight", "empty"])
def test_a_document_after_splices_equals_the_parsed_spliced_text(before: Document) -> None:
    chance = seeded_random(f"splices of {len(before.text)} bytes")
    edges = [edge for span in before.cell_spans for edge in span]
    edges += [*before.cells_span, before.cells_span.start + 1, before.cells_span.stop - 1]
    near = sorted({at + by for at in edges for by in (-1, 0, 0, 0, 1, 2)})
    outcomes = {False: 0, True: 0}
    for _ in range(10_000 if is_nightly() else 1000):
        cuts = sorted(chance.choices(near, k=2 * chance.choice([0, 1, 1, 2, 3])))
        splices = [
            Splice(start, stop, chance.choice(PUT))
            for start, stop in zip(cuts[::2], cuts[1::2], strict=True)
        ]
        whole = parts(partial(Document.parse, apply_splices(before.text, splices)))
        assert parts(partial(before.apply_splices, splices)) == whole, splices
        parked = Document.parse(FakeBuffer(before.text[:]))
        assert parts(partial(parked.apply_splices, splices)) == whole, splices
        outcomes[whole == "refused"] += 1
    assert min(outcomes.values()) > 30


@pytest.mark.parametrize(
    ("language", "kernelspec", "metadata"),
    [
        (None, None, {}),
        ("r", None, {"language_info": {"name": "r"}}),
        (None, "ir", {"kernelspec": {"display_name": "ir", "name": "ir"}}),
        (
            "r",
            "ir",
            {
                "kernelspec": {"display_name": "ir", "language": "r", "name": "ir"},
                "language_info": {"name": "r"},
            },
        ),
    ],
)
def test_a_new_notebook_has_language_and_kernelspec(
    language: str | None, kernelspec: str | None, metadata: dict[str, Any]
) -> None:
    text = write_new_notebook(language, kernelspec)
    expected = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}

    assert json.loads(text) == expected
    assert len(Document.parse(text)) == 0
