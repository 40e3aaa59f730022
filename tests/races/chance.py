"""What is left to chance in a race can be chosen again."""

from __future__ import annotations

import os
import random


def seed() -> int:
    """Choose a seed, or take that of the run which is to be seen again, and say which."""
    chosen = int(os.environ.get("NBEDIT_RACES_SEED") or random.SystemRandom().getrandbits(32))
    print(f"to choose the same again: NBEDIT_RACES_SEED={chosen}")
    return chosen
