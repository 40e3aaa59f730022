"""The versions of notebooks that were shown or made lately, as far as it takes to compare them."""

from __future__ import annotations

import json
from array import array
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from jupyter_nbedit.errors import VersionUnknown
from jupyter_nbedit.notebook.document import Document

# In fingerprints, of 8 bytes each: about 16 MB, or the last hundred versions of 10,000 cells.
_MOST_WEIGHT = 2_000_000
_FINGERPRINT_BYTES = 8
# What a version costs beside its cells, so that many empty notebooks do not add up.
_OVERHEAD = 32


@dataclass(frozen=True)
class VersionDiff:
    """What is different in a notebook since a version of it.

    Parameters
    ----------
    indexes
        The cells whose bytes no cell of the version had, in order.
    gone
        The ids the version had and the notebook has not.
    reordered
        Whether the cells that both have stand in another order.
    total_cells
        How many cells the version had.
    """

    indexes: list[int]
    gone: list[str]
    reordered: bool
    total_cells: int


@dataclass(frozen=True)
class _Version:
    """A fingerprint of each cell's bytes, and the cells' ids as JSON, which is small."""

    fingerprints: array[int]
    ids: bytes

    @property
    def weight(self) -> int:
        return len(self.fingerprints) + len(self.ids) // _FINGERPRINT_BYTES + _OVERHEAD


@dataclass
class VersionCache:
    """Remembers versions by their hashes; what was not used for longest is forgotten first.

    May be used by several threads.

    Parameters
    ----------
    most_weight
        How much is remembered: a cell weighs 1, and its id an eighth for each byte.
    """

    most_weight: int = _MOST_WEIGHT
    _kept: OrderedDict[str, _Version] = field(default_factory=OrderedDict)
    _weight: int = 0
    _lock: Lock = field(default_factory=Lock)

    def is_known(self, digest: str) -> bool:
        """Return whether the version with a hash is remembered."""
        with self._lock:
            return digest in self._kept

    def remember(self, digest: str, document: Document) -> None:
        """Remember a version: the notebook that has this hash.

        It takes as long as reading the notebook's bytes once, or no time if it is remembered.
        """
        with self._lock:
            if digest in self._kept:
                self._kept.move_to_end(digest)
                return
        ids = json.dumps([cell_id for cell_id, _ in document.headers]).encode()
        version = _Version(array("q", _compute_fingerprints(document)), ids)
        with self._lock:
            if digest not in self._kept:
                self._kept[digest] = version
                self._weight += version.weight
            while self._weight > self.most_weight:
                _, forgotten = self._kept.popitem(last=False)
                self._weight -= forgotten.weight

    def compare(self, digest: str, document: Document) -> VersionDiff:
        """Compare a notebook with a version.

        Raises
        ------
        VersionUnknown
            If the version is not remembered.
        """
        with self._lock:
            version = self._kept.get(digest)
            if version is None:
                message = (
                    "This server does not remember the version that `since` names. Read the "
                    "notebook without `since`, and go on from the hash you then get."
                )
                raise VersionUnknown(message, since=digest)
            self._kept.move_to_end(digest)
        now = _compute_fingerprints(document)
        before = version.fingerprints.tolist()
        known = set(before)
        ids_before: list[str | None] = json.loads(version.ids)
        ids_now = [cell_id for cell_id, _ in document.headers]
        return VersionDiff(
            indexes=[index for index, cell in enumerate(now) if cell not in known],
            gone=[
                cell_id
                for cell_id in dict.fromkeys(ids_before)
                if cell_id is not None and cell_id not in document.ids
            ],
            reordered=_is_reordered(_name_cells(ids_before, before), _name_cells(ids_now, now)),
            total_cells=len(before),
        )


def _compute_fingerprints(document: Document) -> list[int]:
    """Return 64 bits for each cell's bytes, by Python's own keyed hash."""
    text = document.text
    return [hash(text[span.start : span.stop]) for span in document.cell_spans]


def _name_cells(ids: list[str | None], fingerprints: list[int]) -> dict[str | int, None]:
    """Name the cells in order: by their ids, or by their bytes where they have none."""
    return dict.fromkeys(
        fingerprint if cell_id is None else cell_id
        for cell_id, fingerprint in zip(ids, fingerprints, strict=True)
    )


def _is_reordered(before: dict[str | int, None], now: dict[str | int, None]) -> bool:
    stayed = (name for name in before if name in now)
    return list(stayed) != [name for name in now if name in before]
