import json
import random
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.agents import tasks
from benchmarks.agents.commands import Commands
from benchmarks.agents.ours import McpEndpoint
from benchmarks.agents.raw_json import RawJson, find_replacement
from benchmarks.agents.way import Cell, Refusal, list_cells
from benchmarks.connection import Connection
from benchmarks.rows_agents import Ways, measure_tasks
from tests.support import samples
from tests.support.sampling import is_nightly
from tests.support.servers import run_server


class CellsByIndex(RawJson):
    """Writes into the cell that has the index now, as many tools do."""

    def replace(self, cell: Cell, source: str) -> None:
        notebook = json.loads(self.file.read_bytes())
        if cell.index >= len(notebook["cells"]):
            raise Refusal
        notebook["cells"][cell.index]["source"] = source
        self.file.write_text(json.dumps(notebook))


def test_the_goals_of_all_tasks_without_real_notebooks_are_met(tmp_path: Path) -> None:
    with run_server(tmp_path) as client, closing(Connection(client, 0)) as connection:
        ways = Ways(McpEndpoint(connection), Commands(connection), [])
        rows = measure_tasks(ways, races=1_000 if is_nightly() else 50, rival_races=0)
    assert len(rows) > 5
    assert [(row.name, row.checks) for row in rows if not row.is_met] == []


def run_races(way: RawJson, number: int) -> Counter[str]:
    chance = random.Random(19)  # noqa: S311 - reproducible, not secret
    return Counter(tasks.race(way, chance) for _ in range(number))


def test_races_find_a_way_that_edits_wrong_cells(tmp_path: Path) -> None:
    outcomes = run_races(CellsByIndex(tmp_path), 200)
    assert outcomes["wrong cell"] > 50
    assert outcomes["overwritten"] > 2


def test_exact_replacements_edit_no_wrong_cell_and_make_the_mixed_changes(tmp_path: Path) -> None:
    way = RawJson(tmp_path)
    assert not {"wrong cell", "overwritten"} & set(run_races(way, 60))
    content = tasks.build_mixed()
    way.file.write_bytes(content)
    unsupported = way.change_many(list_cells(content))
    tasks.check_mixed(way.file.read_bytes(), unsupported)


def test_bytes_outside_of_the_cell_are_counted() -> None:
    before = samples.notebook(samples.code("a = 1"), samples.code("b = 2"), minor=4)
    changed = before.replace(b"a = 1", b"a = 10")
    assert tasks.count_changed_outside(before, changed, 0) == 0
    assert tasks.count_changed_outside(before, changed, 1) == 2 * len(b'   "source": "a = 1"\n') + 1
    assert tasks.count_changed_outside(before, json.dumps(json.loads(before)).encode(), 0) > 100


@pytest.mark.parametrize(
    ("before", "after", "replacement"),
    [
        ("a\nb\nc\n", "a\nx\nc\n", ("b\n", "x\n")),
        ("a\nb\na\nb\n", "a\nb\na\nx\n", ("b\na\nb\n", "b\na\nx\n")),
        ("a\nb\n", "a\nx\nb\n", ("a\n", "a\nx\n")),
        ("a\na\n", "a\n", ("a\na\n", "a\n")),
    ],
)
def test_a_replacement_is_as_short_as_it_can_be(
    before: str, after: str, replacement: tuple[str, str]
) -> None:
    assert find_replacement(before, after) == replacement
