"""Changes by other programs that several servers of one user notice."""

from __future__ import annotations

from pathlib import Path

from jupyter_nbedit.models import WriteRequest
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from tests.support import samples
from tests.support.services import EditingServices, ServiceBuilder
from tests.trust.test_random_histories import operations

NAME = "a.ipynb"


def look(server: EditingServices, file: Path) -> None:
    """Let a server that shows the notebook in a tab look at the file."""
    recorder = server.outside_changes
    recorder.set_open({NAME: {NAME}})
    (notebook,) = recorder.list_open()
    notebook.os_path = str(file)
    notebook.see(read_file_identity(str(file)))


async def examine(server: EditingServices) -> None:
    (notebook,) = server.outside_changes.list_open()
    await server.outside_changes.examine(notebook)


async def test_a_change_that_another_server_records_first_is_recorded_once(tmp_path: Path) -> None:
    builder = ServiceBuilder(tmp_path)
    first, second = (builder.build_editing(builder.build_storages()) for _ in range(2))
    file = builder.root / NAME
    file.write_bytes(samples.three_cells())
    for server in (first, second):
        look(server, file)
        await examine(server)
    replace = operations({"op": "replace", "cell": "beta", "source": "x"})
    await second.editor.edit(WriteRequest(NAME), replace)
    for server in (first, second):
        look(server, file)
    await examine(first)
    # The second server is slow: it has seen its own write, and examines it only later.
    file.write_bytes(samples.three_cells().replace(b"# Title", b"# By another program"))
    look(first, file)
    await examine(first)
    await examine(second)
    look(second, file)
    await examine(second)
    kinds = [edit.kind for edit in await first.history.list_page(NAME, limit=9)]
    await builder.close()
    assert kinds == ["outside", "edit"]
