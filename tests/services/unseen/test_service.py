"""What is left of several edits for users that have seen different ones of them."""

import json
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import permutations
from typing import Any

from jupyter_nbedit.services.requests import Author, WriteRequest
from jupyter_nbedit.services.unseen.models import UnseenCell
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from tests.support import samples
from tests.support.served_folder import ServedFolder, operations, serve_folder

NAME = "a.ipynb"
THREE_CELLS = samples.three_cells()


class Notebook:
    """One notebook, which the agents of several users edit."""

    def __init__(self, served: ServedFolder, text: bytes) -> None:
        self.served = served
        self.write(text)

    def write(self, text: bytes) -> None:
        (self.served.root / NAME).write_bytes(text)

    def read(self) -> bytes:
        return (self.served.root / NAME).read_bytes()

    async def edit(self, *batch: dict[str, Any]) -> None:
        request = WriteRequest(NAME, Author("ann", "Claude", account="ann"))
        await self.served.services.editor.edit(request, operations(*batch))

    async def list_unseen(self, user: str = "ann") -> list[UnseenCell]:
        return list((await self.served.services.unseen.get(NAME, user)).cells)

    async def look(self) -> None:
        """Look at the file, as the server does for a notebook that a tab shows."""
        examiner = self.served.services.outside_changes
        examiner.notebooks.set_open({NAME: {NAME}})
        (notebook,) = examiner.notebooks
        notebook.os_path = str(self.served.root / NAME)
        notebook.update_identity(read_file_identity(notebook.os_path))
        await examiner.examine(notebook)

    async def keep(self, *cells: UnseenCell, user: str = "ann") -> None:
        await self.served.services.unseen.keep(NAME, user, [cell.key for cell in cells], None)

    async def undo(self, *cells: UnseenCell, user: str = "ann") -> None:
        request = WriteRequest(NAME, Author(user, "Claude", account=user))
        await self.served.services.unseen.undo(request, [cell.key for cell in cells], None)


@asynccontextmanager
async def open_notebook(text: bytes = THREE_CELLS) -> AsyncIterator[Notebook]:
    async with serve_folder() as served:
        yield Notebook(served, text)


def move(cell: str, **place: str) -> dict[str, Any]:
    return {"op": "move", "cell": cell, **place}


def replace(cell: str | int, source: str) -> dict[str, Any]:
    return {"op": "replace", "cell": cell, "source": source}


async def test_undo_of_a_cell_does_not_show_one_that_was_moved_back() -> None:
    async with open_notebook() as notebook:
        await notebook.edit(move("beta", at="start"))
        await notebook.edit(move("gamma", at="start"))
        await notebook.edit(move("gamma", at="end"))
        await notebook.edit(replace("gamma", "x"), replace("alpha", "x"))
        await notebook.edit(replace("gamma", "as is"))
        beta, alpha = await notebook.list_unseen()
        await notebook.undo(beta)
        assert [cell.key for cell in await notebook.list_unseen()] == [alpha.key]


async def test_keep_of_a_cell_does_not_show_one_that_was_moved_back() -> None:
    async with open_notebook() as notebook:
        await notebook.edit(move("beta", at="start"))
        await notebook.edit(move("alpha", at="start"), {"op": "delete", "cell": "gamma"})
        await notebook.edit(replace("beta", "x"))
        beta, gamma = await notebook.list_unseen()
        assert (beta.cell_id, beta.moved) == ("beta", False)
        await notebook.keep(beta)
        assert [cell.key for cell in await notebook.list_unseen()] == [gamma.key]


async def test_an_edit_between_a_move_and_its_undo_is_not_shown_as_a_move() -> None:
    outputs = [samples.HTML_OUTPUT]
    text = samples.notebook(
        samples.markdown("x", "a"), samples.code("y", "b", outputs=outputs), samples.raw("z", "c")
    )
    _, *orders = map(list, permutations("abc"))
    for cells in [["b"], ["c"], *orders]:
        async with open_notebook(text) as notebook:
            # A cell may be named that has the same place among the others afterwards.
            await notebook.edit({"op": "move", "cells": cells, "at": "start"})
            await notebook.edit({"op": "clear_outputs", "all": True})
            await notebook.served.services.editor.undo(WriteRequest(NAME), 1)
            changed = await notebook.list_unseen("bob")
            assert changed
            assert [each.cell_id for each in changed if each.moved] == [], cells
            assert [each.index_before for each in changed] == [each.index for each in changed]


async def test_after_undo_of_all_cells_nothing_is_shown() -> None:
    async with open_notebook() as notebook:
        before = notebook.read()
        await notebook.edit(move("alpha", at="end"), move("beta", at="end"))
        await notebook.edit({"op": "delete", "cells": ["alpha", "gamma"]})
        await notebook.undo(*await notebook.list_unseen())
        assert notebook.read() == before
        assert await notebook.list_unseen() == []


async def test_a_restored_cell_without_id_is_not_shown_as_deleted_and_inserted() -> None:
    text = samples.notebook(samples.code("a"), samples.code("b"), minor=4)
    async with open_notebook(text) as notebook:
        await notebook.edit({"op": "delete", "cell": 0})
        await notebook.undo(*await notebook.list_unseen())
        assert await notebook.list_unseen("bob") == []


async def test_a_deleted_cell_is_shown_where_it_was_also_if_it_was_restored_before() -> None:
    async with open_notebook() as notebook:
        await notebook.edit(move("beta", at="start"))
        await notebook.edit({"op": "delete", "cell": "alpha"})
        await notebook.served.services.editor.undo(WriteRequest(NAME), whose="all")
        await notebook.edit({"op": "delete", "cell": "alpha"})
        (alpha,) = await notebook.list_unseen()
        assert (alpha.index_before, alpha.gap) == (0, 0)


async def test_a_cell_that_a_person_has_deleted_is_not_shown_as_deleted_by_an_agent() -> None:
    async with open_notebook() as notebook:
        await notebook.edit({"op": "delete", "cell": "beta"})
        await notebook.undo(*await notebook.list_unseen())
        content = json.loads(notebook.read())
        del content["cells"][1]
        notebook.write(json.dumps(content).encode())
        assert await notebook.list_unseen("bob") == []


async def test_an_edit_is_not_seen_because_another_program_has_just_changed_its_cell() -> None:
    async with open_notebook() as notebook:
        await notebook.edit(replace("alpha", "x = 2"))
        await notebook.look()
        notebook.write(notebook.read().replace(b"x = 2", b"x = 3"))
        (alpha,) = await notebook.list_unseen()
        assert (alpha.before is not None, len(alpha.edit_ids)) == (True, 2)
        # What is written next is compared with this version.
        notebook.write(notebook.read().replace(b"# Title", b"# New title"))
        cells = await notebook.list_unseen()
        assert [cell.cell_id for cell in cells] == ["alpha", "beta"]
        await notebook.undo(*cells)
        assert notebook.read() == THREE_CELLS


async def test_restore_returns_the_bytes_from_before_another_program_wrote_all_anew() -> None:
    async with open_notebook() as notebook:
        await notebook.look()
        await notebook.edit(replace("alpha", "x = 2"))
        await notebook.look()
        (edit,) = await notebook.served.services.history.list_page(NAME, limit=1)
        before = notebook.read()
        notebook.write(json.dumps(json.loads(before.replace(b"# Title", b"# New"))).encode())
        await notebook.look()
        await notebook.edit(replace("gamma", "text"))
        await notebook.served.services.editor.restore(WriteRequest(NAME), edit.edit_id)
        assert notebook.read() == before


async def test_the_texts_that_many_edits_have_removed_are_not_in_memory_together() -> None:
    async with open_notebook() as notebook:
        for number in range(30):
            await notebook.edit(replace("alpha", f"{number % 10}" * 1_000_000))
        tracemalloc.start()
        try:
            (cell,) = await notebook.list_unseen()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(cell.edit_ids) == 30
        assert peak < 20_000_000


async def test_an_undo_of_an_edit_counts_only_for_the_cells_that_it_has_changed() -> None:
    async with open_notebook() as notebook:
        before = notebook.read()
        await notebook.edit({"op": "clear_outputs", "all": True}, replace("beta", "x"))
        alpha, _ = await notebook.list_unseen()
        await notebook.undo(alpha)
        # Only the cell that is not as before is left to be undone.
        await notebook.served.services.editor.undo(WriteRequest(NAME), 1)
        assert notebook.read() == before
        assert await notebook.list_unseen("bob") == []


async def test_cells_that_return_after_being_deleted_twice_are_not_shown_as_moved() -> None:
    async with open_notebook() as notebook:
        await notebook.edit({"op": "clear_outputs", "all": True})
        await notebook.edit({"op": "delete", "cells": ["alpha", "beta"]})
        await notebook.served.services.editor.undo(WriteRequest(NAME), whose="all")
        await notebook.edit(replace("alpha", "x"), replace("beta", "x"))
        await notebook.edit(move("alpha", after="beta"))
        await notebook.edit({"op": "delete", "cells": ["alpha", "beta", "gamma"]})
        await notebook.edit({"op": "insert", "at": "end", "cell_type": "raw", "source": "new"})
        *deleted, new = sorted(
            await notebook.list_unseen(), key=lambda cell: cell.after is not None
        )
        await notebook.undo(*deleted)
        assert [cell.key for cell in await notebook.list_unseen("bob")] == [new.key]
