"""What the tasks of an agent cost, and what can go wrong: T0 to T10.

Scripts take the place of a model: they know what to change, and send what a model would send.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from benchmarks.agents import tasks
from benchmarks.agents.bridge import Bridge, measure_start
from benchmarks.agents.claude_code import ClaudeCode
from benchmarks.agents.commands import Commands
from benchmarks.agents.mcp_server import JupyterMcpServer
from benchmarks.agents.nb_cli import NbCommands
from benchmarks.agents.ours import McpEndpoint, OurTools
from benchmarks.agents.raw_json import RawJson
from benchmarks.agents.way import Cost, Refusal, UnsupportedTask, Way, list_cells
from benchmarks.bench import Bench
from benchmarks.measuring import Figure
from benchmarks.report import Check, ReportRow
from tests.support import samples
from tests.support.sampling import seeded_random

RACES = 1_000
# A race of nb-cli is two processes.
RIVAL_RACES = 100


@dataclass(frozen=True)
class Ways:
    """Ours, by MCP and by commands, and those of rivals."""

    ours: OurTools
    commands: Way
    rivals: Sequence[Way]

    def compare(self, describe: Callable[[Way], str]) -> tuple[str, str]:
        """Return what is said of rivals, and of our command line."""
        return _describe_ways(self.rivals, describe), _describe_ways([self.commands], describe)


def measure_agents(bench: Bench) -> list[ReportRow]:
    """Let each way do the same tasks."""
    ways = Ways(
        McpEndpoint(bench.extended_server), Commands(bench.extended_server), _list_rivals(bench)
    )
    corpus = tasks.list_large(tasks.read_corpus())
    notebooks = tasks.choose_notebooks(corpus)[: bench.rounds(tasks.NOTEBOOKS)]
    return [
        _measure_definitions(ways),
        *_measure_notebooks(ways, notebooks, corpus),
        *measure_tasks(ways, bench.rounds(RACES), bench.rounds(RIVAL_RACES)),
        _measure_restart(bench),
        _measure_start(bench),
    ]


def measure_tasks(ways: Ways, races: int, rival_races: int) -> list[ReportRow]:
    """Let each way do the tasks that need no real notebook."""
    return [
        _measure_mixed(ways),
        _measure_races(ways, races, rival_races),
        _measure_refusal(ways.ours),
        _measure_task(ways, "T6 find an error in an output, and fix it", 2, _fix_error),
        _measure_task(ways, "T7 build a notebook of twelve cells", 1, _build),
        _measure_task(ways, "T8 undo all of T3, to the last byte", 1, _undo),
    ]


def _list_rivals(bench: Bench) -> list[Way]:
    rivals: list[Way] = []
    if bench.mcp_server is not None:
        rivals.append(JupyterMcpServer(bench.mcp_server))
    if bench.nb_cli is not None:
        rivals.append(NbCommands(bench.nb_cli, bench.make_folder("agents", "nb-cli")))
    rivals.append(ClaudeCode(bench.extended_server))
    rivals.append(RawJson(bench.make_folder("agents", "raw")))
    if bench.ai_tools is not None:
        rivals.append(bench.ai_tools)
    return rivals


def _describe_ways(ways: Sequence[Way], describe: Callable[[Way], str]) -> str:
    """Return what each way takes, or why it cannot do it."""
    found: dict[str, list[str]] = {}
    for way in ways:
        try:
            text = describe(way)
        except UnsupportedTask as error:
            text = str(error)
        found.setdefault(text, []).append(way.name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in found.items())


def _measure_definitions(ways: Ways) -> ReportRow:
    others = _describe_ways(ways.rivals, lambda way: f"{len(way.describe_tools()):,}")
    check = Check(len(ways.ours.describe_tools()), 5_500)
    return ReportRow("T0 definitions of the tools, characters", [check], others)


# T1, T2, T5: real notebooks -----------------------------------------------------------------------


@dataclass
class _Tally:
    """What one way took for real notebooks."""

    way: str
    reads: list[int] = field(default_factory=list)
    changes: list[Cost] = field(default_factory=list)
    outside: list[int] = field(default_factory=list)
    #: Notebooks that it could not read or change.
    failures: int = 0

    @property
    def characters(self) -> list[int]:
        return [cost.characters for cost in self.changes]

    @property
    def trips(self) -> int:
        return max(cost.trips for cost in self.changes)

    def describe_reads(self) -> str:
        return _describe_numbers(self.reads)

    def describe_changes(self) -> str:
        failed = f", {self.failures} notebooks failed" if self.failures else ""
        return f"{statistics.median(self.characters):,.0f} in {self.trips}{failed}"


def _measure_notebooks(
    ways: Ways, notebooks: Sequence[bytes], corpus: Sequence[bytes]
) -> list[ReportRow]:
    if not notebooks:
        remark = "the corpora are not beside this checkout"
        return [ReportRow("T1, T2, T5 real notebooks", [], remark=remark)]
    ours = ways.ours
    mine, commands = _tally(ours, notebooks), _tally(ways.commands, notebooks)
    others = [_tally(way, notebooks) for way in ways.rivals]
    editors = [tally for tally in others if tally.changes]
    automatic = _describe_numbers(_measure_reads(ours, notebooks, ours.read_automatically))
    outlines = _describe_numbers(_measure_reads(ours, corpus, ours.read))
    with_ids = sum(all(cell.cell_id for cell in list_cells(content)) for content in notebooks)
    return [
        ReportRow(
            "T1 know a notebook, characters (median / most)",
            [
                Check(statistics.median(mine.reads), 2_200, what="median"),
                Check(max(mine.reads), 8_000, what="most"),
            ],
            "; ".join(f"{tally.way}: {tally.describe_reads()}" for tally in others),
            {tally.way: Figure.summarize(tally.reads) for tally in (mine, commands, *others)},
            "",
            f"outlines of {len(notebooks)} of the {len(corpus)} real notebooks with at least "
            f"{tasks.MIN_CELLS} cells and {tasks.MIN_CHARACTERS} characters of source; of "
            f"all of these: {outlines}; of the {len(notebooks)} with sources if they fit: "
            f"{automatic}",
        ),
        ReportRow(
            "T2 find a cell, change two lines: characters, round trips",
            [
                Check(statistics.median(mine.characters), 700, what="median"),
                Check(mine.trips, 2, what="trips"),
            ],
            "; ".join(f"{tally.way}: {tally.describe_changes()}" for tally in editors),
            {tally.way: Figure.summarize(tally.characters) for tally in (mine, commands, *editors)},
            "",
            f"{len(mine.changes)} of these notebooks have a cell for it; {commands.way}: "
            f"{commands.describe_changes()}",
        ),
        ReportRow(
            "T5 bytes of lines that T2 changed outside of the cell (median / most)",
            [Check(max(mine.outside), 0, what="most")],
            "; ".join(f"{tally.way}: {_describe_numbers(tally.outside)}" for tally in editors),
            {tally.way: Figure.summarize(tally.outside) for tally in (mine, commands, *editors)},
            "bytes",
            f"{with_ids} of these {len(notebooks)} notebooks have ids in all cells",
        ),
    ]


def _measure_reads(way: Way, notebooks: Sequence[bytes], read: Callable[[], str]) -> list[int]:
    sizes = []
    for content in notebooks:
        way.file.write_bytes(content)
        sizes.append(len(read()))
    return sizes


def _describe_numbers(numbers: Sequence[int]) -> str:
    return f"{statistics.median(numbers):,.0f} / {max(numbers):,}"


def _tally(way: Way, notebooks: Sequence[bytes]) -> _Tally:
    tally = _Tally(way.name)
    for content in notebooks:
        way.file.write_bytes(content)
        try:
            tally.reads.append(len(way.read()))
            _change_lines(way, content, tally)
        except UnsupportedTask:
            continue
        except Refusal:
            tally.failures += 1
    return tally


def _change_lines(way: Way, content: bytes, tally: _Tally) -> None:
    change = tasks.choose_change(content)
    if change is None:
        return
    way.take_cost()
    way.change_lines(change.cell, change.known, change.old, change.new)
    tally.changes.append(way.take_cost())
    after = way.file.read_bytes()
    expected = change.cell.source.replace(change.old, change.new)
    _require(list_cells(after)[change.cell.index].source == expected, way, "change the lines")
    tally.outside.append(tasks.count_changed_outside(content, after, change.cell.index))


def _require(is_made: bool, way: Way, task: str) -> None:  # noqa: FBT001 - a condition
    if not is_made:
        message = f"{way.name} did not {task}: the figures mean nothing."
        raise RuntimeError(message)


# T3: many changes ---------------------------------------------------------------------------------


def _change_many(way: Way) -> tuple[Cost, Sequence[str]]:
    content = tasks.build_mixed()
    way.file.write_bytes(content)
    way.read()
    way.take_cost()
    unsupported = way.change_many(list_cells(content))
    tasks.check_mixed(way.file.read_bytes(), unsupported)
    return way.take_cost(), unsupported


def _describe_changes(way: Way) -> str:
    cost, unsupported = _change_many(way)
    return _format_cost(cost) + "".join(f", not: {what}" for what in unsupported)


def _measure_mixed(ways: Ways) -> ReportRow:
    cost, _ = _change_many(ways.ours)
    checks = [Check(cost.characters, 1_500), Check(cost.trips, 1, what="trips")]
    others, remark = ways.compare(_describe_changes)
    name = "T3 ten mixed changes: characters, round trips"
    return ReportRow(name, checks, others, remark=remark)


# T4, T5: the user works, too ----------------------------------------------------------------------


def _race(way: Way, number: int) -> Counter[str]:
    chance = seeded_random("races of agents")
    return Counter(tasks.race(way, chance) for _ in range(number))


def _measure_races(ways: Ways, number: int, rival_number: int) -> ReportRow:
    mine = _race(ways.ours, number)
    others = _describe_ways(ways.rivals, lambda way: _format_outcomes(_race(way, rival_number)))
    return ReportRow(
        "T4, T5 edits by a stale reader, while a user inserts, moves, duplicates and types",
        [
            Check(mine["wrong cell"], 0, what="wrong cell"),
            Check(mine["overwritten"], 0, what="overwritten"),
        ],
        others,
        remark=f"ours: {_format_outcomes(mine)}; half of the notebooks have ids. A *copy* is a "
        "cell with the source that was read, if the cell itself was changed or deleted",
    )


def _format_outcomes(outcomes: Mapping[str, int]) -> str:
    shown = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    return f"{shown} of {sum(outcomes.values()):,}"


def _measure_refusal(ours: OurTools) -> ReportRow:
    """Let the user type in the cell that the agent has read."""
    cells = [samples.code(f"value_{n} = {n}") for n in range(6)]
    read = samples.notebook(*cells, minor=4)
    ours.file.write_bytes(read)
    ours.read()
    ours.take_cost()
    cells[3] = samples.code("typed_by_the_user = 3")
    ours.file.write_bytes(samples.notebook(*cells, minor=4))
    try:
        ours.replace(list_cells(read)[3], "by the agent")
    except Refusal as refusal:
        ours.replace_shown(refusal, "by the agent")
    source = list_cells(ours.file.read_bytes())[3].source
    _require(source == "by the agent", ours, "replace the cell")
    check = Check(ours.take_cost().trips - 1, 1)
    return ReportRow("T4 further round trips after a refusal", [check])


# T6, T7, T8: an error, a new notebook, and the way back -------------------------------------------


def _fix_error(way: Way) -> None:
    content, cell = tasks.build_failed()
    way.file.write_bytes(content)
    way.fix_error(cell, tasks.WRONG, tasks.RIGHT)
    source = list_cells(way.file.read_bytes())[cell.index].source
    _require(source == cell.source.replace(tasks.WRONG, tasks.RIGHT), way, "fix the error")


def _build(way: Way) -> None:
    cells = tasks.list_new_cells()
    built = list_cells(way.build(cells).read_bytes())
    expected = [(cell.cell_type, cell.source) for cell in cells]
    _require([(cell.cell_type, cell.source) for cell in built] == expected, way, "build it")


def _undo(way: Way) -> None:
    _change_many(way)
    way.undo()
    _require(way.file.read_bytes() == tasks.build_mixed(), way, "restore all bytes")


def _measure_task(ways: Ways, name: str, trips: int, task: Callable[[Way], None]) -> ReportRow:
    def measure(way: Way) -> Cost:
        way.take_cost()
        task(way)
        return way.take_cost()

    mine = measure(ways.ours)
    others, commands = ways.compare(lambda way: _format_cost(measure(way)))
    return ReportRow(
        f"{name}: round trips",
        [Check(mine.trips, trips)],
        others,
        remark=f"characters in round trips: ours {_format_cost(mine)}; {commands}",
    )


# T9, T10: the bridge ------------------------------------------------------------------------------


def _measure_restart(bench: Bench) -> ReportRow:
    """Edit by one bridge while a server runs, after its end, and while another one runs."""
    failed = 0
    with ExitStack() as stack:
        with bench.run_server("restarted") as first:
            bridge = stack.enter_context(closing(Bridge(first.server.root)))
            failed += _is_edit_refused(bridge)
        failed += _is_edit_refused(bridge)
        with bench.run_server("restarted") as second:
            failed += _is_edit_refused(bridge)
            is_moved = (first.server.port, first.server.token) != (
                second.server.port,
                second.server.token,
            )
            _require(is_moved, bridge, "meet another server")
    name = "T9 failed calls of three: beside a server, without one, beside one with another address"
    return ReportRow(name, [Check(failed, 0)])


def _is_edit_refused(bridge: Bridge) -> bool:
    """Return whether an edit is refused."""
    try:
        _fix_error(bridge)
    except Refusal:
        return True
    return False


def _measure_start(bench: Bench) -> ReportRow:
    root = bench.make_folder("agents", "start", "notebooks")
    seconds = Figure.summarize(measure_start(root) for _ in range(bench.rounds(9)))
    name = "T10 start of the bridge to its list of tools, CPU"
    return ReportRow(name, [Check(seconds.median, 0.3, " s")], figures={"ours, bridge": seconds})


def _format_cost(cost: Cost) -> str:
    return f"{cost.characters:,} in {cost.trips}"
