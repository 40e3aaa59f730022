"""What this server is and can do."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_nbedit import __version__
from jupyter_nbedit.handlers.notebooks import MOST_OPERATIONS
from jupyter_nbedit.handlers.requests import NbEditHandler


class NothingHandler(NbEditHandler):
    """Any other address below ``/nbedit``."""

    async def prepare(self) -> None:  # type: ignore[override] # as APIHandler's own
        """Say so in our form, whatever the verb."""
        await super().prepare()
        raise web.HTTPError(404)


class AboutHandler(NbEditHandler):
    """``/nbedit``."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Tell name, version, mode, limits and links."""
        app = self.extensionapp
        root = f"{self.base_url}nbedit"
        self.answer(
            {
                "name": app.name,
                "version": __version__,
                "mode": app.mode,
                "epoch": self.editor.events.epoch,
                "limits": {
                    "max_request_bytes": app.max_request_bytes,
                    "max_operations": MOST_OPERATIONS,
                },
                "storage": ["file"],
                "links": {
                    "self": root,
                    "notebook": f"{root}/notebooks/{{path}}",
                    "events": f"{self.base_url}api/events/subscribe",
                },
            }
        )
