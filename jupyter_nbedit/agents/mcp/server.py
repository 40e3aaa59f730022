"""`McpServer` answers requests; a `ToolCaller` carries out the calls of tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from jupyter_nbedit.agents.mcp import errors
from jupyter_nbedit.agents.mcp.definitions import INSTRUCTIONS, load_definitions
from jupyter_nbedit.agents.mcp.messages import Request
from jupyter_nbedit.agents.mcp.versions import (
    LEGACY_VERSIONS,
    MODERN_VERSION,
    SUPPORTED_VERSIONS,
    check_version,
)

#: Members of ``_meta``.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"

#: Whether a request follows the modern or a legacy revision; see the docstring of the package.
Era = Literal["modern", "legacy"]

MAX_CLIENT_NAME_LENGTH = 100
_MAX_SHOWN_NAME_LENGTH = 100
# The definitions change only with the release of the server.
_CACHE_HINTS = {"ttlMs": 300_000, "cacheScope": "private"}


@dataclass(frozen=True)
class ToolCall:
    """The call of a tool that exists.

    ``client`` is the name that the client states, in printable characters, or None. The name is not
    verified.
    """

    name: str
    arguments: Mapping[str, Any]
    client: str | None


@dataclass(frozen=True)
class ToolAnswer:
    """What the model gets: content blocks such as ``{"type": "text", "text": "..."}``."""

    content: Sequence[Mapping[str, Any]]
    is_error: bool = False

    @classmethod
    def from_text(cls, text: str, *, is_error: bool = False) -> ToolAnswer:
        """Return an answer that is one text."""
        return cls([{"type": "text", "text": text}], is_error)


class ToolCaller(Protocol):
    """Carries out calls of tools: in a Jupyter server, or by sending the calls to a server."""

    async def call_tool(self, call: ToolCall) -> ToolAnswer:
        """Carry out a call.

        A failure is an answer with ``is_error``. If it raises an exception, the whole message
        fails, also the other calls of a batch.
        """
        ...


class McpServer:
    """Answers the requests of clients, and keeps no state.

    A modern client names itself in each request; the caller passes the name of a legacy client.
    """

    def __init__(self, caller: ToolCaller, version: str) -> None:
        self._caller = caller
        self._implementation = {
            "name": "jupyter_nbedit",
            "title": "Jupyter notebooks (nbedit)",
            "version": version,
        }
        self._tools = load_definitions()

    async def answer(self, request: Request, client: str | None) -> dict[str, Any]:
        """Return the result of a request; raise `ProtocolError` if there is none.

        ``client`` is the name that a legacy client has stated in ``initialize``.
        """
        era = find_era(request)
        if era == "modern":
            client = _check_modern_meta(request)
        result = await self._answer(request, era, client)
        if era == "modern":
            result = {
                "resultType": "complete",
                **result,
                "_meta": {_SERVER_KEY: self._implementation},
            }
        return result

    async def _answer(self, request: Request, era: Era, client: str | None) -> dict[str, Any]:
        match request.method:
            case "tools/call":
                return await self._call_tool(request, client)
            case "tools/list":
                return self._list_tools(request, era)
            case "server/discover":
                return {
                    "supportedVersions": list(SUPPORTED_VERSIONS),
                    "capabilities": {"tools": {}},
                    "instructions": INSTRUCTIONS,
                    **(_CACHE_HINTS if era == "modern" else {}),
                }
            case "initialize" if era == "legacy":
                return self._initialize(request)
            case "ping" if era == "legacy":
                return {}
        raise errors.ProtocolError(
            errors.METHOD_NOT_FOUND, _describe_missing_method(request.method, era)
        )

    def _initialize(self, request: Request) -> dict[str, Any]:
        asked = request.params.get("protocolVersion")
        if not isinstance(asked, str):
            message = "Expected `protocolVersion` to be a string."
            raise errors.ProtocolError(
                errors.INVALID_PARAMS, message, {"supported": list(LEGACY_VERSIONS)}
            )
        return {
            "protocolVersion": negotiate_version(asked),
            "capabilities": {"tools": {}},
            "serverInfo": self._implementation,
            "instructions": INSTRUCTIONS,
        }

    def _list_tools(self, request: Request, era: Era) -> dict[str, Any]:
        if request.params.get("cursor") is not None:
            message = "Unknown `cursor`: the list of tools is never split."
            raise errors.ProtocolError(errors.INVALID_PARAMS, message)
        return {"tools": list(self._tools), **(_CACHE_HINTS if era == "modern" else {})}

    async def _call_tool(self, request: Request, client: str | None) -> dict[str, Any]:
        name, arguments = request.params.get("name"), request.params.get("arguments")
        names = [tool["name"] for tool in self._tools]
        if not isinstance(name, str) or name not in names:
            shown = name[:_MAX_SHOWN_NAME_LENGTH] if isinstance(name, str) else name
            shown = shown if isinstance(name, str) else type(name).__name__
            message = f"Unknown tool: {shown!r}. There are: {', '.join(names)}."
            raise errors.ProtocolError(errors.INVALID_PARAMS, message)
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise errors.ProtocolError(
                errors.INVALID_PARAMS, "Expected `arguments` to be an object."
            )
        answer = await self._caller.call_tool(ToolCall(name, arguments, client))
        return {"content": [dict(block) for block in answer.content], "isError": answer.is_error}


def find_era(request: Request) -> Era:
    """Return the era of a request: it is modern if its ``_meta`` has a protocol version."""
    meta = request.params.get("_meta")
    return "modern" if isinstance(meta, dict) and VERSION_KEY in meta else "legacy"


def negotiate_version(asked: str) -> str:
    """Return the legacy version that a client asks for, or else the newest legacy version.

    The modern version has no ``initialize``, by which a client asks for a version.
    """
    return asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0]


def get_client_name(client_info: Any) -> str | None:
    """Return the name of a client for people; None if it states no name that can be shown."""
    if not isinstance(client_info, dict):
        return None
    for key in ("title", "name"):
        name = client_info.get(key)
        if isinstance(name, str):
            # A name goes into the history, the log and the page.
            characters = name[:MAX_CLIENT_NAME_LENGTH]
            shown = "".join(each if each.isprintable() else " " for each in characters)
            if shown := " ".join(shown.split()):
                return shown
    return None


def _check_modern_meta(request: Request) -> str | None:
    """Return the client's name; raise `ProtocolError` if a member of ``_meta`` is not right."""
    meta = request.params["_meta"]
    if not isinstance(meta.get(VERSION_KEY), str):
        raise errors.ProtocolError(
            errors.INVALID_PARAMS, f"Expected `_meta` to have `{VERSION_KEY}`, a string."
        )
    check_version(meta[VERSION_KEY])
    if meta[VERSION_KEY] != MODERN_VERSION:
        message = (
            f"Version {meta[VERSION_KEY]} has no `{VERSION_KEY}`. Send `initialize` first, or use "
            f"version {MODERN_VERSION}."
        )
        data = {"supported": [MODERN_VERSION], "requested": meta[VERSION_KEY]}
        raise errors.ProtocolError(errors.UNSUPPORTED_VERSION, message, data)
    if not isinstance(meta.get(_CAPABILITIES_KEY), dict):
        message = f"Expected `_meta` to have `{_CAPABILITIES_KEY}`, an object."
        raise errors.ProtocolError(errors.INVALID_PARAMS, message)
    return get_client_name(meta.get(_CLIENT_KEY))


def _describe_missing_method(method: str, era: Era) -> str:
    shown = method[:_MAX_SHOWN_NAME_LENGTH]
    if method == "initialize":
        return (
            f"Version {MODERN_VERSION} has no `initialize`. Leave out `{VERSION_KEY}` to speak "
            f"{', '.join(LEGACY_VERSIONS)}."
        )
    methods = ["server/discover", "tools/list", "tools/call"]
    if era == "legacy":
        methods += ["initialize", "ping"]
    return f"There is no method {shown!r}. There are: {', '.join(methods)}."
