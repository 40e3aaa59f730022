"""The toolset ``nexo``: ``NotebookEdit``, one cell at a time, on absolute paths."""

import secrets
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.agents.tools.base import Tool, ToolContext, ToolError, ToolResult, Toolset
from jupyter_nbedit.agents.tools.cell_edit import (
    CELL_TYPE_DESCRIPTION,
    OUTPUTS,
    CellEditInput,
    CellEditResult,
    ProposalId,
    describe_proposal,
    plan_edit,
)
from jupyter_nbedit.services.requests import Author, WriteRequest

_DESCRIPTION = (
    "Replace, insert or delete one cell of a Jupyter notebook (.ipynb) that the Jupyter server can "
    "see, while it may be open in JupyterLab: the open tab shows the edit at once. Read the "
    "notebook first to learn the ids of its cells. `replace` gives the cell `cell_id` a new "
    "source; `insert` puts a new cell AFTER the cell `cell_id`, or before all cells if `cell_id` "
    "is empty; `delete` removes the cell. Nothing is guessed: an id that no cell has is an error "
    "that lists up to 10 ids there are, and nothing is written then. To append a cell, `insert` "
    "after the last one, or `replace` at `cell-N` with N the number of cells. "
    f"{OUTPUTS} The answer gives the id of the cell, which for a new cell is the one to use from "
    "then on. Errors are `{error, message, details}`: `CellNotFound` and `AmbiguousCell` mean the "
    "id fits no cell or several; `CellProtected` that the notebook forbids it; `Busy` to try "
    "again; `PlanModeRefusal` that the server changes nothing at present."
)


_BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"


class NexoInput(CellEditInput, frozen=True, kw_only=True):
    """What ``NotebookEdit`` takes."""

    cell_id: Annotated[
        str,
        Meta(
            description="The id of the cell. Only if no cell has, or had, that id, and no "
            "cell has another id of this form, `cell-N` is the cell at index N, counted from 0. "
            "For `insert`: the new cell goes after this one, and an empty text means before all "
            "cells."
        ),
    ]
    cell_type: Annotated[Literal["code", "markdown"], CELL_TYPE_DESCRIPTION] | UnsetType = UNSET


class NexoOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ``NotebookEdit`` answers; ``edit_mode`` says what was done."""

    notebook_path: str
    edit_mode: str
    cell_id: str
    cell_type: str
    language: str | None
    total_cells: int
    cells_delta: int
    warnings: list[str] = []
    proposal_id: ProposalId | UnsetType = UNSET


class NexoFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What ``NotebookEdit`` answers on failure; ``error`` is the kind of error."""

    error: str
    message: str
    details: dict[str, Any]


def _create_id() -> str:
    """Return a random cell id of 12 digits of base 36."""
    return "".join(secrets.choice(_BASE_36) for _ in range(12))


async def _edit(context: ToolContext, author: Author, arguments: NexoInput) -> ToolResult:
    plan = plan_edit(arguments, create_id=_create_id)
    path = context.map_notebook_path(arguments.notebook_path, relative=False)
    reply = await context.services.edits.edit(
        WriteRequest(path, author, cell=arguments.cell_id), plan
    )
    result = CellEditResult.from_reply(reply)
    proposal = [] if reply.proposal_id is UNSET else [describe_proposal(reply)]
    output = NexoOutput(
        notebook_path=arguments.notebook_path,
        edit_mode=result.op,
        cell_id=result.cell_id,
        cell_type=result.cell_type,
        language=reply.language,
        total_cells=reply.total_cells,
        cells_delta=reply.cells_delta,
        warnings=reply.warnings + proposal,
        proposal_id=reply.proposal_id,
    )
    return ToolResult(output, reply.proposal_id)


def _build_failure(error: ToolError) -> NexoFailure:
    name = "".join(word.capitalize() for word in error.reason.split("_"))
    return NexoFailure(
        error="PlanModeRefusal" if error.reason == "plan_mode" else name,
        message=error.describe(),
        details=dict(error.details),
    )


_TOOLSET = Toolset("nexo", NexoOutput, NexoFailure, _build_failure)
TOOLS = (Tool(_TOOLSET, "NotebookEdit", _DESCRIPTION, NexoInput, _edit),)
