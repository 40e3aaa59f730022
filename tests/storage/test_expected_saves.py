"""A save by JupyterLab that says which version of the notebook it is to replace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.storage.guards import EXPECTED_HASH
from tests.handlers.refused import untouched
from tests.support import samples
from tests.support.http import Answer, Local

NAME = "a.ipynb"


@pytest.fixture
def notebook(local: Local) -> Path:
    path = local.root / NAME
    path.write_bytes(samples.three_cells())
    return path


def text_of(path: Path) -> bytes:
    return path.read_bytes()


def remove(path: Path) -> None:
    path.unlink()


async def save(local: Local, content: Any, **said: Any) -> Answer:
    """Save as an open tab does, after an edit of ours was made."""
    model = {"type": "notebook", "format": "json", "content": content, **said}
    return await local.request("PUT", "api", "contents", NAME, body=json.dumps(model).encode())


async def edited(local: Local) -> dict[str, Any]:
    answer = await local.patch(NAME, {"op": "replace", "cell": "beta", "source": "# Theirs"})
    assert answer.status == 200
    reply: dict[str, Any] = answer.json
    return reply


async def test_a_save_for_an_older_version_is_refused_and_the_edit_stays(
    local: Local, notebook: Path
) -> None:
    loaded = (await local.contents(NAME))["content"]
    reply = await edited(local)

    with untouched(notebook.parent):
        answer = await save(local, loaded, **{EXPECTED_HASH: reply["hash_before"]})

    assert answer.status == 409
    assert samples.hash_of(notebook) == reply["hash"]


async def test_a_save_for_the_version_there_is_goes_through(local: Local, notebook: Path) -> None:
    reply = await edited(local)
    content = (await local.contents(NAME))["content"]
    content["cells"][0]["source"] = "# Mine"

    answer = await save(local, content, **{EXPECTED_HASH: reply["hash"]})

    assert answer.status == 200
    sources = ["".join(cell["source"]) for cell in json.loads(text_of(notebook))["cells"]]
    assert "# Mine" in sources
    assert "# Theirs" in sources
    assert EXPECTED_HASH.encode() not in text_of(notebook)


async def test_a_save_that_says_nothing_is_as_it_always_was(local: Local, notebook: Path) -> None:
    loaded = (await local.contents(NAME))["content"]
    await edited(local)

    answer = await save(local, loaded)

    assert answer.status == 200
    assert b"# Theirs" not in text_of(notebook)


async def test_a_notebook_that_is_gone_is_saved_anew(local: Local, notebook: Path) -> None:
    loaded = (await local.contents(NAME))["content"]
    reply = await edited(local)
    remove(notebook)

    answer = await save(local, loaded, **{EXPECTED_HASH: reply["hash"]})

    assert answer.status == 201
    assert text_of(notebook)
