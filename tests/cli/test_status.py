"""Which server commands use: `status`, a terminal of JupyterLab, TLS; and what shells complete."""

import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tornado.websocket import websocket_connect

from jupyter_nbedit.cli import build_parser, exit_codes, main
from tests.cli.conftest import Shell
from tests.support import samples
from tests.support.http import Client
from tests.support.server_farm import Farm
from tests.support.servers import run_server
from tests.support.waiting import wait_until_async

PROGRAM = Path(sys.executable).parent / "jupyter-nbedit"


def test_status_names_the_server_of_a_folder_and_all_others(
    shell: Shell, live: Client, farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(live.root.resolve())
    printed = shell.succeed("status")
    assert f":{live.port}/ | {root} | jupyter_nbedit " in printed
    assert printed.endswith(f"is served by http://localhost:{live.port}/\n")
    found = json.loads(shell.succeed("status", "a.ipynb", "--json"))
    assert found["server"] == f"http://localhost:{live.port}/"
    assert [(each["root"], each["mode"]) for each in found["servers"]] == [(root, "edit")]
    outside = shell.run("status", "/", "--json")
    assert outside.exit_code == exit_codes.NO_SERVER
    assert json.loads(outside.out)["reason"] == "no_server"

    bare = farm.bare.client
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(farm.runtime))
    result = shell.run("status", str(bare.root))
    assert result.exit_code == exit_codes.NO_SERVER
    assert f"{bare.root.resolve()} | extension_missing: " in result.out
    # A given server is listed even if it has no runtime file here.
    url = f"http://127.0.0.1:{live.port}/"
    token_file = live.root.parent / "token"
    token_file.write_text(live.token)
    given = shell.succeed("status", "a.ipynb", "--url", url, "--token-file", str(token_file))
    assert f"{url} | folder unknown | jupyter_nbedit " in given


async def test_in_a_terminal_of_jupyterlab_commands_find_its_own_server(tmp_path: Path) -> None:
    with run_server(
        tmp_path,
        extensions=["jupyter_server_terminals"],
        environment={"SHELL": "/bin/sh"},
    ) as client:
        (client.root / "a.ipynb").write_bytes(samples.three_cells())
        name = client.request("POST", "api/terminals", b"{}").json["name"]
        socket = await websocket_connect(
            f"ws://127.0.0.1:{client.port}/terminals/websocket/{name}?token={client.token}"
        )
        command = f"cd '{client.root}' && '{PROGRAM}' status --json > ../status.json; echo > ../end"
        await socket.write_message(json.dumps(["stdin", f"{command}\r"]))
        await wait_until_async((tmp_path / "end").exists, "the end of the command")
        socket.close()

    found = json.loads((tmp_path / "status.json").read_text())
    assert found["server"] == f"http://localhost:{client.port}/"
    assert found["problem"] is None


def test_a_user_who_may_only_read_can_read_and_not_edit(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = (
        "from jupyter_server.auth import Authorizer\n"
        "class ReadOnly(Authorizer):\n"
        "    def is_authorized(self, handler, user, action, resource):\n"
        "        return action == 'read'\n"
        "c.ServerApp.authorizer_class = ReadOnly\n"
    )
    with run_server(tmp_path, configuration=configuration) as client:
        (client.root / "a.ipynb").write_bytes(samples.three_cells())
        monkeypatch.chdir(client.root)
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
        assert shell.succeed("read", "a.ipynb").startswith("a.ipynb | 3 cells")
        result = shell.run("edit", "a.ipynb", "--delete", "0")
        assert (client.root / "a.ipynb").read_bytes() == samples.three_cells()
    assert (result.exit_code, result.out) == (exit_codes.REFUSED, "")
    assert result.err.startswith("forbidden: ")


# The process --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("shell")
def test_a_command_imports_neither_jupyter_server_nor_what_takes_long(live: Client) -> None:
    code = (
        "import sys\n"
        "from jupyter_nbedit.cli import main\n"
        "exit_code = main(['read', 'a.ipynb', '--outline'])\n"
        "slow = {'asyncio', 'jsonschema', 'jupyter_server', 'msgspec', 'nbformat', 'tornado',"
        " 'traitlets'}\n"
        "print(exit_code, slow & set(sys.modules))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=live.root
    )
    assert process.stdout.endswith("\n0 set()\n")


@pytest.mark.usefixtures("shell")
def test_a_reader_that_has_read_enough_ends_a_command_silently(live: Client) -> None:
    cells = [samples.code("x" * 1000) for _ in range(500)]
    (live.root / "b.ipynb").write_bytes(samples.notebook(*cells))
    process = subprocess.run(
        [shutil.which("sh") or "sh", "-c", f"'{PROGRAM}' read b.ipynb --json | head -c 10"],
        capture_output=True,
        text=True,
        check=True,
        cwd=live.root,
    )
    assert (process.stdout, process.stderr) == ('{"path":"b', "")


@pytest.mark.usefixtures("shell")
def test_a_terminal_that_knows_few_characters_gets_the_others_as_escapes(live: Client) -> None:
    (live.root / "b.ipynb").write_bytes(samples.notebook(samples.code("é 😀")))

    def read(*options: str) -> str:
        process = subprocess.run(
            [PROGRAM, "read", "b.ipynb", *options],
            capture_output=True,
            text=True,
            check=True,
            cwd=live.root,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        return process.stdout

    assert r"\xe9 \U0001f600" in read()
    printed = read("--json")
    assert printed.isascii()
    assert json.loads(printed)["cells"][0]["source"] == "é 😀"


# Forbids the system call `connect` of x86-64, as the sandboxes of some agents do: a filter of
# seccomp that loads the number of the call, and returns EPERM if it is 42.
SANDBOX = """
import ctypes, struct, sys
filters = struct.pack(
    "HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 42, 0x06, 0, 0, 0x00050001, 0x06, 0, 0, 0x7FFF0000
)
program = ctypes.create_string_buffer(
    struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer := ctypes.create_string_buffer(filters)))
)
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(77)
from jupyter_nbedit.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.usefixtures("shell")
@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="needs seccomp of x86-64"
)
def test_in_a_sandbox_without_network_a_notebook_is_not_edited_beside_its_server(
    live: Client,
) -> None:
    process = subprocess.run(
        [sys.executable, "-c", SANDBOX, "edit", "a.ipynb", "--delete", "0"],
        capture_output=True,
        text=True,
        check=False,
        cwd=live.root,
    )
    if process.returncode == 77:
        pytest.skip("this system forbids seccomp")
    assert (process.returncode, process.stdout) == (exit_codes.NO_SERVER, "")
    assert process.stderr.startswith("connect_forbidden: This process may not connect to ")
    assert (live.root / "a.ipynb").read_bytes() == samples.three_cells()


# Completion ---------------------------------------------------------------------------------------


def complete_in_bash(line: str) -> list[str]:
    """Return what bash completes at the end of a line."""
    words = line.split(" ")
    script = (
        f'eval "$({shlex.quote(str(PROGRAM))} completion bash)";'
        f" COMP_WORDS=({' '.join(map(repr, words))});"
        f" COMP_CWORD={len(words) - 1}; _jupyter_nbedit;"
        " complete -p jupyter jupyter-nbedit > /dev/null && printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    process = subprocess.run(
        [shutil.which("bash") or "bash", "-c", script], capture_output=True, text=True, check=True
    )
    assert process.stderr == ""
    return process.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_shells() -> None:
    assert complete_in_bash("jupyter nbedit re") == ["read", "redo", "restore"]
    assert complete_in_bash("jupyter-nbedit re") == ["read", "redo", "restore"]
    assert complete_in_bash("jupyter-nbedit edit a.ipynb --dr") == ["--dry-run"]
    assert complete_in_bash("jupyter nbedit read --out") == ["--outline", "--outputs"]
    assert complete_in_bash("jupyter nbedit completion ") == ["bash", "zsh", "fish"]
    assert complete_in_bash("jupyter nbedit read a.ip") == []
    assert complete_in_bash("jupyter lab --no") == []


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_has_every_command_and_option(
    shell_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell_name]) == exit_codes.DONE
    script = capsys.readouterr().out
    commands = next(
        action.choices for action in build_parser()._actions if isinstance(action.choices, dict)
    )
    for name, parser in commands.items():
        assert name in script
        for option in parser._option_string_actions:
            if option.startswith("--"):
                assert (f"-l {option[2:]}" if shell_name == "fish" else option) in script
    if shutil.which(shell_name):
        subprocess.run([shell_name, "-n"], input=script, text=True, check=True)
