"""The WebSocket on which pages of JupyterLab report their open tabs and what these show."""

import time
from asyncio import sleep
from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType
from tornado.websocket import WebSocketHandler

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.spec import OperationSpec, Reply, Route
from jupyter_nbedit.services.tabs import ApiPath, TabConnection, TabReport

#: The size of a message in bytes, and the number of notebooks in it.
MAX_BYTES = 256 * 1024
MAX_PATHS = 1_000
#: How many messages of a page are read in a second; the others wait.
MAX_MESSAGES = 100
# A longer message counts as several, because each of its paths is looked up on the disk.
_MESSAGE_BYTES = 2048
#: How often a connection is checked, in seconds.
PING_SECONDS = 20

_MAX_REASON_LENGTH = 100
# RFC 6455, 7.4.1.
_UNSUPPORTED_DATA, _INVALID_PAYLOAD = 1003, 1007


class Message(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A message of a page: all open tabs, or the report about one notebook, or both."""

    tabs: (
        Annotated[
            dict[ApiPath, Annotated[int, Meta(ge=1, le=MAX_PATHS)]], Meta(max_length=MAX_PATHS)
        ]
        | UnsetType
    ) = UNSET
    saw: TabReport | UnsetType = UNSET


class TabsHandler(NbEditHandler, WebSocketHandler):
    """``/nbedit/tabs``."""

    _page: TabConnection | None = None
    _second: int = 0
    _messages: int = 0

    @property
    def ping_interval(self) -> float:
        """The interval of pings in seconds, which also keep the connection of a proxy open."""
        configured: float | None = self.settings.get("websocket_ping_interval")
        return configured or PING_SECONDS

    @property
    def ping_timeout(self) -> float:
        """How long to wait for the answer to a ping, in seconds, before the socket is closed."""
        configured: float | None = self.settings.get("websocket_ping_timeout")
        return configured or self.ping_interval

    @property
    def max_message_size(self) -> int:
        """The largest size of a message in bytes; tornado closes the socket if one is longer."""
        return MAX_BYTES

    @OperationSpec(
        "Report open tabs",
        replies={HTTPStatus.SWITCHING_PROTOCOLS: Reply(None, "The socket is open.")},
    )
    async def get(self) -> None:
        """Open a WebSocket, on which a page of JupyterLab reports the notebooks that it has open.

        The page sends ``{"tabs": {path: count}}`` whenever these numbers of tabs change. It sends
        ``{"saw": {"path", "hash", "edit_id", "state"}}`` whenever the tabs of a notebook have a new
        version of it. ``state`` is ``shown``, ``merged`` or ``waiting``, as in ``tabs`` of the
        reply to an edit.
        The server sends ``{"page": id}`` once, when the socket is open. A request with this id in
        the header `X-NbEdit-Page` comes from a person in this page, as long as the socket is open.
        """
        if self.request.headers.get("Upgrade", "").lower() != "websocket":
            raise InvalidRequest("This address is for WebSockets; found a plain request.")
        await super().get()

    def open(self, *_args: str, **_kwargs: str) -> None:
        """Add the page to the registry, and tell the page its id."""
        self._page = self.services.tabs.connect(self.account)
        self.write_message(msgspec.json.encode({"page": self._page.page_id}).decode())

    async def on_message(self, message: str | bytes) -> None:
        """Store what the page reports."""
        if isinstance(message, bytes):
            self.close(_UNSUPPORTED_DATA, "Expected a text of JSON; found bytes.")
            return
        await self._limit_rate(1 + len(message) // _MESSAGE_BYTES)
        if self._page is None:
            return
        try:
            content = msgspec.json.decode(message, type=Message)
        except (msgspec.DecodeError, RecursionError) as error:
            # A close frame has at most 125 bytes.
            reason = f"Not understood: {error}".encode()[:_MAX_REASON_LENGTH]
            self.close(_INVALID_PAYLOAD, reason.decode(errors="ignore"))
            return
        tabs = self.services.tabs
        if content.tabs is not UNSET:
            tabs.set_open(self._page, content.tabs)
            if self.services.watcher is not None:
                self.services.watcher.start()
        report = content.saw
        if report is not UNSET and tabs.report(self._page, report) and report.hash is not None:
            self.services.reader.remember_shown_version(report.path, report.hash)

    def on_close(self) -> None:
        """Remove the page from the registry."""
        if self._page is not None:
            self.services.tabs.disconnect(self._page)
            self._page = None

    async def _limit_rate(self, message_count: int) -> None:
        """Wait until the next second if the page has sent too many messages in this one."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._messages = second, 0
        self._messages += message_count
        if self._messages > MAX_MESSAGES:
            await sleep(second + 1 - time.monotonic())


routes: list[Route] = [(r"/nbedit/tabs", TabsHandler)]
