"""A batch of operations applied to a document: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook import effects
from jupyter_nbedit.notebook.actions import Touched, perform
from jupyter_nbedit.notebook.arrange import Order
from jupyter_nbedit.notebook.diff import Change, MetadataChange
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.drafts import Draft
from jupyter_nbedit.notebook.edits import Edit
from jupyter_nbedit.notebook.forms import check_form
from jupyter_nbedit.notebook.operations import (
    ClearOutputs,
    Merge,
    Operation,
    Replace,
    ReplaceText,
    Split,
    name_of,
)
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.workspace import Workspace

_CLEARING = (Replace, ReplaceText, Split, Merge, ClearOutputs)


class TouchedCell(msgspec.Struct, frozen=True, kw_only=True):
    """One of the cells that an operation touched."""

    cell_id: str | None
    index: Annotated[
        int,
        Meta(
            description="Where the cell stands after the batch; of one that is gone, where it "
            "stood before."
        ),
    ]
    cell_type: str
    source_hash: str
    outputs_cleared: (
        Annotated[bool, Meta(description="Whether the cell had outputs and has none any more.")]
        | UnsetType
    ) = UNSET
    source: (
        Annotated[str, Meta(description="What the cell said, if the operation took it out.")]
        | UnsetType
    ) = UNSET


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation did.

    The fields of a cell are those of the one cell that the operation names or makes; they are null
    if it is about several, which are in ``cells``, or about the notebook as a whole.
    """

    op: str
    cell_id: str | None
    index: Annotated[
        int | None,
        Meta(
            description="Where the cell stands after the batch; of a deleted one, where it stood "
            "before."
        ),
    ]
    cell_type: str | None
    source_hash: str | None
    outputs_cleared: bool | UnsetType = UNSET
    source: (
        Annotated[str, Meta(description="What the cell said, if the operation took it out.")]
        | UnsetType
    ) = UNSET
    cells: (
        Annotated[
            list[TouchedCell],
            Meta(
                description="All cells the operation touched, if it is one that may touch several."
            ),
        ]
        | UnsetType
    ) = UNSET

    def entries(self) -> Iterator[dict[str, Any]]:
        """Give what an event tells of the operation: one entry for each cell."""
        for cell in [self] if self.cells is UNSET else self.cells:
            yield {"op": self.op, "cell_id": cell.cell_id, "index": cell.index}


@dataclass(frozen=True)
class Applied:
    """What a batch does to a document.

    Parameters
    ----------
    splices
        On the document's bytes; none if nothing changes.
    results
        One for each operation.
    changes
        What a reader of a diff is shown.
    total_cells
        How many cells there are afterwards.
    edit
        Gives what the batch does, cell by cell.
    """

    splices: list[Splice]
    results: list[Result]
    changes: list[Change | MetadataChange]
    total_cells: int
    edit: Callable[[], Edit]

    def record(self) -> Record:
        """Give what is to be kept so that the batch can be taken back."""
        return self.edit().record()

    def offer(self) -> Record:
        """Give what is to be kept so that the batch can be done later, or a part of it.

        It is the record of the opposite edit, on the notebook as the batch would leave it: to take
        that back is to do the batch. The notebook is parsed for it.
        """
        return self.edit().opposite().record()


def apply(
    document: Document, operations: Sequence[Operation], *, fresh_id: Callable[[], str]
) -> Applied:
    """Work out what a batch of operations does.

    Parameters
    ----------
    document
        The notebook. Ids, indexes, sections and guards mean it, as it is before the batch; texts
        and protections mean the cells as the operations before have left them.
    operations
        The batch. An operation may name a cell that an earlier one inserted with an id.
    fresh_id
        Gives a random cell id; called again if a cell has it already.

    Raises
    ------
    NbEditError
        The first refusal; ``details["operation"]`` is the index of the operation it is about.
    """
    workspace = Workspace(document, fresh_id)
    done: list[tuple[int, Operation, Touched]] = []
    for number, operation in enumerate(operations):
        try:
            check_form(operation)
            done.append((number, operation, perform(operation, workspace, number)))
        except NbEditError as refusal:
            refusal.details.setdefault("operation", number)
            raise
    order = workspace.arrangement.order()
    return worked_out(workspace, order, [_result(order, *each) for each in done])


def worked_out(
    workspace: Workspace,
    order: Order,
    results: list[Result],
    exact: Sequence[Splice] | None = None,
) -> Applied:
    """Say what has been done to a notebook.

    Parameters
    ----------
    workspace
        The notebook, with all its cells and its metadata as they shall be.
    order
        The order in which they shall stand.
    results
        What is answered.
    exact
        Splices that do the same, to be taken instead of those that would be made.
    """
    splices = effects.splices(workspace, order) if exact is None else list(exact)
    return Applied(
        splices=splices,
        results=results,
        changes=list(effects.changes(workspace, order)),
        total_cells=len(order),
        edit=partial(effects.edit, workspace, order, splices),
    )


def _result(order: Order, number: int, operation: Operation, touched: Touched) -> Result:
    nothing = dict.fromkeys(("cell_id", "index", "cell_type", "source_hash"))
    told = nothing if touched.cell is None else _told(order, number, operation, touched.cell)
    cells: list[TouchedCell] | UnsetType = UNSET
    if touched.cells is not None:
        cells = [TouchedCell(**_told(order, number, operation, one)) for one in touched.cells]
    if isinstance(operation, Merge) and touched.cells is not None:
        # The outputs of all its parts go.
        told["outputs_cleared"] = any(one.outputs_cleared for one in touched.cells)
    return Result(op=name_of(operation), cells=cells, **told)


def _told(order: Order, number: int, operation: Operation, draft: Draft) -> dict[str, Any]:
    """Give what is told of a cell that an operation touched."""
    taken_out = draft.gone_by == number
    clears = isinstance(operation, _CLEARING) and not taken_out
    return {
        "cell_id": draft.id,
        "index": _index(order, draft),
        "cell_type": draft.cell_type,
        "source_hash": draft.source_hash,
        "outputs_cleared": draft.outputs_cleared if clears else UNSET,
        "source": draft.source if taken_out else UNSET,
    }


def _index(order: Order, draft: Draft) -> int:
    return order.index(draft.token) if draft.gone_by is None else draft.near
