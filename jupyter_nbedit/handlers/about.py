"""The routes that describe the server, and the reply for unknown addresses."""

import asyncio
from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import Meta
from tornado import web

from jupyter_nbedit._version import __version__
from jupyter_nbedit.agents.tools import TOOLS
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.openapi import build_document
from jupyter_nbedit.handlers.spec import OperationSpec, Reply, Route
from jupyter_nbedit.notebook.apply_batch import MAX_ADDED_LINES
from jupyter_nbedit.notebook.json_values import MAX_CREATED_JSON_VALUES, MAX_JSON_VALUES
from jupyter_nbedit.services.modes import Mode
from jupyter_nbedit.services.requests import MAX_OPERATIONS
from jupyter_nbedit.services.search.models import MAX_HITS
from jupyter_nbedit.storage.base import Guard
from jupyter_nbedit.storage.files.rename_exchange import list_guards

# For an agent that has nothing but an HTTP client.
_MANUAL = """\
jupyter_nbedit {version}: read and edit Jupyter notebooks cell by cell, also while they are open \
in JupyterLab. It runs no code. Do not edit .ipynb files in another way.
Send `Accept: text/plain` for text like this, and the server's token as `Authorization: token ...`.
Bodies are JSON, with its Content-Type. Paths are relative to the server's root. Base: {base}

GET  notebooks/PATH?cell=3:9f2c1a&section=Results&view=outline|source&outputs=text&since=REV
POST search  {{"query": "text" or "regex": "...", "path": "folder or notebook"}}
PATCH notebooks/PATH  {{"operations": [...], "client": "your name", "message": "why"}}
PUT  notebooks/PATH  {{"cells": [{{"cell_type": "code", "source": "..."}}]}} creates one
POST notebooks/PATH/undo  {{"client": "your name"}} (your newest edit) or {{"edit_id": 12}}
GET  notebooks/PATH/history

Operations ("op"): replace_text (cell, old, new), replace (cell, source), insert (after|before|at: \
"start"|"end", cell_type, source), delete (cell), move (cell, after|before|at), split (cell, \
at_line), merge (cells), clear_outputs (cell or all: true), set_metadata (cell, patch).
All are made, or none. Changed code cells lose their outputs.

3:9f2c1a is cell 3 and what it says: use the names of the text. If the cell has changed, the edit \
is refused with the cell as it is now; of identical cells "rev" chooses. Replies have the new \
names: do not read again.
A 202 is a proposal: a person decides. plan_mode: stop and tell the user.
More: openapi.json, tools
"""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of requests."""

    max_request_bytes: Annotated[int, Meta(description="The largest body, in bytes.")]
    max_json_values: Annotated[
        int,
        Meta(
            description="The most JSON values of a body; lists that a tool takes as strings count "
            "as well."
        ),
    ]
    max_created_json_values: Annotated[
        int, Meta(description="The most JSON values of a `PUT` that creates a notebook.")
    ]
    max_added_lines: Annotated[
        int, Meta(description="The most lines that a request can add to sources.")
    ]
    max_operations: Annotated[int, Meta(description="The most operations of one batch.")]
    max_hits: Annotated[int, Meta(description="The most hits of one reply to a search.")]


class AboutReply(msgspec.Struct, frozen=True, kw_only=True):
    """What this server is and can do."""

    name: str
    version: str
    mode: Annotated[
        Mode,
        Meta(
            description="In `review` mode a change becomes a proposal, in `plan` mode it is an "
            "error unless it is a dry run. A notebook may have a mode of its own: `links.mode`."
        ),
    ]
    epoch: Annotated[
        str, Meta(description="The id of this run of the server; its events count from 1.")
    ]
    limits: Limits
    storage: Annotated[
        list[str],
        Meta(
            description="The storage kinds that this server uses now, of `file`, `contents`, "
            "`notebook` and `room`; `applied_via` of a reply names the one of the notebook."
        ),
    ]
    guards: Annotated[
        list[Guard],
        Meta(
            description="How this system can prevent an edit of a file from overwriting what "
            "another program writes at the same moment, the best first. `guard` of a reply names "
            "what the file and its file system allowed."
        ),
    ]
    tools: Annotated[
        list[str],
        Meta(description="The tools for agents, as `toolset/name`; `links.tools` has them."),
    ]
    links: Annotated[dict[str, str], Meta(description="The routes, from the server's base URL on.")]


class NotFoundHandler(NbEditHandler):
    """Any other address below ``/nbedit``."""

    async def check_request(self) -> None:
        """Send 404 with an error body, for every method."""
        await super().check_request()
        raise web.HTTPError(404)


class AboutHandler(NbEditHandler):
    """``/nbedit``."""

    @OperationSpec(
        "Describe the server",
        has_text=True,
        replies={HTTPStatus.OK: Reply(AboutReply, "Name, version, mode, limits and links.")},
    )
    async def get(self) -> None:
        """Return name, version, mode, limits and links; as text, a short manual for an agent."""
        services = self.services
        root = f"{self.base_url}nbedit"
        if self.prefers_text:
            self.send_reply(_MANUAL.format(version=__version__, base=f"{root}/"), str)
            return
        self.send_reply(
            AboutReply(
                name="jupyter_nbedit",
                version=__version__,
                mode=services.modes.server,
                epoch=services.events.epoch,
                limits=Limits(
                    max_request_bytes=self.context.max_request_bytes,
                    max_json_values=MAX_JSON_VALUES,
                    max_created_json_values=MAX_CREATED_JSON_VALUES,
                    max_added_lines=MAX_ADDED_LINES,
                    max_operations=MAX_OPERATIONS,
                    max_hits=MAX_HITS,
                ),
                storage=services.storages.list_kinds(),
                guards=list_guards(),
                tools=list(TOOLS),
                links={
                    "self": root,
                    "openapi": f"{root}/openapi.json",
                    "notebook": f"{root}/notebooks/{{path}}",
                    "undo": f"{root}/notebooks/{{path}}/undo",
                    "redo": f"{root}/notebooks/{{path}}/redo",
                    "unseen": f"{root}/notebooks/{{path}}/unseen",
                    "keep": f"{root}/notebooks/{{path}}/keep",
                    "restore": f"{root}/notebooks/{{path}}/restore",
                    "mode": f"{root}/mode",
                    "proposals": f"{root}/proposals",
                    "proposal": f"{root}/proposals/{{proposal_id}}",
                    "history": f"{root}/history",
                    "agents": f"{root}/agents",
                    "search": f"{root}/search",
                    "tabs": f"{root}/tabs",
                    "tools": f"{root}/tools",
                    "mcp": f"{root}/mcp",
                    "tool": f"{root}/tools/{{dialect}}/{{tool}}",
                    "events": f"{self.base_url}api/events/subscribe",
                },
            )
        )


class OpenAPIHandler(NbEditHandler):
    """``/nbedit/openapi.json``."""

    @OperationSpec(
        "The OpenAPI document",
        replies={HTTPStatus.OK: Reply({"type": "object"}, "An OpenAPI document.")},
    )
    async def get(self) -> None:
        """Describe every route of this server, as OpenAPI 3.1."""
        # Building takes about 30 ms.
        document = await asyncio.to_thread(
            build_document, self.context.routes, base_url=self.base_url
        )
        self.send_reply(document)


routes: list[Route] = [(r"/nbedit/?", AboutHandler), (r"/nbedit/openapi\.json", OpenAPIHandler)]
