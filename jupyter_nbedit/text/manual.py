"""The manual for an agent that has nothing but an HTTP client."""

_MANUAL = """\
jupyter_nbedit {version}: read and edit Jupyter notebooks cell by cell, also while they are open \
in JupyterLab. It runs no code. Do not edit .ipynb files in another way.
Send `Accept: text/plain` for text like this, and the server's token as `Authorization: token ...`.
Bodies are JSON, with its Content-Type. Paths are relative to the server's root. Base: {base}

GET  notebooks/PATH?cell=3:9f2c1a&section=Results&view=outline|source&outputs=text&since=REV
POST search  {{"query": "text" or "regex": "...", "path": "folder or notebook"}}
PATCH notebooks/PATH  {{"operations": [...], "client": "your name", "message": "why"}}
PUT  notebooks/PATH  {{"cells": [{{"cell_type": "code", "source": "..."}}]}} creates one
POST notebooks/PATH/undo  {{"client": "your name"}} (your newest edit) or {{"edit_id": 12}}
GET  notebooks/PATH/history

Operations ("op"): replace_text (cell, old, new), replace (cell, source), insert (after|before|at: \
"start"|"end", cell_type, source), delete (cell), move (cell, after|before|at), split (cell, \
at_line), merge (cells), clear_outputs (cell or all: true), set_metadata (cell, patch).
All are made, or none. Changed code cells lose their outputs.

3:9f2c1a is cell 3 and what it says: use the names of the text. If the cell has changed, the edit \
is refused with the cell as it is now; of identical cells "rev" chooses. Replies have the new \
names: do not read again.
A 202 is a proposal: a person decides. plan_mode: stop and tell the user.
More: openapi.json, tools
"""


def render_manual(version: str, base: str) -> str:
    """Return the manual; ``base`` is the address of the routes on the server."""
    return _MANUAL.format(version=version, base=f"{base}/")
