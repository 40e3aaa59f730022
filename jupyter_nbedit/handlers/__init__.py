"""The REST API, the only code that knows HTTP status codes; the routes are below."""

from __future__ import annotations

from jupyter_nbedit.handlers.about import AboutHandler, NotFoundHandler, OpenAPIHandler
from jupyter_nbedit.handlers.history import (
    AllHistoryHandler,
    EditHandler,
    NotebookHistoryHandler,
    RedoHandler,
    UndoHandler,
)
from jupyter_nbedit.handlers.notebooks import (
    CellHandler,
    CellsHandler,
    NotebookHandler,
    SearchHandler,
)
from jupyter_nbedit.handlers.review import (
    AcceptHandler,
    ModeHandler,
    ProposalHandler,
    ProposalsHandler,
    RejectHandler,
)
from jupyter_nbedit.handlers.tabs import TabsHandler
from jupyter_nbedit.handlers.tools import ToolHandler, ToolsHandler

default_handlers = [
    (r"/nbedit/?", AboutHandler),
    (r"/nbedit/openapi\.json", OpenAPIHandler),
    # A path that ends in .ipynb is a notebook, even below folders named `x.ipynb` and `cells`.
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/cells", CellsHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/cells/(?P<cell>[^/]+)(?<!\.ipynb)", CellHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/undo", UndoHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/redo", RedoHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/history", NotebookHistoryHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/history/(?P<edit_id>[^/]+)(?<!\.ipynb)", EditHandler),
    (r"/nbedit/notebooks/(?P<path>.*)", NotebookHandler),
    (r"/nbedit/mode", ModeHandler),
    (r"/nbedit/proposals", ProposalsHandler),
    (r"/nbedit/proposals/(?P<proposal_id>[0-9]+)", ProposalHandler),
    (r"/nbedit/proposals/(?P<proposal_id>[0-9]+)/accept", AcceptHandler),
    (r"/nbedit/proposals/(?P<proposal_id>[0-9]+)/reject", RejectHandler),
    (r"/nbedit/history", AllHistoryHandler),
    (r"/nbedit/search", SearchHandler),
    (r"/nbedit/tabs", TabsHandler),
    (r"/nbedit/tools", ToolsHandler),
    (r"/nbedit/tools/(?P<address>.*)", ToolHandler),
    (r"/nbedit/.*", NotFoundHandler),
]
