"""What is refused before any notebook is looked at, because of its form."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook.forms import check_form, check_metadata
from jupyter_nbedit.notebook.operations import Operation, name_of
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
