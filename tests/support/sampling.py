"""How many random or long cases a run tries, and its seed."""

import os
import random
import sys
from collections.abc import Iterable
from typing import TypeVar

Choice = TypeVar("Choice")
_DAY_SEED = 1
# In the environment, so that the processes that tests start know both, too.
_NIGHTLY = "NBEDIT_NIGHTLY"
_SEED = "NBEDIT_SEED"


def is_nightly() -> bool:
    """Return whether this run tries everything, as pytest's option `--nightly` asks."""
    # The conftest.py of a folder that was named is loaded before options are known.
    return _NIGHTLY in os.environ or "--nightly" in sys.argv


def enable_nightly() -> None:
    """Make this process, and those that it starts, try all cases."""
    os.environ[_NIGHTLY] = "1"


def get_seed() -> int:
    """Return the seed of this run: by day always the same, at night another one each time.

    A change must not fail for what chance has found in code that it did not touch. `NBEDIT_SEED`
    says another one.
    """
    if _SEED not in os.environ:
        seed = random.SystemRandom().getrandbits(32) if is_nightly() else _DAY_SEED
        os.environ[_SEED] = str(seed)
    return int(os.environ[_SEED])


def seeded_random(name: str) -> random.Random:
    """Return the chance of one test, which `NBEDIT_SEED` and the test's name repeat."""
    return random.Random(f"{get_seed()} {name}")  # noqa: S311 - predictable on purpose


def choose(name: str, options: Iterable[Choice], count: int) -> list[Choice]:
    """Return all options at night, and a few of them by day, the same for the same name."""
    found = list(options)
    if is_nightly() or len(found) <= count:
        return found
    return seeded_random(name).sample(found, count)
