"""Edits of files: 100 MB, and 10,000 cells."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.benchmarks import notebooks
from tests.benchmarks.files import (
    COLD,
    FLOOR,
    NBFORMAT,
    ORJSON,
    WARM,
    check_edited,
    copy,
    source,
    with_nbformat,
    with_orjson,
)
from tests.benchmarks.measuring import Contender, Figure, in_turns
from tests.benchmarks.peers import NB_CLI
from tests.benchmarks.results import Check, Row, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.benchmarks.bench import Bench
    from tests.benchmarks.files import Cell

    Edit = Callable[[Path, Cell, str], float]

LARGE = 100_000_000
OURS = (FLOOR, COLD, WARM)


def large(bench: Bench) -> list[Row]:
    """100 MB, the first edit and the next."""
    contents = {
        "plots": notebooks.pictures(LARGE),
        "printed text": notebooks.printed(LARGE),
    }
    taken = measured(bench, contents, bench.rounds(9))
    first, following = [], []
    figures: dict[str, Figure] = {}
    for kind, figure in taken.items():
        what = f"{kind}:"
        first.append(Check(figure[COLD].over(figure[FLOOR]), 1.5, "x", what=what))
        following.append(Check(figure[WARM].over(figure[FLOOR]), 1.0, "x", what=what))
        figures |= {f"{kind}, {who}": value for who, value in figure.items()}
    rivals = "; ".join(f"{kind}: {over_floor(figure)}" for kind, figure in taken.items())
    return [
        Row("first edit of a file of 100 MB, to the floor", first, rivals, figures),
        Row("next edit of it, to the floor", following),
    ]


def cells(bench: Bench) -> list[Row]:
    """10,000 cells."""
    content = notebooks.many(10_000)
    taken = measured(bench, {"cells": content}, bench.rounds(9))["cells"]
    checks = [
        Check(taken[COLD].over(taken[FLOOR]), 2.5, "x", what="to the floor"),
        Check(taken[NBFORMAT].over(taken[COLD]), 100, "x", at_least=True, what="nbformat to it"),
    ]
    name = f"first edit among 10,000 cells ({len(content) / 1e6:.1f} MB)"
    remark = f"the next edit of it is {times(taken[WARM].over(taken[FLOOR]))} the floor"
    return [Row(name, checks, over_floor(taken), taken, remark=remark)]


def measured(
    bench: Bench, contents: Mapping[str, bytes], rounds: int, slow_rounds: int = 3
) -> dict[str, dict[str, Figure]]:
    """Measure every way to edit each of some notebooks, each way on a file of its own."""
    ways: dict[str, Edit] = {
        FLOOR: lambda file, _cell, _text: copy(file),
        COLD: bench.library.cold,
        WARM: bench.library.warm,
        ORJSON: with_orjson,
        NBFORMAT: with_nbformat,
    }
    if bench.nb_cli is not None:
        ways[NB_CLI] = bench.nb_cli.edit
    contenders = {}
    for name, content in contents.items():
        for number, (who, edit) in enumerate(ways.items()):
            file = bench.files / f"{name.replace(' ', '-')}-{number}.ipynb"
            file.write_bytes(content)
            checked = partial(_checked, edit, file, edits=who != FLOOR)
            contenders[name, who] = Contender(checked, None if who in OURS else slow_rounds)
    taken = in_turns(contenders, rounds)
    for file in bench.files.glob("*.ipynb"):
        file.unlink()
    return {
        name: {who: Figure.of(taken[name, who]) for who in ways if taken[name, who]}
        for name in contents
    }


def _checked(edit: Edit, file: Path, turn: int, *, edits: bool) -> float:
    took = edit(file, notebooks.EDITED, source(turn))
    if edits:
        check_edited(file, notebooks.EDITED, source(turn))
    return took


def over_floor(taken: Mapping[str, Figure]) -> str:
    """Show what each rival takes, in floors."""
    rivals = [who for who in taken if who not in OURS]
    return ", ".join(f"{who} {times(taken[who].over(taken[FLOOR]))}" for who in rivals)
