"""How a file formats its JSON: detected from the file, used for everything that is added to it.

The white space between cells is taken from existing cells, and the format of a new cell from a
nearby cell, preferably of its type. Without an example, the format is nbformat's:
https://github.com/jupyter/nbformat/blob/main/nbformat/v4/nbjson.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.json_spans import Member, Span, list_element_bounds
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer

# Escapes of ASCII characters do not show a style: all writers escape control characters, and some
# escape "<". After another backslash, such a text may be no escape.
_ESCAPE = re.compile(rb"\\u(?<!\\\\u)(?!00[0-7])[0-9a-fA-F]{4}")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Examples further away are not worth the time.
_MAX_DISTANCE = 200
_EDGES = 3

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class CellStyle:
    """The format of a cell or of another object of the notebook."""

    #: The white space around its members.
    object: ContainerStyle
    #: The bytes between a name and its value.
    colon: bytes
    #: The names of the members, in their order.
    order: tuple[str, ...]
    #: The white space of the list of lines, or None if the source is one string.
    lines: ContainerStyle | None
    #: One step of indentation.
    indent_step: bytes
    notebook_style: Style

    def write_text(self, value: str) -> bytes:
        """Encode a string."""
        return _encode_utf8(json.dumps(value, ensure_ascii=self._is_escaped(value)))

    def _is_escaped(self, value: str) -> bool:
        return not value.isascii() and self.notebook_style.escapes_non_ascii

    def write_source(self, source: str) -> bytes:
        """Encode a source, as a string or as a list of its lines."""
        if self.lines is None:
            return self.write_text(source)
        # As nbformat's own writer does: splitlines splits at more than line feeds.
        return self.lines.wrap(map(self.write_text, source.splitlines(keepends=True)), b"[]")

    def write_value(self, value: Any) -> bytes:
        """Encode the value of a member of the cell."""
        indent = self.object.indent
        newline = self.notebook_style.newline
        line = None if indent is None or newline is None else newline + indent
        text = json.dumps(
            value,
            ensure_ascii=False,
            indent=None if line is None else self.indent_step.decode(),
            separators=(
                self.object.separator.decode() if line is None else ",",
                self.colon.decode(),
            ),
        )
        if self._is_escaped(text):
            text = "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
        # An encoded string contains no line feed, so each line feed here is white space.
        return _encode_utf8(text).replace(b"\n", line or b"")

    def write_member(self, name: str, value: bytes) -> bytes:
        """Encode a member with an encoded value."""
        return self.write_text(name) + self.colon + value

    def write_cell(self, members: dict[str, bytes]) -> bytes:
        """Encode a whole cell, its members in the order of the example."""
        names = sorted(members)
        if list(self.order) != sorted(self.order):
            names.sort(key=(*self.order, *names).index)
        return self.object.wrap((self.write_member(name, members[name]) for name in names), b"{}")

    def derive(self, text: bytes, members: list[Member]) -> CellStyle:
        """Return the style of an object that is a value in this one; it may have no members."""
        object_style = detect_style(
            text, Span(0, len(text)), get_member_spans(members), self.object
        )
        return replace(
            self,
            object=object_style
            or self.notebook_style.build_nested_style(self.object, self.indent_step),
        )


@dataclass(frozen=True)
class Style:
    """The format of a notebook."""

    document: Document

    @cached_property
    def array_style(self) -> ContainerStyle:
        """The white space of the array of cells."""
        return self._detected_array_style or self.build_nested_style(
            self._object_style, self._indent_step
        )

    @cached_property
    def escapes_non_ascii(self) -> bool:
        """Whether the file escapes non-ASCII characters, although JSON does not require it.

        Of a large file, the beginning decides.
        """
        text = self.document.text[:CHUNK_BYTES]
        return text.isascii() and _ESCAPE.search(text) is not None

    def get_new_cell_style(self, index: int, cell_type: str) -> CellStyle:
        """Return the style of a new cell before the cell at ``index``."""
        example = next(self._iterate_cells_by_distance(index, cell_type), None) or next(
            self._iterate_cells_by_distance(index, None), None
        )
        return self._detect_cell_style(example, index)

    def get_cell_style(self, cell: Cell) -> CellStyle:
        """Return the style of an existing cell."""
        return self._detect_cell_style(cell, cell.index)

    def get_notebook_style(self) -> CellStyle:
        """Return the style of the notebook's own object."""
        first = self.document.members[0]
        return CellStyle(
            object=self._object_style,
            colon=self.document.text[first.name_span.stop : first.value.start],
            order=tuple(member.name for member in self.document.members),
            lines=None,
            indent_step=self._indent_step,
            notebook_style=self,
        )

    def _detect_cell_style(self, example: Cell | None, index: int) -> CellStyle:
        text = self.document.text
        members = [] if example is None else example.all_members
        layout = None
        if example is not None:
            layout = detect_style(text, example.span, get_member_spans(members), self.array_style)
        if layout is None:
            layout = self.build_nested_style(self.array_style, self._indent_step)
        indent_step = compute_indent_step(layout.indent, self.array_style.indent)
        first = (members or self.document.members)[0]
        return CellStyle(
            object=layout,
            colon=text[first.name_span.stop : first.value.start],
            order=tuple([member.name for member in members]),
            lines=self._detect_line_style(
                example, index, layout, self.build_nested_style(layout, indent_step)
            ),
            indent_step=indent_step,
            notebook_style=self,
        )

    def _detect_line_style(
        self, example: Cell | None, index: int, outer_style: ContainerStyle, default: ContainerStyle
    ) -> ContainerStyle | None:
        """Detect how sources are written; the nearest source that is a list with lines decides."""
        text = self.document.text
        example_cells = [] if example is None else [example]
        is_list = False
        for cell in chain(example_cells, self._iterate_cells_by_distance(index, None)):
            spans = [member.value for member in cell.all_members if member.name == "source"]
            if spans and json_spans.is_array(text, spans[0]):
                is_list = True
                bounds = list_element_bounds(text, spans[0])
                edges = [*map(Span, *map(select_edges, bounds))]
                lines = detect_style(text, spans[0], edges, outer_style)
                if lines is not None:
                    return lines
            elif spans and not is_list:
                return None
        return default

    def _iterate_cells_by_distance(self, index: int, cell_type: str | None) -> Iterator[Cell]:
        """Yield cells from near to far; of two at one distance, the cell before comes first."""
        heads = self.document.headers
        for distance in range(_MAX_DISTANCE):
            for neighbour in (index - 1 - distance, index + distance):
                if 0 <= neighbour < len(heads) and cell_type in {None, heads[neighbour][1]}:
                    yield self.document.get_cell(neighbour)

    @cached_property
    def _detected_array_style(self) -> ContainerStyle | None:
        document = self.document
        return detect_style(
            document.text, document.cells_span, document.cell_spans, self._object_style
        )

    @cached_property
    def _object_style(self) -> ContainerStyle:
        document = self.document
        member_spans = get_member_spans(document.members)
        return detect_style(document.text, document.span, member_spans) or ContainerStyle(
            b"", b",", b""
        )

    @cached_property
    def _indent_step(self) -> bytes:
        return compute_indent_step(self._object_style.indent, b"")

    @cached_property
    def newline(self) -> bytes | None:
        """The line break of the white space, or None if all is on one line."""
        for layout in (self._object_style, self._detected_array_style):
            if layout is not None and b"\n" in layout.opening:
                return b"\r\n" if b"\r\n" in layout.opening else b"\n"
        return None

    def build_nested_style(self, outer: ContainerStyle, indent_step: bytes) -> ContainerStyle:
        """Return the white space of a container one level deeper than ``outer``."""
        newline, indent = self.newline, outer.indent
        if newline is None or indent is None:
            return ContainerStyle(b"", b"," if b"\n" in outer.separator else outer.separator, b"")
        line_start = newline + indent + indent_step
        return ContainerStyle(line_start, b"," + line_start, newline + indent)


def _encode_utf8(text: str) -> bytes:
    """Encode JSON; lone surrogates, which have no UTF-8, become escapes."""
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


@dataclass(frozen=True)
class ContainerStyle:
    """The white space and commas of an array or an object that is not empty."""

    opening: bytes
    separator: bytes
    closing: bytes

    @property
    def indent(self) -> bytes | None:
        """The indentation of the items, or None if they do not begin on a new line."""
        _, newline, indent = self.opening.rpartition(b"\n")
        return indent if newline else None

    def wrap(self, items: Iterable[bytes], brackets: bytes) -> bytes:
        """Write items between a pair of brackets, given as two bytes."""
        inside = self.separator.join(items)
        if not inside:
            return brackets
        return brackets[:1] + self.opening + inside + self.closing + brackets[1:]


def get_member_spans(members: Sequence[Member]) -> list[Span]:
    """Return the spans of the first two members and the last, each with its name."""
    return [Span(member.name_span.start, member.value.stop) for member in select_edges(members)]


def select_edges(items: Sequence[_Item]) -> Sequence[_Item]:
    """Return the first two items and the last: all that `detect_style` looks at."""
    return items if len(items) <= _EDGES else (*items[:2], items[-1])


def detect_style(
    text: Buffer, span: Span, items: Sequence[Span], outer_style: ContainerStyle | None = None
) -> ContainerStyle | None:
    """Detect the white space of an array or object; None if it is empty.

    A single item shows no separator. On one line, the separator of the outer container is used.
    """
    if not items:
        return None
    opening = text[span.start + 1 : items[0].start]
    if len(items) > 1:
        separator = text[items[0].stop : items[1].start]
    elif b"\n" in opening:
        separator = b"," + opening
    else:
        separator = (
            b", "
            if outer_style is None or b"\n" in outer_style.separator
            else outer_style.separator
        )
    return ContainerStyle(opening, separator, closing=text[items[-1].stop : span.stop - 1])


def compute_indent_step(inner: bytes | None, outer: bytes | None) -> bytes:
    """Return one step of indentation, computed from two levels."""
    if inner is None:
        return b" "
    if outer is not None and inner.startswith(outer):
        return inner[len(outer) :]
    return inner
