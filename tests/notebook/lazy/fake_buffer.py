"""A buffer that is not in memory, and records its reads."""

from typing import overload

from jupyter_nbedit.notebook.lazy.buffer import LazyBytes


class FakeBuffer(LazyBytes):
    """A fake of the text of a large file."""

    def __init__(self, text: bytes) -> None:
        super().__init__(len(text))
        self._text = text
        self.largest_read = 0
        self.total_read = 0
        self.sizes: list[int] = []

    @overload
    def __getitem__(self, part: int) -> int: ...

    @overload
    def __getitem__(self, part: slice) -> bytes: ...

    def __getitem__(self, part: int | slice) -> int | bytes:
        if isinstance(part, slice):
            self._note(len(self._text[part]))
        return self._text[part]

    def read_into(self, start: int, buffer: memoryview) -> None:
        buffer[:] = self._text[start : start + len(buffer)]
        self._note(len(buffer))

    def _note(self, size: int) -> None:
        self.largest_read = max(self.largest_read, size)
        self.total_read += size
        self.sizes.append(size)
