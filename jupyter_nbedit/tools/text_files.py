"""Texts of files: decode and encode them, number their lines, replace a part, read a PDF."""

from __future__ import annotations

import io

from jupyter_nbedit.errors import InvalidRequest, TextMismatch
from jupyter_nbedit.notebook.line_ends import NormalizedText
from jupyter_nbedit.notebook.source_edit import check_growth, list_line_numbers

#: The largest number of lines that are shown at once, and of characters of a line.
MOST_LINES = 2000
MOST_CHARACTERS = 2000

_MAX_PAGES = 1000
_MOST_LINE_NUMBERS = 20


def decode_text(data: bytes) -> str:
    """Decode a text; raise `InvalidRequest` if it is not UTF-8, or has a NUL character."""
    if b"\0" not in data:
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    message = (
        f"The file is not a text in UTF-8 but {len(data)} bytes of something else, which this tool "
        "neither shows nor edits."
    )
    raise InvalidRequest(message)


def encode_text(text: str) -> bytes:
    """Encode a text for a file; raise `InvalidRequest` if it has a NUL character."""
    if "\0" in text:
        message = "The text has a NUL character, which no text file has; leave it out."
        raise InvalidRequest(message)
    return text.encode()


def number_lines(text: str, offset: int = 1, limit: int = MOST_LINES) -> str:
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
        message = f"The file has {len(lines)} lines; found `offset` {offset}."
        raise InvalidRequest(message)
    last = min(offset - 1 + min(limit, MOST_LINES), len(lines))
    shown = [f"{n:6}\t{_cut(lines[n - 1])}" for n in range(offset, last + 1)]
    if last < len(lines):
        shown.append(
            f"\n(Lines {last + 1} to {len(lines)} are not shown; read on with `offset` {last + 1}.)"
        )
    return "\n".join(shown)


def _cut(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= MOST_CHARACTERS:
        return line
    shown = line[:MOST_CHARACTERS]
    return f"{shown}… ({len(line) - len(shown)} more characters are not shown)"


def replace_string(text: str, old: str, new: str, *, replaces_all: bool) -> tuple[str, list[int]]:
    """Replace a text that is not empty, with line ends as the file has them.

    A line end in ``old`` matches any line end of the file; those in ``new`` become those of the
    replaced text. Unless all occurrences are replaced, there must be exactly one.

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
    starts = plain.find_all(searched_text)
    if not starts:
        message = (
            "`old_string` does not stand in the file. Read the file again, and copy the text "
            "exactly, white space included, without the line numbers."
        )
        raise TextMismatch(message, count=0, lines=[])
    lines = list(list_line_numbers(plain.text, starts))
    if len(starts) > 1 and not replaces_all:
        message = (
            f"`old_string` stands in the file {len(starts)} times, beginning on the lines "
            f"{', '.join(map(str, lines[:_MOST_LINE_NUMBERS]))}. Give more of the text around the "
            "one you mean, or set `replace_all`."
        )
        raise TextMismatch(message, count=len(starts), lines=lines[:_MOST_LINE_NUMBERS])
    check_growth(text, len(starts), len(new) - len(searched_text))
    return plain.replace(starts, len(searched_text), new), lines


def extract_pdf_text(data: bytes) -> str:
    """Return the text of a PDF, page by page; raise `InvalidRequest` if that is not possible."""
    try:
        # Optional (the extra `pdf`), and slow to load.
        import pypdf  # noqa: PLC0415 -- see above
    except ImportError:
        message = (
            "This server cannot read PDFs. Whoever runs it can change that with `pip install "
            "'jupyter_nbedit[pdf]'` and a restart."
        )
        raise InvalidRequest(message) from None
    try:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        texts = [
            f"--- page {number} of {len(pages)} ---\n{page.extract_text()}"
            for number, page in enumerate(pages[:_MAX_PAGES], 1)
        ]
    except Exception as error:
        # The library raises exceptions of many classes for damaged files.
        message = (
            f"The PDF cannot be read as text ({type(error).__name__}): it is broken or encrypted."
        )
        raise InvalidRequest(message) from error
    if len(pages) > _MAX_PAGES:
        texts.append(f"--- pages {_MAX_PAGES + 1} to {len(pages)} are not shown ---")
    return "\n".join(texts)
