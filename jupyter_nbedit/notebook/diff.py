"""What an edit did, as a unified diff by cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.notebook.sequence_diff import Difference, list_differences

# A diff is for people. Longer ones are cut, and say so.
_MAX_CHARACTERS = 100_000
# Unchanged lines shown around each difference.
_CONTEXT_LINES = 3


@dataclass(frozen=True)
class MetadataChange:
    """Metadata of a cell or of the notebook, before and after an edit."""

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
    source_before: str
    source_after: str
    is_moved: bool
    outputs_cleared: bool
    attachments_changed: bool = False
    metadata: MetadataChange | None = None

    def build_label(self, index: int | None) -> str:
        """Return the cell's id, or an address by index that is valid on that side of the edit."""
        return self.cell_id if self.cell_id is not None else f"cell-{index}"


def render_unified_diff(path: str, changes: Sequence[CellChange | MetadataChange]) -> str:
    """Render changes like ``diff -u``: the notebook's metadata, then the cells in order."""
    metadata_changes = [change for change in changes if isinstance(change, MetadataChange)]
    cell_changes = [change for change in changes if isinstance(change, CellChange)]
    cell_changes.sort(
        key=lambda c: c.index_after if c.index_after is not None else c.index_before or 0
    )
    lines = [line for change in metadata_changes for line in _render_notebook_lines(path, change)]
    lines += [line for change in cell_changes for line in _render_cell_lines(path, change)]
    text = "".join(lines)
    if len(text) <= _MAX_CHARACTERS:
        return text
    return f"{text[:_MAX_CHARACTERS]}\n… {len(text) - _MAX_CHARACTERS} more characters\n"


def _render_notebook_lines(path: str, change: MetadataChange) -> Iterator[str]:
    yield f"--- {path}\n"
    yield f"+++ {path}\n"
    yield from _render_metadata_lines(change)


def _render_cell_lines(path: str, change: CellChange) -> Iterator[str]:
    old_index, new_index = change.index_before, change.index_after
    if old_index is None and new_index is None:
        return
    notes = list(_list_notes(change))
    if change.metadata is not None:
        notes += _render_metadata_lines(change.metadata)
    if change.source_before == change.source_after and not notes:
        return
    yield (
        "--- /dev/null\n" if old_index is None else f"--- {path} {change.build_label(old_index)}\n"
    )
    yield (
        "+++ /dev/null\n" if new_index is None else f"+++ {path} {change.build_label(new_index)}\n"
    )
    yield from notes
    if change.metadata is not None and change.source_before != change.source_after:
        yield "# source\n"
    yield from _render_hunks(change.source_before.splitlines(), change.source_after.splitlines())


def _render_metadata_lines(change: MetadataChange) -> Iterator[str]:
    if change.before == change.after:
        return
    yield "# metadata\n"
    yield from _render_hunks(_render_json_lines(change.before), _render_json_lines(change.after))


def _render_json_lines(metadata: dict[str, Any]) -> list[str]:
    text = json.dumps(metadata, indent=1, sort_keys=True, ensure_ascii=False)
    return text.splitlines() if metadata else []


def _render_hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    group: list[Difference] = []
    for difference in list_differences(before, after):
        if group and difference.start - group[-1].stop > 2 * _CONTEXT_LINES:
            yield from _render_hunk(before, after, group)
            group = []
        group.append(difference)
    if group:
        yield from _render_hunk(before, after, group)


def _render_hunk(
    before: Sequence[str], after: Sequence[str], group: Sequence[Difference]
) -> Iterator[str]:
    """Render neighbouring differences and the lines around them."""
    first, last = group[0], group[-1]
    start = max(0, first.start - _CONTEXT_LINES)
    stop = min(len(before), last.stop + _CONTEXT_LINES)
    old_range = _format_range(start, stop)
    new_range = _format_range(
        first.new_start - (first.start - start), last.new_stop + (stop - last.stop)
    )
    yield f"@@ -{old_range} +{new_range} @@\n"
    for difference in group:
        yield from (f" {line}\n" for line in before[start : difference.start])
        yield from (f"-{line}\n" for line in before[difference.start : difference.stop])
        yield from (f"+{line}\n" for line in after[difference.new_start : difference.new_stop])
        start = difference.stop
    yield from (f" {line}\n" for line in before[start:stop])


def _format_range(start: int, stop: int) -> str:
    """Return a range of lines in the notation of ``diff -u``."""
    if stop - start == 1:
        return str(start + 1)
    # An empty range has the number of the line before it.
    return f"{start + (stop > start)},{stop - start}"


def _list_notes(change: CellChange) -> Iterator[str]:
    if change.index_before is None:
        yield f"# inserted {change.cell_type_after} at {change.index_after}\n"
    elif change.index_after is None:
        yield f"# deleted {change.cell_type_before} from {change.index_before}\n"
    else:
        if change.is_moved and change.index_before != change.index_after:
            yield f"# moved from {change.index_before} to {change.index_after}\n"
        if change.cell_type_before != change.cell_type_after:
            yield f"# {change.cell_type_before} became {change.cell_type_after}\n"
        if change.outputs_cleared:
            yield "# outputs cleared\n"
        if change.attachments_changed:
            yield "# attachments changed\n"
