"""A notebook document: its bytes and the spans of its cells."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from jupyter_nbedit.errors import AmbiguousCell, CellNotFound, InvalidNotebook, InvalidRequest
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import Member, Span
from jupyter_nbedit.notebook.lazy.buffer import Buffer, iterate_chunks
from jupyter_nbedit.notebook.lazy.columns import CellHeaders, CellSpans
from jupyter_nbedit.notebook.lazy.rescan import rescan_edited
from jupyter_nbedit.notebook.lazy.scan import (
    HEADS,
    ScannedHeader,
    ScanResult,
    scan_cells,
    to_columns,
)
from jupyter_nbedit.notebook.lazy.splice_view import SplicedView
from jupyter_nbedit.notebook.splices import Splice, apply_splices

#: How a cell is named: a string is an id and, only if no cell has that id, ``cell-N`` counted from
#: 0; an integer is an index from 0.
CellAddress = str | int

_BOM = b"\xef\xbb\xbf"
_NBFORMAT = 4
# nbformat 4.5 gave cells their ids: https://nbformat.readthedocs.io/en/latest/changelog.html
_MINOR_WITH_IDS = 5
_SHOWN_IDS = 10
_INDEX_DIGITS = 9
_MEMBERS_THAT_MATTER = frozenset(
    ("attachments", "cell_type", "execution_count", "id", "metadata", "outputs", "source")
)
_TOP_MEMBERS_THAT_MATTER = frozenset(("cells", "metadata", "nbformat", "nbformat_minor"))


_HEAD = msgspec.json.Decoder(ScannedHeader)


@dataclass(frozen=True)
class Cell:
    """One cell of a document, read on demand.

    Parameters
    ----------
    index
        Its position, from 0.
    id
        Its id, or None if it has none; ids are never invented.
    cell_type
        ``code``, ``markdown``, ``raw``, or what else the file says.
    span
        Where its object stands in the document's bytes.
    text
        The document's bytes.
    """

    index: int
    id: str | None
    cell_type: str
    span: Span
    text: Buffer

    @cached_property
    def all_members(self) -> list[Member]:
        """The cell's members in order."""
        return json_spans.list_members(self.text, self.span)

    @cached_property
    def members(self) -> dict[str, Member]:
        """The cell's members by name.

        Raises
        ------
        InvalidNotebook
            If a name that matters stands twice: replacing one would uncover the other.
        """
        found: dict[str, Member] = {}
        for member in self.all_members:
            if member.name in found and member.name in _MEMBERS_THAT_MATTER:
                message = (
                    f"Cell {self.index} has two members named {member.name!r}. Nothing was "
                    "changed, "
                    "because programs disagree about which of them counts; remove one of them "
                    "first."
                )
                raise InvalidNotebook(message, index=self.index, member=member.name)
            found[member.name] = member
        return found

    def read_value(self, name: str, default: Any = None) -> Any:
        """Read one member's value."""
        member = self.members.get(name)
        return default if member is None else json_spans.decode(self.text, member.value)

    def get_raw(self, name: str) -> bytes | None:
        """Return one member's value as it is written, or None if there is none."""
        member = self.members.get(name)
        return None if member is None else self.text[member.value.start : member.value.stop]

    @cached_property
    def source(self) -> str:
        """The source as one string, whether the file keeps it as a string or as a list of them.

        Raises
        ------
        InvalidNotebook
            If the file keeps something else.
        """
        value = self.read_value("source", "")
        if isinstance(value, str):
            return value
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            return "".join(value)
        message = (
            f"The source of cell {self.index} is neither a string nor a list of strings, as "
            "nbformat demands. Mend the file first."
        )
        raise InvalidNotebook(message, index=self.index)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The cell's metadata; empty if it is missing or not an object."""
        value = self.read_value("metadata")
        return value if isinstance(value, dict) else {}

    @property
    def source_hash(self) -> str:
        """The sha256 of the source."""
        return compute_source_hash(self.source)


def compute_source_hash(source: str) -> str:
    """Return the sha256 of a source's UTF-8 bytes, in hex; lone surrogates count as they are."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Document:
    """The bytes of a notebook and where its cells stand in them.

    Use `Document.parse` to make one.

    Parameters
    ----------
    text
        The bytes.
    span
        Where the notebook's object stands, without what may be around it.
    members
        Its members in order; names that do not matter here may stand twice.
    cells_span
        Where the array of cells stands.
    cell_spans
        Where each cell stands.
    nbformat_minor
        The minor version of the format; the major one is 4.
    heads
        The id and the type of each cell.
    """

    text: Buffer
    span: Span
    members: list[Member]
    cells_span: Span
    cell_spans: CellSpans
    nbformat_minor: int
    heads: CellHeaders

    @classmethod
    def parse(cls, text: Buffer) -> Document:
        """Find the cells.

        Raises
        ------
        InvalidNotebook
            If this is not JSON, not UTF-8, has no ``cells``, or is older than nbformat 4.
        """
        start = len(_BOM) if text[: len(_BOM)] == _BOM else 0
        if not isinstance(text, bytes):
            seen = scan_cells(text, start)
            if seen is not None:
                return cls._from_scan(text, seen.span, seen.members, seen)
            text = text[:]
        if not text[start:].strip():
            message = "The file is empty. Expected a notebook of nbformat 4."
            raise InvalidNotebook(message)
        try:
            top, found = json_spans.parse_object(text, start)
        except json_spans.MalformedJSON as error:
            message = f"The file is not a notebook that can be read: {error}."
            raise InvalidNotebook(message) from None
        return cls._from_scan(text, top, found)

    @classmethod
    def _from_scan(
        cls,
        text: Buffer,
        top: Span,
        found: list[Member],
        seen: ScanResult | None = None,
    ) -> Document:
        members = _check_unique(found)
        nbformat = _read_integer(text, members, "nbformat")
        if nbformat != _NBFORMAT:
            message = (
                f"The notebook's nbformat is {nbformat}, expected {_NBFORMAT}. JupyterLab "
                "converts older notebooks when it opens and saves them."
            )
            raise InvalidNotebook(message, nbformat=nbformat)
        cells = members.get("cells")
        if cells is None or not json_spans.is_array(text, cells.value):
            message = "The file is not a notebook of nbformat 4: it has no `cells` array."
            raise InvalidNotebook(message)
        if seen is None:
            # Where it is in memory, this is no copy.
            held = text[:]
            cell_spans = CellSpans(*json_spans.list_bounds(held, cells.value))
            heads = _validate_headers(to_columns(_read_heads(held, cells.value, cell_spans)))
        else:
            cell_spans = seen.cell_spans
            heads = seen.heads if seen.is_plain else _validate_headers(seen.heads)
        return cls(
            text=text,
            span=top,
            members=found,
            cells_span=cells.value,
            cell_spans=cell_spans,
            nbformat_minor=_read_integer(text, members, "nbformat_minor", default=0),
            heads=heads,
        )

    def bind(self, text: Buffer) -> Document:
        """Return the document of the same bytes that are kept elsewhere, or not at all."""
        return replace(self, text=text, cell_spans=self.cell_spans.bind(text))

    def apply_splices(self, splices: Sequence[Splice]) -> Document:
        """Return the document that splices make of this one.

        Parameters
        ----------
        splices
            In order of their ranges, which must not overlap.
        """
        if isinstance(self.text, bytes):
            text: Buffer = apply_splices(self.text, splices)
        else:
            text = SplicedView(self.text, splices)
        found = rescan_edited(text, self.cells_span, self.cell_spans, splices) if splices else []
        if found is None:
            return Document.parse(text)
        by, first = (found[-1].shift if found else 0), 0
        cell_spans, heads = CellSpans(text=text), CellHeaders()
        shift = 0
        for stretch in found:
            cell_spans.extend(self.cell_spans[first : stretch.first], shift)
            cell_spans.extend(CellSpans.from_spans(stretch.spans))
            heads.extend(self.heads[first : stretch.first])
            heads.extend(_validate_headers(to_columns(stretch.heads), len(heads)))
            first, shift = stretch.last, stretch.shift
        cell_spans.extend(self.cell_spans[first:], shift)
        heads.extend(self.heads[first:])
        array = Span(self.cells_span.start, self.cells_span.stop + by)
        return replace(
            self,
            text=text,
            span=Span(self.span.start, self.span.stop + by),
            members=[_grow_member(member, array, by) for member in self.members],
            cells_span=array,
            cell_spans=cell_spans,
            heads=heads,
        )

    def __len__(self) -> int:
        """Count the cells."""
        return len(self.cell_spans)

    @property
    def has_ids(self) -> bool:
        """Whether the file's format gives cells ids, which new cells must then have."""
        return self.nbformat_minor >= _MINOR_WITH_IDS

    @cached_property
    def hash(self) -> str:
        """The sha256 of the bytes, in hex: the Contents API's ``hash``."""
        digest = hashlib.sha256()
        for chunk in iterate_chunks(self.text):
            digest.update(chunk)
        return digest.hexdigest()

    @property
    def metadata_span(self) -> Span | None:
        """Where the value of the notebook's metadata stands, or None if it has none."""
        return next((one.value for one in self.members if one.name == "metadata"), None)

    @property
    def written_metadata(self) -> bytes | None:
        """The notebook's metadata as they are written, or None if it has none."""
        span = self.metadata_span
        return None if span is None else self.text[span.start : span.stop]

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The notebook's metadata; empty if it is missing or not an object."""
        span = self.metadata_span
        value = None if span is None else json_spans.decode(self.text, span)
        return value if isinstance(value, dict) else {}

    @property
    def language(self) -> str | None:
        """The language of the code cells, as the metadata tells it."""
        for section, name in (("language_info", "name"), ("kernelspec", "language")):
            found = self.metadata.get(section)
            language = found.get(name) if isinstance(found, dict) else None
            # Rooms write an empty name where there was none.
            if isinstance(language, str) and language:
                return language
        return None

    @cached_property
    def ids(self) -> Ids:
        """The indexes of the cells that have each id."""
        return Ids(self.heads.ids)

    def get_cell(self, index: int) -> Cell:
        """Return the cell at an index that is known to exist."""
        cell_id, cell_type = self.heads[index]
        return Cell(index, cell_id, cell_type, self.cell_spans[index], self.text)

    def parse_address(self, text: str) -> CellAddress:
        """Read an address from a text, where all digits mean an index unless they are an id.

        Raises
        ------
        InvalidRequest
            If it is a negative number, which in a body is none either.
        """
        if text in self.ids:
            return text
        if text.startswith("-") and parse_index(text[1:]) is not None:
            message = f"Expected an index from 0 or an id that the notebook has; found {text}."
            raise InvalidRequest(message)
        index = parse_index(text)
        return text if index is None else index

    def locate(self, address: CellAddress) -> int:
        """Find the index of the cell with an address.

        Raises
        ------
        CellNotFound
            With up to 10 of the ids there are.
        AmbiguousCell
            With the indexes of all cells that have the id.
        """
        if isinstance(address, int):
            index: int | None = address
        else:
            found = self.ids.get(address, [])
            if len(found) > 1:
                message = (
                    f"{len(found)} cells have the id {address!r}. Address the one you mean by its "
                    "index, an integer."
                )
                raise AmbiguousCell(message, cell=address, indexes=list(found))
            index = found[0] if found else _parse_ordinal(address)
        if index is None or not 0 <= index < len(self):
            raise self._build_not_found_error(address)
        return index

    def _build_not_found_error(self, address: CellAddress) -> CellNotFound:
        available = [
            cell_id if cell_id is not None else f"cell-{index}"
            for index, (cell_id, _) in enumerate(self.heads[:_SHOWN_IDS])
        ]
        message = (
            f"No cell has the {'index' if isinstance(address, int) else 'id'} {address!r}. The "
            f"notebook has {len(self)} cells; read it again and use an id or an index from 0 that "
            "it shows."
        )
        return CellNotFound(message, cell=address, available_ids=available, total_cells=len(self))


def parse_index(digits: str) -> int | None:
    """Read an index; only the plain spelling of a number that can be one counts."""
    plain = digits.isascii() and digits.isdigit() and len(digits) <= _INDEX_DIGITS
    return int(digits) if plain and str(int(digits)) == digits else None


def _parse_ordinal(address: str) -> int | None:
    prefix, _, digits = address.partition("-")
    return parse_index(digits) if prefix == "cell" else None


def _check_unique(members: list[Member]) -> dict[str, Member]:
    found: dict[str, Member] = {}
    for member in members:
        if member.name in found and member.name in _TOP_MEMBERS_THAT_MATTER:
            message = (
                f"The notebook has two members named {member.name!r}, and programs disagree about "
                "which of them counts; remove one of them first."
            )
            raise InvalidNotebook(message, member=member.name)
        found[member.name] = member
    return found


def _read_integer(
    text: Buffer, members: dict[str, Member], name: str, default: int | None = None
) -> int:
    member = members.get(name)
    value = default if member is None else json_spans.decode(text, member.value)
    if not isinstance(value, int) or isinstance(value, bool):
        message = f"The file is not a notebook: expected an integer `{name}`."
        raise InvalidNotebook(message, member=name)
    return value


def _grow_member(member: Member, array: Span, by: int) -> Member:
    """Return the member of a notebook whose array of cells has grown so much."""
    if member.value.start == array.start:
        return Member(member.name, member.name_span, array)
    return member.shift(by) if member.value.start > array.start else member


def _read_heads(text: bytes, array: Span, cells: Sequence[Span]) -> list[ScannedHeader]:
    try:
        return HEADS.decode(memoryview(text)[array.start : array.stop])
    except (msgspec.DecodeError, RecursionError):
        # One of them is not as msgspec wants it, or none at all.
        return [_read_head(text, index, span) for index, span in enumerate(cells)]


def _read_head(text: bytes, index: int, span: Span) -> ScannedHeader:
    if not json_spans.is_object(text, span):
        message = f"Cell {index} of the notebook is not an object. Mend the file first."
        raise InvalidNotebook(message, index=index)
    try:
        return _HEAD.decode(text[span.start : span.stop])
    except (msgspec.DecodeError, RecursionError):
        values = json_spans.decode(text, span)
        return ScannedHeader(values.get("id"), values.get("cell_type"))


def _validate_headers(heads: CellHeaders, first: int = 0) -> CellHeaders:
    """Return what cells are, of which the first has an index, by what they say."""
    if set(map(type, heads.cell_types)) <= {str} and set(map(type, heads.ids)) <= {str, type(None)}:
        return heads
    told = CellHeaders()
    said: Iterable[tuple[Any, Any]] = heads
    for index, (cell_id, cell_type) in enumerate(said, first):
        if not isinstance(cell_type, str):
            message = f"Cell {index} of the notebook has no `cell_type`. Mend the file first."
            raise InvalidNotebook(message, index=index)
        told.add(cell_id if isinstance(cell_id, str) else None, cell_type)
    return told


# So many are looked for one by one, which costs a fifth of what it costs to note where all are.
_FEW = 3


class Ids(Mapping[str, Sequence[int]]):
    """The indexes of the cells that have each id, mostly one.

    Parameters
    ----------
    ids
        Those of all cells, in order; None where a cell has none.
    """

    def __init__(self, ids: Sequence[str | None]) -> None:
        self._ids = ids
        self._asked = 0

    def __getitem__(self, cell_id: str) -> Sequence[int]:
        """Return the indexes of an id, in order."""
        self._asked += 1
        if self._asked > _FEW:
            return self._doubles.get(cell_id) or [self._last[cell_id]]
        count = self._ids.count(cell_id)
        if count == 0:
            raise KeyError(cell_id)
        if count == 1:
            return [self._ids.index(cell_id)]
        return self._doubles[cell_id]

    def __iter__(self) -> Iterator[str]:
        """Go through the ids, in the order in which they stand first."""
        return iter(self._last)

    def __len__(self) -> int:
        """Count the ids."""
        return len(self._last)

    @cached_property
    def _last(self) -> dict[str, int]:
        return {one: index for index, one in enumerate(self._ids) if one is not None}

    @cached_property
    def _doubles(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        if len(self._last) + self._ids.count(None) < len(self._ids):
            for index, one in enumerate(self._ids):
                if one is not None:
                    found.setdefault(one, []).append(index)
        return found


def write_new_notebook(language: str | None, kernelspec: str | None) -> bytes:
    """Write one of nbformat 4.5.

    Parameters
    ----------
    language
        The language of its code cells, if it is to say one.
    kernelspec
        The name of the kernel that is to run it, if it is to say one. It is only written down: no
        kernel is asked whether it exists, or what it is called for people.
    """
    metadata: dict[str, Any] = {}
    if kernelspec is not None:
        # nbformat demands a display name; JupyterLab puts the kernel's own there when it runs.
        metadata["kernelspec"] = {"display_name": kernelspec, "name": kernelspec}
        if language is not None:
            metadata["kernelspec"]["language"] = language
    if language is not None:
        metadata["language_info"] = {"name": language}
    notebook = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    written = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
    return f"{written}\n".encode()
