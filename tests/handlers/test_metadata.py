"""Metadata that nbformat refuses are refused, whichever way they come."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.handlers.refused import details, untouched
from tests.support import samples
from tests.support.http import JSON, Client

BAD = {"tags": "slow"}
CELL = {"source": "x", "cell_type": "code", "metadata": BAD}


@pytest.mark.parametrize(
    ("verb", "target", "body", "found"),
    [
        (
            "PATCH",
            "a.ipynb",
            {"operations": [{"op": "set_metadata", "cell": 0, "patch": BAD}]},
            {"operation": 0},
        ),
        (
            "PATCH",
            "a.ipynb",
            {
                "operations": [
                    {"op": "clear_outputs", "all": True},
                    {"op": "set_metadata", "patch": {"tags": "free", "title": ["x"]}},
                ]
            },
            {"operation": 1, "member": "title"},
        ),
        (
            "PATCH",
            "a.ipynb",
            {"operations": [{"op": "insert", "at": "end", **CELL}], "dry_run": True},
            {"operation": 0},
        ),
        ("POST", "a.ipynb/cells", {"at": "start", **CELL}, {}),
        ("PATCH", "a.ipynb/cells/alpha", {"metadata": BAD}, {}),
        ("PUT", "new.ipynb", {"cells": [{"source": "x", "cell_type": "raw"}, CELL]}, {"cell": 1}),
    ],
)
def test_metadata_that_nbformat_refuses_are_refused_and_nothing_is_written(
    live: Client, verb: str, target: str, body: dict[str, Any], found: dict[str, Any]
) -> None:
    (live.root / "a.ipynb").write_bytes(samples.three_cells())

    with untouched(live.root):
        answer = live.request(verb, f"nbedit/notebooks/{target}", json.dumps(body).encode(), JSON)

    assert details(answer, 400, "invalid_operation") == {"member": "tags", **found}
    assert "Expected `" in answer.json["message"]


def test_metadata_that_nbformat_allows_are_stored_for_the_contents_api(live: Client) -> None:
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    patch = {"tags": ["slow"], "collapsed": True, "scrolled": "auto", "name": "n", "mine": {}}

    assert live.patch("a.ipynb", {"op": "set_metadata", "cell": 0, "patch": patch}).status == 200

    model = live.request("GET", "api/contents/a.ipynb").json
    assert model.get("message") is None
    assert {**model["content"]["cells"][0]["metadata"], **patch} == {
        **patch,
        "trusted": model["content"]["cells"][0]["metadata"]["trusted"],
    }
