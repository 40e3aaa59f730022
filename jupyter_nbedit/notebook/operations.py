"""The operations as data, and what they do to a document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidOperation

_DEEPEST_METADATA = 100

CellType = Literal["code", "markdown", "raw"]
CellId = Annotated[
    str,
    Meta(
        # Python's `$` also matches before a last line feed, and JSON Schema knows no better anchor.
        pattern=r"^[a-zA-Z0-9_-]{1,64}$(?!\n)",
        description="An nbformat cell id: 1 to 64 letters, digits, hyphens and underscores.",
    ),
]
Index = Annotated[int, Meta(ge=0, description="A position from 0.")]
Cell = Annotated[
    str | Annotated[int, Meta(ge=0)],
    Meta(
        description="The cell: a string is its id or, only if no cell has that id, `cell-N` with N "
        "from 0; an integer is its index from 0. Both mean the notebook as it was before the batch."
    ),
]


class Expect(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What the cell must still say for the operation to be done: one of the two."""

    source_hash: str | UnsetType = UNSET
    source: str | UnsetType = UNSET


class _Operation(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="op"):
    """What all operations have in common: nothing but their form."""


class Position(_Operation, frozen=True, kw_only=True):
    """Where a cell goes: exactly one of the four. There is no default."""

    after: Cell | UnsetType = UNSET
    before: Cell | UnsetType = UNSET
    index: Index | UnsetType = UNSET
    at: Literal["start", "end"] | UnsetType = UNSET


class Replace(_Operation, frozen=True, tag="replace", kw_only=True):
    """Replace a cell's source, its type, or both.

    A code cell's outputs and execution count are cleared, because they no longer belong to what it
    says, unless ``outputs`` is ``keep``. Id and metadata stay.
    """

    cell: Cell
    source: str | UnsetType = UNSET
    cell_type: CellType | UnsetType = UNSET
    outputs: Literal["clear", "keep"] = "clear"
    expect: Expect | UnsetType = UNSET


class Insert(Position, frozen=True, tag="insert", kw_only=True):
    """Insert a new cell.

    It gets a fresh id, or the given one, only where the file's format has ids (nbformat 4.5 on).
    """

    source: str
    cell_type: CellType
    id: CellId | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Delete(_Operation, frozen=True, tag="delete", kw_only=True):
    """Delete a cell; the answer carries its source."""

    cell: Cell
    expect: Expect | UnsetType = UNSET


class Move(Position, frozen=True, tag="move", kw_only=True):
    """Move a cell; its bytes stay as they are."""

    cell: Cell
    expect: Expect | UnsetType = UNSET


Operation = Replace | Insert | Delete | Move


def name_of(operation: Operation) -> str:
    """Give the operation's name, the value of its ``op``."""
    return str(operation.__struct_config__.tag)


def check_form(operation: Operation) -> None:
    """Refuse what the types cannot: no notebook is needed to see that it is wrong.

    Raises
    ------
    InvalidOperation
        Without the operation's index, which the caller knows.
    """
    if isinstance(operation, Position):
        _check_position(operation)
    if isinstance(operation, Insert) and operation.metadata is not UNSET:
        _check_metadata(operation.metadata)
    if isinstance(operation, Replace) and operation.source is operation.cell_type is UNSET:
        message = "`replace` needs a `source`, a `cell_type`, or both; found neither."
        raise InvalidOperation(message)
    expect = getattr(operation, "expect", UNSET)
    if expect is not UNSET and (expect.source is UNSET) == (expect.source_hash is UNSET):
        message = "`expect` needs exactly one of `source` and `source_hash`."
        raise InvalidOperation(message)


def _check_position(operation: Position) -> None:
    names = ("after", "before", "index", "at")
    given = [name for name in names if getattr(operation, name) is not UNSET]
    if len(given) != 1:
        message = (
            f"`{name_of(operation)}` needs exactly one of `after`, `before`, `index` and `at`; "  # type: ignore[arg-type]
            f"found {' and '.join(f'`{name}`' for name in given) or 'none'}."
        )
        raise InvalidOperation(message)


def _check_metadata(value: Any) -> None:
    """Refuse ``trusted`` at any depth, which only the server's notary gives, and too much depth."""
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > _DEEPEST_METADATA:
            message = (
                f"`metadata` is nested more than {_DEEPEST_METADATA} levels deep; Jupyter "
                "could not open such a notebook."
            )
            raise InvalidOperation(message)
        if isinstance(item, dict):
            if "trusted" in item:
                message = (
                    "`metadata` must not hold `trusted`, at any depth: trust is the server's "
                    "to give. Leave it out."
                )
                raise InvalidOperation(message)
            pending += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list):
            pending += [(inner, depth + 1) for inner in item]
