"""The REST API, the only code that knows HTTP status codes.

A module for each resource; the routes are below. `base` is what each handler does before and after
the work, `errors` the status of each error, `openapi` the document of the API.
"""

from __future__ import annotations

from jupyter_nbedit.agents.tools import TOOLS
from jupyter_nbedit.handlers import (
    about,
    agents,
    history,
    mcp,
    notebooks,
    review,
    tabs,
    tools,
    unseen,
)

_READING_TOOLS = "|".join(address for address, tool in TOOLS.items() if tool.right == "read")

default_handlers = [
    (r"/nbedit/?", about.AboutHandler),
    (r"/nbedit/openapi\.json", about.OpenAPIHandler),
    # A path that ends in .ipynb is a notebook, even below folders named `x.ipynb` and `cells`.
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/cells", notebooks.CellsHandler),
    (
        r"/nbedit/notebooks/(?P<path>.*\.ipynb)/cells/(?P<cell>[^/]+)(?<!\.ipynb)",
        notebooks.CellHandler,
    ),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/undo", history.UndoHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/redo", history.RedoHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/unseen", unseen.UnseenHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/keep", unseen.KeepHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/restore", unseen.RestoreHandler),
    (r"/nbedit/notebooks/(?P<path>.*\.ipynb)/history", history.NotebookHistoryHandler),
    (
        r"/nbedit/notebooks/(?P<path>.*\.ipynb)/history/(?P<edit_id>[^/]+)(?<!\.ipynb)",
        history.EditHandler,
    ),
    (r"/nbedit/notebooks/(?P<path>.*)", notebooks.NotebookHandler),
    (r"/nbedit/mode", review.ModeHandler),
    (r"/nbedit/proposals", review.ProposalsHandler),
    (r"/nbedit/proposals/(?P<proposal_id>[0-9]+)", review.ProposalHandler),
    (r"/nbedit/proposals/(?P<proposal_id>[0-9]+)/accept", review.AcceptHandler),
    (r"/nbedit/proposals/(?P<proposal_id>[0-9]+)/reject", review.RejectHandler),
    (r"/nbedit/proposals/(?P<proposal_id>[0-9]+)/reopen", review.ReopenHandler),
    (r"/nbedit/history", history.AllHistoryHandler),
    (r"/nbedit/unseen", unseen.UnseenNotebooksHandler),
    (r"/nbedit/agents", agents.AgentsHandler),
    (r"/nbedit/search", notebooks.SearchHandler),
    (r"/nbedit/tabs", tabs.TabsHandler),
    (r"/nbedit/mcp/?", mcp.McpHandler),
    (r"/nbedit/tools", tools.ToolsHandler),
    (rf"/nbedit/tools/(?P<address>{_READING_TOOLS})", tools.ReadingToolHandler),
    (r"/nbedit/tools/(?P<address>.*)", tools.ToolHandler),
    (r"/nbedit/.*", about.NotFoundHandler),
]
