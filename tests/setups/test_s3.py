"""Notebooks in a bucket: s3contents on an S3 server of the test's own."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from jupyter_server.utils import ensure_async

from jupyter_nbedit.errors import NotebookNotFound, StorageFailure
from tests.handlers.refused import details
from tests.setups.bucket import Bucket, bucket
from tests.setups.needs import needs
from tests.setups.serving import assert_edited, contents, keep, save, tool
from tests.storage.kept import PATH, s3
from tests.support import samples
from tests.support.corpora import notebooks
from tests.support.http import JSON, Client
from tests.support.servers import run_server

needs("s3contents")
needs("moto")

REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}
TEXT = samples.three_cells()
CHANGED = TEXT.replace(b'"# Title"', b'"# Changed"')
# What other packages still use is their business.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
_names = (f"{number}.ipynb" for number in itertools.count())


@dataclass(frozen=True)
class Setup:
    client: Client
    store: Bucket

    def keep(self, text: bytes, folder: str = "") -> str:
        """Have the server keep a notebook; what comes into the bucket past it, it may not see."""
        path = folder + next(_names)
        keep(self.client, path, text)
        assert self.store.get(path) == text
        return path


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    with bucket() as store:
        traits = "".join(
            f"c.S3ContentsManager.{name} = {value!r}\n" for name, value in store.options.items()
        )
        manager = 'c.ServerApp.contents_manager_class = "s3contents.S3ContentsManager"\n'
        with run_server(tmp_path_factory.mktemp("s3"), configuration=manager + traits) as client:
            yield Setup(client, store)


def test_an_edit_changes_no_byte_that_it_does_not_mean(setup: Setup) -> None:
    path = setup.keep(TEXT)
    reply = assert_edited(setup.client.patch(path, REPLACE), "contents", preserved=True)
    assert setup.store.get(path) == CHANGED
    assert reply["hash"] == hashlib.sha256(CHANGED).hexdigest()
    assert setup.client.read(path).json["hash"] == reply["hash"]
    assert contents(setup.client, path)["content"]["cells"][1]["source"] == "# Changed"


def test_an_edit_is_refused_if_somebody_else_has_written_the_object(setup: Setup) -> None:
    path = setup.keep(TEXT)
    seen = setup.client.read(path).json["hash"]
    setup.store.put(path, CHANGED)
    refused = setup.client.patch(path, REPLACE, hash=seen)
    assert details(refused, 412, "hash_mismatch")["hash"] == hashlib.sha256(CHANGED).hexdigest()
    assert setup.store.get(path) == CHANGED


def test_a_notebook_is_created_and_never_over_another(setup: Setup) -> None:
    path = next(_names)
    target = f"nbedit/notebooks/{path}"
    body = json.dumps({"cells": [{"cell_type": "code", "source": "1"}]}).encode()
    assert_edited(setup.client.request("PUT", target, body, JSON), "contents", preserved=True)
    assert samples.cells_of(setup.store.get(path))[0]["cell_type"] == "code"
    details(setup.client.request("PUT", target, body, JSON), 409, "notebook_exists")
    details(
        setup.client.request("PUT", "nbedit/notebooks/nowhere/a.ipynb", body, JSON),
        404,
        "notebook_not_found",
    )


def test_what_is_missing_or_spelled_oddly_is_not_found(setup: Setup) -> None:
    bodies = set()
    for path in ("none.ipynb", "../a.ipynb", "a/../b.ipynb", "a//b.ipynb", "a%00.ipynb"):
        target = f"nbedit/notebooks/{path if '%' in path else quote(path)}"
        answer = setup.client.request("GET", target)
        details(answer, 404, "notebook_not_found")
        bodies.add(answer.body)
    assert len(bodies) == 1


def test_real_notebooks_come_through_an_edit_and_back_byte_for_byte(setup: Setup) -> None:
    edited = 0
    small = [path for path in notebooks() if path.stat().st_size < 200_000]
    for source in small[::30]:
        text = source.read_bytes()
        path = setup.keep(text)
        marker = {"op": "insert", "cell_type": "raw", "source": "x", "at": "end"}
        answer = setup.client.patch(path, marker)
        if answer.status == 422:
            assert setup.store.get(path) == text
            continue
        total = assert_edited(answer, "contents", preserved=True)["total_cells"]
        assert setup.store.get(path) != text
        assert_edited(
            setup.client.patch(path, {"op": "delete", "cell": total - 1}),
            "contents",
            preserved=True,
        )
        assert setup.store.get(path) == text
        edited += 1
    assert edited > 5


def test_the_search_goes_through_the_bucket(setup: Setup) -> None:
    save(setup.client, "search", {"type": "directory"})
    save(setup.client, "search/in", {"type": "directory"})
    for text in (TEXT, CHANGED):
        setup.keep(text, "search/in/")
    body = json.dumps({"query": "# Changed", "path": "search"}).encode()
    answer = setup.client.request("POST", "nbedit/search", body, JSON)
    assert answer.status == 200, answer.body
    assert len(answer.json["hits"]) == 1
    assert answer.json["files"] == 2
    body = json.dumps({"query": "x", "path": "nowhere"}).encode()
    details(setup.client.request("POST", "nbedit/search", body, JSON), 404, "notebook_not_found")


def test_tools_work_by_relative_paths(setup: Setup) -> None:
    path = setup.keep(TEXT)
    answer = tool(
        setup.client, "mycode/NotebookEdit", notebook_path=path, cell_id="beta", new_source="# Tool"
    )
    assert answer.status == 200, answer.body
    assert b"# Tool" in setup.store.get(path)
    answer = tool(
        setup.client,
        "nexo/NotebookEdit",
        notebook_path=f"/{path}",
        cell_id="beta",
        new_source="# Tool",
    )
    assert answer.status == 409


def test_trust_is_kept_and_never_given(setup: Setup) -> None:
    path = setup.keep(TEXT)
    assert not setup.client.read(path).json["trusted"]
    assert_edited(setup.client.patch(path, REPLACE), "contents", preserved=True)
    assert not setup.client.read(path).json["trusted"]
    model = contents(setup.client, path)
    model["content"]["cells"][0]["metadata"]["trusted"] = True
    save(setup.client, path, model)
    assert setup.client.read(path).json["trusted"]
    clear = {"op": "replace", "cell": "beta", "source": "# Again"}
    assert_edited(setup.client.patch(path, clear), "contents", preserved=True)
    assert setup.client.read(path).json["trusted"]
    assert contents(setup.client, path)["content"]["cells"][0]["metadata"]["trusted"]


async def test_a_store_that_is_out_of_reach_is_told_of_without_its_address_or_keys(
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
