"""Cells as compact text for models and terminals: outlines, whole cells, and what fits a budget.

A line of our own begins with ``<cell``, ``<outputs`` or ``<note``. If a line of the notebook begins
with one of these words, after any number of backslashes, it gets one more backslash; see
`jupyter_nbedit.notebook.shown_text`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.long_text import apply_control_characters, count_lines, cut_middle
from jupyter_nbedit.notebook.outputs import (
    extract_text,
    list_output_spans,
    make_readable,
    read_outputs,
    strip_ansi,
)
from jupyter_nbedit.notebook.shown_text import escape_markup, list_names, make_line

#: ``auto`` shows the sources if all fit, or if single cells were requested, and else an outline.
TextView = Literal["auto", "outline", "source", "full"]
TextOutputs = Literal["none", "summary", "text"]

#: The budget of a text if a request states none.
DEFAULT_CHARACTERS = 8_000
DEFAULT_LINES = 250

_MAX_SUMMARY_LENGTH = 80
_MAX_ERROR_LENGTH = 100
_MAX_NOTE_LENGTH = 400
_MAX_TAGS_LENGTH = 60
# A result so short is shown itself.
_MAX_RESULT_LENGTH = 40
# The part of a budget that one output may fill if there are other cells to show.
_SHARE_OF_OUTPUT = 4
_SHARE_OF_OUTPUT_LINES = 2
# Of a budget, for the outputs of a cell whose source is longer.
_SHARE_OF_OUTPUTS = 4
_MAX_SHOWN_KINDS = 6
_CHARACTERS_PER_LINE = DEFAULT_CHARACTERS // DEFAULT_LINES
_OUTPUTS = "<outputs>"
# The part of a budget that notes need.
_NOTE_CHARACTERS = 200
_TYPES = {"markdown": "md"}
_PLAIN = "text/plain"
# The kind of data that describes an output best comes first.
_RICH_TYPES = ("image/", "video/", "audio/", "application/vnd.", "text/html", "text/latex")


def render_outline_line(document: Document, index: int) -> str:
    """Return a line about a cell: its name, type, first line, and what its outputs are."""
    cell = document.get_cell(index)
    try:
        source = cell.source
    except InvalidNotebook as error:
        return _render_unreadable(cell, error)
    line = source.lstrip()[: 4 * _MAX_SUMMARY_LENGTH].partition("\n")[0].rstrip()
    summary = make_line(line, _MAX_SUMMARY_LENGTH) if line else "(empty)"
    more = count_lines(source) - 1
    return "".join(
        [
            f"{_render_head(document, cell)} {summary}",
            f" (+{more})" if more > 0 else "",
            _render_outputs_summary(cell),
        ]
    )


def _render_unreadable(cell: Cell, error: InvalidNotebook) -> str:
    cell_type = _TYPES.get(cell.cell_type, make_line(cell.cell_type, _MAX_TAGS_LENGTH))
    note = f"<note>Cell {cell.index} ({cell_type}) is unreadable: {error.message}</note>"
    return make_line(note, _MAX_NOTE_LENGTH)


def _render_head(document: Document, cell: Cell) -> str:
    name = document.get_name(cell.index)
    tags = cell.metadata.get("tags")
    names = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    shown_tags = (
        f" [{make_line(list_names(names, _MAX_TAGS_LENGTH), _MAX_TAGS_LENGTH)}]" if names else ""
    )
    cell_type = _TYPES.get(cell.cell_type, make_line(cell.cell_type, _MAX_TAGS_LENGTH))
    return f"{name} {cell_type}{shown_tags}"


# Outputs ------------------------------------------------------------------------------------------


class _OutputHead(msgspec.Struct, gc=False):
    output_type: str = ""
    name: str = ""
    ename: str = ""
    evalue: str = ""
    text: str | list[str] = ""
    data: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)


_HEADS = msgspec.json.Decoder(_OutputHead)


def _render_outputs_summary(cell: Cell) -> str:
    """Return the kinds of the outputs of a code cell, errors first; empty if it has none."""
    if cell.cell_type != "code":
        return ""
    found_errors: list[str] = []
    kinds: Counter[str] = Counter()
    for start, stop in list_output_spans(cell):
        try:
            output = _HEADS.decode(cell.text[start:stop])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            output = _read_output_head(json_spans.decode(cell.text, json_spans.Span(start, stop)))
        if output.output_type == "error":
            found_errors.append(_describe_error(output.ename, output.evalue))
        else:
            kinds[_describe_kind(output)] += 1
    shown = [kind if count == 1 else f"{count} {kind}" for kind, count in kinds.items()]
    if len(shown) > _MAX_SHOWN_KINDS:
        shown = [*shown[:_MAX_SHOWN_KINDS], f"{len(shown) - _MAX_SHOWN_KINDS} more kinds"]
    if len(found_errors) > 1:
        found_errors = [found_errors[0], f"{len(found_errors) - 1} more errors"]
    summary = ", ".join([*found_errors, *shown])
    return f" => {summary}" if summary else ""


def _read_output_head(value: Any) -> _OutputHead:
    """Return what is known of an output that does not have nbformat's form."""
    readable = make_readable(value if isinstance(value, dict) else {})
    data = value.get("data") if isinstance(value, dict) else None
    return _OutputHead(
        output_type=readable["output_type"],
        ename=readable.get("ename", ""),
        evalue=readable.get("evalue", ""),
        text=readable.get("text", ""),
        name=readable.get("name", ""),
        data=dict.fromkeys(data, msgspec.Raw(b'""')) if isinstance(data, dict) else {},
    )


def _describe_error(name: str, value: str) -> str:
    first_line = value.strip().partition("\n")[0]
    return make_line(strip_ansi(f"{name}: {first_line}" if first_line else name), _MAX_ERROR_LENGTH)


def _describe_kind(output: _OutputHead) -> str:
    if output.output_type == "stream":
        text = output.text if isinstance(output.text, str) else "".join(output.text)
        return f"{make_line(output.name or 'stream', _MAX_TAGS_LENGTH)} {_format_lines(text)}"
    for start in _RICH_TYPES:
        for mime in output.data:
            if mime.startswith(start):
                return _shorten_type(mime)
    if _PLAIN in output.data:
        try:
            text = "".join(msgspec.json.decode(output.data[_PLAIN], type=str | list[str]))
        except msgspec.DecodeError:
            text = ""
        is_short = 0 < len(text) <= _MAX_RESULT_LENGTH and "\n" not in text
        return make_line(text, _MAX_RESULT_LENGTH) if is_short else f"text {_format_lines(text)}"
    mime = next(iter(output.data), output.output_type or "unknown")
    return _shorten_type(mime)


def _format_lines(text: str) -> str:
    count = count_lines(text)
    return f"{count} line" if count == 1 else f"{count} lines"


def _shorten_type(mime: str) -> str:
    """Return the last telling word of a media type: ``svg`` of ``image/svg+xml``."""
    words = mime.rpartition("/")[2].partition("+")[0].split(".")
    telling = [word for word in words if not re.fullmatch(r"v\d+|vnd|jupyter|x|json", word)]
    return make_line((telling or words)[0].removesuffix("-view"), _MAX_TAGS_LENGTH)


def _render_outputs(cell: Cell, characters: int, lines: int) -> Iterator[str]:
    """Yield the texts of the outputs of a cell, each with at most so many characters and lines."""
    for readable in _join_streams(map(make_readable, read_outputs(cell))):
        text = apply_control_characters(extract_text(readable))
        if not text:
            types = ", ".join(
                f"{make_line(mime, _MAX_TAGS_LENGTH)}, {stub['bytes']} bytes"
                for mime, stub in readable.get("data", {}).items()
                if isinstance(stub, dict)
            )
            text = f"({types or readable['output_type']})"
        # The last lines of a traceback say what is wrong.
        is_error = "traceback" in readable
        shown = escape_markup(text.removesuffix("\n"))
        yield cut_middle(shown, characters, lines, is_end_important=is_error)


def _join_streams(outputs: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield readable outputs; outputs of one stream that follow each other are joined."""
    texts: list[str] = []
    stream: dict[str, Any] = {}
    for output in outputs:
        is_stream = output["output_type"] == "stream" and "text" in output
        if texts and (not is_stream or output.get("name") != stream.get("name")):
            yield {**stream, "text": "".join(texts)}
            texts = []
        if is_stream:
            stream = output
            texts.append(output["text"])
        else:
            yield output
    if texts:
        yield {**stream, "text": "".join(texts)}


# Pages --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextOptions:
    """What a text shows of each cell, and how long it may be.

    ``is_selection`` is whether the request names single cells or sections.
    """

    view: TextView = "auto"
    outputs: TextOutputs = "summary"
    is_selection: bool = False
    characters: int = DEFAULT_CHARACTERS

    @property
    def lines(self) -> int:
        """The most lines."""
        return max(DEFAULT_LINES, self.characters // _CHARACTERS_PER_LINE)


@dataclass(frozen=True)
class TextPage:
    """The cells that fit a budget, with a note about the others."""

    text: str
    is_complete: bool = True


class _Budget:
    def __init__(self, characters: int, lines: int) -> None:
        self.characters = max(1, characters - _NOTE_CHARACTERS)
        self.lines = lines

    def spend(self, text: str) -> bool:
        lines = text.count("\n") + 1
        if len(text) + 1 > self.characters or lines > self.lines:
            return False
        self.characters -= len(text) + 1
        self.lines -= lines
        return True


def render_page(document: Document, indexes: Sequence[int], options: TextOptions) -> TextPage:
    """Return the text of some cells, as many as fit; for a damaged cell there is a note."""
    if options.view == "outline":
        return _render_outline(document, indexes, options)
    page = _render_sources(document, indexes, options)
    if options.view == "auto" and not page.is_complete and not options.is_selection:
        return _render_outline(document, indexes, options)
    return page


def _render_outline(document: Document, indexes: Sequence[int], options: TextOptions) -> TextPage:
    budget, lines = _Budget(options.characters, options.lines), list[str]()
    for index in indexes:
        line = render_outline_line(document, index)
        if not budget.spend(line) and lines:
            return _build_page(lines, index, len(document))
        lines.append(line)
    return TextPage("\n".join(lines))


def _render_sources(document: Document, indexes: Sequence[int], options: TextOptions) -> TextPage:
    budget, texts = _Budget(options.characters, options.lines), list[str]()
    is_alone = len(indexes) == 1
    for index in indexes:
        parts = _render_cell(document, document.get_cell(index), options, is_alone=is_alone)
        if budget.spend(parts.text):
            texts.append(parts.text)
            continue
        if texts:
            return _build_page(texts, index, len(document))
        return _build_page([_cut_cell(parts, budget)], index, len(document), is_cut=True)
    return TextPage("\n".join(texts))


def _build_page(texts: list[str], index: int, total: int, *, is_cut: bool = False) -> TextPage:
    following = index + is_cut
    notes = [f"<note>Cells from {following} on are not shown: go on with start={following}.</note>"]
    return TextPage("\n".join([*texts, *(notes if following < total else [])]), is_complete=False)


@dataclass(frozen=True)
class _CellText:
    """A cell as text: its head and source, and its outputs, empty if no outputs are shown."""

    source: str
    outputs: str

    @property
    def text(self) -> str:
        return f"{self.source}\n{_OUTPUTS}\n{self.outputs}" if self.outputs else self.source


def _render_cell(
    document: Document, cell: Cell, options: TextOptions, *, is_alone: bool
) -> _CellText:
    try:
        source = cell.source
    except InvalidNotebook as error:
        return _CellText(_render_unreadable(cell, error), "")
    outputs = "" if options.outputs == "none" else _render_outputs_summary(cell)
    parts = [f"<cell {_render_head(document, cell)}{outputs}>"]
    if options.view == "full" and cell.metadata:
        parts.append(f"<note>metadata {json.dumps(cell.metadata, separators=(',', ':'))}</note>")
    if source:
        parts.append(escape_markup(source.removesuffix("\n")))
    texts: Iterable[str] = ()
    if options.outputs == "text" and cell.cell_type == "code" and outputs:
        characters, lines = options.characters, options.lines
        if not is_alone:
            characters //= _SHARE_OF_OUTPUT
            lines //= _SHARE_OF_OUTPUT_LINES
        texts = _render_outputs(cell, characters, lines)
    return _CellText("\n".join(parts), "\n".join(texts))


def _cut_cell(parts: _CellText, budget: _Budget) -> str:
    """Return a cell that does not fit: the beginning of its source, both ends of its outputs."""
    if not parts.outputs:
        return _cut_source(parts.source, budget.characters, budget.lines)
    characters = budget.characters - len(_OUTPUTS) - 2
    lines = budget.lines - 1
    source, source_lines = parts.source, parts.source.count("\n") + 1
    fewest, fewest_lines = characters // _SHARE_OF_OUTPUTS, lines // _SHARE_OF_OUTPUTS
    if len(source) + fewest > characters or source_lines + fewest_lines > lines:
        source = _cut_source(
            source, max(1, characters - fewest - _NOTE_CHARACTERS), lines - fewest_lines - 1
        )
    outputs = cut_middle(
        parts.outputs, max(1, characters - len(source)), max(1, lines - source.count("\n") - 1)
    )
    return f"{source}\n{_OUTPUTS}\n{outputs}"


def _cut_source(text: str, characters: int, lines: int) -> str:
    """Return the beginning of the head and the source of a cell."""
    head_length = text.find("\n") + 1 or len(text)
    cut = "\n".join(text[: max(head_length, characters)].split("\n")[:lines])
    whole_lines = cut.rpartition("\n")[0]
    shown = whole_lines if "\n" in whole_lines else cut.removesuffix("\n")
    if shown == text:
        return text
    return (
        f"{shown}\n<note>{len(text) - len(shown)} more characters of this cell are not shown: send "
        "a larger max_chars.</note>"
    )
