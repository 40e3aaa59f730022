"""Guarded names of cells over HTTP: wherever a cell is addressed, and what `rev` adds."""

from typing import Any

from tests.handlers.error_checks import get_error, no_changes
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client
from tests.support.samples import name_cell

# As most notebooks: without ids, and with twins.
TEXT = samples.notebook(
    samples.code("a"), samples.markdown("b"), samples.code("twin"), samples.code("twin"), minor=4
)
REV = samples.compute_hash(TEXT)[:8]


def test_a_name_is_accepted_wherever_a_cell_is_addressed(live: Client, notebook: Notebook) -> None:
    answer = live.patch(
        notebook.path,
        {"op": "replace_text", "cell": name_cell(0, "a"), "old": "a", "new": "A"},
        {"op": "insert", "after": name_cell(0, "a"), "cell_type": "code", "source": "new"},
        {"op": "move", "cells": [name_cell(1, "b")], "before": name_cell(0, "a")},
    )
    assert answer.status == 200, answer.body
    assert notebook.list_sources() == ["b", "A", "new", "twin", "twin"]
    cell = f"notebooks/{notebook.path}/cells/{name_cell(7, 'new')}"
    assert live.send_json("PATCH", cell, {"source": "newer"}).status == 200
    with no_changes(notebook.root):
        get_error(live.send_json("PATCH", cell, {"source": "newest"}), 409, "cell_changed")
        get_error(live.request("GET", f"nbedit/{cell}"), 409, "cell_changed")
    cells = notebook.read(cell=[name_cell(0, "A"), name_cell(0, "b")]).json["cells"]
    assert [each["index"] for each in cells] == [0, 1]
    (hit,) = live.send_json("POST", "search", {"query": "newer", "path": notebook.path}).json[
        "hits"
    ]
    assert hit["name"] == name_cell(2, "newer")


def test_the_rev_chooses_among_cells_with_one_source(live: Client, notebook: Notebook) -> None:
    twin: dict[str, Any] = {"op": "replace", "cell": name_cell(3, "twin"), "source": "chosen"}
    with no_changes(notebook.root):
        for fields in ({}, {"rev": "00000000"}, {"rev": REV, "dry_run": True}):
            answer = notebook.patch(twin, **fields)
            assert answer.status == (200 if "dry_run" in fields else 409), answer.body
        assert notebook.read(cell=twin["cell"]).status == 409
        assert notebook.read(cell=twin["cell"], rev=REV).status == 200
        target = f"nbedit/notebooks/{notebook.path}/cells/{twin['cell']}?dry_run=true"
        assert live.request("DELETE", target).status == 409
        assert live.request("DELETE", f"{target}&rev={REV}").status == 200
    notebook_hash = samples.compute_hash(TEXT)
    assert notebook.patch(twin, hash=notebook_hash).status == 200
    assert notebook.list_sources() == ["a", "b", "twin", "chosen"]


def test_an_edit_with_an_older_rev_is_answered_with_what_others_changed(notebook: Notebook) -> None:
    edit = {"op": "replace", "cell": name_cell(0, "a"), "source": "mine"}
    assert notebook.patch(edit, rev="00000000", dry_run=True).json["changed_since"] == {
        "rev": "00000000",
        "cells": None,
        "count": 0,
    }
    assert notebook.read().json["hash"].startswith(REV)
    notebook.patch({"op": "replace", "cell": 1, "source": "theirs"})
    notebook.patch({"op": "insert", "at": "start", "cell_type": "raw", "source": "new"})
    answer = notebook.patch(edit, rev=REV)
    assert answer.json["operations"][0]["index"] == 1
    assert answer.json["changed_since"] == {
        "rev": REV,
        "cells": [name_cell(0, "new"), name_cell(2, "theirs")],
        "count": 2,
    }
    later = notebook.patch({**edit, "cell": name_cell(1, "mine")}, rev=answer.json["hash"][:8])
    assert "changed_since" not in later.json
    assert notebook.read(since=REV, view="outline").json["since"]["changed"] == 3
