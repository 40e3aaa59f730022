"""Hooks of the contents manager, in a configured server."""

import itertools
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.setups.contents_requests import assert_edited, get_contents, save
from tests.support import samples
from tests.support.http import JSON, Client
from tests.support.sampling import is_nightly
from tests.support.servers import run_server

REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}
TEXT = samples.three_cells()
# What each hook does depends on the folder, so that one server serves all tests.
HOOKS = """
import json
from pathlib import Path
from tornado.web import HTTPError

LOG = Path(__file__).parent / "hooks.log"

def note(line):
    with LOG.open("a") as log:
        print(json.dumps(line), file=log)

def before(model, path, contents_manager, **kwargs):
    note(["before", model["type"], path])
    assert type(model["content"]) in {dict, str}
    if path.startswith("veto/"):
        raise HTTPError(409, "Cells must be %s, says the rule.", "short")
    if path.startswith("secret/"):
        raise HTTPError(400, f"not in {contents_manager.root_dir}")
    if path.startswith("broken/"):
        raise ValueError("the save goes on")
    if path.startswith("strip/") and model["type"] == "notebook":
        for cell in model["content"]["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"] = []
                cell["execution_count"] = None

def after(os_path, model, contents_manager, **kwargs):
    note(["after", model["type"], model["path"]])
    if model["path"].startswith("late/"):
        raise RuntimeError(f"in {os_path}")

c.ContentsManager.pre_save_hook = before
c.FileContentsManager.post_save_hook = after
"""
_names = (f"{number}.ipynb" for number in itertools.count())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("hooked")
    with run_server(folder, configuration=HOOKS) as client:
        yield client


def write_notebook(client: Client, folder: str, text: bytes = TEXT) -> tuple[str, Path]:
    path = f"{folder}/{next(_names)}"
    file = client.root / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text)
    return path, file


def list_hook_runs(client: Client, path: str) -> list[str]:
    """List the hooks that ran for a path, with their arguments."""
    log = client.root.parent / "config" / "hooks.log"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [f"{when} {kind}" for when, kind, where in lines if where == path]


def test_hooks_run_once_each_and_the_file_matches_the_reply(client: Client) -> None:
    path, file = write_notebook(client, "any")
    reply = assert_edited(client.patch(path, REPLACE), "notebook", preserved=False)
    assert list_hook_runs(client, path) == ["before notebook", "after notebook"]
    assert reply["hash"] == samples.hash_file(file)
    assert client.read(path).json["hash"] == reply["hash"]
    assert get_contents(client, path, "hash=1")["hash"] == reply["hash"]
    assert samples.load_cells(file.read_bytes())[1]["source"] == ["# Changed"]


def test_a_failing_hook_does_not_prevent_the_save(client: Client) -> None:
    path, file = write_notebook(client, "broken")
    assert_edited(client.patch(path, REPLACE), "notebook", preserved=False)
    assert b"# Changed" in file.read_bytes()


def test_changes_by_a_hook_are_written_and_reported(client: Client) -> None:
    path, file = write_notebook(client, "strip")
    answer = client.patch(path, REPLACE)
    assert answer.status == 200, answer.body
    assert len(answer.json["warnings"]) == 1
    assert answer.json["hash"] == samples.hash_file(file)
    code, markdown, _ = samples.load_cells(file.read_bytes())
    assert (code["outputs"], markdown["source"]) == ([], ["# Changed"])
    # By now there is nothing more to take away.
    again = {**REPLACE, "source": "# Again"}
    assert_edited(client.patch(path, again, hash=answer.json["hash"]), "notebook", preserved=False)


@pytest.mark.parametrize("folder", ["veto", "secret"])
def test_an_edit_that_a_hook_refuses_is_not_written(client: Client, folder: str) -> None:
    path, file = write_notebook(client, folder)
    with no_changes(file.parent):
        answer = client.patch(path, REPLACE)
        get_error(answer, 403, "forbidden")
        # The message of a hook is reported unless it names this machine.
        assert (b"Cells must be short, says the rule." in answer.body) is (folder == "veto")
        assert str(client.root).encode() not in answer.body
        target = f"nbedit/notebooks/{folder}/new.ipynb"
        get_error(client.request("PUT", target, b"{}", JSON), 403, "forbidden")
    assert list_hook_runs(client, path) == ["before notebook"]


def test_a_dry_run_runs_no_hook(client: Client) -> None:
    path, file = write_notebook(client, "veto")
    with no_changes(file.parent):
        reply = client.patch(path, REPLACE, dry_run=True).json
    assert (reply["dry_run"], reply["persisted"]) == (True, False)
    assert list_hook_runs(client, path) == []


def test_a_notebook_is_created_through_the_hooks(client: Client) -> None:
    path = f"any/{next(_names)}"
    (client.root / "any").mkdir(exist_ok=True)
    reply = assert_edited(client.send_json("PUT", f"notebooks/{path}"), "notebook", preserved=False)
    assert reply["hash"] == samples.hash_file(client.root / path)
    assert list_hook_runs(client, path) == ["before notebook", "after notebook"]
    error = client.send_json("PUT", f"notebooks/{path}")
    get_error(error, 409, "notebook_exists")


def test_a_failing_post_save_hook_is_a_warning_and_the_edit_is_kept(client: Client) -> None:
    path, file = write_notebook(client, "late")
    answer = client.patch(path, REPLACE)
    assert answer.status == 200, answer.body
    assert len(answer.json["warnings"]) == 1
    assert str(client.root) not in answer.body.decode()
    assert answer.json["hash"] == samples.hash_file(file)
    assert list_hook_runs(client, path).count("after notebook") == 1
    # As with the server's own save, which answers 500 but has saved.
    assert b"# Changed" in file.read_bytes()


def test_revert_restores_the_checkpoint_of_the_user(client: Client) -> None:
    path, _ = write_notebook(client, "checkpoints")
    target = f"api/contents/{path}/checkpoints"
    point = client.request("POST", target, b"").json
    for title in ("# One", "# Two"):
        assert client.patch(path, {**REPLACE, "source": title}).status == 200
    (now,) = client.request("GET", target).json
    assert now == point
    assert client.request("POST", f"{target}/{point['id']}", b"").status == 204
    assert get_contents(client, path)["content"]["cells"][1]["source"] == "# Title"


#: How often two readers open the notebook.
OPENINGS = 100 if is_nightly() else 15


def test_opening_a_notebook_during_edits_never_fails(client: Client) -> None:
    cells = [samples.code(f"x = {n}\n" * 50, f"c{n}") for n in range(60)]
    path, file = write_notebook(client, "busy", samples.notebook(*cells))

    def opens() -> set[int]:
        return {client.request("GET", f"api/contents/{path}").status for _ in range(OPENINGS)}

    with ThreadPoolExecutor(2) as pool:
        opening = [pool.submit(opens) for _ in range(2)]
        n = 0
        while not all(one.done() for one in opening):
            n += 1
            edit = {"op": "replace", "cell": f"c{n % 60}", "source": f"y = {n}\n" * (1 + n % 80)}
            assert_edited(client.patch(path, edit), "notebook", preserved=False)
        assert set.union(*[one.result() for one in opening]) == {200}
    left = {found.name for found in file.parent.iterdir()}
    assert left == {file.name, ".ipynb_checkpoints"}


@pytest.mark.parametrize("trusted", [True, False])
def test_trust_is_kept_and_never_added(client: Client, trusted: bool) -> None:  # noqa: FBT001
    # Signatures depend on the content.
    path, _ = write_notebook(client, "any", TEXT.replace(b"as is", b"%d" % trusted))
    if trusted:
        model = get_contents(client, path)
        model["content"]["cells"][0]["metadata"]["trusted"] = True
        save(client, path, model)
    assert client.read(path).json["trusted"] is trusted
    assert_edited(client.patch(path, REPLACE), "notebook", preserved=False)
    assert client.read(path).json["trusted"] is trusted
    # The manager signs whatever has nothing left that could harm.
    cleared = client.patch(path, {"op": "clear_outputs", "all": True})
    assert_edited(cleared, "notebook", preserved=False)
    assert client.read(path).json["trusted"] is trusted


def test_a_trust_mark_in_the_file_is_ignored(client: Client) -> None:
    smuggled = samples.code("1", "alpha", outputs=[samples.HTML_OUTPUT], metadata={"trusted": True})
    path, _ = write_notebook(
        client, "any", samples.notebook(smuggled, samples.markdown("# Title", "beta"))
    )
    assert_edited(client.patch(path, REPLACE), "notebook", preserved=False)
    assert not client.read(path).json["trusted"]
    cell: Any = get_contents(client, path)["content"]["cells"][0]
    assert cell["metadata"]["trusted"] is False


def test_a_notebook_without_ids_is_edited_by_index_and_gets_ids(client: Client) -> None:
    text = samples.notebook(samples.raw("one"), samples.raw("two"))
    path, _ = write_notebook(client, "any", text)
    answer = client.read(path)
    assert [cell["id"] for cell in answer.json["cells"]] == [None, None]
    edit = {"op": "replace", "cell": "cell-1", "source": "2"}
    assert client.patch(path, edit, hash=answer.json["hash"]).status == 200
    cells = client.read(path).json["cells"]
    assert len({cell["id"] for cell in cells} - {None}) == 2
    assert [cell["source"] for cell in cells] == ["one", "2"]
