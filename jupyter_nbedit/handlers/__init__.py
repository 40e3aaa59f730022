"""The REST API, the only code that knows HTTP status codes.

A module for each resource: its handlers and, at the end, its routes. What a service takes or
returns is described there: in its `models`, in `services/requests`, in `services/replies`; only
what is just HTTP is described here. What all modules use: `base` (requests and replies), `editing`,
`spec` (what a verb declares), `errors` (the status of each error), `openapi` (the document of the
API).
"""

from jupyter_nbedit.handlers import (
    about,
    agents,
    cells,
    history,
    mcp,
    modes,
    notebooks,
    proposals,
    search,
    tabs,
    tools,
    undo,
    unseen,
)
from jupyter_nbedit.handlers.spec import Route

_MODULES = (
    about,
    cells,
    undo,
    unseen,
    history,
    # The route of this module also matches what the routes above match.
    notebooks,
    modes,
    proposals,
    agents,
    search,
    tabs,
    mcp,
    tools,
)

#: All routes; the first route that matches an address is used.
default_handlers: list[Route] = [
    *(route for module in _MODULES for route in module.routes),
    (r"/nbedit/.*", about.NotFoundHandler),
]
