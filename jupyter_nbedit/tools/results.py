"""What a reader is shown of a file: a text by lines, an image as an image, a notebook by cells."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.models import EditReply
from jupyter_nbedit.notebook.graphemes import find_grapheme_boundary
from jupyter_nbedit.notebook.outputs import to_readable
from jupyter_nbedit.notebook.views import CellView
from jupyter_nbedit.reading.models import ReadReply
from jupyter_nbedit.tools import pdf
from jupyter_nbedit.tools.text_encoding import decode_text

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_WEBP = (b"RIFF", b"WEBP")
_PDF = b"%PDF-"
_SHOWN_IMAGES = frozenset((*_IMAGES.values(), "image/webp"))


def render_file(data: bytes, offset: int, limit: int) -> list[Block]:
    """Show any file but a notebook.

    Raises
    ------
    InvalidRequest
        If it is no text and nothing else that can be shown, or has no such line.
    """
    mime = _detect_image_type(data)
    if mime is not None:
        return [ImageBlock(data=base64.b64encode(data).decode("ascii"), mime_type=mime)]
    text = pdf.extract_text(data) if data.startswith(_PDF) else decode_text(data)
    return [TextBlock(number_lines(text, offset, limit))]


def render_notebook(reply: ReadReply) -> list[Block]:
    """Show a notebook by its cells; what texts there are between two images are one block."""
    blocks: list[Block] = []
    said: list[str] = []
    for part in _render_parts(reply):
        if isinstance(part, str):
            said.append(part)
            continue
        blocks += [TextBlock("\n".join(said)), part]
        said = []
    return [*blocks, TextBlock("\n".join(said))] if said else blocks


def _render_parts(reply: ReadReply) -> Iterator[str | ImageBlock]:
    language = reply.language or "no language"
    yield (
        f"Notebook with {reply.total_cells} cells, {language}. Edit it with NotebookEdit, by the "
        "ids of the cells."
    )
    for cell in reply.cells:
        yield from _render_cell(cell)
    if reply.next is not None:
        yield (
            f"\n(The cells from index {reply.next} on are not shown; read on with `offset` "
            f"{reply.next + 1}.)"
        )


def _render_cell(cell: CellView) -> Iterator[str | ImageBlock]:
    name = f"cell-{cell.index}" if cell.id is None else cell.id
    count = f" execution_count={cell.execution_count}" if cell.execution_count else ""
    yield f'\n<cell id="{name}" index={cell.index} type={cell.cell_type}{count}>'
    yield "" if cell.source is UNSET else cell.source
    yield "</cell>"
    if isinstance(cell.outputs, list) and cell.outputs:
        yield f'<outputs of="{name}">'
        for output in cell.outputs:
            yield from _render_output(output)
        yield "</outputs>"
    if cell.omitted is not UNSET and (left_out := cell.omitted.outputs):
        yield f"({left_out} characters of its outputs are not shown.)"
    if cell.omitted is not UNSET and (left_out := cell.omitted.source):
        yield f"({left_out} characters of its source are not shown.)"


def _render_output(output: dict[str, Any]) -> Iterator[str | ImageBlock]:
    shown = to_readable(output)
    for name in ("text", "traceback"):
        if name in shown:
            yield shown[name].rstrip("\n")
    if "traceback" not in shown and "ename" in shown:
        yield f"{shown['ename']}: {shown.get('evalue', '')}"
    for mime, value in shown.get("data", {}).items():
        original = output["data"][mime]
        if mime in _SHOWN_IMAGES and isinstance(original, str):
            yield ImageBlock(data="".join(original.split()), mime_type=mime)
        else:
            yield value if isinstance(value, str) else f"({mime}, {value['bytes']} bytes)"


def _detect_image_type(data: bytes) -> str | None:
    for start, mime in _IMAGES.items():
        if data.startswith(start):
            return mime
    return "image/webp" if (data[:4], data[8:12]) == _WEBP else None


_VERBS = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}

#: What tells a proposal from an edit, in every dialect's answer.
ProposalId = Annotated[
    int,
    Meta(
        description="There if nothing was changed yet, because a person decides first: the number "
        "of the proposal that they are shown."
    ),
]


def describe_proposal(reply: EditReply) -> str:
    """Return the text that says that an edit waits for a decision, and how to learn of that."""
    return (
        "Nothing is changed yet: a person decides first. This is proposal "
        f"{reply.proposal_id}; GET /nbedit/proposals/{reply.proposal_id}?wait=60 tells what has "
        "become of it."
    )


@dataclass(frozen=True)
class CellEditResult:
    """One operation on one cell.

    Parameters
    ----------
    op
        ``replace``, ``insert`` or ``delete``.
    cell_id
        The address of the cell: its id, or ``cell-N`` where it has none.
    index
        Where it stands afterwards; a deleted one, where it stood.
    cell_type
        Its type afterwards.
    source
        What it said, if it was deleted; else empty.
    reply
        All that is said of the edit.
    """

    op: str
    cell_id: str
    index: int
    cell_type: str
    source: str
    reply: EditReply

    @classmethod
    def from_reply(cls, reply: EditReply) -> CellEditResult:
        """Read what was done from the reply to an edit of one operation on one cell."""
        (result,) = reply.operations
        if result.index is None or result.cell_type is None:
            message = f"Expected an operation on one cell, found {result.op!r}."
            raise TypeError(message)
        return cls(
            op=result.op,
            cell_id=f"cell-{result.index}" if result.cell_id is None else result.cell_id,
            index=result.index,
            cell_type=result.cell_type,
            source="" if result.source is UNSET else result.source,
            reply=reply,
        )

    def describe(self, notebook: str, *more: str) -> str:
        """Return a sentence that describes it.

        Parameters
        ----------
        notebook
            What the caller calls the notebook.
        *more
            Further sentences; those that the edit has as warnings come behind them.
        """
        cell = f"{self.cell_type} cell {self.cell_id} (index {self.index})"
        clears = self.reply.operations[0].outputs_cleared is True
        if self.reply.proposal_id is not UNSET:
            outputs = ["Its outputs would be cleared."] if clears else []
            said = [
                f"Proposed to {self.op} {cell} of {notebook}.",
                *outputs,
                describe_proposal(self.reply),
            ]
            return " ".join([*said, *more, *self.reply.warnings])
        if self.reply.is_written:
            total = self.reply.total_cells
            said = [f"{_VERBS[self.op]} {cell} of {notebook}, which has {total} cells now."]
        else:
            said = [f"Nothing to change: {cell} of {notebook} says this already."]
        if clears:
            said.append("Its outputs were cleared.")
        return " ".join([*said, *more, *self.reply.warnings])


#: The most lines at once, and the most characters of one.
MOST_LINES = 2000
MOST_CHARACTERS = 2000


def number_lines(text: str, offset: int = 1, limit: int = MOST_LINES) -> str:
    """Show lines with their numbers from 1, and say what is left out.

    Parameters
    ----------
    text
        The text; a line ends with a line feed, or a carriage return and a line feed.
    offset
        The first line that is shown.
    limit
        How many at most.

    Raises
    ------
    InvalidRequest
        If the text has no such line.
    """
    if text in {"", "\ufeff"}:
        return "The file is empty."
    lines = split_lines(text)
    if offset > len(lines):
        message = f"The file has {len(lines)} lines; found `offset` {offset}."
        raise InvalidRequest(message)
    last = min(offset - 1 + min(limit, MOST_LINES), len(lines))
    shown = [f"{n:6}\t{_cut(lines[n - 1])}" for n in range(offset, last + 1)]
    if last < len(lines):
        shown.append(
            f"\n(Lines {last + 1} to {len(lines)} are not shown; read on with `offset` {last + 1}.)"
        )
    return "\n".join(shown)


def split_lines(text: str) -> list[str]:
    """Return a text's lines without their ends, and without a byte order mark."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _cut(line: str) -> str:
    if len(line) <= MOST_CHARACTERS:
        return line
    shown = line[: find_grapheme_boundary(line, MOST_CHARACTERS)]
    return f"{shown}… ({len(line) - len(shown)} more characters are not shown)"


class TextBlock(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A text."""

    text: str


class ImageBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image; ``data`` is base64."""

    data: str
    mime_type: str = msgspec.field(name="mimeType")


Block = TextBlock | ImageBlock
