"""Guarded names of cells, such as ``3:9f2c1a``: the index, and the beginning of the source hash.

A guarded name needs no id in the file, and survives a restart of the server. When the source of its
cell has changed, it matches no cell any more. If several cells have the same source, their names
end with a tilde: ``3:9f2c1a~``. `Document.locate` finds the cell of a name.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

#: The number of hex digits of the source hash in a name.
HASH_LENGTH = 6

_NUMBERED_ID = re.compile(r"cell-[0-9]+")
_NAME = re.compile(r"(0|[1-9][0-9]{0,8}):([0-9a-f]{6})(~?)")


@dataclass(frozen=True)
class CellName:
    """The guarded name of a cell: its index, and the first hex digits of its source hash.

    ``is_repeated`` says whether other cells had the same source.
    """

    index: int
    source_hash: str
    is_repeated: bool = False

    def __str__(self) -> str:
        return f"{self.index}:{self.source_hash}{'~' if self.is_repeated else ''}"

    @classmethod
    def parse(cls, text: str) -> CellName | None:
        """Return the name that a text is; None if the text does not have the form of a name."""
        match = _NAME.fullmatch(text)
        return None if match is None else cls(int(match[1]), match[2], match[3] != "")

    @classmethod
    def from_source(cls, index: int, source: str) -> CellName:
        """Return the name of a cell with a source."""
        return cls(index, compute_source_hash(source)[:HASH_LENGTH])

    @classmethod
    def from_hash(cls, index: int, source_hash: str) -> CellName:
        """Return the name of a cell whose source has a hash."""
        return cls(index, source_hash[:HASH_LENGTH])


def is_numbered_id(text: str) -> bool:
    """Return whether a text is of the form ``cell-N``, which may be an id or mean an index."""
    return _NUMBERED_ID.fullmatch(text) is not None


def compute_source_hash(source: str) -> str:
    """Return the sha256 of a source's UTF-8 bytes, in hex; lone surrogates are kept."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
