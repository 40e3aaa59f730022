"""What changes inside one cell, as splices of the document's bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice, takewhile

from jupyter_nbedit.notebook import spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.spans import Member, Span
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.style import CellStyle, Style

_CLEARED = {"execution_count": b"null", "outputs": b"[]"}
# https://nbformat.readthedocs.io/en/latest/format_description.html: what each type must not have.
_FOREIGN = {
    "code": {"attachments"},
    "markdown": {"execution_count", "outputs"},
    "raw": {"execution_count", "outputs"},
}


def new_cell(
    example: CellStyle, *, cell_type: str, cell_id: str | None, source: str, metadata: object
) -> bytes:
    """Write a new cell in the style of an example."""
    members = {
        "cell_type": example.text(cell_type),
        "metadata": example.value(metadata),
        "source": example.source(source),
    }
    if cell_id is not None:
        members["id"] = example.text(cell_id)
    if cell_type == "code":
        members |= _CLEARED
    return example.cell(members)


def has_outputs(cell: Cell) -> bool:
    """Tell whether there is something that clearing the outputs would change."""
    return bool(_stale(cell))


def changed_cell(
    cell: Cell, style: Style, *, source: str | None, cell_type: str | None, clear: bool
) -> list[Splice]:
    """Give the splices that change a cell, none where it already is as asked.

    Parameters
    ----------
    cell
        The cell as it is.
    style
        The notebook's style.
    source, cell_type
        What they become; None keeps them.
    clear
        Whether outputs and execution count are cleared; a cell that stops being code loses them in
        any case.
    """
    if cell_type not in {None, cell.cell_type}:
        return [Splice(*cell.span, _converted(cell, style, source, cell_type, clear=clear))]
    changes = [Splice(*member.value, _CLEARED[member.name]) for member in _stale(cell) if clear]
    if source is not None and source != cell.source:
        changes.append(_new_source(cell, style, source))
    return sorted(changes)


def _stale(cell: Cell) -> list[Member]:
    """List the members that clearing the outputs changes."""
    found = []
    for name in _CLEARED:
        member = cell.members.get(name)
        if member is None:
            continue
        array = spans.is_array(cell.text, member.value)
        value = spans.elements(cell.text, member.value) if array else cell.value(name)
        if value if array else value is not None:
            found.append(member)
    return found


def _converted(
    cell: Cell, style: Style, source: str | None, cell_type: str | None, *, clear: bool
) -> bytes:
    """Write the cell as another type; the members that stay keep their bytes."""
    kind = str(cell_type)
    own = style.of_cell(cell)
    example = style.of_new_cell(cell.index, kind)
    members = [
        (member.name, cell.text[member.name_span.start : member.value.stop])
        for member in cell.all_members
        if member.name not in _FOREIGN[kind]
    ]
    replaced = {"cell_type": own.text(kind)}
    if source is not None and source != cell.source:
        replaced["source"] = own.source(source)
    if kind == "code":
        replaced |= {
            name: value for name, value in _CLEARED.items() if clear or name not in cell.members
        }
    for name, value in replaced.items():
        _put(members, (name, own.member(name, value)), example.order_key)
    return own.object.wrap([written for _, written in members], b"{}")


def _put(
    members: list[tuple[str, bytes]],
    member: tuple[str, bytes],
    order: Callable[[str], tuple[int, int]],
) -> None:
    """Replace a member, or add it behind all that go before it in the given order."""
    names = [name for name, _ in members]
    name = member[0]
    if name in names:
        members[names.index(name)] = member
    else:
        at = max((n + 1 for n, other in enumerate(names) if order(other) < order(name)), default=0)
        members.insert(at, member)


def _new_source(cell: Cell, style: Style, source: str) -> Splice:
    own = style.of_cell(cell)
    member = cell.members.get("source")
    if member is None:
        last = max(found.value.stop for found in cell.members.values())
        written = own.member("source", own.source(source))
        return Splice(last, last, own.object.separator + written)
    if own.lines is None or not spans.is_array(cell.text, member.value):
        return Splice(*member.value, own.text(source))
    return _new_lines(cell.text, member.value, own, own.lines.separator, source)


def _new_lines(text: bytes, span: Span, own: CellStyle, separator: bytes, source: str) -> Splice:
    """Replace the lines that differ; the tokens of those before and after them stay."""
    old = spans.elements(text, span)
    lines = [spans.decode(text, line) for line in old]
    new = source.splitlines(keepends=True)
    if not old or not new:
        return Splice(*span, own.source(source))
    head = _alike(zip(lines, new, strict=False))
    shorter = min(len(lines), len(new)) - head
    tail = _alike(islice(zip(reversed(lines), reversed(new), strict=False), shorter))
    gone = old[head : len(old) - tail]
    written = [own.text(line) for line in new[head : len(new) - tail]]
    if gone and written:
        return Splice(gone[0].start, gone[-1].stop, separator.join(written))
    if tail:
        start = old[head].start
        return Splice(start, old[-tail].start, b"".join(line + separator for line in written))
    return Splice(old[head - 1].stop, old[-1].stop, b"".join(separator + line for line in written))


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
