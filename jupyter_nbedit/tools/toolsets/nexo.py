"""The toolset ``nexo``: ``NotebookEdit``, one cell at a time, on absolute paths."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.tools.base import Caller, Tool, ToolContext, ToolError
from jupyter_nbedit.tools.notebook_edit import (
    CELL_TYPE_DESCRIPTION,
    OUTPUTS,
    AbsolutePath,
    CellEdit,
    EditMode,
    NewSource,
    create_base_36_id,
    plan_edit,
)
from jupyter_nbedit.tools.results import CellEditResult, ProposalId, describe_proposal

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


class NexoInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``NotebookEdit`` takes."""

    notebook_path: AbsolutePath
    cell_id: Annotated[
        str,
        Meta(
            description="The id of the cell. Only if no cell has that id, `cell-N` is the cell at "
            "index N, counted from 0. For `insert`: the new cell goes after this one, and an empty "
            "text means before all cells.",
        ),
    ]
    new_source: NewSource | UnsetType = UNSET
    cell_type: Annotated[Literal["code", "markdown"], CELL_TYPE_DESCRIPTION] | UnsetType = UNSET
    edit_mode: EditMode = "replace"


class NexoOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What it answers; ``edit_mode`` is what was result."""

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


async def _edit(context: ToolContext, caller: Caller, arguments: NexoInput) -> NexoOutput:
    edit = CellEdit(
        arguments.edit_mode, arguments.cell_id, arguments.new_source, arguments.cell_type
    )
    plan = plan_edit(edit, create_id=create_base_36_id)
    path = context.map_notebook_path(arguments.notebook_path, relative=False)
    reply = await context.edit(path, plan, caller, "nexo/NotebookEdit")
    result = CellEditResult.from_reply(reply)
    return NexoOutput(
        notebook_path=arguments.notebook_path,
        edit_mode=result.op,
        cell_id=result.cell_id,
        cell_type=result.cell_type,
        language=reply.language,
        total_cells=reply.total_cells,
        cells_delta=reply.cells_delta,
        warnings=reply.warnings
        + ([] if reply.proposal_id is UNSET else [describe_proposal(reply)]),
        proposal_id=reply.proposal_id,
    )


def _build_failure(error: ToolError) -> NexoFailure:
    name = "".join(word.capitalize() for word in error.reason.split("_"))
    return NexoFailure(
        error="PlanModeRefusal" if error.reason == "plan_mode" else name,
        message=error.describe(),
        details=dict(error.details),
    )


NOTEBOOK_EDIT = Tool("nexo", "NotebookEdit", _DESCRIPTION, NexoInput, _edit, _build_failure)
