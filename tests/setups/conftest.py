"""Servers with rooms."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setups.needs import needs
from tests.setups.room_clients import (
    CollaborationBackend,
    DocumentsBackend,
    RoomServer,
    run_room_server,
)

KINDS = ["collaboration", "documents"]
# A room of jupyter-collaboration that closes in the middle of a write leaves the database of all
# rooms locked, and each of them waits 5 seconds for it from then on.
_CLOSING = {
    "collaboration": ["--YDocExtension.document_cleanup_delay=1"],
    "documents": ["--YRoomManager.auto_free_interval=1", "--YRoom.inactivity_timeout=1"],
}
# Rooms save late enough that what is typed can be seen before.
_SAVING = {"collaboration": [], "documents": ["--YRoomFileAPI.min_poll_interval=1.5"]}


@pytest.fixture(scope="module", params=KINDS)
def rooms(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RoomServer]:
    """Return a server in its own process with one kind of rooms."""
    folder = tmp_path_factory.mktemp(request.param)
    with run_room_server(_backend(request.param), folder, *_SAVING[request.param]) as running:
        yield running


@pytest.fixture(params=KINDS)
def closing_rooms(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RoomServer]:
    """Return a server for one test, whose rooms close after the last client."""
    options = (*_SAVING[request.param], *_CLOSING[request.param])
    with run_room_server(_backend(request.param), tmp_path, *options) as running:
        yield running


def _backend(kind: str) -> CollaborationBackend | DocumentsBackend:
    if kind == "collaboration":
        needs("jupyter_server_ydoc", "setups")
        return CollaborationBackend()
    needs("jupyter_server_documents", "documents")
    return DocumentsBackend()


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    """Name a notebook that no other test has."""
    return f"{hashlib.sha256(request.node.name.encode()).hexdigest()[:8]}.ipynb"
