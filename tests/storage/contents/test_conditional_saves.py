"""A save by JupyterLab that names the version it replaces."""

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.storage.contents.manager_locks import EXPECTED_HASH, SAVED_HASH
from tests.handlers.error_checks import no_changes
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local

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
    saved = save(live, content, **{EXPECTED_HASH: reply["hash"]})
    assert (saved.status, saved.json[SAVED_HASH]) == (200, samples.hash_file(notebook))
    cells = samples.load_cells(notebook.read_bytes())
    assert ["".join(cell["source"]) for cell in cells][:2] == ["# Mine", "# Theirs"]
    assert EXPECTED_HASH.encode() not in notebook.read_bytes()
    # One that is gone is saved anew.
    notebook.unlink()
    assert save(live, content, **{EXPECTED_HASH: reply["hash"]}).status == 201
    assert notebook.exists()


@pytest.mark.parametrize("kind", ["pre_save_hook", "post_save_hook"])
async def test_the_hash_of_a_save_is_not_confirmed_if_a_hook_may_change_the_notebook(
    jp_serverapp: Any, local: Local, kind: str
) -> None:
    notebook = local.root / NAME
    notebook.write_bytes(samples.three_cells())
    # A tab asks for the version before it saves.
    assert (await local.request("HEAD", "nbedit", "notebooks", NAME)).status == 200
    answers = []
    for hook in (None, lambda **_: None):
        setattr(jp_serverapp.contents_manager, kind, hook)
        content = (await local.request("GET", "api", "contents", NAME)).json["content"]
        model = {"type": "notebook", "format": "json", "content": content}
        model[EXPECTED_HASH] = samples.hash_file(notebook)
        body = json.dumps(model).encode()
        answers.append(await local.request("PUT", "api", "contents", NAME, body=body))
    assert [(answer.status, SAVED_HASH in answer.json) for answer in answers] == [
        (200, True),
        (200, False),
    ]
