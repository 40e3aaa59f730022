"""Notebooks made to break something: S8, S9, S11, S12, S21, S23 and S27."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Replace
from jupyter_nbedit.notebook.splices import apply_splices
from tests.handlers.requests import replace
from tests.services.events.listener import open_listener
from tests.support import samples
from tests.support.http import Client, Local

NAME = "a.ipynb"
GOOD = samples.three_cells()
EDIT = {"op": "replace", "cell": "beta", "source": "changed"}


def put(live: Client, text: bytes) -> Path:
    path = live.root / NAME
    path.write_bytes(text)
    # It is too old for an unfinished save, which an edit would wait for.
    os.utime(path, (1, 1))
    return path


GROWING: dict[str, Callable[[int], bytes]] = {
    "cells": lambda n: samples.notebook(*(samples.raw("x", f"c{i}") for i in range(n))),
    "cells of one id": lambda n: samples.notebook(
        *[samples.raw("x", "twin")] * n, samples.raw("y", "c0")
    ),
    "escapes": lambda n: samples.notebook(samples.raw('\n\t"\\' * n, "c0")),
    "a string without end": lambda n: b'{"cells": [{"source": "' + b"x\\n" * n,
    "brackets": lambda n: b'{"cells": ' + b"[" * n,
}


def count_calls(text: bytes) -> int:
    """Read and edit a notebook, and count the calls of functions that this takes."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        with contextlib.suppress(InvalidNotebook):
            edit = Replace(cell="c0", source="changed")
            apply_splices(
                text, apply_operations(Document.parse(text), [edit], fresh_id=lambda: "x").splices
            )
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.threat("S9")
@pytest.mark.parametrize("kind", GROWING)
def test_eight_times_the_size_takes_about_eight_times_the_steps(kind: str) -> None:
    make = GROWING[kind]
    # What is no Python would take minutes for the larger one, were it the square.
    assert count_calls(make(32_000)) < 9 * count_calls(make(4_000))


@pytest.mark.threat("S11")
def test_a_byte_order_mark_is_kept(live: Client) -> None:
    text = b"\xef\xbb\xbf" + GOOD
    path = put(live, text)
    assert live.read(NAME).json["hash"] == samples.hash_file(path)
    assert live.patch(NAME, EDIT).status == 200
    assert path.read_bytes() == text.replace(b"# Title", b"changed")


# S21: trust --------------------------------------------------------------------------------------
# Random histories are in tests/trust/test_random_histories.py; here are smuggled outputs.

EVIL = {
    "output_type": "display_data",
    "data": {"text/html": "<script>__pwned</script>"},
    "metadata": {},
}


@pytest.mark.threat("S21")
def test_outputs_that_look_like_metadata_are_not_rendered(live: Client) -> None:
    path = put(live, GOOD)
    patch = {"op": "set_metadata", "cell": "alpha", "patch": {"outputs": [EVIL]}}
    for operations in ([patch], [{"op": "move", "cell": "alpha", "at": "end"}, EDIT]):
        assert live.patch(NAME, *operations).status == 200
    cells = samples.load_cells(path.read_bytes())
    assert [cell.get("outputs", []) for cell in cells] == [[], [], [samples.HTML_OUTPUT]]
    shown = live.request("GET", f"api/contents/{NAME}").json["content"]["cells"]
    assert [cell["metadata"]["trusted"] for cell in shown if "outputs" in cell] == [False]


@pytest.mark.threat("S23")
async def test_names_of_javascript_prototypes_are_ordinary_names(
    local: Local, jp_ws_fetch: Any
) -> None:
    polluting = {"__proto__": {"x": 1}, "constructor": {"prototype": {"x": 1}}, "toString": "x"}
    text = samples.notebook(
        samples.code("x", "__proto__", metadata=polluting),
        samples.raw("y", "constructor", metadata=polluting),
        metadata=polluting,
    )
    (local.root / NAME).write_bytes(text)
    async with open_listener(jp_ws_fetch) as listener:
        assert (await local.patch(NAME, replace("__proto__", "changed"))).status == 200
        (event,) = await listener.wait_for(1)
    assert (local.root / NAME).read_bytes() == text.replace(
        b'"source": "x"', b'"source": "changed"'
    )
    patch = {"op": "set_metadata", "cell": "constructor", "patch": {"__proto__": {"x": 2}}}
    assert (await local.patch(NAME, patch)).status == 200
    (_, second) = samples.load_cells((local.root / NAME).read_bytes())
    assert second["metadata"] == {**polluting, "__proto__": {"x": 2}}
    # Replies have its ids as values, never as names.
    assert event["operations"] == [{"op": "replace", "cell_id": "__proto__", "index": 0}]
    assert not {"__proto__", "constructor", "prototype"} & set(names(event))


def names(value: Any) -> list[str]:
    """List the names of all members at any depth."""
    if isinstance(value, dict):
        return [*value, *(name for inner in value.values() for name in names(inner))]
    return [name for inner in value for name in names(inner)] if isinstance(value, list) else []
