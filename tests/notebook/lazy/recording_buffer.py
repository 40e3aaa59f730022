"""A text that is not in memory, as far as its users can tell."""

from __future__ import annotations

from typing import overload


class Parked:
    """The twin of a large file's text."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self.most_read = 0
        self.read = 0
        self.sizes: list[int] = []

    def __len__(self) -> int:
        return len(self._text)

    @overload
    def __getitem__(self, part: int) -> int: ...

    @overload
    def __getitem__(self, part: slice) -> bytes: ...

    def __getitem__(self, part: int | slice) -> int | bytes:
        if isinstance(part, slice):
            self._note(len(self._text[part]))
        return self._text[part]

    def read_into(self, start: int, room: memoryview) -> None:
        room[:] = self._text[start : start + len(room)]
        self._note(len(room))

    def _note(self, size: int) -> None:
        self.most_read = max(self.most_read, size)
        self.read += size
        self.sizes.append(size)
