"""What an edit did, as a unified diff by cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from jupyter_nbedit.notebook.edit_plan import CellChange, EditPlan
from jupyter_nbedit.notebook.json_spans import decode_object
from jupyter_nbedit.notebook.sequence_diff import Difference, list_differences

# A diff is for people. Longer ones are cut, and say so.
_MAX_CHARACTERS = 100_000
# Unchanged lines shown around each difference.
_CONTEXT_LINES = 3


def render_unified_diff(path: str, plan: EditPlan) -> str:
    """Render an edit like ``diff -u``: the notebook's metadata, then the cells in order."""
    lines: list[str] = []
    if plan.changes_metadata:
        metadata = _render_metadata_lines(plan.document.metadata, decode_object(plan.metadata))
        lines += [f"--- {path}\n", f"+++ {path}\n", *metadata]
    for change in sorted(plan.changes, key=lambda change: change.sort_key):
        lines += _render_cell_lines(path, change)
    text = "".join(lines)
    if len(text) <= _MAX_CHARACTERS:
        return text
    return f"{text[:_MAX_CHARACTERS]}\n… {len(text) - _MAX_CHARACTERS} more characters\n"


def _render_cell_lines(path: str, change: CellChange) -> Iterator[str]:
    before, after = change.before, change.after
    source_before, source_after = before.source if before else "", after.source if after else ""
    notes = list(_list_notes(change))
    has_metadata = after is not None and (before is None or "metadata" in change.changed_members)
    if after is not None and has_metadata:
        notes += _render_metadata_lines(before.metadata if before else {}, after.metadata)
    if source_before == source_after and not notes:
        return
    yield f"--- {_name_cell(path, change.id, change.index_before)}\n"
    yield f"+++ {_name_cell(path, change.id, change.index)}\n"
    yield from notes
    if "# metadata\n" in notes and source_before != source_after:
        yield "# source\n"
    yield from _render_hunks(source_before.splitlines(), source_after.splitlines())


def _name_cell(path: str, cell_id: str | None, index: int | None) -> str:
    """Return the cell's id, or an address by index that is valid on that side of the edit."""
    if index is None:
        return "/dev/null"
    return f"{path} {f'cell-{index}' if cell_id is None else cell_id}"


def _render_metadata_lines(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    if before != after:
        yield "# metadata\n"
        yield from _render_hunks(_render_json_lines(before), _render_json_lines(after))


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
    before, after = change.before, change.after
    if before is None or after is None:
        if after is not None:
            yield f"# inserted {after.cell_type} at {change.index}\n"
        if before is not None:
            yield f"# deleted {before.cell_type} from {before.index}\n"
        return
    if change.is_moved and before.index != change.index:
        yield f"# moved from {before.index} to {change.index}\n"
    if before.cell_type != after.cell_type:
        yield f"# {before.cell_type} became {after.cell_type}\n"
    if change.outputs_cleared:
        yield "# outputs cleared\n"
    if "attachments" in change.changed_members and before.attachments != after.attachments:
        yield "# attachments changed\n"
