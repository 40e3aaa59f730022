"""Below any base URL: what the server says of addresses leads to what it names."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPResponse

from tests.support import samples
from tests.support.http import JSON

#: The one of pytest-jupyter, others with what has to be encoded, and such as a hub gives.
BASE_URLS = [
    "/",
    "/a%40b/",
    "/%C3%A9%20%2B/",
    "/100%25%20%C3%BC/x%2Fy/",
    "/user/ada/",
    "/hub/user/%C3%BC@b/second-server/",
]
pytestmark = pytest.mark.parametrize("jp_base_url", BASE_URLS)

Fetch = Callable[..., Awaitable[HTTPResponse]]


@pytest.fixture
def fetch(jp_serverapp: Any, http_server_client: Any, jp_auth_header: Any) -> Fetch:
    """Send a request to an address as it is, from the server's name on."""

    async def sent(
        address: str, verb: str = "GET", body: Any = None, **headers: str
    ) -> HTTPResponse:
        content = {} if body is None else JSON
        answer: HTTPResponse = await http_server_client.fetch(
            address,
            method=verb,
            body=None if body is None else json.dumps(body).encode(),
            headers={**jp_auth_header, **content, **headers},
            raise_error=False,
        )
        return answer

    assert jp_serverapp.web_app is not None
    return sent


@pytest.fixture
def notebook(jp_root_dir: Path) -> Path:
    path = jp_root_dir / "ü x" / "100%.ipynb"
    path.parent.mkdir()
    path.write_bytes(samples.three_cells())
    return path


ADDRESS = "nbedit/notebooks/%C3%BC%20x/100%25.ipynb"


async def test_the_links_lead_to_what_they_name(
    jp_base_url: str, fetch: Fetch, notebook: Path
) -> None:
    links = json.loads((await fetch(f"{jp_base_url}nbedit")).body)["links"]

    for name in ("self", "openapi", "tools"):
        assert (await fetch(links[name])).code == 200, name
    assert (await fetch(links["search"], "POST", {"regex": "x"})).code == 200
    read = {"file_path": str(notebook)}
    tool = links["tool"].replace("{dialect}", "claude_code").replace("{tool}", "Read")
    assert (await fetch(tool, "POST", read)).code == 200
    found = await fetch(links["notebook"].replace("{path}", "%C3%BC%20x/100%25.ipynb"))
    assert json.loads(found.body)["path"] == "ü x/100%.ipynb"


@pytest.mark.usefixtures("notebook")
async def test_the_openapi_document_leads_to_this_server(jp_base_url: str, fetch: Fetch) -> None:
    document = json.loads((await fetch(f"{jp_base_url}nbedit/openapi.json")).body)

    (server,) = document["servers"]
    assert server["url"] == (jp_base_url.rstrip("/") or "/")
    below = server["url"].rstrip("/")
    (path,) = (path for path in document["paths"] if path.endswith("/notebooks/{path}"))
    found = await fetch(below + path.replace("{path}", "%C3%BC%20x/100%25.ipynb"))
    assert found.code == 200


async def test_a_new_notebook_and_a_new_cell_are_where_the_answer_says(
    jp_base_url: str, fetch: Fetch, notebook: Path
) -> None:
    new = f"{jp_base_url}nbedit/notebooks/%C3%BC%20x/new%3F%20%2541.ipynb"

    created = await fetch(new, "PUT", {"cells": []})
    cell = {"cell_type": "code", "source": "x", "at": "start"}
    inserted = await fetch(f"{created.headers['Location']}/cells", "POST", cell)

    assert (created.code, inserted.code) == (201, 201)
    assert json.loads(created.body)["path"] == "ü x/new? %41.ipynb"
    assert (notebook.parent / "new? %41.ipynb").exists()
    for answer in (created, inserted):
        address = answer.headers["Location"]
        assert address.startswith(jp_base_url)
        assert (await fetch(address)).code == 200, address


@pytest.mark.usefixtures("notebook")
async def test_a_notebook_is_edited_under_the_tag_it_was_read_with(
    jp_base_url: str, fetch: Fetch
) -> None:
    address = jp_base_url + ADDRESS
    delete = {"operations": [{"op": "delete", "cell": "alpha"}]}

    tag = (await fetch(address)).headers["ETag"]
    same = await fetch(address, **{"If-None-Match": tag})
    edited = await fetch(address, "PATCH", delete, **{"If-Match": tag})
    late = await fetch(address, "PATCH", delete, **{"If-Match": tag})

    assert (same.code, edited.code, late.code) == (304, 200, 412)
    assert (await fetch(address)).headers["ETag"] == edited.headers["ETag"] != tag


@pytest.mark.usefixtures("notebook")
async def test_nothing_of_ours_is_beside_the_base_url(jp_base_url: str, fetch: Fetch) -> None:
    beside = "/nbedit" if jp_base_url != "/" else "/x/nbedit"

    assert (await fetch(beside)).code == 404
