"""The table of MCP clients: for each the command to type, or the file to write and its path."""

from __future__ import annotations

import base64
import json
import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlencode

#: The environment variable that a client takes the token from; no file ever contains a token.
TOKEN_VARIABLE = "JUPYTER_TOKEN"  # noqa: S105 -- the name of a variable
#: The name of our server in the configuration of every client.
SERVER_NAME = "nbedit"

#: The bridge uses these variables, if they are set, to find servers, tokens and Jupyter's folders.
#: Some clients give a program that they start only the variables that their configuration names.
BRIDGE_VARIABLES = (
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_PLATFORM_DIRS",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTER_SERVER_ROOT",
    "JUPYTER_SERVER_URL",
    "JUPYTER_TOKEN",
    "JUPYTER_TOKEN_FILE",
    "JUPYTERHUB_API_TOKEN",
    "JUPYTERHUB_ROOT_DIR",
    "JUPYTERHUB_SERVICE_URL",
    "JUPYTERHUB_USER",
    "NBEDIT_URL",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
# Gemini CLI does not pass on variables that look like secrets, unless the configuration names them.
_SECRET_VARIABLES = ("JUPYTER_TOKEN", "JUPYTERHUB_API_TOKEN")
#: The path of the endpoint, relative to the address of the server.
ENDPOINT_PATH = "nbedit/mcp"

#: Whether a client uses the server in all folders, or only in the folder of a project.
ConfigScope = Literal["user", "project"]
SetupKind = Literal["command", "file"]
#: ``jsonc`` is JSON in which the client accepts comments and trailing commas.
Syntax = Literal["json", "jsonc", "toml"]
BaseFolder = Literal["home", "config", "application"]


@dataclass(frozen=True)
class UserFolder:
    """The folder in which a client keeps the configuration of a user.

    The environment variable, if it is set, names the folder itself. Else it is ``path`` in the base
    folder: the home folder, the folder of XDG configurations, or the folder in which graphical
    programs keep their settings.
    """

    base: BaseFolder
    path: str = ""
    variable: str | None = None
    base_on_windows: BaseFolder | None = None


@dataclass(frozen=True)
class McpClient:
    """A program that drives a model and can start or call MCP servers.

    ``servers_key`` is the member of its configuration that contains the servers. Without a
    ``user_folder`` it has a configuration only in projects. If no file with one of the names
    exists, the first name is used for a new file. A client that cannot put variables into headers
    gets the bridge with ``--url`` instead of the endpoint, so that no file has the token.
    """

    id: str
    title: str
    user_folder: UserFolder | None
    user_files: Sequence[str]
    project_files: Sequence[str]
    servers_key: str = "mcpServers"
    syntax: Syntax = "json"
    can_expand_headers: bool = True

    @property
    def scopes(self) -> Sequence[ConfigScope]:
        """The scopes for which the client can be set up, the usual one first."""
        return ("project",) if self.user_folder is None else ("user", "project")


_CLIENTS = (
    McpClient(
        id="claude",
        title="Claude Code",
        user_folder=UserFolder("home", variable="CLAUDE_CONFIG_DIR"),
        user_files=[".claude.json"],
        project_files=[".mcp.json"],
    ),
    McpClient(
        id="codex",
        title="Codex CLI",
        servers_key="mcp_servers",
        user_folder=UserFolder("home", ".codex", variable="CODEX_HOME"),
        user_files=["config.toml"],
        project_files=[".codex/config.toml"],
        syntax="toml",
    ),
    McpClient(
        id="gemini",
        title="Gemini CLI",
        user_folder=UserFolder("home", ".gemini"),
        user_files=["settings.json"],
        project_files=[".gemini/settings.json"],
        syntax="jsonc",
    ),
    McpClient(
        id="vscode",
        title="VS Code",
        servers_key="servers",
        user_folder=UserFolder("application", "Code/User"),
        user_files=["mcp.json"],
        project_files=[".vscode/mcp.json"],
        syntax="jsonc",
    ),
    McpClient(
        id="cursor",
        title="Cursor",
        user_folder=UserFolder("home", ".cursor"),
        user_files=["mcp.json"],
        project_files=[".cursor/mcp.json"],
        syntax="jsonc",
    ),
    McpClient(
        id="opencode",
        title="opencode",
        servers_key="mcp",
        user_folder=UserFolder("config", "opencode"),
        user_files=["opencode.json", "opencode.jsonc"],
        project_files=["opencode.json", "opencode.jsonc"],
        syntax="jsonc",
    ),
    McpClient(
        id="zed",
        title="Zed",
        servers_key="context_servers",
        user_folder=UserFolder("config", "zed", base_on_windows="application"),
        user_files=["settings.json"],
        project_files=[".zed/settings.json"],
        can_expand_headers=False,
        syntax="jsonc",
    ),
    McpClient(
        id="copilot",
        title="Copilot CLI",
        user_folder=UserFolder("home", ".copilot", variable="COPILOT_HOME"),
        user_files=["mcp-config.json"],
        project_files=[".mcp.json"],
    ),
    McpClient(
        id="jupyter-ai",
        title="Jupyter AI",
        servers_key="mcp_servers",
        user_folder=None,
        user_files=[],
        project_files=[".jupyter/mcp_settings.json"],
        can_expand_headers=False,
    ),
)
#: All clients by their ids.
CLIENTS: Mapping[str, McpClient] = {client.id: client for client in _CLIENTS}


@dataclass(frozen=True)
class Bridge:
    """The command ``jupyter nbedit mcp``, which a client starts on its own machine.

    It finds the Jupyter server of a notebook itself, so it needs no address and no token.
    """

    command: str
    arguments: Sequence[str] = ("mcp",)


@dataclass(frozen=True)
class Endpoint:
    """The MCP endpoint of one Jupyter server, for clients on other machines.

    ``url`` ends in ``nbedit/mcp``. ``bridge`` is what starts the bridge on the machine of the
    client, for clients that cannot take a token from an environment variable.
    """

    url: str
    token_variable: str = TOKEN_VARIABLE
    bridge: str = "jupyter-nbedit"


@dataclass(frozen=True)
class ClientMachine:
    """What is known of the machine of a client: folders, and ``platform`` as in `sys.platform`."""

    home: Path
    project: Path
    platform: str
    environment: Mapping[str, str]

    @classmethod
    def from_system(cls, project: Path) -> ClientMachine:
        """Return this machine, for this user."""
        return cls(Path.home(), project, sys.platform, os.environ)


@dataclass(frozen=True)
class ConfigEntry:
    """A value that a configuration file must contain.

    ``keys`` are the keys from the root of the file to an object or a list. In an object, the key of
    the value is ``name``. In a list, the value is an object whose member ``name_key`` is ``name``.
    """

    keys: Sequence[str]
    name: str
    value: Mapping[str, Any]
    name_key: str | None = None


@dataclass(frozen=True)
class ClientSetup:
    """How a client is set up.

    ``text`` is a command for a shell, or the content of a new file. The first file of ``file`` and
    ``other_files`` that exists is changed; if none of them exists, ``file`` is created.
    ``file_label`` is ``file`` as people write it, such as ``~/.cursor/mcp.json``. ``note`` says
    what else a person must know; it is empty if there is nothing else. ``link`` sets up the client
    when a browser opens the link; it is empty if the client has no such links.
    """

    client: McpClient
    scope: ConfigScope
    kind: SetupKind
    text: str
    file: Path
    file_label: str
    entries: Sequence[ConfigEntry]
    note: str = ""
    link: str = ""
    other_files: Sequence[Path] = ()


class CommandMissing(Exception):
    """The Python environment has no command ``jupyter-nbedit``."""


def find_bridge() -> Bridge:
    """Return the bridge of this Python environment, by the absolute path of its command.

    An absolute path also works in a program with another PATH or another active environment. Raise
    `CommandMissing` if there is no command, because the package was not installed.
    """
    name = "jupyter-nbedit.exe" if os.name == "nt" else "jupyter-nbedit"
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")),
    ]
    for folder in folders:
        if (command := Path(folder, name)).is_file():
            return Bridge(str(command))
    raise CommandMissing(
        f"The command {name} is in none of the folders {folders}. Install jupyter_nbedit with pip "
        f"into the environment of {sys.executable}."
    )


def build_setup(
    client_id: str,
    server: Bridge | Endpoint,
    machine: ClientMachine,
    scope: ConfigScope | None = None,
) -> ClientSetup:
    """Return how to set up a client, by default in its usual scope.

    Raise `KeyError` if there is no such client, `ValueError` if it has no such scope, or would
    start the bridge with another variable than `TOKEN_VARIABLE`.
    """
    client = CLIENTS[client_id]
    scope = scope or client.scopes[0]
    if scope not in client.scopes:
        raise ValueError(f"{client.title} has no configuration of the scope {scope!r}.")
    if isinstance(server, Endpoint) and not client.can_expand_headers:
        server = _build_remote_bridge(client, server)
    # In a project, Copilot CLI and Claude Code read the same file.
    is_shared = client.id == "copilot" and scope == "project"
    entries = _build_entries(CLIENTS["claude"] if is_shared else client, server)
    files = _locate_files(client, machine, scope)
    command = _build_command(client, server, machine, scope)
    return ClientSetup(
        client=client,
        scope=scope,
        kind="file" if command is None else "command",
        text=render_entries(entries, client.syntax) if command is None else command,
        file=files[0],
        file_label=_shorten_path(files[0], machine),
        entries=entries,
        note=_NOTES.get((client.id, scope), ""),
        link=_build_cursor_link(entries[0]) if client.id == "cursor" else "",
        other_files=files[1:],
    )


def list_setups(server: Bridge | Endpoint, machine: ClientMachine) -> list[ClientSetup]:
    """Return how to set up each client in its usual scope."""
    return [build_setup(client_id, server, machine) for client_id in CLIENTS]


# What the configuration contains ------------------------------------------------------------------

_INPUT_ID = "jupyter-token"
_NOTES: Mapping[tuple[str, str], str] = {
    ("claude", "project"): "Claude Code asks before it uses a server of a project's .mcp.json.",
    ("codex", "project"): "Codex reads this file only in projects that you have trusted.",
    ("copilot", "project"): "Copilot CLI reads this file only in folders that you have trusted.",
    ("gemini", "user"): "Gemini CLI starts MCP servers only in folders that you have trusted.",
    ("gemini", "project"): "Gemini CLI starts MCP servers only in folders that you have trusted.",
    ("jupyter-ai", "project"): (
        "Jupyter AI reads the nearest folder .jupyter above the chat, up to the root of the server."
    ),
}


def _build_remote_bridge(client: McpClient, endpoint: Endpoint) -> Bridge:
    """Return the bridge to the server of an endpoint; it takes the token from the environment."""
    if endpoint.token_variable != TOKEN_VARIABLE:
        message = f"{client.title} starts the bridge, which takes the token from {TOKEN_VARIABLE}."
        raise ValueError(message)
    return Bridge(endpoint.bridge, ("mcp", "--url", endpoint.url.removesuffix(ENDPOINT_PATH)))


def _build_entries(client: McpClient, server: Bridge | Endpoint) -> list[ConfigEntry]:
    if client.id == "jupyter-ai":
        value = _build_value(client, server)
        return [ConfigEntry([client.servers_key], SERVER_NAME, value, name_key="name")]
    entries = [ConfigEntry([client.servers_key], SERVER_NAME, _build_value(client, server))]
    if client.id == "vscode" and isinstance(server, Endpoint):
        # VS Code asks once, and keeps the answer in the key store of the system.
        question = {
            "type": "promptString",
            "id": _INPUT_ID,
            "description": "Token of the Jupyter server",
            "password": True,
        }
        entries.append(ConfigEntry(["inputs"], _INPUT_ID, question, name_key="id"))
    return entries


def _build_value(client: McpClient, server: Bridge | Endpoint) -> dict[str, Any]:
    if isinstance(server, Bridge):
        return _build_bridge_value(client, server)
    return _build_endpoint_value(client, server)


def _build_bridge_value(client: McpClient, server: Bridge) -> dict[str, Any]:
    value: dict[str, Any] = {"command": server.command, "args": list(server.arguments)}
    match client.id:
        case "codex":
            value["env_vars"] = list(BRIDGE_VARIABLES)
        case "gemini":
            value["env"] = {name: f"${name}" for name in _SECRET_VARIABLES}
        case "vscode":
            value = {"type": "stdio", **value}
        case "copilot":
            value = {"type": "local", **value, "tools": ["*"]}
        case "opencode":
            command = [server.command, *server.arguments]
            value = {"type": "local", "command": command, "enabled": True}
        case "jupyter-ai":
            value = {"name": SERVER_NAME, **value, "env": []}
    return value


def _build_endpoint_value(client: McpClient, server: Endpoint) -> dict[str, Any]:
    url, variable = server.url, server.token_variable
    tokens = {
        "cursor": f"${{env:{variable}}}",
        "opencode": f"{{env:{variable}}}",
        "vscode": f"${{input:{_INPUT_ID}}}",
    }
    token = tokens.get(client.id, f"${{{variable}}}")
    headers = {"Authorization": f"Bearer {token}"}
    value: dict[str, Any] = {"type": "http", "url": url, "headers": headers}
    match client.id:
        case "codex":
            value = {"url": url, "bearer_token_env_var": variable}
        case "gemini":
            value = {"url": url, "type": "http", "headers": headers}
        case "cursor":
            value = {"url": url, "headers": headers}
        case "opencode":
            # Without `oauth`, opencode tries OAuth when the server refuses the token.
            value = {**value, "type": "remote", "enabled": True, "oauth": False}
        case "copilot":
            value["tools"] = ["*"]
    return value


def render_entries(entries: Sequence[ConfigEntry], syntax: Syntax) -> str:
    """Return a file that has only these entries."""
    if syntax == "toml":
        return "\n".join(render_toml_table(entry) for entry in entries)
    content: dict[str, Any] = {}
    for entry in entries:
        holder = content
        for key in entry.keys[:-1]:
            holder = holder.setdefault(key, {})
        if entry.name_key is None:
            holder.setdefault(entry.keys[-1], {})[entry.name] = entry.value
        else:
            holder.setdefault(entry.keys[-1], []).append(entry.value)
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def render_toml_table(entry: ConfigEntry) -> str:
    """Return an entry as a table of TOML; its values are strings and lists of strings."""
    lines = [f"[{'.'.join([*entry.keys, entry.name])}]"]
    # A JSON string is also a TOML string, unless it has escapes of surrogates.
    lines += [
        f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.value.items()
    ]
    return "\n".join(lines) + "\n"


# Commands -----------------------------------------------------------------------------------------


def _build_command(
    client: McpClient, server: Bridge | Endpoint, machine: ClientMachine, scope: ConfigScope
) -> str | None:
    """Return the command line that sets up a client; None if no command does the whole setup.

    On Windows, no command line has quotes or names of variables: the shells there differ in them.
    """
    words: list[str] | None = None
    if isinstance(server, Bridge):
        local = [server.command, *server.arguments]
        match client.id, scope:
            case "claude", _:
                words = ["claude", "mcp", "add", "-s", scope, SERVER_NAME, "--", *local]
            case "gemini", _ if machine.platform != "win32":
                words = ["gemini", "mcp", "add", "-s", scope, SERVER_NAME, *local]
                words += [word for name in _SECRET_VARIABLES for word in ("-e", f"{name}=${name}")]
            case "copilot", "user":
                words = ["copilot", "mcp", "add", SERVER_NAME, "--", *local]
            case "vscode", "user" if machine.platform != "win32":
                value = {"name": SERVER_NAME, **_build_value(client, server)}
                words = ["code", "--add-mcp", json.dumps(value, ensure_ascii=False)]
    elif machine.platform != "win32" or client.id == "codex":
        words = _build_endpoint_words(client, server, scope)
    if words is None:
        return None
    return subprocess.list2cmdline(words) if machine.platform == "win32" else shlex.join(words)


def _build_endpoint_words(
    client: McpClient, server: Endpoint, scope: ConfigScope
) -> list[str] | None:
    header = ["--header", f"Authorization: Bearer ${{{server.token_variable}}}"]
    add = [client.id, "mcp", "add"]
    match client.id, scope:
        case (("claude" | "gemini"), _):
            return [*add, "-s", scope, "--transport", "http", SERVER_NAME, server.url, *header]
        case "copilot", "user":
            return [*add, "--transport", "http", SERVER_NAME, server.url, *header]
        case "codex", "user":
            variable = ["--bearer-token-env-var", server.token_variable]
            return [*add, SERVER_NAME, "--url", server.url, *variable]
        case _:
            return None


def _build_cursor_link(entry: ConfigEntry) -> str:
    config = base64.b64encode(json.dumps(entry.value).encode()).decode()
    query = urlencode({"name": entry.name, "config": config}, quote_via=quote)
    return f"cursor://anysphere.cursor-deeplink/mcp/install?{query}"


# Files --------------------------------------------------------------------------------------------


def _locate_files(client: McpClient, machine: ClientMachine, scope: ConfigScope) -> list[Path]:
    """Return the files that a client reads; the first is created if none of them exists."""
    if scope == "project" or client.user_folder is None:
        return [machine.project / name for name in client.project_files]
    folder = _locate_folder(client.user_folder, machine)
    return [folder / name for name in client.user_files]


def _locate_folder(folder: UserFolder, machine: ClientMachine) -> Path:
    if folder.variable and (named := machine.environment.get(folder.variable)):
        return Path(named)
    is_windows = machine.platform == "win32"
    match folder.base_on_windows if is_windows and folder.base_on_windows else folder.base:
        case "home":
            base = machine.home
        case "application" if is_windows:
            base = Path(machine.environment.get("APPDATA") or machine.home / "AppData" / "Roaming")
        case "application" if machine.platform == "darwin":
            base = machine.home / "Library" / "Application Support"
        case _:
            base = Path(machine.environment.get("XDG_CONFIG_HOME") or machine.home / ".config")
    return base / folder.path


def _shorten_path(path: Path, machine: ClientMachine) -> str:
    if path.is_relative_to(machine.project):
        return path.relative_to(machine.project).as_posix()
    if path.is_relative_to(machine.home):
        return f"~/{path.relative_to(machine.home).as_posix()}"
    return str(path)
