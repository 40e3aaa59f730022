"""Edits of one cell: the input of the ``NotebookEdit`` tools, the operations, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.notebook.document import Document, parse_index
from jupyter_nbedit.notebook.operations import CellType, Delete, Insert, Operation, Replace
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import OperationFactory

AnyPath = Annotated[
    str,
    Meta(
        description="The path of the notebook, which ends in .ipynb: relative to the folder that "
        "the server serves, or absolute and below it."
    ),
]
#: The description of `cell_type`.
CELL_TYPE_DESCRIPTION = Meta(
    description="The type of the cell. Required for `insert`; for `replace` it changes the "
    "cell's type, which stays if it is left out; `delete` ignores it."
)
#: Sentences about outputs, for the descriptions of all tools.
OUTPUTS = (
    "Replacing a code cell's source clears its outputs and its execution count, because they no "
    "longer match the source; its id and metadata stay. All other cells stay byte for byte as "
    "they are. Nothing is executed, and no kernel is needed."
)
#: In the results of every toolset: present if the call made a proposal, not an edit.
ProposalId = Annotated[
    int,
    Meta(
        description="Present if nothing was changed yet because a person decides first: the "
        "number of the proposal."
    ),
]
_VERBS = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}


class CellEditInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The arguments of the ``NotebookEdit`` tools; the toolsets describe some in other words."""

    notebook_path: Annotated[
        str,
        Meta(
            description="The absolute path of the notebook on the server's file system, below the "
            "folder that the server serves; it ends in .ipynb."
        ),
    ]
    cell_id: str | int
    new_source: Annotated[
        str | UnsetType,
        Meta(
            description="The whole source of the cell afterwards. Required for `replace` "
            "and `insert`; `delete` ignores it."
        ),
    ] = UNSET
    cell_type: Annotated[CellType, CELL_TYPE_DESCRIPTION] | UnsetType = UNSET
    edit_mode: Annotated[
        Literal["replace", "insert", "delete"],
        Meta(description="What to do; `replace` if it is left out."),
    ] = "replace"


def plan_edit(
    arguments: CellEditInput,
    *,
    create_id: Callable[[], str] | None = None,
    accepts_numbers: bool = False,
) -> OperationFactory:
    """Return a function that translates the arguments to operations on a given notebook.

    An empty ``cell_id`` inserts before all cells. ``create_id`` returns an id for a new cell, if
    the toolset has ids of a form of its own. If numbers are accepted, ``cell_id`` may be an index
    if no cell has that id. Raise `InvalidRequest` if an argument is missing that the mode needs.
    """
    new_source, mode = arguments.new_source, arguments.edit_mode
    if mode != "delete" and new_source is UNSET:
        raise InvalidRequest(f"`{mode}` needs `new_source`, the cell's whole source; found none.")
    if mode == "insert":
        _check_type(arguments.cell_type, "To insert a cell")

    def plan(document: Document) -> Sequence[Operation]:
        cell_id = document.read_id(str(arguments.cell_id))
        index = parse_index(cell_id) if accepts_numbers and cell_id not in document.ids else None
        address = cell_id if index is None else index
        if mode == "delete":
            return [Delete(cell=address)]
        is_after_last = cell_id not in document.ids and cell_id == f"cell-{len(document)}"
        if mode == "replace" and not is_after_last:
            return [Replace(cell=address, source=new_source, cell_type=arguments.cell_type)]
        new_id: str | UnsetType = UNSET
        if create_id is not None and document.has_ids:
            while (new_id := create_id()) in document.ids:
                pass
        source = "" if new_source is UNSET else new_source
        cell_type = _check_type(
            arguments.cell_type,
            f"{cell_id!r} is the position after the last cell. To insert a cell there",
        )
        if mode == "replace":
            return [Insert(source=source, cell_type=cell_type, id=new_id, at="end")]
        if cell_id == "":
            return [Insert(source=source, cell_type=cell_type, id=new_id, at="start")]
        return [Insert(source=source, cell_type=cell_type, id=new_id, after=address)]

    return plan


def _check_type(cell_type: CellType | UnsetType, why: str) -> CellType:
    if cell_type is UNSET:
        message = f"{why}, `cell_type` is required, as `code` or `markdown`; found none."
        raise InvalidRequest(message)
    return cell_type


@dataclass(frozen=True)
class CellEditResult:
    """The result of one operation on one cell, and the reply to the whole edit.

    ``cell_id`` is ``cell-N`` where the cell has no id; the index of a deleted cell is that before
    the edit, and ``source`` is what was deleted.
    """

    op: str
    cell_id: str
    index: int
    cell_type: str
    source: str
    reply: EditReply

    @classmethod
    def from_reply(cls, reply: EditReply) -> CellEditResult:
        """Build the result from the reply to an edit with one operation on one cell."""
        (result,) = reply.operations
        if result.index is None or result.cell_type is None:
            raise TypeError(f"Expected an operation on one cell, found {result.op!r}.")
        return cls(
            op=result.op,
            cell_id=f"cell-{result.index}" if result.cell_id is None else result.cell_id,
            index=result.index,
            cell_type=result.cell_type,
            source="" if result.source is UNSET else result.source,
            reply=reply,
        )

    def describe(self, notebook: str, *more: str) -> str:
        """Return a text with further sentences, and with the path as the caller wrote it."""
        reply = self.reply
        cell = f"{self.cell_type} cell {self.cell_id} (index {self.index})"
        clears_outputs = reply.operations[0].outputs_cleared is True
        if reply.proposal_id is not UNSET:
            outputs = ["Its outputs would be cleared."] if clears_outputs else []
            proposal = f"Proposed to {self.op} {cell} of {notebook}."
            sentences = [proposal, *outputs, describe_proposal(reply)]
        else:
            outputs = ["Its outputs were cleared."] if clears_outputs else []
            change = (
                f"{_VERBS[self.op]} {cell} of {notebook}, which has {reply.total_cells} cells now."
            )
            if not reply.is_written:
                change = f"Nothing to change: {cell} of {notebook} has this source already."
            sentences = [change, *outputs]
        return " ".join([*sentences, *more, *reply.warnings])


def describe_proposal(reply: EditReply) -> str:
    """Return a text that says that an edit waits for a decision, and where to ask for it."""
    return (
        f"Nothing is changed yet: a person decides first. This is proposal {reply.proposal_id}; "
        f"GET /nbedit/proposals/{reply.proposal_id}?wait=60 returns the decision."
    )
