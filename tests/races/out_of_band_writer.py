"""Write a notebook without this package, and check that each version lasts.

    python -m tests.races.out_of_band_writer KIND PATH USER WRITES SEED

Each version that it writes has a mark of its own. Before it writes the next one it looks for the
mark: whatever we have made of the version must have it as well. A version whose mark is not there
after a while is lost, for nobody but us writes besides. Prints how many it wrote, and which were
lost.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.races.users import switch_user
from tests.support import samples
from tests.support.waiting import wait_until

_MAX_HALF_LENGTH = 0.001


def build_mark(number: int) -> str:
    """Build the unique mark of a version."""
    return f"theirs {number:09d}"


def build_version(number: int) -> bytes:
    """Build a notebook with a cell for edits, and the mark."""
    filling = "# theirs\n" * (number % 200)
    return samples.notebook(
        samples.code("ours at first", "ours"),
        samples.code(filling + build_mark(number), "theirs"),
    )


def replace_by_rename(path: Path, text: bytes, _pause: Callable[[float], None]) -> None:
    """Write beside the file and rename over it, as careful programs do."""
    temporary = path.with_name(".theirs")
    temporary.write_bytes(text)
    temporary.replace(path)


def write_in_place(path: Path, text: bytes, pause: Callable[[float], None]) -> None:
    """Empty the file and write it in two halves, as Jupyter does."""
    half = len(text) // 2
    with path.open("wb", buffering=0) as file:
        file.write(text[:half])
        pause(_MAX_HALF_LENGTH)
        file.write(text[half:])


#: How the program writes, and its longest pause between two versions, in seconds.
KINDS = {"renamed": (replace_by_rename, 0.003), "in_place": (write_in_place, 0.02)}


class RandomPause:
    """Waits for random times without sleeping, which takes longer."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 -- no secret

    def __call__(self, longest: float) -> None:
        """Wait for that long at most."""
        until = time.perf_counter() + self._chance.random() * longest
        while time.perf_counter() < until:
            pass


def has_mark(path: Path, number: int) -> bool:
    """Search for a mark; it may be missing for a moment, until it is restored."""
    sought = build_mark(number).encode()
    with suppress(AssertionError):
        return wait_until(lambda: sought in path.read_bytes())
    return False


def main() -> None:
    (write, longest), path = KINDS[sys.argv[1]], Path(sys.argv[2])
    switch_user(int(sys.argv[3]))
    writes, pause = int(sys.argv[4]), RandomPause(int(sys.argv[5]))
    lost: list[int] = []
    for number in range(1, writes + 1):
        write(path, build_version(number), pause)
        pause(longest)
        if not has_mark(path, number):
            lost.append(number)
            break
    os.write(1, json.dumps({"writes": number, "lost": lost}).encode())


if __name__ == "__main__":
    main()
