"""The undo record: what is stored of an edit, to show it and to undo it later.

For each changed cell, a record contains its state before and after. The bytes that the edit removed
are stored once, in the ``blob``; everything else refers to ranges of the blob. Unchanged bytes are
not stored: the fragments of a cell have holes for values that did not change.

Released records have names that the code no longer uses:

=================  ===========
field              stored name
=================  ===========
`is_moved`         ``moved``
`fragments`        ``former``
`added_members`    ``added``
`gap_number`       ``place``
`run_hash`         ``run``
`neighbour_keys`   ``beside``
`gaps`             ``places``
`reverse_splices`  ``back``
`undone_parts`     ``undone``
=================  ===========
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.members import compute_hash

# The number of the format, with which each record begins; old formats stay readable.
_FORMAT = b"\x01"
_LENGTH_BYTES = 8
# A higher level hardly helps with the bytes of a notebook, and takes several times as long.
_COMPRESSION_LEVEL = 1
# Keys of the metadata that the fingerprints of earlier releases leave out.
_VOLATILE_KEYS = frozenset(("execution", "trusted"))


class CellState(msgspec.Struct, frozen=True, kw_only=True):
    """A cell before or after an edit; for the notebook itself only the metadata is set."""

    cell_type: str | None
    source: str | None
    metadata: dict[str, Any]

    @classmethod
    def from_cell(cls, cell: Cell | EditedCell) -> CellState:
        """Return the state of a cell; raise `InvalidNotebook` as `Cell` does."""
        return cls(cell_type=cell.cell_type, source=cell.source, metadata=cell.metadata)

    @property
    def content_key(self) -> str:
        """A hash of type and source, which identifies neighbours without ids."""
        return compute_hash([self.cell_type, self.source])


class Fragment(msgspec.Struct, frozen=True, array_like=True):
    """A part of a cell's text before the edit: the value of the member ``name``, or other text.

    ``blob_range`` is its range in the blob; None for a value that did not change.
    """

    name: str | None
    blob_range: tuple[int, int] | None


class NeighbourKey(msgspec.Struct, frozen=True, array_like=True):
    """A neighbour of a cell: its id, or the content key of a cell without id."""

    id: str | None
    key: str | None


class GapAnchor(msgspec.Struct, frozen=True, array_like=True):
    """A gap in which cells were before the edit, between cells that the edit did not move.

    The keys are the keys of the nearest of these cells, from near to far. There are no keys at the
    start and at the end of the notebook. ``gap_index`` is the number of cells before the gap, after
    the edit.
    """

    keys_before: list[NeighbourKey]
    keys_after: list[NeighbourKey]
    gap_index: int


class CellUndo(msgspec.Struct, kw_only=True):
    """What the edit did to one cell or, if both indexes are null, to the notebook's metadata."""

    cell_id: str | None = None
    #: The indexes before and after the edit, and the states; None where the cell does not exist.
    index_before: int | None = None
    index: int | None = None
    is_moved: bool = msgspec.field(default=False, name="moved")
    #: Whether it lost its outputs, or got some.
    outputs_cleared: bool = False
    outputs_returned: bool = False
    #: In the record of a proposal: whether it clears the outputs of the cell, also of later runs.
    clears_outputs: bool = False
    before: CellState | None
    after: CellState | None
    #: The text, of the cell or the metadata, to restore; None if the cell was only moved or is new.
    fragments: list[Fragment] | None = msgspec.field(default=None, name="former")
    added_members: list[str] = msgspec.field(default_factory=list, name="added")
    #: If the cell is no longer at its place: the number of its old gap, in `UndoRecord.gaps`.
    gap_number: int | None = msgspec.field(default=None, name="place")
    #: A hash of the notebook's metadata after the edit. In records of earlier releases, also a hash
    #: of the whole content of a cell.
    fingerprint: str | None = None
    #: The hashes of the attachments after the edit, if it changed them or inserted the cell.
    attachments: dict[str, str] | None = None
    #: A hash of the outputs after the edit, to recognize outputs of a later run; empty if the cell
    #: had no outputs. None if outputs do not matter, or in a record of an earlier release.
    run_hash: str | None = msgspec.field(default=None, name="run")
    #: The content keys of the cells beside a cell without id after the edit; empty where none is.
    neighbour_keys: tuple[str, str] | None = msgspec.field(default=None, name="beside")

    @property
    def is_notebook_metadata(self) -> bool:
        """Whether this is about the notebook's metadata."""
        return self.index_before is None and self.index is None

    @property
    def changes_position(self) -> bool:
        """Whether the edit inserted, deleted or moved the cell."""
        is_only_once = (self.index is None) != (self.index_before is None)
        return self.is_moved or is_only_once

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


class UndonePart(msgspec.Struct, frozen=True, array_like=True):
    """The changes of one cell by one or several edits, which another edit undoes."""

    #: The index of the cell after the edit; None if it does not exist then, and for the metadata.
    index: int | None
    #: The parts of earlier edits that made the change, as edits and numbers of parts, oldest first.
    sources: list[tuple[int, int]]
    #: If the cell did not exist, the newest part that had deleted it.
    deleted_by: tuple[int, int] | None


class UndoRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit did to a notebook.

    ``parts`` has one entry for each changed cell, in the order of the notebook after the edit (a
    removed cell counts at its index before), then one for the notebook's metadata if they changed.
    """

    parts: list[CellUndo]
    #: The gaps from which cells were removed or moved.
    gaps: list[GapAnchor] = msgspec.field(name="places")
    #: Restore the bytes before the edit; None if those bytes were not stored.
    reverse_splices: list[ReverseSplice] | None = msgspec.field(name="back")
    #: The number of cells after the edit.
    total_cells: int
    #: The bytes to which all ranges refer.
    blob: bytes
    #: In an undo or redo: the parts that it undoes. Records of earlier releases have no such parts.
    undone_parts: list[UndonePart] = msgspec.field(default_factory=list, name="undone")

    def get_gap_index(self, part: CellUndo) -> int | None:
        """Return how many cells are, after the edit, before the gap where a cell was."""
        return None if part.gap_number is None else self.gaps[part.gap_number].gap_index

    def list_texts(self, part: CellUndo) -> list[tuple[str | None, bytes | None]]:
        """Return the fragments of a part with their stored bytes."""
        return [
            (name, None if blob_range is None else self.blob[slice(*blob_range)])
            for name, blob_range in map(astuple, part.fragments or ())
        ]

    def read_members(self, part: CellUndo) -> dict[str, bytes]:
        """Return the member values of a part that the record contains, by name."""
        return {
            name: text
            for name, text in self.list_texts(part)
            if name is not None and text is not None
        }

    def drop_text(self) -> UndoRecord:
        """Return the record without stored bytes; the order of the cells remains."""
        return replace(self, blob=b"", reverse_splices=None)

    def encode(self) -> bytes:
        """Return the record as bytes, compressed."""
        header = msgspec.to_builtins(replace(self, blob=b""))
        # Python's JSON can express all that notebooks may contain: lone surrogates, NaN, huge
        # integers.
        header_bytes = json.dumps(header, separators=(",", ":")).encode()
        length = len(header_bytes).to_bytes(_LENGTH_BYTES, "big")
        return _FORMAT + zlib.compress(
            b"".join((length, header_bytes, self.blob)), _COMPRESSION_LEVEL
        )

    @classmethod
    def decode(cls, text: bytes) -> UndoRecord:
        """Decode the bytes of `encode`; raise `ValueError` if their format is not known."""
        if not text.startswith(_FORMAT):
            raise ValueError("This is no record of an edit, or one of a later version.")
        try:
            data = zlib.decompress(text[len(_FORMAT) :])
        except zlib.error as error:
            raise ValueError(f"The record of the edit is damaged: {error}") from None
        stop = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
        return replace(_decode_header(data[_LENGTH_BYTES:stop]), blob=data[stop:])


def _decode_header(data: bytes) -> UndoRecord:
    try:
        return msgspec.json.decode(data, type=UndoRecord)
    except msgspec.MsgspecError:
        # Several times slower, but it knows lone surrogates, NaN and infinity.
        return msgspec.convert(json.loads(data), UndoRecord)


def _join_texts(attachments: object) -> object:
    """Join lists of lines: nbformat allows strings and lists of lines."""
    if isinstance(attachments, dict):
        return {name: _join_texts(value) for name, value in attachments.items()}
    if isinstance(attachments, list) and all(isinstance(line, str) for line in attachments):
        return "".join(attachments)
    return attachments or {}


def compute_fingerprint(state: CellState, attachments: object) -> str:
    """Return the hash of a cell's content that the records of earlier releases have."""
    metadata = {name: state.metadata[name] for name in state.metadata.keys() - _VOLATILE_KEYS}
    return compute_hash([state.cell_type, state.source, metadata, _join_texts(attachments)])
