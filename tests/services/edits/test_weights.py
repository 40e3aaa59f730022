"""Which operations are too large for the event loop, by all that they contain and make."""

from typing import Any

import msgspec
import pytest

from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.services.edits.batch import estimate_weight
from jupyter_nbedit.system.concurrency import SMALL_BYTES

INSERT: dict[str, Any] = {"op": "insert", "at": "end", "cell_type": "code", "source": ""}
TEXT = "x" * (SMALL_BYTES + 1)
VALUES: list[Any] = [[]] * 5_000
GROWING = {"old": "y", "new": "y" * 400, "all": True}


def weigh(*operations: dict[str, Any], notebook_bytes: int = 500) -> int:
    return estimate_weight(msgspec.convert(list(operations), list[Operation]), notebook_bytes)


@pytest.mark.parametrize(
    "operation",
    [
        {**INSERT, "source": TEXT},
        {**INSERT, "metadata": {"a": TEXT}},
        {**INSERT, "metadata": {"a": {"b": [VALUES]}}},
        {**INSERT, "metadata": {TEXT: 1}},
        {"op": "replace", "cell": 0, "source": TEXT},
        {"op": "replace", "cell": 0, "source": "", "expect": {"source": TEXT}},
        {"op": "replace_text", "cell": 0, "old": TEXT, "new": ""},
        {"op": "replace_text", "cell": 0, "old": "a", "new": TEXT},
        {"op": "replace_text", "cell": 0, "edits": [{"old": "a", "new": TEXT}]},
        {"op": "replace_text", "cell": 0, "edits": [GROWING, GROWING]},
        {"op": "replace_text", "cell": 0, "edits": [{**GROWING, "new": "yyyy"}] * 7},
        {"op": "replace_text", "cell": 0, "edits": [{"old": "a", "new": "b"}] * 1_000},
        {"op": "set_metadata", "patch": {"a": VALUES}},
        {"op": "set_metadata", "cell": 0, "patch": {"a": {"b": TEXT}}},
        {"op": "append_to_section", "section": "H", "source": TEXT},
        {"op": "replace_section", "section": TEXT, "source": ""},
        {"op": "remove_entry", "section": "H", "match": TEXT},
        {"op": "delete", "cells": [TEXT]},
    ],
    ids=str,
)
def test_a_large_operation_is_no_work_for_the_event_loop(operation: dict[str, Any]) -> None:
    assert weigh(operation) > SMALL_BYTES
    assert weigh({**INSERT, "source": "x"}, operation) > SMALL_BYTES


def test_a_small_edit_of_a_small_notebook_is() -> None:
    operations = [
        {**INSERT, "source": "x = 1\n" * 100, "metadata": {"tags": ["a", "b"]}},
        {"op": "replace_text", "cell": 0, "old": "value", "new": "values", "all": True},
        {"op": "replace_text", "cell": 0, "edits": [{"old": "a", "new": "b"}] * 3},
        {"op": "set_metadata", "cell": 0, "patch": {"collapsed": True}},
    ]
    assert weigh(*operations, notebook_bytes=3_000) <= SMALL_BYTES
    assert weigh(*operations, notebook_bytes=SMALL_BYTES) > SMALL_BYTES
