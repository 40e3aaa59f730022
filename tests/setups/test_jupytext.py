"""Pairs of Jupytext: after an edit both files agree and open without an error."""

import itertools
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nbformat.reader
import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.setups.contents_requests import (
    assert_edited,
    call_tool,
    follow_with_delta,
    follow_with_full_reads,
    get_contents,
    save,
    save_as_tab,
)
from tests.setups.needs import needs
from tests.support import samples
from tests.support.http import JSON, Client
from tests.support.servers import run_server

needs("jupytext")

EXTENSIONS = ("jupyterlab_jupytext",)
REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}
PERCENT = {"jupytext": {"formats": "ipynb,py:percent"}}
# How each folder's notebooks become pairs.
CONFIGURATIONS = {
    "metadata": ("", ""),
    "toml": ("jupytext.toml", 'formats = "ipynb,py:percent"\n'),
    "pyproject": ("pyproject.toml", '[tool.jupytext]\nformats = "ipynb,py:light"\n'),
    "markdown": ("jupytext.toml", 'formats = "ipynb,md"\n'),
    "apart": ("jupytext.toml", '[formats]\n"notebooks/" = "ipynb"\n"scripts/" = "py:percent"\n'),
    "single": ("", ""),
}
HOOKS = """
from tornado.web import HTTPError

def before(model, path, **_):
    if path.startswith("veto") and path.endswith(".py"):
        raise HTTPError(400, "No scripts here.")

def after(os_path, model, **_):
    if model["path"].startswith("late"):
        raise ValueError("in " + os_path)

c.ContentsManager.pre_save_hook = before
c.FileContentsManager.post_save_hook = after
"""
_names = (f"n{number}" for number in itertools.count())


@dataclass(frozen=True)
class JupytextPair:
    """A notebook and its text file, by their API paths."""

    client: Client
    path: str
    twin: str

    @property
    def file(self) -> Path:
        return self.client.root / self.path

    @property
    def text(self) -> Path:
        return self.client.root / self.twin

    def sources(self) -> list[str]:
        """Return the sources, which are equal in both files."""
        found = [
            [
                cell["source"]
                for cell in get_contents(self.client, path, "type=notebook")["content"]["cells"]
            ]
            for path in (self.path, self.twin)
        ]
        on_disk = ["".join(cell["source"]) for cell in samples.load_cells(self.file.read_bytes())]
        assert found == [on_disk, on_disk]
        read = self.client.read(self.path).json
        assert [cell["source"] for cell in read["cells"]] == on_disk
        return on_disk


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with run_server(tmp_path_factory.mktemp("jupytext"), extensions=EXTENSIONS) as found:
        yield found


def build_text(name: str, metadata: object = None) -> bytes:
    return samples.notebook(
        samples.code(f"x = '{name}'", "alpha", execution_count=3, outputs=[samples.HTML_OUTPUT]),
        samples.markdown("# Title", "beta"),
        samples.code("y = 2", "gamma"),
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            **(metadata if isinstance(metadata, dict) else {}),
        },
    )


def pair(client: Client, kind: str = "metadata") -> JupytextPair:
    """Make a pair as a user does: have JupyterLab save a notebook."""
    folder, name = kind, next(_names)
    configuration, metadata = CONFIGURATIONS[kind]
    (client.root / folder).mkdir(exist_ok=True)
    if configuration:
        (client.root / folder / configuration).write_text(metadata)
    inner, outer = ("notebooks/", "scripts/") if kind == "apart" else ("", "")
    suffix = "md" if kind == "markdown" else "py"
    found = JupytextPair(
        client, f"{folder}/{inner}{name}.ipynb", f"{folder}/{outer}{name}.{suffix}"
    )
    for half in (found.file, found.text):
        half.parent.mkdir(exist_ok=True)
    notebook = json.loads(build_text(name, PERCENT if kind == "metadata" else None))
    save(client, found.path, {"type": "notebook", "format": "json", "content": notebook})
    assert found.text.exists() is (kind != "single")
    return found


@pytest.mark.parametrize("kind", ["metadata", "toml", "pyproject", "markdown", "apart"])
def test_both_files_of_a_pair_agree_and_open_after_an_edit(client: Client, kind: str) -> None:
    found = pair(client, kind)
    for title in ("# One", "# Two"):
        reply = assert_edited(
            client.patch(found.path, {**REPLACE, "source": title}), "notebook", preserved=False
        )
        assert found.sources()[1:] == [title, "y = 2"]
        assert title.encode() in found.text.read_bytes()
        assert client.read(found.path).json["hash"] == reply["hash"]
    cells = nbformat.reader.reads(found.file.read_text())["cells"]
    assert [cell["id"] for cell in cells] == ["alpha", "beta", "gamma"]
    assert cells[0]["outputs"] == [samples.HTML_OUTPUT]


@pytest.mark.parametrize("age", [0.0, 30.0, -30.0])
def test_a_change_in_the_text_file_is_read_and_kept(client: Client, age: float) -> None:
    found = pair(client)
    seen = client.read(found.path).json["hash"]
    found.text.write_text(found.text.read_text().replace("y = 2", "y = 'by hand'"))
    if age:
        # As if the notebook were so much older, or, within what Jupytext allows, newer.
        now = time.time()
        os.utime(found.file, (now - age, now - age) if age > 0 else (now + 0.5, now + 0.5))
    read = client.read(found.path).json
    assert read["hash"] != seen
    assert read["cells"][2]["source"] == "y = 'by hand'"
    assert client.read(found.path).json == read
    error = client.patch(found.path, REPLACE, hash=seen)
    assert get_error(error, 412, "hash_mismatch")["hash"] == read["hash"]
    # The ids of a read are valid in the next request.
    edits = [REPLACE, {"op": "replace", "cell": read["cells"][2]["id"], "source": "y = 3"}]
    assert_edited(client.patch(found.path, *edits, hash=read["hash"]), "notebook", preserved=False)
    assert found.sources()[1:] == ["# Changed", "y = 3"]


@pytest.mark.parametrize("half", ["notebook", "text"])
def test_an_open_tab_reads_whole_pairs(client: Client, half: str) -> None:
    found = pair(client)

    def edit() -> None:
        if half == "notebook":
            client.patch(found.path, REPLACE)
        else:
            found.text.write_text(found.text.read_text().replace("y = 2", "y = 'by hand'"))

    # Jupytext's hash is that of both files.
    assert follow_with_full_reads(client, found.path, edit) == "other"
    assert save_as_tab(client, found.path, get_contents(client, found.path, "hash=1")) is None


def test_an_open_tab_reads_what_has_changed_of_an_unpaired_notebook(client: Client) -> None:
    found = pair(client, "single")
    follow_with_delta(client, found.path, lambda: client.patch(found.path, REPLACE))
    # The reply to a save confirms nothing that Jupytext does not write as it is sent.
    model = get_contents(client, found.path, "hash=1")
    metadata = model["content"]["metadata"]
    for own in ({"text_representation": {"extension": ".py"}}, {"formats": "ipynb,py:percent"}):
        metadata["jupytext"] = own
        assert save_as_tab(client, found.path, model) is None
        model["hash"] = get_contents(client, found.path, "hash=1")["hash"]


def test_cells_from_the_text_file_have_stable_ids(client: Client) -> None:
    found = pair(client)
    with found.text.open("a") as text:
        text.write("\n# %%\nz = 1\n\n# %%\nz = 1\n")
    cells = client.read(found.path).json["cells"]
    assert [cell["source"] for cell in cells[3:]] == ["z = 1", "z = 1"]
    assert len({cell["id"] for cell in cells}) == 5
    edit = {"op": "replace", "cell": cells[4]["id"], "source": "z = 2"}
    assert_edited(client.patch(found.path, edit), "notebook", preserved=False)
    assert found.sources()[3:] == ["z = 1", "z = 2"]
    assert [cell["id"] for cell in client.read(found.path).json["cells"]] == [
        cell["id"] for cell in cells
    ]


def test_a_pair_with_conflicting_files_is_refused(client: Client) -> None:
    found = pair(client)
    found.file.write_bytes(found.file.read_bytes().replace(b"y = 2", b"y = 4"))
    later = time.time() + 5
    os.utime(found.file, (later, later))
    assert client.request("GET", f"api/contents/{found.path}").status == 400
    with no_changes(found.file.parent):
        for answer in (client.read(found.path), client.patch(found.path, REPLACE)):
            get_error(answer, 409, "not_a_plain_file")


@pytest.mark.parametrize("kind", ["metadata", "single"])
@pytest.mark.parametrize("trusted", [True, False])
def test_trust_is_kept_and_never_added(
    client: Client,
    kind: str,
    trusted: bool,  # noqa: FBT001 -- a parameter of the test
) -> None:
    found = pair(client, kind)
    if trusted:
        model = get_contents(client, found.path)
        model["content"]["cells"][0]["metadata"]["trusted"] = True
        save(client, found.path, model)
    assert client.read(found.path).json["trusted"] is trusted
    assert client.patch(found.path, REPLACE).status == 200
    assert client.read(found.path).json["trusted"] is trusted
    cell = get_contents(client, found.path)["content"]["cells"][0]
    assert cell["metadata"]["trusted"] is trusted
    assert client.patch(found.path, {"op": "clear_outputs", "all": True}).status == 200
    last = get_contents(client, found.path)["content"]["cells"][0]
    assert last["metadata"]["trusted"] is trusted


def test_a_new_notebook_is_paired_as_configured(client: Client) -> None:
    model = pair(client, "toml")
    for kind, halves in (("toml", {".ipynb", ".py"}), ("single", {".ipynb"})):
        name = next(_names)
        (client.root / kind).mkdir(exist_ok=True)
        body = json.dumps({"cells": [{"cell_type": "code", "source": "1"}]}).encode()
        target = f"nbedit/notebooks/{kind}/{name}.ipynb"
        answer = client.request("PUT", target, body, JSON)
        via = ("notebook", False) if kind == "toml" else ("file", True)
        assert_edited(answer, via[0], preserved=via[1])
        assert {path.suffix for path in (client.root / kind).glob(f"{name}.*")} == halves
        get_error(client.request("PUT", target, body, JSON), 409, "notebook_exists")
        assert get_contents(client, f"{kind}/{name}.ipynb")["content"]["cells"][0]["source"] == "1"
    assert model.sources()


@pytest.mark.parametrize(
    ("kind", "script"), [("toml", "toml/{}.py"), ("apart", "apart/scripts/{}.py")]
)
def test_creating_a_notebook_does_not_overwrite_the_script_of_its_pair(
    client: Client, kind: str, script: str
) -> None:
    made = pair(client, kind)
    name = next(_names)
    (client.root / script.format(name)).write_text("print('mine')\n")
    path = made.path.rpartition("/")[0] + f"/{name}.ipynb"
    with no_changes(client.root / kind):
        for body in (b"{}", b'{"dry_run": true}'):
            answer = client.request("PUT", f"nbedit/notebooks/{path}", body, JSON)
            get_error(answer, 409, "notebook_exists")
            assert script.format(name) in answer.json["message"]


def test_a_pair_whose_other_file_is_impossible_is_refused(client: Client) -> None:
    path = client.root / "astray" / "a.ipynb"
    path.parent.mkdir()
    path.write_bytes(build_text("a", {"jupytext": {"formats": "ipynb,../../x//py"}}))
    with no_changes(client.root):
        answer = client.patch("astray/a.ipynb", REPLACE)
        get_error(answer, 409, "not_a_plain_file")


@pytest.mark.parametrize("message", ["words", {"formats": 5}])
def test_a_failure_of_jupytext_is_reported_as_an_error_of_the_extension(
    client: Client, message: object
) -> None:
    path = client.root / "faulty" / f"{next(_names)}.ipynb"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(build_text("a", {"jupytext": message}))
    with no_changes(path.parent):
        get_error(client.patch(f"faulty/{path.name}", REPLACE), 500, "io_error")


def test_saves_of_an_open_tab_and_edits_do_not_mix(client: Client) -> None:
    found = pair(client)
    model = get_contents(client, found.path)

    def saves() -> None:
        for n in range(15):
            model["content"]["cells"][2]["source"] = f"y = 'tab {n}'"
            save(client, found.path, model)

    def edits() -> list[int]:
        return [
            client.patch(found.path, {**REPLACE, "source": f"# Agent {n}"}).status
            for n in range(15)
        ]

    with ThreadPoolExecutor(2) as pool:
        saving, editing = pool.submit(saves), pool.submit(edits)
        saving.result()
        assert set(editing.result()) == {200}
    assert_edited(client.patch(found.path, REPLACE), "notebook", preserved=False)
    assert found.sources()[1] == "# Changed"


def test_tools_and_search_work_with_pairs(client: Client) -> None:
    found = pair(client)
    for path in (found.path, str(found.file)):
        answer = call_tool(
            client,
            "mycode/NotebookEdit",
            notebook_path=path,
            cell_id="beta",
            new_source=f"# {path}",
        )
        assert answer.status == 200, answer.body
        assert found.sources()[1] == f"# {path}"
    body = {"query": str(found.file), "path": "metadata"}
    answer = client.send_json("POST", "search", body)
    assert [hit["path"] for hit in answer.json["hits"]] == [found.path]


@pytest.fixture(scope="module")
def hooked_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("veto")
    with run_server(folder, configuration=HOOKS, extensions=EXTENSIONS) as found:
        yield found


@pytest.mark.parametrize(
    ("folder", "status", "reason"), [("veto", 403, "forbidden"), ("late", 500, "io_error")]
)
def test_a_hook_that_fails_for_one_file_leaves_both_unchanged(
    hooked_client: Client, folder: str, status: int, reason: str
) -> None:
    made = pair(hooked_client)
    found = JupytextPair(hooked_client, f"{folder}/a.ipynb", f"{folder}/a.py")
    found.file.parent.mkdir()
    for half, copy in ((made.file, found.file), (made.text, found.text)):
        copy.write_bytes(half.read_bytes())
        time.sleep(0.01)
    before = found.file.read_bytes(), found.text.read_bytes()
    get_error(hooked_client.patch(found.path, REPLACE), status, reason)
    assert (found.file.read_bytes(), found.text.read_bytes()) == before
    assert found.sources()[1] == "# Title"
