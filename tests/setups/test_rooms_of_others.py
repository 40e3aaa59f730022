"""A server without our extension that has rooms: commands do not edit beside a room."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_nbedit.client import Server
from jupyter_nbedit.client.errors import NotebookInRoom
from jupyter_nbedit.client.rooms import check_no_room
from jupyter_nbedit.client.server import Address
from tests.setups.conftest import KINDS, _backend
from tests.setups.room_clients import CollaborationBackend, RoomServer
from tests.support import samples
from tests.support.servers import run_server

WITHOUT_EXTENSION = 'c.ServerApp.jpserver_extensions["jupyter_nbedit"] = False\n'
CLOSING = "--YDocExtension.document_cleanup_delay=0"


@pytest.fixture(scope="module", params=KINDS)
def other(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RoomServer]:
    backend = _backend(request.param)
    folder = tmp_path_factory.mktemp("other")
    with run_server(
        folder,
        *backend.build_options(folder),
        *([CLOSING] if isinstance(backend, CollaborationBackend) else []),
        extensions=backend.extensions,
        configuration=WITHOUT_EXTENSION,
    ) as client:
        yield RoomServer(client, backend, folder)


async def check(other: RoomServer, path: str) -> str | None:
    """Return what is wrong with an edit of a notebook beside the server; None if nothing is."""
    client = other.client
    address = Address("http", "127.0.0.1", client.port, client.base_url)
    server = Server(address, str(client.root.resolve()), _token=client.token)
    try:
        await asyncio.to_thread(check_no_room, server, str(client.root / path))
    except NotebookInRoom as error:
        return error.message
    return None


async def test_a_notebook_that_was_never_open_has_no_room_and_gets_no_id(
    other: RoomServer, path: str
) -> None:
    (other.root / path).write_bytes(samples.three_cells())

    assert await check(other, path) is None
    assert await check(other, "missing.ipynb") is None
    assert not any(name.endswith(path) for name in other.list_file_ids())


@pytest.mark.parametrize("contents", ["json:notebook", "text:file"])
async def test_a_notebook_that_is_open_in_a_room_is_refused_and_the_room_stays_as_it_is(
    other: RoomServer, path: str, contents: str
) -> None:
    (other.root / path).write_bytes(samples.three_cells())
    async with await other.enter(path, contents):
        message = await check(other, path)

        assert message is not None
        assert "real-time collaboration" in message
        assert other.client.token not in message
    if isinstance(other.backend, CollaborationBackend):
        assert " is open" in message

        # The question has left nothing behind: the room ends as it would have.
        while await check(other, path) is not None:  # noqa: ASYNC110 -- another process
            await asyncio.sleep(0.05)


async def test_a_file_beside_rooms_of_other_files_can_be_edited(
    other: RoomServer, path: str
) -> None:
    (other.root / path).write_bytes(samples.three_cells())
    (other.root / f"other-{path}").write_bytes(samples.three_cells())
    async with await other.enter(path):
        assert await check(other, f"other-{path}") is None


def test_a_server_without_the_extension_and_without_rooms_has_none(tmp_path: Path) -> None:
    with run_server(tmp_path, configuration=WITHOUT_EXTENSION) as client:
        (client.root / "a.ipynb").write_bytes(samples.three_cells())
        address = Address("http", "127.0.0.1", client.port, client.base_url)
        server = Server(address, str(client.root), _token=client.token)
        check_no_room(server, str(client.root / "a.ipynb"))
