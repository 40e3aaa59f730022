"""Match the cells of two versions of a notebook: by id, by equal bytes, by similar words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.sequence_diff import compute_similarity

# Cells without ids are compared by words only up to this number of pairs.
_MAX_PAIRS = 400


_MIN_SIMILARITY = 0.5


_WORD = re.compile(r"\w+|[^\w\s]")


def match_cells(before: Document, after: Document) -> dict[int, int]:
    """Match the cells of two versions of a notebook; return the new index of each old index."""
    first, last = count_common_ends(before, after)
    shift = len(after) - len(before)
    pairs = {index: index for index in range(first)}
    pairs.update({index: index + shift for index in range(len(before) - last, len(before))})
    old_range, new_range = range(first, len(before) - last), range(first, len(after) - last)
    pairs.update(_match_by_id(before, after, old_range, new_range))
    unmatched_old = [
        index for index in old_range if index not in pairs and before.headers[index][0] is None
    ]
    matched_new = set(pairs.values())
    unmatched_new = [
        index for index in new_range if index not in matched_new and after.headers[index][0] is None
    ]
    pairs.update(_match_by_content(before, after, unmatched_old, unmatched_new))
    return pairs


def count_common_ends(before: Document, after: Document) -> tuple[int, int]:
    """Return how many cells at the start and at the end have equal bytes."""
    shorter = min(len(before), len(after))
    first = 0
    while first < shorter and get_cell_bytes(before, first) == get_cell_bytes(after, first):
        first += 1
    last = 0
    while last < shorter - first and get_cell_bytes(
        before, len(before) - 1 - last
    ) == get_cell_bytes(after, len(after) - 1 - last):
        last += 1
    return first, last


def _match_by_id(
    before: Document, after: Document, old_range: range, new_range: range
) -> Iterator[tuple[int, int]]:
    for cell_id, indexes in before.ids.items():
        new_indexes = after.ids.get(cell_id, [])
        if (
            len(indexes) == len(new_indexes) == 1
            and indexes[0] in old_range
            and new_indexes[0] in new_range
        ):
            yield indexes[0], new_indexes[0]


def _match_by_content(
    before: Document, after: Document, old_indexes: list[int], new_indexes: list[int]
) -> Iterator[tuple[int, int]]:
    """Match cells without ids: cells with equal bytes first, then the most similar ones."""
    indexes_by_bytes: dict[bytes, list[int]] = defaultdict(list)
    for index in reversed(old_indexes):
        indexes_by_bytes[get_cell_bytes(before, index)].append(index)
    unmatched_old = dict.fromkeys(old_indexes)
    unmatched_new: list[int] = []
    for index in new_indexes:
        if equal_cells := indexes_by_bytes[get_cell_bytes(after, index)]:
            unmatched_old.pop(equal_cells[-1])
            yield equal_cells.pop(), index
        else:
            unmatched_new.append(index)
    yield from _match_by_words(before, after, list(unmatched_old), unmatched_new)


def _match_by_words(
    before: Document, after: Document, old_indexes: list[int], new_indexes: list[int]
) -> Iterator[tuple[int, int]]:
    if len(old_indexes) * len(new_indexes) > _MAX_PAIRS:
        return
    old_words = {index: _count_words(before, index) for index in old_indexes}
    new_words = {index: _count_words(after, index) for index in new_indexes}
    similarities = sorted(
        (
            (compute_similarity(old_words[i], new_words[j]), -i, -j)
            for i in old_indexes
            for j in new_indexes
        ),
        reverse=True,
    )
    for ratio, i, j in similarities:
        if ratio >= _MIN_SIMILARITY and -i in old_indexes and -j in new_indexes:
            old_indexes.remove(-i)
            new_indexes.remove(-j)
            yield -i, -j
    if len(old_indexes) == len(new_indexes):
        yield from zip(old_indexes, new_indexes, strict=True)


def _count_words(document: Document, index: int) -> Counter[str]:
    return Counter(_WORD.findall(document.get_cell(index).source))


def get_cell_bytes(document: Document, index: int) -> bytes:
    """Return the bytes of a cell."""
    span = document.cell_spans[index]
    return document.text[span.start : span.stop]
