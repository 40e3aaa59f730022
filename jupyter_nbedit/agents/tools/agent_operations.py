"""The operations of the toolset ``agent``, in one flat form.

What could overwrite, remove or misplace something takes only guarded names (see
`jupyter_nbedit.notebook.cell_names`); ``replace_text`` guards itself by the text that it replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidOperation, NbEditError, TextMismatch
from jupyter_nbedit.notebook.cell_names import CellName, is_numbered_id
from jupyter_nbedit.notebook.document import CellAddress, Document
from jupyter_nbedit.notebook.excerpt import build_excerpt
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
from jupyter_nbedit.notebook.shown_text import unescape_markup, unquote_name
from jupyter_nbedit.notebook.source_edit import find_shown_text

_SHOWN_CHARACTERS = 1_500
_SHOWN_CANDIDATES = 20
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
# The fields that each operation requires, and those that it can have.
_FIELDS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "replace_text": (("old", "new"), ("cell", "all", "outputs")),
    "replace": (("cell",), ("source", "cell_type", "outputs")),
    "insert": (("source",), ("cell_type", *_POSITIONS)),
    "delete": ((), _CELLS),
    "move": ((), (*_CELLS, *_POSITIONS)),
    "split": (("cell", "at_line"), ()),
    "merge": (("cells",), ()),
    "clear_outputs": ((), (*_CELLS, "all")),
    "set_tags": (("cell", "tags"), ()),
    "append_to_section": (("section", "source"), ("cell_type",)),
    "replace_section": (("section", "source"), ("cell_type",)),
    "remove_entry": (("section", "match"), ()),
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
        """Whether it is refused if the cell is not as the agent has read it."""
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
    #: For each translated operation the number of the one that it comes from.
    numbers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        searches = 0
        for number, operation in enumerate(self.operations):
            searches += operation.needs_search
            try:
                _check_fields(operation)
                if searches > _MAX_SEARCHES:
                    message = (
                        f"A call takes at most {_MAX_SEARCHES} `replace_text` without `cell`. "
                        "Send the `cell` of the others."
                    )
                    raise InvalidOperation(message)
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
    required, optional = _FIELDS[operation.op]
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
    if operation.op == "replace_text":
        return _translate_replace_text(operation, document, sources)
    return [_TRANSLATIONS[operation.op](operation, document)]


def _translate_replace_text(
    operation: AgentOperation, document: Document, sources: Sequence[str | None]
) -> list[Operation]:
    cells: list[CellAddress] = []
    if operation.cell is not UNSET:
        cells = [document.parse_address(operation.cell)]
    else:
        cells += _find_cells(document, operation, sources)
    return [
        ReplaceText(
            cell=cell,
            old=operation.old,
            new=operation.new,
            all=operation.all,
            outputs="clear" if operation.outputs is UNSET else operation.outputs,
        )
        for cell in cells
    ]


def _find_cells(
    document: Document, operation: AgentOperation, sources: Sequence[str | None]
) -> list[int]:
    """Return the one cell that contains the text to replace; all of them with ``all``."""
    old = str(operation.old).replace("\r\n", "\n")
    indexes = [index for index, source in enumerate(sources) if source and old in source]
    if not indexes and unescape_markup(old) != old:
        indexes = [
            index for index, source in enumerate(sources) if source and find_shown_text(source, old)
        ]
    if len(indexes) == 1 or (indexes and operation.all is True):
        return indexes
    if not indexes:
        message = (
            "The text to replace does not occur in any cell. It must match exactly, including "
            "spaces and line breaks. Send `cell` to be shown the part of a cell that is most like "
            "it."
        )
        raise TextMismatch(message, count=0, lines=[])
    names = [str(document.get_name(index)) for index in indexes[:_SHOWN_CANDIDATES]]
    message = (
        f"The text to replace occurs in {len(indexes)} cells: {', '.join(names)}"
        f"{', ...' if len(indexes) > len(names) else ''}. Send the `cell`, or `all` to replace it "
        "in all of them."
    )
    raise TextMismatch(message, count=len(indexes), lines=[], candidates=names)


def _translate_replace(operation: AgentOperation, document: Document) -> Operation:
    return Replace(
        cell=_check_name(operation, operation.cell, document),
        source=operation.source,
        cell_type=operation.cell_type,
        outputs="clear" if operation.outputs is UNSET else operation.outputs,
    )


def _translate_insert(operation: AgentOperation, document: Document) -> Operation:
    return Insert(
        source=str(operation.source),
        cell_type="code" if operation.cell_type is UNSET else operation.cell_type,
        after=_check_optional_name(operation, operation.after, document),
        before=_check_optional_name(operation, operation.before, document),
        at=operation.at,
    )


def _translate_delete(operation: AgentOperation, document: Document) -> Operation:
    return Delete(
        cell=_check_optional_name(operation, operation.cell, document),
        cells=_check_names(operation, document),
    )


def _translate_move(operation: AgentOperation, document: Document) -> Operation:
    return Move(
        cell=_check_optional_name(operation, operation.cell, document),
        cells=_check_names(operation, document),
        after=_check_optional_name(operation, operation.after, document),
        before=_check_optional_name(operation, operation.before, document),
        at=operation.at,
    )


def _translate_split(operation: AgentOperation, document: Document) -> Operation:
    cell = _check_name(operation, operation.cell, document)
    return Split(cell=cell, at_line=operation.at_line)  # type: ignore[arg-type] # _check_fields


def _translate_merge(operation: AgentOperation, document: Document) -> Operation:
    return Merge(cells=_check_names(operation, document))  # type: ignore[arg-type] # _check_fields


def _translate_clear_outputs(operation: AgentOperation, document: Document) -> Operation:
    return ClearOutputs(
        cell=_check_optional_name(operation, operation.cell, document),
        cells=_check_names(operation, document),
        all=operation.all,
    )


def _translate_set_tags(operation: AgentOperation, document: Document) -> Operation:
    cell = _check_name(operation, operation.cell, document)
    tags = None if operation.tags is UNSET else _read_tags(operation.tags, document, cell)
    return SetMetadata(cell=cell, patch={"tags": tags or None})


def _read_tags(tags: Sequence[str], document: Document, cell: CellAddress) -> list[str]:
    """Return tags, where those that the cell has may be quoted, as texts show them."""
    present: object = None
    # What is wrong with the name of the cell is found when the operation is applied.
    with suppress(NbEditError):
        present = document.get_cell(document.locate(cell)).metadata.get("tags")
    names = [unquote_name(tag) for tag in tags]
    return [
        name if name is not None and isinstance(present, list) and name in present else tag
        for name, tag in zip(names, tags, strict=True)
    ]


def _translate_append_to_section(operation: AgentOperation, _document: Document) -> Operation:
    return AppendToSection(
        section=str(operation.section),
        source=str(operation.source),
        cell_type="markdown" if operation.cell_type is UNSET else operation.cell_type,
    )


def _translate_replace_section(operation: AgentOperation, _document: Document) -> Operation:
    return ReplaceSection(
        section=str(operation.section),
        source=str(operation.source),
        cell_type="markdown" if operation.cell_type is UNSET else operation.cell_type,
    )


def _translate_remove_entry(operation: AgentOperation, _document: Document) -> Operation:
    return RemoveEntry(section=str(operation.section), match=str(operation.match))


_TRANSLATIONS: Mapping[str, Callable[[AgentOperation, Document], Operation]] = {
    "replace": _translate_replace,
    "insert": _translate_insert,
    "delete": _translate_delete,
    "move": _translate_move,
    "split": _translate_split,
    "merge": _translate_merge,
    "clear_outputs": _translate_clear_outputs,
    "set_tags": _translate_set_tags,
    "append_to_section": _translate_append_to_section,
    "replace_section": _translate_replace_section,
    "remove_entry": _translate_remove_entry,
}


def _check_names(operation: AgentOperation, document: Document) -> list[CellAddress] | UnsetType:
    if operation.cells is UNSET:
        return UNSET
    return [_check_name(operation, address, document) for address in operation.cells]


def _check_optional_name(
    operation: AgentOperation, address: str | UnsetType, document: Document
) -> CellAddress | UnsetType:
    return UNSET if address is UNSET else _check_name(operation, address, document)


def _check_name(
    operation: AgentOperation, address: str | UnsetType, document: Document
) -> CellAddress:
    """Return an address that is a guarded name.

    Raise `InvalidOperation` for any other, with the cell that it would mean.
    """
    text = str(address)
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
