"""Fingerprints of the recent versions of notebooks, for the read option ``since``."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass
from threading import Lock

from jupyter_nbedit.errors import VersionUnknown
from jupyter_nbedit.lru import LRUCache
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.reading.models import ChangesSince

# In fingerprints of 8 bytes: about 16 MB, or a hundred versions of 10,000 cells.
_MOST_WEIGHT = 2_000_000
_FINGERPRINT_BYTES = 8
# The weight of a version without cells.
_OVERHEAD = 32


@dataclass(frozen=True)
class _Version:
    """The fingerprints of the cells, and their ids as JSON, which takes little memory."""

    fingerprints: array[int]
    ids: bytes

    @property
    def weight(self) -> int:
        return len(self.fingerprints) + len(self.ids) // _FINGERPRINT_BYTES + _OVERHEAD


class VersionCache:
    """A thread-safe cache of versions by hash.

    ``most_weight`` is its size: the weight of a cell is 1, and 1/8 for each byte of its id.
    """

    def __init__(self, most_weight: int = _MOST_WEIGHT) -> None:
        self._most_weight = most_weight
        self._versions: LRUCache[str, _Version] = LRUCache(
            most_weight, lambda version: version.weight
        )
        self._lock = Lock()

    def is_known(self, digest: str) -> bool:
        """Return whether the cache has the version of a hash."""
        with self._lock:
            return digest in self._versions

    def remember(self, digest: str, document: Document) -> None:
        """Add the version of a hash. This reads all bytes, unless the cache has the version."""
        with self._lock:
            if self._versions.get(digest) is not None:
                return
        ids = json.dumps([cell_id for cell_id, _ in document.headers]).encode()
        version = _Version(array("q", _compute_fingerprints(document)), ids)
        if version.weight <= self._most_weight:
            with self._lock:
                self._versions.put(digest, version)

    def compare(self, digest: str, document: Document) -> tuple[list[int], ChangesSince]:
        """Compare a notebook with a version.

        Return the indexes of the cells whose bytes are in no cell of the version, and the reply.
        Raise `VersionUnknown` if the cache does not have the version.
        """
        with self._lock:
            version = self._versions.get(digest)
        if version is None:
            message = (
                "This server does not remember the version that `since` names. Read the notebook "
                "without `since`, and go on from the hash you then get."
            )
            raise VersionUnknown(message, since=digest)
        after = _compute_fingerprints(document)
        before = version.fingerprints.tolist()
        known_fingerprints = set(before)
        indexes = [index for index, cell in enumerate(after) if cell not in known_fingerprints]
        ids_before: list[str | None] = json.loads(version.ids)
        ids_after = [cell_id for cell_id, _ in document.headers]
        removed_ids = [
            cell_id
            for cell_id in dict.fromkeys(ids_before)
            if cell_id is not None and cell_id not in document.ids
        ]
        return indexes, ChangesSince(
            hash=digest,
            changed=len(indexes),
            gone=removed_ids,
            reordered=_is_reordered(_name_cells(ids_before, before), _name_cells(ids_after, after)),
            total_cells=len(before),
        )


def _compute_fingerprints(document: Document) -> list[int]:
    """Return 64 bits for the bytes of each cell; Python's ``hash`` is keyed and fast."""
    text = document.text
    return [hash(text[span.start : span.stop]) for span in document.cell_spans]


def _name_cells(ids: list[str | None], fingerprints: list[int]) -> dict[str | int, None]:
    """Return a key for each cell, in order: its id, or its fingerprint if it has no id."""
    return dict.fromkeys(
        fingerprint if cell_id is None else cell_id
        for cell_id, fingerprint in zip(ids, fingerprints, strict=True)
    )


def _is_reordered(before: dict[str | int, None], after: dict[str | int, None]) -> bool:
    return [name for name in before if name in after] != [name for name in after if name in before]
