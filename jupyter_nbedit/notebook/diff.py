"""What an edit did, as a unified diff by cell, and as the number of changed lines."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from jupyter_nbedit.notebook.edit_plan import CellChange, EditPlan
from jupyter_nbedit.notebook.json_spans import decode_object
from jupyter_nbedit.notebook.sequence_diff import Difference, list_differences, split_lines
from jupyter_nbedit.notebook.shown_text import escape_line, normalize_look

# A diff is for people. A longer diff is cut, and says so.
_MAX_CHARACTERS = 100_000
# Unchanged lines shown around each difference.
_CONTEXT_LINES = 3
#: The most characters of a snippet.
MAX_SNIPPET_LENGTH = 120


def render_unified_diff(path: str, plan: EditPlan) -> str:
    """Render an edit like ``diff -u``: the notebook's metadata, then the cells in order."""
    lines: list[str] = []
    length = 0
    # Of a diff of millions of lines, only what is shown is in memory.
    for line in _render_plan(path, plan):
        if length < _MAX_CHARACTERS:
            lines.append(line[: _MAX_CHARACTERS - length])
        length += len(line)
    if length > _MAX_CHARACTERS:
        lines.append(f"\n… {length - _MAX_CHARACTERS} more characters\n")
    return "".join(lines)


def _render_plan(path: str, plan: EditPlan) -> Iterator[str]:
    if plan.changes_metadata:
        yield from (f"--- {path}\n", f"+++ {path}\n")
        yield from _render_metadata(plan.document.metadata, decode_object(plan.metadata))
    for change in sorted(plan.changes, key=lambda change: change.sort_key):
        yield from _render_cell(path, change)


def _render_cell(path: str, change: CellChange) -> Iterator[str]:
    before, after = change.before, change.after
    notes, metadata = _list_notes(change), list[str]()
    source_before, source_after = before.source if before else "", after.source if after else ""
    if after is not None and (before is None or "metadata" in change.changed_members):
        metadata = _render_metadata(before.metadata if before else {}, after.metadata)
    if source_before == source_after and not (notes or metadata):
        return
    yield f"--- {_name_cell(path, change.id, change.index_before)}\n"
    yield f"+++ {_name_cell(path, change.id, change.index)}\n"
    yield from notes
    yield from metadata
    if metadata and source_before != source_after:
        yield "# source\n"
    yield from render_hunks(source_before, source_after)


def _name_cell(path: str, cell_id: str | None, index: int | None) -> str:
    """Return the cell's id, or an address by index that is valid on that side of the edit."""
    if index is None:
        return "/dev/null"
    return f"{path} {f'cell-{index}' if cell_id is None else cell_id}"


def _render_metadata(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    # Equal values, such as 1 and true in Python, may have different texts.
    text_before, text_after = _render_json(before), _render_json(after)
    if text_before == text_after:
        return []
    hunks = render_hunks(text_before, text_after)
    return ["# metadata\n", *hunks]


def _render_json(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata, indent=1, sort_keys=True, ensure_ascii=False) if metadata else ""


def render_hunks(text_before: str, text_after: str) -> Iterator[str]:
    """Yield the hunks of ``diff -u`` between two texts as lines.

    What does not print is escaped as in JSON. Where removed and added lines would look the same,
    white space and marks that join with other characters are escaped in them, too.
    """
    before, after = split_lines(text_before), split_lines(text_after)
    groups: list[list[Difference]] = []
    for difference in list_differences(before, after):
        if groups and difference.start - groups[-1][-1].stop <= 2 * _CONTEXT_LINES:
            groups[-1].append(difference)
        else:
            groups.append([difference])
    for group in groups:
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
        yield from (f" {escape_line(line)}\n" for line in before[start : difference.start])
        yield from _render_difference(
            before[difference.start : difference.stop],
            after[difference.new_start : difference.new_stop],
        )
        start = difference.stop
    yield from (f" {escape_line(line)}\n" for line in before[start:stop])


def _render_difference(removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    # Lines of one side only are told apart by nothing.
    shown = set(map(normalize_look, removed)) if added else set()
    alike = shown.intersection(map(normalize_look, added)) if shown else shown
    for sign, lines in (("-", removed), ("+", added)):
        for line in lines:
            is_exact = bool(alike) and normalize_look(line) in alike
            yield f"{sign}{escape_line(line, is_exact=is_exact)}\n"


def _format_range(start: int, stop: int) -> str:
    """Return a range of lines in the notation of ``diff -u``."""
    if stop - start == 1:
        return str(start + 1)
    # An empty range has the number of the line before it.
    return f"{start + (stop > start)},{stop - start}"


def _list_notes(change: CellChange) -> list[str]:
    before, after, notes = change.before, change.after, []
    if before is None or after is None:
        if after is not None:
            notes.append(f"# inserted {after.cell_type} at {change.index}\n")
        if before is not None:
            notes.append(f"# deleted {before.cell_type} from {before.index}\n")
        return notes
    if change.is_moved and before.index != change.index:
        notes.append(f"# moved from {before.index} to {change.index}\n")
    if before.cell_type != after.cell_type:
        notes.append(f"# {before.cell_type} became {after.cell_type}\n")
    if change.outputs_cleared:
        notes.append("# outputs cleared\n")
    elif set(change.changed_members) == {"execution_count"}:
        notes.append("# execution count changed\n")
    if "attachments" in change.changed_members and before.attachments != after.attachments:
        notes.append("# attachments changed\n")
    return notes


class ChangedLines(NamedTuple):
    """The lines of sources that an edit adds and removes."""

    added: int
    removed: int
    #: The first added line that is not blank, or else the first removed one; None without either.
    snippet: str | None


def count_changed_lines(changes: Iterable[CellChange]) -> ChangedLines:
    """Count the lines that differ in the sources of cells, in the order of the notebook."""
    added = removed = 0
    first_added = first_removed = ""
    for change in sorted(changes, key=lambda change: change.sort_key):
        old = split_lines(change.before.source if change.before else "")
        new = split_lines(change.after.source if change.after else "")
        if old == new:
            continue
        for difference in list_differences(old, new):
            old_lines = old[difference.start : difference.stop]
            new_lines = new[difference.new_start : difference.new_stop]
            removed += len(old_lines)
            added += len(new_lines)
            first_added = first_added or _find_text(new_lines)
            first_removed = first_removed or _find_text(old_lines)
    return ChangedLines(added, removed, first_added or first_removed or None)


def _find_text(lines: Iterable[str]) -> str:
    """Return the first line that is not blank, cut; '' if there is none."""
    return next((line.strip()[:MAX_SNIPPET_LENGTH] for line in lines if line.strip()), "")
