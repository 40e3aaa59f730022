"""What stages need, made while the stages before them run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tests import children
from tests.support.paths import ROOT

#: Makes something, or returns at once if it was made before.
Need = partial[Any]


class Background:
    """One worker, which does one thing after another, in the order of the stages.

    What goes wrong is kept until the stage asks that needs it.

    Parameters
    ----------
    needs
        What each stage needs.
    """

    def __init__(self, needs: Mapping[str, Sequence[Need]]) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._begun: dict[str, list[tuple[str, Future[float]]]] = {
            stage: [(described(need), self._pool.submit(seconds, need)) for need in wanted]
            for stage, wanted in needs.items()
        }

    def wait(self, stage: str, say: Callable[[str], None] = print) -> None:
        """Wait until all is there that the stage needs, and say how long it took.

        Raises
        ------
        Exception
            What the first need has raised that could not be met.
        """
        for name, future in self._begun[stage]:
            began = time.monotonic()
            took = future.result()
            waited = time.monotonic() - began
            say(f"[{name}: {took:.1f} s, {waited:.1f} s of it waited for]")

    def stop(self) -> None:
        """Leave off in the middle."""
        children.stop()
        self._pool.shutdown(cancel_futures=True)


def seconds(work: Callable[[], object]) -> float:
    """Do it, and return how long it took."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


def described(need: Need) -> str:
    """Name a need after the call that it is."""
    arguments = (os.path.relpath(arg, ROOT) if isinstance(arg, Path) else arg for arg in need.args)
    return " ".join([need.func.__name__, *map(str, arguments)])
