"""The route of the search in notebooks."""

from http import HTTPStatus

from jupyter_nbedit import errors
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.spec import OperationSpec, Reply, Route
from jupyter_nbedit.services.search.models import SearchReply, SearchRequest
from jupyter_nbedit.text.search import render_search


class SearchHandler(NbEditHandler):
    """``/nbedit/search``."""

    _is_cancelled = False

    @OperationSpec(
        "Search in notebooks",
        has_text=True,
        body=SearchRequest,
        replies={HTTPStatus.OK: Reply(SearchReply, "What was found.")},
        errors=[errors.FolderNotFound, errors.NotAPlainFile],
        # It is a POST only because a query string may be too short for it.
        action="read",
    )
    async def post(self, body: SearchRequest) -> None:
        """Find lines in sources, outputs and tags of the notebooks in a folder."""
        reply = await self.services.search.search(body, is_cancelled=lambda: self._is_cancelled)
        if not self._is_cancelled:
            self.send_reply(reply, render_search)

    def on_connection_close(self) -> None:
        """Cancel the search."""
        super().on_connection_close()
        self._is_cancelled = True


routes: list[Route] = [(r"/nbedit/search", SearchHandler)]
