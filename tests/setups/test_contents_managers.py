"""Notebooks that no file of the server's own holds: on drives of jupyter-fs and in a bucket."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from jupyter_server.utils import ensure_async

from jupyter_nbedit.errors import NotebookNotFound, StorageFailure
from tests.handlers.error_checks import details, untouched
from tests.setups.contents_requests import assert_edited, contents, keep, save, tool
from tests.setups.needs import needs
from tests.setups.s3_bucket import bucket
from tests.storage.storage_cases import PATH, s3
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
class Place:
    """A server, and where it keeps notebooks that are in no file of its own.

    Parameters
    ----------
    client
        Of the server.
    prefix
        What stands before the paths in the place.
    get, put
        Read or write there past the server.
    """

    client: Client
    prefix: str
    get: Callable[[str], bytes]
    put: Callable[[str, bytes], object]

    def keep(self, text: bytes = TEXT, folder: str = "") -> str:
        """Have the server keep a notebook; what comes into a bucket past it, it may not see."""
        path = self.prefix + folder + next(_names)
        keep(self.client, path, text)
        assert self.get(path) == text
        return path

    def create(self, path: str) -> Answer:
        return self.client.request("PUT", f"nbedit/notebooks/{quote(path)}", b"{}", JSON)

    def search(self, **request: object) -> Answer:
        return self.client.request("POST", "nbedit/search", json.dumps(request).encode(), JSON)


@contextmanager
def serve_drive(top: Path) -> Iterator[Place]:
    """Serve a folder as a drive, whose name stands in paths before a colon."""
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

        yield Place(
            client,
            f"{found['drive']}:",
            lambda path: locate(path).read_bytes(),
            lambda path, text: locate(path).write_bytes(text),
        )


@contextmanager
def serve_bucket(top: Path) -> Iterator[Place]:
    """Serve a bucket of an S3 server of the test's own."""
    with bucket() as store:
        traits = "".join(
            f"c.S3ContentsManager.{name} = {value!r}\n" for name, value in store.options.items()
        )
        manager = 'c.ServerApp.contents_manager_class = "s3contents.S3ContentsManager"\n'
        with run_server(top, configuration=manager + traits) as client:
            yield Place(client, "", store.get, store.put)


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with serve_drive(tmp_path_factory.mktemp("fs")) as place:
        yield place


@pytest.fixture(scope="module")
def s3_bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with serve_bucket(tmp_path_factory.mktemp("s3")) as place:
        yield place


@pytest.fixture(params=["drive", "s3_bucket"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


def make_folder(place: Place, path: str) -> None:
    save(place.client, f"{place.prefix}{path}", {"type": "directory"})


def test_an_edit_preserves_all_other_bytes(place: Place) -> None:
    make_folder(place, "sub")
    for folder in ("", "sub/"):
        path = place.keep(folder=folder)
        reply = assert_edited(place.client.patch(path, REPLACE), "contents", preserved=True)
        assert place.get(path) == CHANGED
        assert reply["hash"] == hashlib.sha256(CHANGED).hexdigest()
        assert place.client.read(path).json["hash"] == reply["hash"]
        assert contents(place.client, path)["content"]["cells"][1]["source"] == "# Changed"


def test_an_edit_in_the_root_of_a_server_with_drives_preserves_all_other_bytes(
    drive: Place,
) -> None:
    file = drive.client.root / next(_names)
    file.write_bytes(TEXT)
    assert_edited(drive.client.patch(file.name, REPLACE), "contents", preserved=True)
    assert file.read_bytes() == CHANGED


def test_a_notebook_is_created_and_never_overwrites_another(place: Place) -> None:
    make_folder(place, "made")
    for folder in ("", "made/"):
        path = place.prefix + folder + next(_names)
        reply = assert_edited(place.create(path), "contents", preserved=True)
        assert reply["hash"] == hashlib.sha256(place.get(path)).hexdigest()
        details(place.create(path), 409, "notebook_exists")
    details(place.create(f"{place.prefix}nowhere/a.ipynb"), 404, "notebook_not_found")


def test_hidden_outside_and_missing_paths_get_the_same_error_on_a_drive(drive: Place) -> None:
    folder = drive.client.root.parents[1] / "drive"
    outside = folder.parent / "outside.ipynb"
    for file in (outside, folder / ".hidden.ipynb", folder / ".git" / "a.ipynb"):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(TEXT)
    bodies = set()
    with untouched(folder):
        for name in (
            *("none.ipynb", ".hidden.ipynb", ".git/a.ipynb", "../outside.ipynb", "no/a.ipynb"),
            *("a/../../outside.ipynb", "/../outside.ipynb", "./none.ipynb", "//none.ipynb"),
        ):
            target = f"nbedit/notebooks/{drive.prefix}{name}"
            answer = drive.client.request("GET", target)
            details(answer, 404, "notebook_not_found")
            bodies.add(answer.body)
            assert drive.client.patch(f"{drive.prefix}{name}", REPLACE).status == 404
            if name != "none.ipynb":
                assert drive.client.request("PUT", target, b"{}", JSON).status == 404
        for path in ("nobody:a.ipynb", "a:b:c.ipynb", ":a.ipynb"):
            answer = drive.client.read(path)
            details(answer, 404, "notebook_not_found")
            bodies.add(answer.body)
    assert len(bodies) == 1
    assert outside.read_bytes() == TEXT
    seen = drive.keep()
    hits = drive.search(query="x = 1", path=drive.prefix, limit=1000).json["hits"]
    paths = {hit["path"] for hit in hits}
    assert seen in paths
    assert not [path for path in paths if "hidden" in path or ".git" in path]


def test_missing_and_oddly_spelled_paths_are_not_found_in_a_bucket(s3_bucket: Place) -> None:
    bodies = set()
    for path in ("none.ipynb", "../a.ipynb", "a/../b.ipynb", "a//b.ipynb", "a%00.ipynb"):
        target = f"nbedit/notebooks/{path if '%' in path else quote(path)}"
        answer = s3_bucket.client.request("GET", target)
        details(answer, 404, "notebook_not_found")
        bodies.add(answer.body)
    assert len(bodies) == 1


def test_a_search_of_the_storage_continues_with_a_cursor(place: Place) -> None:
    for folder in ("search", "search/in"):
        make_folder(place, folder)
    expected = {place.keep(CHANGED, "search/in/") for _ in range(5)}
    place.keep(TEXT, "search/in/")
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
    details(nowhere, 404, "notebook_not_found")


def test_tools_accept_relative_paths(place: Place) -> None:
    path = place.keep()
    fields = {"cell_id": "beta", "new_source": "# Tool"}
    answer = tool(place.client, "mycode/NotebookEdit", notebook_path=path, **fields)
    assert answer.status == 200, answer.body
    assert b"# Tool" in place.get(path)
    answer = tool(place.client, "nexo/NotebookEdit", notebook_path=f"/{path}", **fields)
    assert answer.status == 409, answer.body


def test_trust_is_kept_and_never_added(place: Place) -> None:
    path = place.keep()
    assert not place.client.read(path).json["trusted"]
    assert_edited(place.client.patch(path, REPLACE), "contents", preserved=True)
    assert not place.client.read(path).json["trusted"]
    model = contents(place.client, path)
    model["content"]["cells"][0]["metadata"]["trusted"] = True
    save(place.client, path, model)
    assert place.client.read(path).json["trusted"]
    again = {**REPLACE, "source": "# Again"}
    assert_edited(place.client.patch(path, again), "contents", preserved=True)
    assert place.client.read(path).json["trusted"]
    assert contents(place.client, path)["content"]["cells"][0]["metadata"]["trusted"]


async def test_an_unreachable_store_is_reported_without_its_address_or_keys(
    tmp_path: Path,
) -> None:
    from s3fs import S3FileSystem  # noqa: PLC0415 -- is not always there

    async with s3(tmp_path) as kept:
        await ensure_async(kept.put(TEXT))
        base = await kept.storage.read(PATH)
        secrets = {"key": "nobody", "secret": "nothing"}
        # Nobody listens there.
        address = "http://127.0.0.1:9"
        vars(kept.storage)["_manager"].fs.fs = S3FileSystem(
            client_kwargs={"endpoint_url": address},
            config_kwargs={"retries": {"max_attempts": 0}},
            **secrets,
        )
        for attempt in (kept.storage.read(PATH), kept.storage.write(PATH, base, [])):
            with pytest.raises((NotebookNotFound, StorageFailure)) as refused:
                await attempt
            said = f"{refused.value} {refused.value.details}"
            assert not [secret for secret in (address, *secrets.values()) if secret in said]
