"""The skill for agents: its form, its examples against a server, and how it is installed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.cli import main
from jupyter_nbedit.cli.demo.play import SAMPLES
from jupyter_nbedit.cli.skill import INSTRUCTIONS, SKILL
from tests.support.http import Client
from tests.support.paths import ROOT
from tests.support.servers import run_server

NAME = "rainfall.ipynb"
TEXT = (SKILL / "SKILL.md").read_text()
OPERATIONS = (SKILL / "references" / "operations.md").read_text()
FILES = {Path("SKILL.md"), Path("references/operations.md")}


def find_block(text: str, language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return str(block)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    shutil.copytree(SAMPLES, tmp_path / "notebooks")
    with run_server(tmp_path) as started:
        yield started


def run_in_shell(client: Client, commands: str) -> str:
    """Run the commands in the folder of the server; each must succeed."""
    return subprocess.check_output(
        ["/bin/sh", "-e", "-c", commands],
        cwd=client.root,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "JUPYTER_RUNTIME_DIR": str(client.root.parent / "runtime"),
        },
        text=True,
    )


def call_tool(client: Client, name: str, arguments: Any) -> str:
    """Call a tool of agents, which must succeed."""
    body = arguments
    answer = client.send_json("POST", f"tools/agent/{name}", body)
    assert answer.status == 200, answer.json
    text: str = answer.json["content"][0]["text"]
    return text


def read_sources(client: Client) -> list[str]:
    notebook = json.loads((client.root / NAME).read_text())
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def test_the_skill_has_the_form_of_skills_and_is_short() -> None:
    _, front_matter, body = TEXT.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front_matter.splitlines())

    assert fields["name"] == SKILL.name
    assert len(fields["description"]) <= 1024
    assert len(TEXT) <= 3500
    for link in re.findall(r"\]\((.*?)\)", body):
        assert (SKILL / link).is_file()
    assert {path.relative_to(SKILL) for path in SKILL.rglob("*") if path.is_file()} == FILES


def test_the_copy_for_installers_of_skills_is_the_same() -> None:
    copy = ROOT / "skills" / SKILL.name

    assert {path.relative_to(copy) for path in copy.rglob("*") if path.is_file()} == FILES
    for path in FILES:
        same = (copy / path).read_bytes() == (SKILL / path).read_bytes()
        assert same, f"Copy {SKILL / path} to {copy / path}."


def test_the_commands_and_then_the_tool_calls_of_the_skill_do_what_it_says(client: Client) -> None:
    before = read_sources(client)

    output = run_in_shell(client, find_block(TEXT, "sh"))
    after_commands = read_sources(client)
    for line in find_block(TEXT, "text").splitlines():
        name, arguments = line.split(" ", 1)
        output += call_tool(client, name, json.loads(arguments))

    expected = [*before[:3], "wet = 150  # mm", *before[4:]]
    assert after_commands == expected
    # The tools have undone their own edit.
    assert read_sources(client) == expected
    for name in re.findall(r"\d:[0-9a-f]{6}", TEXT):
        assert name in output


def test_the_operations_of_the_reference_are_taken_by_tool_and_command(client: Client) -> None:
    operations = json.loads(find_block(OPERATIONS, "json"))
    named = {
        name for line in OPERATIONS.splitlines() for name in re.findall(r"^\| (`.*?) \|", line)
    }
    names = {name for names in named for name in re.findall(r"`(\w+)`", names)}
    replacement = {"op": "replace_section", "section": "Through the year", "source": "No rain."}
    before = (client.root / NAME).read_bytes()

    call_tool(client, "notebook_edit", {"path": NAME, "operations": operations})
    by_tool = (client.root / NAME).read_bytes()
    call_tool(client, "notebook_history", {"path": NAME, "action": "undo"})
    undone = (client.root / NAME).read_bytes()
    command = f"jupyter nbedit edit {NAME} --operations - <<'END'\n{json.dumps(operations)}\nEND"
    run_in_shell(client, command)
    by_command = (client.root / NAME).read_bytes()
    call_tool(client, "notebook_edit", {"path": NAME, "operations": [replacement]})

    assert names == {*(operation["op"] for operation in operations), "replace_section"}
    assert undone == before
    # New cells have random ids.
    assert len(by_tool) == len(by_command) != len(before)
    assert "No rain." in read_sources(client)[-1]


def test_the_other_commands_of_the_reference_succeed(client: Client) -> None:
    output = run_in_shell(client, find_block(OPERATIONS, "sh"))

    assert "dry run" in output
    assert f"{client.root} | jupyter_nbedit" in output
    # The move was undone and redone.
    assert read_sources(client)[0] == "## Through the year"
    assert json.loads((client.root / "notes.ipynb").read_text())["cells"][1]["source"] == ["1 + 1"]


# How it is installed ------------------------------------------------------------------------------


def test_the_skill_is_printed_and_installed_where_agents_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)

    assert main(["skill"]) == 0
    assert capsys.readouterr().out == TEXT
    for where, folder in (("user", home), ("project", project)):
        copies = [folder / name / "skills" / SKILL.name for name in (".agents", ".claude")]

        assert main(["skill", "--install", where]) == 0
        output = capsys.readouterr().out
        assert main(["skill", "--install", where]) == 0

        assert output.startswith(f"{copies[0]} is written.\n{copies[1]} is written.\n")
        assert output.endswith(INSTRUCTIONS)
        assert capsys.readouterr().out.count("is up to date") == 2
        for copy in copies:
            assert {path.relative_to(copy) for path in copy.rglob("*.*")} == FILES
            assert (copy / "SKILL.md").read_text() == TEXT


def test_a_skill_that_the_user_has_changed_is_kept_as_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / ".agents" / "skills" / SKILL.name / "SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    elsewhere = tmp_path.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (tmp_path / ".claude").symlink_to(elsewhere)

    assert main(["skill", "--install", "project"]) == 1

    assert mine.read_text() == TEXT
    assert mine.with_name("SKILL.md.bak").read_text() == "mine"
    assert f"a symbolic link leads it out of {tmp_path}" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []
