"""Reading a notebook over HTTP."""

import json
from datetime import datetime
from typing import Any

import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client, Local

TEXT = samples.three_cells()
HASH = samples.compute_hash(TEXT)


def build_cell_view(
    index: int, cell_id: str, cell_type: str, source: str, lines: int
) -> dict[str, Any]:
    """Return the view of a cell without outputs."""
    return {
        "index": index,
        "id": cell_id,
        "cell_type": cell_type,
        "source": source,
        "source_hash": samples.compute_hash(source),
        "lines": lines,
        "tags": [],
    }


def test_a_notebook_is_returned_as_documented(notebook: Notebook) -> None:
    with no_changes(notebook.root):
        answer = notebook.read()
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.headers["ETag"] == f'"{HASH}"'
    modified = answer.json.pop("last_modified")
    assert modified.endswith("Z")
    assert notebook.file.stat().st_mtime == pytest.approx(
        datetime.fromisoformat(modified.replace("Z", "+00:00")).timestamp(), abs=1e-5
    )
    outputs = TEXT[TEXT.index(b'"outputs": [') :]
    output = outputs[outputs.index(b"{") : outputs.index(b"\n   ]")]
    alpha = {
        **build_cell_view(0, "alpha", "code", "x = 1\nx", 2),
        "execution_count": 3,
        "outputs": {"count": 1, "types": ["display_data"], "bytes": len(output)},
    }
    assert {**answer.json, "last_modified": modified} == {
        "path": notebook.path,
        "hash": HASH,
        "last_modified": modified,
        "nbformat": 4,
        "nbformat_minor": 5,
        "language": "python",
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "trusted": False,
        "live": False,
        "total_cells": 3,
        "cells": [
            alpha,
            build_cell_view(1, "beta", "markdown", "# Title", 1),
            build_cell_view(2, "gamma", "raw", "as is", 1),
        ],
        "next": None,
    }


def test_hash_and_time_equal_those_of_the_contents_api(live: Client, notebook: Notebook) -> None:
    read = notebook.read().json
    model = live.request("GET", f"api/contents/{notebook.path}?hash=1").json
    assert (read["hash"], model["hash_algorithm"]) == (model["hash"], "sha256")
    assert read["last_modified"] == model["last_modified"]


def test_an_outline_has_first_lines_instead_of_sources(notebook: Notebook) -> None:
    long = "\n   \n  " + "é" * 500 + "\nmore"
    cells = [samples.code("x = 1\ny = 2", "a"), samples.markdown(long, "b"), samples.raw("", "c")]
    notebook.write(*cells)
    shown = notebook.read(view="outline").json["cells"]
    assert [cell["summary"] for cell in shown] == ["x = 1", "é" * 120 + "…", ""]
    assert not [cell for cell in shown if "source" in cell]
    assert [cell["source_hash"] for cell in shown] == [
        cell["source_hash"] for cell in notebook.read().json["cells"]
    ]


def test_requested_cells_come_once_each_in_notebook_order(notebook: Notebook) -> None:
    for addresses, indices in (
        (["gamma"], [2]),
        (["gamma", "alpha"], [0, 2]),
        (["1", "beta", "cell-1"], [1]),
        (["cell-2", "0"], [0, 2]),
    ):
        found = notebook.read(cell=addresses).json
        assert [cell["index"] for cell in found["cells"]] == indices
        assert found["total_cells"] == 3
    page = notebook.read(cell=["alpha", "beta", "gamma"], limit=1, start=1).json
    assert ([cell["id"] for cell in page["cells"]], page["next"]) == (["beta"], 2)


@pytest.mark.parametrize(
    "cell",
    ["nobody", "", " alpha", "alpha ", "3", "--1", "-01", "+1", "01", "1.0", "٣", "1" * 5000],
)
def test_a_missing_cell_is_refused(notebook: Notebook, cell: str) -> None:
    for addresses in ([cell], ["alpha", cell]):
        found = get_error(notebook.read(cell=addresses), 404, "cell_not_found")
        assert found["available_ids"] == ["alpha", "beta", "gamma"]


def test_an_ambiguous_cell_is_refused(notebook: Notebook) -> None:
    notebook.write(*[samples.raw("a", "twin")] * 2)
    assert get_error(notebook.read(cell="twin"), 409, "ambiguous_cell")["indexes"] == [0, 1]
    assert [cell["id"] for cell in notebook.read().json["cells"]] == ["twin", "twin"]


def test_query_arguments_of_jupyter_are_accepted(live: Client, notebook: Notebook) -> None:
    query: dict[str, Any] = {"no_track_activity": "1", "token": live.token, "_xsrf": "x"}
    assert notebook.read(**query).status == 200


@pytest.mark.parametrize(
    "tag", [f'"{HASH}"', f'W/"{HASH}"', f'"{"0" * 64}", "{HASH}"', f'  "{HASH}"  ,', "*"]
)
def test_a_matching_etag_is_answered_with_304(notebook: Notebook, tag: str) -> None:
    for query in ({}, {"view": "outline"}, {"cell": "alpha"}):
        answer = notebook.read(headers={"If-None-Match": tag}, **query)
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["ETag"] == f'"{HASH}"'


@pytest.mark.parametrize("tag", ["", f'"{"0" * 64}"', f'"{HASH[:-1]}"', f'"{HASH}0"', '""'])
def test_another_etag_is_answered_with_the_notebook(notebook: Notebook, tag: str) -> None:
    answer = notebook.read(headers={"If-None-Match": tag})
    assert (answer.status, answer.json["hash"]) == (200, HASH)


def test_cells_without_ids_have_no_ids_in_the_reply(notebook: Notebook) -> None:
    for minor in (0, 4, 5):
        text = samples.notebook(samples.code("x"), samples.markdown("y"), minor=minor)
        notebook.file.write_bytes(text)
        with no_changes(notebook.root):
            read = notebook.read().json
        assert [cell["id"] for cell in read["cells"]] == [None, None]
        assert read["nbformat_minor"] == minor
        assert notebook.read(cell="cell-1").json["cells"] == read["cells"][1:]


def test_nan_and_infinity_are_read_and_answered_as_valid_json(notebook: Notebook) -> None:
    output = {"output_type": "execute_result", "data": {"application/json": "@"}, "metadata": {}}
    cell = samples.code("'@surrogate'", "alpha", outputs=[output], execution_count=12)
    text = samples.notebook(cell, metadata={"digits": "@digits"})
    for name, value in (
        (b'"@"', b"[NaN, Infinity, -Infinity, 1e999]"),
        (b'"@digits"', b"7" * 5000),
        (b"@surrogate", b"\\udc80 \\ud800"),
    ):
        text = text.replace(name, value)
    notebook.file.write_bytes(text)
    answer = notebook.read()
    assert answer.status == 200
    assert b"\\udc80 \\ud800" in answer.body

    def refuse(token: str) -> None:
        raise AssertionError(token)

    full = notebook.read(view="full", outputs="full")
    json.loads(full.body, parse_constant=refuse)
    shown = json.loads(answer.body, parse_constant=refuse)["cells"][0]
    assert shown["source"] == "'\udc80 \ud800'"
    assert shown["outputs"]["count"] == 1
    assert notebook.read(view="outline").status == 200


@pytest.mark.parametrize(
    "jp_server_config", [{"ContentsManager": {"allow_hidden": True}}], indirect=True
)
async def test_hidden_files_are_read_if_the_server_allows_them(local: Local) -> None:
    (local.root / ".hidden").mkdir()
    (local.root / ".hidden" / ".a.ipynb").write_bytes(TEXT)
    assert (await local.read(".hidden/.a.ipynb")).json["hash"] == HASH
    answer = await local.patch(".hidden/.a.ipynb", {"op": "delete", "cell": "alpha"})
    assert answer.status == 200
    get_error(await local.read("../outside.ipynb"), 404, "notebook_not_found")


async def test_the_about_route_returns_version_mode_limits_and_links(local: Local) -> None:
    answer = await local.request("GET", "nbedit")
    about = answer.json
    assert about.pop("epoch")
    assert about.pop("version").count(".") == 2
    assert "compare" in about.pop("guards")
    assert "nexo/NotebookEdit" in about.pop("tools")
    assert about == {
        "name": "jupyter_nbedit",
        "mode": "edit",
        "limits": {
            "max_request_bytes": 16 * 1024 * 1024,
            "max_json_values": 200_000,
            "max_created_json_values": 400_000,
            "max_added_lines": 500_000,
            "max_operations": 1000,
            "max_hits": 1000,
        },
        "storage": ["file"],
        "links": {
            "self": "/a%40b/nbedit",
            "openapi": "/a%40b/nbedit/openapi.json",
            "notebook": "/a%40b/nbedit/notebooks/{path}",
            "undo": "/a%40b/nbedit/notebooks/{path}/undo",
            "redo": "/a%40b/nbedit/notebooks/{path}/redo",
            "unseen": "/a%40b/nbedit/notebooks/{path}/unseen",
            "keep": "/a%40b/nbedit/notebooks/{path}/keep",
            "restore": "/a%40b/nbedit/notebooks/{path}/restore",
            "mode": "/a%40b/nbedit/mode",
            "proposals": "/a%40b/nbedit/proposals",
            "proposal": "/a%40b/nbedit/proposals/{proposal_id}",
            "history": "/a%40b/nbedit/history",
            "search": "/a%40b/nbedit/search",
            "tabs": "/a%40b/nbedit/tabs",
            "agents": "/a%40b/nbedit/agents",
            "tools": "/a%40b/nbedit/tools",
            "tool": "/a%40b/nbedit/tools/{dialect}/{tool}",
            "mcp": "/a%40b/nbedit/mcp",
            "events": "/a%40b/api/events/subscribe",
        },
    }


def test_a_missing_cell_is_reported_even_for_a_matching_etag(notebook: Notebook) -> None:
    tag = {"If-None-Match": notebook.read().headers["ETag"]}
    assert notebook.read(tag).status == 304
    get_error(notebook.read(tag, cell="nobody"), 404, "cell_not_found")
    get_error(notebook.read(tag, since="0" * 64), 410, "version_unknown")


def test_head_has_the_tag_of_the_notebook_and_does_not_count_as_reading_it(
    live: Client, notebook: Notebook
) -> None:
    tag = notebook.read().headers["ETag"]
    longer = TEXT + b"\n"
    notebook.file.write_bytes(longer)
    for headers, status in (({}, 200), ({"If-None-Match": tag}, 200)):
        answer = live.request("HEAD", f"nbedit/notebooks/{notebook.path}", headers=headers)
        assert (answer.status, answer.body) == (status, b"")
        assert answer.headers["ETag"] == f'"{samples.compute_hash(longer)}"'
    same = {"If-None-Match": answer.headers["ETag"]}
    assert live.request("HEAD", f"nbedit/notebooks/{notebook.path}", headers=same).status == 304
    assert live.request("HEAD", "nbedit/notebooks/missing.ipynb").status == 404


def test_a_delta_is_only_for_a_known_version_and_takes_no_other_options(notebook: Notebook) -> None:
    notebook_hash = samples.compute_hash(TEXT)
    whole = notebook.read(view="nbformat", since=notebook_hash).json
    assert whole["cells"] == [{"copy": [0, 3]}]
    get_error(notebook.read(view="nbformat", since="0" * 64), 410, "version_unknown")
    for query in (
        {},
        {"since": notebook_hash, "limit": 1},
        {"since": notebook_hash, "outputs": "full"},
    ):
        get_error(notebook.read(view="nbformat", **query), 400, "invalid_request")


@pytest.mark.parametrize(
    ("source", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\u2028b\x0cc\rd", 1)]
)
def test_lines_are_counted_as_splitlines_counts_them(
    notebook: Notebook, source: str, lines: int
) -> None:
    notebook.write(samples.raw(source, "a"))
    assert notebook.read().json["cells"][0]["lines"] == lines
    split = {"op": "split", "cell": "a", "at_line": lines + 1}
    assert notebook.patch(split).status == 400
