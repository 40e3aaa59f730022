"""The route of the page "Connect an Agent": how clients are set up, and what agents did last."""

import shlex
import subprocess
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.agents.setup.clients import (
    TOKEN_VARIABLE,
    Bridge,
    ClientMachine,
    ClientSetup,
    CommandMissing,
    Endpoint,
    SetupKind,
    find_bridge,
    list_setups,
)
from jupyter_nbedit.errors import HistoryUnavailable
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.spec import OperationSpec, Reply, Route
from jupyter_nbedit.services.history.models import HistoryEdit

_COMMAND = "jupyter-nbedit"


class AgentsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET of the agents."""

    url: (
        Annotated[
            str,
            Meta(
                # Python's `$` also matches before a final line feed.
                pattern=r"^https?://[!-~]+$(?!\n)",
                max_length=2000,
                description="The URL of the MCP endpoint as agents reach it, for `remote`. Without "
                "it, the server takes the URL of this request, which may be another one behind a "
                "proxy.",
            ),
        ]
        | UnsetType
    ) = UNSET


class SetupStep(msgspec.Struct, frozen=True, kw_only=True):
    """What a person does to set up a client."""

    kind: Annotated[
        SetupKind,
        Meta(description="Whether `text` is a command for a terminal or the content of a file."),
    ]
    text: Annotated[
        str,
        Meta(
            description="It never contains a token, at most the name of the environment variable "
            "that has it."
        ),
    ]
    file: Annotated[
        str,
        Meta(
            description="The file that has the configuration, also if a command writes it; "
            "relative to the root of the server, or with `~` for the home folder."
        ),
    ]
    write_command: Annotated[
        str | None,
        Meta(
            description="A command that adds the content to the file; null if `text` is a command "
            "itself, or if the file is on another machine."
        ),
    ]
    starts_bridge: Annotated[
        bool,
        Meta(
            description="Whether the client starts the command `jupyter-nbedit`, which must be "
            "installed on the machine of the client."
        ),
    ]
    note: Annotated[str, Meta(description="What else to know; empty if nothing.")]
    link: Annotated[
        str, Meta(description="Opened in a browser, it sets up the client; empty if there is none.")
    ]


class ClientReply(msgspec.Struct, frozen=True, kw_only=True):
    """A program that drives a model, and how it is set up."""

    id: str
    title: str
    local: Annotated[SetupStep, Meta(description="For a client on the machine of the server.")]
    remote: Annotated[SetupStep, Meta(description="For a client on another machine.")]


class AgentsReply(msgspec.Struct, frozen=True, kw_only=True):
    """How agents are connected, and what they did last."""

    clients: list[ClientReply]
    bridge: Annotated[
        str | None,
        Meta(
            description="The absolute path of the command that a local client starts; null if the "
            "environment of the server does not have it."
        ),
    ]
    token_variable: Annotated[
        str, Meta(description="The environment variable from which remote clients take the token.")
    ]
    last_edits: Annotated[
        list[HistoryEdit] | None,
        Meta(
            description="The newest edit of each agent, the newest first: of at most 20 agents, "
            "from the newest 1000 edits of all notebooks. Without JupyterLab itself and without "
            "programs that write files. Null if the history cannot be read."
        ),
    ]


class AgentsHandler(NbEditHandler):
    """``/nbedit/agents``."""

    @OperationSpec(
        "How agents are connected",
        query=AgentsQuery,
        replies={HTTPStatus.OK: Reply(AgentsReply, "The set-up of each client, and last edits.")},
    )
    async def get(self, query: AgentsQuery) -> None:
        """List known clients with their set-up, and the last edit of each agent."""
        url = self._build_endpoint_url() if query.url is UNSET else query.url
        try:
            bridge = find_bridge()
        except CommandMissing:
            bridge = None
        try:
            last_edits = await self.services.history.list_last_edits_by_agent()
        except HistoryUnavailable:
            last_edits = None
        self.send_reply(
            AgentsReply(
                clients=_list_clients(url, bridge, self.settings["server_root_dir"]),
                bridge=None if bridge is None else bridge.command,
                token_variable=TOKEN_VARIABLE,
                last_edits=last_edits,
            )
        )

    def _build_endpoint_url(self) -> str:
        request = self.request
        return f"{request.protocol}://{request.host}{self.base_url}nbedit/mcp"


def _list_clients(url: str, bridge: Bridge | None, root: str) -> list[ClientReply]:
    """List all clients; ``root`` is the root of the server, where `~` is the home folder."""
    machine = ClientMachine.from_system(Path(root).expanduser())
    local_setups = list_setups(bridge or Bridge(_COMMAND), machine)
    remote_setups = list_setups(Endpoint(url), machine)
    return [
        ClientReply(
            id=local.client.id,
            title=local.client.title,
            local=_build_step(local, _build_write_command(local, bridge), starts_bridge=True),
            remote=_build_step(remote, None, starts_bridge=not remote.client.can_expand_headers),
        )
        for local, remote in zip(local_setups, remote_setups, strict=True)
    ]


def _build_step(setup: ClientSetup, write_command: str | None, *, starts_bridge: bool) -> SetupStep:
    return SetupStep(
        kind=setup.kind,
        text=setup.text,
        file=setup.file_label,
        write_command=write_command,
        starts_bridge=starts_bridge,
        note=setup.note,
        link=setup.link,
    )


def _build_write_command(setup: ClientSetup, bridge: Bridge | None) -> str | None:
    if setup.kind == "command":
        return None
    words = [_COMMAND if bridge is None else bridge.command, "setup", setup.client.id, "--write"]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


routes: list[Route] = [(r"/nbedit/agents", AgentsHandler)]
