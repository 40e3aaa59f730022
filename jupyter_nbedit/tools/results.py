"""Results of tools as blocks of texts and images: a file, or a notebook by its cells."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from jupyter_nbedit.notebook.outputs import to_readable
from jupyter_nbedit.notebook.views import CellView
from jupyter_nbedit.reading.models import ReadReply
from jupyter_nbedit.tools.text_files import decode_text, extract_pdf_text, number_lines

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
_WEBP = (b"RIFF", b"WEBP")
_PDF = b"%PDF-"
_SHOWN_IMAGES = frozenset((*_IMAGES.values(), "image/webp"))


class TextBlock(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A text."""

    text: str


class ImageBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image; ``data`` is base64."""

    data: str
    mime_type: str = msgspec.field(name="mimeType")


Block = TextBlock | ImageBlock


def render_file(data: bytes, offset: int, limit: int) -> list[Block]:
    """Return the blocks that show a file other than a notebook.

    Raise `InvalidRequest` if it is neither a text nor an image nor a PDF, or has fewer lines than
    ``offset``.
    """
    mime = _detect_image_type(data)
    if mime is not None:
        return [ImageBlock(data=base64.b64encode(data).decode("ascii"), mime_type=mime)]
    text = extract_pdf_text(data) if data.startswith(_PDF) else decode_text(data)
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
