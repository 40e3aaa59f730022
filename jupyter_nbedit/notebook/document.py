"""A notebook document: its bytes and the spans of its cells."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from jupyter_nbedit import errors
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.cell_names import (
    HASH_LENGTH,
    CellName,
    compute_source_hash,
    is_numbered_id,
)
from jupyter_nbedit.notebook.json_spans import Member, Span
from jupyter_nbedit.notebook.lazy.buffer import Buffer, compute_sha256
from jupyter_nbedit.notebook.lazy.cell_spans import (
    CellHeader,
    CellSpans,
    decode_headers,
    rescan_edited,
)
from jupyter_nbedit.notebook.lazy.scan import ScanResult, scan_cells
from jupyter_nbedit.notebook.long_text import build_excerpt
from jupyter_nbedit.notebook.other_content import recognize_other_content
from jupyter_nbedit.notebook.shown_text import unquote_name
from jupyter_nbedit.notebook.splices import Splice, splice_buffer

#: How a request names a cell: a string is an id or, only if no cell has that id, a `CellName` or
#: ``cell-N`` counted from 0; an integer is an index from 0. Where a cell has an id of the form
#: ``cell-N``, another such text is no index: it may be the id of a cell that was deleted.
CellAddress = str | int

_BOM = b"\xef\xbb\xbf"
_NBFORMAT = 4
# nbformat 4.5 gave cells their ids: https://nbformat.readthedocs.io/en/latest/changelog.html
_MINOR_WITH_IDS = 5
_MAX_SHOWN_IDS = 10
_MAX_SHOWN_CANDIDATES = 20
_MAX_SHOWN_CHARACTERS = 2_000
#: How many digits of a hash identify a version of a notebook where hashes are short.
REV_LENGTH = 8
# How many look-ups of ids are made without an index.
_MAX_SCANS = 3
_INDEX_DIGITS = 9
_UNIQUE_CELL_MEMBERS = frozenset(
    ("attachments", "cell_type", "execution_count", "id", "metadata", "outputs", "source")
)
_UNIQUE_NOTEBOOK_MEMBERS = frozenset(("cells", "metadata", "nbformat", "nbformat_minor"))


@dataclass(frozen=True)
class Cell:
    """One cell of a document, read when it is needed."""

    index: int
    #: Its id, or None if it has none; ids are never invented.
    id: str | None
    #: ``code``, ``markdown``, ``raw``, or any other type in the file; empty if it has none.
    cell_type: str
    span: Span
    text: Buffer

    @cached_property
    def all_members(self) -> list[Member]:
        """The cell's members in order, repeated ones included."""
        return json_spans.list_members(self.text, self.span)

    @cached_property
    def members(self) -> dict[str, Member]:
        """The cell's members by name.

        Raises
        ------
        InvalidNotebook
            If a member that nbformat defines is repeated: replacing one would expose the other. Or
            if it is not an object or has no type: Jupyter then cannot open the notebook.
        """
        if not self.cell_type:
            message = (
                f"Cell {self.index} is not an object with a `cell_type`, as nbformat requires. "
                "Repair the file first."
            )
            raise errors.InvalidNotebook(message, index=self.index)
        members = {member.name: member for member in self.all_members}
        name = _find_repeated(self.all_members, members, _UNIQUE_CELL_MEMBERS)
        if name is not None:
            message = (
                f"Cell {self.index} has two members named {name!r}. Nothing was changed, because "
                "programs disagree about which of them counts; remove one of them first."
            )
            raise errors.InvalidNotebook(message, index=self.index, member=name)
        return members

    def read_value(self, name: str, default: Any = None) -> Any:
        """Decode the value of a member."""
        member = self.members.get(name)
        return default if member is None else json_spans.decode(self.text, member.value)

    def get_raw(self, name: str) -> bytes | None:
        """Return the encoded value of a member, or None if there is no such member."""
        member = self.members.get(name)
        return None if member is None else self.text[member.value.start : member.value.stop]

    @cached_property
    def source(self) -> str:
        """The source as one string; the file may contain a string or a list of strings.

        Raises
        ------
        InvalidNotebook
            If the file contains anything else.
        """
        value = self.read_value("source", "")
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            with suppress(TypeError):
                return "".join(value)
        message = (
            f"The source of cell {self.index} is neither a string nor a list of strings, as "
            "nbformat requires. Repair the file first."
        )
        raise errors.InvalidNotebook(message, index=self.index)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The cell's metadata; empty if it is missing or not an object."""
        member = self.members.get("metadata")
        return {} if member is None else json_spans.decode_object(self.text, member.value)

    @property
    def attachments(self) -> object:
        """The attachments, usually an object; None if it has none."""
        return self.read_value("attachments")

    @property
    def source_hash(self) -> str:
        """The sha256 of the source, in hex."""
        return compute_source_hash(self.source)


class _Source(msgspec.Struct, gc=False):
    source: str | list[str] = ""


_SOURCES = msgspec.json.Decoder(_Source)


@dataclass(frozen=True)
class Document:
    """The bytes of a notebook and the spans of its cells; `Document.parse` creates one."""

    text: Buffer
    #: The range of the notebook's object, without white space and a byte order mark around it.
    span: Span
    #: The members of the object in order; names that do not matter here may be repeated.
    members: list[Member]
    #: The range of the array of cells.
    cells_span: Span
    cell_spans: CellSpans
    #: The minor version of the format; the major version is 4.
    nbformat_minor: int
    #: The id and the type of each cell.
    headers: list[CellHeader]
    #: The indexes of the cells whose names have each hash; empty until it is used. The documents
    #: that `bind` returns share it.
    indexes_by_hash: dict[str, list[int]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, text: Buffer) -> Document:
        """Parse a notebook; only the spans and headers of its cells are read.

        Raises
        ------
        InvalidNotebook
            If this is not UTF-8 or not JSON, has no ``cells``, or is older than nbformat 4.
        """
        start = len(_BOM) if text[: len(_BOM)] == _BOM else 0
        scan = scan_cells(text, start)
        if scan is not None:
            return cls._from_scan(text, scan.span, scan.members, scan)
        # For `bytes` this makes no copy.
        text = text[:]
        if not text[start:].strip():
            raise errors.InvalidNotebook("The file is empty. Expected a notebook of nbformat 4.")
        try:
            span, members = json_spans.parse_object(text, start)
        except json_spans.MalformedJSON as error:
            message = f"The file is not a notebook that can be read: {error}."
            raise recognize_other_content(text) or errors.InvalidNotebook(message) from None
        return cls._from_scan(text, span, members)

    @classmethod
    def _from_scan(
        cls, text: Buffer, span: Span, members: list[Member], scan: ScanResult | None = None
    ) -> Document:
        members_by_name = {member.name: member for member in members}
        name = _find_repeated(members, members_by_name, _UNIQUE_NOTEBOOK_MEMBERS)
        if name is not None:
            message = (
                f"The notebook has two members named {name!r}, and programs disagree about which "
                "of them counts; remove one of them first."
            )
            raise errors.InvalidNotebook(message, member=name)
        nbformat = _read_integer(text, members_by_name, "nbformat")
        if nbformat != _NBFORMAT:
            message = (
                f"The notebook's nbformat is {nbformat}, expected {_NBFORMAT}. JupyterLab "
                "converts notebooks of nbformat 3 and older when it opens and saves them."
            )
            raise errors.InvalidNotebook(message, nbformat=nbformat)
        cells = members_by_name.get("cells")
        if cells is None or not json_spans.is_array(text, cells.value):
            message = "The file is not a notebook of nbformat 4: it has no `cells` array."
            raise errors.InvalidNotebook(message)
        if scan is None:
            # For `bytes` this makes no copy.
            buffer = text[:]
            cell_spans = CellSpans(*json_spans.list_bounds(buffer, cells.value))
            headers = _read_headers(buffer, cells.value, cell_spans)
        else:
            cell_spans, headers = scan.cell_spans, scan.headers
        return cls(
            text=text,
            span=span,
            members=members,
            cells_span=cells.value,
            cell_spans=cell_spans,
            nbformat_minor=_read_integer(text, members_by_name, "nbformat_minor", default=0),
            headers=headers,
        )

    def bind(self, text: Buffer) -> Document:
        """Return this document with equal bytes from another buffer."""
        return replace(self, text=text, cell_spans=self.cell_spans.bind(text))

    def apply_splices(self, splices: Sequence[Splice]) -> Document:
        """Return the document after sorted splices, whose ranges must not overlap."""
        text = splice_buffer(self.text, splices)
        cells = rescan_edited(text, self.cells_span, self.cell_spans, self.headers, splices)
        if cells is None:
            return Document.parse(text)
        growth = len(text) - len(self.text)
        array = Span(self.cells_span.start, self.cells_span.stop + growth)
        return replace(
            self,
            text=text,
            span=Span(self.span.start, self.span.stop + growth),
            members=[_grow_member(member, array, growth) for member in self.members],
            indexes_by_hash={},
            cells_span=array,
            cell_spans=cells[0],
            headers=cells[1],
        )

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.headers)

    @property
    def has_ids(self) -> bool:
        """Whether cells have ids in the file's format; a new cell must then have an id."""
        return self.nbformat_minor >= _MINOR_WITH_IDS

    @cached_property
    def hash(self) -> str:
        """The sha256 of the bytes, in hex: the ``hash`` of the Contents API."""
        return compute_sha256(self.text)

    @cached_property
    def metadata_span(self) -> Span | None:
        """The range of the notebook's metadata, or None if it has none."""
        return next((member.value for member in self.members if member.name == "metadata"), None)

    @cached_property
    def written_metadata(self) -> bytes | None:
        """The encoded metadata of the notebook, or None if it has none."""
        span = self.metadata_span
        return None if span is None else self.text[span.start : span.stop]

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The notebook's metadata; empty if it is missing or not an object."""
        span = self.metadata_span
        return {} if span is None else json_spans.decode_object(self.text, span)

    @property
    def language(self) -> str | None:
        """The language of the code cells according to the metadata, or None."""
        for section, name in (("language_info", "name"), ("kernelspec", "language")):
            value = self.metadata.get(section)
            language = value.get(name) if isinstance(value, dict) else None
            # Rooms write an empty name if there was no name.
            if isinstance(language, str) and language:
                return language
        return None

    @cached_property
    def ids(self) -> Mapping[str, Sequence[int]]:
        """The indexes of the cells that have each id, usually one."""
        return _IndexesById(self.headers)

    @cached_property
    def has_numbered_ids(self) -> bool:
        """Whether a cell has an id of the form ``cell-N``."""
        return any(cell_id is not None and is_numbered_id(cell_id) for cell_id, _ in self.headers)

    def get_cell(self, index: int) -> Cell:
        """Return the cell at an index that exists."""
        cell_id, cell_type = self.headers[index]
        return Cell(index, cell_id, cell_type, self.cell_spans[index], self.text)

    def read_id(self, text: str) -> str:
        """Return the id that a text means: if only the text in its quotes is an id, this id."""
        name = unquote_name(text)
        return text if name is None or text in self.ids or name not in self.ids else name

    def parse_address(self, text: str) -> CellAddress:
        """Parse an address from a string; digits are an index unless a cell has this id.

        Raises
        ------
        InvalidRequest
            If it is a negative number.
        """
        text = self.read_id(text)
        if text in self.ids:
            return text
        if text.startswith("-") and parse_index(text[1:]) is not None:
            message = f"Expected an index from 0 or an id that the notebook has; found {text}."
            raise errors.InvalidRequest(message)
        index = parse_index(text)
        return text if index is None else index

    def locate(self, address: CellAddress, *, is_current: bool = False) -> int:
        """Return the index of the cell with an address.

        A guarded name means the cell with its hash, wherever this cell is now. If several cells
        have this hash, or had it according to the name, the name means the cell at its index, but
        only if ``is_current``: if the request knows that this is the current version of the
        notebook.

        Raises
        ------
        CellNotFound
            With up to 10 ids of the notebook.
        AmbiguousCell
            With the indexes of all cells that have the id, or with candidates for the name.
        CellChanged
            If no cell has the hash of the name; with the cell that is at its index now.
        """
        if isinstance(address, int):
            index: int | None = address
        else:
            address = self.read_id(address)
            indexes, name = self.ids.get(address, []), CellName.parse(address)
            if name is not None:
                return self._locate_name(name, indexes, is_current=is_current)
            if len(indexes) > 1:
                message = (
                    f"{len(indexes)} cells have the id {address!r}. Address the one you mean by "
                    "its index, an integer."
                )
                raise errors.AmbiguousCell(message, cell=address, indexes=list(indexes))
            if not indexes and self.has_numbered_ids and is_numbered_id(address):
                raise self.build_numbered_id_error(address)
            index = indexes[0] if indexes else _parse_ordinal(address)
        if index is None or not 0 <= index < len(self):
            raise self._build_not_found_error(address)
        return index

    def _locate_name(self, name: CellName, ids: Sequence[int], *, is_current: bool) -> int:
        """Return the index of the cell with a guarded name; the cells at ``ids`` have it as id."""
        if is_current and not ids and name.index < len(self) and self._has_hash(name):
            return name.index
        # No valid id has the form of a name. An id with this form must not redirect an edit.
        indexes = sorted({*ids, *self._list_indexes(name.source_hash)})
        if len(indexes) == 1 and not name.is_repeated:
            return indexes[0]
        if indexes:
            raise self._build_ambiguous_name_error(name, indexes)
        message = (
            f"No cell has the source for which {str(name)!r} is the name: the cell was changed or "
            "deleted."
        )
        details: dict[str, Any] = {"cell": str(name), "total_cells": len(self)}
        if name.index < len(self):
            cell, current_name = self.get_cell(name.index), str(self.get_name(name.index))
            message += (
                f" Cell {name.index} is now {current_name!r}; this error has its source. Check "
                "whether the request is still right, and send it with the name of the cell that "
                "you mean."
            )
            details |= {
                "index": name.index,
                "name": current_name,
                "cell_type": cell.cell_type,
                "source_hash": cell.source_hash,
                **build_excerpt(cell.source, _MAX_SHOWN_CHARACTERS),
            }
        else:
            message += (
                f" The notebook has {len(self)} cells now; read it again, and use a name that it "
                "shows."
            )
        raise errors.CellChanged(message, **details)

    def _has_hash(self, name: CellName) -> bool:
        source = self.find_source(name.index)
        return source is not None and name.source_hash == compute_source_hash(source)[:HASH_LENGTH]

    def get_name(self, index: int) -> CellName:
        """Return the guarded name of a cell; raise `InvalidNotebook` if it cannot be read."""
        name = CellName.from_source(index, self.get_cell(index).source)
        return replace(name, is_repeated=len(self._list_indexes(name.source_hash)) > 1)

    def _list_indexes(self, source_hash: str) -> Sequence[int]:
        """Return the indexes of the cells whose names have a hash."""
        if not self.indexes_by_hash:
            indexes: dict[str, list[int]] = {}
            for index in range(len(self)):
                source = self.find_source(index)
                if source is not None:
                    name = CellName.from_source(index, source)
                    indexes.setdefault(name.source_hash, []).append(index)
            self.indexes_by_hash.update(indexes)
        return self.indexes_by_hash.get(source_hash, ())

    def find_source(self, index: int) -> str | None:
        """Return the source of a cell, faster than `Cell` does; None if it cannot be read."""
        if not self.headers[index][1]:
            return None
        start, stop = self.cell_spans[index]
        try:
            value = _SOURCES.decode(self.text[start:stop]).source
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # It is not valid, or JSON that msgspec refuses.
            with suppress(errors.InvalidNotebook):
                return self.get_cell(index).source
            return None
        return value if isinstance(value, str) else "".join(value)

    def _build_ambiguous_name_error(
        self, name: CellName, indexes: list[int]
    ) -> errors.AmbiguousCell:
        names = [str(self.get_name(index)) for index in indexes[:_MAX_SHOWN_CANDIDATES]]
        rev = self.hash[:REV_LENGTH]
        more = ", ..." if len(indexes) > len(names) else ""
        message = (
            f"It is not certain which cell {str(name)!r} means: several cells had this source, or "
            f"have it now. Those that have it now are {', '.join(names)}{more}. Check which one "
            f"you mean, and send that name together with the `rev` of the notebook, which is "
            f"{rev!r} now."
        )
        return errors.AmbiguousCell(
            message,
            cell=str(name),
            indexes=indexes[:_MAX_SHOWN_CANDIDATES],
            candidates=names,
            rev=rev,
        )

    def build_numbered_id_error(self, address: str) -> errors.CellNotFound:
        """Return the error for a text ``cell-N`` that no cell has as its id and is no index here.

        It has addresses that can be used, also of cells without ids.
        """
        available = [
            self._find_usable_address(index) for index in range(min(len(self), _MAX_SHOWN_IDS))
        ]
        message = (
            f"No cell has the id {address!r}. It is not taken for an index, because cells of this "
            "notebook have, or had, ids of this form: the cell may have been deleted."
        )
        index = _parse_ordinal(address)
        if index is not None and index < len(self) and self.headers[index][0] is None:
            usable = self._find_usable_address(index)
            name = f"its guarded name {usable!r}, or " if isinstance(usable, str) else ""
            message += (
                f" If you mean the cell at index {index}, which has no id, send {name}the integer "
                f"{index} where a cell may be an integer."
            )
        message += f" The notebook has {len(self)} cells; read it again."
        return errors.CellNotFound(
            message, cell=address, available_ids=available, total_cells=len(self)
        )

    def _find_usable_address(self, index: int) -> CellAddress:
        """Return the id of a cell, or else its guarded name; its index if others have that name."""
        cell_id, _ = self.headers[index]
        if cell_id is not None:
            return cell_id
        with suppress(errors.InvalidNotebook):
            name = self.get_name(index)
            return index if name.is_repeated else str(name)
        return index

    def _build_not_found_error(self, address: CellAddress) -> errors.CellNotFound:
        available = [
            f"cell-{index}"
            if cell_id is None and not self.has_numbered_ids
            else self._find_usable_address(index)
            for index, (cell_id, _) in enumerate(self.headers[:_MAX_SHOWN_IDS])
        ]
        message = (
            f"No cell has the {'index' if isinstance(address, int) else 'id'} {address!r}. The "
            f"notebook has {len(self)} cells; read it again and use an id or an index from 0 that "
            "it shows."
        )
        return errors.CellNotFound(
            message, cell=address, available_ids=available, total_cells=len(self)
        )


class _IndexesById(Mapping[str, Sequence[int]]):
    """The indexes of the cells that have each id.

    Among many cells, the first look-ups scan the headers. A scan takes a tenth of the time of
    building an index, and most edits look up one or two ids.
    """

    def __init__(self, headers: Sequence[CellHeader]) -> None:
        self._headers = headers
        self._scan_count = 0

    def __getitem__(self, cell_id: str) -> Sequence[int]:
        if self._scan_count < _MAX_SCANS:
            self._scan_count += 1
            indexes = [index for index, (each, _) in enumerate(self._headers) if each == cell_id]
            if not indexes:
                raise KeyError(cell_id)
            return indexes
        last, earlier = self._index
        return [*earlier.get(cell_id, ()), last[cell_id]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index[0])

    def __len__(self) -> int:
        return len(self._index[0])

    @cached_property
    def _index(self) -> tuple[dict[str, int], dict[str, list[int]]]:
        """The last index of each id, and the earlier ones of ids that several cells have."""
        last: dict[str, int] = {}
        earlier: dict[str, list[int]] = {}
        for index, (cell_id, _) in enumerate(self._headers):
            if cell_id is None:
                continue
            if cell_id in last:
                earlier.setdefault(cell_id, []).append(last[cell_id])
            last[cell_id] = index
        return last, earlier


def parse_index(digits: str) -> int | None:
    """Parse an index; only its canonical decimal form is accepted."""
    is_plain = digits.isascii() and digits.isdigit() and len(digits) <= _INDEX_DIGITS
    return int(digits) if is_plain and str(int(digits)) == digits else None


def _parse_ordinal(address: str) -> int | None:
    prefix, _, digits = address.partition("-")
    return parse_index(digits) if prefix == "cell" else None


def _find_repeated(
    members: list[Member], members_by_name: dict[str, Member], names: Collection[str]
) -> str | None:
    """Return the first of some names that several members have, or None."""
    if len(members_by_name) == len(members):
        return None
    repeated = (member.name for member in members if members_by_name[member.name] is not member)
    return next((name for name in repeated if name in names), None)


def _read_integer(
    text: Buffer, members: dict[str, Member], name: str, default: int | None = None
) -> int:
    member = members.get(name)
    value = default if member is None else json_spans.decode(text, member.value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise errors.InvalidNotebook(
            f"This is not a notebook: expected an integer `{name}`.", member=name
        )
    return value


def _grow_member(member: Member, array: Span, growth: int) -> Member:
    """Shift or extend a member of the notebook after its array of cells has grown."""
    if member.value.start == array.start:
        return Member(member.name, member.name_span, array)
    return member.shift(growth) if member.value.start > array.start else member


def _read_headers(text: bytes, array: Span, cells: Sequence[Span]) -> list[CellHeader]:
    try:
        return decode_headers(memoryview(text)[array.start : array.stop])
    except (msgspec.DecodeError, RecursionError):
        # A cell that is not an object, a header that is not valid, or JSON that msgspec refuses.
        return [_read_header(text, span) for span in cells]


def _read_header(text: bytes, span: Span) -> CellHeader:
    """Return the header of a cell, with an empty type if it is no cell that can be read."""
    if not json_spans.is_object(text, span):
        return None, ""
    # The last of repeated members counts, as everywhere in Jupyter.
    header = {
        member.name: json_spans.decode(text, member.value)
        for member in json_spans.list_members(text, span)
        if member.name in {"cell_type", "id"}
    }
    cell_id, cell_type = header.get("id"), header.get("cell_type")
    # A cell with an id that is not a string counts as a cell without an id.
    return (
        cell_id if isinstance(cell_id, str) else None,
        cell_type if isinstance(cell_type, str) else "",
    )


def write_new_notebook(language: str | None, kernelspec: str | None) -> bytes:
    """Return the bytes of a new notebook of nbformat 4.5.

    Language and kernel are only stored: whether there is such a kernel is not checked.
    """
    metadata: dict[str, Any] = {}
    if kernelspec is not None:
        # nbformat requires a display name; JupyterLab replaces it by the kernel's own when it runs.
        metadata["kernelspec"] = {"display_name": kernelspec, "name": kernelspec}
        if language is not None:
            metadata["kernelspec"]["language"] = language
    if language is not None:
        metadata["language_info"] = {"name": language}
    notebook = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
    return f"{text}\n".encode()
