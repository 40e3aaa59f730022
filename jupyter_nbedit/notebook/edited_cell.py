"""A cell during a batch, and the splices that write it."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jupyter_nbedit.errors import CellProtected
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Cell, CellAddress
from jupyter_nbedit.notebook.json_edit import set_own_members
from jupyter_nbedit.notebook.json_spans import Span, list_members
from jupyter_nbedit.notebook.json_style import CellStyle, Style
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.markdown.blocks import list_headings
from jupyter_nbedit.notebook.markdown.section_text import SectionText
from jupyter_nbedit.notebook.sequence_diff import count_common_start
from jupyter_nbedit.notebook.splices import Splice, apply_splices

# What going over a line costs besides its characters, in characters.
_LINE_WEIGHT, _MARKDOWN_WEIGHT = 20, 500


@dataclass
class EditedCell:
    """A cell as the operations of a batch have left it."""

    #: Its name in the `CellOrder`.
    token: int
    #: The cell of the document; None if the batch inserts it.
    cell: Cell | None
    #: The index of the cell in the document, or of the cell before which it was inserted.
    anchor_index: int
    id: str | None
    cell_type: str
    # Outdated while `_section_text` exists.
    _source: str
    #: Encoded values of other members that the batch sets; None removes a member.
    members: dict[str, bytes | None] = field(default_factory=dict)
    clears_outputs: bool = False
    #: The number of the operation that removes it.
    removed_by: int | None = None
    _section_text: SectionText | None = None
    #: The tokens of the cells that the batch has split off from it, in their order.
    split_tokens: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: The source before the batch, or that with which the batch has inserted it.
        self.original_source = self._source

    @property
    def address(self) -> CellAddress:
        """An address for messages."""
        return self.anchor_index if self.id is None else self.id

    @property
    def source(self) -> str:
        """The current source."""
        return self._source if self._section_text is None else self._section_text.text

    @source.setter
    def source(self, source: str) -> None:
        self._source = source
        self._section_text = None

    @cached_property
    def source_hash(self) -> str:
        """The sha256 of the source in hex, when the batch is applied."""
        return compute_source_hash(self.source)

    @property
    def section_text(self) -> SectionText:
        """The source as a text whose sections can be edited."""
        if self._section_text is None:
            self._section_text = SectionText(self._source, list_headings(self._source))
        return self._section_text

    @cached_property
    def lines_weight(self) -> int:
        """What it costs to make objects of the lines before the batch; see `TextBudget`."""
        return self._weigh(_LINE_WEIGHT)

    @cached_property
    def markdown_weight(self) -> int:
        """What it costs to parse the source before the batch as Markdown."""
        return self._weigh(_MARKDOWN_WEIGHT)

    def _weigh(self, line_weight: int) -> int:
        return len(self.original_source) + line_weight * self.original_source.count("\n")

    def get_member(self, name: str) -> bytes | None:
        """Return the encoded value of a member, or None if there is no such member."""
        if name in self.members or self.cell is None:
            return self.members.get(name)
        return self.cell.get_raw(name)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata; empty if it is missing or not an object."""
        if self.cell is not None and "metadata" not in self.members:
            return self.cell.metadata
        return json_spans.decode_object(self.get_member("metadata"))

    def check_permission(self, flag: str, verb: str) -> None:
        """Raise `CellProtected` if the metadata contain a flag that is false."""
        if self.metadata.get(flag) is False:
            message = (
                f"The cell {self.address!r} would be {verb}, but its metadata has `{flag}: false`. "
                "Nothing was written; ask the author of the notebook."
            )
            raise CellProtected(message, cell=self.address)

    def check_editable(self) -> None:
        """Raise `CellProtected` if the metadata contain ``editable: false``."""
        self.check_permission("editable", "changed")

    @property
    def attachments(self) -> object:
        """The attachments; a cell that becomes a code cell loses them."""
        was_not_code = self.cell is None or self.cell.cell_type != "code"
        value = (
            None if was_not_code and self.cell_type == "code" else self.get_member("attachments")
        )
        return None if value is None else json_spans.decode(value)

    def change_type(self, cell_type: str) -> None:
        """Change the type; members that the new type forbids are lost, even if it changes back."""
        if cell_type != "code":
            self.clears_outputs = self.clears_outputs or self.cell_type == "code"
        elif self.cell_type != "code" and self.get_member("attachments") is not None:
            self.members["attachments"] = None
        self.cell_type = cell_type

    @property
    def clears_later_outputs(self) -> bool:
        """Whether outputs of a run between the proposal and its acceptance are cleared."""
        return self.clears_outputs

    @property
    def has_outputs(self) -> bool:
        """Whether it is a code cell whose outputs have not been cleared."""
        return self.removed_by is None and self.cell_type == "code" and not self.clears_outputs

    @property
    def outputs_cleared(self) -> bool:
        """Whether it had outputs and loses them; an execution count is no output."""
        return "outputs" in self._filled_members and not self._is_filled_after("outputs")

    @property
    def outputs_returned(self) -> bool:
        """Whether the cell had no outputs and no execution count, and gets outputs or a count."""
        return self.cell is not None and not self._filled_members and self.is_filled_after

    @cached_property
    def _filled_members(self) -> list[str]:
        return [] if self.cell is None else list_filled_members(self.cell)

    @property
    def is_filled_after(self) -> bool:
        """Whether it has outputs or an execution count after the batch."""
        return any(map(self._is_filled_after, EXECUTION_MEMBERS))

    def _is_filled_after(self, name: str) -> bool:
        if not EXECUTION_MEMBERS.isdisjoint(self.members):
            value = self.get_member(name)
            return value is not None and is_filled(name, value)
        # Such members of cells of other types are not outputs.
        is_code = self.cell is not None and "code" in {self.cell.cell_type, self.cell_type}
        is_clearing = is_code and (self.clears_outputs or self.cell_type != "code")
        return name in self._filled_members and not is_clearing

    @property
    def changed_members(self) -> Collection[str]:
        """The names of the members of the original cell that are changed, added or removed."""
        if self.cell is None:
            return ()
        names = set(self._compute_values(self.cell))
        if self.source != self.cell.source:
            names.add("source")
        if self.cell_type != self.cell.cell_type:
            names.add("cell_type")
        return names

    def _compute_values(self, cell: Cell) -> dict[str, bytes | None]:
        """Return the new values of changed members but source and type; None removes a member."""
        values = {
            name: value for name, value in self.members.items() if value != cell.get_raw(name)
        }
        if self.clears_outputs and "code" in {cell.cell_type, self.cell_type}:
            values |= {name: CLEARED_VALUES[name] for name in self._filled_members}
        if self.cell_type != cell.cell_type:
            if self.cell_type == "code":
                missing = CLEARED_VALUES.keys() - cell.members.keys()
                values |= {name: CLEARED_VALUES[name] for name in missing}
            # Members that the type forbids are removed, even if the batch sets them.
            for name in FORBIDDEN_MEMBERS.get(self.cell_type, ()):
                values.pop(name, None)
                if name in cell.members:
                    values[name] = None
        return values

    def get_style(self, notebook: Style) -> CellStyle:
        """Return the style in which the cell is written."""
        if self.cell is not None:
            return notebook.get_cell_style(self.cell)
        return notebook.get_new_cell_style(self.anchor_index, self.cell_type)

    def write_cell(self, style: Style) -> bytes:
        """Return the bytes of the whole cell."""
        if self.cell is None:
            return self._write_new_cell(self.get_style(style))
        start, stop = self.cell.span
        inner = [
            Splice(s.start - start, s.stop - start, s.text) for s in self.compile_splices(style)
        ]
        return apply_splices(self.cell.text[start:stop], inner)

    def _write_new_cell(self, example: CellStyle) -> bytes:
        forbidden_members = FORBIDDEN_MEMBERS.get(self.cell_type, ())
        values = {
            name: value
            for name, value in self.members.items()
            if value is not None and name not in forbidden_members
        }
        values["cell_type"] = example.write_text(self.cell_type)
        values["source"] = example.write_source(self.source)
        if self.id is not None:
            values["id"] = example.write_text(self.id)
        if self.cell_type == "code":
            values |= CLEARED_VALUES
        return example.write_cell(values)

    def compile_splices(self, style: Style) -> list[Splice]:
        """Return the splices that edit the cell in place; empty if nothing changes."""
        cell, source = self.cell, self.source
        if cell is None:
            return []
        values = self._compute_values(cell)
        is_source_changed = source != cell.source
        is_type_changed = self.cell_type != cell.cell_type
        if not (values or is_source_changed or is_type_changed):
            return []
        cell_style = style.get_cell_style(cell)
        is_in_place = not is_type_changed and all(
            value is not None and name in cell.members for name, value in values.items()
        )
        if is_in_place and (not is_source_changed or "source" in cell.members):
            splices = [
                Splice(*cell.members[name].value, value or b"") for name, value in values.items()
            ]
            if is_source_changed:
                splices.append(_replace_source(cell, cell_style, source))
            return sorted(splices)
        if is_source_changed:
            values["source"] = cell_style.write_source(source)
        if is_type_changed:
            values["cell_type"] = cell_style.write_text(self.cell_type)
        text = cell.text[cell.span.start : cell.span.stop]
        return [Splice(*cell.span, set_own_members(text, list_members(text), values, cell_style))]


#: The values of the members that a run fills, without a run.
CLEARED_VALUES = {"execution_count": b"null", "outputs": b"[]"}
#: The members that a run of the cell fills.
EXECUTION_MEMBERS = frozenset(CLEARED_VALUES)
#: Members that each type must not have:
#: https://nbformat.readthedocs.io/en/latest/format_description.html
FORBIDDEN_MEMBERS = {
    "code": ("attachments",),
    "markdown": ("execution_count", "outputs"),
    "raw": ("execution_count", "outputs"),
}


def list_filled_members(cell: Cell) -> list[str]:
    """Return the names of the members that clearing the outputs changes."""
    members = [cell.members[name] for name in CLEARED_VALUES if name in cell.members]
    return [member.name for member in members if is_filled(member.name, cell.text, member.value)]


def is_filled(name: str, text: Buffer, value: Span | None = None) -> bool:
    """Return whether clearing would change an encoded value of an execution member."""
    if name == "outputs" and json_spans.is_array(text, value):
        return not json_spans.is_empty(text, value)
    return json_spans.decode(text, value) is not None


def _replace_source(cell: Cell, style: CellStyle, source: str) -> Splice:
    span = cell.members["source"].value
    if style.lines is None or not json_spans.is_array(cell.text, span):
        return Splice(*span, style.write_text(source))
    return _replace_lines(cell.text, span, style, style.lines.separator, source)


def _replace_lines(
    text: Buffer, span: Span, style: CellStyle, separator: bytes, source: str
) -> Splice:
    """Replace the lines that differ; the JSON strings of all other lines stay."""
    starts, stops = json_spans.list_element_bounds(text, span)
    old_lines = json_spans.decode(text, span)
    new_lines = source.splitlines(keepends=True)
    if not old_lines or not new_lines:
        return Splice(*span, style.write_source(source))
    head = count_common_start(old_lines, new_lines)
    tail = count_common_start(old_lines[head:][::-1], new_lines[head:][::-1])
    last = len(starts) - tail
    written_lines = [style.write_text(line) for line in new_lines[head : len(new_lines) - tail]]
    if head < last and written_lines:
        return Splice(starts[head], stops[last - 1], separator.join(written_lines))
    if tail:
        text_before = b"".join([line + separator for line in written_lines])
        return Splice(starts[head], starts[last], text_before)
    return Splice(
        stops[head - 1], stops[-1], b"".join([separator + line for line in written_lines])
    )
