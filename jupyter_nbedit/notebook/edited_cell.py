"""A cell as a batch leaves it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell, compute_source_hash
from jupyter_nbedit.notebook.json_edit import set_ranked_members
from jupyter_nbedit.notebook.json_spans import Member, Span
from jupyter_nbedit.notebook.json_style import CellStyle, Style
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.markdown.blocks import list_headings
from jupyter_nbedit.notebook.markdown.section_text import SectionText
from jupyter_nbedit.notebook.splices import Splice, apply_splices


@dataclass
class EditedCell:
    """A cell as the batch leaves it.

    Parameters
    ----------
    token
        Names it in the arrangement.
    cell
        The cell it was; None if the batch makes it.
    near
        The index of the cell it is written before, or was.
    id, cell_type, _source
        What they are now; the source unless sections of it were changed since.
    members
        Other members that the batch sets, as they are to be written; None takes one out.
    clear
        Whether its outputs are cleared.
    moved
        Whether the batch puts it into another place.
    gone_by
        The number of the operation that takes it out.
    """

    token: int
    cell: Cell | None
    anchor_index: int
    id: str | None
    cell_type: str
    _source: str
    members: dict[str, bytes | None] = field(default_factory=dict)
    clear: bool = False
    moved: bool = False
    removed_by: int | None = None
    _section_text: SectionText | None = None
    _hash: tuple[str, str] | None = None

    @property
    def source(self) -> str:
        """Its source."""
        return self._source if self._section_text is None else self._section_text.text

    @source.setter
    def source(self, source: str) -> None:
        self._source = source
        self._section_text = None

    @property
    def source_hash(self) -> str:
        """The sha256 of its source, which is worked out once for many operations on one cell."""
        source = self.source
        if self._hash is None or self._hash[0] is not source:
            self._hash = (source, compute_source_hash(source))
        return self._hash[1]

    @property
    def section_text(self) -> SectionText:
        """Its source, to change sections in."""
        if self._section_text is None:
            self._section_text = SectionText(self._source, list_headings(self._source))
        return self._section_text

    def get_member(self, name: str) -> bytes | None:
        """Return the value of a member as it is written, or None if there is none."""
        if name in self.members or self.cell is None:
            return self.members.get(name)
        return self.cell.get_raw(name)

    @property
    def metadata(self) -> dict[str, Any]:
        """Its metadata; empty if it is missing or not an object."""
        return decode_metadata(self.get_member("metadata"))

    @property
    def attachments(self) -> object:
        """Its attachments, which a cell that becomes code loses."""
        becomes = self.cell is None or self.cell.cell_type != "code"
        value = None if becomes and self.cell_type == "code" else self.get_member("attachments")
        return None if value is None else json_spans.decode(value, Span(0, len(value)))

    def change_type(self, cell_type: str) -> None:
        """Change the type; what the new one must not have is lost, even if it changes back."""
        if cell_type != "code":
            self.clear = self.clear or self.cell_type == "code"
        elif self.cell_type != "code" and self.get_member("attachments") is not None:
            self.members["attachments"] = None
        self.cell_type = cell_type

    @property
    def has_outputs(self) -> bool:
        """Whether it is there as a code cell whose outputs nobody has cleared."""
        return self.removed_by is None and self.cell_type == "code" and not self.clear

    @property
    def outputs_cleared(self) -> bool:
        """Whether it had outputs or a count, and has not any more."""
        if self.cell is None or not (self.clear or self.cell_type != "code"):
            return False
        if "code" not in {self.cell.cell_type, self.cell_type}:
            return False
        return has_outputs(self.cell)

    def compile_splices(self, style: Style) -> list[Splice]:
        """Return the splices that change the cell where it is."""
        return [] if self.cell is None else compile_cell_splices(self.cell, style, self._target)

    @property
    def changed_members(self) -> Collection[str]:
        """The names of the members of the cell it was that change, come or go."""
        return () if self.cell is None else list_changed_members(self.cell, self._target)

    @property
    def outputs_returned(self) -> bool:
        """Whether it has outputs or a count, and had none."""
        return False

    @property
    def _target(self) -> TargetCell:
        return TargetCell(self.source, self.cell_type, self.members, self.clear)

    def get_style(self, notebook: Style) -> CellStyle:
        """Return the style that it is written in."""
        if self.cell is not None:
            return notebook.get_cell_style(self.cell)
        return notebook.get_new_cell_style(self.anchor_index, self.cell_type)

    def write_cell(self, style: Style) -> bytes:
        """Write the whole cell."""
        if self.cell is None:
            return write_new_cell(
                self.get_style(style),
                cell_type=self.cell_type,
                cell_id=self.id,
                source=self.source,
                members=self.members,
            )
        start, stop = self.cell.span
        inner = [
            Splice(s.start - start, s.stop - start, s.text) for s in self.compile_splices(style)
        ]
        return apply_splices(self.cell.text[start:stop], inner)


def decode_metadata(metadata: bytes | None) -> dict[str, Any]:
    """Read metadata as they are written; what is no object counts as empty."""
    value = None if metadata is None else json_spans.decode(metadata, Span(0, len(metadata)))
    return value if isinstance(value, dict) else {}


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
    if name == "outputs" and json_spans.is_array(text, value):
        return not json_spans.is_empty(text, value)
    return json_spans.decode(text, value) is not None


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
    if own.lines is None or not json_spans.is_array(cell.text, span):
        return Splice(*span, own.write_text(source))
    return _replace_lines(cell.text, span, own, own.lines.separator, source)


def _replace_lines(
    text: Buffer, span: Span, own: CellStyle, separator: bytes, source: str
) -> Splice:
    """Replace the lines that differ; the tokens of those before and after them stay."""
    old = json_spans.list_elements(text, span)
    lines = [json_spans.decode(text, line) for line in old]
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
