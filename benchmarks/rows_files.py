"""Edits of files: 100 MB, 10,000 cells, and how the time grows with the size of the notebook."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks import notebooks
from benchmarks.bench import Bench
from benchmarks.files import FIRST, FLOOR, NBFORMAT, NEXT, Edit, check_edit, source
from benchmarks.measuring import Contender, Figure, fit_exponent, measure_in_turns
from benchmarks.peers import NB_CLI
from benchmarks.report import Check, ReportRow, format_ratio

OURS = (FLOOR, FIRST, NEXT)
SIZES = (20_000, 200_000, 2_000_000, 20_000_000, 200_000_000)
CELLS = (10, 100, 1_000, 10_000, 100_000)
# Below that an edit takes what it takes to write a file at all.
LINEAR_FROM = 2
# 1 is linear; what the measurement leaves open comes on top.
GROWTH_LIMIT = 1.1


def measure_large(bench: Bench) -> list[ReportRow]:
    """100 MB, the first edit and the next."""
    contents = {kind: make(100_000_000) for kind, make in notebooks.LARGE.items()}
    measured = _measure(bench, contents, bench.rounds(9))
    first, following = [], []
    figures: dict[str, Figure] = {}
    for kind, figure in measured.items():
        what = f"{kind}:"
        first.append(Check(figure[FIRST].ratio_to(figure[FLOOR]), 1.5, "x", what=what))
        following.append(Check(figure[NEXT].ratio_to(figure[FLOOR]), 1.0, "x", what=what))
        figures |= {f"{kind}, {who}": value for who, value in figure.items()}
    rivals = "; ".join(f"{kind}: {_format_rivals(figure)}" for kind, figure in measured.items())
    return [
        ReportRow("first edit of a file of 100 MB, to the floor", first, rivals, figures),
        ReportRow("next edit of it, to the floor", following),
    ]


def measure_cells(bench: Bench) -> list[ReportRow]:
    """10,000 cells."""
    content = notebooks.build_many_cells(10_000)
    measured = _measure(bench, {"cells": content}, bench.rounds(9))["cells"]
    first = measured[FIRST]
    checks = [
        Check(first.ratio_to(measured[FLOOR]), 2.5, "x", what="to the floor"),
        Check(measured[NBFORMAT].ratio_to(first), 100, "x", at_least=True, what="nbformat to it"),
    ]
    name = f"first edit among 10,000 cells ({len(content) / 1e6:.1f} MB)"
    ratio = format_ratio(measured[NEXT].ratio_to(measured[FLOOR]))
    remark = f"the next edit of it is {ratio} the floor"
    return [ReportRow(name, checks, _format_rivals(measured), measured, remark=remark)]


def measure_growth(bench: Bench) -> list[ReportRow]:
    """20 KB to 200 MB, and 10 to 100,000 cells."""
    return [
        _measure_growth(bench, "bytes, 20 KB to 200 MB", SIZES, notebooks.build_mixed),
        _measure_growth(bench, "cells, 10 to 100,000", CELLS, notebooks.build_many_cells),
    ]


def _measure_growth(
    bench: Bench, name: str, steps: tuple[int, ...], make: Callable[[int], bytes]
) -> ReportRow:
    contents = {str(step): make(step) for step in steps}
    measured = _measure(bench, contents, bench.rounds(6), slow_rounds=1)

    def fit(who: str, start: int) -> float:
        seconds = [measured[str(step)][who].median for step in steps[start:]]
        return fit_exponent(steps[start:], seconds)

    exponents = {who: fit(who, LINEAR_FROM) for who in measured[str(steps[0])]}
    checks = [
        Check(exponents[FIRST], GROWTH_LIMIT, what="first edit"),
        Check(exponents[NEXT], GROWTH_LIMIT, what="next edit"),
    ]
    rivals = ", ".join(
        f"{who} {power:.2f}" for who, power in exponents.items() if who not in {FIRST, NEXT}
    )
    figures = {
        f"{step}, {who}": figure for step in contents for who, figure in measured[step].items()
    }
    whole = ", ".join(f"{who} {fit(who, 0):.2f}" for who in (FIRST, NEXT))
    remark = f"fitted from {steps[LINEAR_FROM]:,} on; over the whole range {whole}"
    return ReportRow(
        f"growth with {name}: exponent (1 is linear)", checks, rivals, figures, remark=remark
    )


def _measure(
    bench: Bench, contents: Mapping[str, bytes], rounds: int, slow_rounds: int = 3
) -> dict[str, dict[str, Figure]]:
    """Measure every way to edit each of some notebooks, each way on a file of its own."""
    ways = bench.contenders()
    if bench.nb_cli is not None:
        ways[NB_CLI] = bench.nb_cli.edit
    contenders = {}
    for name, content in contents.items():
        for number, (who, edit) in enumerate(ways.items()):
            file = bench.files / f"{name.replace(' ', '-')}-{number}.ipynb"
            file.write_bytes(content)
            edit_checked = partial(_edit_checked, edit, file, edits=who != FLOOR)
            contenders[name, who] = Contender(edit_checked, None if who in OURS else slow_rounds)
    seconds = measure_in_turns(contenders, rounds)
    for file in bench.files.glob("*.ipynb"):
        file.unlink()
    return {name: {who: Figure.summarize(seconds[name, who]) for who in ways} for name in contents}


def _edit_checked(edit: Edit, file: Path, turn: int, *, edits: bool) -> float:
    seconds = edit(file, notebooks.EDITED, source(turn))
    if edits:
        check_edit(file, notebooks.EDITED, source(turn))
    return seconds


def _format_rivals(measured: Mapping[str, Figure]) -> str:
    """Return the times of the rivals, as ratios to the floor."""
    rivals = [who for who in measured if who not in OURS]
    return ", ".join(
        f"{who} {format_ratio(measured[who].ratio_to(measured[FLOOR]))}" for who in rivals
    )
