"""Search the lines of a notebook: sources, outputs and tags.

Each text is searched line by line; a line is one hit, however often it matches. The engine is RE2,
whose time is linear in the text for every expression.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import re2
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidNotebook, InvalidRequest
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.outputs import extract_text, make_readable, read_outputs

Scope = Literal["sources", "markdown", "outputs", "tags"]
HitLocation = Literal["source", "outputs", "tags"]

_LOCATIONS: tuple[HitLocation, ...] = ("source", "outputs", "tags")
_MAX_TEXT_LENGTH = 300
_BEFORE_THE_MATCH = 60
# RE2's memory is limited to the first; the second bounds the time for a byte of text.
_MAX_MEMORY = 1 << 20
_MAX_PROGRAM = 4000
# So much is searched before the caller can check its deadline, except for longer lines.
_SLICE_BYTES = 1 << 16
_CONTINUATION = bytes(range(0x80, 0xC0))


_Natural = Annotated[int, Meta(ge=0)]


class SearchPosition(NamedTuple):
    """A line of a notebook; positions compare in the order of searching."""

    cell: _Natural
    where: _Natural
    text: _Natural
    line: _Natural


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A line that contains a match."""

    path: str
    cell_id: Annotated[str | None, Meta(description="Null if the file has none.")]
    index: int
    name: Annotated[
        str,
        Meta(
            description="The cell's guarded name: its index, 6 digits of its source hash, "
            "and `~` if other cells have the same source."
        ),
    ]
    cell_type: str
    where: HitLocation
    output: (
        Annotated[int, Meta(ge=0, description="The output's index within its cell.")] | UnsetType
    ) = UNSET
    line: Annotated[int, Meta(ge=1, description="The line of the source, the output or the tag.")]
    column: Annotated[int, Meta(ge=1, description="The column of the first match.")]
    length: Annotated[int, Meta(ge=0, description="The length of the match in characters.")]
    text: Annotated[
        str,
        Meta(description="The line; of a long line up to 300 characters, with the match's start."),
    ]
    text_column: (
        Annotated[int, Meta(ge=1, description="The column at which `text` begins, if not 1.")]
        | UnsetType
    ) = UNSET


@dataclass(frozen=True)
class Query:
    """What to search, and where: in the texts of ``scopes`` of the cells of one type, or of all.

    ``pattern`` comes from `compile_literal` or `compile_regex`, and ``filter_pattern`` from
    `build_filter`.
    """

    pattern: Any
    scopes: frozenset[Scope]
    cell_type: str | None = None
    filter_pattern: Any = None

    def may_match(self, data: bytes) -> bool:
        """Return whether the texts of the bytes of a notebook or cell may contain a match."""
        if self.filter_pattern is None or self.filter_pattern.search(data) is not None:
            return True
        # The text of an output is not only from the bytes.
        return "outputs" in self.scopes and b'"output_type"' in data


def compile_literal(text: str, *, ignore_case: bool) -> Any:
    """Compile a text; raise `InvalidRequest` if it has several lines or lone surrogates."""
    if "\n" in text:
        message = "`query` has several lines, but each line is searched alone; send only one line."
        raise InvalidRequest(message)
    return _compile("query", text, ignore_case=ignore_case, is_literal=True)


def compile_regex(expression: str, *, ignore_case: bool) -> Any:
    """Compile a regular expression in RE2's syntax; ``^`` and ``$`` match at line ends.

    Raise `InvalidRequest` if it is invalid or too large.
    """
    pattern = _compile("regex", f"(?m){expression}", ignore_case=ignore_case, is_literal=False)
    if pattern.programsize > _MAX_PROGRAM:
        raise InvalidRequest(
            f"`regex` is too large: as a program it has {pattern.programsize} steps, more than "
            f"{_MAX_PROGRAM}. Use smaller counts in `{{n}}` and fewer classes of characters."
        )
    return pattern


def _compile(name: str, text: str, *, ignore_case: bool, is_literal: bool) -> Any:
    options = re2.Options()
    options.literal = is_literal
    options.case_sensitive = not ignore_case
    options.max_mem = _MAX_MEMORY
    options.never_nl = True
    options.never_capture = True
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except UnicodeEncodeError:
        message = f"`{name}` contains a lone surrogate, which is not a character."
        raise InvalidRequest(message) from None
    except re2.error as error:
        reason = error.args[0]
        error_text = reason.decode(errors="replace").replace(text, text.removeprefix("(?m)"))
        message = f"`{name}` is not a regular expression that RE2 accepts: {error_text[:200]}."
        raise InvalidRequest(message) from None


def search_notebook(
    path: str,
    document: Document,
    query: Query,
    previous: SearchPosition | None,
    report: Callable[[InvalidNotebook], None] = lambda _: None,
) -> Iterator[tuple[SearchPosition, Hit | None]]:
    """Search a notebook from a position on; report cells that cannot be read, and go on.

    Yield the position up to which it is searched, inclusive, with the hit at this position or None.
    """
    first = 0 if previous is None else previous.cell + (previous.where == len(_LOCATIONS))
    for index in range(first, len(document)):
        cell, name = document.get_cell(index), ""
        data = cell.text[cell.span.start : cell.span.stop]
        if query.may_match(data) and query.cell_type in {None, cell.cell_type}:
            for where, number, text in _iterate_texts(cell, query.scopes, report):
                begin = SearchPosition(index, where, number, 0)
                skipped_lines = 0 if previous is None else _count_lines_before(begin, previous)
                if skipped_lines is None:
                    continue
                for line, match in _iterate_matches(query.pattern, text, skipped_lines):
                    position = begin._replace(line=line)
                    if match is None:
                        yield position, None
                        continue
                    # Once for each cell.
                    name = name or str(document.get_name(index))
                    yield position, _build_hit(path, cell, name, position, match)
        yield SearchPosition(index, len(_LOCATIONS), 0, 0), None


def _iterate_texts(
    cell: Cell, scopes: frozenset[Scope], report: Callable[[InvalidNotebook], None]
) -> Iterator[tuple[int, int, str]]:
    """Yield the texts of a cell to search, until a part cannot be read.

    Each has the index of its location, and its number there.
    """
    try:
        # Also if it is not searched: the name of the cell needs it.
        source = cell.source
        if "sources" in scopes or ("markdown" in scopes and cell.cell_type == "markdown"):
            yield 0, 0, source
        if "outputs" in scopes and cell.cell_type == "code":
            for number, output in enumerate(read_outputs(cell)):
                yield 1, number, extract_text(make_readable(output))
        if "tags" in scopes:
            tags = cell.metadata.get("tags")
            for number, tag in enumerate(tags if isinstance(tags, list) else []):
                if isinstance(tag, str):
                    yield 2, number, tag
    except InvalidNotebook as error:
        report(error)


def _count_lines_before(begin: SearchPosition, previous: SearchPosition) -> int | None:
    """Return how many lines of a text were already searched; None if all of them."""
    if begin[:3] > previous[:3]:
        return 0
    return previous.line if begin[:3] == previous[:3] else None


class _Match(NamedTuple):
    line: str
    column: int
    length: int


def _iterate_matches(
    pattern: Any, text: str, skipped_lines: int
) -> Iterator[tuple[int, _Match | None]]:
    """Search a text line by line.

    Yields line number and first match for each hit, and the last line of each slice with None.
    """
    # Lone surrogates become bytes that no character of an expression matches.
    data = text.replace("\r\n", "\n").removesuffix("\n").encode("utf-8", "surrogatepass")
    position, line = _find_line_start(data, skipped_lines), skipped_lines + 1
    while text and position is not None:
        stop = data.find(b"\n", position + _SLICE_BYTES)
        stop = len(data) if stop < 0 else stop
        while position <= stop and (match := pattern.search(data, position, stop)) is not None:
            start, end = match.span()
            line += data.count(b"\n", position, start)
            begin = data.rfind(b"\n", 0, start) + 1
            line_end = data.find(b"\n", start)
            line_end = len(data) if line_end < 0 else line_end
            yield (
                line,
                _Match(
                    data[begin:line_end].decode("utf-8", "surrogatepass"),
                    _count_characters(data[begin:start]) + 1,
                    _count_characters(data[start:end]),
                ),
            )
            position, line = line_end + 1, line + 1
        if position <= stop:
            line += data.count(b"\n", position, stop) + 1
        yield line - 1, None
        position = max(position, stop + 1)
        if position > len(data):
            return


def _find_line_start(data: bytes, line_count: int) -> int | None:
    """Return where the line after so many lines begins; None if there are fewer."""
    position = 0
    for _ in range(line_count):
        position = data.find(b"\n", position) + 1
        if position == 0:
            return None
    return position


def _count_characters(data: bytes) -> int:
    return len(data.translate(None, _CONTINUATION))


def _build_hit(path: str, cell: Cell, name: str, position: SearchPosition, match: _Match) -> Hit:
    line = match.line
    start = 0
    if len(line) > _MAX_TEXT_LENGTH:
        start = max(0, match.column - 1 - _BEFORE_THE_MATCH)
        line = line[start : start + _MAX_TEXT_LENGTH]
    location = _LOCATIONS[position.where]
    return Hit(
        path=path,
        cell_id=cell.id,
        index=cell.index,
        name=name,
        cell_type=cell.cell_type,
        where=location,
        output=position.text if location == "outputs" else UNSET,
        line=position.line,
        column=match.column,
        length=match.length,
        text=line,
        text_column=start + 1 if start else UNSET,
    )
