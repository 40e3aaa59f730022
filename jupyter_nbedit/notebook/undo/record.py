"""What is kept of an edit, so that it can be shown and taken back later.

A record tells of each changed cell what it was and became. All bytes of the notebook that the edit
took away are in one place, its ``blob``, once; everything else refers to ranges of it. What the
edit did not touch is not kept: the former text of a cell has holes for the values that stayed.
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

# Old records stay readable by this number, with which each begins.
_FORM = b"\x01"
_LENGTH = 8
# A notebook's own bytes hardly shrink more by a better level, which takes several times as long.
_LEVEL = 1
#: Where the metadata of a cell say when it was run.
EXECUTION = "execution"
# What a run of the cell, or whoever shows it, writes there: it says nothing of what the cell is.
_VOLATILE = frozenset((EXECUTION, "trusted"))


class CellState(msgspec.Struct, frozen=True, kw_only=True):
    """A cell before or after an edit; of the notebook itself only the metadata are there."""

    cell_type: str | None
    source: str | None
    metadata: dict[str, Any]


class Fragment(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a cell's former text.

    Parameters
    ----------
    name
        Of the member whose value this is; None for what stands between values.
    kept
        Where it stands in the blob. None is a hole: the value did not change.
    """

    name: str | None
    blob_range: tuple[int, int] | None


class NeighbourKey(msgspec.Struct, frozen=True, array_like=True):
    """A neighbour of a cell: its id, or what tells cells without ids apart."""

    id: str | None
    key: str | None


class GapAnchor(msgspec.Struct, frozen=True, array_like=True):
    """A place that cells had before the edit, between cells that it left where they were.

    Parameters
    ----------
    behind, ahead
        The nearest of them before and after the place, from near to far; empty at the start and at
        the end of the notebook.
    gap
        How many cells stand before the place right after the edit.
    """

    behind: list[NeighbourKey]
    ahead: list[NeighbourKey]
    gap: int


class CellUndo(msgspec.Struct, kw_only=True):
    """What the edit did to one cell or, if both indexes are null, to the notebook's metadata.

    Parameters
    ----------
    cell_id
        The cell's id, if it has one.
    index_before, index
        Where it stood, and stands after the edit; None where it is not there.
    moved
        Whether it was taken to another place among those that stayed.
    outputs_cleared, outputs_returned
        Whether it had outputs and has not any more, or the other way round.
    before, after
        What it said; None where it is not there.
    former
        The text of the cell, or of the metadata, that taking back restores; None if the cell has
        only been moved, or was not there.
    added
        The members that the edit gave the cell.
    place
        The number of the place it had, if it is not there any more.
    fingerprint
        Tells whether the cell, or the text of the metadata, still is as the edit left it.
    beside
        What tells its neighbours from others, before and after it, if the cell has no id to be
        found by; empty where there is none.
    """

    cell_id: str | None = None
    index_before: int | None = None
    index: int | None = None
    moved: bool = False
    outputs_cleared: bool = False
    outputs_returned: bool = False
    before: CellState | None
    after: CellState | None
    former: list[Fragment] | None = None
    added: list[str] = []
    place: int | None = None
    fingerprint: str | None = None
    beside: tuple[str, str] | None = None

    @property
    def of_notebook(self) -> bool:
        """Whether this is about the notebook's metadata."""
        return self.index_before is None and self.index is None

    def invert(self) -> CellUndo:
        """Show the part from the other side, as of the opposite edit; good for showing only."""
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
    """A range of the blob or, if ``there``, of the notebook as the edit left it."""

    start: int
    stop: int
    there: bool


class ReverseSplice(msgspec.Struct, frozen=True, array_like=True):
    """A splice on the notebook as the edit left it; its text is what the runs give."""

    start: int
    stop: int
    runs: list[ByteRange]


class UndoRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit did to a notebook.

    Parameters
    ----------
    parts
        One for each cell that changed, in the order of the notebook after the edit (one that is
        gone counts where it was), and at the end one for the notebook's metadata, if they did.
    places
        Where cells stood that do not stand there any more.
    back
        The splices that take the edit back, to the byte; None if the bytes they are made for were
        never kept.
    total_cells
        How many cells there were after the edit.
    blob
        All bytes that the others refer to.
    """

    parts: list[CellUndo]
    places: list[GapAnchor]
    back: list[ReverseSplice] | None
    total_cells: int
    blob: bytes

    def read_blob(self, start: int, stop: int) -> bytes:
        """Return a range of the blob."""
        return self.blob[start:stop]

    def drop_text(self) -> UndoRecord:
        """Return what it says of the order of cells, without the bytes that the edit took away."""
        return replace(self, blob=b"", back=None)

    def encode(self) -> bytes:
        """Write it down."""
        head = msgspec.to_builtins(replace(self, blob=b""))
        # Python's own JSON can say what notebooks may hold: lone surrogates, NaN, huge integers.
        written = json.dumps(head, separators=(",", ":")).encode()
        length = len(written).to_bytes(_LENGTH, "big")
        return _FORM + zlib.compress(b"".join((length, written, self.blob)), _LEVEL)

    @classmethod
    def decode(cls, text: bytes) -> UndoRecord:
        """Read what `encode` wrote.

        Raises
        ------
        ValueError
            If it is nothing of that kind.
        """
        if not text.startswith(_FORM):
            message = "This is no record of an edit, or one of a later version."
            raise ValueError(message)
        try:
            plain = zlib.decompress(text[len(_FORM) :])
        except zlib.error as error:
            message = f"The record of the edit is damaged: {error}"
            raise ValueError(message) from None
        stop = _LENGTH + int.from_bytes(plain[:_LENGTH], "big")
        head = msgspec.convert(json.loads(plain[_LENGTH:stop]), cls)
        return replace(head, blob=plain[stop:])


def compute_fingerprint(
    cell_type: str, source: str, metadata: Mapping[str, Any], attachments: object
) -> str:
    """Return a key of what a cell means: written otherwise, or run again, it keeps its key."""
    return _digest([cell_type, source, drop_execution_metadata(metadata), _join_texts(attachments)])


def drop_execution_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell's metadata without what a run of the cell writes there."""
    return {name: value for name, value in metadata.items() if name not in _VOLATILE}


def _join_texts(attachments: object) -> object:
    """Write texts in one way: nbformat keeps them as strings or as lists of lines."""
    if isinstance(attachments, dict):
        return {name: _join_texts(one) for name, one in attachments.items()}
    if isinstance(attachments, list) and all(isinstance(line, str) for line in attachments):
        return "".join(attachments)
    return attachments or {}


def compute_content_key(cell_type: str, source: str) -> str:
    """Return a key of type and source, by which neighbours without ids are told apart."""
    return _digest([cell_type, source])


def compute_short_hash(text: bytes) -> str:
    """Return a short hash of a text's bytes."""
    return hashlib.blake2b(text, digest_size=12).hexdigest()


def is_json_equal(first: object, second: object) -> bool:
    """Return whether two values of JSON are the same one."""
    return _digest(first) == _digest(second)


def _digest(value: object) -> str:
    written = json.dumps(_normalize_numbers(value), sort_keys=True, separators=(",", ":"))
    return compute_short_hash(written.encode())


def _normalize_numbers(value: object) -> object:
    """Write whole numbers in one way: JavaScript knows no other, and saves 1.0 as 1."""
    if isinstance(value, dict):
        return {name: _normalize_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class CellContent:
    """What a cell is, apart from its id and what running it gave."""

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
        """Tells it from all others."""
        return compute_fingerprint(self.cell_type, self.source, self.metadata, self.attachments)

    @property
    def side(self) -> CellState:
        """The same, as a record shows it."""
        return CellState(cell_type=self.cell_type, source=self.source, metadata=self.metadata)
