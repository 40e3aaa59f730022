"""The socket on which a page of JupyterLab says what it has open, and what it shows of it."""

from __future__ import annotations

import time
from asyncio import sleep
from http import HTTPStatus
from typing import Annotated

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web
from tornado.websocket import WebSocketHandler

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.openapi.spec import OperationSpec, Reply
from jupyter_nbedit.tabs import State, TabConnection, TabReport

#: What a page may say at once, in bytes, and of how many notebooks.
MOST_BYTES = 256 * 1024
MOST_PATHS = 1_000
#: How many messages are taken in a second; who sends more waits.
MOST_MESSAGES = 100
# A longer one counts as several: each of its paths is looked up on the disk.
_BYTES_OF_ONE = 2048
#: How often it is seen to that a page is still there, in seconds.
PING_SECONDS = 20

_LONGEST_HASH = 128
_LONGEST_REASON = 100
# RFC 6455, 7.4.1.
_NOT_TEXT, _NOT_UNDERSTOOD = 1003, 1007

_Path = Annotated[str, Meta(min_length=1)]


class TabReportMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What a page has made of a version of a notebook."""

    path: _Path
    state: State
    hash: Annotated[str, Meta(max_length=_LONGEST_HASH)] | None = None
    edit_id: Annotated[int, Meta(ge=0)] | None = None


class Message(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What a page says: all that it has open, or what it saw of one of them, or both."""

    tabs: (
        Annotated[
            dict[_Path, Annotated[int, Meta(ge=1, le=MOST_PATHS)]], Meta(max_length=MOST_PATHS)
        ]
        | UnsetType
    ) = UNSET
    saw: TabReportMessage | UnsetType = UNSET


class TabsHandler(NbEditHandler, WebSocketHandler):
    """``/nbedit/tabs``."""

    _page: TabConnection | None = None
    _second: int = 0
    _messages: int = 0

    @property
    def ping_interval(self) -> float:
        """How often it is seen to that the page is there; a proxy may need it, too."""
        configured: float | None = self.settings.get("websocket_ping_interval")
        return configured or PING_SECONDS

    @property
    def ping_timeout(self) -> float:
        """How long a page may take to answer: it is gone if it does not."""
        configured: float | None = self.settings.get("websocket_ping_timeout")
        return configured or self.ping_interval

    @property
    def max_message_size(self) -> int:
        """How long a message may be; tornado closes the socket for a longer one."""
        return MOST_BYTES

    @OperationSpec(
        "Say which notebooks are open",
        replies={HTTPStatus.SWITCHING_PROTOCOLS: Reply(None, "The socket is open.")},
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:  # type: ignore[override] # as the decorators have it
        """Open a WebSocket, on which a page of JupyterLab says which notebooks it has open.

        The page sends ``{"tabs": {path: count}}`` whenever that changes, and ``{"saw": {"path",
        "hash", "edit_id", "state"}}`` whenever it has taken in a version of one; ``state`` is
        ``shown``, ``merged`` or ``waiting``, as in the ``tabs`` of the reply to an edit. Nothing is
        sent to the page.
        """
        if self.request.headers.get("Upgrade", "").lower() != "websocket":
            message = "This address is for WebSockets; found a plain request."
            raise InvalidRequest(message)
        await super().get()

    def open(self, *_args: str, **_kwargs: str) -> None:
        """Let the page in."""
        self._page = self.services.tabs.connect()

    async def on_message(self, message: str | bytes) -> None:
        """Take in what the page says."""
        if isinstance(message, bytes):
            self.close(_NOT_TEXT, "Expected a text of JSON; found bytes.")
            return
        await self._wait_its_turn(1 + len(message) // _BYTES_OF_ONE)
        if self._page is None:
            return
        try:
            said = msgspec.json.decode(message, type=Message)
        except (msgspec.DecodeError, RecursionError) as error:
            # A frame that closes has room for few bytes.
            reason = f"Not understood: {error}".encode()[:_LONGEST_REASON]
            self.close(_NOT_UNDERSTOOD, reason.decode(errors="ignore"))
            return
        tabs = self.services.tabs
        if said.tabs is not UNSET:
            tabs.set_open(self._page, said.tabs)
        if said.saw is not UNSET:
            saw = said.saw
            tabs.report(self._page, saw.path, TabReport(saw.edit_id, saw.hash, saw.state))

    def on_close(self) -> None:
        """Let the page go."""
        if self._page is not None:
            self.services.tabs.disconnect(self._page)
            self._page = None

    async def _wait_its_turn(self, worth: int) -> None:
        """Take no more from a page than a page has to say: what is not taken waits at its end."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._messages = second, 0
        self._messages += worth
        if self._messages > MOST_MESSAGES:
            await sleep(second + 1 - time.monotonic())
