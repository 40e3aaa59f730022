"""The undo record: what is stored of an edit, to show it and to undo it later.

For each changed cell, a record contains its state before and after. The bytes that the edit removed
are stored once, in the ``blob``; everything else refers to ranges of it. Unchanged bytes are not
stored: the fragments of a cell have holes for values that did not change.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from jupyter_nbedit.notebook.document import Cell

# The number of the format, with which each record begins; old formats stay readable.
_FORM = b"\x01"
_LENGTH = 8
# A higher level hardly helps with the bytes of a notebook, and takes several times as long.
_LEVEL = 1
#: The member of a cell's metadata that contains the times of its last run.
EXECUTION = "execution"
# Members that a run or a display of the cell writes: they do not belong to its content.
_VOLATILE = frozenset((EXECUTION, "trusted"))


class CellState(msgspec.Struct, frozen=True, kw_only=True):
    """A cell before or after an edit; for the notebook itself only the metadata is set."""

    cell_type: str | None
    source: str | None
    metadata: dict[str, Any]


class Fragment(msgspec.Struct, frozen=True, array_like=True):
    """A part of a cell's text before the edit.

    Parameters
    ----------
    name
        The member whose value this is; None for text between values.
    blob_range
        Its range in the blob; None for a value that did not change.
    """

    name: str | None
    blob_range: tuple[int, int] | None


class NeighbourKey(msgspec.Struct, frozen=True, array_like=True):
    """A neighbour of a cell: its id, or the content key of a cell without id."""

    id: str | None
    key: str | None


class GapAnchor(msgspec.Struct, frozen=True, array_like=True):
    """A gap in which cells were before the edit, between cells that the edit did not move.

    Parameters
    ----------
    keys_before, keys_after
        The nearest of these cells before and after the gap, from near to far; empty at the start
        and at the end of the notebook.
    gap_index
        The number of cells before the gap directly after the edit.
    """

    keys_before: list[NeighbourKey]
    keys_after: list[NeighbourKey]
    gap_index: int


class CellUndo(msgspec.Struct, kw_only=True):
    """What the edit did to one cell or, if both indexes are null, to the notebook's metadata.

    Parameters
    ----------
    cell_id
        The cell's id, or None.
    index_before, index
        Its index before and after the edit; None where it does not exist.
    is_moved
        Whether the edit moved it.
    outputs_cleared, outputs_returned
        Whether it lost its outputs, or got some.
    before, after
        Its state before and after; None where it does not exist.
    fragments
        The text, of the cell or of the metadata, that undo restores; None if the cell was only
        moved or did not exist.
    added_members
        The members that the edit added to the cell.
    gap_number
        The number of the gap where it was, in `UndoRecord.gaps`, if it is no longer there.
    fingerprint
        Identifies the content of the cell, or of the metadata, after the edit.
    neighbour_keys
        The content keys of the neighbours before and after it, if the cell has no id; empty where
        there is no neighbour.
    """

    cell_id: str | None = None
    index_before: int | None = None
    index: int | None = None
    is_moved: bool = msgspec.field(default=False, name="moved")
    outputs_cleared: bool = False
    outputs_returned: bool = False
    before: CellState | None
    after: CellState | None
    fragments: list[Fragment] | None = msgspec.field(default=None, name="former")
    added_members: list[str] = msgspec.field(default_factory=list, name="added")
    gap_number: int | None = msgspec.field(default=None, name="place")
    fingerprint: str | None = None
    neighbour_keys: tuple[str, str] | None = msgspec.field(default=None, name="beside")

    @property
    def is_notebook_metadata(self) -> bool:
        """Whether this is about the notebook's metadata."""
        return self.index_before is None and self.index is None

    def invert(self) -> CellUndo:
        """Return the part as seen by the inverse edit; only for display."""
        return replace(
            self,
            index_before=self.index,
            index=self.index_before,
            outputs_cleared=self.outputs_returned,
            outputs_returned=self.outputs_cleared,
            before=self.after,
            after=self.before,
        )


class ByteRange(msgspec.Struct, frozen=True, array_like=True):
    """A range of the blob or, with ``is_in_notebook``, of the notebook after the edit."""

    start: int
    stop: int
    is_in_notebook: bool


class ReverseSplice(msgspec.Struct, frozen=True, array_like=True):
    """A splice on the notebook after the edit; its text is the concatenation of the ranges."""

    start: int
    stop: int
    ranges: list[ByteRange]


class UndoRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit did to a notebook.

    Parameters
    ----------
    parts
        One for each changed cell, in the order of the notebook after the edit (a removed cell
        counts at its index before), then one for the notebook's metadata if they changed.
    gaps
        The gaps from which cells were removed or moved.
    reverse_splices
        The splices that restore the bytes before the edit; None if those bytes were not stored.
    total_cells
        The number of cells after the edit.
    blob
        The bytes to which all ranges refer.
    """

    parts: list[CellUndo]
    gaps: list[GapAnchor] = msgspec.field(name="places")
    reverse_splices: list[ReverseSplice] | None = msgspec.field(name="back")
    total_cells: int
    blob: bytes

    def read_blob(self, start: int, stop: int) -> bytes:
        """Return a range of the blob."""
        return self.blob[start:stop]

    def drop_text(self) -> UndoRecord:
        """Return the record without stored bytes; the order of the cells remains."""
        return replace(self, blob=b"", reverse_splices=None)

    def encode(self) -> bytes:
        """Return the record as bytes, compressed."""
        header = msgspec.to_builtins(replace(self, blob=b""))
        # Python's JSON can express all that notebooks may contain: lone surrogates, NaN, huge
        # integers.
        header_bytes = json.dumps(header, separators=(",", ":")).encode()
        length = len(header_bytes).to_bytes(_LENGTH, "big")
        return _FORM + zlib.compress(b"".join((length, header_bytes, self.blob)), _LEVEL)

    @classmethod
    def decode(cls, text: bytes) -> UndoRecord:
        """Decode the bytes of `encode`.

        Raises
        ------
        ValueError
            If they are not a record of a known format.
        """
        if not text.startswith(_FORM):
            message = "This is no record of an edit, or one of a later version."
            raise ValueError(message)
        try:
            data = zlib.decompress(text[len(_FORM) :])
        except zlib.error as error:
            message = f"The record of the edit is damaged: {error}"
            raise ValueError(message) from None
        stop = _LENGTH + int.from_bytes(data[:_LENGTH], "big")
        header = msgspec.convert(json.loads(data[_LENGTH:stop]), cls)
        return replace(header, blob=data[stop:])


def compute_fingerprint(
    cell_type: str, source: str, metadata: Mapping[str, Any], attachments: object
) -> str:
    """Return a hash of a cell's content; formatting and execution do not change it."""
    return _digest([cell_type, source, drop_execution_metadata(metadata), _join_texts(attachments)])


def drop_execution_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell's metadata without the members that a run of the cell writes."""
    return {name: value for name, value in metadata.items() if name not in _VOLATILE}


def _join_texts(attachments: object) -> object:
    """Join lists of lines: nbformat allows strings and lists of lines."""
    if isinstance(attachments, dict):
        return {name: _join_texts(value) for name, value in attachments.items()}
    if isinstance(attachments, list) and all(isinstance(line, str) for line in attachments):
        return "".join(attachments)
    return attachments or {}


def compute_content_key(cell_type: str, source: str) -> str:
    """Return a hash of type and source, which identifies neighbours without ids."""
    return _digest([cell_type, source])


def compute_short_hash(text: bytes) -> str:
    """Return a short hash of bytes."""
    return hashlib.blake2b(text, digest_size=12).hexdigest()


def is_json_equal(first: object, second: object) -> bool:
    """Return whether two JSON values are equal."""
    return _digest(first) == _digest(second)


def _digest(value: object) -> str:
    text = json.dumps(_normalize_numbers(value), sort_keys=True, separators=(",", ":"))
    return compute_short_hash(text.encode())


def _normalize_numbers(value: object) -> object:
    """Convert whole floats to int: JavaScript saves 1.0 as 1."""
    if isinstance(value, dict):
        return {name: _normalize_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class CellContent:
    """The content of a cell, without its id and without the results of a run."""

    cell_type: str
    source: str
    metadata: dict[str, Any]
    attachments: object

    @classmethod
    def from_cell(cls, cell: Cell) -> CellContent:
        """Return the content of a cell.

        Raises
        ------
        InvalidNotebook
            As `Cell` does.
        """
        return cls(cell.cell_type, cell.source, cell.metadata, cell.read_value("attachments"))

    @property
    def fingerprint(self) -> str:
        """The hash that identifies this content."""
        return compute_fingerprint(self.cell_type, self.source, self.metadata, self.attachments)

    @property
    def state(self) -> CellState:
        """The content as in a record."""
        return CellState(cell_type=self.cell_type, source=self.source, metadata=self.metadata)
