"""Guarded names of cells over HTTP: wherever a cell is addressed, and what `rev` adds."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.requests import list_sources, send_json
from tests.support import samples
from tests.support.http import Client

# As most notebooks: without ids, and with twins.
TEXT = samples.notebook(
    samples.code("a"), samples.markdown("b"), samples.code("twin"), samples.code("twin"), minor=4
)
REV = hashlib.sha256(TEXT).hexdigest()[:8]


def name(index: int, source: str) -> str:
    return f"{index}:{hashlib.sha256(source.encode()).hexdigest()[:6]}"


def test_a_name_is_accepted_wherever_a_cell_is_addressed(live: Client, path: str) -> None:
    answer = live.patch(
        path,
        {"op": "replace_text", "cell": name(0, "a"), "old": "a", "new": "A"},
        {"op": "insert", "after": name(0, "a"), "cell_type": "code", "source": "new"},
        {"op": "move", "cells": [name(1, "b")], "before": name(0, "a")},
    )
    assert answer.status == 200, answer.body
    assert list_sources(live, path) == ["b", "A", "new", "twin", "twin"]
    cell = f"notebooks/{path}/cells/{name(7, 'new')}"
    assert send_json(live, "PATCH", cell, {"source": "newer"}).status == 200
    with no_changes(live.root):
        get_error(send_json(live, "PATCH", cell, {"source": "newest"}), 409, "cell_changed")
        get_error(live.request("GET", f"nbedit/{cell}"), 409, "cell_changed")
    cells = live.read(path, cell=[name(0, "A"), name(0, "b")]).json["cells"]
    assert [each["index"] for each in cells] == [0, 1]
    (hit,) = send_json(live, "POST", "search", {"query": "newer", "path": path}).json["hits"]
    assert hit["name"] == name(2, "newer")


def test_the_rev_chooses_among_cells_with_one_source(live: Client, path: str) -> None:
    twin: dict[str, Any] = {"op": "replace", "cell": name(3, "twin"), "source": "chosen"}
    with no_changes(live.root):
        for fields in ({}, {"rev": "00000000"}, {"rev": REV, "dry_run": True}):
            answer = live.patch(path, twin, **fields)
            assert answer.status == (200 if "dry_run" in fields else 409), answer.body
        assert live.read(path, cell=twin["cell"]).status == 409
        assert live.read(path, cell=twin["cell"], rev=REV).status == 200
        target = f"nbedit/notebooks/{path}/cells/{twin['cell']}?dry_run=true"
        assert live.request("DELETE", target).status == 409
        assert live.request("DELETE", f"{target}&rev={REV}").status == 200
    notebook_hash = hashlib.sha256(TEXT).hexdigest()
    assert live.patch(path, twin, hash=notebook_hash).status == 200
    assert list_sources(live, path) == ["a", "b", "twin", "chosen"]


def test_an_edit_with_an_older_rev_is_answered_with_what_others_changed(
    live: Client, path: str
) -> None:
    edit = {"op": "replace", "cell": name(0, "a"), "source": "mine"}
    assert live.patch(path, edit, rev="00000000", dry_run=True).json["changed_since"] == {
        "rev": "00000000",
        "cells": None,
        "count": 0,
    }
    assert live.read(path).json["hash"].startswith(REV)
    live.patch(path, {"op": "replace", "cell": 1, "source": "theirs"})
    live.patch(path, {"op": "insert", "at": "start", "cell_type": "raw", "source": "new"})
    answer = live.patch(path, edit, rev=REV)
    assert answer.json["operations"][0]["index"] == 1
    assert answer.json["changed_since"] == {
        "rev": REV,
        "cells": [name(0, "new"), name(2, "theirs")],
        "count": 2,
    }
    later = live.patch(path, {**edit, "cell": name(1, "mine")}, rev=answer.json["hash"][:8])
    assert "changed_since" not in later.json
    assert live.read(path, since=REV, view="outline").json["since"]["changed"] == 3
