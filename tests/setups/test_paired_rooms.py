"""Paired notebooks that are open in a room."""

from collections.abc import Iterator

import pytest

from tests.setups.needs import needs
from tests.setups.room_clients import CollaborationBackend, RoomServer, run_room_server
from tests.support import samples


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoomServer]:
    """Return a server in its own process with rooms and pairs."""
    needs("jupyter_server_ydoc")
    needs("jupytext")
    formats = "--ContentsManager.formats=ipynb,py:percent"
    with run_room_server(
        CollaborationBackend(), tmp_path_factory.mktemp("pairs"), formats, pairs=True
    ) as running:
        yield running


async def test_both_files_of_a_pair_get_an_edit_in_the_room(rooms: RoomServer) -> None:
    file = rooms.root / "pair.ipynb"
    file.write_bytes(samples.notebook(samples.code("x = 1", "a"), samples.markdown("# one", "b")))
    async with await rooms.enter("pair.ipynb") as person:
        for n in range(3):
            edit = {"op": "replace", "cell": "b", "source": f"# no. {n} 😀"}
            answer = await rooms.edit("pair.ipynb", edit)
            reply = answer.json
            assert (answer.status, reply["applied_via"], reply["persisted"]) == (200, "room", True)
            assert f"# no. {n} 😀" in file.read_text()
            assert f"# # no. {n} 😀" in file.with_suffix(".py").read_text()
        await person.wait_until(lambda: person.source(1) == "# no. 2 😀")
    cells = (await rooms.get_contents("pair.ipynb"))["content"]["cells"]
    assert cells[1]["source"] == "# no. 2 😀"
