"""What tools show and change of files: blocks of texts and images, numbered lines, replacements."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from jupyter_nbedit.agents.tools.images import ImageBlock, check_image, decode_image, detect_type
from jupyter_nbedit.errors import InvalidRequest, TextMismatch
from jupyter_nbedit.notebook.cell_names import CellName, is_numbered_id
from jupyter_nbedit.notebook.long_text import apply_control_characters, cut_middle
from jupyter_nbedit.notebook.outputs import make_readable
from jupyter_nbedit.notebook.source_edit import NormalizedText, SearchedText
from jupyter_nbedit.notebook.views import CellView
from jupyter_nbedit.services.reading.models import ReadReply

#: The largest number of lines that are shown at once, and of characters of a line.
MAX_LINES = 2000
MAX_CHARACTERS = 2000

_MAX_PAGES = 1000
_MAX_LINE_NUMBERS = 20
_PDF = b"%PDF-"
_IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
# Of a reply: a longer text would fill the context of a model, or its provider would refuse it.
_MAX_TEXT = 200_000
_MAX_OUTPUT_LENGTH = 10_000
_MAX_OUTPUTS_LENGTH = _MAX_SOURCE_LENGTH = 90_000
_MAX_IMAGES = 20
_MAX_TYPE_LENGTH = 200


class TextBlock(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A text."""

    text: str


Block = TextBlock | ImageBlock


def render_file(data: bytes, offset: int, limit: int) -> list[Block]:
    """Return the blocks that show a file other than a notebook.

    Raise `InvalidRequest` if it is neither a text nor an image nor a PDF, or has fewer lines than
    ``offset``.
    """
    if detect_type(data) is not None:
        image = check_image(data)
        if isinstance(image, str):
            return [TextBlock(f"The image cannot be shown: {image} ({len(data)} bytes).")]
        return [image]
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
        # No block has an empty text: APIs of models refuse such blocks.
        blocks += [TextBlock("\n".join(texts)), part] if texts else [part]
        texts = []
    return [*blocks, TextBlock("\n".join(texts))] if texts else blocks


def _render_parts(reply: ReadReply) -> Iterator[str | ImageBlock]:
    language = reply.language or "no language"
    yield (
        f"Notebook with {reply.total_cells} cells, {language}. Edit it with NotebookEdit, by the "
        "ids of the cells."
    )
    # Where ids have the form `cell-N`, it is no index.
    has_numbered_ids = any(cell.id is not None and is_numbered_id(cell.id) for cell in reply.cells)
    following, remaining_text, remaining_images = reply.next, _MAX_TEXT, _MAX_IMAGES
    for number, cell in enumerate(reply.cells):
        name = f"cell-{cell.index}" if cell.id is None else cell.id
        if cell.id is None and has_numbered_ids and cell.source_hash:
            name = str(CellName.from_hash(cell.index, cell.source_hash))
        parts = list(_render_cell(cell, name))
        text = sum(len(part) + 1 for part in parts if isinstance(part, str))
        images = sum(isinstance(part, ImageBlock) for part in parts)
        if number and (text > remaining_text or images > remaining_images):
            following = cell.index
            break
        remaining_text -= text
        remaining_images -= images
        yield from parts
    if following is not None:
        yield (
            f"\n(The cells from index {following} on are not shown; read on with `offset` "
            f"{following + 1}.)"
        )


def _render_cell(cell: CellView, name: str) -> Iterator[str | ImageBlock]:
    count = f" execution_count={cell.execution_count}" if cell.execution_count else ""
    yield f'\n<cell id="{name}" index={cell.index} type={cell.cell_type}{count}>'
    if cell.problem is not UNSET:
        yield f"(This cell is unreadable: {cell.problem})"
    source = "" if cell.source is UNSET else cell.source
    yield source[:_MAX_SOURCE_LENGTH]
    if len(source) > _MAX_SOURCE_LENGTH:
        yield f"({len(source) - _MAX_SOURCE_LENGTH} more characters of its source are not shown.)"
    yield "</cell>"
    if isinstance(cell.outputs, list) and cell.outputs:
        yield f'<outputs of="{name}">'
        yield from _limit_outputs(
            part for output in cell.outputs for part in _render_output(output)
        )
        yield "</outputs>"
    if cell.omitted is not UNSET and (omitted_count := cell.omitted.outputs):
        yield f"({omitted_count} characters of its outputs are not shown.)"
    if cell.omitted is not UNSET and (omitted_count := cell.omitted.source):
        yield f"({omitted_count} characters of its source are not shown.)"


def _limit_outputs(parts: Iterable[str | ImageBlock]) -> Iterator[str | ImageBlock]:
    """Yield the outputs of a cell up to the limits of texts and images."""
    remaining_text, remaining_images = _MAX_OUTPUTS_LENGTH, _MAX_IMAGES
    omitted_count = 0
    for part in parts:
        if isinstance(part, ImageBlock):
            remaining_images -= 1
            is_shown = remaining_images >= 0
        else:
            remaining_text -= len(part) + 1
            is_shown = remaining_text >= 0
        omitted_count += not is_shown
        if is_shown:
            yield part
    if omitted_count:
        yield f"({omitted_count} more texts and images of its outputs are not shown.)"


def _render_output(output: dict[str, Any]) -> Iterator[str | ImageBlock]:
    shown = make_readable(output)
    for name in ("text", "traceback"):
        if name in shown:
            yield _shorten(shown[name], is_end_important=name == "traceback")
    if "traceback" not in shown and "ename" in shown:
        yield _shorten(f"{shown['ename']}: {shown.get('evalue', '')}")
    for mime, value in shown.get("data", {}).items():
        original = output["data"][mime]
        if mime in _IMAGE_TYPES and isinstance(original, str):
            image = decode_image(original)
            if isinstance(image, str):
                yield f"({mime}, {value['bytes']} bytes, cannot be shown: {image})"
            else:
                yield image
        elif isinstance(value, str):
            yield _shorten(value)
        else:
            yield f"({mime[:_MAX_TYPE_LENGTH]}, {value['bytes']} bytes)"


def _shorten(text: str, *, is_end_important: bool = False) -> str:
    """Return a text of an output: the last frame of each line, and both ends."""
    return cut_middle(
        apply_control_characters(text).rstrip("\n"),
        _MAX_OUTPUT_LENGTH,
        is_end_important=is_end_important,
        hint="",
    )


def decode_text(data: bytes) -> str:
    """Decode a text; raise `InvalidRequest` if it is not UTF-8, or has a NUL character."""
    if b"\0" not in data:
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    raise InvalidRequest(
        f"The file is not UTF-8 text but {len(data)} bytes of other data, so this tool cannot "
        "show or edit it."
    )


def encode_text(text: str) -> bytes:
    """Encode a text for a file; raise `InvalidRequest` if it has a NUL character."""
    if "\0" in text:
        raise InvalidRequest("The text has a NUL character, which no text file has; leave it out.")
    return text.encode()


def number_lines(text: str, offset: int = 1, limit: int = MAX_LINES) -> str:
    """Return lines with their numbers from 1, and a note about what is not shown.

    A line ends with a line feed, or a carriage return and a line feed. ``offset`` is the number of
    the first line that is shown; raise `InvalidRequest` if the text has fewer lines.
    """
    if text in {"", "\ufeff"}:
        return "The file is empty."
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    if offset > len(lines):
        raise InvalidRequest(
            f"The file has {len(lines)} lines: expected `offset` from 1 to {len(lines)}, "
            f"found {offset}."
        )
    last = min(offset - 1 + min(limit, MAX_LINES), len(lines))
    shown: list[str] = []
    remaining = _MAX_TEXT
    for number in range(offset, last + 1):
        line = f"{number:6}\t{_cut(lines[number - 1])}"
        remaining -= len(line) + 1
        if remaining < 0 and shown:
            last = number - 1
            break
        shown.append(line)
    if last < len(lines):
        shown.append(
            f"\n(Lines {last + 1} to {len(lines)} are not shown; read on with `offset` {last + 1}.)"
        )
    return "\n".join(shown)


def _cut(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= MAX_CHARACTERS:
        return line
    shown = line[:MAX_CHARACTERS]
    return f"{shown}… ({len(line) - len(shown)} more characters are not shown)"


def replace_string(text: str, old: str, new: str, *, replaces_all: bool) -> tuple[str, list[int]]:
    """Replace a text that is not empty, with line ends as the file has them.

    A line end in ``old`` matches any line end of the file; line ends in ``new`` become the line
    ends of the replaced text. Unless all occurrences are replaced, there must be exactly one.

    Returns
    -------
    The new text, and the numbers (from 1) of the lines in the old text where an occurrence begins.

    Raises
    ------
    InvalidRequest
        If ``old`` equals ``new``.
    TextMismatch
        If ``old`` does not occur, or occurs more than once where it must not.
    """
    if old == new:
        message = "`old_string` and `new_string` are the same: there is nothing to change."
        raise InvalidRequest(message)
    plain = NormalizedText(text)
    searched_text = old.replace("\r\n", "\n")
    may_be_more = False
    if replaces_all:
        starts = plain.find_all(searched_text)
    else:
        starts, may_be_more = plain.find_first(SearchedText(searched_text))
    if not starts:
        message = (
            "`old_string` does not occur in the file. Read the file again, and copy the text "
            "exactly, including white space, without the line numbers."
        )
        raise TextMismatch(message, count=0, lines=[])
    lines = plain.list_lines(starts)
    if len(starts) > 1 and not replaces_all:
        shown = list(dict.fromkeys(lines))[:_MAX_LINE_NUMBERS]
        message = (
            f"`old_string` occurs in the file {'at least ' if may_be_more else ''}{len(starts)} "
            f"times, first in {'line' if len(shown) == 1 else 'lines'} "
            f"{', '.join(map(str, shown))}. Send more of the text around it, or set `replace_all`."
        )
        raise TextMismatch(message, count=len(starts), lines=shown)
    return plain.replace(starts, len(searched_text), new), lines


def extract_pdf_text(data: bytes) -> str:
    """Return the text of a PDF, page by page; raise `InvalidRequest` if that is not possible."""
    try:
        # Optional (the extra `pdf`), and slow to load.
        import pypdf  # noqa: PLC0415 -- see above
    except ImportError:
        raise InvalidRequest(
            "This server cannot read PDFs. Its administrator can install support with `pip "
            "install 'jupyter_nbedit[pdf]'` and a restart."
        ) from None
    try:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        texts = [
            f"--- page {number} of {len(pages)} ---\n{page.extract_text()}"
            for number, page in enumerate(pages[:_MAX_PAGES], 1)
        ]
    except Exception as error:
        # The library raises exceptions of many classes for damaged files.
        raise InvalidRequest(
            f"The PDF cannot be read as text ({type(error).__name__}): it is broken or encrypted."
        ) from error
    if len(pages) > _MAX_PAGES:
        texts.append(f"--- pages {_MAX_PAGES + 1} to {len(pages)} are not shown ---")
    return "\n".join(texts)
