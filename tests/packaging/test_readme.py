from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.demo.server import Server, running
from jupyter_nbedit.demo.show import SAMPLES

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def server(tmp_path: Path) -> Any:
    shutil.copytree(SAMPLES, tmp_path / "notebooks")
    with running("jupyter_server", tmp_path, "--no-browser") as started:
        yield started


def test_ci_runs_the_command_that_the_readme_gives_for_the_tests() -> None:
    (command,) = (block.strip() for block in blocks("sh") if "bin/nox" in block)

    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def printed() -> list[tuple[str, str, Any, Any]]:
    """Give the requests that are printed with their answers: verb, path, body, answer."""
    found = re.findall(r"```sh\n(curl .*?)```\n\n```json\n(.*?)```", README, re.DOTALL)
    requests = []
    for curl, answer in found:
        verb = re.search(r"-X (\w+)", curl)
        path = re.search(r"http://localhost:8888(/[^\s\"]+)", curl)
        body = re.search(r"-d '(.*)'", curl)
        assert path is not None
        requests.append(
            (
                "GET" if verb is None else verb[1],
                path[1],
                None if body is None else json.loads(body[1]),
                json.loads(answer),
            )
        )
    return requests


def test_every_request_in_the_readme_has_its_answer_there() -> None:
    assert len(printed()) == sum(block.startswith("curl") for block in blocks("sh")) >= 5


def test_the_requests_in_the_readme_are_answered_as_printed_there(server: Server) -> None:
    for verb, path, body, expected in printed():
        status, answer = server.request(verb, path, body)

        assert status in {200, 201}, answer
        if "last_modified" in expected:
            assert answer.pop("last_modified") != expected.pop("last_modified")
        if expected.get("guard"):
            # What there is against others who write goes by the file system.
            assert answer.pop("guard") in {"lease", "exchange", "compare"}
            expected.pop("guard")
        assert answer == expected, path


def test_the_refusal_in_the_readme_is_answered_as_printed_there(server: Server) -> None:
    (refusal,) = (found for block in blocks("json") if "reason" in (found := json.loads(block)))
    operation = {"op": "delete", "cell": refusal["details"]["cell"]}

    status, answer = server.request(
        "PATCH", "/nbedit/notebooks/rainfall.ipynb", {"operations": [operation]}
    )

    assert status == 404
    assert answer == refusal


def test_every_file_that_the_documents_link_to_is_there() -> None:
    for document in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / document).read_text())

        assert [link for link in links if not (ROOT / link).exists()] == []
