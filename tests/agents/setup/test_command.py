"""The command `jupyter nbedit setup`: what it prints, writes and refuses."""

import io
import itertools
import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from jupyter_nbedit.agents.setup.clients import (
    CLIENTS,
    Bridge,
    ClientMachine,
    ConfigScope,
    Endpoint,
    build_setup,
    find_bridge,
    list_setups,
)
from jupyter_nbedit.agents.setup.config_file import WriteRefused, write_setup
from jupyter_nbedit.cli import main
from tests.support.paths import ROOT

COMMAND = find_bridge().command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder; the current folder is a project beside it."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def list_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_without_a_client_all_are_listed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CLIENTS)
    assert lines[0].split(maxsplit=1)[1] == "Claude Code  ~/.claude.json"
    assert list_files(home) == set()


@pytest.mark.parametrize("client_id", CLIENTS)
@pytest.mark.parametrize("scope", get_args(ConfigScope))
def test_what_is_printed_is_what_is_written(
    client_id: str, scope: ConfigScope, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if scope not in CLIENTS[client_id].scopes:
        assert main(["setup", client_id, f"--{scope}"]) == 2
        return
    if client_id == "codex" and sys.version_info < (3, 11):
        pytest.skip("this Python has no parser of TOML")
    machine = ClientMachine.from_system(Path.cwd())
    setup = build_setup(client_id, find_bridge(), machine, scope)

    assert main(["setup", client_id, f"--{scope}"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == setup.text.rstrip("\n")
    assert list_files(home.parent) == set()
    assert main(["setup", client_id, f"--{scope}", "--write"]) == 0

    written = setup.file.read_text()
    assert list_files(home.parent) == {str(setup.file.relative_to(home.parent))}
    assert COMMAND in written
    if setup.kind == "file":
        assert written == setup.text
    capsys.readouterr()
    assert main(["setup", client_id, f"--{scope}", "--write"]) == 0
    assert capsys.readouterr().out == f"{setup.file} has this already.\n"
    assert setup.file.read_text() == written


def test_a_file_that_is_there_is_kept_as_a_backup_with_its_mode(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".claude.json"
    old = b'{\r\n\t"secret": "s3cret"\r\n}'
    file.write_bytes(old)
    file.chmod(0o600)

    assert main(["setup", "claude", "--write"]) == 0

    backup = home / ".claude.json.bak"
    output = capsys.readouterr()
    assert output.out == (
        f"{file} is written. Start Claude Code again. The file as it was: {backup}\n"
    )
    assert "s3cret" not in output.out + output.err
    assert file.read_bytes().startswith(old[:-3] + b",\r\n\t")
    assert backup.read_bytes() == old
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, backup)] == [0o600, 0o600]

    file.write_bytes(old)
    assert main(["setup", "claude", "--write"]) == 0
    assert list_files(home) == {".claude.json", ".claude.json.bak", ".claude.json.bak2"}


def test_an_entry_of_another_environment_is_replaced_only_on_request(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    entry = {"command": "/old/jupyter-nbedit", "args": ["mcp"], "env": {"KEY": "s3cret"}}
    file.write_text(json.dumps({"mcpServers": {"nbedit": entry}}))
    before = file.read_bytes()

    assert main(["setup", "cursor", "--write"]) == 1
    refusal = capsys.readouterr().err
    assert file.read_bytes() == before
    assert main(["setup", "cursor", "--write", "--replace"]) == 0

    assert f"{file} was not changed: it has another entry 'nbedit' already" in refusal
    assert "--replace" in refusal
    assert "s3cret" not in refusal
    content = json.loads(file.read_text())
    assert content == {"mcpServers": {"nbedit": {**entry, "command": COMMAND}}}


def test_the_second_name_of_a_file_is_used_if_it_is_there(home: Path) -> None:
    file = home / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text("{\n  // mine\n}\n")

    assert main(["setup", "opencode", "--write"]) == 0

    assert "// mine\n" in file.read_text()
    assert list_files(home) == {
        ".config/opencode/opencode.jsonc",
        ".config/opencode/opencode.jsonc.bak",
    }


def prepare_link(file: Path) -> str:
    file.symlink_to("target")
    return "it is a symbolic link to target, where there is no file"


def prepare_hard_link(file: Path) -> str:
    (file.parent / "other").write_text("{}")
    file.hardlink_to(file.parent / "other")
    return "it has several names (hard links)"


def prepare_folder(file: Path) -> str:
    file.mkdir()
    return "it is a folder"


def prepare_pipe(file: Path) -> str:
    os.mkfifo(file)
    return "it is no plain file"


def prepare_broken(file: Path) -> str:
    file.write_text('{"mcpServers": {')
    return "it is not valid JSON: "


def prepare_latin(file: Path) -> str:
    file.write_bytes(b'{"a": "\xe9"}')
    return "it is not valid UTF-8: byte 7."


def prepare_large(file: Path) -> str:
    with file.open("wb") as opened:
        opened.truncate(33 * 1024 * 1024)
    return "it has more than "


def prepare_backups(file: Path) -> str:
    file.write_text("{}")
    for number in ["", *range(2, 101)]:
        file.with_name(f"{file.name}.bak{number}").touch()
    return "there are 100 backups beside it"


@pytest.mark.threat("S35")
@pytest.mark.parametrize(
    "prepare",
    [
        prepare_link,
        prepare_hard_link,
        prepare_folder,
        prepare_pipe,
        prepare_broken,
        prepare_latin,
        prepare_large,
        prepare_backups,
    ],
)
def test_a_file_that_cannot_be_changed_stays_and_the_text_is_printed(
    prepare: Callable[[Path], str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    reason = prepare(file)
    before = {name: (home / name).stat() for name in list_files(home)}

    assert main(["setup", "cursor", "--write"]) == 1

    error = capsys.readouterr().err
    assert error.startswith(f"jupyter nbedit setup: {file} was not changed: {reason}")
    assert COMMAND in error
    after = {name: (home / name).stat() for name in list_files(home)}
    assert {name: (s.st_ino, s.st_mtime_ns) for name, s in after.items()} == {
        name: (s.st_ino, s.st_mtime_ns) for name, s in before.items()
    }


@pytest.mark.threat("S35")
def test_a_parent_that_is_no_folder_or_leads_out_of_the_project_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".cursor").write_text("")
    Path(".cursor").symlink_to(home)

    assert main(["setup", "cursor", "--write"]) == 1
    assert main(["setup", "cursor", "--write", "--project"]) == 1

    error = capsys.readouterr().err
    assert f"{home}/.cursor/mcp.json was not changed: " in error
    assert "a symbolic link leads it out of " in error
    assert list_files(home.parent) == {"home/.cursor"}


@pytest.mark.parametrize("options", [(), ("--project",)])
def test_a_link_stays_and_the_file_that_it_leads_to_is_changed(
    home: Path, options: tuple[str, ...]
) -> None:
    folder = Path.cwd() if options else home
    target = folder / "dotfiles" / "cursor.json"
    target.parent.mkdir()
    target.write_text('{"a": 1}')
    (folder / ".cursor").mkdir()
    (folder / ".cursor" / "mcp.json").symlink_to("../dotfiles/cursor.json")

    assert main(["setup", "cursor", "--write", *options]) == 0

    assert (folder / ".cursor" / "mcp.json").readlink() == Path("../dotfiles/cursor.json")
    assert json.loads(target.read_text()).keys() == {"a", "mcpServers"}
    assert target.with_name("cursor.json.bak").read_text() == '{"a": 1}'


# Other writers ------------------------------------------------------------------------------------


def save_anew(file: Path, content: str) -> None:
    """Save as most programs do: write a new file, and put it there."""
    new = file.with_name("new")
    new.write_text(content)
    new.replace(file)


def save_in_place(file: Path, content: str) -> None:
    file.write_text(content)


def delete(file: Path, _content: str) -> None:
    file.unlink()


@pytest.mark.parametrize("save", [save_anew, save_in_place, delete])
@pytest.mark.parametrize("call", ["first fsync", "second fsync"])
@pytest.mark.parametrize("client_id", ["claude", "codex", "cursor"])
def test_what_the_client_writes_meanwhile_is_kept(
    client_id: str,
    call: str,
    save: Callable[[Path, str], None],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_toml = client_id == "codex"
    if is_toml and sys.version_info < (3, 11):
        pytest.skip("this Python has no parser of TOML")
    before, after = ("n = 0\n", "n = 1\n") if is_toml else ('{"n": 0}', '{"n": 1}')
    file = build_setup(client_id, find_bridge(), ClientMachine.from_system(Path.cwd())).file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before)
    sync, calls = os.fsync, iter(["first fsync", "second fsync"])

    def write_and_sync(descriptor: int) -> None:
        if next(calls, None) == call:
            save(file, after)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", write_and_sync)

    code = main(["setup", client_id, "--write"])

    if save is delete:
        assert code == 1
        assert list_files(home) == set()
        return
    assert code == 0
    text = file.read_text()
    assert COMMAND in text
    assert after.strip("{}\n") in text
    assert {path.read_text() for path in file.parent.iterdir() if path != file} == {after}


def test_a_file_that_another_program_changes_all_the_time_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / ".claude.json"
    file.write_text("{}")
    sync, numbers = os.fsync, itertools.count(1)

    def write_and_sync(descriptor: int) -> None:
        save_anew(file, json.dumps({"n": next(numbers)}))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", write_and_sync)

    assert main(["setup", "claude", "--write"]) == 1

    assert "another program changes it again and again" in capsys.readouterr().err
    assert json.loads(file.read_text()) == {"n": next(numbers) - 1}
    assert list_files(home) == {".claude.json"}


# Owners -------------------------------------------------------------------------------------------

USER, GROUP = 12_345, 23_456
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of others")


def read_owner(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, status.st_gid


@needs_root
@pytest.mark.parametrize("client_id", ["claude", "codex", "gemini", "opencode"])
def test_what_root_writes_in_the_home_of_a_user_is_the_users(client_id: str, home: Path) -> None:
    if client_id == "codex" and sys.version_info < (3, 11):
        pytest.skip("this Python has no parser of TOML")
    os.chown(home, USER, GROUP)

    assert main(["setup", client_id, "--write"]) == 0
    assert main(["skill", "--install", "user"]) == 0

    assert {read_owner(path) for path in home.rglob("*")} == {(USER, GROUP)}

    file = build_setup(client_id, find_bridge(), ClientMachine.from_system(Path.cwd())).file
    file.write_text("a = 1\n" if client_id == "codex" else "{}")
    file.chmod(0o640)
    os.chown(file, USER, GROUP + 1)

    assert main(["setup", client_id, "--write"]) == 0

    backup = file.with_name(f"{file.name}.bak")
    assert COMMAND in file.read_text()
    assert COMMAND not in backup.read_text()
    for path in (file, backup):
        assert read_owner(path) == (USER, GROUP + 1)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


@needs_root
@pytest.mark.threat("S35")
def test_a_user_cannot_lead_root_to_files_of_others(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.chown(home, USER, GROUP)
    target = home.parent / "mcp.json"
    target.write_text("{}")
    for name, place in ((".claude.json", target), (".cursor", home.parent)):
        (home / name).symlink_to(place)
        os.lchown(home / name, USER, GROUP)

    for client_id in ("claude", "cursor"):
        assert main(["setup", client_id, "--write"]) == 1
        assert "to something of another user" in capsys.readouterr().err

    assert target.read_text() == "{}"
    assert list_files(home) == {".claude.json"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(home: Path) -> None:
    home.chmod(0o500)
    machine = ClientMachine.from_system(Path.cwd())

    with pytest.raises(WriteRefused, match="Permission denied"):
        write_setup(build_setup("claude", Bridge("x"), machine), machine.project)


ADDRESSES = [
    ("http://localhost:8888/lab?token=s3cret", "http://localhost:8888/nbedit/mcp"),
    ("http://localhost:8888/lab/tree/lab/a.ipynb", "http://localhost:8888/nbedit/mcp"),
    ("https://hub/user/lab/notebooks/a.ipynb", "https://hub/user/lab/nbedit/mcp"),
    ("http://localhost:8888", "http://localhost:8888/nbedit/mcp"),
    ("https://hub/user/ada/tree#s3cret", "https://hub/user/ada/nbedit/mcp"),
    ("https://hub/user/ada/nbedit/mcp", "https://hub/user/ada/nbedit/mcp"),
    ("http://[::1]:8888/a%20b/", "http://[::1]:8888/a%20b/nbedit/mcp"),
]


@pytest.mark.threat("S35")
@pytest.mark.parametrize(("address", "url"), ADDRESSES)
def test_an_address_becomes_that_of_the_endpoint_without_a_token(
    address: str, url: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for client_id in CLIENTS:
        assert main(["setup", client_id, "--url", address]) == 0
        output = capsys.readouterr()
        assert url.removesuffix("nbedit/mcp") in output.out
        assert "s3cret" not in output.out + output.err
    assert main(["setup", "cursor", "--url", address, "--write"]) == 0
    assert url in (home / ".cursor" / "mcp.json").read_text()
    assert "s3cret" not in (home / ".cursor" / "mcp.json").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["cursor", "--write", "--url", "localhost:8888"],
        ["cursor", "--write", "--url", "ftp://localhost/"],
        ["cursor", "--write", "--url", "http://"],
        ["cursor", "--write", "--url", "http://ada:s3cret@host/"],
        ["cursor", "--write", "--url", "http://host/", "--token-variable", "s3cret"],
        ["cursor", "--write", "--url", "http://host:port/"],
        ["cursor", "--write", "--user", "--project"],
        ["cursor", "--write", "--url"],
        ["--write"],
        ["cursor", "--replace"],
        ["cursor", "--token-variable", "JUPYTER_TOKEN"],
    ],
)
def test_a_wrong_command_line_is_refused_and_shows_no_secret(
    arguments: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["setup", *arguments])
    except SystemExit as exit_:
        code = int(exit_.code or 0)

    assert code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "s3cret" not in output.err
    assert list_files(home.parent) == set()


# Documentation ------------------------------------------------------------------------------------


def find_commands(text: str) -> list[list[str]]:
    """Return the arguments of all commands of ours that a document tells its reader to type."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    found = [shlex.split(line) for line in lines if line.startswith("jupyter nbedit ")]
    return [words[2:] for words in found if words[2] in {"setup", "skill"}]


@pytest.mark.parametrize("document", ["README.md", "docs/agents.md"])
def test_the_commands_in_the_documentation_succeed(document: str, home: Path) -> None:
    commands = find_commands((ROOT / document).read_text())

    assert commands
    for arguments in commands:
        assert main(arguments) == 0, arguments
    assert COMMAND in (home / ".claude.json").read_text()


def test_the_lines_for_http_in_the_documentation_are_those_that_are_printed() -> None:
    endpoint = Endpoint("http://localhost:8888/nbedit/mcp")
    machine = ClientMachine(Path("/home/ada"), Path("/work"), "linux", {})
    printed = [setup.text for setup in list_setups(endpoint, machine) if setup.kind == "command"]

    text = (ROOT / "docs" / "agents.md").read_text()

    assert re.findall(r"^\w+ mcp add .*$", text, re.MULTILINE) == printed


def test_the_table_in_the_documentation_is_that_of_the_clients() -> None:
    text = (ROOT / "docs" / "agents.md").read_text()
    machine = ClientMachine(Path("/home/ada"), Path("/work"), "linux", {})

    rows = re.findall(r"^\| `(\S+)` \| (.+?) \| (.*?) ?\| `(.+?)` \|$", text, re.MULTILINE)

    expected = []
    for client in CLIENTS.values():
        labels = {
            scope: build_setup(client.id, Bridge("x"), machine, scope).file_label
            for scope in client.scopes
        }
        user = f"`{labels['user']}`" if "user" in labels else ""
        expected.append((client.id, client.title, user, labels["project"]))
    assert rows == expected


def test_a_folder_with_a_name_outside_of_the_encoding_of_windows_is_set_up(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home.parent / "Ünï 日本 \udcff"
    folder.mkdir()
    monkeypatch.chdir(folder)
    content = io.BytesIO()
    pipe = io.TextIOWrapper(content, encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", pipe)
    monkeypatch.setattr(sys, "stderr", pipe)

    for client_id, client in CLIENTS.items():
        if "project" not in client.scopes:
            continue
        # Python 3.10 has no parser of TOML, which the second write needs.
        writes = 1 if client_id == "codex" and sys.version_info < (3, 11) else 2
        for options in ((), *[("--write",)] * writes):
            assert main(["setup", client_id, "--project", *options]) == 0
    (folder / ".mcp.json").write_bytes(b"[]")
    assert main(["setup", "claude", "--project", "--write"]) == 1
    pipe.flush()

    assert "Ünï 日本 \\udcff" in content.getvalue().decode("utf-8")
