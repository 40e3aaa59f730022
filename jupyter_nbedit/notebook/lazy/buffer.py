"""The bytes of a notebook, in memory or read when needed.

A large file is not read as a whole, so that an edit of one cell needs no memory for other cells.
Only the functions here distinguish ``bytes`` and `LazyBytes`.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import overload

#: The size of the parts in which lazy bytes are read: small enough that no call holds the
#: interpreter lock for a millisecond, large enough that the calls cost little.
CHUNK_BYTES = 1 << 20
# Small parts are read in blocks.
_BLOCK_BYTES = 1 << 16


class LazyBytes(ABC):
    """A sequence of bytes that is not in memory; several threads may use it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._block: tuple[int, bytes] = (0, b"")

    def __len__(self) -> int:
        """Return the number of bytes."""
        return self._size

    @overload
    def __getitem__(self, part: int) -> int: ...

    @overload
    def __getitem__(self, part: slice) -> bytes: ...

    def __getitem__(self, part: int | slice) -> int | bytes:
        """Read a byte, or the bytes of a slice."""
        if isinstance(part, int):
            index = part + self._size if part < 0 else part
            return self[index : index + 1][0]
        start, stop, _ = part.indices(self._size)
        if stop <= start:
            return b""
        if stop - start > _BLOCK_BYTES // 2:
            return self._read(start, stop)
        begin, block = self._block
        if not begin <= start <= stop <= begin + len(block):
            begin = max(0, start - _BLOCK_BYTES // 4)
            block = self._read(begin, min(begin + _BLOCK_BYTES, self._size))
            self._block = begin, block
        return block[start - begin : stop - begin]

    def _read(self, start: int, stop: int) -> bytes:
        buffer = bytearray(stop - start)
        self.read_into(start, memoryview(buffer))
        return bytes(buffer)

    @abstractmethod
    def read_into(self, start: int, buffer: memoryview) -> None:
        """Fill a buffer from an offset; the text must have that many bytes."""

    def compute_sha256(self) -> str:
        """Return the sha256 of all bytes, in hex."""
        hasher = hashlib.sha256()
        for chunk in iterate_chunks(self):
            hasher.update(chunk)
        return hasher.hexdigest()


#: A sequence of bytes; a slice is `bytes`, and ``text[:]`` reads all of them.
Buffer = bytes | LazyBytes


def compute_sha256(text: Buffer) -> str:
    """Return the sha256 of a notebook, in hex: the ``hash`` of the Contents API."""
    return hashlib.sha256(text).hexdigest() if isinstance(text, bytes) else text.compute_sha256()


def read_range(text: Buffer, start: int, stop: int) -> tuple[bytes, int]:
    """Return bytes that contain a range, and the offset of the first of them."""
    return (text, 0) if isinstance(text, bytes) else (text[start:stop], start)


def iterate_chunks(text: Buffer, start: int = 0, stop: int | None = None) -> Iterator[memoryview]:
    """Yield a range of a text in parts; `bytes` are not copied."""
    end = len(text) if stop is None else stop
    if isinstance(text, bytes):
        if start < end:
            yield memoryview(text)[start:end]
        return
    for position in range(start, end, CHUNK_BYTES):
        yield memoryview(text[position : min(position + CHUNK_BYTES, end)])
