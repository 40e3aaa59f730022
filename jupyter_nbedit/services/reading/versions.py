"""Fingerprints of the recent versions of notebooks, to tell what has changed since one of them."""

from __future__ import annotations

import itertools
import json
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock

from jupyter_nbedit.errors import VersionUnknown
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import EditPlan
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.lazy.buffer import Buffer, iterate_chunks
from jupyter_nbedit.notebook.sequence_diff import count_common_start, list_differences
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.services.reading.models import ChangesSince
from jupyter_nbedit.system.lru import LRUCache

# In fingerprints of 8 bytes: about 5 MB, or thirty versions of 10,000 cells.
_MAX_WEIGHT = 600_000
_FINGERPRINT_BYTES = 8
# The weight of a version without cells.
_OVERHEAD = 64
# The weight of a number that tells a cell from another one with the same bytes.
_TWIN_WEIGHT = 6
# Without the key nobody can make two cells with one fingerprint.
_KEY = os.urandom(16)
# Above all fingerprints, so that a number can take the place of a fingerprint.
_twin_numbers = itertools.count(2**64)


@dataclass(frozen=True)
class Version:
    """What is remembered of a version of a notebook."""

    #: 64 bits for the bytes of each cell.
    fingerprints: array[int]
    #: The ids of the cells as JSON, which takes little memory.
    ids: bytes
    #: The indexes of the cells whose id an earlier cell has, too.
    repeats: frozenset[int]
    #: The fingerprint of the notebook's metadata; None if it has none.
    metadata: int | None
    nbformat_minor: int
    #: For each cell a number that distinguishes cells with the same bytes, or 0. Empty if all
    #: numbers are 0, as in notebooks whose cells have ids.
    twins: Sequence[int] = field(default=(), compare=False)
    #: Versions that edits made from one version share this object: their `twins` are comparable.
    lineage: object = field(default_factory=object, compare=False)

    @property
    def weight(self) -> int:
        """The memory that this version takes, in fingerprints."""
        return (
            len(self.fingerprints)
            + _TWIN_WEIGHT * len(self.twins)
            + len(self.repeats)
            + len(self.ids) // _FINGERPRINT_BYTES
            + _OVERHEAD
        )

    @classmethod
    def from_document(cls, document: Document) -> Version:
        """Return the version of a notebook; this reads all its bytes."""
        ids = _list_ids(document)
        fingerprints = _compute_fingerprints(document)
        return cls(
            fingerprints,
            json.dumps(ids).encode(),
            _find_repeats(ids),
            _compute_metadata_fingerprint(document),
            document.nbformat_minor,
            _number_twins(fingerprints, [None] * len(ids)) if None in ids else (),
        )

    def derive(
        self,
        before: Document,
        after: Document,
        splices: Sequence[Splice],
        list_origins: Callable[[], Sequence[int | None]],
    ) -> Version:
        """Return the version after an edit; this reads only the cells that the splices touch.

        ``before`` is the document of this version. ``list_origins`` returns for each cell after the
        edit its index before it, and None for a new cell.
        """
        fingerprints = array("q", bytes(len(after) * _FINGERPRINT_BYTES))
        touched: list[int] = []
        position = shift = filled = 0
        for splice in (*splices, Splice(len(before.text), len(before.text), b"")):
            # The cells between this splice and the one before it are the same afterwards.
            first = before.cell_spans.count_starting_at_or_before(position - 1)
            stop = before.cell_spans.count_ending_before(splice.start + 1)
            if first < stop:
                begin = after.cell_spans.count_starting_at_or_before(position + shift - 1)
                touched.extend(range(filled, begin))
                filled = begin + stop - first
                fingerprints[begin:filled] = self.fingerprints[first:stop]
            position, shift = splice.stop, shift + len(splice.text) - (splice.stop - splice.start)
        touched.extend(range(filled, len(after)))
        for index in touched:
            fingerprints[index] = _compute_cell_fingerprint(after, index)
        ids, ids_before = _list_ids(after), _list_ids(before)
        twins: Sequence[int] = ()
        if None in ids:
            twins = _number_twins(fingerprints, self._list_numbers(fingerprints, list_origins()))
        return Version(
            fingerprints,
            self.ids if ids == ids_before else json.dumps(ids).encode(),
            self.repeats if ids == ids_before else _find_repeats(ids),
            _compute_metadata_fingerprint(after),
            after.nbformat_minor,
            twins,
            self.lineage,
        )

    def _list_numbers(
        self, fingerprints: Sequence[int], origins: Sequence[int | None]
    ) -> list[int | None]:
        """Return the numbers of the cells of this version that a later version still has."""
        twins = self.twins or [0] * len(self.fingerprints)
        return [
            None if index is None or self.fingerprints[index] != fingerprint else twins[index]
            for fingerprint, index in zip(fingerprints, origins, strict=True)
        ]

    def match_cells(self, after: Version) -> list[int | None]:
        """Return for each cell of a later version its index in this one; None if it is not there.

        Cells with the same bytes are the same cell if the edits or the order decide between them. A
        cell that has moved is recognized if no other cell has its bytes.
        """
        has_twins = self.lineage is after.lineage and (self.twins or after.twins)
        old = self._name_twins() if has_twins else self.fingerprints
        new = after._name_twins() if has_twins else after.fingerprints
        indexes: list[int | None] = [None] * len(new)
        if self.nbformat_minor != after.nbformat_minor:
            # Ids count from nbformat 4.5 on: every cell may read differently.
            return indexes
        for index, new_index in _match_in_order(old, new):
            indexes[new_index] = index
        if None in indexes:
            _match_moved_cells(old, new, indexes)
        if self.repeats or after.repeats:
            # The second cell with an id reads without it.
            for index, origin in enumerate(indexes):
                if (index in after.repeats) != (origin in self.repeats):
                    indexes[index] = None
        return indexes

    def _name_twins(self) -> list[int]:
        """Return for each cell its number, or its fingerprint if it has no number; see `twins`."""
        twins = self.twins or [0] * len(self.fingerprints)
        return [
            number or fingerprint
            for number, fingerprint in zip(twins, self.fingerprints, strict=True)
        ]


class VersionCache:
    """A thread-safe cache of versions by hash.

    ``max_weight`` is its size: the weight of a cell is 1, and 1/8 for each byte of its id.
    """

    def __init__(self, max_weight: int = _MAX_WEIGHT) -> None:
        self._max_weight = max_weight
        self._versions: LRUCache[str, Version] = LRUCache(
            max_weight, lambda version: version.weight
        )
        self._lock = Lock()

    def is_known(self, notebook_hash: str) -> bool:
        """Return whether the cache has the version of a hash."""
        with self._lock:
            return notebook_hash in self._versions

    def get(self, notebook_hash: str) -> Version:
        """Return the version of a hash; raise `VersionUnknown` if the cache does not have it."""
        with self._lock:
            version = self._versions.get(notebook_hash)
        if version is None:
            raise build_unknown_error(notebook_hash)
        return version

    def remember(self, notebook_hash: str, document: Document) -> Version:
        """Return the version of a hash, and add it; this reads all bytes if it is not known."""
        with self._lock:
            version = self._versions.get(notebook_hash)
        return (
            self._add(notebook_hash, Version.from_document(document))
            if version is None
            else version
        )

    def remember_edit(
        self, hash_before: str, notebook_hash: str, after: Document, plan: EditPlan
    ) -> None:
        """Add the version after an edit, and the one before it; see `Version.derive`."""
        before = plan.document
        version_before = self.remember(hash_before, before)
        if not self.is_known(notebook_hash):
            self._add(
                notebook_hash, version_before.derive(before, after, plan.splices, plan.list_origins)
            )

    def _add(self, notebook_hash: str, version: Version) -> Version:
        if version.weight <= self._max_weight:
            with self._lock:
                self._versions.put(notebook_hash, version)
        return version

    def find(self, rev: str) -> str:
        """Return the hash of the version whose hash begins with ``rev``.

        Raise `VersionUnknown` if the cache has no such version, or several.
        """
        with self._lock:
            if rev in self._versions:
                return rev
            hashes = [known for known in self._versions if known.startswith(rev)]
        if len(hashes) == 1:
            return hashes[0]
        found = "the hashes of several versions begin so" if hashes else "it does not remember it"
        message = (
            f"This server cannot compare the notebook with the version {rev!r}: {found}. Read the "
            "notebook without `since`, and go on from the hash you then get."
        )
        raise VersionUnknown(message, since=rev)

    def compare(self, notebook_hash: str, document: Document) -> tuple[list[int], ChangesSince]:
        """Compare a notebook with a version.

        Return the indexes of the cells whose bytes are in no cell of the version, and the reply.
        Raise `VersionUnknown` if the cache does not have the version.
        """
        version = self.get(notebook_hash)
        after = _compute_fingerprints(document)
        before = version.fingerprints.tolist()
        known_fingerprints = set(before)
        indexes = [index for index, cell in enumerate(after) if cell not in known_fingerprints]
        ids_before: list[str | None] = json.loads(version.ids)
        ids_after = _list_ids(document)
        removed_ids = [
            cell_id
            for cell_id in dict.fromkeys(ids_before)
            if cell_id is not None and cell_id not in document.ids
        ]
        return indexes, ChangesSince(
            hash=notebook_hash,
            changed=len(indexes),
            gone=removed_ids,
            reordered=_is_reordered(_name_cells(ids_before, before), _name_cells(ids_after, after)),
            total_cells=len(before),
        )


def build_unknown_error(notebook_hash: str) -> VersionUnknown:
    """Return the error that the version of a hash is not known."""
    message = (
        "This server does not remember the version that `since` names. Read the notebook "
        "without `since`, and go on from the hash you then get."
    )
    return VersionUnknown(message, since=notebook_hash)


def _list_ids(document: Document) -> list[str | None]:
    return [cell_id for cell_id, _ in document.headers]


def _find_repeats(ids: Sequence[str | None]) -> frozenset[int]:
    """Return the indexes of the cells whose id an earlier cell has, too."""
    named = [cell_id for cell_id in ids if cell_id is not None]
    if len(set(named)) == len(named):
        return frozenset()
    first = {cell_id: index for index, cell_id in reversed(list(enumerate(ids)))}
    return frozenset(
        index for index, cell_id in enumerate(ids) if cell_id is not None and first[cell_id] < index
    )


def _number_twins(fingerprints: Sequence[int], known: Sequence[int | None]) -> Sequence[int]:
    """Return numbers that tell cells with the same bytes apart; see `Version.twins`.

    ``known`` has the numbers of the cells that an earlier version has, too, and None for others.
    """
    unnumbered = {fingerprints[index] for index, number in enumerate(known) if number == 0}
    numbers: list[int] = []
    for fingerprint, number in zip(fingerprints, known, strict=True):
        if number is not None:
            numbers.append(number)
        elif fingerprint in unnumbered:
            numbers.append(next(_twin_numbers))
        else:
            unnumbered.add(fingerprint)
            numbers.append(0)
    return numbers if any(numbers) else ()


def _compute_fingerprints(document: Document) -> array[int]:
    return array(
        "q", [_compute_cell_fingerprint(document, index) for index in range(len(document))]
    )


def _compute_cell_fingerprint(document: Document, index: int) -> int:
    return _hash_range(document.text, document.cell_spans[index])


def _compute_metadata_fingerprint(document: Document) -> int | None:
    span = document.metadata_span
    return None if span is None else _hash_range(document.text, span)


def _hash_range(text: Buffer, span: Span) -> int:
    """Return 64 bits; other threads run while the bytes of a large cell are hashed."""
    hasher = blake2b(digest_size=_FINGERPRINT_BYTES, key=_KEY)
    for chunk in iterate_chunks(text, span.start, span.stop):
        hasher.update(chunk)
    return int.from_bytes(hasher.digest(), "little", signed=True)


def _match_in_order(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Match equal cells of two versions that have the same order: pairs of ascending indexes."""
    start = count_common_start(old, new)
    end = count_common_start(old[start:][::-1], new[start:][::-1])
    stop, new_stop = len(old) - end, len(new) - end
    pairs: list[tuple[int, int]] = []
    position, new_position = start, start
    for difference in list_differences(
        [*map(str, old[start:stop])], [*map(str, new[start:new_stop])]
    ):
        common = range(position, start + difference.start)
        pairs += zip(common, itertools.count(new_position), strict=False)
        position, new_position = start + difference.stop, start + difference.new_stop
    pairs += zip(range(position, stop), itertools.count(new_position), strict=False)
    return [
        *zip(range(start), range(start), strict=True),
        *_straighten(pairs, old, start, stop),
        *zip(range(stop, len(old)), range(new_stop, len(new)), strict=True),
    ]


def _straighten(
    pairs: Sequence[tuple[int, int]], old: Sequence[int], start: int, stop: int
) -> Iterator[tuple[int, int]]:
    """Among equal cells, choose the cell with the same distance from the previous match.

    A cell that was changed then stands between the same matches in both versions.
    """
    last, new_last = start - 1, start - 1
    for number, (index, new_index) in enumerate(pairs):
        limit = pairs[number + 1][0] if number + 1 < len(pairs) else stop
        opposite = last + new_index - new_last
        is_equal = opposite < limit and old[opposite] == old[index]
        last, new_last = opposite if is_equal else index, new_index
        yield last, new_last


def _match_moved_cells(old: Sequence[int], new: Sequence[int], indexes: list[int | None]) -> None:
    """Complete the indexes by the cells whose bytes occur once in both versions."""
    counts, new_counts = Counter(old), Counter(new)
    positions = {fingerprint: index for index, fingerprint in enumerate(old)}
    for index, fingerprint in enumerate(new):
        if indexes[index] is None and counts[fingerprint] == new_counts[fingerprint] == 1:
            indexes[index] = positions[fingerprint]


def _name_cells(ids: list[str | None], fingerprints: Sequence[int]) -> dict[str | int, None]:
    """Return a key for each cell, in order: its id, or its fingerprint if it has no id."""
    return dict.fromkeys(
        fingerprint if cell_id is None else cell_id
        for cell_id, fingerprint in zip(ids, fingerprints, strict=True)
    )


def _is_reordered(before: dict[str | int, None], after: dict[str | int, None]) -> bool:
    return [name for name in before if name in after] != [name for name in after if name in before]
