"""Find out which cells of two versions of a notebook are the same cell."""

from collections import defaultdict
from collections.abc import Iterator

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.sequence_diff import count_common_start


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
