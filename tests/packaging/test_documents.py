"""Examples in the documentation match the package, and paths and imports what there is."""

import ast
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.cli.demo.play import SAMPLES
from tests.support.http import JSON, Client
from tests.support.paths import LAB, ROOT
from tests.support.servers import run_server

README = (ROOT / "README.md").read_text()
DOCUMENTS = ("README.md", "docs/agents.md", "docs/use.md")
SHELLS = ("sh", "bash", "console", "zsh")
COMMANDS = "curl|jupyter|npm|nox|pip|pytest|python"
EXAMPLE = ROOT / "ui-tests" / "example"
#: The folders that paths on these pages start from.
FOLDERS = (ROOT, ROOT / "jupyter_nbedit", LAB, LAB / "src")
PAGES_WITH_PATHS = ("CONTRIBUTING.md", "docs/how-we-know.md", "docs/internals.md")
PATHS = r"`((?:benchmarks|tests|ui-tests)(?:/[\w./-]+)?|[\w./-]+/[\w-]+\.(?:json|py|ts|txt))`"
LANGUAGES = {"src/index.ts": "ts", "package.json": "json", "nbedit_example.py": "python"}


def find_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def find_all_documents() -> list[Path]:
    return sorted(
        path for glob in ("*.md", "docs/*.md", "skills/**/*.md") for path in ROOT.glob(glob)
    )


def find_requests(text: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Return the requests that are printed with their answers: verb, path, body, answer.

    The answer is a string if the request asks for a text.
    """
    pattern = r"```sh\n(curl .*?)```\n(?:(?!```).)*?```(json|text)\n(.*?)```"
    for curl, language, answer in re.findall(pattern, text, re.DOTALL):
        verb = re.search(r"-X (\w+)", curl)
        path = re.search(r"http://localhost:8888/([^\s\"]+)", curl)
        body = re.search(r"-d '(.*)'", curl)
        assert path is not None
        yield (
            "GET" if verb is None else verb[1],
            path[1],
            None if body is None else json.loads(body[1]),
            json.loads(answer) if language == "json" else answer,
        )
        assert ("Accept: text/plain" in curl) == (language == "text")


def shorten(answer: Any, printed: Any) -> Any:
    """Return the members of an answer that are printed: the documents leave some out."""
    if isinstance(answer, dict) and isinstance(printed, dict):
        return {name: shorten(answer[name], printed[name]) for name in printed if name in answer}
    if isinstance(answer, list) and isinstance(printed, list) and len(answer) == len(printed):
        return [shorten(*pair) for pair in zip(answer, printed, strict=True)]
    return answer


@pytest.fixture
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(SAMPLES, folder / "notebooks")
    with run_server(folder) as started:
        yield started


def send(
    client: Client, verb: str, path: str, body: Any, *, as_text: bool = False
) -> tuple[int, Any]:
    content = None if body is None else json.dumps(body).encode()
    headers = {**JSON, "Accept": "text/plain"} if as_text else JSON
    answer = client.request(verb, path, content, headers)
    return answer.status, answer.body.decode() if as_text else answer.json


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = (block.strip() for block in find_blocks(README, "sh") if "bin/nox" in block)

    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_request_in_the_documentation_has_the_printed_answer(
    client: Client, document: str
) -> None:
    text = (ROOT / document).read_text()
    requests = list(find_requests(text))
    assert len(requests) == sum(block.startswith("curl") for block in find_blocks(text, "sh")) > 0
    for verb, path, body, expected in requests:
        status, answer = send(client, verb, path, body, as_text=isinstance(expected, str))

        assert status in {200, 201}, answer
        assert shorten(answer, expected) == expected, path


def test_the_lines_that_add_the_endpoint_to_clients_have_its_address_and_the_token(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "agents.md").read_text()
    (block,) = (block for block in find_blocks(text, "sh") if " mcp add " in block)
    monkeypatch.setenv("JUPYTER_TOKEN", client.token)
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": ""}}
    for line in block.splitlines():
        words = shlex.split(line)
        (address,) = (word for word in words if word.startswith("http:"))
        # The clients replace the variable when they connect.
        if "--header" in words:
            header = os.path.expandvars(words[words.index("--header") + 1])
        else:
            variable = words[words.index("--bearer-token-env-var") + 1]
            header = f"Authorization: Bearer {os.environ[variable]}"
        name, _, value = header.partition(": ")
        target = address.removeprefix("http://localhost:8888/")
        headers = {**JSON, name: value}
        answer = client.request("POST", target, json.dumps(body).encode(), headers, token="")

        assert answer.status == 200, line
        assert answer.json["result"]["serverInfo"]["name"] == "jupyter_nbedit"


def test_the_error_in_the_readme_is_the_printed_one(client: Client) -> None:
    (error,) = (
        found for block in find_blocks(README, "json") if "reason" in (found := json.loads(block))
    )
    body = {"operations": [{"op": "delete", "cell": error["details"]["cell"]}]}

    assert send(client, "PATCH", "nbedit/notebooks/rainfall.ipynb", body) == (404, error)


@pytest.mark.parametrize(
    "document", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda path: path.name
)
def test_every_link_of_the_documentation_leads_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", document.read_text()):
        path, _, heading = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not heading or heading in list_anchors(target), link


@pytest.mark.parametrize("document", PAGES_WITH_PATHS)
def test_pages_for_contributors_name_only_existing_files(document: str) -> None:
    named = set(re.findall(PATHS, (ROOT / document).read_text()))

    assert named
    assert not [path for path in named if not any((folder / path).exists() for folder in FOLDERS)]


@pytest.mark.parametrize(
    "document", find_all_documents(), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_zsh_takes_every_command_of_the_documentation(document: Path) -> None:
    """An interactive zsh knows no comments, and an unquoted pattern without a match is an error."""
    text = document.read_text()
    blocks = [block for language in SHELLS for block in find_blocks(text, language)]
    for command in [*blocks, *re.findall(rf"`((?:{COMMANDS}) [^`\n]+)`", text)]:
        unquoted = re.sub(r"<<'END'\n.*?\nEND\n", "", command, flags=re.DOTALL)
        unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", unquoted)

        assert not re.search(r"[][?*#!]", unquoted), command


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_documentation_contains_the_example_extension_of_the_browser_tests() -> None:
    text = (ROOT / "docs" / "extending.md").read_text()
    for name, language in LANGUAGES.items():
        assert f"```{language}\n{(EXAMPLE / name).read_text()}```\n" in text
    found = {path for path in EXAMPLE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    names = {path.relative_to(EXAMPLE).as_posix() for path in found}
    assert names == {*LANGUAGES, "tsconfig.json"}


def test_no_test_module_is_imported() -> None:
    # Else its tests run twice or with fixtures of another folder; import-linter knows no patterns.
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom) and "test_" in (node.module or "").rpartition(".")[2]
    ]
    assert found == [], "move what they share to a module that is no test"
