"""What the table says of each client: the entry, the file, the words that a shell makes of it."""

import base64
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

import json5
import pytest

from jupyter_nbedit.agents.setup.clients import (
    BRIDGE_VARIABLES,
    CLIENTS,
    Bridge,
    ClientMachine,
    ClientSetup,
    Endpoint,
    build_setup,
    find_bridge,
    list_setups,
)
from jupyter_nbedit.client import find_server
from jupyter_nbedit.client.errors import ClientError

HOME, PROJECT = Path("/home/ada"), Path("/work/rain")
MACHINE = ClientMachine(HOME, PROJECT, "linux", {})
# Whatever may be in the name of a folder.
COMMAND = '/opt/my env\'s/$HOME "x" ü/bin/jupyter-nbedit'
BRIDGE = Bridge(COMMAND)
URL = "https://hub.example/user/ada/nbedit/mcp"
ENDPOINT = Endpoint(URL)
STDIO = {"command": COMMAND, "args": ["mcp"]}
TOKEN = "Bearer ${JUPYTER_TOKEN}"  # noqa: S105 -- the name of a variable
BRIDGE_WITH_URL = {
    "command": "jupyter-nbedit",
    "args": ["mcp", "--url", "https://hub.example/user/ada/"],
}

LOCAL: Mapping[str, Any] = {
    "claude": {"mcpServers": {"nbedit": STDIO}},
    "codex": {"mcp_servers": {"nbedit": {**STDIO, "env_vars": list(BRIDGE_VARIABLES)}}},
    "gemini": {
        "mcpServers": {
            "nbedit": {
                **STDIO,
                "env": {
                    "JUPYTER_TOKEN": "$JUPYTER_TOKEN",
                    "JUPYTERHUB_API_TOKEN": "$JUPYTERHUB_API_TOKEN",
                },
            }
        }
    },
    "vscode": {"servers": {"nbedit": {"type": "stdio", **STDIO}}},
    "cursor": {"mcpServers": {"nbedit": STDIO}},
    "opencode": {
        "mcp": {"nbedit": {"type": "local", "command": [COMMAND, "mcp"], "enabled": True}}
    },
    "zed": {"context_servers": {"nbedit": STDIO}},
    "copilot": {"mcpServers": {"nbedit": {"type": "local", **STDIO, "tools": ["*"]}}},
    "jupyter-ai": {"mcp_servers": [{"name": "nbedit", **STDIO, "env": []}]},
}
REMOTE: Mapping[str, Any] = {
    "claude": {
        "mcpServers": {"nbedit": {"type": "http", "url": URL, "headers": {"Authorization": TOKEN}}}
    },
    "codex": {"mcp_servers": {"nbedit": {"url": URL, "bearer_token_env_var": "JUPYTER_TOKEN"}}},
    "gemini": {
        "mcpServers": {"nbedit": {"type": "http", "url": URL, "headers": {"Authorization": TOKEN}}}
    },
    "vscode": {
        "servers": {
            "nbedit": {
                "type": "http",
                "url": URL,
                "headers": {"Authorization": "Bearer ${input:jupyter-token}"},
            }
        },
        "inputs": [
            {
                "type": "promptString",
                "id": "jupyter-token",
                "description": "Token of the Jupyter server",
                "password": True,
            }
        ],
    },
    "cursor": {
        "mcpServers": {
            "nbedit": {"url": URL, "headers": {"Authorization": "Bearer ${env:JUPYTER_TOKEN}"}}
        }
    },
    "opencode": {
        "mcp": {
            "nbedit": {
                "type": "remote",
                "url": URL,
                "headers": {"Authorization": "Bearer {env:JUPYTER_TOKEN}"},
                "enabled": True,
                "oauth": False,
            }
        }
    },
    "zed": {"context_servers": {"nbedit": BRIDGE_WITH_URL}},
    "copilot": {
        "mcpServers": {
            "nbedit": {
                "type": "http",
                "url": URL,
                "headers": {"Authorization": TOKEN},
                "tools": ["*"],
            }
        }
    },
    "jupyter-ai": {"mcp_servers": [{"name": "nbedit", **BRIDGE_WITH_URL, "env": []}]},
}
COMMANDS: Mapping[tuple[str, str], list[str]] = {
    ("claude", "local"): ["claude", "mcp", "add", "-s", "user", "nbedit", "--", COMMAND, "mcp"],
    ("gemini", "local"): [
        *("gemini", "mcp", "add", "-s", "user", "nbedit", COMMAND, "mcp"),
        *("-e", "JUPYTER_TOKEN=$JUPYTER_TOKEN"),
        *("-e", "JUPYTERHUB_API_TOKEN=$JUPYTERHUB_API_TOKEN"),
    ],
    ("copilot", "local"): ["copilot", "mcp", "add", "nbedit", "--", COMMAND, "mcp"],
    ("copilot", "remote"): [
        *("copilot", "mcp", "add", "--transport", "http", "nbedit", URL),
        *("--header", f"Authorization: {TOKEN}"),
    ],
    ("claude", "remote"): [
        *("claude", "mcp", "add", "-s", "user", "--transport", "http", "nbedit", URL),
        *("--header", f"Authorization: {TOKEN}"),
    ],
    ("codex", "remote"): [
        *("codex", "mcp", "add", "nbedit", "--url", URL),
        *("--bearer-token-env-var", "JUPYTER_TOKEN"),
    ],
    ("gemini", "remote"): [
        *("gemini", "mcp", "add", "-s", "user", "--transport", "http", "nbedit", URL),
        *("--header", f"Authorization: {TOKEN}"),
    ],
}


def parse(text: str, client_id: str) -> Any:
    """Parse a configuration as its client does."""
    syntax = CLIENTS[client_id].syntax
    if syntax == "toml":
        return pytest.importorskip("tomllib").loads(text)
    return json5.loads(text) if syntax == "jsonc" else json.loads(text)


def split_in_shell(command: str, folder: Path) -> list[str]:
    """Return the words that a program gets if a command is typed into a shell."""
    program = folder / command.split(maxsplit=1)[0]
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "$CODE" "$0" "$@"\n')
    program.chmod(0o755)
    code = "import json, os, sys; print(json.dumps([os.path.basename(sys.argv[1]), *sys.argv[2:]]))"
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "CODE": code, "LC_ALL": "C.UTF-8"}
    words = subprocess.check_output(["/bin/sh", "-c", command], env=environment)
    found: list[str] = json.loads(words)
    return found


@pytest.mark.parametrize("client_id", CLIENTS)
@pytest.mark.parametrize("kind", ["local", "remote"])
def test_each_client_gets_what_it_expects(client_id: str, kind: str, tmp_path: Path) -> None:
    server: Bridge | Endpoint = BRIDGE if kind == "local" else ENDPOINT
    expected = (LOCAL if kind == "local" else REMOTE)[client_id]

    # In a project, Copilot CLI reads the file of Claude Code.
    expected_in_project = REMOTE["claude"] if kind == "remote" else LOCAL["claude"]
    if client_id != "copilot":
        expected_in_project = expected
    in_project = build_setup(client_id, server, MACHINE, "project")
    usual = build_setup(client_id, server, MACHINE)

    if in_project.kind == "file":
        assert parse(in_project.text, client_id) == expected_in_project
    else:
        # The words of the usual one but for the scope.
        words = [word.replace("user", "project") for word in COMMANDS[client_id, kind][:9]]
        assert split_in_shell(in_project.text, tmp_path)[:6] == words[:6]
    if (client_id, kind) in COMMANDS:
        assert split_in_shell(usual.text, tmp_path) == COMMANDS[client_id, kind]
    elif (client_id, kind) == ("vscode", "local"):
        *words, entry = split_in_shell(usual.text, tmp_path)
        assert words == ["code", "--add-mcp"]
        assert json.loads(entry) == {"name": "nbedit", **expected["servers"]["nbedit"]}
    else:
        assert usual.kind == "file"
        assert parse(usual.text, client_id) == expected


def test_the_link_for_cursor_has_the_entry() -> None:
    link = urlsplit(build_setup("cursor", BRIDGE, MACHINE).link)

    query = parse_qs(link.query, strict_parsing=True)
    assert (link.scheme, link.netloc, link.path) == (
        *("cursor", "anysphere.cursor-deeplink", "/mcp/install"),
    )
    assert query["name"] == ["nbedit"]
    assert json.loads(base64.b64decode(query["config"][0], validate=True)) == STDIO


USER_FILES: Mapping[str, Mapping[str, str]] = {
    "linux": {
        "claude": "/home/ada/.claude.json",
        "codex": "/home/ada/.codex/config.toml",
        "gemini": "/home/ada/.gemini/settings.json",
        "vscode": "/home/ada/.config/Code/User/mcp.json",
        "cursor": "/home/ada/.cursor/mcp.json",
        "opencode": "/home/ada/.config/opencode/opencode.json",
        "zed": "/home/ada/.config/zed/settings.json",
        "copilot": "/home/ada/.copilot/mcp-config.json",
        "jupyter-ai": "/work/rain/.jupyter/mcp_settings.json",
    },
    "darwin": {
        "vscode": "/home/ada/Library/Application Support/Code/User/mcp.json",
        "opencode": "/home/ada/.config/opencode/opencode.json",
        "zed": "/home/ada/.config/zed/settings.json",
    },
    "win32": {
        "vscode": "/home/ada/AppData/Roaming/Code/User/mcp.json",
        "opencode": "/home/ada/.config/opencode/opencode.json",
        "zed": "/home/ada/AppData/Roaming/zed/settings.json",
    },
}
PROJECT_FILES = {
    "claude": ".mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "vscode": ".vscode/mcp.json",
    "cursor": ".cursor/mcp.json",
    "opencode": "opencode.json",
    "zed": ".zed/settings.json",
    "copilot": ".mcp.json",
    "jupyter-ai": ".jupyter/mcp_settings.json",
}


def test_the_file_is_where_the_client_looks_for_it() -> None:
    for platform, files in USER_FILES.items():
        setups = list_setups(BRIDGE, ClientMachine(HOME, PROJECT, platform, {}))
        found = {str(setup.client.id): setup.file.as_posix() for setup in setups}
        assert list(found) == list(CLIENTS)
        assert {client_id: found[client_id] for client_id in files} == files
    moved = {
        "CLAUDE_CONFIG_DIR": "/c1",
        "CODEX_HOME": "/c2",
        "COPILOT_HOME": "/c3",
        "XDG_CONFIG_HOME": "/c4",
        "APPDATA": "/c5",
    }
    setups = list_setups(BRIDGE, ClientMachine(HOME, PROJECT, "linux", moved))
    labels = {setup.client.id: setup.file_label for setup in setups}
    assert labels == {
        "claude": "/c1/.claude.json",
        "codex": "/c2/config.toml",
        "gemini": "~/.gemini/settings.json",
        "vscode": "/c4/Code/User/mcp.json",
        "cursor": "~/.cursor/mcp.json",
        "opencode": "/c4/opencode/opencode.json",
        "zed": "/c4/zed/settings.json",
        "copilot": "/c3/mcp-config.json",
        "jupyter-ai": ".jupyter/mcp_settings.json",
    }
    windows = build_setup("zed", BRIDGE, ClientMachine(HOME, PROJECT, "win32", moved))
    assert windows.file == Path("/c5/zed/settings.json")
    for client_id, name in PROJECT_FILES.items():
        setup = build_setup(client_id, BRIDGE, MACHINE, "project")
        assert (setup.file_label, setup.file) == (name, PROJECT / PurePosixPath(name))


def test_on_windows_a_command_is_printed_only_if_each_shell_reads_it_the_same_way() -> None:
    windows = ClientMachine(HOME, PROJECT, "win32", {})
    bridge = Bridge(r"C:\Program Files\env\Scripts\jupyter-nbedit.exe")
    setups = [*list_setups(bridge, windows), *list_setups(ENDPOINT, windows)]

    commands = [setup.text for setup in setups if setup.kind == "command"]

    path = r'"C:\Program Files\env\Scripts\jupyter-nbedit.exe"'
    assert commands == [
        f"claude mcp add -s user nbedit -- {path} mcp",
        f"copilot mcp add nbedit -- {path} mcp",
        f"codex mcp add nbedit --url {URL} --bearer-token-env-var JUPYTER_TOKEN",
    ]


def test_the_bridge_is_the_command_of_this_environment() -> None:
    bridge = find_bridge()

    answer = subprocess.check_output([bridge.command, "--version"], text=True)
    assert Path(bridge.command).is_absolute()
    assert Path(bridge.command).parent == Path(sys.executable).parent
    assert answer.strip()


def test_what_every_client_starts_answers_it() -> None:
    bridge = find_bridge()
    commands = set()
    for client_id in CLIENTS:
        (entry,) = build_setup(client_id, bridge, MACHINE).entries
        command = entry.value["command"]
        words = command if isinstance(command, list) else [command, *entry.value["args"]]
        commands.add(tuple(words))

    (command,) = commands
    parameters = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}
    answer = subprocess.check_output(command, input=f"{json.dumps(request)}\n", text=True)
    result = json.loads(answer)["result"]
    assert result["protocolVersion"] == "2025-06-18"
    assert "tools" in result["capabilities"]


class RecordingEnvironment(dict[str, str]):
    """Environment variables that remembers which were asked for."""

    def __init__(self, **variables: str) -> None:
        super().__init__(variables)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


def test_the_variables_that_the_bridge_needs_are_passed_on_to_it(tmp_path: Path) -> None:
    address = "http://localhost:1/"
    environment = RecordingEnvironment(
        JUPYTERHUB_USER="ada", JUPYTERHUB_SERVICE_URL=address, JUPYTER_SERVER_URL=address
    )

    for url in (None, address):
        with suppress(ClientError):
            find_server(str(tmp_path), url=url, environ=environment)

    assert {"JUPYTERHUB_API_TOKEN", "JUPYTER_TOKEN", "NBEDIT_URL"} <= environment.asked
    assert environment.asked <= set(BRIDGE_VARIABLES)


def test_a_client_that_starts_the_bridge_takes_the_token_from_one_variable_only() -> None:
    other = Endpoint(URL, "OTHER_TOKEN")

    assert "${OTHER_TOKEN}" in build_setup("copilot", other, MACHINE).text
    with pytest.raises(ValueError, match="takes the token from JUPYTER_TOKEN"):
        build_setup("zed", other, MACHINE)


def test_no_setup_of_an_endpoint_has_a_place_for_a_token() -> None:
    for setup in list_setups(ENDPOINT, MACHINE):
        assert_names_variable_only(setup)


def assert_names_variable_only(setup: ClientSetup) -> None:
    text = setup.text
    for reference in ("${JUPYTER_TOKEN}", "${env:JUPYTER_TOKEN}", "{env:JUPYTER_TOKEN}"):
        text = text.replace(f"Bearer {reference}", "")
    text = text.replace("Bearer ${input:jupyter-token}", "")
    assert "Bearer" not in text
