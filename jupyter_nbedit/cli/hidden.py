"""Find the server that shows a file; servers do not show what is hidden below their roots."""

import os
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from jupyter_nbedit.client import Server
from jupyter_nbedit.client.discovery import Discovery, find_server, inspect_server
from jupyter_nbedit.client.errors import ClientError, NoServer
from jupyter_nbedit.client.server import get_relative_path


def find_hidden_part(path: str) -> str | None:
    """Return the first part of a path that begins with a dot; None if there is none."""
    parts = path.replace(os.sep, "/").split("/")
    return next((part for part in parts if part.strip(".") and part.startswith(".")), None)


def find_showing_server(path: str, *, url: str | None, token_file: str | None) -> Discovery:
    """Return the server that serves and shows a file or a folder; raise as `find_server` does.

    Raise `NoServer`, too, if the server that serves the path does not show the path.
    """
    discovery = find_server(path, url=url, token_file=token_file)
    if _is_hidden_from(discovery.server, path, url=url):
        message = f"{discovery.server.url} does not show {path!r}, which is hidden."
        raise NoServer(message, discovery.others)
    return discovery


def _is_hidden_from(server: Server, target: str, *, url: str | None) -> bool:
    """Return whether a server hides a path below its root, so that a command need not ask it.

    The command may then work on the file without this server. Return False if ``url`` or the
    environment names the server, and if the mode of the server is not ``edit``: a person who has
    paused agents, or reviews their changes, means hidden files, too.
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
        return response.status == HTTPStatus.NOT_FOUND and inspect_server(server).mode == "edit"
    except ClientError:
        return False
