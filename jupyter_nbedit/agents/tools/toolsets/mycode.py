"""The toolset ``mycode``: ``NotebookEdit`` with a summary for people and an optional copy."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.agents.tools.base import Tool, ToolContext, ToolError, ToolResult, Toolset
from jupyter_nbedit.agents.tools.cell_edit import (
    OUTPUTS,
    AnyPath,
    CellEditInput,
    CellEditResult,
    ProposalId,
    plan_edit,
)
from jupyter_nbedit.errors import Busy, HashMismatch, NotebookExists
from jupyter_nbedit.notebook.operations import MAX_INTEGER
from jupyter_nbedit.services.requests import Author, WriteRequest

_DESCRIPTION = (
    "Replace, insert or delete one cell of a Jupyter notebook (.ipynb) on the Jupyter server, "
    "while it may be open in JupyterLab: the open tab shows the edit at once. Read the notebook "
    "first to learn the ids of its cells. `replace` gives the cell `cell_id` a new source and, if "
    "`cell_type` is given, another type; `insert` puts a new cell AFTER the cell `cell_id`, or "
    "before all cells if `cell_id` is empty; `delete` removes the cell. A cell is named by its id; "
    "where no cell has that id, `cell-N` or a bare number N is the cell at index N, counted from "
    "0. To append a cell, `insert` after the last one, or `replace` at `cell-N` with N the number "
    f"of cells. {OUTPUTS} With `backup: true` a copy of the file is made beside it before it is "
    "changed. The "
    "answer has `success`, the cell's id and index, and a `summary` to show to the user; on "
    "failure `error` says what to do, lists up to 10 ids there are if yours fits none, and nothing "
    "was changed."
)
_MAX_COPIES = 1000


class MycodeInput(CellEditInput, frozen=True, kw_only=True):
    """What ``NotebookEdit`` takes."""

    notebook_path: AnyPath
    cell_id: Annotated[
        str | Annotated[int, Meta(ge=0, le=MAX_INTEGER)],
        Meta(
            description="The id of the cell. Only if no cell has that id, a bare number N is "
            "the cell at index N, counted from 0. `cell-N` is the same cell if no cell had that id "
            "or has another id of this form. For `insert`: the new cell goes "
            "after this one, and an empty text means before all cells."
        ),
    ]
    backup: Annotated[
        bool,
        Meta(
            description="Make a copy of the notebook's file beside it before it is edited, unless "
            "the edit changes nothing; the answer's `backup_path` says where. No file is ever "
            "overwritten by it. A notebook "
            "of more than 32 MiB is not copied, and not edited either."
        ),
    ] = False


class MycodeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What ``NotebookEdit`` answers, also on failure."""

    success: bool
    cell_id: str | int | None
    cell_index: int | None
    error: str | UnsetType = UNSET
    summary: str
    backup_path: str | UnsetType = UNSET
    proposal_id: ProposalId | UnsetType = UNSET


async def _edit(context: ToolContext, author: Author, arguments: MycodeInput) -> ToolResult:
    plan = plan_edit(arguments, accepts_numbers=True)
    path = context.map_notebook_path(arguments.notebook_path, relative=True)
    version, copy_path, cell = None, None, str(arguments.cell_id)
    if arguments.backup and await context.services.modes.get_effective(path) == "edit":
        # A dry run first: a call that fails leaves no copy.
        preview = await context.services.edits.edit(
            WriteRequest(path, author, dry_run=True, cell=cell), plan
        )
        version = preview.hash_before
        if context.services.edits.read_before_edit and version is not None:
            context.services.read_tracker.require(author.session, path, version)
        if preview.hash != version:
            name, copied_version = await _copy_file(context, path)
            # In the notation of the caller, which may have backslashes.
            folder_length = max(map(arguments.notebook_path.rfind, "/\\")) + 1
            copy_path = arguments.notebook_path[:folder_length] + name
            if copied_version != version:
                raise _build_changed_error(copy_path)
    try:
        reply = await context.services.edits.edit(
            WriteRequest(path, author, hash=version, cell=cell), plan
        )
    except HashMismatch as error:
        if copy_path is None:
            raise
        raise _build_changed_error(copy_path) from error
    result = CellEditResult.from_reply(reply)
    sentences = [] if copy_path is None else [f"A copy of the file as it was is {copy_path}."]
    if arguments.backup and copy_path is None:
        sentences = ["No copy of the file was made."]
    output = MycodeOutput(
        success=True,
        cell_id=result.cell_id,
        cell_index=result.index,
        summary=result.describe(arguments.notebook_path, *sentences),
        backup_path=UNSET if copy_path is None else copy_path,
        proposal_id=reply.proposal_id,
    )
    return ToolResult(output, reply.proposal_id)


async def _copy_file(context: ToolContext, path: str) -> tuple[str, str]:
    """Copy a file to an unused name in the same folder; return that name and the copy's hash."""
    content = await context.services.text_files.read(path)
    folder, slash, name = path.rpartition("/")
    for number in range(1, _MAX_COPIES):
        copy = f"{name}.bak" if number == 1 else f"{name}.bak-{number}"
        try:
            result = await context.services.text_files.create(
                f"{folder}{slash}{copy}", content.text
            )
        except NotebookExists:
            continue
        return copy, result.hash
    raise Busy(
        f"There are {_MAX_COPIES - 1} copies of this notebook in its folder already, so no other "
        "was made and nothing was edited. Remove some of them."
    )


def _build_changed_error(copy_path: str) -> HashMismatch:
    return HashMismatch(
        f"The notebook was changed while it was copied to {copy_path}, so it was not edited; the "
        "copy was made. Read the notebook again, and decide again."
    )


def _build_failure(error: ToolError) -> MycodeOutput:
    cell_id = error.arguments.get("cell_id")
    subject = "The notebook" if error.notebook is None else error.notebook
    return MycodeOutput(
        success=False,
        cell_id=cell_id if type(cell_id) in {str, int} else None,
        cell_index=None,
        error=error.describe(),
        summary=f"{subject} was not edited: {error.describe()}",
    )


_TOOLSET = Toolset("mycode", MycodeOutput, MycodeOutput, _build_failure)
TOOLS = (Tool(_TOOLSET, "NotebookEdit", _DESCRIPTION, MycodeInput, _edit),)
