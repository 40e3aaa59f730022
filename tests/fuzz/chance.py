"""The seed of a run, and how to have the same run again."""

from __future__ import annotations

import os
import random

VARIABLE = "NBEDIT_FUZZ_SEED"


def seed() -> int:
    """Give a new seed, or the one that the environment asks for, and say how to have it again."""
    found = int(os.environ.get(VARIABLE) or random.SystemRandom().randint(1, 2**31 - 1))
    print(f"The same again: {VARIABLE}={found}")
    return found
