"""The bytes of a notebook, in memory or where they are kept.

`bytes` are such a text. A large file is one that is read as it is wanted, so that an edit of one
cell needs no memory for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, overload

#: How much of a text that is not in memory is looked at together. Small enough that no call holds
#: the interpreter for a millisecond, large enough that the calls themselves cost nothing.
CHUNK_BYTES = 1 << 20


class LazyBytes(Protocol):
    """A sequence of bytes that is not in memory."""

    def __len__(self) -> int:
        """Count the bytes."""

    @overload
    def __getitem__(self, part: int, /) -> int: ...

    @overload
    def __getitem__(self, part: slice, /) -> bytes: ...

    def read_into(self, start: int, room: memoryview, /) -> None:
        """Fill a buffer with what stands at an offset; there must be so much."""


#: A sequence of bytes; a slice of it is `bytes`, and ``text[:]`` all of them.
Buffer = bytes | LazyBytes


def is_ascii(text: Buffer) -> bool:
    """Return whether all bytes are those of ASCII."""
    if isinstance(text, bytes):
        return text.isascii()
    return all(bytes(chunk).isascii() for chunk in iterate_chunks(text))


def iterate_chunks(text: Buffer, start: int = 0, stop: int | None = None) -> Iterator[memoryview]:
    """Go through a range of a text; one that is in memory is not copied."""
    end = len(text) if stop is None else stop
    if isinstance(text, bytes):
        if start < end:
            yield memoryview(text)[start:end]
        return
    for at in range(start, end, CHUNK_BYTES):
        yield memoryview(text[at : min(at + CHUNK_BYTES, end)])
