"""Changes by other programs that several servers of one user notice."""

from pathlib import Path

import pytest

from jupyter_nbedit.errors import CellNotFound
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from tests.support import samples
from tests.support.served_folder import operations
from tests.support.services import EditingServices, ServiceBuilder

NAME = "a.ipynb"


def look(server: EditingServices, file: Path) -> None:
    """Let a server that shows the notebook in a tab look at the file."""
    examiner = server.outside_changes
    examiner.notebooks.set_open({NAME: {NAME}})
    (notebook,) = examiner.notebooks
    notebook.os_path = str(file)
    notebook.update_identity(read_file_identity(str(file)))


async def examine(server: EditingServices) -> None:
    (notebook,) = server.outside_changes.notebooks
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


async def test_an_id_of_a_cell_that_another_program_deletes_means_no_other_cell(
    tmp_path: Path,
) -> None:
    builder = ServiceBuilder(tmp_path)
    server = builder.build_editing(builder.build_storages())
    file = builder.root / NAME
    others = [samples.raw(each, each) for each in "abcd"]
    file.write_bytes(samples.notebook(*others, samples.raw("x", "cell-2")))
    look(server, file)
    await examine(server)
    left = samples.notebook(*others)
    file.write_bytes(left)

    # The change is found by this edit.
    with pytest.raises(CellNotFound, match="may have been deleted"):
        await server.editor.edit(WriteRequest(NAME), operations({"op": "delete", "cell": "cell-2"}))

    kinds = [edit.kind for edit in await server.history.list_page(NAME, limit=9)]
    await builder.close()
    assert kinds == ["outside"]
    assert file.read_bytes() == left


async def test_what_another_program_stores_about_looks_and_runs_is_no_change_of_a_cell(
    tmp_path: Path,
) -> None:
    picture = {"x.png": {"image/png": "AAAA"}}
    cells = [samples.code("1", "a"), samples.code("2", "b"), samples.markdown("3", "c")]
    cells[2]["attachments"] = picture
    builder = ServiceBuilder(tmp_path)
    server = builder.build_editing(builder.build_storages())
    file = builder.root / NAME
    file.write_bytes(samples.notebook(*cells))
    look(server, file)
    await examine(server)
    before = file.read_bytes()
    cells[0]["metadata"] = {"collapsed": True, "ExecuteTime": {"end_time": 1}, "papermill": {}}
    cells[1]["metadata"] = {"scrolled": True, "tags": ["new"]}
    del cells[2]["attachments"]
    file.write_bytes(samples.notebook(*cells))
    look(server, file)
    await examine(server)

    (edit,) = await server.history.list_page(NAME, limit=9)
    assert (edit.kind, [cell.cell_id for cell in edit.operations]) == ("outside", ["b"])
    unseen = await server.unseen.get(NAME, "ann")
    assert [
        (cell.cell_id, cell.after and cell.after.metadata["tags"]) for cell in unseen.cells
    ] == [("b", ["new"])]
    # Right after it, an undo restores every byte.
    await server.editor.undo(WriteRequest(NAME), edit.edit_id)
    assert file.read_bytes() == before
    await builder.close()
