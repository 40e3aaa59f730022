"""The operations of a batch as data, and the checks that need no notebook."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook.cell_names import is_numbered_id

#: The largest integer that all JSON implementations can be expected to read: RFC 8259, 6.
MAX_INTEGER = 2**53 - 1
#: The maximum length of a section's name. No heading that a person reads is longer.
MAX_SECTION_NAME_LENGTH = 1000

CellType = Literal["code", "markdown", "raw"]
CellId = Annotated[
    str,
    Meta(
        # Python's `$` also matches before a final line feed, and JSON Schema has no better anchor.
        pattern=r"^[a-zA-Z0-9_-]{1,64}$(?!\n)",
        description="An nbformat cell id: 1 to 64 letters, digits, hyphens and underscores.",
    ),
]
Index = Annotated[int, Meta(ge=0, le=MAX_INTEGER, description="A position from 0.")]
AddressField = Annotated[
    str | Annotated[int, Meta(ge=0, le=MAX_INTEGER)],
    Meta(
        description="The cell. An integer is its index from 0. A string is its id. Only if no cell "
        "has that id, a string is its guarded name `N:hhhhhh` (its index, and the first 6 digits "
        "of its `source_hash`). `cell-N` is the cell at index N if no cell has or had an id of "
        "this form. All refer to the notebook before the batch; an id may also be that of a cell "
        "that an earlier operation of the batch inserted. A guarded name means the cell with that "
        "source, wherever it is now."
    ),
]
AddressList = Annotated[
    list[AddressField], Meta(min_length=1, description="Several cells, each listed once.")
]
OutputsPolicy = Annotated[
    Literal["clear", "keep"],
    Meta(
        description="Whether a code cell's outputs and execution count are cleared, because they "
        "no longer belong to the source, or kept."
    ),
]
SectionName = Annotated[
    str,
    Meta(
        min_length=1,
        # Checked where the name is used, with a message that contains the length.
        extra_json_schema={"maxLength": MAX_SECTION_NAME_LENGTH},
        description="The exact text of the section's heading; a prefix of `#` gives its level. "
        "Sections refer to the notebook before the batch.",
        examples=["Results", "## Results"],
    ),
]
NewSource = Annotated[str, Meta(description="The new cell's source; CR LF and CR in it become LF.")]
SectionSource = Annotated[
    str,
    Meta(
        description="The new text. CR LF and CR in it become LF or, in an existing cell, the line "
        "end of the cell."
    ),
]
SectionCellType = Annotated[
    CellType, Meta(description="The type of the new cell, if one is inserted.")
]
OldText = Annotated[
    str,
    Meta(
        min_length=1,
        description="The exact text to replace; LF and CR LF in it match both kinds of line ends.",
    ),
]
NewText = Annotated[
    str,
    Meta(
        description="The replacement; its line ends become those of the cell: LF, unless the cell "
        "has CR LF."
    ),
]


class Expect(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The expected state of the cell: one of the two fields. Otherwise the operation is refused."""

    source_hash: str | UnsetType = UNSET
    source: Annotated[
        str | UnsetType, Meta(description="Line ends are ignored, unless the cell has CR LF.")
    ] = UNSET


class TextEdit(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One replacement of text; see `ReplaceText`."""

    old: OldText
    new: NewText
    all: bool = False


class _Operation(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag_field="op"):
    """The base of all operations: only the form."""

    #: Whether its result says if it has cleared outputs.
    reports_cleared: ClassVar[bool] = False


class Position(_Operation, frozen=True, kw_only=True):
    """The position of a cell: exactly one of the four fields. There is no default."""

    after: AddressField | UnsetType = UNSET
    before: AddressField | UnsetType = UNSET
    index: Index | UnsetType = UNSET
    at: Literal["start", "end"] | UnsetType = UNSET


class Replace(_Operation, frozen=True, tag="replace", kw_only=True):
    """Replace a cell's source, its type, or both.

    A code cell's outputs and execution count are cleared, because they no longer belong to the
    source, unless ``outputs`` is ``keep``. Id and metadata stay.
    """

    reports_cleared = True
    cell: AddressField
    source: Annotated[
        str | UnsetType,
        Meta(
            description="The new source of the cell. CR LF and CR in it become LF, unless the "
            "cell already has CR LF: then it is stored as sent."
        ),
    ] = UNSET
    cell_type: CellType | UnsetType = UNSET
    outputs: OutputsPolicy = "clear"
    expect: Expect | UnsetType = UNSET


class ReplaceText(_Operation, frozen=True, tag="replace_text", kw_only=True):
    """Replace text in a cell's source: either ``old`` by ``new``, or several ``edits``.

    ``old`` must occur in the source exactly once, where overlapping occurrences count each; with
    ``all`` every occurrence is replaced, from the left and without overlap. Several edits are
    applied one after the other, each to the result of the previous one.
    """

    reports_cleared = True
    cell: AddressField
    old: OldText | UnsetType = UNSET
    new: NewText | UnsetType = UNSET
    all: bool | UnsetType = UNSET
    edits: Annotated[list[TextEdit], Meta(min_length=1, max_length=1000)] | UnsetType = UNSET
    outputs: OutputsPolicy = "clear"
    expect: Expect | UnsetType = UNSET


class Insert(Position, frozen=True, tag="insert", kw_only=True):
    """Insert a new cell at exactly one of ``after``, ``before``, ``index`` and ``at``.

    It gets a random id, or the given one, only if the file's format has ids (nbformat 4.5 on).
    """

    source: NewSource
    cell_type: CellType
    id: CellId | UnsetType = UNSET
    metadata: Annotated[
        dict[str, Any] | UnsetType,
        Meta(
            description="The cell's metadata. Members that nbformat defines, such as `tags`, "
            "must have nbformat's form; `trusted` is refused at any depth."
        ),
    ] = UNSET


class Delete(_Operation, frozen=True, tag="delete", kw_only=True):
    """Delete a cell, or several; the reply contains their sources."""

    cell: AddressField | UnsetType = UNSET
    cells: AddressList | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET


class Move(Position, frozen=True, tag="move", kw_only=True):
    """Move a cell to exactly one of ``after``, ``before``, ``index`` and ``at``.

    Its bytes stay as they are. Several ``cells`` are placed one after the other, in the order in
    which they are listed.
    """

    cell: AddressField | UnsetType = UNSET
    cells: AddressList | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET


class Split(_Operation, frozen=True, tag="split", kw_only=True):
    """Split a cell before one of its lines.

    The first part keeps the id; the second is a new cell after it, of the same type and with the
    same metadata and attachments. The line break between the two is removed; nothing else is. A
    code cell's outputs and execution count are cleared.
    """

    reports_cleared = True
    cell: AddressField
    at_line: Annotated[
        int,
        Meta(
            ge=2,
            le=MAX_INTEGER,
            description="The number, counted from 1, of the line that becomes the first of the "
            "second cell: 2 leaves one line in the first. Lines are those of the cell before the "
            "request, also if an earlier operation has split it.",
        ),
    ]
    expect: Expect | UnsetType = UNSET


class Merge(_Operation, frozen=True, tag="merge", kw_only=True):
    """Merge adjacent cells of the same type into the first of them.

    It keeps its id and metadata; the sources are joined with a line break, so that merging undoes
    splitting, and attachments are combined. A code cell's outputs and execution count are cleared.
    """

    reports_cleared = True
    cells: Annotated[
        list[AddressField],
        Meta(
            min_length=2, description="Adjacent cells in their order when the operation is applied."
        ),
    ]


class ClearOutputs(_Operation, frozen=True, tag="clear_outputs", kw_only=True):
    """Clear outputs and execution counts of a cell, of several, or of all: one of the three."""

    reports_cleared = True
    cell: AddressField | UnsetType = UNSET
    cells: AddressList | UnsetType = UNSET
    all: Annotated[bool, Meta(extra_json_schema={"const": True})] | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET


class SetMetadata(_Operation, frozen=True, tag="set_metadata", kw_only=True):
    """Change the metadata of a cell or, without ``cell``, of the notebook.

    ``patch`` is a JSON Merge Patch (RFC 7396): members are set, objects are merged, ``null``
    deletes, arrays are replaced. ``trusted`` is refused at any depth, and so is a patch after which
    a member that nbformat defines, such as ``tags`` or ``kernelspec``, does not have nbformat's
    form. The metadata of a cell that is not editable can be changed only by a patch that makes it
    editable.
    """

    patch: Annotated[
        dict[str, Any],
        Meta(description="The changes.", examples=[{"tags": ["parameters"]}, {"collapsed": None}]),
    ]
    cell: AddressField | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET


class AppendToSection(_Operation, frozen=True, tag="append_to_section", kw_only=True):
    """Append a new cell to a section.

    A section begins with a heading and ends before the next of the same or a higher level. If that
    is inside a Markdown cell, the source is inserted into that cell, before the next heading; then
    it must be Markdown.
    """

    section: SectionName
    source: SectionSource
    cell_type: SectionCellType = "markdown"


class ReplaceSection(_Operation, frozen=True, tag="replace_section", kw_only=True):
    """Replace a section except its heading.

    Everything up to the next heading of the same or a higher level is removed, subsections
    included. A section within one Markdown cell stays in it if the source is Markdown; otherwise
    the heading's cell keeps the heading, and a new cell after it gets the source.
    """

    section: SectionName
    source: SectionSource
    cell_type: SectionCellType = "markdown"


class RemoveEntry(_Operation, frozen=True, tag="remove_entry", kw_only=True):
    """Remove the Markdown list items of a section that contain a text.

    Nested items are removed with their parent. Only an item's own text is searched, not the text of
    items in it.
    """

    section: SectionName
    match: Annotated[
        str,
        Meta(
            min_length=1, description="A part of the items' own text; case and spacing are ignored."
        ),
    ]


# `agents/tools/agent_operations.py` lists the operations of tools. In JupyterLab, operations are
# listed that remove cells (`notify/attribution.ts`), that add, move or delete cells
# (`notify/netEffect.ts`), or that are not described as "changed" (`history/wording.ts`).
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


def get_operation_name(operation: Operation) -> str:
    """Return the name of an operation, the value of its ``op``."""
    return str(operation.__struct_config__.tag)


_MAX_METADATA_DEPTH = 100
_ADDRESS_FIELDS = ("cell", "cells")
_POSITION_FIELDS = ("after", "before", "index", "at")


def validate_operation(operation: Operation) -> None:
    """Check what the types cannot express and no notebook is needed for.

    Raises
    ------
    InvalidOperation
        Without the operation's index, which the caller adds.
    """
    if isinstance(operation, Position):
        _check_exactly_one(operation, _POSITION_FIELDS)
    _check(operation)
    _check_expect(operation)


@singledispatch
def _check(_operation: Operation) -> None:
    """Check what is specific to one operation; the default checks nothing."""


@_check.register
def _(operation: Replace) -> None:
    if operation.source is operation.cell_type is UNSET:
        raise InvalidOperation("`replace` needs a `source`, a `cell_type`, or both; found neither.")


@_check.register
def _(operation: ReplaceText) -> None:
    fields = (operation.old, operation.new, operation.all)
    if operation.edits is UNSET:
        complete = operation.old is not UNSET and operation.new is not UNSET
    else:
        complete = all(field is UNSET for field in fields)
    if not complete:
        raise InvalidOperation(
            "`replace_text` needs either `old` and `new` (and `all` to replace every "
            "occurrence), or `edits`, a list of objects with these fields."
        )


@_check.register
def _(operation: Insert) -> None:
    if operation.id is not UNSET and is_numbered_id(operation.id):
        message = (
            f"A new cell cannot have the id {operation.id!r}: `cell-N` also means the cell at "
            "index N. Choose another id, or leave it out."
        )
        raise InvalidOperation(message, id=operation.id)
    if operation.metadata is not UNSET:
        validate_metadata("metadata", operation.metadata)


@_check.register(Delete)
@_check.register(Move)
def _(operation: Delete | Move) -> None:
    _check_exactly_one(operation, _ADDRESS_FIELDS)


@_check.register
def _(operation: ClearOutputs) -> None:
    _check_exactly_one(operation, (*_ADDRESS_FIELDS, "all"))
    if operation.all is False:
        raise InvalidOperation("`all` of `clear_outputs` can only be true; leave it out otherwise.")


@_check.register
def _(operation: SetMetadata) -> None:
    validate_metadata("patch", operation.patch)


@_check.register
def _(operation: RemoveEntry) -> None:
    if not operation.match.strip():
        raise InvalidOperation("`match` must contain text; found only white space.")


def _check_exactly_one(operation: Operation | Position, names: Sequence[str]) -> None:
    set_names = [name for name in names if getattr(operation, name) is not UNSET]
    if len(set_names) != 1:
        choice = ", ".join(f"`{name}`" for name in names[:-1])
        raise InvalidOperation(
            f"`{get_operation_name(operation)}` needs exactly one of {choice} and `{names[-1]}`; "  # type: ignore[arg-type]
            f"found {' and '.join(f'`{name}`' for name in set_names) or 'none'}."
        )


def _check_expect(operation: Operation) -> None:
    expect = getattr(operation, "expect", UNSET)
    if expect is UNSET:
        return
    if (expect.source is UNSET) == (expect.source_hash is UNSET):
        raise InvalidOperation("`expect` needs exactly one of `source` and `source_hash`.")
    if (
        isinstance(operation, Delete | Move | ClearOutputs | SetMetadata)
        and operation.cell is UNSET
    ):
        raise InvalidOperation("`expect` checks one cell: it can only be sent with `cell`.")


def validate_metadata(field: str, value: Any) -> None:
    """Refuse ``trusted`` at any depth, which only the server may set, and too much depth.

    ``field`` is the name of the field in the request. Raise `InvalidOperation` without the
    operation's index, which the caller adds.
    """
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > _MAX_METADATA_DEPTH:
            raise InvalidOperation(
                f"`{field}` is nested more than {_MAX_METADATA_DEPTH} levels deep; Jupyter "
                "could not open such a notebook."
            )
        if isinstance(item, dict):
            if "trusted" in item:
                raise InvalidOperation(
                    f"`{field}` must not contain `trusted`, at any depth: only the server "
                    "decides what is trusted. Leave it out."
                )
            pending += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list):
            pending += [(inner, depth + 1) for inner in item]
