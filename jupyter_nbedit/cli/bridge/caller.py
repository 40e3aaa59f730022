"""`BridgeCaller` carries out calls of tools: with the server of the notebook, or without one."""

import asyncio
import json
import os
import secrets
import threading
import traceback
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jupyter_nbedit.agents.mcp.definitions import load_definitions
from jupyter_nbedit.agents.mcp.server import ToolAnswer, ToolCall
from jupyter_nbedit.cli.bridge.paths import PathResolver
from jupyter_nbedit.cli.connection import find_showing_server
from jupyter_nbedit.client import errors
from jupyter_nbedit.client.client import Transport, build_foreign_error
from jupyter_nbedit.client.discovery import Discovery, find_server, inspect_servers
from jupyter_nbedit.client.rooms import check_no_room
from jupyter_nbedit.client.server import Address, Response, Server
from jupyter_nbedit.errors import InvalidRequest, NbEditError
from jupyter_nbedit.notebook.shown_text import unquote_name

_CLIENT = "jupyter nbedit mcp"
_MAX_CLIENT_LENGTH = 200
_READING_ACTIONS = frozenset(("list", "show", "proposal"))
_MAX_PROPOSALS = 100
_MAX_THREADS = 32


@dataclass(frozen=True)
class _TargetedCall:
    """A call, and the file or folder that it is about."""

    call: ToolCall
    #: The absolute path, which may have links.
    target: str
    #: The name of the argument with the path, and its value; "" if the call has none.
    argument: str
    path: str
    #: Is the same if the call is sent again.
    key: str = field(default_factory=lambda: secrets.token_hex(16))


class BridgeCaller:
    """Sends each call to the server that serves the notebook at that time.

    If no server serves it, the call is answered in this process. Nothing outside of ``root`` is
    read or written. With ``url`` all calls go to that server; ``url`` and ``token_file`` are those
    of `find_server`.
    """

    def __init__(self, root: str, *, url: str | None = None, token_file: str | None = None) -> None:
        self._paths = PathResolver(root, self._find_served_folder)
        self._url = url
        self._find = partial(find_server, url=url, token_file=token_file)
        self._find_showing = partial(find_showing_server, url=url, token_file=token_file)
        self._session = secrets.token_hex(8)
        self._reading_tools = {
            definition["name"]
            for definition in load_definitions()
            if definition["annotations"]["readOnlyHint"]
        }
        # A cancelled call still needs its thread.
        self._threads = asyncio.Semaphore(_MAX_THREADS)
        # The targets of proposals: a call about a proposal is sent to the server of its target.
        self._proposals: dict[int, str] = {}

    async def call_tool(self, call: ToolCall) -> ToolAnswer:
        """Carry out a call.

        A cancelled call may still change the notebook: the server may have it already.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[ToolAnswer] = loop.create_future()

        def finish(result: ToolAnswer) -> None:
            if not answer.done():
                answer.set_result(result)

        def run() -> None:
            result = self._call(call)
            # At the end of the input the loop is closed.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._threads.release)
                loop.call_soon_threadsafe(finish, result)

        await self._threads.acquire()
        # Not a thread of an executor, for which Python would wait at the end.
        threading.Thread(target=run, daemon=True).start()
        return await answer

    def _call(self, call: ToolCall) -> ToolAnswer:
        try:
            return self._send(self._find_target(call))
        except (errors.ClientError, NbEditError) as error:
            return ToolAnswer.from_text(f"{error.reason}: {error.message}", is_error=True)
        except Exception:  # noqa: BLE001 -- the next call may work
            traceback.print_exc()
            message = "internal_error: The bridge has failed; its standard error has the details."
            return ToolAnswer.from_text(message, is_error=True)

    def _find_target(self, call: ToolCall) -> _TargetedCall:
        """Return a call with its target; raise `InvalidRequest` if its path is no string."""
        argument = "folder" if call.name == "notebook_search" else "path"
        # The server ignores null, too. The default that it would use may be outside the root.
        given = {name: value for name, value in call.arguments.items() if value is not None}
        call = replace(call, arguments=given)
        path = given.get(argument, "")
        if not isinstance(path, str):
            message = f"Expected a string at `$.{argument}`; found {json.dumps(path)[:100]}."
            raise InvalidRequest(message)
        if path.strip("/") if argument == "folder" else path:
            return _TargetedCall(call, self._paths.resolve(path), argument, path)
        if given.get("action") == "proposal":
            number = given.get("proposal_id")
            if isinstance(number, int) and number in self._proposals:
                return _TargetedCall(call, self._proposals[number], argument, "")
        return _TargetedCall(call, self._find_default_target(), argument, "")

    def _find_default_target(self) -> str:
        """Return what a call without a path is about: the root, as a rule.

        If no server holds the root, and one server, or the given one, serves a folder in it, that
        folder: some clients start the bridge in the home folder.
        """
        root = self._paths.root
        try:
            self._find(root)
        except (errors.NoServer, errors.OutsideRoot):
            given = self._url or os.environ.get("NBEDIT_URL")
            folders = [
                state.server.root
                for state in inspect_servers()
                if state.problem is None
                and state.server.root is not None
                and (not given or state.server.address.is_same_server(Address.from_url(given)))
            ]
            inside = [folder for folder in folders if self._paths.is_inside(folder)]
            if len(inside) == 1:
                return inside[0]
        return root

    def _send(self, request: _TargetedCall) -> ToolAnswer:
        """Send a call to the server that serves its target, or answer it here if there is none.

        If this server is gone, the call goes to the server that serves the target now.
        """
        try:
            first = self._find_server(request.target, request.path)
        except errors.NoServer as error:
            return self._answer_offline(request, error.others)
        try:
            return self._send_to(first, request)
        except errors.ConnectFailed:
            # Nothing was sent.
            pass
        except errors.ConnectionLost:
            # The same run of the server does not make a change twice; a new one might.
            if self._is_change(request.call) and not self._is_running(first, request):
                raise
        try:
            return self._send_to(self._find_server(request.target, request.path), request)
        except errors.NoServer as error:
            return self._answer_offline(request, error.others)

    def _is_change(self, call: ToolCall) -> bool:
        is_reading = call.name in self._reading_tools
        return not (is_reading or call.arguments.get("action") in _READING_ACTIONS)

    def _is_running(self, discovery: Discovery, request: _TargetedCall) -> bool:
        """Return whether the run of a server that was found before goes on."""
        try:
            now = self._find_server(request.target, request.path)
        except errors.ClientError:
            return False
        return now.epoch is not None and now.epoch == discovery.epoch

    def _find_server(self, target: str, path: str) -> Discovery:
        """Return the server that serves a file or folder; raise as `find_server` does.

        If its root is not known here, the ``path`` of the call must be relative to it.
        """
        try:
            return self._find_showing(target)
        except errors.OutsideRoot:
            if os.path.isabs(path):
                raise
            discovery = self._find(path)
            if discovery.server.root is not None:
                raise
            return discovery

    def _find_served_folder(self) -> str | None:
        """Return the folder that the server of the root serves; None if there is none."""
        with suppress(errors.ClientError):
            return self._find(self._paths.root).server.root
        return None

    def _send_to(self, discovery: Discovery, request: _TargetedCall) -> ToolAnswer:
        server = discovery.server
        if server.root is None:
            path = server.to_api_path(request.path)
        else:
            path = server.to_api_path(request.target)
            self._paths.add_folder(server.root)
        note = self._check_others(request, discovery.others)
        return _add_note(self._exchange(server, request, path, server.root), note)

    def _answer_offline(self, request: _TargetedCall, others: Sequence[Server]) -> ToolAnswer:
        """Answer a call in this process; ``others`` serve the target without this extension."""
        # It takes about 0.7 s, and is not needed beside a server.
        from jupyter_nbedit.cli.offline.server import OfflineServer  # noqa: PLC0415

        note = self._check_others(request, others)
        server = OfflineServer(Path(request.target), Path(self._paths.root))
        with closing(server):
            self._paths.add_folder(str(server.folder))
            # The path of a proposal is relative to the folder of the call that it was made by.
            return _add_note(self._exchange(server, request, server.path, None), note)

    def _check_others(self, request: _TargetedCall, others: Sequence[Server]) -> str | None:
        """Return what to say of servers that serve a target without this extension, if anything.

        Raise `NotebookInRoom` if a change would be lost there.
        """
        if not others or not self._is_change(request.call):
            return None
        for other in others:
            check_no_room(other, request.target)
        urls = ", ".join(other.url for other in others)
        return (
            f"<note>{urls} serves this, too, but runs without jupyter_nbedit: a tab that is open "
            "there does not show the change. Tell the user to reload the tab.</note>"
        )

    def _exchange(
        self, transport: Transport, request: _TargetedCall, path: str, folder: str | None
    ) -> ToolAnswer:
        """Send a call, with the API path of its target, and return its answer.

        ``folder`` is what paths of proposals are relative to; None if it is not known.
        """
        call, arguments = request.call, dict(request.call.arguments)
        if arguments.get("action") == "proposal" and "proposal_id" in arguments:
            refusal = self._check_proposal(transport, arguments["proposal_id"], folder)
            if refusal is not None:
                return refusal
        # The server refuses a call without a path if the tool needs a path. Without a folder, the
        # server would search its whole root.
        if request.path or request.argument == "folder":
            # The server also understands quoted names.
            is_quoted = unquote_name(path) is not None
            arguments[request.argument] = json.dumps(path) if is_quoted else path
        response = transport.send(
            "POST",
            f"nbedit/tools/agent/{call.name}",
            json.dumps(arguments).encode(),
            {
                "Content-Type": "application/json",
                "Idempotency-Key": request.key,
                "X-NbEdit-Client": _build_label(call.client),
                "X-NbEdit-Session": self._session,
            },
        )
        if response.status == HTTPStatus.ACCEPTED:
            self._remember_proposal(response, request.target)
        return _decode_answer(transport, response)

    def _check_proposal(
        self, transport: Transport, number: Any, folder: str | None
    ) -> ToolAnswer | None:
        """Raise `OutsideRoot` if the notebook of a proposal is not in the root.

        Return the answer if the proposal cannot be read.
        """
        if type(number) is not int:
            raise InvalidRequest("`proposal_id` is a whole number.")
        if folder is None:
            if number not in self._proposals:
                raise errors.OutsideRoot(
                    "It is not known here which notebook this proposal is for, so that only "
                    "proposals that this session has made can be shown."
                )
            return None
        headers = {"Accept": "application/json"}
        response = transport.send("GET", f"nbedit/proposals/{number}", None, headers)
        if response.status != HTTPStatus.OK:
            return _decode_answer(transport, response)
        path = json.loads(response.body)["path"]
        if not self._paths.is_inside(os.path.realpath(os.path.join(folder, path))):
            raise errors.OutsideRoot(
                f"Proposal {number} is for a notebook outside of {self._paths.root!r}, the only "
                "folder that this tool may use (--root)."
            )
        return None

    def _remember_proposal(self, response: Response, target: str) -> None:
        number = response.headers.get("Location", "").rpartition("/")[2]
        if number.isdecimal():
            self._proposals[int(number)] = target
            if len(self._proposals) > _MAX_PROPOSALS:
                del self._proposals[next(iter(self._proposals))]


def _add_note(answer: ToolAnswer, note: str | None) -> ToolAnswer:
    if note is None or answer.is_error:
        return answer
    return ToolAnswer([*answer.content, {"type": "text", "text": note}])


def _build_label(client: str | None) -> str:
    """Return the name of a client as a header can have it."""
    label = (client or _CLIENT).encode("ascii", "replace").decode()[:_MAX_CLIENT_LENGTH].strip()
    return label or _CLIENT


def _decode_answer(transport: Transport, response: Response) -> ToolAnswer:
    """Return the answer of a tool, or the error that stands in its place."""
    content = response.decode()
    blocks = content.get("content")
    if isinstance(blocks, list) and all(isinstance(block, dict) for block in blocks):
        return ToolAnswer(blocks, content.get("isError") is True)
    if isinstance(content.get("reason"), str) and isinstance(content.get("message"), str):
        return ToolAnswer.from_text(f"{content['reason']}: {content['message']}", is_error=True)
    raise build_foreign_error(transport, response)
