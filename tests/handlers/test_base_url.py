"""Below any base URL the addresses in replies lead to the resources they name."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import samples
from tests.support.http import JSON, Answer, Client
from tests.support.servers import run_server

#: Like one of a hub, with characters that must be encoded.
BASE_URL = "/hub/user/%C3%BC@b/100%25%20x%2Fy/"
NOTEBOOK = "%C3%BC%20x/100%25.ipynb"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("base")
    with run_server(folder, f"--ServerApp.base_url={BASE_URL}") as found:
        yield found


@pytest.fixture
def notebook(client: Client) -> Path:
    path = client.root / "ü x" / "100%.ipynb"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(samples.three_cells())
    return path


def follow(client: Client, address: str, verb: str = "GET", body: Any = None) -> Answer:
    """Send a request to an address as it is, from the server's name on."""
    server = Client(client.port, client.token, client.root, base_url="")
    sent = None if body is None else json.dumps(body).encode()
    return server.request(verb, address, sent, {} if body is None else JSON)


def test_links_in_replies_lead_to_the_named_resources(client: Client, notebook: Path) -> None:
    links = client.request("GET", "nbedit").json["links"]

    for name in ("self", "openapi", "tools"):
        assert follow(client, links[name]).status == 200, name
    assert follow(client, links["search"], "POST", {"regex": "x"}).status == 200
    tool = links["tool"].replace("{dialect}", "claude_code").replace("{tool}", "Read")
    assert follow(client, tool, "POST", {"file_path": str(notebook)}).status == 200
    found = follow(client, links["notebook"].replace("{path}", NOTEBOOK))
    assert found.json["path"] == "ü x/100%.ipynb"


def test_the_location_of_a_new_notebook_and_cell_is_correct(client: Client, notebook: Path) -> None:
    new = f"{client.base_url}nbedit/notebooks/%C3%BC%20x/new%3F%20%2541.ipynb"

    created = follow(client, new, "PUT", {"cells": []})
    cell = {"cell_type": "code", "source": "x", "at": "start"}
    inserted = follow(client, f"{created.headers['Location']}/cells", "POST", cell)

    assert (created.status, inserted.status) == (201, 201)
    assert created.json["path"] == "ü x/new? %41.ipynb"
    assert (notebook.parent / "new? %41.ipynb").exists()
    for answer in (created, inserted):
        assert answer.headers["Location"].startswith(client.base_url)
        assert follow(client, answer.headers["Location"]).status == 200


@pytest.mark.usefixtures("notebook")
def test_no_route_exists_outside_the_base_url(client: Client) -> None:
    assert follow(client, "/nbedit").status == 404
