"""The toolset ``omp``: ``notebook``, one cell at a time, by its index."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.agents.tools.base import Tool, ToolContext, ToolError, ToolResult, Toolset
from jupyter_nbedit.agents.tools.cell_edit import OUTPUTS, AnyPath, CellEditResult, ProposalId
from jupyter_nbedit.agents.tools.files import TextBlock
from jupyter_nbedit.errors import CellNotFound, InvalidRequest
from jupyter_nbedit.notebook import operations
from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.source_edit import use_line_feeds
from jupyter_nbedit.services.requests import Author, OperationFactory, WriteRequest

_DESCRIPTION = (
    "Edit, insert or delete one cell of a Jupyter notebook (.ipynb) on the Jupyter server, "
    "while it may be open in JupyterLab: the open tab shows the change at once. Cells are named "
    "by `cell_index`, counted from 0. `edit` replaces the whole source of the cell at 0..n-1 "
    "and keeps its type; `insert` puts a new cell so that it has that index afterwards, 0..n, "
    "where n (the number of cells) means after all; `delete` removes the cell at 0..n-1. "
    "Indexes shift with every insert and delete: read the notebook again, or count along. "
    f"{OUTPUTS} The answer is a text and `details` with the cell's index, type and source and "
    "the number of cells; after `delete`, `cellSource` is what was removed. A text that starts "
    "with `Error: ` means that nothing was changed, and says why."
)


class OmpInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``notebook`` takes."""

    action: Annotated[
        Literal["edit", "insert", "delete"], Meta(description="What to do with the cell.")
    ]
    notebook_path: AnyPath
    cell_index: Annotated[
        int,
        Meta(
            ge=0,
            le=operations.MAX_INTEGER,
            description="The index of the cell, counted from 0; for `insert`, the index that the "
            "new cell is to have, up to the number of cells.",
        ),
    ]
    content: Annotated[
        str | UnsetType,
        Meta(
            description="The whole source of the cell afterwards. Required for `edit` and "
            "`insert`; `delete` ignores it."
        ),
    ] = UNSET
    cell_type: Annotated[
        operations.CellType | UnsetType,
        Meta(
            description="For `insert`: the type of the new cell, `code` if it is left out. "
            "`edit` keeps the type: leave it out, or give the type that the "
            "cell has. `delete` ignores it."
        ),
    ] = UNSET


class OmpDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What ``notebook`` did, for programs."""

    action: str
    cell_index: int = msgspec.field(name="cellIndex")
    cell_type: str = msgspec.field(name="cellType")
    total_cells: int = msgspec.field(name="totalCells")
    cell_source: str = msgspec.field(name="cellSource")
    proposal_id: ProposalId | UnsetType = msgspec.field(name="proposalId", default=UNSET)


class OmpOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What ``notebook`` answers."""

    content: list[TextBlock]
    details: OmpDetails


class OmpFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What it answers when nothing was changed."""

    content: list[TextBlock]


async def _edit(context: ToolContext, author: Author, arguments: OmpInput) -> ToolResult:
    if arguments.action != "delete" and arguments.content is UNSET:
        message = f"`{arguments.action}` needs `content`, the cell's whole source; found none."
        raise InvalidRequest(message)
    path = context.map_notebook_path(arguments.notebook_path, relative=True)
    reply = await context.services.edits.edit(WriteRequest(path, author), _plan_edit(arguments))
    result = CellEditResult.from_reply(reply)
    source = result.source
    if arguments.content is not UNSET and arguments.action != "delete":
        is_unchanged = compute_source_hash(arguments.content) == reply.operations[0].source_hash
        source = arguments.content if is_unchanged else use_line_feeds(arguments.content)
    output = OmpOutput(
        content=[TextBlock(result.describe(arguments.notebook_path))],
        details=OmpDetails(
            action=arguments.action,
            cell_index=result.index,
            cell_type=result.cell_type,
            total_cells=reply.total_cells,
            cell_source=source,
            proposal_id=reply.proposal_id,
        ),
    )
    return ToolResult(output, reply.proposal_id)


def _plan_edit(arguments: OmpInput) -> OperationFactory:
    content = "" if arguments.content is UNSET else arguments.content

    def plan(document: Document) -> Sequence[operations.Operation]:
        index, total = arguments.cell_index, len(document)
        last = total if arguments.action == "insert" else total - 1
        if index > last:
            expected = f"expected 0 to {last}" if last >= 0 else "there is no cell"
            message = (
                f"cell_index {index} is out of range to {arguments.action}: {expected}, as the "
                f"notebook has {total} cells."
            )
            raise CellNotFound(message, cell=index, total_cells=total)
        if arguments.action == "insert":
            kind = "code" if arguments.cell_type is UNSET else arguments.cell_type
            return [operations.Insert(source=content, cell_type=kind, index=index)]
        if arguments.action == "delete":
            return [operations.Delete(cell=index)]
        cell_type = document.get_cell(index).cell_type
        if arguments.cell_type not in {UNSET, cell_type}:
            raise InvalidRequest(
                f"`edit` keeps a cell's type, and the cell at index {index} is a {cell_type} cell, "
                f"not a {arguments.cell_type} cell. Leave `cell_type` out, or delete the cell and "
                "insert another."
            )
        return [operations.Replace(cell=index, source=content)]

    return plan


def _build_failure(error: ToolError) -> OmpFailure:
    prefix = "" if error.notebook is None else f"{error.notebook}: "
    return OmpFailure(content=[TextBlock(f"Error: {prefix}{error.describe()}")])


_TOOLSET = Toolset("omp", OmpOutput, OmpFailure, _build_failure)
TOOLS = (Tool(_TOOLSET, "notebook", _DESCRIPTION, OmpInput, _edit),)
