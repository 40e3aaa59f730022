"""A page of JupyterLab, as far as a server sees it: the connection that gives it an id."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager

import websocket

from tests.support.http import SECONDS, Client

#: The header with the id of a page.
PAGE_ID = "X-NbEdit-Page"


@contextmanager
def open_page(client: Client, token: str | None = None) -> Iterator[dict[str, str]]:
    """Open a page; return the header of a request by a person in it."""
    socket = websocket.create_connection(
        f"ws://127.0.0.1:{client.port}{client.base_url}nbedit/tabs",
        header={"Authorization": f"token {client.token if token is None else token}"},
        timeout=SECONDS,
    )
    with closing(socket):
        yield {PAGE_ID: json.loads(socket.recv())["page"]}
