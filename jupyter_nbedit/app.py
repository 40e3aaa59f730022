"""The server extension."""

import asyncio

from jupyter_server.extension.application import ExtensionApp
from jupyter_server.serverapp import ServerApp
from traitlets import default

from jupyter_nbedit.agents.jupyter_server_mcp import OFFERED_TOOLS
from jupyter_nbedit.api import PythonAPI
from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.base import has_random_users
from jupyter_nbedit.handlers.context import CONTEXT
from jupyter_nbedit.services.events.emitter import register_schemas
from jupyter_nbedit.services.history.rename_listener import CONTENTS, ContentsEventListener
from jupyter_nbedit.settings import NbEditSettings
from jupyter_nbedit.wiring import WiredServices, build_services


class NbEditApp(NbEditSettings, ExtensionApp):
    """The extension ``jupyter_nbedit``: REST API under ``/nbedit``, Python API, tab support."""

    name = "jupyter_nbedit"
    description = "Edit the cells of notebooks over HTTP, while they are open in JupyterLab."

    wired: WiredServices | None = None
    _link_task: asyncio.Task[None] | None = None

    @default("open_browser")
    def _default_open_browser(self) -> bool:
        return False

    def initialize_settings(self) -> None:
        """Create the services, and put them into the settings of the server."""
        serverapp = self.serverapp
        if serverapp is None or serverapp.event_logger is None:
            raise RuntimeError("jupyter_nbedit is an extension of a running Jupyter Server.")
        logger = serverapp.event_logger
        register_schemas(logger)
        self.wired = build_services(self, serverapp.web_app.settings, logger, self.log)
        context, services = self.wired.context, self.wired.services
        contents_listener = ContentsEventListener(
            services.storages.exists, self.wired.path_observers, services.modes, self.log
        )
        logger.add_listener(schema_id=CONTENTS, listener=contents_listener.on_event)
        self.settings[CONTEXT] = context
        if self.offer_to_jupyter_server_mcp:
            self.settings[OFFERED_TOOLS] = context.tools
        # Jupyter Server has put this object there; other extensions do not use it.
        self.settings[self.name] = PythonAPI(
            services, self.log, has_random_users(serverapp.identity_provider)
        )

    async def _start_jupyter_server_extension(
        self,
        serverapp: ServerApp,  # noqa: ARG002 -- Jupyter Server passes it
    ) -> None:
        if self.wired is not None:
            # A file system that does not answer must not hold the start.
            self._link_task = asyncio.create_task(self.wired.resolve_link_paths())

    async def stop_extension(self) -> None:
        """Close all resources."""
        if self._link_task is not None:
            self._link_task.cancel()
        if self.wired is not None:
            await self.wired.close()

    def initialize_handlers(self) -> None:
        """Add the routes."""
        self.handlers.extend(default_handlers)
