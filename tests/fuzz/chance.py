"""The seed of a run, and how to have the same run again."""

from __future__ import annotations

import os
import random

from tests.support.sizes import is_nightly

VARIABLE = "NBEDIT_FUZZ_SEED"
BY_DAY = 20261121
NIGHTLY = is_nightly()


def seed() -> int:
    """Give a new seed by night, or the one that is asked for, and say how to have it again.

    By day it is always the same: a change is not to fail for what chance has found in what it did
    not touch.
    """
    new = random.SystemRandom().randint(1, 2**31 - 1) if NIGHTLY else BY_DAY
    found = int(os.environ.get(VARIABLE) or new)
    print(f"The same again: {VARIABLE}={found}")
    return found
