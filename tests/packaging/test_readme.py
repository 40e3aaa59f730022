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
    (command,) = (block.strip() for block in blocks("sh") if "python tests" in block)

    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_request_in_the_readme_is_answered_as_printed_there(server: Server) -> None:
    (curl,) = (block for block in blocks("sh") if block.startswith("curl"))
    verb, path = re.findall(r"-X (\w+) http://localhost:8888(/\S+)", curl)[0]
    body = json.loads(re.findall(r"-d '(.*)'", curl)[0])
    printed, _ = (json.loads(block) for block in blocks("json"))

    status, answer = server.request(verb, path, body)

    assert status == 200
    assert answer.pop("last_modified") != printed.pop("last_modified")
    assert answer == printed


def test_the_refusal_in_the_readme_is_answered_as_printed_there(server: Server) -> None:
    _, printed = (json.loads(block) for block in blocks("json"))
    operation = {"op": "delete", "cell": printed["details"]["cell"]}

    status, answer = server.request(
        "PATCH", "/nbedit/notebooks/rainfall.ipynb", {"operations": [operation]}
    )

    assert status == 404
    assert answer == printed


def test_every_file_that_the_documents_link_to_is_there() -> None:
    for document in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / document).read_text())

        assert [link for link in links if not (ROOT / link).exists()] == []
