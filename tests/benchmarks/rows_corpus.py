"""Edits of real notebooks."""

from __future__ import annotations

import json
import shutil
import statistics
import time
from typing import TYPE_CHECKING, Any

from jupyter_nbedit.errors import NbEditError
from tests.benchmarks.files import (
    COLD,
    FLOOR,
    NBFORMAT,
    ORJSON,
    WARM,
    copy,
    source,
    with_nbformat,
    with_orjson,
)
from tests.benchmarks.measuring import SETTLE_SECONDS, Figure, percentile
from tests.benchmarks.results import Check, Row, times
from tests.support.corpora import CORPORA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.benchmarks.bench import Bench

    Edit = Callable[[Path, int, str], float]


def corpus(bench: Bench) -> list[Row]:
    """Real notebooks: the ratio to the floor in the middle, and of all but a tenth."""
    cells = {file: _middle(file) for file in sorted((CORPORA / "notebooks").rglob("*.ipynb"))}
    editable = {file: cell for file, cell in cells.items() if cell is not None}
    if not editable:
        return [Row("real notebooks", [], remark="The corpora are not beside this checkout.")]
    edits: dict[str, Edit] = {
        FLOOR: lambda file, _cell, _text: copy(file),
        COLD: bench.library.cold,
        WARM: bench.library.warm,
        ORJSON: with_orjson,
        NBFORMAT: with_nbformat,
    }
    taken = {who: _Taken(bench, who, number) for number, who in enumerate(edits)}
    for turn in range(bench.rounds(7) + 1):
        time.sleep(SETTLE_SECONDS)
        for file, cell in editable.items():
            for who, edit in edits.items():
                taken[who].take(edit, file, cell, turn)
    kept = [file for file in editable if all(taken[who].has(file) for who in (FLOOR, COLD, WARM))]
    ratios = {who: taken[who].ratios(taken[FLOOR], kept) for who in edits if who != FLOOR}
    checks = [
        Check(percentile(ratios[COLD], 0.5), 1.5, "x", what="p50"),
        Check(percentile(ratios[COLD], 0.9), 2.0, "x", what="p90"),
    ]
    rivals = ", ".join(f"{who} {_both(ratios[who])}" for who in (NBFORMAT, ORJSON))
    figures = {f"{who}, ratio": Figure.of(values) for who, values in ratios.items()}
    figures |= {f"{who}, ms": taken[who].milliseconds(kept) for who in edits}
    remark = (
        f"{len(kept)} notebooks, {sum(file.stat().st_size for file in kept) / 1e6:.0f} MB; next "
        f"edit of the same {_both(ratios[WARM])}; "
        f"{len(cells) - len(kept)} others have no cell to edit, or are none that nbformat 4 allows"
    )
    name = "first edit of a file, real notebooks, to the floor (p50 / p90)"
    return [Row(name, checks, rivals, figures, "", remark)]


class _Taken:
    """What one contender took, for each notebook."""

    def __init__(self, bench: Bench, who: str, number: int) -> None:
        self._folder = bench.folder("files", f"corpus-{number}")
        self._who = who
        self._seconds: dict[Path, list[float]] = {}
        self._failed: set[Path] = set()

    def take(self, edit: Edit, file: Path, cell: int, turn: int) -> None:
        """Let it edit a notebook of its own; the first turn makes it, and warms up."""
        if file in self._failed:
            return
        own = self._folder / f"{len(file.parts)}-{file.parent.name}-{file.name}"
        if turn == 0:
            shutil.copyfile(file, own)
        try:
            took = edit(own, cell, source(turn))
        except NbEditError:
            self._failed.add(file)
        except Exception:
            # Whatever a rival stumbles over, it has no figure for this notebook.
            if self._who not in {NBFORMAT, ORJSON}:
                raise
            self._failed.add(file)
        else:
            if turn > 0:
                self._seconds.setdefault(file, []).append(took)

    def has(self, file: Path) -> bool:
        """Tell whether it could edit a notebook."""
        return file in self._seconds and file not in self._failed

    def ratios(self, floor: _Taken, files: list[Path]) -> list[float]:
        """Give how many floors it took, for each notebook it could edit."""
        return [self._median(file) / floor._median(file) for file in files if self.has(file)]

    def milliseconds(self, files: list[Path]) -> Figure:
        """Give what it took."""
        return Figure.of(1000 * self._median(file) for file in files if self.has(file))

    def _median(self, file: Path) -> float:
        return statistics.median(self._seconds[file])


def _both(ratios: list[float]) -> str:
    return f"{times(percentile(ratios, 0.5))} / {times(percentile(ratios, 0.9))}"


def _middle(file: Path) -> int | None:
    """Give the index of the cell in the middle of those that can be edited, if there is one."""
    try:
        notebook: Any = json.loads(file.read_bytes())
        cells = [
            index
            for index, cell in enumerate(notebook["cells"])
            if cell["metadata"].get("editable", True)
        ]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return cells[len(cells) // 2] if cells else None
