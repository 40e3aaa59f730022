"""Search in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, ClassVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from tornado import web

from jupyter_nbedit.errors import FolderNotFound, NotAPlainFile
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.openapi.spec import OperationSpec, Reply
from jupyter_nbedit.search.models import SearchReply, SearchRequest

if TYPE_CHECKING:
    from jupyter_nbedit.search.service import SearchService


class SearchHandler(NbEditHandler):
    """``/nbedit/search``."""

    # It changes nothing; what it is to look for is only too long for a query.
    contents_actions: ClassVar[Mapping[str, str]] = {**HTTP_METHOD_TO_AUTH_ACTION, "POST": "read"}
    _gone = False

    @property
    def service(self) -> SearchService:
        """The service that searches."""
        return self.services.search

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
        reply = await self.service.search(request, gone=lambda: self._gone)
        if not self._gone:
            self.finish_json(reply)

    def on_connection_close(self) -> None:
        """Let the search end, whose reply nobody waits for."""
        super().on_connection_close()
        self._gone = True
