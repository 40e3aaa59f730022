"""Files that are below the root of a server which does not show them, because they are hidden."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from jupyter_nbedit.client import Server
from jupyter_nbedit.client.discovery import inspect_server
from jupyter_nbedit.client.errors import ClientError
from jupyter_nbedit.client.server import get_relative_path

_NOT_FOUND = 404


def find_hidden_part(path: str) -> str | None:
    """Return the first part of a path that begins with a dot; None if there is none."""
    parts = path.replace(os.sep, "/").split("/")
    return next((part for part in parts if part.strip(".") and part.startswith(".")), None)


def is_hidden_from(server: Server, target: str, *, url: str | None) -> bool:
    """Return whether a server does not show a file or folder below its root, which is then free.

    A server that was chosen, by ``url`` or by the environment, is always used. A person who has
    paused or reviews agents on the server means these files, too: they are not free then.
    """
    path = None if server.root is None else get_relative_path(server.root, target)
    if url or os.environ.get("NBEDIT_URL"):
        return False
    if path is None or find_hidden_part(path) is None:
        return False
    # What does not exist yet is hidden if its folder is.
    shown = path if Path(target).exists() else path.rpartition("/")[0]
    if find_hidden_part(shown) is None:
        return False
    try:
        response = server.send("GET", f"api/contents/{quote(shown)}?content=0")
        return response.status == _NOT_FOUND and inspect_server(server).mode == "edit"
    except ClientError:
        return False
