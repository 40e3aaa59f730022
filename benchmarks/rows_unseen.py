"""What unseen and proposed changes cost the page that opens their notebook."""

import statistics
import sys
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Any

import lab_server

from benchmarks import notebooks
from benchmarks.bench import Bench
from benchmarks.browser import Opening, run_browser
from benchmarks.connection import Connection
from benchmarks.measuring import Figure
from benchmarks.page_profile import PageProfile, format_profile
from benchmarks.report import Check, ReportRow
from tests.support.http import Client

CELLS = 300
UNSEEN = "unseen.ipynb"
PROPOSED = "proposed.ipynb"
KEPT = "kept.ipynb"
ROUNDS = 9
WARM_UP = 1


def measure_unseen(bench: Bench) -> list[ReportRow]:
    """Open a notebook of 300 cells with 100 unseen changes, with 100 proposed ones, and without."""
    folder = bench.make_temporary_folder()
    openings: dict[str, list[Opening]] = {UNSEEN: [], KEPT: [], PROPOSED: []}
    with run_browser() as browser, lab_server.running(Path(sys.prefix), folder, "/") as server:
        client = Client(server.port, server.token, server.root)
        with closing(Connection(client, server.process_id)) as connection:
            for name in openings:
                (server.root / name).write_bytes(notebooks.build_many_cells(CELLS))
            for name in (UNSEEN, KEPT):
                for operation in _list_operations():
                    edit = {"operations": [operation]}
                    connection.request_ok("PATCH", f"/nbedit/notebooks/{name}", edit)
            unseen = connection.request_ok("GET", f"/nbedit/notebooks/{UNSEEN}/unseen")
            connection.request_ok("POST", f"/nbedit/notebooks/{KEPT}/keep", {})
            mode = {"path": PROPOSED, "mode": "review"}
            connection.request_ok("PUT", "/nbedit/mode", mode)
            proposed = {"operations": _list_operations()}
            target = f"/nbedit/notebooks/{PROPOSED}"
            connection.request_ok("PATCH", target, proposed, HTTPStatus.ACCEPTED)
        for turn in range(WARM_UP + bench.rounds(ROUNDS)):
            for name in list(openings)[:: 1 if turn % 2 == 0 else -1]:
                opening = browser.measure_opening(
                    server, name, is_marked=name != KEPT, is_profiled=False
                )
                if turn >= WARM_UP:
                    openings[name].append(opening)
        for name in openings if bench.tabs.is_profiled else ():
            opening = browser.measure_opening(
                server, name, is_marked=name != KEPT, is_profiled=True
            )
            profile = PageProfile.from_cdp(opening.profile)
            requests = "\n".join(f"  {request}" for request in opening.requests)
            print(f"[{name}]\n{requests}\n{format_profile([profile])}\n")
    figures = {
        f"{name}: {what}": Figure.summarize([getattr(each, member) for each in found])
        for name, found in openings.items()
        for what, member in (
            ("until the cells in sight are painted, ms", "drawn"),
            ("until they have marks, ms", "marked"),
            ("work of the page until then, ms", "work_until_marked"),
            ("work of the page until all cells have editors, ms", "work"),
        )
    }
    fewest_requests = min(map(_count_requests, openings[KEPT]))
    times = " times that of none"
    work = {name: _compute_ratio(openings[name], openings[KEPT], "work") for name in openings}
    return [
        ReportRow(
            f"opening {CELLS} cells, {count} of them with {what} changes",
            [
                Check(
                    _compute_ratio(openings[name], openings[KEPT], "drawn"),
                    1.1,
                    times,
                    what="time until painted",
                ),
                # The blocks of the proposals in sight are drawn, which is not the cost of a mark.
                *([Check(work[name], 1.1, times, what="work")] if name == UNSEEN else []),
                Check(
                    max(map(_count_requests, openings[name])) - fewest_requests,
                    0,
                    " requests more",
                ),
            ],
            "" if name == UNSEEN else f"{work[name]:.2f} times the work of the page",
            {key: figure for key, figure in figures.items() if key.startswith((name, KEPT))},
            "",
            f"JupyterLab {server.version}",
        )
        for name, what, count in (
            (UNSEEN, "unseen", len(unseen["cells"])),
            (PROPOSED, "proposed", len(_list_operations())),
        )
    ]


def _count_requests(opening: Opening) -> int:
    """Return the number of requests about the notebook; a page sends others when it has started."""
    return sum("/nbedit/notebooks/" in request for request in opening.requests)


def _compute_ratio(openings: list[Opening], kept: list[Opening], member: str) -> float:
    """Return the median of the ratios of pairs that were measured one after the other."""
    pairs = zip(openings, kept, strict=True)
    ratios: list[float] = [getattr(one, member) / getattr(other, member) for one, other in pairs]
    return statistics.median(ratios)


def _list_operations() -> list[dict[str, Any]]:
    """Return 100 changes of as many cells: 60 of sources, 20 new, 10 deleted, 10 moved ones."""
    changed = [
        {"op": "replace", "cell": f"cell-{number:06d}", "source": f"changed = {number}\nprint(x)"}
        for number in range(0, 120, 2)
    ]
    added = [
        {"op": "insert", "after": f"cell-{n:06d}", "cell_type": "code", "source": f"added = {n}"}
        for n in range(1, 120, 6)
    ]
    deleted = [{"op": "delete", "cell": f"cell-{number:06d}"} for number in range(160, 180, 2)]
    moved = [
        {"op": "move", "cell": f"cell-{number:06d}", "after": f"cell-{number + 9:06d}"}
        for number in range(190, 290, 10)
    ]
    return [*changed, *added, *deleted, *moved]
