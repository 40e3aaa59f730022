"""Whether a server without this extension has a notebook open in real-time collaboration.

A room writes its own state over the file, so an edit of the file would be lost. This module asks
the server without opening a room and without giving the file an id.
"""

import json
from http import HTTPStatus
from urllib.parse import quote, urlencode

from jupyter_nbedit.client.errors import NotebookInRoom
from jupyter_nbedit.client.server import Response, Server

# How long an answer may take, in seconds.
_SECONDS = 10.0
#: Formats and types in which a room can have a notebook open: the prefixes of its id.
_ROOM_TYPES = ("json:notebook", "text:file")
_NO_ROOM = "Root room not found"


def check_no_room(server: Server, path: str) -> None:
    """Raise `NotebookInRoom` if the server has the file open in a room, or if it cannot tell."""
    api_path = server.to_api_path(path)
    response = _send(server, "GET", f"api/fileid/id?{urlencode({'path': api_path})}")
    if response.status == HTTPStatus.NOT_FOUND:
        # A room needs the id of its file.
        return
    file_id = response.decode().get("id")
    if response.status != HTTPStatus.OK or not isinstance(file_id, str):
        raise _build_error(server, path, is_certain=False)
    session = f"api/collaboration/session/{quote(api_path)}"
    if _send(server, "OPTIONS", session).status == HTTPStatus.NOT_FOUND:
        _check_other_back_end(server, path, file_id)
        return
    for room_type in _ROOM_TYPES:
        _check_no_fork(server, path, f"{room_type}:{file_id}")


def _check_other_back_end(server: Server, path: str, file_id: str) -> None:
    # A request that is no WebSocket is refused before a room is opened. jupyter-server-documents
    # has no route that tells more.
    response = _send(server, "GET", f"api/collaboration/room/{_ROOM_TYPES[0]}:{file_id}")
    if response.status != HTTPStatus.NOT_FOUND:
        raise _build_error(server, path, is_certain=False)


def _check_no_fork(server: Server, path: str, room_id: str) -> None:
    """Ask jupyter-collaboration for a fork of a room, which only a room that is there can have."""
    body = json.dumps({"synchronize": False}).encode()
    response = _send(server, "PUT", f"api/collaboration/fork/{room_id}", body)
    content = response.decode()
    if response.status == HTTPStatus.NOT_FOUND and content.get("error") == _NO_ROOM:
        return
    fork_id = content.get("fork_roomid")
    if response.status == HTTPStatus.CREATED and isinstance(fork_id, str):
        _send(server, "DELETE", f"api/collaboration/fork/{quote(fork_id)}?merge=false")
        raise _build_error(server, path, is_certain=True)
    raise _build_error(server, path, is_certain=False)


def _send(server: Server, method: str, target: str, body: bytes | None = None) -> Response:
    return server.send(method, target, body, response_seconds=_SECONDS)


def _build_error(server: Server, path: str, *, is_certain: bool) -> NotebookInRoom:
    found = "is" if is_certain else "may be"
    return NotebookInRoom(
        f"{path!r} {found} open in real-time collaboration at {server.url}, which runs without "
        "jupyter_nbedit and would overwrite the change. Nothing was written. Install "
        "jupyter_nbedit in the environment of that server and restart it, or stop that server."
    )
