"""The commands in docs/cli.md and README.md do what stands below them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_nbedit.cli import build_parser
from jupyter_nbedit.cli.demo.play import SAMPLES
from tests.support.http import Client
from tests.support.paths import ROOT
from tests.support.servers import run_server

DOCUMENT = (ROOT / "docs" / "cli.md").read_text()
# Differ each time: when an edit was made, and the random ids of the cells of a new notebook.
VARYING = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d|(?<=notes\.ipynb \| 2 cells \| rev )[0-9a-f]{8}")


def find_examples() -> list[tuple[str, str, str]]:
    """Return language, content, and printed output of each block."""
    pattern = r"```(sh|python)\n(.*?)```(?:\n\n```text\n(.*?)```)?"
    return re.findall(pattern, DOCUMENT, re.DOTALL)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Client]:
    shutil.copytree(SAMPLES, tmp_path / "notebooks")
    with run_server(tmp_path) as started:
        yield started


def run(server: Client, language: str, content: str) -> str:
    shell = shutil.which("sh") or "sh"
    program = [shell, "-e"] if language == "sh" else [sys.executable]
    folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        [*program, "-c", content],
        cwd=server.root,
        env={
            **os.environ,
            "PATH": folders,
            "JUPYTER_RUNTIME_DIR": str(server.root.parent / "runtime"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, ""), content
    assert server.token not in process.stdout
    return process.stdout


def test_every_command_in_the_documentation_prints_what_it_shows(server: Client) -> None:
    examples = find_examples()
    assert len(examples) == DOCUMENT.count("```sh\n") + DOCUMENT.count("```python\n")
    assert sum(bool(output) for _, _, output in examples) == DOCUMENT.count("```text\n")
    for language, content, expected in examples:
        printed = run(server, language, content)
        if expected:
            assert VARYING.sub("", printed) == VARYING.sub("", expected), content


def test_every_option_in_the_documentation_is_one_of_the_commands() -> None:
    commands = next(
        action.choices for action in build_parser()._actions if isinstance(action.choices, dict)
    )
    options = {name for parser in commands.values() for name in parser._option_string_actions}
    assert set(re.findall(r"`(--[a-z-]+)", DOCUMENT)) <= options
    assert set(re.findall(r"jupyter nbedit ([a-z]+)", DOCUMENT)) <= {*commands}


def test_the_commands_in_the_readme_succeed(server: Client) -> None:
    readme = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"```sh\n(jupyter nbedit read .*?)```", readme, re.DOTALL)
    before = (server.root / "rainfall.ipynb").read_bytes()

    printed = run(server, "sh", block)

    assert [line.partition(" ")[0] for line in printed.splitlines()].count("replace_text") == 1
    assert "undo 3:ebaee1" in printed
    assert (server.root / "rainfall.ipynb").read_bytes() == before
