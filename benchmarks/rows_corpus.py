"""Edits of real notebooks."""

import json
import shutil
import statistics
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.files import FIRST, FLOOR, NBFORMAT, NEXT, ORJSON, Edit, source
from benchmarks.measuring import Contender, Figure, measure_in_turns, percentile
from benchmarks.report import Check, ReportRow, format_ratio
from tests.support.corpora import CORPORA


def measure_corpus(bench: Bench) -> list[ReportRow]:
    """Real notebooks: the ratio to the floor in the middle, and of all but a tenth."""
    notebooks = sorted((CORPORA / "notebooks").rglob("*.ipynb"))
    cells = {file: cell for file in notebooks if (cell := _find_middle(file)) is not None}
    if not cells:
        return [ReportRow("real notebooks", [], remark="The corpora are not beside this checkout.")]
    ways = bench.contenders()
    contenders = {}
    for number, (who, edit) in enumerate(ways.items()):
        folder = bench.make_folder("files", f"corpus-{number}")
        for file, cell in cells.items():
            own = folder / f"{len(file.parts)}-{file.parent.name}-{file.name}"
            shutil.copyfile(file, own)
            try_edit = partial(_edit, edit, own, cell)
            contenders[file, who] = Contender(try_edit, may_fail=who != FLOOR)
    seconds = measure_in_turns(contenders, bench.rounds(7))
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    edited = [file for file in cells if (file, FIRST) in medians and (file, NEXT) in medians]
    ratios = {
        who: [
            medians[file, who] / medians[file, FLOOR] for file in edited if (file, who) in medians
        ]
        for who in ways
        if who != FLOOR
    }
    checks = [
        Check(percentile(ratios[FIRST], 0.5), 1.5, "x", what="p50"),
        Check(percentile(ratios[FIRST], 0.9), 2.0, "x", what="p90"),
    ]
    rivals = ", ".join(f"{who} {_format_both(ratios[who])}" for who in (NBFORMAT, ORJSON))
    figures = {f"{who}, ratio": Figure.summarize(values) for who, values in ratios.items()}
    for who in ways:
        durations = [1000 * medians[file, who] for file in edited if (file, who) in medians]
        figures[f"{who}, ms"] = Figure.summarize(durations)
    remark = (
        f"{len(edited)} notebooks, {sum(file.stat().st_size for file in edited) / 1e6:.0f} MB; "
        f"next edit of the same {_format_both(ratios[NEXT])}; {len(notebooks) - len(edited)} "
        "others have no cell to edit, or are none that nbformat 4 allows"
    )
    name = "first edit of a file, real notebooks, to the floor (p50 / p90)"
    return [ReportRow(name, checks, rivals, figures, "", remark)]


def _edit(edit: Edit, file: Path, cell: int, turn: int) -> float:
    return edit(file, cell, source(turn))


def _format_both(ratios: list[float]) -> str:
    return f"{format_ratio(percentile(ratios, 0.5))} / {format_ratio(percentile(ratios, 0.9))}"


def _find_middle(file: Path) -> int | None:
    """Return the index of the cell in the middle of those that can be edited, if there is one."""
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
