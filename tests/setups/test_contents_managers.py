"""Notebooks that are not files of the server: drives of jupyter-fs, and a bucket."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from jupyter_server.utils import ensure_async

from jupyter_nbedit.errors import NotebookNotFound, StorageFailure
from tests.handlers.error_checks import get_error, no_changes
from tests.setups.contents_requests import (
    assert_edited,
    call_tool,
    follow_with_full_reads,
    get_contents,
    save,
    save_as_tab,
    write_file,
)
from tests.setups.needs import needs
from tests.setups.s3_bucket import make_bucket
from tests.storage.storage_cases import PATH, open_s3
from tests.support import samples
from tests.support.http import JSON, Answer, Client
from tests.support.servers import run_server

needs("jupyterfs")
needs("s3contents")
needs("moto")

REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}
TEXT = samples.three_cells()
CHANGED = TEXT.replace(b'"# Title"', b'"# Changed"')
# What other packages still use is their business.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
_names = (f"{number}.ipynb" for number in itertools.count())


@dataclass(frozen=True)
class RemoteFolder:
    """A server with remote notebooks; `get` and `put` bypass it, `prefix` begins their paths."""

    client: Client
    prefix: str
    get: Callable[[str], bytes]
    put: Callable[[str, bytes], object]

    def write(self, text: bytes = TEXT, folder: str = "") -> str:
        """Store a notebook through the server, which may not see direct writes to a bucket."""
        path = self.prefix + folder + next(_names)
        write_file(self.client, path, text)
        assert self.get(path) == text
        return path

    def create(self, path: str) -> Answer:
        return self.client.send_json("PUT", f"notebooks/{quote(path)}")

    def search(self, **request: object) -> Answer:
        return self.client.send_json("POST", "search", request)


@contextmanager
def serve_drive(top: Path) -> Iterator[RemoteFolder]:
    """Serve a folder as a drive, whose name comes before a colon in paths."""
    folder = top / "drive"
    folder.mkdir()
    resource = {"name": "here", "url": f"file://{folder}", "type": "fsspec", "auth": "none"}
    configuration = (
        'c.ServerApp.contents_manager_class = "jupyterfs.metamanager.MetaManager"\n'
        f"c.JupyterFs.resources = [{resource!r}]\n"
    )
    extensions = ("jupyterfs.extension",)
    with run_server(top / "server", configuration=configuration, extensions=extensions) as client:
        (found,) = client.request("GET", "jupyterfs/resources").json
        assert found["init"], found

        def locate(path: str) -> Path:
            return folder / path.partition(":")[2]

        yield RemoteFolder(
            client,
            f"{found['drive']}:",
            lambda path: locate(path).read_bytes(),
            lambda path, text: locate(path).write_bytes(text),
        )


@contextmanager
def serve_bucket(top: Path) -> Iterator[RemoteFolder]:
    """Serve a bucket of an S3 server of the test's own."""
    with make_bucket() as store:
        traits = "".join(
            f"c.S3ContentsManager.{name} = {value!r}\n" for name, value in store.options.items()
        )
        manager = 'c.ServerApp.contents_manager_class = "s3contents.S3ContentsManager"\n'
        with run_server(top, configuration=manager + traits) as client:
            yield RemoteFolder(client, "", store.get, store.put)


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteFolder]:
    with serve_drive(tmp_path_factory.mktemp("fs")) as place:
        yield place


@pytest.fixture(scope="module")
def s3_bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteFolder]:
    with serve_bucket(tmp_path_factory.mktemp("s3")) as place:
        yield place


@pytest.fixture(params=["drive", "s3_bucket"])
def place(request: pytest.FixtureRequest) -> RemoteFolder:
    found: RemoteFolder = request.getfixturevalue(request.param)
    return found


def make_folder(place: RemoteFolder, path: str) -> None:
    save(place.client, f"{place.prefix}{path}", {"type": "directory"})


def test_an_edit_preserves_all_other_bytes(place: RemoteFolder) -> None:
    make_folder(place, "sub")
    for folder in ("", "sub/"):
        path = place.write(folder=folder)
        reply = assert_edited(place.client.patch(path, REPLACE), "contents", preserved=True)
        assert place.get(path) == CHANGED
        assert reply["hash"] == samples.compute_hash(CHANGED)
        assert place.client.read(path).json["hash"] == reply["hash"]
        assert get_contents(place.client, path)["content"]["cells"][1]["source"] == "# Changed"


def test_an_edit_in_the_root_of_a_server_with_drives_preserves_all_other_bytes(
    drive: RemoteFolder,
) -> None:
    file = drive.client.root / next(_names)
    file.write_bytes(TEXT)
    assert_edited(drive.client.patch(file.name, REPLACE), "contents", preserved=True)
    assert file.read_bytes() == CHANGED


def test_an_open_tab_reads_whole_notebooks(place: RemoteFolder) -> None:
    path = place.write()
    relation = follow_with_full_reads(place.client, path, lambda: place.client.patch(path, REPLACE))
    assert relation == "none"
    assert save_as_tab(place.client, path, get_contents(place.client, path)) is None


def test_an_open_tab_reads_whole_notebooks_in_the_root_of_a_server_with_drives(
    drive: RemoteFolder,
) -> None:
    file = drive.client.root / next(_names)
    file.write_bytes(TEXT)
    relation = follow_with_full_reads(
        drive.client, file.name, lambda: drive.client.patch(file.name, REPLACE)
    )
    assert relation == "same"
    model = get_contents(drive.client, file.name, "hash=1")
    assert save_as_tab(drive.client, file.name, model) is None


def test_a_notebook_is_created_and_never_overwrites_another(place: RemoteFolder) -> None:
    make_folder(place, "made")
    for folder in ("", "made/"):
        path = place.prefix + folder + next(_names)
        reply = assert_edited(place.create(path), "contents", preserved=True)
        assert reply["hash"] == samples.compute_hash(place.get(path))
        get_error(place.create(path), 409, "notebook_exists")
    get_error(place.create(f"{place.prefix}nowhere/a.ipynb"), 404, "notebook_not_found")


def test_hidden_outside_and_missing_paths_get_one_error_on_a_drive(
    drive: RemoteFolder,
) -> None:
    folder = drive.client.root.parents[1] / "drive"
    outside = folder.parent / "outside.ipynb"
    for file in (outside, folder / ".hidden.ipynb", folder / ".git" / "a.ipynb"):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(TEXT)
    bodies = set()
    with no_changes(folder):
        for name in (
            *("none.ipynb", ".hidden.ipynb", ".git/a.ipynb", "../outside.ipynb", "no/a.ipynb"),
            *("a/../../outside.ipynb", "/../outside.ipynb", "./none.ipynb", "//none.ipynb"),
        ):
            target = f"nbedit/notebooks/{drive.prefix}{name}"
            answer = drive.client.request("GET", target)
            get_error(answer, 404, "notebook_not_found")
            bodies.add(answer.body)
            assert drive.client.patch(f"{drive.prefix}{name}", REPLACE).status == 404
            if name != "none.ipynb":
                assert drive.client.request("PUT", target, b"{}", JSON).status == 404
        for path in ("nobody:a.ipynb", "a:b:c.ipynb", ":a.ipynb"):
            answer = drive.client.read(path)
            get_error(answer, 404, "notebook_not_found")
            bodies.add(answer.body)
    assert len(bodies) == 1
    assert outside.read_bytes() == TEXT
    seen = drive.write()
    hits = drive.search(query="x = 1", path=drive.prefix, limit=1000).json["hits"]
    paths = {hit["path"] for hit in hits}
    assert seen in paths
    assert not [path for path in paths if "hidden" in path or ".git" in path]


def test_missing_and_oddly_spelled_paths_are_not_found_in_a_bucket(s3_bucket: RemoteFolder) -> None:
    bodies = set()
    for path in ("none.ipynb", "../a.ipynb", "a/../b.ipynb", "a//b.ipynb", "a%00.ipynb"):
        target = f"nbedit/notebooks/{path if '%' in path else quote(path)}"
        answer = s3_bucket.client.request("GET", target)
        get_error(answer, 404, "notebook_not_found")
        bodies.add(answer.body)
    assert len(bodies) == 1


def test_a_search_of_the_storage_continues_with_a_cursor(place: RemoteFolder) -> None:
    for folder in ("search", "search/in"):
        make_folder(place, folder)
    expected = {place.write(CHANGED, "search/in/") for _ in range(5)}
    place.write(TEXT, "search/in/")
    found: list[str] = []
    request = {"query": "# Changed", "path": f"{place.prefix}search", "max_files": 2}
    while True:
        answer = place.search(**request)
        assert answer.status == 200, answer.body
        found += [hit["path"] for hit in answer.json["hits"]]
        if answer.json["cursor"] is None:
            break
        request["cursor"] = answer.json["cursor"]
    assert len(found) == 5
    assert set(found) == expected
    nowhere = place.search(query="x", path=f"{place.prefix}nowhere")
    get_error(nowhere, 404, "notebook_not_found")


def test_tools_accept_relative_paths(place: RemoteFolder) -> None:
    path = place.write()
    fields = {"cell_id": "beta", "new_source": "# Tool"}
    answer = call_tool(place.client, "mycode/NotebookEdit", notebook_path=path, **fields)
    assert answer.status == 200, answer.body
    assert b"# Tool" in place.get(path)
    answer = call_tool(place.client, "nexo/NotebookEdit", notebook_path=f"/{path}", **fields)
    assert answer.status == 409, answer.body


def test_trust_is_kept_and_never_added(place: RemoteFolder) -> None:
    path = place.write()
    assert not place.client.read(path).json["trusted"]
    assert_edited(place.client.patch(path, REPLACE), "contents", preserved=True)
    assert not place.client.read(path).json["trusted"]
    model = get_contents(place.client, path)
    model["content"]["cells"][0]["metadata"]["trusted"] = True
    save(place.client, path, model)
    assert place.client.read(path).json["trusted"]
    again = {**REPLACE, "source": "# Again"}
    assert_edited(place.client.patch(path, again), "contents", preserved=True)
    assert place.client.read(path).json["trusted"]
    assert get_contents(place.client, path)["content"]["cells"][0]["metadata"]["trusted"]


async def test_an_unreachable_store_is_reported_without_its_address_or_keys(tmp_path: Path) -> None:
    from s3fs import S3FileSystem  # noqa: PLC0415 -- is not always there

    async with open_s3(tmp_path) as kept:
        await ensure_async(kept.write(TEXT))
        base = await kept.storage.read(PATH)
        secrets = {"key": "nobody", "secret": "nothing"}
        # No server listens there.
        address = "http://127.0.0.1:9"
        vars(kept.storage)["manager"].fs.fs = S3FileSystem(
            client_kwargs={"endpoint_url": address},
            config_kwargs={"retries": {"max_attempts": 0}},
            **secrets,
        )
        for attempt in (kept.storage.read(PATH), kept.storage.write(PATH, base, [])):
            with pytest.raises((NotebookNotFound, StorageFailure)) as error:
                await attempt
            text = f"{error.value} {error.value.details}"
            assert not [secret for secret in (address, *secrets.values()) if secret in text]
