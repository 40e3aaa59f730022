"""How much a fuzz test tries: by day so many cases, at night as many as its minutes allow.

`NBEDIT_FUZZ_MINUTES` says how many minutes each of these tests has at night, instead of three.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from tests.support.sizes import is_nightly

NIGHT_SECONDS = 60 * float(os.environ.get("NBEDIT_FUZZ_MINUTES", "3"))
#: Only ends a test that hangs.
LIMIT_SECONDS = 2 * NIGHT_SECONDS + 300

_Case = TypeVar("_Case")


def limit_cases(cases: Iterable[_Case], by_day: int) -> Iterator[_Case]:
    """Return as many cases as this run tries."""
    if not is_nightly():
        yield from islice(cases, by_day)
        return
    end = time.monotonic() + NIGHT_SECONDS
    for case in cases:
        yield case
        if time.monotonic() > end:
            return
