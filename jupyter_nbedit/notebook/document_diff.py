"""The difference of two versions of a notebook, as the edit that turns one into the other.

No request has asked for this edit: another program has written the file, or several edits are shown
as one edit. This module also finds out which cells of the versions are the same cell.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.edit_plan import AffectedCell, CellChange, EditPlan
from jupyter_nbedit.notebook.edited_cell import list_filled_members
from jupyter_nbedit.notebook.json_spans import Span, decode
from jupyter_nbedit.notebook.lazy.buffer import iterate_chunks
from jupyter_nbedit.notebook.members import (
    CellMembers,
    has_new_content,
    is_json_equal,
    join_attachment,
    join_outputs,
)
from jupyter_nbedit.notebook.sequence_diff import count_common_start, find_increasing_subsequence
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.record import UndoRecord

_HASH_BYTES = 16
# Larger values with different bytes count as different; comparing them would hold the interpreter.
_MAX_VALUE_BYTES = 1 << 20
# If more bytes than this differ, in either version, they are not kept in memory for a record.
_MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class DocumentDiff:
    """How one version of a notebook became another."""

    #: Without splices if `is_too_large`.
    plan: EditPlan
    #: Whether the metadata of the notebook have other values.
    changes_metadata: bool
    #: Whether too many bytes differ for a record.
    is_too_large: bool

    def list_affected(self) -> list[AffectedCell]:
        """Return the changed cells as events list them, in the order of the notebook."""
        changes = sorted(self.plan.changes, key=lambda change: change.sort_key)
        return [
            AffectedCell(
                change.operation,
                None if cell is None else cell.id,
                change.index_before if change.index is None else change.index,
            )
            for change in changes
            for cell in (change.before if change.after is None else change.after,)
        ]

    def build_record(self) -> UndoRecord | None:
        """Return the record that undoes the change, or None.

        The change has no record if too many bytes differ, or a changed cell is invalid in nbformat.
        """
        if self.is_too_large:
            return None
        try:
            return self.plan.build_record()
        except InvalidNotebook:
            return None


@dataclass(frozen=True)
class CellMatching:
    """Which cells of two versions of a notebook are the same cell."""

    #: The index after the change by the index before it.
    new_indexes: dict[int, int]
    #: The indexes before and after the change of the cells that stay in order, sorted.
    unmoved: Sequence[tuple[int, int]]


def compare_documents(
    before: Document,
    after: Document,
    matching: CellMatching | None = None,
    *,
    with_display: bool = True,
) -> DocumentDiff:
    """Compare two versions of a notebook; the time is linear in their size.

    If it is not known which cells are the same, they are matched by their ids and contents. Without
    ``with_display``, a cell has not changed if only metadata about display and runs are different,
    which JupyterLab or an executor stores, or unused attachments were dropped.
    """
    old_hashes, new_hashes = _hash_cells(before), _hash_cells(after)
    if matching is None:
        matched = match_cells(before, after, old_hashes, new_hashes)
        matching = CellMatching(matched, find_increasing_subsequence(sorted(matched.items())))
    new_indexes, unmoved = matching.new_indexes, matching.unmoved
    equal_cells = [pair for pair in unmoved if old_hashes[pair[0]] == new_hashes[pair[1]]]
    changes = list(
        _iterate_changes(before, after, new_indexes, frozenset(unmoved), frozenset(equal_cells))
    )
    if not with_display:
        changes = [change for change in changes if not _changes_only_display(change)]
    splices = _compute_splices(before, after, equal_cells)
    changes_metadata = not is_json_equal(before.metadata, after.metadata)
    has_both = None not in (before.written_metadata, after.written_metadata)
    is_only_rewritten = has_both and not changes_metadata
    return DocumentDiff(
        EditPlan(
            document=before,
            splices=splices or [],
            changes=changes,
            # As with cells, another way of writing the same values is no change. Missing metadata
            # are read as empty metadata, but this is not another way of writing them.
            metadata=(before if is_only_rewritten else after).written_metadata,
            total_cells=len(after),
            results=[],
        ),
        changes_metadata=changes_metadata,
        is_too_large=splices is None,
    )


def _hash_cells(document: Document) -> list[bytes]:
    """Return a hash of the bytes of each cell."""
    hashes: list[bytes] = []
    for span in document.cell_spans:
        hasher = hashlib.blake2b(digest_size=_HASH_BYTES)
        for chunk in iterate_chunks(document.text, *span):
            hasher.update(chunk)
        hashes.append(hasher.digest())
    return hashes


def _iterate_changes(
    before: Document,
    after: Document,
    new_indexes: dict[int, int],
    unmoved: frozenset[tuple[int, int]],
    equal_cells: frozenset[tuple[int, int]],
) -> Iterator[CellChange]:
    for pair in new_indexes.items():
        if pair in equal_cells:
            continue
        old_cell, new_cell = before.get_cell(pair[0]), after.get_cell(pair[1])
        cell_id = _get_unique_id(new_cell.id, before, after)
        change = _compare_cells(cell_id, old_cell, new_cell, is_moved=pair not in unmoved)
        if change.is_moved or change.changed_members:
            yield change
    for index in sorted(set(range(len(before))) - new_indexes.keys()):
        cell = before.get_cell(index)
        yield CellChange(_get_unique_id(cell.id, before, after), cell, after=None, index=None)
    for index in sorted(set(range(len(after))) - set(new_indexes.values())):
        cell = after.get_cell(index)
        yield CellChange(_get_unique_id(cell.id, before, after), None, cell, index)


def _changes_only_display(change: CellChange) -> bool:
    """Return whether the content of a cell, and its position, are as before."""
    before, after = change.before, change.after
    if before is None or after is None or change.is_moved:
        return False
    if not {"metadata", "attachments"}.issuperset(change.changed_members):
        return False
    try:
        return not has_new_content(CellMembers.from_cell(before), CellMembers.from_cell(after))
    except InvalidNotebook:
        return False


def _get_unique_id(cell_id: str | None, before: Document, after: Document) -> str | None:
    """Return an id if it identifies a cell in both versions; otherwise its cell has no id."""
    counts = [len(document.ids.get(cell_id or "", ())) for document in (before, after)]
    return cell_id if max(counts) <= 1 else None


def _compare_cells(cell_id: str | None, before: Cell, after: Cell, *, is_moved: bool) -> CellChange:
    names = dict.fromkeys(member.name for cell in (before, after) for member in cell.all_members)
    try:
        changed_members = [name for name in names if _is_member_changed(before, after, name)]
        old_filled, new_filled = (list_filled_members(cell) for cell in (before, after))
    except InvalidNotebook:
        # A member is repeated, or the source is no text: no record can be built.
        changed_members, old_filled, new_filled = list(names), [], []
    return CellChange(
        cell_id,
        before=before,
        after=after,
        index=after.index,
        is_moved=is_moved,
        changed_members=changed_members,
        outputs_cleared="outputs" in old_filled and "outputs" not in new_filled,
        outputs_returned=bool(new_filled) and not old_filled,
    )


def _is_member_changed(before: Cell, after: Cell, name: str) -> bool:
    """Return whether a member has another value, however the value is written."""
    old, new = before.get_raw(name), after.get_raw(name)
    if old == new:
        return False
    if old is None or new is None or max(len(old), len(new)) > _MAX_VALUE_BYTES:
        return True
    if name == "source":
        return before.source != after.source
    try:
        old_value, new_value = (_join_lines(name, decode(value)) for value in (old, new))
        return not is_json_equal(old_value, new_value)
    except RecursionError:
        return True


def _join_lines(name: str, value: Any) -> Any:
    """Join lists of lines, as which nbformat writes texts; an application may write strings."""
    if name == "outputs":
        return join_outputs(value)
    if name == "attachments" and isinstance(value, dict):
        return {key: join_attachment(item) for key, item in value.items()}
    return value


def _compute_splices(
    before: Document, after: Document, equal_cells: Sequence[tuple[int, int]]
) -> list[Splice] | None:
    """Return the splices from one version to the other; None if they would have too many bytes.

    Cells that are equal and in the same order are not touched.
    """
    splices: list[Splice] = []
    start = new_start = size = 0
    ends = [(before.cell_spans[old], after.cell_spans[new]) for old, new in equal_cells]
    total, new_total = len(before.text), len(after.text)
    for (stop, next_start), (new_stop, next_new_start) in [
        *ends,
        (Span(total, total), Span(new_total, new_total)),
    ]:
        size += max(stop - start, new_stop - new_start)
        if size > _MAX_BYTES:
            return None
        old, new = before.text[start:stop], after.text[new_start:new_stop]
        if old != new:
            splices.append(_trim(start, old, new))
        start, new_start = next_start, next_new_start
    return splices


def _trim(offset: int, old: bytes, new: bytes) -> Splice:
    """Return the splice at an offset without the bytes that both have at their ends."""
    first = count_common_start(old, new)
    last = count_common_start(old[first:][::-1], new[first:][::-1])
    return Splice(offset + first, offset + len(old) - last, new[first : len(new) - last])


def match_cells(
    before: Document, after: Document, old_cells: list[bytes], new_cells: list[bytes]
) -> dict[int, int]:
    """Match the cells of two versions of a notebook; return the new index of each old index.

    ``old_cells`` and ``new_cells`` have the bytes of each cell, or a hash of them.
    """
    first = count_common_start(old_cells, new_cells)
    last = count_common_start(old_cells[first:][::-1], new_cells[first:][::-1])
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
    # Cells without ids: cells with the same source first, then the others in their order.
    indexes_by_source: dict[bytes, list[int]] = defaultdict(list)
    for index in reversed(unmatched_old):
        indexes_by_source[_read_source(before, index, old_cells)].append(index)
    changed_new: list[int] = []
    for index in unmatched_new:
        if equal_cells := indexes_by_source[_read_source(after, index, new_cells)]:
            pairs[equal_cells.pop()] = index
        else:
            changed_new.append(index)
    changed_old = [index for index in unmatched_old if index not in pairs]
    pairs.update(zip(changed_old, changed_new, strict=False))
    return pairs


def _read_source(document: Document, index: int, cells: list[bytes]) -> bytes:
    """Return what identifies a cell without id: its type and source, however they are written.

    Of a cell that cannot be read, it is its bytes.
    """
    try:
        cell = document.get_cell(index)
        return f"{cell.cell_type}\n{cell.source}".encode("utf-8", "surrogatepass")
    except InvalidNotebook:
        return cells[index]


def _match_by_id(
    before: Document, after: Document, old_range: range, new_range: range
) -> Iterator[tuple[int, int]]:
    for cell_id, indexes in before.ids.items():
        new_indexes = after.ids.get(cell_id, [])
        # Of a repeated id, it is not certain which cells are left if their number is another.
        if len(indexes) == len(new_indexes):
            for index, new_index in zip(indexes, new_indexes, strict=True):
                if index in old_range and new_index in new_range:
                    yield index, new_index
