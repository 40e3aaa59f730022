"""Servers with rooms, for all who test what people do in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from tests.setups.needs import needs
from tests.setups.people import Collaboration, Documents, House, house

# Rooms are freed soon, and save late enough that what is typed can be seen before.
_OPTIONS = {
    "collaboration": ["--YDocExtension.document_cleanup_delay=1"],
    "documents": [
        "--YRoomManager.auto_free_interval=1",
        "--YRoom.inactivity_timeout=1",
        "--YRoomFileAPI.min_poll_interval=1.5",
    ],
}


@pytest.fixture(scope="module", params=["collaboration", "documents"])
def rooms(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    """Give a server of its own process with one kind of rooms."""
    backend: Collaboration | Documents
    if request.param == "collaboration":
        needs("jupyter_server_ydoc", "setups")
        backend = Collaboration()
    else:
        needs("jupyter_server_documents", "documents")
        backend = Documents()
    folder = tmp_path_factory.mktemp(request.param) / "house"
    with house(backend, folder, *_OPTIONS[request.param]) as running:
        yield running


@pytest.fixture
def path(request: pytest.FixtureRequest) -> str:
    """Name a notebook that no other test has."""
    return f"{hashlib.sha256(request.node.name.encode()).hexdigest()[:8]}.ipynb"
