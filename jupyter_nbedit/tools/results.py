"""Results of tools as text: a file, a notebook by its cells, an edit in a sentence."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from jupyter_nbedit.models import EditReply
from jupyter_nbedit.notebook.outputs import to_readable
from jupyter_nbedit.notebook.views import CellView
from jupyter_nbedit.reading.models import ReadReply
from jupyter_nbedit.tools import pdf
from jupyter_nbedit.tools.line_numbers import number_lines
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
    """Return the blocks that show a file other than a notebook.

    Raises
    ------
    InvalidRequest
        If it is neither a text nor an image nor a PDF, or has fewer than ``offset`` lines.
    """
    mime = _detect_image_type(data)
    if mime is not None:
        return [ImageBlock(data=base64.b64encode(data).decode("ascii"), mime_type=mime)]
    text = pdf.extract_text(data) if data.startswith(_PDF) else decode_text(data)
    return [TextBlock(number_lines(text, offset, limit))]


def render_notebook(reply: ReadReply) -> list[Block]:
    """Return the blocks that show a notebook by cells; texts between two images are one block."""
    blocks: list[Block] = []
    texts: list[str] = []
    for part in _render_parts(reply):
        if isinstance(part, str):
            texts.append(part)
            continue
        blocks += [TextBlock("\n".join(texts)), part]
        texts = []
    return [*blocks, TextBlock("\n".join(texts))] if texts else blocks


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
    if cell.omitted is not UNSET and (omitted_count := cell.omitted.outputs):
        yield f"({omitted_count} characters of its outputs are not shown.)"
    if cell.omitted is not UNSET and (omitted_count := cell.omitted.source):
        yield f"({omitted_count} characters of its source are not shown.)"


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

#: In the results of every toolset: present if the call made a proposal, not an edit.
ProposalId = Annotated[
    int,
    Meta(
        description="There if nothing was changed yet, because a person decides first: the number "
        "of the proposal that they are shown."
    ),
]


def describe_proposal(reply: EditReply) -> str:
    """Return a text that says that an edit waits for a decision, and where to ask for it."""
    return (
        "Nothing is changed yet: a person decides first. This is proposal "
        f"{reply.proposal_id}; GET /nbedit/proposals/{reply.proposal_id}?wait=60 tells what has "
        "become of it."
    )


@dataclass(frozen=True)
class CellEditResult:
    """The result of one operation on one cell.

    Parameters
    ----------
    op
        ``replace``, ``insert`` or ``delete``.
    cell_id
        The address of the cell: its id, or ``cell-N`` where it has none.
    index
        Its index after the edit; of a deleted cell, its index before.
    cell_type
        Its type after the edit.
    source
        The source of a deleted cell; otherwise empty.
    reply
        The reply to the whole edit.
    """

    op: str
    cell_id: str
    index: int
    cell_type: str
    source: str
    reply: EditReply

    @classmethod
    def from_reply(cls, reply: EditReply) -> CellEditResult:
        """Build the result from the reply to an edit with one operation on one cell.

        Raises
        ------
        TypeError
            If the edit had another number of operations, or one that is not on a cell.
        """
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
        """Return a text that describes the edit.

        Parameters
        ----------
        notebook
            The path of the notebook as the caller wrote it.
        *more
            Further sentences; the warnings of the edit follow them.
        """
        cell = f"{self.cell_type} cell {self.cell_id} (index {self.index})"
        clears_outputs = self.reply.operations[0].outputs_cleared is True
        if self.reply.proposal_id is not UNSET:
            outputs = ["Its outputs would be cleared."] if clears_outputs else []
            sentences = [
                f"Proposed to {self.op} {cell} of {notebook}.",
                *outputs,
                describe_proposal(self.reply),
            ]
            return " ".join([*sentences, *more, *self.reply.warnings])
        if self.reply.is_written:
            total = self.reply.total_cells
            sentences = [f"{_VERBS[self.op]} {cell} of {notebook}, which has {total} cells now."]
        else:
            sentences = [f"Nothing to change: {cell} of {notebook} has this source already."]
        if clears_outputs:
            sentences.append("Its outputs were cleared.")
        return " ".join([*sentences, *more, *self.reply.warnings])


class TextBlock(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A text."""

    text: str


class ImageBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image; ``data`` is base64."""

    data: str
    mime_type: str = msgspec.field(name="mimeType")


Block = TextBlock | ImageBlock
