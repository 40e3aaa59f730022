"""How a file writes JSON: learned from it, applied to what is added to it.

Everything is learned by example: the white space between the cells from the cells there are, the
layout of a new cell from a cell near to it, preferably of its type. Only what no example tells is
written as nbformat does: https://github.com/jupyter/nbformat/blob/main/nbformat/v4/nbjson.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.json_spans import Member, Span
from jupyter_nbedit.notebook.lazy.buffer import Buffer, is_ascii, iterate_chunks

_DEFAULT_ORDER = (
    "attachments",
    "cell_type",
    "execution_count",
    "id",
    "metadata",
    "outputs",
    "source",
)
# Others escape within ASCII: control characters everybody, "<" some.
_ESCAPE = re.compile(rb"\\u(?!00[0-7])[0-9a-fA-F]{4}")
_ESCAPE_BYTES = 6
_SURROGATE = re.compile("[\ud800-\udfff]")
# Looking for examples further away than this costs more than it tells.
_NEIGHBOURS = 200


@dataclass(frozen=True)
class CellStyle:
    """How one cell is written, or is to be; or another object of the notebook.

    Parameters
    ----------
    object
        The layout of its members.
    colon
        What stands between a name and its value.
    order
        The members' names in their order.
    lines
        The layout of the list of lines, or None if the source is one string.
    newline
        The line break of the file, or None if it has none to go by.
    unit
        One step of indentation.
    notebook
        The style of the file around it.
    """

    object: ContainerStyle
    colon: bytes
    order: tuple[str, ...]
    lines: ContainerStyle | None
    newline: bytes | None
    unit: bytes
    notebook: Style

    def write_text(self, value: str) -> bytes:
        """Write a string."""
        return _encode_utf8(json.dumps(value, ensure_ascii=self._is_escaped(value)))

    def _is_escaped(self, value: str) -> bool:
        return not value.isascii() and self.notebook.escapes

    def write_source(self, source: str) -> bytes:
        """Write a source, as a string or as a list of its lines."""
        if self.lines is None:
            return self.write_text(source)
        # nbformat's own writer cuts with splitlines, at more than line feeds.
        return self.lines.wrap(map(self.write_text, source.splitlines(keepends=True)), b"[]")

    def write_value(self, value: Any) -> bytes:
        """Write any value of a member of the cell."""
        indent = self.object.indent
        line = None if indent is None or self.newline is None else self.newline + indent
        written = json.dumps(
            value,
            ensure_ascii=False,
            indent=None if line is None else self.unit.decode(),
            separators=(
                self.object.separator.decode() if line is None else ",",
                self.colon.decode(),
            ),
        )
        if self._is_escaped(written):
            written = "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in written)
        # A string never holds a raw line feed, so each one here is a line of the layout.
        return _encode_utf8(written).replace(b"\n", line or b"")

    def write_member(self, name: str, value: bytes) -> bytes:
        """Write a member; its value is already written."""
        return self.write_text(name) + self.colon + value

    def write_cell(self, members: dict[str, bytes]) -> bytes:
        """Write a whole cell, its members in the order of the example."""
        names = sorted(members, key=self.get_order_key)
        return self.object.wrap((self.write_member(name, members[name]) for name in names), b"{}")

    def derive(self, text: bytes, members: list[Member]) -> CellStyle:
        """Return the style of an object with these members, maybe none, that is a value in this."""
        inner = detect_style(text, Span(0, len(text)), get_member_spans(members), self.object)
        return replace(self, object=inner or self.notebook.nest(self.object, self.unit))

    def get_order_key(self, name: str) -> tuple[int, int]:
        """Rank a member: where the example has it, else behind the one nbformat puts before it."""
        if name in self.order:
            return self.order.index(name), -1
        known = name in _DEFAULT_ORDER
        rank = _DEFAULT_ORDER.index(name) if known else len(_DEFAULT_ORDER)
        before = [self.order.index(other) for other in _DEFAULT_ORDER[:rank] if other in self.order]
        return max(before, default=-1), rank


@dataclass(frozen=True)
class Style:
    """How a notebook is written."""

    document: Document

    @cached_property
    def cells(self) -> ContainerStyle:
        """The layout of the array of cells."""
        return self._seen or self.nest(self._top, compute_indent_step(self._top.indent, b""))

    @cached_property
    def escapes(self) -> bool:
        """Whether the file escapes characters beyond ASCII, though JSON does not ask for it."""
        text = self.document.text
        return is_ascii(text) and any(
            _count_backslashes_before(text, at) % 2 == 0 for at in _iterate_escapes(text)
        )

    def get_new_cell_style(self, index: int, cell_type: str) -> CellStyle:
        """Return the style of a cell to be added before the one at ``index``."""
        example = next(self._iterate_near(index, cell_type), None) or next(
            self._iterate_near(index, None), None
        )
        return self._detect_cell_style(example, index)

    def get_cell_style(self, cell: Cell) -> CellStyle:
        """Return the style of a cell that is there."""
        return self._detect_cell_style(cell, cell.index)

    def get_notebook_style(self) -> CellStyle:
        """Return the style of the notebook's own members."""
        first = self.document.members[0]
        return CellStyle(
            object=self._top,
            colon=self.document.text[first.name_span.stop : first.value.start],
            order=tuple(member.name for member in self.document.members),
            lines=None,
            newline=self._newline,
            unit=compute_indent_step(self._top.indent, b""),
            notebook=self,
        )

    def _detect_cell_style(self, example: Cell | None, index: int) -> CellStyle:
        text = self.document.text
        found = [] if example is None else example.all_members
        layout = (
            None
            if example is None
            else detect_style(text, example.span, get_member_spans(found), self.cells)
        )
        if layout is None:
            layout = self.nest(self.cells, compute_indent_step(self._top.indent, b""))
        unit = compute_indent_step(layout.indent, self.cells.indent)
        first = (found or self.document.members)[0]
        return CellStyle(
            object=layout,
            colon=text[first.name_span.stop : first.value.start],
            order=tuple(member.name for member in found) or _DEFAULT_ORDER,
            lines=self._detect_line_style(example, index, layout, self.nest(layout, unit)),
            newline=self._newline,
            unit=unit,
            notebook=self,
        )

    def _detect_line_style(
        self, example: Cell | None, index: int, around: ContainerStyle, default: ContainerStyle
    ) -> ContainerStyle | None:
        """Learn how sources are written; the nearest list that has a line in it tells most."""
        text = self.document.text
        own = [] if example is None else [example]
        is_list = False
        for cell in chain(own, self._iterate_near(index, None)):
            for member in cell.all_members:
                if member.name != "source":
                    continue
                if json_spans.is_array(text, member.value):
                    is_list = True
                    lines = detect_style(
                        text, member.value, json_spans.list_elements(text, member.value), around
                    )
                    if lines is not None:
                        return lines
                elif not is_list:
                    return None
        return default

    def _iterate_near(self, index: int, cell_type: str | None) -> Iterator[Cell]:
        """Go through the cells from near to far, the ones before first."""
        heads = self.document.heads
        for distance in range(_NEIGHBOURS):
            for at in (index - 1 - distance, index + distance):
                if 0 <= at < len(heads) and cell_type in {None, heads[at][1]}:
                    yield self.document.get_cell(at)

    @cached_property
    def _seen(self) -> ContainerStyle | None:
        document = self.document
        return detect_style(document.text, document.cells_span, document.cell_spans, self._top)

    @cached_property
    def _top(self) -> ContainerStyle:
        document = self.document
        top = get_member_spans(document.members)
        return detect_style(document.text, document.span, top) or ContainerStyle(b"", b",", b"")

    @property
    def _newline(self) -> bytes | None:
        """The line break of the layout; no text has one but a laid out one."""
        for layout in (self._top, self._seen):
            if layout is not None and b"\n" in layout.open:
                return b"\r\n" if b"\r\n" in layout.open else b"\n"
        return None

    def nest(self, outer: ContainerStyle, unit: bytes) -> ContainerStyle:
        """Lay out one level deeper than ``outer``."""
        newline, indent = self._newline, outer.indent
        if newline is None or indent is None:
            return ContainerStyle(b"", b"," if b"\n" in outer.separator else outer.separator, b"")
        inner = newline + indent + unit
        return ContainerStyle(inner, b"," + inner, newline + indent)


def _encode_utf8(written: str) -> bytes:
    """Encode a JSON text; lone surrogates, which only escapes can say, become escapes."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written).encode()


def _iterate_escapes(text: Buffer) -> Iterator[int]:
    """Find what looks like an escape; it may be behind another backslash."""
    at = 0
    for chunk in iterate_chunks(text):
        yield from (at + found.start() for found in _ESCAPE.finditer(chunk))
        seam = max(0, at - _ESCAPE_BYTES + 1)
        between = text[seam : at + _ESCAPE_BYTES - 1] if at else b""
        yield from (seam + found.start() for found in _ESCAPE.finditer(between))
        at += len(chunk)


def _count_backslashes_before(text: Buffer, at: int) -> int:
    count = 0
    while text[at - 1 - count] == ord("\\"):
        count += 1
    return count


@dataclass(frozen=True)
class ContainerStyle:
    """The white space and commas of an array or an object that has something in it."""

    open: bytes
    separator: bytes
    close: bytes

    @property
    def indent(self) -> bytes | None:
        """The indentation of what stands inside, or None if it does not begin a line."""
        _, newline, indent = self.open.rpartition(b"\n")
        return indent if newline else None

    def wrap(self, items: Iterable[bytes], brackets: bytes) -> bytes:
        """Write items within a pair of brackets, given as two bytes."""
        inside = self.separator.join(items)
        if not inside:
            return brackets
        return brackets[:1] + self.open + inside + self.close + brackets[1:]


def get_member_spans(members: Iterable[Member]) -> list[Span]:
    """Return the spans of members, from a name's start to its value's end."""
    return [Span(member.name_span.start, member.value.stop) for member in members]


def detect_style(
    text: Buffer, span: Span, items: Sequence[Span], around: ContainerStyle | None = None
) -> ContainerStyle | None:
    """Learn from an array or object; None if it is empty.

    What separates its items, one that has a single item cannot tell. If it is on one line, it is
    taken for like what is around it.
    """
    if not items:
        return None
    opening = text[span.start + 1 : items[0].start]
    if len(items) > 1:
        separator = text[items[0].stop : items[1].start]
    elif b"\n" in opening:
        separator = b"," + opening
    else:
        separator = b", " if around is None or b"\n" in around.separator else around.separator
    return ContainerStyle(opening, separator, close=text[items[-1].stop : span.stop - 1])


def compute_indent_step(inner: bytes | None, outer: bytes | None) -> bytes:
    """Return one step of indentation, computed from two levels."""
    if inner is None:
        return b" "
    if outer is not None and inner.startswith(outer):
        return inner[len(outer) :]
    return inner
