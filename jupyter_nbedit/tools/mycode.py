"""The dialect ``mycode``: ``NotebookEdit`` with an answer for people, and a copy on demand."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import Busy, HashMismatch
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER, CellType
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.tools.base import Caller, Tool, ToolContext, ToolError
from jupyter_nbedit.tools.notebook_edit import (
    CELL_TYPE_DESCRIPTION,
    OUTPUTS,
    AnyPath,
    CellEdit,
    EditMode,
    NewSource,
    create_hex_id,
    plan_edit,
)
from jupyter_nbedit.tools.results import CellEditResult, ProposalId

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
_TRIES = 1000


class Input(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``NotebookEdit`` takes."""

    notebook_path: AnyPath
    cell_id: Annotated[
        str | Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)],
        Meta(
            description="The id of the cell. Only if no cell has that id, `cell-N` or a bare "
            "number N is the cell at index N, counted from 0. For `insert`: the new cell goes "
            "after this one, and an empty text means before all cells.",
        ),
    ]
    new_source: NewSource | UnsetType = UNSET
    cell_type: Annotated[CellType, CELL_TYPE_DESCRIPTION] | UnsetType = UNSET
    edit_mode: EditMode = "replace"
    backup: Annotated[
        bool,
        Meta(
            description="Make a copy of the notebook's file beside it before it is edited, unless "
            "the edit changes nothing; the answer's `backup_path` says where. No file is ever "
            "overwritten by it. A notebook "
            "of more than 32 MiB is not copied, and not edited either.",
        ),
    ] = False


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What it answers, whether it was done or not."""

    success: bool
    cell_id: str | int | None
    cell_index: int | None
    error: str | UnsetType = UNSET
    summary: str
    backup_path: str | UnsetType = UNSET
    proposal_id: ProposalId | UnsetType = UNSET


async def _edit(services: ToolContext, caller: Caller, given: Input) -> Output:
    edit = CellEdit(given.edit_mode, str(given.cell_id), given.new_source, given.cell_type)
    plan = plan_edit(edit, fresh_id=create_hex_id, bare_numbers=True)
    path = services.map_notebook_path(given.notebook_path, relative=True)
    only: dict[str, Any] = {}
    copy = None
    is_reviewed = await services.is_reviewed(path)
    if given.backup and not is_reviewed:
        # What will be refused leaves no copy behind.
        would = await services.edit(path, plan, caller, "mycode/NotebookEdit", dry_run=True)
        services.check_read(caller, path, would.hash_before)
        only["hash"] = would.hash_before
        if would.hash != would.hash_before:
            copy, copied_hash = await _copy_file(services, path)
            if copied_hash != would.hash_before:
                raise _build_changed_error(_name_copy(given.notebook_path, copy))
    try:
        reply = await services.edit(path, plan, caller, "mycode/NotebookEdit", **only)
    except HashMismatch as error:
        if copy is None:
            raise
        raise _build_changed_error(_name_copy(given.notebook_path, copy)) from error
    done = CellEditResult.from_reply(reply)
    where = None if copy is None else _name_copy(given.notebook_path, copy)
    more = [] if where is None else [f"A copy of the file as it was is {where}."]
    if given.backup and copy is None:
        more = ["No copy of the file was made."]
    return Output(
        success=True,
        cell_id=done.cell_id,
        cell_index=done.index,
        summary=done.describe(given.notebook_path, *more),
        backup_path=UNSET if where is None else where,
        proposal_id=reply.proposal_id,
    )


async def _copy_file(services: ToolContext, path: str) -> tuple[str, str]:
    """Copy a file beside itself, to a name that is free; give that name and the copy's hash."""
    content = await services.texts.read(path)
    folder, slash, name = path.rpartition("/")
    for number in range(1, _TRIES):
        copy = f"{name}.bak" if number == 1 else f"{name}.bak-{number}"
        try:
            written = await services.texts.save(f"{folder}{slash}{copy}", content.text, None)
        except StaleContent:
            continue
        return copy, written.hash
    message = (
        f"There are {_TRIES - 1} copies of this notebook beside it already, so no other was made "
        "and nothing was edited. Remove some of them."
    )
    raise Busy(message)


def _name_copy(given: str, name: str) -> str:
    """Return where a copy is, in the caller's own way to say where the notebook is."""
    return f"{given[: len(given) - len(given.replace(chr(92), '/').rpartition('/')[2])]}{name}"


def _build_changed_error(where: str) -> HashMismatch:
    message = (
        f"The notebook was changed while it was copied to {where}, so it was not edited; the copy "
        "was made all the same. Read the notebook again, and decide anew."
    )
    return HashMismatch(message)


def _refuse(refusal: ToolError) -> Output:
    cell_id = refusal.given.get("cell_id")
    notebook = refusal.get_input_text("notebook_path")
    of = "The notebook" if notebook is None else notebook
    return Output(
        success=False,
        cell_id=cell_id if type(cell_id) in {str, int} else None,
        cell_index=None,
        error=refusal.describe(),
        summary=f"{of} was not edited: {refusal.describe()}",
    )


NOTEBOOK_EDIT = Tool("mycode", "NotebookEdit", _DESCRIPTION, Input, _edit, _refuse)
