"""REST: the only place that knows a status code. The routes stand at the end."""

from __future__ import annotations

from jupyter_nbedit.handlers.about import AboutHandler, NothingHandler
from jupyter_nbedit.handlers.notebooks import NotebookHandler

default_handlers = [
    (r"/nbedit/?", AboutHandler),
    (r"/nbedit/notebooks/(?P<path>.*)", NotebookHandler),
    (r"/nbedit/.*", NothingHandler),
]
