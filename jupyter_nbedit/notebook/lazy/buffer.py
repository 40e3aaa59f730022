"""The bytes of a notebook, in memory or read when needed.

A large file is not read as a whole, so that editing one cell needs no memory for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, overload

#: The size of the parts in which lazy bytes are read: small enough that no call holds the
#: interpreter lock for a millisecond, large enough that the calls cost little.
CHUNK_BYTES = 1 << 20


class LazyBytes(Protocol):
    """A sequence of bytes that is not in memory."""

    def __len__(self) -> int:
        """Return the number of bytes."""

    @overload
    def __getitem__(self, part: int, /) -> int: ...

    @overload
    def __getitem__(self, part: slice, /) -> bytes: ...

    def read_into(self, start: int, buffer: memoryview, /) -> None:
        """Fill a buffer from an offset; the text must have that many bytes."""


#: A sequence of bytes; a slice is `bytes`, and ``text[:]`` reads all of them.
Buffer = bytes | LazyBytes


def is_ascii(text: Buffer) -> bool:
    """Return whether all bytes are ASCII."""
    if isinstance(text, bytes):
        return text.isascii()
    return all(bytes(chunk).isascii() for chunk in iterate_chunks(text))


def iterate_chunks(text: Buffer, start: int = 0, stop: int | None = None) -> Iterator[memoryview]:
    """Yield a range of a text in parts; `bytes` are not copied."""
    end = len(text) if stop is None else stop
    if isinstance(text, bytes):
        if start < end:
            yield memoryview(text)[start:end]
        return
    for position in range(start, end, CHUNK_BYTES):
        yield memoryview(text[position : min(position + CHUNK_BYTES, end)])
