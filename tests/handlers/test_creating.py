"""Creating a notebook over HTTP: what is answered, what is on disk, what is left alone."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any
from urllib.parse import quote

import nbformat
import pytest

from jupyter_nbedit.events import SCHEMA_ID
from tests.handlers.refused import details, untouched
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "source": "# Title", "id": "title"},
    {"cell_type": "code", "source": "x = 1\nx", "metadata": {"tags": ["parameters"]}},
    {"cell_type": "raw", "source": ""},
]


def put(live: Client, path: str, headers: dict[str, str] | None = None, **body: Any) -> Answer:
    target = f"nbedit/notebooks/{quote(path)}"
    return live.request("PUT", target, json.dumps(body).encode(), {**JSON, **(headers or {})})


def test_a_notebook_is_created_as_nbformat_would_write_it(live: Client) -> None:
    answer = put(live, "created.ipynb", cells=CELLS, kernelspec="python3", language="python")
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


def test_the_answer_is_that_of_an_edit_that_had_nothing_before_it(live: Client) -> None:
    answer = put(live, "answered.ipynb", cells=CELLS)
    digest = hashlib.sha256((live.root / "answered.ipynb").read_bytes()).hexdigest()
    said = answer.json
    assert (said["hash"], said["hash_before"]) == (digest, None)
    assert (said["total_cells"], said["cells_delta"], said["persisted"]) == (3, 3, True)
    assert [done["op"] for done in said["operations"]] == ["insert"] * 3
    assert said["operations"][0]["cell_id"] == "title"
    assert isinstance(said["edit_id"], int)
    assert answer.headers["ETag"] == f'"{digest}"'
    read = live.request("GET", answer.headers["Location"].removeprefix("/"))
    assert (read.status, read.json["hash"]) == (200, digest)


@pytest.mark.parametrize("body", [{}, {"cells": []}, {"language": "julia"}, {"kernelspec": "ir"}])
def test_a_notebook_may_have_no_cells_and_say_little(live: Client, body: dict[str, Any]) -> None:
    name = f"empty {hash(str(body))}.ipynb"
    assert put(live, name, **body).status == 201
    text = (live.root / name).read_text()
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert text == nbformat.writes(notebook) + "\n"
    edited = live.patch(name, {"op": "insert", "cell_type": "code", "source": "1", "at": "end"})
    assert edited.status == 200


def test_what_is_there_is_never_overwritten(live: Client) -> None:
    (live.root / "there.ipynb").write_bytes(samples.three_cells())
    (live.root / "folder.ipynb").mkdir(exist_ok=True)
    with untouched(live.root):
        for name in ("there.ipynb", "folder.ipynb"):
            for headers in ({}, {"If-None-Match": "*"}):
                details(put(live, name, headers, cells=CELLS), 409, "notebook_exists")
            details(put(live, name, dry_run=True), 409, "notebook_exists")


@pytest.mark.parametrize("path", ["no/such/folder.ipynb", ".hidden.ipynb", "../out.ipynb"])
def test_no_folder_is_invented_and_the_answer_tells_nothing(live: Client, path: str) -> None:
    with untouched(live.root):
        bodies = {put(live, path, dry_run=dry).body for dry in (False, True)}
        missing = live.request("GET", "nbedit/notebooks/missing.ipynb")
        details(missing, 404, "notebook_not_found")
    assert bodies == {missing.body}
    assert not (live.root.parent / "out.ipynb").exists()


@pytest.mark.parametrize(
    "body",
    [
        {"cells": [{"cell_type": "code", "source": "x", "outputs": []}]},
        {"cells": [{"cell_type": "code", "source": "x", "at": "end"}]},
        {"cells": [{"cell_type": "code"}]},
        {"cells": [{"cell_type": "code", "source": "x", "metadata": {"trusted": True}}]},
        {"cells": [{"cell_type": "raw", "source": "", "id": "a"}] * 2},
        {"cells": [{"cell_type": "raw", "source": "", "id": "no spaces"}]},
        {"cells": "x"},
        {"language": ""},
        {"kernelspec": {"name": "python3"}},
        {"hash": "0" * 64},
        {"nbformat": 4},
    ],
)
def test_a_notebook_that_cannot_be_is_not_created(live: Client, body: dict[str, Any]) -> None:
    with untouched(live.root):
        answer = put(live, "refused.ipynb", **body)
        assert answer.status == 400, answer.body
        details(answer, 400, answer.json["reason"])


def test_a_refusal_names_the_cell_as_the_request_counts_it(live: Client) -> None:
    bad = {"cell_type": "code", "source": "x", "metadata": {"trusted": True}}
    with untouched(live.root):
        answer = put(live, "refused.ipynb", cells=[CELLS[0], bad])
        assert details(answer, 400, "invalid_operation") == {"cell": 1}


@pytest.mark.parametrize(
    "headers", [{"If-Match": "*"}, {"If-Match": f'"{"0" * 64}"'}, {"If-None-Match": '"x"'}]
)
def test_a_condition_that_asks_for_overwriting_is_refused(
    live: Client, headers: dict[str, str]
) -> None:
    with untouched(live.root):
        details(put(live, "conditional.ipynb", headers), 400, "invalid_request")


def test_a_dry_run_creates_nothing_and_tells_the_hash_it_would_have(live: Client) -> None:
    with untouched(live.root):
        answer = put(live, "dry.ipynb", cells=CELLS[:1], dry_run=True)
        assert answer.status == 200
        assert (answer.json["edit_id"], answer.json["persisted"]) == (None, False)
        assert "Location" not in answer.headers
    assert put(live, "dry.ipynb", cells=CELLS[:1]).json["hash"] == answer.json["hash"]


@pytest.mark.parametrize("jp_server_config", [{"NbEditApp": {"mode": "plan"}}], indirect=True)
async def test_in_plan_mode_nothing_is_created(local: Local) -> None:
    body = b"{}"
    with untouched(local.root):
        answer = await local.request(
            "PUT", "nbedit", "notebooks", "a.ipynb", body=body, headers=JSON
        )
        details(answer, 403, "plan_mode")


async def test_everybody_is_told_of_a_new_notebook(local: Local, jp_serverapp: Any) -> None:
    heard: list[dict[str, Any]] = []

    async def hear(logger: Any, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG001 -- so called by name
        heard.append({"schema": schema_id, **data})

    for schema in (SCHEMA_ID, "https://events.jupyter.org/jupyter_server/contents_service/v1"):
        jp_serverapp.event_logger.add_listener(schema_id=schema, listener=hear)
    body = json.dumps({"cells": CELLS, "client": "me"}).encode()
    answer = await local.request("PUT", "nbedit", "notebooks", "a.ipynb", body=body, headers=JSON)
    await asyncio.sleep(0)
    told = {event["schema"]: event for event in heard}
    edit = told.pop(SCHEMA_ID)
    assert (edit["hash_before"], edit["hash"]) == (None, answer.json["hash"])
    assert (edit["client"], edit["total_cells"], len(edit["operations"])) == ("me", 3, 3)
    (contents,) = told.values()
    assert (contents["action"], contents["path"]) == ("save", "a.ipynb")
    assert (await local.contents("a.ipynb"))["content"]["cells"][0]["id"] == "title"


def test_of_many_who_create_one_notebook_at_once_one_does(live: Client) -> None:
    async def race() -> list[Answer]:
        return await asyncio.gather(
            *[
                asyncio.to_thread(put, live, "race.ipynb", client=str(n), language=f"l{n}")
                for n in range(16)
            ]
        )

    answers = asyncio.run(race())
    assert sorted(answer.status for answer in answers) == [201, *[409] * 15]
    (made,) = (answer for answer in answers if answer.status == 201)
    digest = hashlib.sha256((live.root / "race.ipynb").read_bytes()).hexdigest()
    assert made.json["hash"] == digest
