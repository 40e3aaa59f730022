"""The operations of the toolset ``agent``, in one flat form.

What could overwrite, remove or misplace something takes only guarded names (see
`jupyter_nbedit.notebook.cell_names`); ``replace_text`` guards itself by the text that it replaces.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidOperation, NbEditError
from jupyter_nbedit.notebook.cell_names import CellName, is_numbered_id
from jupyter_nbedit.notebook.document import CellAddress, Document
from jupyter_nbedit.notebook.long_text import build_excerpt
from jupyter_nbedit.notebook.operations import (
    MAX_INTEGER,
    AppendToSection,
    CellType,
    ClearOutputs,
    Delete,
    Insert,
    Merge,
    Move,
    Operation,
    RemoveEntry,
    Replace,
    ReplaceSection,
    ReplaceText,
    SetMetadata,
    Split,
)
from jupyter_nbedit.notebook.shown_text import unquote_name
from jupyter_nbedit.notebook.source_edit import find_cells_with_text

_SHOWN_CHARACTERS = 1_500
# Each of them reads all sources.
_MAX_SEARCHES = 50
_CELLS = ("cell", "cells")
_POSITIONS = ("after", "before", "at")

OperationName = Literal[
    "replace_text",
    "replace",
    "insert",
    "delete",
    "move",
    "split",
    "merge",
    "clear_outputs",
    "set_tags",
    "append_to_section",
    "replace_section",
    "remove_entry",
]
# For each operation: the operation of the REST API, the required fields, the optional fields.
_OPERATIONS: Mapping[OperationName, tuple[type[Any], Sequence[str], Sequence[str]]] = {
    "replace_text": (ReplaceText, ("old", "new"), ("cell", "all", "outputs")),
    "replace": (Replace, ("cell",), ("source", "cell_type", "outputs")),
    "insert": (Insert, ("source",), ("cell_type", *_POSITIONS)),
    "delete": (Delete, (), _CELLS),
    "move": (Move, (), (*_CELLS, *_POSITIONS)),
    "split": (Split, ("cell", "at_line"), ()),
    "merge": (Merge, ("cells",), ()),
    "clear_outputs": (ClearOutputs, (), (*_CELLS, "all")),
    "set_tags": (SetMetadata, ("cell", "tags"), ()),
    "append_to_section": (AppendToSection, ("section", "source"), ("cell_type",)),
    "replace_section": (ReplaceSection, ("section", "source"), ("cell_type",)),
    "remove_entry": (RemoveEntry, ("section", "match"), ()),
}


class AgentOperation(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One operation; which fields it has depends on ``op``."""

    op: OperationName
    cell: str | UnsetType = UNSET
    cells: Annotated[list[str], Meta(min_length=1)] | UnsetType = UNSET
    old: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    new: str | UnsetType = UNSET
    all: bool | UnsetType = UNSET
    source: str | UnsetType = UNSET
    cell_type: CellType | UnsetType = UNSET
    after: str | UnsetType = UNSET
    before: str | UnsetType = UNSET
    at: Literal["start", "end"] | UnsetType = UNSET
    at_line: Annotated[int, Meta(ge=2, le=MAX_INTEGER)] | UnsetType = UNSET
    outputs: Literal["clear", "keep"] | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    section: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    match: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET

    @property
    def is_guarded(self) -> bool:
        """Whether the operation is refused if the cell has changed since the agent has read it."""
        names = (self.cell, self.cells, self.after, self.before)
        return self.op == "replace_text" or any(name is not UNSET for name in names)

    @property
    def needs_search(self) -> bool:
        """Whether all cells must be searched for the text to replace."""
        return self.op == "replace_text" and self.cell is UNSET

    @property
    def is_unforeseen(self) -> bool:
        """Whether the agent cannot know from its own call what is changed."""
        return self.op == "remove_entry" or (self.op == "replace_text" and self.all is True)


@dataclass
class OperationTranslator:
    """Translates the operations of an agent for a notebook as it is now."""

    operations: Sequence[AgentOperation]
    #: For each translated operation, the number of the operation of the call.
    numbers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        searches = 0
        for number, operation in enumerate(self.operations):
            searches += operation.needs_search
            try:
                _check_fields(operation)
                if searches > _MAX_SEARCHES:
                    raise InvalidOperation(
                        f"A call takes at most {_MAX_SEARCHES} `replace_text` without `cell`. "
                        "Send the `cell` of the others."
                    )
            except NbEditError as error:
                error.details["operation"] = number
                raise

    def translate(self, document: Document) -> Sequence[Operation]:
        """Return the operations; raise errors with the number of the operation they are about."""
        translated: list[Operation] = []
        self.numbers = []
        needs_search = any(operation.needs_search for operation in self.operations)
        sources = _read_sources(document) if needs_search else []
        for number, operation in enumerate(self.operations):
            try:
                found = _translate(operation, document, sources)
            except NbEditError as error:
                error.details["operation"] = number
                raise
            translated += found
            self.numbers += [number] * len(found)
        return translated

    def restore_number(self, error: NbEditError) -> None:
        """Let an error of the translated batch name the operation of the agent."""
        number = error.details.get("operation")
        if isinstance(number, int) and number < len(self.numbers):
            error.details["operation"] = self.numbers[number]


def _check_fields(operation: AgentOperation) -> None:
    """Check which fields an operation has."""
    _, required, optional = _OPERATIONS[operation.op]
    names = [
        name for name in operation.__struct_fields__[1:] if getattr(operation, name) is not UNSET
    ]
    missing = [name for name in required if name not in names]
    unknown = [name for name in names if name not in {*required, *optional}]
    problem = ""
    if missing:
        problem = f"{_quote(missing)} is missing"
    elif unknown:
        problem = f"it does not take {_quote(unknown)}"
    elif optional[:2] == _CELLS and "all" not in names and ("cell" in names) == ("cells" in names):
        problem = "it needs either `cell` or `cells`"
    elif "after" in optional and sum(name in names for name in _POSITIONS) != 1:
        problem = f"it needs exactly one of {_quote(_POSITIONS)}"
    if problem:
        message = f"`{operation.op}` takes {_quote([*required, *optional])}; {problem}."
        raise InvalidOperation(message)


def _quote(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _read_sources(document: Document) -> list[str | None]:
    """Return the source of each cell with the line ends of a request; None if it cannot be read."""
    sources = (document.find_source(index) for index in range(len(document)))
    return [source and source.replace("\r\n", "\n") for source in sources]


def _translate(
    operation: AgentOperation, document: Document, sources: Sequence[str | None]
) -> list[Operation]:
    """Return the operations of the REST API that an operation of an agent means."""
    struct, fields = _OPERATIONS[operation.op][0], _translate_fields(operation, document)
    if operation.op == "set_tags":
        tags = _read_tags(operation.tags or [], document, fields["cell"])
        return [SetMetadata(cell=fields["cell"], patch={"tags": tags or None})]
    if operation.op == "replace_text" and operation.cell is UNSET:
        indexes = find_cells_with_text(
            sources,
            str(operation.old).replace("\r\n", "\n"),
            takes_all=operation.all is True,
            get_name=lambda index: str(document.get_name(index)),
            advice=("Send `cell`", "Send the `cell`, or `all`"),
        )
        return [struct(**{**fields, "cell": index}) for index in indexes]
    return [struct(**fields)]


def _translate_fields(operation: AgentOperation, document: Document) -> dict[str, Any]:
    """Return the fields that an operation has, with checked names of cells."""
    fields: dict[str, Any] = {"cell_type": "code"} if operation.op == "insert" else {}
    for name in operation.__struct_fields__[1:]:
        value = getattr(operation, name)
        if value is UNSET:
            continue
        if name == "cells":
            value = [_check_name(operation, each, document) for each in value]
        elif name == "cell" and operation.op == "replace_text":
            value = document.parse_address(value)
        elif name in {"cell", "after", "before"}:
            value = _check_name(operation, value, document)
        fields[name] = value
    return fields


def _read_tags(tags: Sequence[str], document: Document, cell: CellAddress) -> list[str]:
    """Return tags without quotes. Tags that the cell has may be quoted, as texts show them."""
    present: object = None
    # What is wrong with the name of the cell is found when the operation is applied.
    with suppress(NbEditError):
        present = document.get_cell(document.locate(cell)).metadata.get("tags")
    names = [unquote_name(tag) for tag in tags]
    return [
        name if name is not None and isinstance(present, list) and name in present else tag
        for name, tag in zip(names, tags, strict=True)
    ]


def _check_name(operation: AgentOperation, text: str, document: Document) -> CellAddress:
    """Return an address that is a guarded name.

    Raise `InvalidOperation` for any other, with the cell that it would mean.
    """
    if CellName.parse(text) is not None:
        return text
    details: dict[str, Any] = {"cell": text}
    hint = "Read the notebook to see the names of its cells."
    # What may have been the id of a cell that is gone does not suggest another cell.
    if not is_numbered_id(text) or text in document.ids:
        with suppress(NbEditError):
            cell = document.get_cell(document.locate(document.parse_address(text)))
            name = str(document.get_name(cell.index))
            details |= {"name": name, **build_excerpt(cell.source, _SHOWN_CHARACTERS)}
            hint = f"If you mean the cell below, send {name!r}."
    message = (
        f"`{operation.op}` takes the name of a cell as texts show it, its index and its hash, such "
        f"as '3:9f2c1a'; found {text[:100]!r}. {hint}"
    )
    raise InvalidOperation(message, **details)
