"""What is left of several edits for users that have seen different ones of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jupyter_nbedit.edits.unseen import UnseenCell
from jupyter_nbedit.models import Author, WriteRequest
from tests.support import samples
from tests.trust.test_random_histories import ServedFolder, operations, serve_folder

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
        request = WriteRequest(NAME, Author("ann", "Claude", principal="ann"))
        await self.served.services.editor.edit(request, operations(*batch))

    async def list_unseen(self, user: str = "ann") -> list[UnseenCell]:
        return list((await self.served.services.unseen.get(NAME, user)).cells)

    async def keep(self, *cells: UnseenCell, user: str = "ann") -> None:
        await self.served.services.unseen.keep(NAME, user, [cell.key for cell in cells], None)

    async def undo(self, *cells: UnseenCell, user: str = "ann") -> None:
        request = WriteRequest(NAME, Author(user, "Claude", principal=user))
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
