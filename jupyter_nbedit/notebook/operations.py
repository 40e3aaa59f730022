"""The operations as data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidOperation

#: The largest integer that every program that speaks JSON can be relied on to read: RFC 8259, 6.
LARGEST_INTEGER = 2**53 - 1
#: How many characters the name of a section may have. No heading that a person reads is longer.
LONGEST_SECTION_NAME = 1000

CellType = Literal["code", "markdown", "raw"]
CellId = Annotated[
    str,
    Meta(
        # Python's `$` also matches before a last line feed, and JSON Schema knows no better anchor.
        pattern=r"^[a-zA-Z0-9_-]{1,64}$(?!\n)",
        description="An nbformat cell id: 1 to 64 letters, digits, hyphens and underscores.",
    ),
]
Index = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER, description="A position from 0.")]
Cell = Annotated[
    str | Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)],
    Meta(
        description="The cell: a string is its id or, only if no cell has that id, `cell-N` with N "
        "from 0; an integer is its index from 0. Both mean the notebook as it was before the batch."
    ),
]
Cells = Annotated[list[Cell], Meta(min_length=1, description="Several cells, each named once.")]
Outputs = Annotated[
    Literal["clear", "keep"],
    Meta(
        description="What becomes of a code cell's outputs and execution count: cleared, because "
        "they no longer belong to what the cell says, or kept."
    ),
]
SectionName = Annotated[
    str,
    Meta(
        min_length=1,
        # Checked where the name is looked up, whose message says how long it is.
        extra_json_schema={"maxLength": LONGEST_SECTION_NAME},
        description="What the section's heading says, exactly; `#` before it say its level. "
        "Sections mean the notebook as it was before the batch.",
        examples=["Results", "## Results"],
    ),
]
NewSource = Annotated[str, Meta(description="The new cell's source; CR LF and CR in it become LF.")]
SectionSource = Annotated[
    str,
    Meta(
        description="What is put there. CR LF and CR in it become LF or, within a cell that is "
        "there, the line end that the cell has."
    ),
]
SectionCellType = Annotated[
    CellType, Meta(description="The type of the cell that is made for the source.")
]
Old = Annotated[
    str,
    Meta(
        min_length=1,
        description="The text to be replaced, exactly as it is; LF and CR LF in it stand for "
        "whichever line end the cell has there.",
    ),
]
New = Annotated[
    str,
    Meta(
        description="What takes its place, with the line ends of the place: LF, unless the cell "
        "has CR LF."
    ),
]


class Expect(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What the cell must still say for the operation to be done: one of the two."""

    source_hash: str | UnsetType = UNSET
    source: (
        Annotated[
            str,
            Meta(description="Line ends do not count, unless the cell has CR LF."),
        ]
        | UnsetType
    ) = UNSET


class TextEdit(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One replacement of text; see `ReplaceText`."""

    old: Old
    new: New
    all: bool = False


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
    source: (
        Annotated[
            str,
            Meta(
                description="The whole source of the cell afterwards. CR LF and CR in it become "
                "LF, unless the cell has CR LF already: then it stays as it is sent."
            ),
        ]
        | UnsetType
    ) = UNSET
    cell_type: CellType | UnsetType = UNSET
    outputs: Outputs = "clear"
    expect: Expect | UnsetType = UNSET


class ReplaceText(_Operation, frozen=True, tag="replace_text", kw_only=True):
    """Replace text within a cell's source: either ``old`` by ``new``, or several ``edits``.

    ``old`` must stand in the source exactly once, where occurrences that overlap count each; with
    ``all`` every occurrence is replaced, from the left, so that none overlaps the one before.
    Several edits are done one after the other, each on what the one before left.
    """

    cell: Cell
    old: Old | UnsetType = UNSET
    new: New | UnsetType = UNSET
    all: bool | UnsetType = UNSET
    edits: Annotated[list[TextEdit], Meta(min_length=1, max_length=1000)] | UnsetType = UNSET
    outputs: Outputs = "clear"
    expect: Expect | UnsetType = UNSET


class Insert(Position, frozen=True, tag="insert", kw_only=True):
    """Insert a new cell.

    It gets a fresh id, or the given one, only where the file's format has ids (nbformat 4.5 on).
    """

    source: NewSource
    cell_type: CellType
    id: CellId | UnsetType = UNSET
    metadata: (
        Annotated[
            dict[str, Any],
            Meta(
                description="The cell's metadata. Those members that nbformat defines, such as "
                "`tags`, must have the form that it gives them; `trusted` is refused at any depth."
            ),
        ]
        | UnsetType
    ) = UNSET


class Delete(_Operation, frozen=True, tag="delete", kw_only=True):
    """Delete a cell, or several; the answer carries their sources."""

    cell: Cell | UnsetType = UNSET
    cells: Cells | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET


class Move(Position, frozen=True, tag="move", kw_only=True):
    """Move a cell; its bytes stay as they are.

    Several ``cells`` come to stand one behind the other, in the order in which they are named.
    """

    cell: Cell | UnsetType = UNSET
    cells: Cells | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET


class Split(_Operation, frozen=True, tag="split", kw_only=True):
    """Split a cell before one of its lines.

    The first part keeps the id; the second is a new cell behind it, of the same type and with the
    same metadata and attachments. The line break between the two goes; nothing else does. A code
    cell's outputs and execution count are cleared.
    """

    cell: Cell
    at_line: Annotated[
        int,
        Meta(
            ge=2,
            le=LARGEST_INTEGER,
            description="The number, counted from 1, of the line that becomes the first of the "
            "second cell: 2 leaves one line in the first.",
        ),
    ]
    expect: Expect | UnsetType = UNSET


class Merge(_Operation, frozen=True, tag="merge", kw_only=True):
    """Merge cells of the same type that stand one behind the other into the first of them.

    It keeps its id and metadata; the sources are joined with a line break, so that merging undoes
    splitting, and attachments come together. A code cell's outputs and execution count are cleared.
    """

    cells: Annotated[
        list[Cell],
        Meta(
            min_length=2,
            description="Neighbours in the order in which they stand when the operation's turn "
            "comes.",
        ),
    ]


class ClearOutputs(_Operation, frozen=True, tag="clear_outputs", kw_only=True):
    """Clear the outputs and execution counts of a cell, of several, or of all: one of the three."""

    cell: Cell | UnsetType = UNSET
    cells: Cells | UnsetType = UNSET
    all: bool | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET


class SetMetadata(_Operation, frozen=True, tag="set_metadata", kw_only=True):
    """Change the metadata of a cell or, without ``cell``, of the notebook.

    ``patch`` is a JSON Merge Patch (RFC 7396): members are set, objects are merged, ``null``
    deletes, arrays are replaced whole. ``trusted`` is refused at any depth, and so is a patch that
    leaves a member that nbformat defines, such as ``tags`` or ``kernelspec``, in another form than
    nbformat gives it. The metadata of a cell that is not editable can be changed only by a patch
    that makes it editable.
    """

    patch: Annotated[
        dict[str, Any],
        Meta(
            description="What is to change.",
            examples=[{"tags": ["parameters"]}, {"collapsed": None}],
        ),
    ]
    cell: Cell | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET


class AppendToSection(_Operation, frozen=True, tag="append_to_section", kw_only=True):
    """Put a new cell at the end of a section.

    A section begins with a heading and ends before the next of the same or a higher level. If that
    is in the midst of a Markdown cell, the source is put into that cell, before the next heading;
    it must be Markdown then.
    """

    section: SectionName
    source: SectionSource
    cell_type: SectionCellType = "markdown"


class ReplaceSection(_Operation, frozen=True, tag="replace_section", kw_only=True):
    """Replace all of a section but its heading.

    What it holds up to the next heading of the same or a higher level goes, subsections included. A
    section within one Markdown cell stays in it if the source is Markdown; else the heading's cell
    keeps the heading, and a new cell behind it gets the source.
    """

    section: SectionName
    source: SectionSource
    cell_type: SectionCellType = "markdown"


class RemoveEntry(_Operation, frozen=True, tag="remove_entry", kw_only=True):
    """Remove the Markdown list items of a section that contain a text.

    An item goes with all that belongs to it, items in it too. An item is chosen by what it says
    itself, not by what items in it say.
    """

    section: SectionName
    match: Annotated[
        str,
        Meta(
            min_length=1,
            description="A part of what the items say; case and spacing do not matter.",
        ),
    ]


Operation = (
    Replace
    | ReplaceText
    | Insert
    | Delete
    | Move
    | Split
    | Merge
    | ClearOutputs
    | SetMetadata
    | AppendToSection
    | ReplaceSection
    | RemoveEntry
)


def get_name(operation: Operation) -> str:
    """Return the operation's name, the value of its ``op``."""
    return str(operation.__struct_config__.tag)


_DEEPEST_METADATA = 100
_NAMED = ("cell", "cells")
_POSITION = ("after", "before", "index", "at")


def validate_operation(operation: Operation) -> None:
    """Refuse what the types cannot: no notebook is needed to see that it is wrong.

    Raises
    ------
    InvalidOperation
        Without the operation's index, which the caller knows.
    """
    if isinstance(operation, Position):
        _check_exactly_one(operation, _POSITION)
    _check(operation)
    _check_expect(operation)


@singledispatch
def _check(_operation: Operation) -> None:
    """Check what is particular to one operation; of most, the types say all."""


@_check.register
def _(operation: Replace) -> None:
    if operation.source is operation.cell_type is UNSET:
        message = "`replace` needs a `source`, a `cell_type`, or both; found neither."
        raise InvalidOperation(message)


@_check.register
def _(operation: ReplaceText) -> None:
    alone = (operation.old, operation.new, operation.all)
    if operation.edits is UNSET:
        complete = operation.old is not UNSET and operation.new is not UNSET
    else:
        complete = all(field is UNSET for field in alone)
    if not complete:
        message = (
            "`replace_text` needs either `old` and `new`, and `all` if it is meant, or `edits`, a "
            "list of such."
        )
        raise InvalidOperation(message)


@_check.register
def _(operation: Insert) -> None:
    if operation.metadata is not UNSET:
        validate_metadata("metadata", operation.metadata)


@_check.register
def _(operation: Delete) -> None:
    _check_exactly_one(operation, _NAMED)


@_check.register
def _(operation: Move) -> None:
    _check_exactly_one(operation, _NAMED)


@_check.register
def _(operation: ClearOutputs) -> None:
    _check_exactly_one(operation, (*_NAMED, "all"))
    if operation.all is False:
        message = "`all` of `clear_outputs` can only be true; leave it out otherwise."
        raise InvalidOperation(message)


@_check.register
def _(operation: SetMetadata) -> None:
    validate_metadata("patch", operation.patch)


@_check.register
def _(operation: RemoveEntry) -> None:
    if not operation.match.strip():
        message = "`match` must say something; found only white space."
        raise InvalidOperation(message)


def _check_exactly_one(operation: Operation | Position, names: Sequence[str]) -> None:
    given = [name for name in names if getattr(operation, name) is not UNSET]
    if len(given) != 1:
        choice = ", ".join(f"`{name}`" for name in names[:-1])
        message = (
            f"`{get_name(operation)}` needs exactly one of {choice} and `{names[-1]}`; "  # type: ignore[arg-type]
            f"found {' and '.join(f'`{name}`' for name in given) or 'none'}."
        )
        raise InvalidOperation(message)


def _check_expect(operation: Operation) -> None:
    expect = getattr(operation, "expect", UNSET)
    if expect is UNSET:
        return
    if (expect.source is UNSET) == (expect.source_hash is UNSET):
        message = "`expect` needs exactly one of `source` and `source_hash`."
        raise InvalidOperation(message)
    if getattr(operation, "cell", UNSET) is UNSET:
        message = "`expect` is about one cell: it goes with `cell` only."
        raise InvalidOperation(message)


def validate_metadata(field: str, value: Any) -> None:
    """Refuse ``trusted`` at any depth, which only the server's notary gives, and too much depth.

    Parameters
    ----------
    field
        What the request calls it.
    value
        What is to become metadata.

    Raises
    ------
    InvalidOperation
        Without the operation's index, which the caller knows.
    """
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > _DEEPEST_METADATA:
            message = (
                f"`{field}` is nested more than {_DEEPEST_METADATA} levels deep; Jupyter "
                "could not open such a notebook."
            )
            raise InvalidOperation(message)
        if isinstance(item, dict):
            if "trusted" in item:
                message = (
                    f"`{field}` must not hold `trusted`, at any depth: trust is the server's "
                    "to give. Leave it out."
                )
                raise InvalidOperation(message)
            pending += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list):
            pending += [(inner, depth + 1) for inner in item]
