"""What changes inside one cell, as splices of the document's bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, takewhile

from jupyter_nbedit.notebook import spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.objects import set_ranked_members
from jupyter_nbedit.notebook.spans import Member, Span
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.style import CellStyle, Style
from jupyter_nbedit.notebook.text import Buffer

_CLEARED = {"execution_count": b"null", "outputs": b"[]"}
#: The members that a run of the cell fills.
EXECUTION_MEMBERS = frozenset(_CLEARED)
# https://nbformat.readthedocs.io/en/latest/format_description.html: what each type must not have.
_FORBIDDEN_MEMBERS = {
    "code": ("attachments",),
    "markdown": ("execution_count", "outputs"),
    "raw": ("execution_count", "outputs"),
}


def write_new_cell(
    example: CellStyle,
    *,
    cell_type: str,
    cell_id: str | None,
    source: str,
    members: Mapping[str, bytes | None],
) -> bytes:
    """Write a new cell in the style of an example; other ``members`` are written already."""
    foreign = _FORBIDDEN_MEMBERS.get(cell_type, ())
    values = {
        name: value for name, value in members.items() if value is not None and name not in foreign
    }
    values |= {"cell_type": example.write_text(cell_type), "source": example.write_source(source)}
    if cell_id is not None:
        values["id"] = example.write_text(cell_id)
    if cell_type == "code":
        values |= _CLEARED
    return example.write_cell(values)


def has_outputs(cell: Cell) -> bool:
    """Return whether there is something that clearing the outputs would change."""
    return bool(_list_execution_members(cell))


def has_value(name: str, value: bytes | None) -> bool:
    """Return whether a written value of such a member is something that clearing would change."""
    return value is not None and _has_value(name, value, Span(0, len(value)))


def _has_value(name: str, text: Buffer, value: Span) -> bool:
    if name == "outputs" and spans.is_array(text, value):
        return not spans.is_empty(text, value)
    return spans.decode(text, value) is not None


@dataclass(frozen=True)
class TargetCell:
    """What a cell becomes.

    Parameters
    ----------
    source, cell_type
        These of it.
    members
        Values of other members, written already; None takes one out.
    clear
        Whether outputs and execution count are cleared; a cell that stops being code loses them in
        any case.
    """

    source: str
    cell_type: str
    members: Mapping[str, bytes | None]
    clear: bool


def list_changed_members(cell: Cell, wanted: TargetCell) -> set[str]:
    """Name the members whose values `compile_cell_splices` makes others, puts in or takes out."""
    names = {name for name, value in wanted.members.items() if value != cell.get_raw(name)}
    if wanted.source != cell.source:
        names.add("source")
    if _is_clearing(cell, wanted):
        names.update(member.name for member in _list_execution_members(cell))
    if wanted.cell_type != cell.cell_type:
        names.add("cell_type")
        if wanted.cell_type == "code":
            names |= _CLEARED.keys() - cell.members.keys()
        # What is foreign to the type is out, even if the batch has set it.
        foreign = set(_FORBIDDEN_MEMBERS.get(wanted.cell_type, ()))
        names = names - foreign | foreign & cell.members.keys()
    return names


def compile_cell_splices(cell: Cell, style: Style, wanted: TargetCell) -> list[Splice]:
    """Return the splices that change a cell, none where it already is as asked."""
    source = wanted.source if wanted.source != cell.source else None
    converted = wanted.cell_type != cell.cell_type
    values = {name: value for name, value in wanted.members.items() if value != cell.get_raw(name)}
    if _is_clearing(cell, wanted):
        values |= {member.name: _CLEARED[member.name] for member in _list_execution_members(cell)}
    if source is None and not converted and not values:
        return []
    own = style.get_cell_style(cell)
    if converted:
        values["cell_type"] = own.write_text(wanted.cell_type)
        if wanted.cell_type == "code":
            values |= {name: _CLEARED[name] for name in _CLEARED.keys() - cell.members.keys()}
    in_place = (
        not converted and values.keys() <= cell.members.keys() and None not in values.values()
    )
    if source is not None and not (in_place and "source" in cell.members):
        in_place, values["source"] = False, own.write_source(source)
    if not in_place:
        return [Splice(*cell.span, _write_changed_cell(cell, style, wanted.cell_type, values))]
    changes = [
        Splice(*cell.members[name].value, value)
        for name, value in values.items()
        if value is not None
    ]
    if source is not None:
        changes.append(_replace_source(cell, own, source))
    return sorted(changes)


def _is_clearing(cell: Cell, wanted: TargetCell) -> bool:
    """Return whether outputs are cleared; whatever else has such members, they are not a run's."""
    return wanted.clear and "code" in {cell.cell_type, wanted.cell_type}


def _list_execution_members(cell: Cell) -> list[Member]:
    """List the members that clearing the outputs changes."""
    found = [cell.members[name] for name in _CLEARED if name in cell.members]
    return [member for member in found if _has_value(member.name, cell.text, member.value)]


def _write_changed_cell(
    cell: Cell, style: Style, cell_type: str, values: Mapping[str, bytes | None]
) -> bytes:
    """Write the cell as a type, with new values; the members that stay keep their bytes."""
    own = style.get_cell_style(cell)
    changes = dict(values)
    rank = own.get_order_key
    if cell_type != cell.cell_type:
        changes |= dict.fromkeys(_FORBIDDEN_MEMBERS.get(cell_type, ()))
        rank = style.get_new_cell_style(cell.index, cell_type).get_order_key
    return set_ranked_members(cell.text[cell.span.start : cell.span.stop], changes, own, rank)


def _replace_source(cell: Cell, own: CellStyle, source: str) -> Splice:
    span = cell.members["source"].value
    if own.lines is None or not spans.is_array(cell.text, span):
        return Splice(*span, own.write_text(source))
    return _replace_lines(cell.text, span, own, own.lines.separator, source)


def _replace_lines(
    text: Buffer, span: Span, own: CellStyle, separator: bytes, source: str
) -> Splice:
    """Replace the lines that differ; the tokens of those before and after them stay."""
    old = spans.list_elements(text, span)
    lines = [spans.decode(text, line) for line in old]
    new = source.splitlines(keepends=True)
    if not old or not new:
        return Splice(*span, own.write_source(source))
    head = _count_alike(zip(lines, new, strict=False))
    shorter = min(len(lines), len(new)) - head
    tail = _count_alike(islice(zip(reversed(lines), reversed(new), strict=False), shorter))
    gone = old[head : len(old) - tail]
    written = [own.write_text(line) for line in new[head : len(new) - tail]]
    if gone and written:
        return Splice(gone[0].start, gone[-1].stop, separator.join(written))
    if tail:
        start = old[head].start
        return Splice(start, old[-tail].start, b"".join(line + separator for line in written))
    return Splice(old[head - 1].stop, old[-1].stop, b"".join(separator + line for line in written))


def _count_alike(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
