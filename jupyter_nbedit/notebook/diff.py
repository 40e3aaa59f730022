"""What an edit did, as a unified diff by cell."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from jupyter_nbedit.notebook.alignment import Difference, compute_similarity, list_differences
from jupyter_nbedit.notebook.alignment import count_common_start as _common
from jupyter_nbedit.notebook.document import Document

# A diff is for reading. Longer ones are cut, and say so.
_MOST_CHARACTERS = 100_000
# How many lines are shown around what is different.
_CONTEXT = 3


@dataclass(frozen=True)
class MetadataChange:
    """Metadata before and after an edit, of a cell or of the notebook itself."""

    before: dict[str, Any]
    after: dict[str, Any]


@dataclass(frozen=True)
class CellChange:
    """One cell before and after an edit; an index is None where the cell does not exist."""

    cell_id: str | None
    index_before: int | None
    index_after: int | None
    cell_type_before: str | None
    cell_type_after: str | None
    before: str
    after: str
    moved: bool
    outputs_cleared: bool
    attachments_changed: bool = False
    metadata: MetadataChange | None = None

    def build_label(self, index: int | None) -> str:
        """Name the cell, as an address that fits the notebook on that side of the edit."""
        return self.cell_id if self.cell_id is not None else f"cell-{index}"


def render_unified_diff(path: str, changes: Sequence[CellChange | MetadataChange]) -> str:
    """Show changes, the notebook's own metadata first and then cell by cell, as ``diff -u`` would.

    The cells are in the order of the notebook.
    """
    of_notebook = [change for change in changes if isinstance(change, MetadataChange)]
    of_cells = [change for change in changes if isinstance(change, CellChange)]
    of_cells.sort(key=lambda c: c.index_after if c.index_after is not None else c.index_before or 0)
    lines = [line for own in of_notebook for line in _render_notebook_lines(path, own)]
    lines += [line for change in of_cells for line in _render_cell_lines(path, change)]
    text = "".join(lines)
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_MOST_CHARACTERS]}\n… {len(text) - _MOST_CHARACTERS} more characters\n"


def _render_notebook_lines(path: str, change: MetadataChange) -> Iterator[str]:
    yield f"--- {path}\n"
    yield f"+++ {path}\n"
    yield from _render_metadata_lines(change)


def _render_cell_lines(path: str, change: CellChange) -> Iterator[str]:
    old, new = change.index_before, change.index_after
    if old is None and new is None:
        return
    notes = list(_list_notes(change))
    if change.metadata is not None:
        notes += _render_metadata_lines(change.metadata)
    if change.before == change.after and not notes:
        return
    yield "--- /dev/null\n" if old is None else f"--- {path} {change.build_label(old)}\n"
    yield "+++ /dev/null\n" if new is None else f"+++ {path} {change.build_label(new)}\n"
    yield from notes
    if change.metadata is not None and change.before != change.after:
        yield "# source\n"
    yield from _render_hunks(change.before.splitlines(), change.after.splitlines())


def _render_metadata_lines(change: MetadataChange) -> Iterator[str]:
    if change.before == change.after:
        return
    yield "# metadata\n"
    yield from _render_hunks(_render_json_lines(change.before), _render_json_lines(change.after))


def _render_json_lines(metadata: dict[str, Any]) -> list[str]:
    shown = json.dumps(metadata, indent=1, sort_keys=True, ensure_ascii=False)
    return shown.splitlines() if metadata else []


def _render_hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    group: list[Difference] = []
    for found in list_differences(before, after):
        if group and found.start - group[-1].stop > 2 * _CONTEXT:
            yield from _render_hunk(before, after, group)
            group = []
        group.append(found)
    if group:
        yield from _render_hunk(before, after, group)


def _render_hunk(
    before: Sequence[str], after: Sequence[str], group: Sequence[Difference]
) -> Iterator[str]:
    """Show differences that are near each other, and the lines around them."""
    first, last = group[0], group[-1]
    start = max(0, first.start - _CONTEXT)
    stop = min(len(before), last.stop + _CONTEXT)
    old = _format_range(start, stop)
    new = _format_range(first.new_start - (first.start - start), last.new_stop + (stop - last.stop))
    yield f"@@ -{old} +{new} @@\n"
    for found in group:
        yield from (f" {line}\n" for line in before[start : found.start])
        yield from (f"-{line}\n" for line in before[found.start : found.stop])
        yield from (f"+{line}\n" for line in after[found.new_start : found.new_stop])
        start = found.stop
    yield from (f" {line}\n" for line in before[start:stop])


def _format_range(start: int, stop: int) -> str:
    """Return a range of lines as ``diff -u`` writes it."""
    if stop - start == 1:
        return str(start + 1)
    # An empty range is named by the line before it.
    return f"{start + (stop > start)},{stop - start}"


def _list_notes(change: CellChange) -> Iterator[str]:
    if change.index_before is None:
        yield f"# inserted {change.cell_type_after} at {change.index_after}\n"
    elif change.index_after is None:
        yield f"# deleted {change.cell_type_before} from {change.index_before}\n"
    else:
        if change.moved and change.index_before != change.index_after:
            yield f"# moved from {change.index_before} to {change.index_after}\n"
        if change.cell_type_before != change.cell_type_after:
            yield f"# {change.cell_type_before} became {change.cell_type_after}\n"
        if change.outputs_cleared:
            yield "# outputs cleared\n"
        if change.attachments_changed:
            yield "# attachments changed\n"


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


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Words stay whole: letters that two of them happen to share would mix with what others type.
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class Hunk(NamedTuple):
    """Replace ``before[start:stop]`` by ``text``; positions count characters."""

    start: int
    stop: int
    text: str


def list_hunks(before: str, after: str) -> list[Hunk]:
    """List what turns one text into another, in order and apart from each other."""
    found: list[Hunk] = []
    for lines in _iterate_differences(before, after, _LINE):
        # Cut out once: it may be all of the text, and have as many words that differ.
        block = before[lines.start : lines.stop]
        found += [
            _shift(_trim(block, words), lines.start)
            for words in _iterate_differences(block, lines.text, _WORDS)
        ]
    return found


def rebase_hunks(changes: Sequence[Hunk], before: str, now: str) -> list[Hunk] | None:
    """Move changes of a text to where they belong after somebody else has changed it in one place.

    Returns
    -------
    None if they touch that place, or what lies next to it.
    """
    if before == now:
        return list(changes)
    start = _common(before, now)
    end = _common(before[start:][::-1], now[start:][::-1])
    shift = len(now) - len(before)
    moved: list[Hunk] = []
    for change in changes:
        if change.stop < start:
            moved.append(change)
        elif change.start > len(before) - end:
            moved.append(_shift(change, shift))
        else:
            return None
    return moved


def is_still_applied(before: str, after: str, now: str) -> bool:
    """Return whether a change of a text is in it still, whatever else was typed beside the change.

    What may as well be the text before, with something typed into it, does not count.
    """
    return now == after or (
        _is_untouched(list_hunks(after, before), after, now)
        and not _is_untouched(list_hunks(before, after), before, now)
    )


def _is_untouched(changes: Sequence[Hunk], before: str, now: str) -> bool:
    """Return whether what changes would take away, or where they would put something, is there."""
    start = _common(before, now)
    end = len(before) - _common(before[start:][::-1], now[start:][::-1])
    return all(
        change.stop < start
        or change.start > end
        or (change.start < change.stop and (change.stop <= start or change.start >= end))
        for change in changes
    )


def _iterate_differences(before: str, after: str, part: re.Pattern[str]) -> Iterator[Hunk]:
    """Compare texts part by part."""
    old, new = part.findall(before), part.findall(after)
    offsets = [0, *accumulate(map(len, old))]
    for found in list_differences(old, new):
        text = "".join(new[found.new_start : found.new_stop])
        yield Hunk(offsets[found.start], offsets[found.stop], text)


def _trim(before: str, change: Hunk) -> Hunk:
    """Leave out what a change takes away and puts back at its ends."""
    start, stop, text = change
    first = _common(before[start:stop], text)
    rest, text = before[start + first : stop], text[first:]
    last = _common(rest[::-1], text[::-1])
    return Hunk(start + first, stop - last, text[: len(text) - last])


def _shift(change: Hunk, by: int) -> Hunk:
    return Hunk(change.start + by, change.stop + by, change.text)
