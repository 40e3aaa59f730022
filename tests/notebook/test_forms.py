"""What is refused before any notebook is looked at, because of its form."""

from __future__ import annotations

import inspect
import json
from typing import Any, get_args

import msgspec
import pytest

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook.forms import check_form, check_metadata
from jupyter_nbedit.notebook.operations import Expect, Operation, Position, TextEdit, name_of
from tests.handlers.refused import nested

DECODER = msgspec.json.Decoder(Operation)
HASH = "0" * 64

GOOD: list[dict[str, Any]] = [
    {"op": "replace", "cell": 0, "source": ""},
    {"op": "replace", "cell": 0, "cell_type": "raw"},
    {"op": "replace", "cell": 0, "source": "", "expect": {"source": ""}},
    {"op": "replace", "cell": 0, "source": "", "expect": {"source_hash": HASH}},
    {"op": "replace_text", "cell": 0, "old": "a", "new": ""},
    {"op": "replace_text", "cell": 0, "old": "a", "new": "", "all": False},
    {"op": "replace_text", "cell": 0, "edits": [{"old": "a", "new": ""}]},
    {"op": "insert", "source": "", "cell_type": "code", "index": 0},
    {"op": "insert", "source": "", "cell_type": "code", "at": "end", "metadata": {"a": [{}]}},
    {"op": "insert", "source": "", "cell_type": "code", "before": 0},
    {"op": "insert", "source": "", "cell_type": "code", "after": 0},
    {"op": "delete", "cell": 0},
    {"op": "delete", "cells": [0]},
    {"op": "move", "cell": 0, "at": "start"},
    {"op": "move", "cells": [0], "after": 1},
    {"op": "split", "cell": 0, "at_line": 2},
    {"op": "merge", "cells": [0, 1]},
    {"op": "clear_outputs", "cell": 0},
    {"op": "clear_outputs", "cells": [0]},
    {"op": "clear_outputs", "all": True},
    {"op": "set_metadata", "patch": {}},
    {"op": "set_metadata", "patch": {"a": None}, "cell": 0, "expect": {"source": ""}},
    {"op": "append_to_section", "section": "a", "source": ""},
    {"op": "remove_entry", "section": "a", "match": " a"},
]

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"op": "replace", "cell": 0}, "`replace` needs a `source`, a `cell_type`, or both"),
    ({"op": "replace_text", "cell": 0}, "needs either `old` and `new`"),
    ({"op": "replace_text", "cell": 0, "old": "a"}, "needs either `old` and `new`"),
    ({"op": "replace_text", "cell": 0, "new": "a"}, "needs either `old` and `new`"),
    (
        {"op": "replace_text", "cell": 0, "old": "a", "edits": [{"old": "a", "new": ""}]},
        "needs either `old` and `new`",
    ),
    (
        {"op": "replace_text", "cell": 0, "new": "a", "edits": [{"old": "a", "new": ""}]},
        "needs either `old` and `new`",
    ),
    (
        {"op": "replace_text", "cell": 0, "all": True, "edits": [{"old": "a", "new": ""}]},
        "needs either `old` and `new`",
    ),
    (
        {"op": "insert", "source": "", "cell_type": "code"},
        "`insert` needs exactly one of `after`, `before`, `index` and `at`; found none.",
    ),
    (
        {"op": "insert", "source": "", "cell_type": "code", "index": 0, "at": "end"},
        "found `index` and `at`.",
    ),
    (
        {"op": "insert", "source": "", "cell_type": "code", "index": 0, "metadata": {"trusted": 1}},
        "`metadata` must not hold `trusted`",
    ),
    (
        {"op": "delete"},
        "`delete` needs exactly one of `cell` and `cells`; found none.",
    ),
    ({"op": "delete", "cell": 0, "cells": [0]}, "found `cell` and `cells`."),
    ({"op": "move", "at": "end"}, "`move` needs exactly one of `cell` and `cells`; found none."),
    ({"op": "move", "cell": 0}, "`move` needs exactly one of `after`"),
    (
        {"op": "clear_outputs"},
        "`clear_outputs` needs exactly one of `cell`, `cells` and `all`; found none.",
    ),
    ({"op": "clear_outputs", "cell": 0, "all": True}, "found `cell` and `all`."),
    ({"op": "clear_outputs", "all": False}, "can only be true"),
    ({"op": "set_metadata", "patch": {"a": [{"trusted": None}]}}, "`patch` must not hold"),
    ({"op": "remove_entry", "section": "a", "match": " \n"}, "found only white space"),
    (
        {"op": "replace", "cell": 0, "source": "", "expect": {}},
        "`expect` needs exactly one of `source` and `source_hash`.",
    ),
    (
        {"op": "delete", "cell": 0, "expect": {"source": "", "source_hash": HASH}},
        "`expect` needs exactly one",
    ),
    ({"op": "delete", "cells": [0], "expect": {"source": ""}}, "it goes with `cell` only"),
    ({"op": "set_metadata", "patch": {}, "expect": {"source": ""}}, "it goes with `cell` only"),
]


@pytest.mark.parametrize("operation", GOOD, ids=json.dumps)
def test_a_right_form_is_taken_under_its_name(operation: dict[str, Any]) -> None:
    decoded = DECODER.decode(json.dumps(operation))
    check_form(decoded)
    assert name_of(decoded) == operation["op"]


@pytest.mark.parametrize(("operation", "message"), WRONG, ids=[json.dumps(o) for o, _ in WRONG])
def test_a_wrong_form_is_refused_with_what_was_expected(
    operation: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidOperation) as refusal:
        check_form(DECODER.decode(json.dumps(operation)))
    assert message in str(refusal.value)


@pytest.mark.parametrize("opening", [b"[", b'{"a": '])
def test_metadata_may_be_a_hundred_levels_deep_and_no_deeper(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"

    def deep(levels: int) -> Any:
        # The innermost is a value and a level of its own.
        return json.loads(opening * (levels - 1) + b"1" + closing * (levels - 1))

    check_metadata("metadata", deep(100))
    with pytest.raises(InvalidOperation, match="more than 100 levels"):
        check_metadata("metadata", deep(101))
    with pytest.raises(InvalidOperation, match="more than 100 levels"):
        check_metadata("metadata", json.loads(nested(500)))


# What the types say --------------------------------------------------------------------------

LARGEST = 2**53 - 1
INSERT = {"op": "insert", "source": "", "cell_type": "code"}

RIGHT_TYPES: list[dict[str, Any]] = [
    {"op": "replace", "cell": LARGEST, "source": "", "cell_type": "code"},
    {"op": "replace", "cell": "", "source": "", "cell_type": "markdown", "outputs": "keep"},
    {"op": "replace", "cell": 0, "source": "", "cell_type": "raw", "outputs": "clear"},
    {**INSERT, "index": LARGEST},
    {**INSERT, "at": "start", "id": "a" * 64},
    {**INSERT, "at": "end", "id": "aZ09_-"},
    {"op": "split", "cell": 0, "at_line": LARGEST},
    {"op": "replace_text", "cell": 0, "edits": [{"old": "a", "new": "", "all": False}] * 1000},
    {"op": "replace_text", "cell": 0, "edits": [{"old": "a", "new": "", "all": True}]},
    {"op": "replace_section", "section": "a", "source": "", "cell_type": "code"},
    {"op": "append_to_section", "section": "a", "source": "", "cell_type": "raw"},
]

WRONG_TYPES: list[dict[str, Any]] = [
    {"op": "unknown", "cell": 0},
    {"cell": 0, "source": ""},
    {"op": "replace", "source": ""},
    {"op": "replace", "cell": -1, "source": ""},
    {"op": "replace", "cell": LARGEST + 1, "source": ""},
    {"op": "replace", "cell": 1.5, "source": ""},
    {"op": "replace", "cell": None, "source": ""},
    {"op": "replace", "cell": 0, "source": None},
    {"op": "replace", "cell": 0, "source": "", "cell_type": "heading"},
    {"op": "replace", "cell": 0, "source": "", "outputs": "drop"},
    {"op": "replace", "cell": 0, "source": "", "unknown": 1},
    {"op": "replace", "cell": 0, "source": "", "expect": {"source": "", "unknown": 1}},
    {"op": "replace_text", "cell": 0, "old": "", "new": ""},
    {"op": "replace_text", "cell": 0, "edits": []},
    {"op": "replace_text", "cell": 0, "edits": [{"old": "", "new": ""}]},
    {"op": "replace_text", "cell": 0, "edits": [{"old": "a", "new": "", "unknown": 1}]},
    {"op": "replace_text", "cell": 0, "edits": [{"old": "a", "new": ""}] * 1001},
    {**INSERT, "index": -1},
    {**INSERT, "index": LARGEST + 1},
    {**INSERT, "at": "middle"},
    {**INSERT, "at": "end", "id": ""},
    {**INSERT, "at": "end", "id": "a" * 65},
    {**INSERT, "at": "end", "id": "a b"},
    {**INSERT, "at": "end", "id": "a\n"},
    {**INSERT, "at": "end", "unknown": 1},
    {**INSERT, "at": "end", "metadata": []},
    {"op": "delete", "cells": []},
    {"op": "delete", "cell": 0, "unknown": 1},
    {"op": "move", "cells": [], "at": "end"},
    {"op": "move", "cell": 0, "at": "end", "unknown": 1},
    {"op": "split", "cell": 0, "at_line": 1},
    {"op": "split", "cell": 0, "at_line": LARGEST + 1},
    {"op": "split", "cell": 0, "at_line": 2, "unknown": 1},
    {"op": "merge", "cells": [0]},
    {"op": "merge", "cells": [0, 1], "unknown": 1},
    {"op": "clear_outputs", "cells": []},
    {"op": "clear_outputs", "all": True, "unknown": 1},
    {"op": "set_metadata", "patch": []},
    {"op": "set_metadata", "patch": {}, "unknown": 1},
    {"op": "append_to_section", "section": "", "source": ""},
    {"op": "append_to_section", "section": "a", "source": "", "unknown": 1},
    {"op": "append_to_section", "section": "a", "source": "", "cell_type": "x"},
    {"op": "replace_section", "section": "", "source": ""},
    {"op": "replace_section", "section": "a", "source": "", "unknown": 1},
    {"op": "remove_entry", "section": "a", "match": ""},
    {"op": "remove_entry", "section": "", "match": "a"},
    {"op": "remove_entry", "section": "a", "match": "a", "unknown": 1},
]


def shown(operation: dict[str, Any]) -> str:
    return json.dumps(operation)[:60]


@pytest.mark.parametrize("operation", RIGHT_TYPES, ids=shown)
def test_what_has_the_right_types_is_read_as_it_is(operation: dict[str, Any]) -> None:
    decoded = DECODER.decode(json.dumps(operation))
    check_form(decoded)
    assert {**msgspec.to_builtins(decoded), **operation} == msgspec.to_builtins(decoded)


@pytest.mark.parametrize("operation", WRONG_TYPES, ids=shown)
def test_what_has_a_wrong_type_is_not_read(operation: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        DECODER.decode(json.dumps(operation))


def test_what_is_not_said_is_what_people_expect() -> None:
    read = DECODER.decode
    assert read(b'{"op": "replace", "cell": 0, "source": ""}').outputs == "clear"
    assert read(b'{"op": "replace_text", "cell": 0, "old": "a", "new": ""}').outputs == "clear"
    assert not msgspec.json.decode(b'{"old": "a", "new": ""}', type=TextEdit).all
    for op in ("append_to_section", "replace_section"):
        found = read(b'{"op": "%s", "section": "a", "source": ""}' % op.encode())
        assert found.cell_type == "markdown"


def test_an_operation_cannot_be_changed() -> None:
    for operation in (*GOOD, {"op": "replace_section", "section": "a", "source": ""}):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(DECODER.decode(json.dumps(operation)), next(iter(set(operation) - {"op"})), 1)


def test_what_an_operation_says_is_said_by_name() -> None:
    for kind in (*get_args(Operation), TextEdit, Position):
        parameters = inspect.signature(kind).parameters.values()
        assert {parameter.kind for parameter in parameters} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("struct", [Expect(), TextEdit(old="a", new="b"), Position(at="end")])
def test_a_part_of_an_operation_cannot_be_changed(struct: msgspec.Struct) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        setattr(struct, struct.__struct_fields__[-1], "x")
