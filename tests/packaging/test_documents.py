"""Examples in the documentation match the package and the replies of a server."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from jupyter_nbedit.cli.demo.play import SAMPLES
from tests.support.http import JSON, Client
from tests.support.paths import ROOT
from tests.support.servers import run_server

README = (ROOT / "README.md").read_text()
EXAMPLE = ROOT / "ui-tests" / "example"
LANGUAGES = {"src/index.ts": "ts", "package.json": "json", "nbedit_example.py": "python"}


def find_blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def find_requests() -> Iterator[tuple[str, str, Any, Any]]:
    """Return the requests that are printed with their answers: verb, path, body, answer."""
    for curl, answer in re.findall(r"```sh\n(curl .*?)```\n\n```json\n(.*?)```", README, re.DOTALL):
        verb = re.search(r"-X (\w+)", curl)
        path = re.search(r"http://localhost:8888/([^\s\"]+)", curl)
        body = re.search(r"-d '(.*)'", curl)
        assert path is not None
        yield (
            "GET" if verb is None else verb[1],
            path[1],
            None if body is None else json.loads(body[1]),
            json.loads(answer),
        )


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(SAMPLES, folder / "notebooks")
    with run_server(folder) as started:
        yield started


def send(client: Client, verb: str, path: str, body: Any) -> tuple[int, Any]:
    content = None if body is None else json.dumps(body).encode()
    answer = client.request(verb, path, content, JSON)
    return answer.status, answer.json


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = (block.strip() for block in find_blocks("sh") if "bin/nox" in block)

    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_every_request_in_the_readme_has_the_printed_answer(client: Client) -> None:
    requests = list(find_requests())
    assert len(requests) == sum(block.startswith("curl") for block in find_blocks("sh")) >= 5
    for verb, path, body, expected in requests:
        status, answer = send(client, verb, path, body)

        assert status in {200, 201}, answer
        if "last_modified" in expected:
            assert answer.pop("last_modified") != expected.pop("last_modified")
        if expected.get("guard"):
            # The guard against other writers depends on the file system.
            assert answer.pop("guard") in {"lease", "exchange", "compare"}
            expected.pop("guard")
        assert answer == expected, path


def test_the_error_in_the_readme_is_the_printed_one(client: Client) -> None:
    (error,) = (found for block in find_blocks("json") if "reason" in (found := json.loads(block)))
    operation = {"op": "delete", "cell": error["details"]["cell"]}
    body = {"operations": [operation]}

    assert send(client, "PATCH", "nbedit/notebooks/rainfall.ipynb", body) == (404, error)


def test_every_linked_file_of_the_documentation_exists() -> None:
    for document in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / document).read_text())

        assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_documentation_contains_the_example_extension_of_the_browser_tests() -> None:
    text = (ROOT / "docs" / "extending.md").read_text()
    for name, language in LANGUAGES.items():
        assert f"```{language}\n{(EXAMPLE / name).read_text()}```\n" in text
    found = {path for path in EXAMPLE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    names = {path.relative_to(EXAMPLE).as_posix() for path in found}
    assert names == {*LANGUAGES, "tsconfig.json"}
