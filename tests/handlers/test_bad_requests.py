"""Requests that cannot be done: each is refused with its reason, and nothing is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.handlers.refused import details, nested, untouched, with_operation
from tests.support import samples
from tests.support.http import Client

HASH = "0" * 64
LIMIT = 16 * 1024 * 1024
INSERT = {"op": "insert", "cell_type": "code", "source": "x"}
END = {**INSERT, "at": "end"}

BODIES = {
    "nothing": b"",
    "only white space": b"  \n",
    "not JSON": b"operations",
    "cut off": b'{"operations": [{"op": "delete"',
    "followed by something": with_operation(op="delete", cell="alpha") + b"{}",
    "with a comment": b'{"operations": [] /* none */}',
    "single quotes": b"{'operations': []}",
    "not UTF-8": with_operation(**END).replace(b"x", b"\xff"),
    "a surrogate in UTF-8": with_operation(**END).replace(b"x", b"\xed\xa0\x80"),
    "UTF-16": with_operation(**END).decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + with_operation(**END),
    "a lone surrogate in a source": with_operation(**{**END, "source": "\ud800"}),
    "a lone surrogate in metadata": with_operation(**END, metadata={"x": ["\udfff"]}),
    "a lone surrogate in a name": with_operation(**END, metadata={"\udfff": 1}),
    "a lone surrogate in a label": b'{"client": "\\ud83d", "operations": []}',
    "NaN": with_operation(**END, metadata={"x": float("nan")}),
    "Infinity": with_operation(**END, metadata={"x": float("inf")}),
    "minus Infinity": with_operation(**END, metadata={"x": float("-inf")}),
    "a raw line feed in a string": with_operation(**END).replace(b"x", b"\n"),
    "nested too deeply": nested(100_000),
    "operations twice": b'{"operations": [], "operations": [{"op": "delete", "cell": 0}]}',
    "dry_run twice": with_operation(**END)[:-1] + b', "dry_run": true, "dry_run": false}',
    "a key twice by another spelling": with_operation(**END)[:-1]
    + b', "client": "a", "cl\\u0069ent": "b"}',
    "a cell twice": b'{"operations": [{"op": "delete", "cell": 0, "cell": 1}]}',
    "a key twice in metadata": with_operation(**END, metadata={"x": [{"a": 1, "b": 2}]}).replace(
        b'"b"', b'"a"'
    ),
    "a list": b"[]",
    "null": b"null",
    "an empty object": b"{}",
    "no operations": b'{"operations": []}',
    "operations are null": b'{"operations": null}',
    "operations are an object": b'{"operations": {"op": "delete", "cell": 0}}',
    "more than 1000 operations": json.dumps({"operations": [END] * 1001}).encode(),
    "an unknown field": b'{"operations": [{"op": "delete", "cell": 0}], "force": true}',
    "dry_run as text": b'{"operations": [{"op": "delete", "cell": 0}], "dry_run": "no"}',
    "dry_run as a number": b'{"operations": [{"op": "delete", "cell": 0}], "dry_run": 0}',
    "hash as a number": b'{"operations": [{"op": "delete", "cell": 0}], "hash": 1}',
    "a label of 201 characters": json.dumps({"operations": [END], "client": "x" * 201}).encode(),
    "a label that is null": b'{"operations": [{"op": "delete", "cell": 0}], "client": null}',
    "a message of 201 characters": json.dumps({"operations": [END], "message": "x" * 201}).encode(),
}
OPERATIONS: dict[str, Any] = {
    "not an object": "delete",
    "null": None,
    "without op": {"cell": "alpha"},
    "an unknown op": {"op": "execute", "cell": "alpha"},
    "op of the wrong type": {"op": 1, "cell": "alpha"},
    "op in capitals": {"op": "Delete", "cell": "alpha"},
    "an unknown field": {"op": "delete", "cell": "alpha", "force": True},
    "a field of another op": {"op": "delete", "cell": "alpha", "source": "x"},
    "delete without cell": {"op": "delete"},
    "replace without cell": {"op": "replace", "source": "x"},
    "replace with neither source nor type": {"op": "replace", "cell": "alpha"},
    "move without cell": {"op": "move", "at": "end"},
    "cell is null": {"op": "delete", "cell": None},
    "cell is a negative index": {"op": "delete", "cell": -1},
    "cell is a fraction": {"op": "delete", "cell": 0.5},
    "cell is true": {"op": "delete", "cell": True},
    "cell is a list": {"op": "delete", "cell": ["alpha"]},
    "cell is a number of 5000 digits": {"op": "delete", "cell": "@5000"},
    "source is missing": {"op": "insert", "cell_type": "code", "at": "end"},
    "source is null": {**END, "source": None},
    "source is a list of lines": {**END, "source": ["x"]},
    "type is missing": {"op": "insert", "source": "x", "at": "end"},
    "type is unknown": {**END, "cell_type": "heading"},
    "type is unknown in replace": {"op": "replace", "cell": "alpha", "cell_type": "Code"},
    "no position": INSERT,
    "no position in move": {"op": "move", "cell": "alpha"},
    "two positions": {**INSERT, "at": "end", "index": 0},
    "two positions in move": {"op": "move", "cell": "alpha", "after": "beta", "before": "gamma"},
    "all positions": {**INSERT, "at": "end", "index": 0, "after": "alpha", "before": "alpha"},
    "a position that is null": {**INSERT, "at": None},
    "a position beside null": {**INSERT, "at": "end", "after": None},
    "an unknown position": {**INSERT, "at": "middle"},
    "a negative index": {**INSERT, "index": -1},
    "an index beyond the end": {**INSERT, "index": 4},
    "an index of 30 digits": {**INSERT, "index": 10**30},
    "an index of 5000 digits": {**INSERT, "index": "@5000"},
    "an index that is a fraction": {**INSERT, "index": 1.5},
    "an index that is text": {**INSERT, "index": "1"},
    "an index that is true": {**INSERT, "index": True},
    "an id that is taken": {**END, "id": "alpha"},
    "an id with a space": {**END, "id": "a b"},
    "an id with a line feed behind it": {**END, "id": "ab\n"},
    "an id of no characters": {**END, "id": ""},
    "an id of 65 characters": {**END, "id": "x" * 65},
    "an id beyond ASCII": {**END, "id": "é"},
    "an id that is null": {**END, "id": None},
    "outputs in an insert": {**END, "outputs": [samples.HTML_OUTPUT]},
    "outputs in a replace": {
        "op": "replace",
        "cell": "alpha",
        "source": "x",
        "outputs": [samples.HTML_OUTPUT],
    },
    "an execution count": {**END, "execution_count": 1},
    "attachments": {**END, "cell_type": "markdown", "attachments": {}},
    "metadata that is no object": {**END, "metadata": []},
    "metadata that is null": {**END, "metadata": None},
    "metadata that says trusted": {**END, "metadata": {"trusted": True}},
    "metadata that says not trusted": {**END, "metadata": {"trusted": False}},
    "metadata that says trusted further down": {
        **END,
        "metadata": {"a": [{"b": [[{"trusted": True}]]}]},
    },
    "metadata nested 500 deep": {**END, "metadata": {"a": "@nested"}},
    "metadata with a number of 5000 digits": {**END, "metadata": {"a": "@5000"}},
    "a guard of nothing": {"op": "delete", "cell": "alpha", "expect": {}},
    "a guard of two things": {
        "op": "delete",
        "cell": "alpha",
        "expect": {"source": "x = 1\nx", "source_hash": HASH},
    },
    "a guard of something unknown": {"op": "delete", "cell": "alpha", "expect": {"id": "alpha"}},
    "a guard that is null": {"op": "delete", "cell": "alpha", "expect": None},
    "a guard that is text": {"op": "delete", "cell": "alpha", "expect": "x = 1\nx"},
}


@pytest.fixture
def path(live: Client, request: pytest.FixtureRequest) -> str:
    """Put the notebook of three cells to the live server, for one test."""
    name = f"{request.node.originalname}.ipynb"
    (live.root / name).write_bytes(samples.three_cells())
    return name


def written(operation: object) -> bytes:
    """Write an operation, with what Python's json would not write."""
    return (
        json.dumps({"operations": [END, operation]})
        .encode()
        .replace(b'"@5000"', b"1" * 5000)
        .replace(b'"@nested"', nested(500))
    )


@pytest.mark.threat("S8")
@pytest.mark.threat("S12")
@pytest.mark.parametrize("kind", BODIES)
def test_a_body_of_the_wrong_form_is_refused(live: Client, path: str, kind: str) -> None:
    with untouched(live.root):
        details(live.send(path, BODIES[kind]), 400, "invalid_request")


@pytest.mark.parametrize("kind", OPERATIONS)
def test_an_operation_of_the_wrong_form_is_refused_by_its_number_and_takes_the_batch_along(
    live: Client, path: str, kind: str
) -> None:
    with untouched(live.root):
        found = details(live.send(path, written(OPERATIONS[kind])), 400, "invalid_operation")
        assert found["operation"] == 1


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "text/json",
        "application/jsonp",
        "application/json, text/plain",
        "application/x-www-form-urlencoded",
    ],
)
def test_a_body_that_is_not_said_to_be_json_is_refused(
    live: Client, path: str, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    with untouched(live.root):
        answer = live.request("PATCH", f"nbedit/notebooks/{path}", with_operation(**END), headers)
        details(answer, 415, "unsupported_media_type")


def test_a_form_with_a_file_is_refused(live: Client, path: str) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n'
    body = part + with_operation(**END) + b"\r\n--x--\r\n"
    with untouched(live.root):
        answer = live.send(path, body, {"Content-Type": "multipart/form-data; boundary=x"})
        details(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON;charset=UTF-8", "application/json ; x=y"]
)
def test_json_by_any_spelling_of_its_name_is_taken(
    live: Client, path: str, content_type: str
) -> None:
    assert live.send(path, with_operation(**END), {"Content-Type": content_type}).status == 200


def test_a_body_of_exactly_the_limit_is_taken(live: Client, path: str) -> None:
    assert live.send(path, with_operation(**END).ljust(LIMIT)).status == 200


def test_a_body_of_one_byte_more_is_refused(live: Client, path: str) -> None:
    with untouched(live.root):
        answer = live.send(path, with_operation(**END).ljust(LIMIT + 1))
        assert details(answer, 413, "too_large") == {"bytes": LIMIT + 1, "limit": LIMIT}


@pytest.mark.parametrize("cell", ["nobody", "", "cell-3", "cell-03", "cell--1", "cell-٣", "Alpha"])
@pytest.mark.parametrize("member", ["cell", "after", "before"])
def test_an_address_of_no_cell_is_answered_with_the_addresses_there_are(
    live: Client, path: str, member: str, cell: str
) -> None:
    operation = {"op": "delete"} if member == "cell" else INSERT
    with untouched(live.root):
        found = details(live.patch(path, {**operation, member: cell}), 404, "cell_not_found")
    assert found == {
        "cell": cell,
        "available_ids": ["alpha", "beta", "gamma"],
        "total_cells": 3,
        "operation": 0,
    }


@pytest.mark.parametrize("index", [3, 4, 2**53 - 1])
def test_an_index_of_no_cell_is_answered_with_the_count_of_cells(
    live: Client, path: str, index: int
) -> None:
    with untouched(live.root):
        found = details(live.patch(path, {"op": "delete", "cell": index}), 404, "cell_not_found")
    assert found["total_cells"] == 3


def test_at_most_ten_addresses_are_offered(live: Client, path: str) -> None:
    cells = [samples.raw("x", f"id-{n}") for n in range(50)]
    (live.root / path).write_bytes(samples.notebook(*cells))
    found = details(live.patch(path, {"op": "delete", "cell": "x"}), 404, "cell_not_found")
    assert found["available_ids"] == [f"id-{n}" for n in range(10)]
    assert found["total_cells"] == 50


def test_where_cells_have_no_ids_their_other_names_are_offered(live: Client, path: str) -> None:
    (live.root / path).write_bytes(samples.notebook(samples.raw("x"), samples.raw("y"), minor=4))
    found = details(live.patch(path, {"op": "delete", "cell": "x"}), 404, "cell_not_found")
    assert found["available_ids"] == ["cell-0", "cell-1"]


@pytest.mark.threat("S27")
def test_an_id_of_two_cells_is_answered_with_their_indexes(live: Client, path: str) -> None:
    cells = [samples.raw(source, "twin") for source in "ab"]
    (live.root / path).write_bytes(samples.notebook(samples.raw("x", "x"), *cells))
    with untouched(live.root):
        for operation in (
            {"op": "delete", "cell": "twin"},
            {"op": "replace", "cell": "twin", "source": "y"},
            {**INSERT, "after": "twin"},
        ):
            found = details(live.patch(path, operation), 409, "ambiguous_cell")
            assert found["indexes"] == [1, 2]
    assert live.patch(path, {"op": "delete", "cell": 2}).status == 200


def test_an_id_for_a_new_cell_is_refused_where_the_format_has_none(live: Client, path: str) -> None:
    (live.root / path).write_bytes(samples.notebook(samples.raw("x"), minor=4))
    with untouched(live.root):
        details(live.patch(path, {**END, "id": "new"}), 400, "invalid_operation")


def test_two_new_cells_cannot_have_one_id(live: Client, path: str) -> None:
    with untouched(live.root):
        answer = live.patch(path, {**END, "id": "new"}, {**END, "id": "new"})
        assert details(answer, 400, "invalid_operation")["operation"] == 1


def test_a_cell_that_the_batch_has_deleted_cannot_be_used_any_more(live: Client, path: str) -> None:
    for later in (
        {"op": "replace", "cell": "alpha", "source": "x"},
        {"op": "delete", "cell": 0},
        {"op": "move", "cell": "cell-0", "at": "end"},
    ):
        with untouched(live.root):
            answer = live.patch(path, {"op": "delete", "cell": "alpha"}, later)
            assert details(answer, 400, "invalid_operation")["operation"] == 1


@pytest.mark.parametrize("place", ["header", "body", "both"])
def test_a_hash_of_another_version_is_refused_with_the_current_one(
    live: Client, path: str, place: str
) -> None:
    current = live.read(path).json["hash"]
    headers = {"If-Match": f'"{HASH}"'} if place != "body" else {}
    fields = {"hash": HASH} if place != "header" else {}
    with untouched(live.root):
        answer = live.patch(path, END, headers=headers, **fields)
        assert details(answer, 412, "hash_mismatch") == {"expected": HASH, "hash": current}


@pytest.mark.parametrize("place", ["header", "body", "both"])
def test_the_hash_of_this_version_is_taken(live: Client, path: str, place: str) -> None:
    current = live.read(path).json["hash"]
    headers = {"If-Match": f'"{current}"'} if place != "body" else {}
    fields = {"hash": current} if place != "header" else {}
    assert live.patch(path, END, headers=headers, **fields).status == 200


def test_two_hashes_that_differ_are_refused_even_if_one_is_right(live: Client, path: str) -> None:
    current = live.read(path).json["hash"]
    with untouched(live.root):
        for header, body in ((current, HASH), (HASH, current)):
            answer = live.patch(path, END, headers={"If-Match": f'"{header}"'}, hash=body)
            details(answer, 400, "invalid_request")


@pytest.mark.parametrize("tag", [HASH, f'"{HASH}", "{HASH}"', f"W/{HASH}", f'"{HASH}', "null"])
def test_an_if_match_that_is_not_one_hash_in_quotes_is_refused(
    live: Client, path: str, tag: str
) -> None:
    with untouched(live.root):
        details(live.patch(path, END, headers={"If-Match": tag}), 400, "invalid_request")


def test_a_weak_tag_is_no_versions_even_of_the_current_hash(live: Client, path: str) -> None:
    weak = f'W/"{live.read(path).json["hash"]}"'
    with untouched(live.root):
        found = details(live.patch(path, END, headers={"If-Match": weak}), 412, "hash_mismatch")
        assert (found["expected"], f'W/"{found["hash"]}"') == (weak, weak)


def test_any_version_will_do_for_an_if_match_of_an_asterisk(live: Client, path: str) -> None:
    assert live.patch(path, END, headers={"If-Match": "*"}).status == 200
    with untouched(live.root):
        answer = live.patch(path, END, headers={"If-Match": "*"}, hash=HASH)
        details(answer, 412, "hash_mismatch")


@pytest.mark.parametrize(
    "expect", [{"source": "y"}, {"source": ""}, {"source_hash": HASH}, {"source_hash": ""}]
)
@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "source": "z"},
        {"op": "replace", "source": "x = 1\nx"},
        {"op": "delete"},
        {"op": "move", "at": "end"},
    ],
)
def test_a_guard_that_does_not_hold_is_answered_with_the_current_source(
    live: Client, path: str, operation: dict[str, Any], expect: dict[str, str]
) -> None:
    current = live.read(path).json["cells"][0]
    with untouched(live.root):
        answer = live.patch(path, {**operation, "cell": "alpha", "expect": expect})
        found = details(answer, 409, "cell_changed")
    assert (found["cell"], found["operation"]) == ("alpha", 0)
    assert {name: found[name] for name in ("source", "source_hash")} == {
        name: current[name] for name in ("source", "source_hash")
    }


def test_a_guard_that_holds_lets_pass_whatever_has_become_of_other_cells(
    live: Client, path: str
) -> None:
    guarded = live.read(path).json["cells"][0]
    assert live.patch(path, {"op": "replace", "cell": "beta", "source": "# Other"}).status == 200
    by_hash = {"source_hash": guarded["source_hash"]}
    answer = live.patch(path, {"op": "replace", "cell": 0, "source": "y", "expect": by_hash})
    assert answer.status == 200
    by_source = {"source": "y"}
    assert live.patch(path, {"op": "delete", "cell": 0, "expect": by_source}).status == 200


def test_a_guard_on_a_source_that_utf_8_cannot_say_is_answered_all_the_same(
    live: Client, path: str
) -> None:
    text = samples.three_cells().replace(b"# Title", b"\\ud800")
    (live.root / path).write_bytes(text)
    guarded = {"op": "delete", "cell": "beta", "expect": {"source": ""}}
    found = details(live.patch(path, guarded), 409, "cell_changed")
    assert found["source"] == "\ud800"


def test_an_id_that_utf_8_cannot_say_is_offered_all_the_same(live: Client, path: str) -> None:
    (live.root / path).write_bytes(samples.three_cells().replace(b'"beta"', b'"\\ud800"'))
    found = details(live.patch(path, {"op": "delete", "cell": "x"}), 404, "cell_not_found")
    assert found["available_ids"] == ["alpha", "\ud800", "gamma"]


def test_a_cell_that_is_not_to_be_edited_is_not(live: Client, path: str) -> None:
    cell = samples.code("x", "locked", metadata={"editable": False})
    (live.root / path).write_bytes(samples.notebook(cell))
    with untouched(live.root):
        for change in ({"source": "y"}, {"cell_type": "raw"}, {"source": "x", "outputs": "keep"}):
            answer = live.patch(path, {"op": "replace", "cell": "locked", **change})
            assert details(answer, 403, "cell_protected") == {"cell": "locked", "operation": 0}
    assert live.patch(path, {"op": "delete", "cell": "locked"}).status == 200


def test_a_cell_that_is_not_to_be_deleted_is_not(live: Client, path: str) -> None:
    cell = samples.code("x", "locked", metadata={"deletable": False})
    (live.root / path).write_bytes(samples.notebook(cell))
    with untouched(live.root):
        answer = live.patch(path, {"op": "delete", "cell": 0})
        assert details(answer, 403, "cell_protected") == {"cell": "locked", "operation": 0}
    assert live.patch(path, {"op": "replace", "cell": 0, "source": "y"}).status == 200


def test_the_metadata_of_a_cell_that_is_not_to_be_edited_is_changed_by_freeing_it_only(
    live: Client, path: str
) -> None:
    locked = {"editable": False, "tags": ["keep"]}
    (live.root / path).write_bytes(samples.notebook(samples.raw("x", "locked", metadata=locked)))
    operation = {"op": "set_metadata", "cell": "locked"}
    patches: list[dict[str, Any]] = [{"tags": []}, {"editable": False}, {**locked, "tags": []}]
    with untouched(live.root):
        for patch in patches:
            answer = live.patch(path, {**operation, "patch": patch})
            details(answer, 403, "cell_protected")
    assert live.patch(path, {**operation, "patch": {"editable": True, "tags": []}}).status == 200
    again = {**operation, "patch": {"editable": False, "tags": ["new"]}}
    assert live.patch(path, again).status == 200


def test_protection_that_is_not_false_protects_nothing(live: Client, path: str) -> None:
    free = {"editable": None, "deletable": 0}
    (live.root / path).write_bytes(samples.notebook(samples.code("x", "free", metadata=free)))
    assert live.patch(path, {"op": "replace", "cell": "free", "source": "y"}).status == 200
    assert live.patch(path, {"op": "delete", "cell": "free"}).status == 200


def test_the_first_operation_that_is_refused_takes_those_before_and_after_it_along(
    live: Client, path: str
) -> None:
    good = {"op": "replace", "cell": "alpha", "source": "y"}
    with untouched(live.root):
        answer = live.patch(path, good, END, {"op": "delete", "cell": "nobody"}, END)
        assert details(answer, 404, "cell_not_found")["operation"] == 2


def test_a_thousand_operations_are_not_too_many(live: Client, path: str) -> None:
    answer = live.patch(path, *[END] * 1000)
    assert (answer.status, answer.json["total_cells"]) == (200, 1003)
