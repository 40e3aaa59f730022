"""Read parts of a notebook: outputs, sections, changes, and pages within a budget."""

import asyncio
import base64
import threading
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.notebook.sections import Outline
from tests.handlers.error_checks import get_error
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client, Local

PNG = base64.b64encode(bytes(100_000)).decode()
IMAGE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": PNG}}
STREAM = {"output_type": "stream", "name": "stdout", "text": "\x1b[31mred\x1b[0m\n"}
TEXT = samples.notebook(
    samples.markdown("# One", "one"),
    samples.code("x = 1", "x", outputs=[STREAM, IMAGE], execution_count=1),
    samples.markdown("## Within", "within"),
    samples.markdown("# Two", "two"),
    samples.code("y = 2", "y"),
)


def list_ids(read: Any) -> list[str]:
    return [cell["id"] for cell in read["cells"]]


def test_outputs_are_returned_as_requested(notebook: Notebook) -> None:
    def outputs(**query: Any) -> Any:
        return notebook.read(cell="x", **query).json["cells"][0].get("outputs")

    assert outputs()["types"] == ["display_data", "stream"]
    assert outputs(view="outline", outputs="summary") == outputs()
    assert outputs(outputs="none") is None
    stub = {"mime": "image/png", "bytes": 100_000}
    assert outputs(outputs="text") == [
        {"output_type": "stream", "name": "stdout", "text": "red\n"},
        {"output_type": "display_data", "data": {"image/png": stub}},
    ]
    assert outputs(view="full") == outputs(outputs="text")
    assert outputs(outputs="full") == [STREAM, IMAGE]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"section": "One"}, ["one", "x", "within"]),
        ({"section": "Within"}, ["within"]),
        ({"section": ["Two", "Within"]}, ["within", "two", "y"]),
        ({"section": "Two", "cell": "x"}, ["x", "two", "y"]),
        ({"section": "One", "start": 1, "limit": 1}, ["x"]),
    ],
)
def test_a_section_returns_its_cells(
    notebook: Notebook, query: dict[str, Any], expected: list[str]
) -> None:
    assert list_ids(notebook.read(**query).json) == expected


def test_a_missing_or_ambiguous_section_is_refused(notebook: Notebook) -> None:
    found = get_error(notebook.read(section="three"), 404, "section_not_found")
    assert [heading["text"] for heading in found["outline"]] == ["One", "Within", "Two"]
    twins = samples.notebook(samples.markdown("# A", "a"), samples.markdown("# A", "b"))
    notebook.file.write_bytes(twins)
    get_error(notebook.read(section="A"), 409, "ambiguous_section")


def test_since_a_version_only_changed_cells_are_returned(notebook: Notebook) -> None:
    before = notebook.read().json
    assert "since" not in before
    notebook.patch({"op": "delete", "cell": "two"})
    notebook.patch({"op": "replace", "cell": "y", "source": "new"})
    notebook.patch({"op": "move", "cell": "one", "at": "end"})
    now = notebook.read(since=before["hash"]).json
    assert [(cell["id"], cell["source"]) for cell in now["cells"]] == [("y", "new")]
    assert now["since"] == {
        "hash": before["hash"],
        "changed": 1,
        "gone": ["two"],
        "reordered": True,
        "total_cells": 5,
    }
    assert now["total_cells"] == 4
    assert notebook.read(since=before["hash"], cell="x").json["cells"] == []
    assert notebook.read(since=before["hash"], limit=1).json["next"] is None


def test_since_the_current_version_nothing_has_changed(notebook: Notebook) -> None:
    for _ in range(2):
        now = notebook.read(since=samples.compute_hash(TEXT)).json
        assert (now["cells"], now["next"], now["since"]["changed"]) == ([], None, 0)


def test_changes_since_a_version_need_no_earlier_read_of_it(notebook: Notebook) -> None:
    text = TEXT.replace(b"y = 2", b"y = 3")
    notebook.file.write_bytes(text)
    notebook_hash = samples.compute_hash(text)
    assert notebook.read(headers={"If-None-Match": f'"{notebook_hash}"'}).status == 304
    notebook.patch({"op": "delete", "cell": "x"})
    assert notebook.read(since=notebook_hash).json["since"]["gone"] == ["x"]


def test_pages_within_a_budget_cover_every_cell(notebook: Notebook) -> None:
    sources = [f"line {n}\n" + "é" * (n % 7) * 10 for n in range(40)]
    cells = [samples.raw(source, f"id-{n}") for n, source in enumerate(sources)]
    notebook.write(*cells)
    for budget in (1, 20, 100, 10_000):
        start: int | None = 0
        seen: list[str] = []
        while start is not None:
            page = notebook.read(start=start, max_chars=budget, limit=30).json
            texts = [cell.get("source", cell.get("summary")) for cell in page["cells"]]
            assert 0 < sum(map(len, texts)) <= budget
            seen += list_ids(page)
            left_out = page["omitted"]
            assert len(texts) + left_out["cells"] == min(30, 40 - start)
            omitted = [cell.get("omitted", {}).get("source", 0) for cell in page["cells"]]
            assert left_out["source"] == sum(omitted)
            for cell, text, count in zip(page["cells"], texts, omitted, strict=True):
                source = sources[cell["index"]]
                assert source.startswith(text)
                assert count == (len(source) - len(text) if "source" in cell else len(source))
            start = page["next"]
        assert seen == [f"id-{n}" for n in range(40)]


def test_a_single_cell_has_its_own_address(live: Client, notebook: Notebook) -> None:
    address = f"nbedit/notebooks/{notebook.path}/cells"
    whole = notebook.read()
    answer = live.request("GET", f"{address}/x?view=full&outputs=full")
    assert answer.json == notebook.read(cell="x", view="full", outputs="full").json
    assert answer.headers["ETag"] == whole.headers["ETag"]
    assert live.request("GET", f"{address}/cell-1").json == notebook.read(cell="x").json
    assert live.request("GET", f"{address}/x?max_chars=2").json["cells"][0]["source"] == "x "
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert live.request("GET", f"{address}/x", headers=tag).status == 304
    get_error(live.request("GET", f"{address}/nobody"), 404, "cell_not_found")
    get_error(live.request("GET", f"{address}/x?start=1"), 400, "invalid_request")


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 2**20 + 1, 5 * 2**20])
def test_a_large_reply_is_complete(notebook: Notebook, size: int) -> None:
    notebook.write(samples.raw("x", "a"))
    more = size - len(notebook.read().body)
    notebook.write(samples.raw("x" * (more + 1), "a"))
    answer = notebook.read()
    assert abs(len(answer.body) - size) < 20
    assert answer.headers["Content-Length"] == str(len(answer.body))
    assert answer.json["cells"][0]["source"] == "x" * (more + 1)


def test_paging_returns_each_cell_once(notebook: Notebook) -> None:
    cells = [samples.raw(f"{n}", f"id-{n}") for n in range(1000)]
    notebook.write(*cells)
    for limit in (170, 1000, 1001):
        seen: list[str] = []
        start: int | None = 0
        while start is not None:
            page = notebook.read(start=start, limit=limit).json
            assert len(page["cells"]) <= limit
            assert page["total_cells"] == 1000
            seen += list_ids(page)
            start = page["next"]
        assert seen == [f"id-{n}" for n in range(1000)]
    beyond = notebook.read(start=1000).json
    assert (beyond["cells"], beyond["next"]) == ([], None)


async def test_a_large_notebook_is_read_in_a_thread(
    local: Local, local_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, go = threading.Event(), threading.Event()
    section = Outline.find_section

    def wait_and_find(outline: Outline, name: str) -> Any:
        waiting.set()
        assert go.wait(60)
        return section(outline, name)

    monkeypatch.setattr(Outline, "find_section", wait_and_find)
    large = samples.code("x", "big", outputs=[{**STREAM, "text": "x" * 500_000}])
    text = samples.notebook(samples.markdown("# One", "one"), large)
    (local.root / "large.ipynb").write_bytes(text)
    reading = asyncio.create_task(local.read("large.ipynb", section="One", outputs="full"))
    try:
        assert await asyncio.to_thread(waiting.wait, 60)
        assert (await local.read(local_file.name)).status == 200
        assert not reading.done()
    finally:
        go.set()
    assert len((await reading).json["cells"][1]["outputs"][0]["text"]) == 500_000
