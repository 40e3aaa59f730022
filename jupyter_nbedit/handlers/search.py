"""Search in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from tornado import web

from jupyter_nbedit.errors import FolderNotFound, NotAPlainFile
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.openapi import OperationSpec, Reply
from jupyter_nbedit.search.models import SearchReply, SearchRequest


class SearchHandler(NbEditHandler):
    """``/nbedit/search``."""

    # A search is a POST only because a query string may be too short for it; it reads.
    contents_actions: ClassVar[Mapping[str, str]] = {**HTTP_METHOD_TO_AUTH_ACTION, "POST": "read"}
    _is_cancelled = False

    @OperationSpec(
        "Search in notebooks",
        body=SearchRequest,
        replies={HTTPStatus.OK: Reply(SearchReply, "What was found.")},
        errors=[FolderNotFound, NotAPlainFile],
    )
    @web.authenticated
    @authorized("read")  # type: ignore[untyped-decorator] # its author typed the bare form
    async def post(self) -> None:
        """Find lines in sources, outputs and tags of the notebooks in a folder."""
        request = await self.parse_body(SearchRequest)
        reply = await self.services.search.search(request, is_cancelled=lambda: self._is_cancelled)
        if not self._is_cancelled:
            self.finish_json(reply)

    def on_connection_close(self) -> None:
        """Cancel the search."""
        super().on_connection_close()
        self._is_cancelled = True
