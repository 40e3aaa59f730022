"""`CheckedBatchPlanner` plans a batch of which no address is the id of a cell that is gone."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from jupyter_nbedit.errors import CellNotFound
from jupyter_nbedit.notebook.document import CellAddress
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.services.edits.planned_edit import BatchPlanner, PlannedEdit
from jupyter_nbedit.services.history.numbered_ids import check_numbered_ids
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import LoadedNotebook
from jupyter_nbedit.services.requests import OperationFactory, WriteRequest


@dataclass(frozen=True)
class CheckedBatchPlanner:
    """Plans a batch; raises `CellNotFound` if it names a deleted cell by an id such as ``cell-3``.

    Without the history such a text would be an index, and mean another cell.
    """

    operations: Sequence[Operation] | OperationFactory
    request: WriteRequest
    history: EditStore

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the batch."""
        operations, document, path = self.operations, notebook.document, self.request.path
        if callable(operations):
            # What it reads is not known before.
            operations = await asyncio.to_thread(operations, document)
        if self.request.cell is not None:
            await check_numbered_ids(self.history, path, document, [self.request.cell])
        named = [
            (number, address)
            for number, operation in enumerate(operations)
            for address in _list_addresses(operation)
        ]
        addresses = [address for _, address in named]
        try:
            await check_numbered_ids(self.history, path, document, addresses)
        except CellNotFound as error:
            error.details["operation"] = named[addresses.index(error.details["cell"])][0]
            raise
        rev = self.request.rev or self.request.hash
        return await BatchPlanner(operations, rev=rev).plan(notebook)


def _list_addresses(operation: Operation) -> Iterator[CellAddress]:
    for name in ("cell", "after", "before"):
        if (address := getattr(operation, name, UNSET)) is not UNSET:
            yield address
    if (addresses := getattr(operation, "cells", UNSET)) is not UNSET:
        yield from addresses
