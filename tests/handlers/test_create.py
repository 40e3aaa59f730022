"""Create notebooks over HTTP: the reply, the file, and existing files."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import nbformat
import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.services.events.listener import open_listener
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Answer, Client, Local

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "source": "# Title", "id": "title"},
    {"cell_type": "code", "source": "x = 1\nx", "metadata": {"tags": ["parameters"]}},
    {"cell_type": "raw", "source": ""},
]


def put(notebook: Notebook, headers: dict[str, str] | None = None, **body: Any) -> Answer:
    return notebook.server.send_json("PUT", f"notebooks/{quote(notebook.path)}", body, headers)


def test_a_notebook_is_created_as_nbformat_would_write_it(live: Client) -> None:
    answer = put(
        Notebook(live, "created.ipynb"), cells=CELLS, kernelspec="python3", language="python"
    )
    assert answer.status == 201, answer.body
    text = (live.root / "created.ipynb").read_bytes()
    notebook = nbformat.reads(text.decode(), as_version=4)
    nbformat.validate(notebook)
    assert text.decode() == nbformat.writes(notebook) + "\n"
    assert [(cell.cell_type, cell.source) for cell in notebook.cells] == [
        (cell["cell_type"], cell["source"]) for cell in CELLS
    ]
    assert notebook.cells[0].id == "title"
    assert notebook.cells[1].metadata == {"tags": ["parameters"]}
    assert notebook.metadata == {
        "kernelspec": {"display_name": "python3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


def test_the_reply_to_create_has_the_form_of_an_edit_without_previous_hash(live: Client) -> None:
    answer = put(Notebook(live, "answered.ipynb"), cells=CELLS)
    notebook_hash = samples.compute_hash((live.root / "answered.ipynb").read_bytes())
    reply = answer.json
    assert (reply["hash"], reply["hash_before"]) == (notebook_hash, None)
    assert (reply["total_cells"], reply["cells_delta"], reply["persisted"]) == (3, 3, True)
    assert [result["op"] for result in reply["operations"]] == ["insert"] * 3
    assert reply["operations"][0]["cell_id"] == "title"
    assert isinstance(reply["edit_id"], int)
    assert answer.headers["ETag"] == f'"{notebook_hash}"'
    read = live.request("GET", answer.headers["Location"].removeprefix("/"))
    assert (read.status, read.json["hash"]) == (200, notebook_hash)


@pytest.mark.parametrize("body", [{}, {"cells": []}, {"language": "julia"}, {"kernelspec": "ir"}])
def test_a_notebook_may_lack_cells_and_most_metadata(live: Client, body: dict[str, Any]) -> None:
    name = f"empty {hash(str(body))}.ipynb"
    assert put(Notebook(live, name), **body).status == 201
    text = (live.root / name).read_text()
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert text == nbformat.writes(notebook) + "\n"
    edited = live.patch(name, {"op": "insert", "cell_type": "code", "source": "1", "at": "end"})
    assert edited.status == 200


def test_create_never_overwrites_an_existing_path(live: Client) -> None:
    (live.root / "there.ipynb").write_bytes(samples.three_cells())
    (live.root / "folder.ipynb").mkdir(exist_ok=True)
    with no_changes(live.root):
        for name in ("there.ipynb", "folder.ipynb"):
            for headers in ({}, {"If-None-Match": "*"}):
                get_error(put(Notebook(live, name), headers, cells=CELLS), 409, "notebook_exists")
            get_error(put(Notebook(live, name), dry_run=True), 409, "notebook_exists")


@pytest.mark.parametrize("path", ["no/such/folder.ipynb", ".hidden.ipynb", "../out.ipynb"])
def test_create_makes_no_folder_and_reports_no_missing_ones(
    live: Client, notebook: Notebook
) -> None:
    with no_changes(notebook.root):
        bodies = {put(notebook, dry_run=dry).body for dry in (False, True)}
        missing = live.request("GET", "nbedit/notebooks/missing.ipynb")
        get_error(missing, 404, "notebook_not_found")
    assert bodies == {missing.body}
    assert not (notebook.root.parent / "out.ipynb").exists()


def test_a_dry_run_creates_nothing_and_returns_the_hash(live: Client) -> None:
    with no_changes(live.root):
        answer = put(Notebook(live, "dry.ipynb"), cells=CELLS[:1], dry_run=True)
        assert answer.status == 200
        assert (answer.json["edit_id"], answer.json["persisted"]) == (None, False)
        assert "Location" not in answer.headers
    assert put(Notebook(live, "dry.ipynb"), cells=CELLS[:1]).json["hash"] == answer.json["hash"]


async def test_listeners_get_the_event_of_a_new_notebook(local: Local, jp_ws_fetch: Any) -> None:
    async with open_listener(jp_ws_fetch) as listener:
        body = {"cells": CELLS, "client": "me"}
        answer = await local.send_json("PUT", "notebooks/a.ipynb", body)
        (edit,) = await listener.wait_for(1)
    assert (edit["hash_before"], edit["hash"]) == (None, answer.json["hash"])
    assert (edit["client"], edit["total_cells"], len(edit["operations"])) == ("me", 3, 3)
    (contents,) = (event for event in listener.heard if event != edit)
    assert (contents["action"], contents["path"]) == ("save", "a.ipynb")
    assert (await local.contents("a.ipynb"))["content"]["cells"][0]["id"] == "title"


def test_one_of_many_concurrent_creates_succeeds(live: Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(
                lambda n: put(Notebook(live, "race.ipynb"), client=str(n), language=f"l{n}"),
                range(16),
            )
        )
    assert sorted(answer.status for answer in answers) == [201, *[409] * 15]
    (made,) = (answer for answer in answers if answer.status == 201)
    notebook_hash = samples.compute_hash((live.root / "race.ipynb").read_bytes())
    assert made.json["hash"] == notebook_hash
