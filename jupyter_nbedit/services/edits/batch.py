"""`BatchPlanner` plans a batch of operations, after a check of the cells that they name."""

import asyncio
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from jupyter_nbedit.errors import CellNotFound
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.document import CellAddress, Document
from jupyter_nbedit.notebook.edit_plan import Kind
from jupyter_nbedit.notebook.operations import Operation, ReplaceText, TextEdit
from jupyter_nbedit.services.edits.planned_edit import PlannedEdit
from jupyter_nbedit.services.history.numbered_ids import check_numbered_ids
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import LoadedNotebook
from jupyter_nbedit.services.requests import OperationFactory, WriteRequest
from jupyter_nbedit.system.concurrency import SMALL_BYTES, run_in_thread_if_large

# How long one operation takes, as the number of bytes of a notebook that take as long to parse.
_OPERATION_WEIGHT = 2_000
# How long one value of an operation takes, in the same unit.
_VALUE_WEIGHT = 50
# So many characters are replaced in the time of one unit.
_CHARACTERS_PER_WEIGHT = 10


@dataclass(frozen=True)
class BatchPlanner:
    """Plans a batch; raises `CellNotFound` if it names a deleted cell by an id such as ``cell-3``.

    Without the history such a text would be an index, and mean another cell.
    """

    operations: Sequence[Operation] | OperationFactory
    request: WriteRequest
    history: EditStore
    kind: Kind = "edit"

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the batch."""
        operations, document = self.operations, notebook.document
        if callable(operations):
            # What it reads is not known before.
            operations = await asyncio.to_thread(operations, document)
        await self._check_addresses(document, operations)
        rev = self.request.rev or self.request.hash
        is_current = rev is not None and (await notebook.compute_hash()).startswith(rev)

        def apply() -> PlannedEdit:
            plan = apply_operations(
                document, operations, fresh_id=_create_id, is_current=is_current
            )
            return PlannedEdit.from_plan(notebook, plan, kind=self.kind)

        weight = estimate_weight(operations, len(notebook.content.data))
        return await run_in_thread_if_large(weight, apply)

    async def _check_addresses(self, document: Document, operations: Sequence[Operation]) -> None:
        path = self.request.path
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


def _list_addresses(operation: Operation) -> Iterator[CellAddress]:
    for name in ("cell", "after", "before"):
        if (address := getattr(operation, name, UNSET)) is not UNSET:
            yield address
    if (addresses := getattr(operation, "cells", UNSET)) is not UNSET:
        yield from addresses


def _create_id() -> str:
    return uuid.uuid4().hex[:8]


def estimate_weight(operations: Sequence[Operation], notebook_bytes: int) -> int:
    """Return how long operations take, as the bytes of a notebook that take as long to parse.

    All that they contain counts, and the longest texts that replacing can make of it. Counting
    stops where the operations are large: then a thread does the work.
    """
    weight = notebook_bytes + len(operations) * _OPERATION_WEIGHT
    characters = notebook_bytes
    values: list[Any] = list(operations)
    while values and weight <= SMALL_BYTES:
        value = values.pop()
        if isinstance(value, str):
            weight += len(value)
            characters += len(value)
        elif isinstance(value, dict):
            values += [*value, *value.values()]
            weight += len(value) * _VALUE_WEIGHT
        elif isinstance(value, list | tuple):
            values += value
            weight += len(value) * _VALUE_WEIGHT
        elif isinstance(value, msgspec.Struct):
            values += [getattr(value, name) for name in value.__struct_fields__]
    for edit in _iterate_text_edits(operations):
        if weight > SMALL_BYTES:
            break
        if edit.all is True:
            # Each occurrence of the old text becomes the new one.
            characters = max(characters, characters * len(edit.new or "") // len(edit.old or "x"))
        weight += characters // _CHARACTERS_PER_WEIGHT
    return weight


def _iterate_text_edits(operations: Sequence[Operation]) -> Iterator[ReplaceText | TextEdit]:
    for operation in operations:
        if isinstance(operation, ReplaceText):
            yield from [operation] if operation.edits is UNSET else operation.edits
