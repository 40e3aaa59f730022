"""Match the cells of two versions of a notebook: by id, by equal bytes, by similar words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.sequence_diff import compute_similarity

# Cells without ids are compared with each other up to this many pairs.
_MOST_PAIRS = 400


_ALIKE = 0.5


_WORD = re.compile(r"\w+|[^\w\s]")


def match_cells(before: Document, after: Document) -> dict[int, int]:
    """Find which cell became which, as indexes before and after."""
    first, last = count_common_ends(before, after)
    shift = len(after) - len(before)
    pairs = {index: index for index in range(first)}
    pairs.update({index: index + shift for index in range(len(before) - last, len(before))})
    here, there = range(first, len(before) - last), range(first, len(after) - last)
    pairs.update(_match_by_id(before, after, here, there))
    without = [index for index in here if index not in pairs and before.heads[index][0] is None]
    taken = set(pairs.values())
    free = [index for index in there if index not in taken and after.heads[index][0] is None]
    pairs.update(_match_by_likeness(before, after, without, free))
    return pairs


def count_common_ends(before: Document, after: Document) -> tuple[int, int]:
    """Count the cells at the beginning and at the end that are written alike."""
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
    before: Document, after: Document, here: range, there: range
) -> Iterator[tuple[int, int]]:
    for cell_id, indexes in before.ids.items():
        found = after.ids.get(cell_id, [])
        if len(indexes) == len(found) == 1 and indexes[0] in here and found[0] in there:
            yield indexes[0], found[0]


def _match_by_likeness(
    before: Document, after: Document, here: list[int], there: list[int]
) -> Iterator[tuple[int, int]]:
    """Pair cells without ids: first those that are written alike, then the most similar ones."""
    places: dict[bytes, list[int]] = defaultdict(list)
    for index in reversed(here):
        places[get_cell_bytes(before, index)].append(index)
    free = dict.fromkeys(here)
    rest: list[int] = []
    for index in there:
        if found := places[get_cell_bytes(after, index)]:
            free.pop(found[-1])
            yield found.pop(), index
        else:
            rest.append(index)
    yield from _match_by_words(before, after, list(free), rest)


def _match_by_words(
    before: Document, after: Document, here: list[int], there: list[int]
) -> Iterator[tuple[int, int]]:
    if len(here) * len(there) > _MOST_PAIRS:
        return
    old = {index: _count_words(before, index) for index in here}
    new = {index: _count_words(after, index) for index in there}
    likeness = sorted(
        ((compute_similarity(old[i], new[j]), -i, -j) for i in here for j in there), reverse=True
    )
    for ratio, i, j in likeness:
        if ratio >= _ALIKE and -i in here and -j in there:
            here.remove(-i)
            there.remove(-j)
            yield -i, -j
    if len(here) == len(there):
        yield from zip(here, there, strict=True)


def _count_words(document: Document, index: int) -> Counter[str]:
    return Counter(_WORD.findall(document.get_cell(index).source))


def get_cell_bytes(document: Document, index: int) -> bytes:
    """Return a cell as it is written."""
    span = document.cell_spans[index]
    return document.text[span.start : span.stop]
