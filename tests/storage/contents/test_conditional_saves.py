"""A save by JupyterLab that names the version it replaces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.storage.contents.manager_locks import EXPECTED_HASH
from tests.handlers.error_checks import no_changes
from tests.support import samples
from tests.support.http import JSON, Answer, Client

NAME = "a.ipynb"


@pytest.fixture
def notebook(live: Client) -> Path:
    path = live.root / NAME
    path.write_bytes(samples.three_cells())
    return path


def load(live: Client) -> Any:
    return live.request("GET", f"api/contents/{NAME}").json["content"]


def save(live: Client, content: Any, **more: Any) -> Answer:
    """Save as an open tab does, after an edit."""
    model = {"type": "notebook", "format": "json", "content": content, **more}
    return live.request("PUT", f"api/contents/{NAME}", json.dumps(model).encode(), JSON)


def edit(live: Client) -> Any:
    answer = live.patch(NAME, {"op": "replace", "cell": "beta", "source": "# Theirs"})
    assert answer.status == 200
    return answer.json


def test_a_save_based_on_an_older_version_is_refused_and_the_edit_stays(
    live: Client, notebook: Path
) -> None:
    loaded = load(live)
    reply = edit(live)
    with no_changes(notebook.parent):
        assert save(live, loaded, **{EXPECTED_HASH: reply["hash_before"]}).status == 409
    assert samples.hash_file(notebook) == reply["hash"]
    # A save without a version works as always.
    assert save(live, loaded).status == 200
    assert b"# Theirs" not in notebook.read_bytes()


def test_a_save_based_on_the_current_version_succeeds(live: Client, notebook: Path) -> None:
    reply = edit(live)
    content = load(live)
    content["cells"][0]["source"] = "# Mine"
    assert save(live, content, **{EXPECTED_HASH: reply["hash"]}).status == 200
    cells = samples.load_cells(notebook.read_bytes())
    assert ["".join(cell["source"]) for cell in cells][:2] == ["# Mine", "# Theirs"]
    assert EXPECTED_HASH.encode() not in notebook.read_bytes()
    # One that is gone is saved anew.
    notebook.unlink()
    assert save(live, content, **{EXPECTED_HASH: reply["hash"]}).status == 201
    assert notebook.exists()
