"""What the ``NotebookEdit`` tools of three toolsets share: edit one cell, named by its id."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.models import OperationFactory
from jupyter_nbedit.notebook.document import Document, parse_index
from jupyter_nbedit.notebook.operations import CellType, Delete, Insert, Operation, Replace

EditMode = Annotated[
    Literal["replace", "insert", "delete"],
    Meta(description="What to do; `replace` if it is left out."),
]
NewSource = Annotated[
    str,
    Meta(
        description="The whole source of the cell afterwards. Required for `replace` and "
        "`insert`; `delete` does not look at it.",
    ),
]
AbsolutePath = Annotated[
    str,
    Meta(
        description="The absolute path of the notebook on the server's file system, below the "
        "folder that the server serves; it ends in .ipynb.",
    ),
]
AnyPath = Annotated[
    str,
    Meta(
        description="The path of the notebook, which ends in .ipynb: relative to the folder that "
        "the server serves, or absolute and below it.",
    ),
]
#: The description of `cell_type`.
CELL_TYPE_DESCRIPTION = Meta(
    description="The type of the cell. Required for `insert`; for `replace` it changes the cell's "
    "type, which stays if it is left out; `delete` does not look at it.",
)

_BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"

#: Sentences about outputs, for the descriptions of all three tools.
OUTPUTS = (
    "Replacing a code cell's source clears its outputs and its execution count, because they no "
    "longer belong to what it says; its id and metadata stay. All other cells stay byte for byte "
    "as they are. Nothing is executed, and no kernel is needed."
)


def create_base_36_id() -> str:
    """Return a random cell id of 12 digits of base 36."""
    return "".join(secrets.choice(_BASE_36) for _ in range(12))


def create_hex_id() -> str:
    """Return a random cell id of 8 hexadecimal digits."""
    return secrets.token_hex(4)


@dataclass(frozen=True)
class CellEdit:
    """The arguments that all three tools have.

    To insert a cell before all others, ``cell_id`` is empty.
    """

    edit_mode: Literal["replace", "insert", "delete"]
    cell_id: str
    new_source: str | UnsetType
    cell_type: CellType | UnsetType


def plan_edit(
    edit: CellEdit, *, create_id: Callable[[], str], accepts_numbers: bool = False
) -> OperationFactory:
    """Return a function that translates the arguments to operations on a given notebook.

    Parameters
    ----------
    edit
        The arguments.
    create_id
        Returns an id for a new cell; used if the notebook's format has ids.
    accepts_numbers
        Whether ``cell_id`` may be an index if no cell has that id.

    Raises
    ------
    InvalidRequest
        If an argument is missing that the mode needs.
    """
    cell_id, new_source, mode = edit.cell_id, edit.new_source, edit.edit_mode
    if mode != "delete" and new_source is UNSET:
        message = f"`{mode}` needs `new_source`, the cell's whole source; found none."
        raise InvalidRequest(message)
    if mode == "insert":
        _check_type(edit.cell_type, "To insert a cell")

    def plan(document: Document) -> Sequence[Operation]:
        address = _parse_address(document, cell_id, accepts_numbers=accepts_numbers)
        if mode == "delete":
            return [Delete(cell=address)]
        is_after_last = cell_id not in document.ids and cell_id == f"cell-{len(document)}"
        if mode == "replace" and not is_after_last:
            return [Replace(cell=address, source=new_source, cell_type=edit.cell_type)]
        new_id = _create_unused_id(document, create_id) if document.has_ids else UNSET
        source = "" if new_source is UNSET else new_source
        cell_type = _check_type(
            edit.cell_type, f"{cell_id!r} is behind the last cell. To insert one there"
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


def _parse_address(document: Document, cell_id: str, *, accepts_numbers: bool) -> str | int:
    index = parse_index(cell_id) if accepts_numbers and cell_id not in document.ids else None
    return cell_id if index is None else index


def _create_unused_id(document: Document, create_id: Callable[[], str]) -> str:
    while (cell_id := create_id()) in document.ids:
        pass
    return cell_id
