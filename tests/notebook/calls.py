"""What a piece of work calls: that it goes the short way shows in nothing else, and in no clock."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from msgspec.json import Decoder


@contextmanager
def counted() -> Iterator[Counter[object]]:
    """Count the calls of Python's functions, by their names, and of msgspec's decoders."""
    found: Counter[object] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            found[frame.f_code.co_name] += 1
        elif event == "c_call" and isinstance(
            owner := getattr(argument, "__self__", None), Decoder
        ):
            found[owner] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
