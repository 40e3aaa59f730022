"""Find lines in a notebook: in sources, outputs and tags.

Each text is searched line by line, and a line is found once, however often it matches. The engine
is RE2: its time grows with the text alone, whatever the expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import re2
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.graphemes import find_grapheme_boundary
from jupyter_nbedit.notebook.outputs import read_outputs, to_readable, to_text

Scope = Literal["sources", "markdown", "outputs", "tags"]
Where = Literal["source", "outputs", "tags"]

_WHERES: tuple[Where, ...] = ("source", "outputs", "tags")
_LONGEST_TEXT = 300
_BEFORE_THE_MATCH = 60
# RE2 keeps within the first; the second bounds the time that a byte of text may take.
_MOST_MEMORY = 1 << 20
_LARGEST_PROGRAM = 4000
# So much is searched between two looks at the clock, unless a single line is longer.
_SLICE_BYTES = 1 << 16
_CONTINUATION = bytes(range(0x80, 0xC0))


_Natural = Annotated[int, Meta(ge=0)]


class SearchPosition(NamedTuple):
    """A line of a notebook; places are in the order of searching."""

    cell: _Natural
    where: _Natural
    text: _Natural
    line: _Natural


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was found."""

    path: str
    cell_id: Annotated[str | None, Meta(description="Null where the file has none.")]
    index: int
    cell_type: str
    where: Where
    output: (
        Annotated[int, Meta(ge=0, description="The output's index within its cell.")] | UnsetType
    ) = UNSET
    line: Annotated[int, Meta(ge=1, description="The line of the source, the output or the tag.")]
    column: Annotated[int, Meta(ge=1, description="Where in the line the first match begins.")]
    length: Annotated[int, Meta(ge=0, description="How many characters it has.")]
    text: Annotated[
        str,
        Meta(description="The line; of a long one up to 300 characters, the match's begin in it."),
    ]
    text_column: (
        Annotated[int, Meta(ge=1, description="Where in the line `text` begins, if not at 1.")]
        | UnsetType
    ) = UNSET


@dataclass(frozen=True)
class Query:
    """What is searched for, and where.

    Parameters
    ----------
    pattern
        What `literal` or `regex` gave.
    scopes
        Which texts: the sources of all cells, those of Markdown cells, what can be read of the
        outputs of code cells, tags.
    cell_type
        Only in cells of this type, if it is not None.
    """

    pattern: Any
    scopes: frozenset[Scope]
    cell_type: str | None = None


def compile_literal(text: str, *, ignore_case: bool) -> Any:
    """Compile a text that is searched for as it is.

    Raises
    ------
    InvalidRequest
        If it has several lines, or characters that are none.
    """
    if "\n" in text:
        message = "`query` has several lines, and lines are searched one by one; send one of them."
        raise InvalidRequest(message)
    return _compile("query", text, ignore_case=ignore_case, as_it_is=True)


def compile_regex(expression: str, *, ignore_case: bool) -> Any:
    """Compile a regular expression in RE2's syntax; ``^`` and ``$`` are a line's begin and end.

    Raises
    ------
    InvalidRequest
        If it is none, or too large.
    """
    pattern = _compile("regex", f"(?m){expression}", ignore_case=ignore_case, as_it_is=False)
    if pattern.programsize > _LARGEST_PROGRAM:
        message = (
            f"`regex` is too large: as a program it has {pattern.programsize} steps, more than "
            f"{_LARGEST_PROGRAM}. Use smaller counts in `{{n}}` and fewer classes of characters."
        )
        raise InvalidRequest(message)
    return pattern


def _compile(name: str, text: str, *, ignore_case: bool, as_it_is: bool) -> Any:
    options = re2.Options()
    options.literal = as_it_is
    options.case_sensitive = not ignore_case
    options.max_mem = _MOST_MEMORY
    options.never_nl = True
    options.never_capture = True
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except UnicodeEncodeError:
        message = f"`{name}` has lone surrogates, which no text has as characters."
        raise InvalidRequest(message) from None
    except re2.error as error:
        why = error.args[0]
        found = why.decode(errors="replace").replace(text, text.removeprefix("(?m)"))
        message = f"`{name}` is no regular expression in the syntax of RE2: {found[:200]}."
        raise InvalidRequest(message) from None


def find(
    path: str, document: Document, query: Query, after: SearchPosition | None
) -> Iterator[tuple[SearchPosition, Hit | None]]:
    """Search a notebook, from a place on.

    Yields
    ------
    Up to which place, inclusively, it is searched; with the hit there, if there is one.

    Raises
    ------
    InvalidNotebook
        If a cell cannot be read.
    """
    first = 0 if after is None else after.cell + (after.where == len(_WHERES))
    for index in range(first, len(document)):
        cell = document.get_cell(index)
        if query.cell_type in {None, cell.cell_type}:
            for where, number, text in _iterate_texts(cell, query.scopes):
                begin = SearchPosition(index, where, number, 0)
                skipped = 0 if after is None else _count_lines_before(begin, after)
                if skipped is None:
                    continue
                for line, match in _iterate_matches(query.pattern, text, skipped):
                    place = begin._replace(line=line)
                    yield place, None if match is None else _build_hit(path, cell, place, match)
        yield SearchPosition(index, len(_WHERES), 0, 0), None


def _iterate_texts(cell: Cell, scopes: frozenset[Scope]) -> Iterator[tuple[int, int, str]]:
    """Yield the texts of a cell that are searched: where each stands, its number there, itself."""
    if "sources" in scopes or ("markdown" in scopes and cell.cell_type == "markdown"):
        yield 0, 0, cell.source
    if "outputs" in scopes and cell.cell_type == "code":
        for number, output in enumerate(read_outputs(cell)):
            yield 1, number, to_text(to_readable(output))
    if "tags" in scopes:
        tags = cell.metadata.get("tags")
        for number, tag in enumerate(tags if isinstance(tags, list) else []):
            if isinstance(tag, str):
                yield 2, number, tag


def _count_lines_before(begin: SearchPosition, after: SearchPosition) -> int | None:
    """Return how many lines of a text are not searched again; None if none is left."""
    if begin[:3] > after[:3]:
        return 0
    return after.line if begin[:3] == after[:3] else None


class _Match(NamedTuple):
    line: str
    column: int
    length: int


def _iterate_matches(pattern: Any, text: str, skipped: int) -> Iterator[tuple[int, _Match | None]]:
    """Search a text line by line.

    Yields
    ------
    The number of a line and its first match; or of the last line of a slice, and None.
    """
    # What has no UTF-8 becomes bytes that no character of an expression matches.
    data = text.replace("\r\n", "\n").removesuffix("\n").encode("utf-8", "surrogatepass")
    at, line = _find_line_start(data, skipped), skipped + 1
    while text and at is not None:
        stop = data.find(b"\n", at + _SLICE_BYTES)
        stop = len(data) if stop < 0 else stop
        while at <= stop and (match := pattern.search(data, at, stop)) is not None:
            start, end = match.span()
            line += data.count(b"\n", at, start)
            begin = data.rfind(b"\n", 0, start) + 1
            until = data.find(b"\n", start)
            until = len(data) if until < 0 else until
            yield (
                line,
                _Match(
                    data[begin:until].decode("utf-8", "surrogatepass"),
                    _count_characters(data[begin:start]) + 1,
                    _count_characters(data[start:end]),
                ),
            )
            at, line = until + 1, line + 1
        if at <= stop:
            line += data.count(b"\n", at, stop) + 1
        yield line - 1, None
        at = max(at, stop + 1)
        if at > len(data):
            return


def _find_line_start(data: bytes, skipped: int) -> int | None:
    """Find where a line begins; None if there are not so many."""
    at = 0
    for _ in range(skipped):
        at = data.find(b"\n", at) + 1
        if at == 0:
            return None
    return at


def _count_characters(data: bytes) -> int:
    return len(data.translate(None, _CONTINUATION))


def _build_hit(path: str, cell: Cell, place: SearchPosition, match: _Match) -> Hit:
    line = match.line
    start = 0
    if len(line) > _LONGEST_TEXT:
        start = find_grapheme_boundary(line, max(0, match.column - 1 - _BEFORE_THE_MATCH))
        line = line[start:]
        line = line[: find_grapheme_boundary(line, _LONGEST_TEXT)]
    where = _WHERES[place.where]
    return Hit(
        path=path,
        cell_id=cell.id,
        index=cell.index,
        cell_type=cell.cell_type,
        where=where,
        output=place.text if where == "outputs" else UNSET,
        line=place.line,
        column=match.column,
        length=match.length,
        text=line,
        text_column=start + 1 if start else UNSET,
    )
