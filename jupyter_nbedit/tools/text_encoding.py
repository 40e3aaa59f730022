"""Decode and encode text files: UTF-8 without NUL characters."""

from __future__ import annotations

from jupyter_nbedit.errors import InvalidRequest


def decode_text(data: bytes) -> str:
    """Decode a text.

    Raises
    ------
    InvalidRequest
        If the bytes are not UTF-8, or have a NUL character.
    """
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
    """Encode a text for a file.

    Raises
    ------
    InvalidRequest
        If the text has a NUL character.
    """
    if "\0" in text:
        message = "The text has a NUL character, which no text file has; leave it out."
        raise InvalidRequest(message)
    return text.encode()
