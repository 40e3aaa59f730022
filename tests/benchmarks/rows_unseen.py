"""What unseen changes cost the page that opens their notebook, and the server that finds them."""

from __future__ import annotations

import statistics
import sys
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Any

import lab_server

from tests.benchmarks import notebooks
from tests.benchmarks.bench import Bench
from tests.benchmarks.browser import Opening, run_browser
from tests.benchmarks.connection import Connection
from tests.benchmarks.measuring import Figure
from tests.benchmarks.page_profile import PageProfile, format_profile
from tests.benchmarks.report import Check, ReportRow
from tests.support.http import Client

CELLS = 300
UNSEEN = "unseen.ipynb"
KEPT = "kept.ipynb"
ROUNDS = 9
WARM_UP = 1


def measure_unseen(bench: Bench) -> list[ReportRow]:
    """Open a notebook of 300 cells, with 100 unseen changes and without any."""
    folder = bench.make_temporary_folder()
    openings: dict[str, list[Opening]] = {UNSEEN: [], KEPT: []}
    with run_browser() as browser, lab_server.running(Path(sys.prefix), folder, "/") as server:
        client = Client(server.port, server.token, server.root)
        with closing(Connection(client, server.process_id)) as connection:
            for name in openings:
                (server.root / name).write_bytes(notebooks.build_many_cells(CELLS))
                for operation in _list_operations():
                    _request_ok(connection, "PATCH", name, {"operations": [operation]})
            unseen = _request_ok(connection, "GET", f"{UNSEEN}/unseen")
            _request_ok(connection, "POST", f"{KEPT}/keep", {})
        for turn in range(WARM_UP + bench.rounds(ROUNDS)):
            for name in (UNSEEN, KEPT)[:: 1 if turn % 2 == 0 else -1]:
                opening = browser.measure_opening(
                    server, name, is_marked=name == UNSEEN, is_profiled=False
                )
                if turn >= WARM_UP:
                    openings[name].append(opening)
        for name in openings if bench.tabs.is_profiled else ():
            opening = browser.measure_opening(
                server, name, is_marked=name == UNSEEN, is_profiled=True
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
    ratio = _compute_ratio(openings, "drawn")
    checks = [
        Check(ratio, 1.1, " times the time of none", what="painted"),
        Check(
            max(len(each.requests) for each in openings[UNSEEN])
            - min(len(each.requests) for each in openings[KEPT]),
            0,
            " requests more",
        ),
    ]
    work = f"{_compute_ratio(openings, 'work'):.2f} times the work of the page"
    return [
        ReportRow(
            f"opening {CELLS} cells, {len(unseen['cells'])} of them with unseen changes",
            checks,
            work,
            figures,
            "",
            f"JupyterLab {server.version}",
        )
    ]


def _compute_ratio(openings: dict[str, list[Opening]], member: str) -> float:
    """Return the median of the ratios of pairs that were measured one after the other."""
    pairs = zip(openings[UNSEEN], openings[KEPT], strict=True)
    ratios: list[float] = [
        getattr(unseen, member) / getattr(kept, member) for unseen, kept in pairs
    ]
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


def _request_ok(connection: Connection, verb: str, path: str, body: object = None) -> Any:
    status, answer = connection.request(verb, f"/nbedit/notebooks/{path}", body)
    if status != HTTPStatus.OK:
        raise RuntimeError(f"{verb} {path}: {status} {str(answer)[:500]}")
    return answer
