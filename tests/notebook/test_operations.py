"""Operations that are refused before any notebook is read.

`tests/handlers/test_bad_fields.py` holds the server against its own schema; what the limits of the
schema are stands here.
"""

import json
from typing import Any, get_args

import msgspec
import pytest

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook.operations import (
    Operation,
    get_operation_name,
    validate_metadata,
    validate_operation,
)
from tests.handlers.error_checks import build_nested

DECODER = msgspec.json.Decoder(Operation)
LARGEST = 2**53 - 1
EDIT = {"old": "a", "new": ""}

#: What each operation has at least.
LEAST: dict[str, dict[str, Any]] = {
    "replace": {"cell": 0, "source": ""},
    "replace_text": {"cell": 0, **EDIT},
    "insert": {"source": "", "cell_type": "code", "at": "end"},
    "delete": {"cell": 0},
    "move": {"cell": 0, "at": "end"},
    "split": {"cell": 0, "at_line": 2},
    "merge": {"cells": [0, 1]},
    "clear_outputs": {"cell": 0},
    "set_metadata": {"patch": {}},
    "append_to_section": {"section": "a", "source": ""},
    "replace_section": {"section": "a", "source": ""},
    "remove_entry": {"section": "a", "match": "a"},
}
GOOD: list[tuple[str, dict[str, Any]]] = [
    *((op, {}) for op in LEAST),
    ("replace", {"cell": LARGEST, "source": ..., "cell_type": "raw", "outputs": "keep"}),
    ("replace", {"cell": "", "expect": {"source_hash": "0" * 64}, "outputs": "clear"}),
    ("replace_text", {"all": False}),
    ("replace_text", {"old": ..., "new": ..., "edits": [{**EDIT, "all": True}] * 1000}),
    ("insert", {"at": ..., "index": LARGEST, "metadata": {"a": [{}]}}),
    ("insert", {"at": ..., "before": 0, "id": "a" * 64}),
    ("insert", {"at": ..., "after": 0, "id": "aZ09_-"}),
    *(("insert", {"id": each}) for each in ("cell-", "cell-x", "cell-1a", "Cell-1", "cell--1")),
    ("delete", {"cell": ..., "cells": [0]}),
    ("move", {"cell": ..., "cells": [0]}),
    ("split", {"at_line": LARGEST}),
    ("clear_outputs", {"cell": ..., "all": True}),
    ("clear_outputs", {"cell": ..., "cells": [0]}),
    ("set_metadata", {"patch": {"a": None}, "cell": 0, "expect": {"source": ""}}),
    ("append_to_section", {"cell_type": "raw"}),
    ("remove_entry", {"match": " a"}),
]
BAD: list[tuple[str, dict[str, Any]]] = [
    *((op, {"unknown": 1}) for op in LEAST),
    *((op, {name: ...}) for op in LEAST for name in LEAST[op]),
    ("no_operation", {"cell": 0}),
    *(("replace", {"cell": cell}) for cell in (-1, LARGEST + 1, 1.5, None)),
    *(("replace", {"source": source}) for source in (None, 1, ["a"])),
    *(("replace", {name: "x"}) for name in ("cell_type", "outputs", "expect")),
    *(("replace", {"expect": expect}) for expect in ({}, {"source": "", "unknown": 1})),
    ("delete", {"expect": {"source": "", "source_hash": "0" * 64}}),
    ("delete", {"cell": ..., "cells": [0], "expect": {"source": ""}}),
    ("set_metadata", {"expect": {"source": ""}}),
    ("replace_text", {"old": ""}),
    ("replace_text", {"edits": [EDIT]}),
    *(("replace_text", {name: ..., "edits": [EDIT]}) for name in EDIT),
    ("replace_text", {"old": ..., "new": ..., "all": True, "edits": [EDIT]}),
    *(
        ("replace_text", {"old": ..., "new": ..., "edits": edits})
        for edits in ([], [{**EDIT, "old": ""}], [{**EDIT, "unknown": 1}], [EDIT] * 1001)
    ),
    *(("insert", {"at": ..., "index": index}) for index in (-1, LARGEST + 1)),
    *(("insert", {"id": cell_id}) for cell_id in ("", "a" * 65, "a b", "a\n")),
    *(("insert", {"id": each}) for each in ("cell-0", "cell-12", "cell-007")),
    ("insert", {"metadata": []}),
    ("insert", {"metadata": {"trusted": 1}}),
    ("insert", {"at": "middle"}),
    ("insert", {"index": 0}),
    *((op, {"cells": [0]}) for op in ("delete", "move", "clear_outputs")),
    *((op, {"cell": ..., "cells": []}) for op in ("delete", "move", "clear_outputs")),
    *(("split", {"at_line": line}) for line in (1, LARGEST + 1)),
    ("merge", {"cells": [0]}),
    ("clear_outputs", {"all": True}),
    ("clear_outputs", {"cell": ..., "all": False}),
    ("set_metadata", {"patch": []}),
    ("set_metadata", {"patch": {"a": [{"trusted": None}]}}),
    ("set_metadata", {"patch": {"a": {"trusted": True}, "b": {"c": 1}}}),
    ("set_metadata", {"patch": {"a": {"trusted": True}, "b": [1]}}),
    ("set_metadata", {"patch": {"b": [1, {}], "a": [{"trusted": True}]}}),
    *((op, {"section": ""}) for op in LEAST if "section" in LEAST[op]),
    ("append_to_section", {"cell_type": "x"}),
    ("remove_entry", {"match": ""}),
]


def encode_operation(op: str, changes: dict[str, Any]) -> bytes:
    """Encode a minimal operation with changes; `...` removes a field."""
    fields = {"op": op, **LEAST.get(op, {}), **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


def test_every_limit_of_an_operation_has_a_case() -> None:
    assert set(LEAST) == {struct.__struct_config__.tag for struct in get_args(Operation)}


@pytest.mark.parametrize(("op", "changes"), GOOD)
def test_a_valid_operation_is_decoded_unchanged(op: str, changes: dict[str, Any]) -> None:
    decoded = DECODER.decode(encode_operation(op, changes))
    validate_operation(decoded)
    assert get_operation_name(decoded) == op
    read = msgspec.to_builtins(decoded)
    assert {**read, **json.loads(encode_operation(op, changes))} == read


@pytest.mark.parametrize(("op", "changes"), BAD)
def test_an_invalid_operation_is_refused(op: str, changes: dict[str, Any]) -> None:
    with pytest.raises((InvalidOperation, msgspec.ValidationError)):
        validate_operation(DECODER.decode(encode_operation(op, changes)))


def test_an_entry_of_white_space_is_refused() -> None:
    operation = DECODER.decode(encode_operation("remove_entry", {"match": " \n"}))
    with pytest.raises(InvalidOperation, match="white space"):
        validate_operation(operation)


@pytest.mark.parametrize("opening", [b"[", b'{"a": '])
def test_metadata_may_have_at_most_100_levels(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"

    def deep(levels: int) -> Any:
        # The innermost is a value and a level of its own.
        return json.loads(opening * (levels - 1) + b"1" + closing * (levels - 1))

    validate_metadata("metadata", deep(100))
    for too_deep in (deep(101), json.loads(build_nested(500))):
        with pytest.raises(InvalidOperation):
            validate_metadata("metadata", too_deep)


def test_omitted_fields_have_the_expected_defaults() -> None:
    defaults = {op: msgspec.to_builtins(DECODER.decode(encode_operation(op, {}))) for op in LEAST}
    for op in ("replace", "replace_text"):
        assert defaults[op]["outputs"] == "clear"
    for op in ("append_to_section", "replace_section"):
        assert defaults[op]["cell_type"] == "markdown"
