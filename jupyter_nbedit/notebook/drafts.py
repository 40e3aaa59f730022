"""A cell as a batch leaves it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from jupyter_nbedit.notebook import rewrite, spans
from jupyter_nbedit.notebook.document import Cell, compute_source_hash
from jupyter_nbedit.notebook.markdown import list_headings
from jupyter_nbedit.notebook.section_text import SectionText
from jupyter_nbedit.notebook.spans import Span
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.notebook.style import CellStyle, Style


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
        return None if value is None else spans.decode(value, Span(0, len(value)))

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
        return rewrite.has_outputs(self.cell)

    def compile_splices(self, style: Style) -> list[Splice]:
        """Return the splices that change the cell where it is."""
        return (
            []
            if self.cell is None
            else rewrite.compile_cell_splices(self.cell, style, self._target)
        )

    @property
    def changed_members(self) -> Collection[str]:
        """The names of the members of the cell it was that change, come or go."""
        return () if self.cell is None else rewrite.list_changed_members(self.cell, self._target)

    @property
    def outputs_returned(self) -> bool:
        """Whether it has outputs or a count, and had none."""
        return False

    @property
    def _target(self) -> rewrite.TargetCell:
        return rewrite.TargetCell(self.source, self.cell_type, self.members, self.clear)

    def get_style(self, notebook: Style) -> CellStyle:
        """Return the style that it is written in."""
        if self.cell is not None:
            return notebook.get_cell_style(self.cell)
        return notebook.get_new_cell_style(self.anchor_index, self.cell_type)

    def write_cell(self, style: Style) -> bytes:
        """Write the whole cell."""
        if self.cell is None:
            return rewrite.write_new_cell(
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
    value = None if metadata is None else spans.decode(metadata, Span(0, len(metadata)))
    return value if isinstance(value, dict) else {}
