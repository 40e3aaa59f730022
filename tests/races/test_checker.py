"""Test the checker: possible histories pass, and each forgery is found."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.races.checker import find_violations
from tests.races.history import (
    CellStep,
    Edit,
    Event,
    Feed,
    HistoryRow,
    ObservedHistory,
    Read,
    RefusedEdit,
)
from tests.support.sampling import is_nightly


def build_history(
    seed: int = 0, *, edits: int = 60, cells: int = 8, killed: int = 3
) -> ObservedHistory:
    """Make a history that can be, with edits and reads that overlap and some without an answer.

    At each time 10 * n the n-th edit is made; it was called before and is answered after that.
    """
    chance = random.Random(seed)  # noqa: S311 -- no secret
    start_cells = [(f"cell-{n}", f"value-{n}-start") for n in range(cells)]
    values = dict(start_cells)
    lost = set(chance.sample(range(2, edits - 2), killed))
    versions = ["version-start"]
    edits_asked: list[Edit] = []
    rows, reads, refusals = [], [], []
    events: dict[str, list[Event]] = {"a/1": [], "b/1": []}
    for n in range(1, edits + 1):
        time_made = 10.0 * n
        called, returned = time_made - chance.uniform(1, 40), time_made + chance.uniform(1, 40)
        steps = _steps(chance, n, values)
        version = f"version-{n}"
        edit = Edit(f"edit-{n}", steps, called, returned, versions[-1], version, n, "a/1")
        if n in lost:
            # Half of them have got as far as the history.
            edit = Edit(f"edit-{n}", steps, called, time_made + 5)
        elif chance.random() < 0.5:
            edit = replace(edit, server="b/1")
        if n not in lost or n % 2:
            rows.append(HistoryRow(n, edit.name, versions[-1], version))
        if edit.server is not None:
            server_events = events[edit.server]
            server_events.append(Event(len(server_events) + 1, n, versions[-1], version))
        edits_asked.append(edit)
        versions.append(version)
        reads.append(Read(version, time_made + chance.uniform(-20, 4), time_made + 5))
        cell = chance.choice(sorted(values))
        refusals.append(RefusedEdit(cell, values[cell], time_made + 1, time_made + 2))
    chance.shuffle(edits_asked)
    return ObservedHistory(
        start=versions[0],
        final=versions[-1],
        start_cells=start_cells,
        final_cells=list(values.items()),
        edits=edits_asked,
        reads=reads,
        refusals=refusals,
        rows=rows,
        feeds=[Feed(server, 0.0, server_events) for server, server_events in events.items()],
        answers={(200, ""): edits - killed, (503, "busy"): 2, (409, "cell_changed"): 7},
    )


def _steps(chance: random.Random, n: int, values: dict[str, str]) -> tuple[CellStep, ...]:
    """Choose the steps of an edit, and apply them."""
    own, new = chance.choice(sorted(values)), f"value-{n}"
    removed = [cell for cell in values if cell.startswith("new-") and cell != own]
    if chance.random() < 0.2:
        values[f"new-{n}"] = new
        return (CellStep(f"new-{n}", None, new),)
    steps = [CellStep(own, values[own], new)]
    values[own] = new
    if removed and chance.random() < 0.5:
        steps.append(CellStep(removed[0], values.pop(removed[0]), None))
    return tuple(steps)


@pytest.mark.parametrize("seed", range(50 if is_nightly() else 5))
def test_a_possible_history_is_accepted(seed: int) -> None:
    assert find_violations(build_history(seed)) == []


def test_a_request_that_was_never_executed_is_accepted() -> None:
    history = build_history()
    never = Edit("never", (CellStep("cell-0", "value-0-start", "never"),), 300.0, 310.0)
    assert find_violations(replace(history, edits=[*history.edits, never])) == []


def test_a_lost_reply_of_a_killed_server_is_accepted() -> None:
    history = build_history()
    first, *others = history.feeds
    cut = replace(first, events=first.events[:-2], is_truncated=True)
    assert find_violations(replace(history, feeds=[cut, *others])) == []


def change(history: ObservedHistory, edit: Edit, **members: Any) -> ObservedHistory:
    """Change an edit, and the history along with it."""
    edits = [replace(one, **members) if one.name == edit.name else one for one in history.edits]
    row = {name: members[name] for name in ("edit_id", "parent", "hash") if name in members}
    rows = [replace(one, **row) if one.name == edit.name else one for one in history.rows]
    return replace(history, edits=edits, rows=rows)


def find(history: ObservedHistory, number: int) -> Edit:
    """Return the first edit from the n-th on that has an answer and replaces a cell's source."""
    edits = {edit.edit_id: edit for edit in history.edits if edit.is_acknowledged}
    found = (edits[n] for n in range(number, number + 30) if n in edits)
    return next(edit for edit in found if edit.steps[0].before is not None)


def get_position(edit: Edit) -> int:
    assert edit.edit_id is not None
    return edit.edit_id


def change_final(history: ObservedHistory, **values: str) -> ObservedHistory:
    cells = {**dict(history.final_cells), **values}
    return replace(history, final_cells=list(cells.items()))


def change_events(
    history: ObservedHistory, forge: Callable[[list[Event]], list[Event]]
) -> ObservedHistory:
    """Change the last events of a killed server."""
    first, *others = history.feeds
    forged = replace(first, events=forge(list(first.events)), is_truncated=True)
    return replace(history, feeds=[forged, *others])


def overwrite_edit(history: ObservedHistory) -> ObservedHistory:
    edit = find(history, 30)
    return change(history, edit, parent=f"version-{get_position(edit) - 2}")


def make_twice(history: ObservedHistory) -> ObservedHistory:
    again = HistoryRow(1000, find(history, 30).name, history.final, "version-again")
    return replace(history, rows=[*history.rows, again], final="version-again")


def double_cell(history: ObservedHistory) -> ObservedHistory:
    value = history.final_cells[-1][1]
    return replace(history, final_cells=[*history.final_cells, ("elsewhere", value)])


def ignore_guard(history: ObservedHistory) -> ObservedHistory:
    edit = find(history, 30)
    step = replace(edit.steps[0], before="value-of-somebody")
    return change(history, edit, steps=(step, *edit.steps[1:]))


def leave_old_value(history: ObservedHistory) -> ObservedHistory:
    cells = dict(history.final_cells)
    steps = [edit.steps[0] for edit in history.edits if edit.is_acknowledged]
    step = next(one for one in steps if one.before and cells.get(str(one.cell)) == one.after)
    return change_final(history, **{str(step.cell): str(step.before)})


def exchange_numbers(history: ObservedHistory) -> ObservedHistory:
    one, other = find(history, 20), find(history, 40)
    exchanged = change(history, one, edit_id=other.edit_id)
    return change(exchanged, other, edit_id=one.edit_id)


def step_back(history: ObservedHistory) -> ObservedHistory:
    edit = find(history, 30)
    at = 10.0 * get_position(edit)
    history = change(history, edit, called_at=at - 60, returned_at=at + 100)
    seen = [Read(str(edit.hash), at, at + 1), Read(str(edit.parent), at + 2, at + 3)]
    return replace(history, reads=seen)


def make_after_death(history: ObservedHistory) -> ObservedHistory:
    # Its version would have to be before the last edit's: the file is that.
    value = dict(history.final_cells)["cell-0"]
    late = Edit("late", (CellStep("cell-0", value, "late"),), 5000.0, 5001.0)
    history = change_final(history, **{"cell-0": "late"})
    return replace(history, edits=[*history.edits, late])


def forget_edit(history: ObservedHistory) -> ObservedHistory:
    name = find(history, 30).name
    return replace(history, rows=[row for row in history.rows if row.name != name])


def hide_missing_event(history: ObservedHistory) -> ObservedHistory:
    return change_events(
        history,
        lambda events: [
            replace(event, seq=seq) for seq, event in enumerate(events[:5] + events[6:], 1)
        ],
    )


def miss_last_event(history: ObservedHistory) -> ObservedHistory:
    first, *others = history.feeds
    return replace(history, feeds=[replace(first, events=first.events[:-1]), *others])


def exchange_events(history: ObservedHistory) -> ObservedHistory:
    def forge(events: list[Event]) -> list[Event]:
        one, other = events[5], events[6]
        exchanged = [replace(other, seq=one.seq), replace(one, seq=other.seq)]
        return [*events[:5], *exchanged, *events[7:]]

    return change_events(history, forge)


def send_event_twice(history: ObservedHistory) -> ObservedHistory:
    first, second = history.feeds
    sent = replace(second, events=[*second.events, first.events[-1]])
    return replace(history, feeds=[first, sent])


def read_also(history: ObservedHistory, version: str, called: float) -> ObservedHistory:
    return replace(history, reads=[*history.reads, Read(version, called, called + 1)])


def refuse(history: ObservedHistory, value: str, called: float) -> ObservedHistory:
    return replace(history, refusals=[RefusedEdit("cell-0", value, called, called + 1)])


Forge = Callable[[ObservedHistory], ObservedHistory]
NOTHING = "comes from nothing that was asked for"
BEGAN = "comes after what began when it was answered"
FORGERIES: dict[str, tuple[Forge, str]] = {
    "an edit is made on a version that another has replaced": (
        overwrite_edit,
        "were both made on",
    ),
    "the last edit is not in the file": (
        lambda history: replace(history, final=f"version-{len(history.edits) - 1}"),
        NOTHING,
    ),
    "the file is a version of nobody": (
        lambda history: replace(history, final="version-of-somebody"),
        NOTHING,
    ),
    "a retry is a new edit": (make_twice, "was made twice"),
    "a cell is inserted twice": (double_cell, "twice or from nowhere"),
    "a cell is lost": (
        lambda history: replace(history, final_cells=history.final_cells[1:]),
        "which nobody has removed",
    ),
    "an edit ignores its guard": (ignore_guard, "found value-of"),
    "a cell has an old value": (leave_old_value, "the last reader found"),
    "an edit comes before one that was answered earlier": (
        lambda history: change(history, find(history, 30), called_at=500.0, returned_at=501.0),
        "comes after an edit or a read that began when it was answered",
    ),
    "the history counts in another order": (exchange_numbers, "comes after edit"),
    "a read is stale": (lambda history: read_also(history, "version-5", 400.0), BEGAN),
    "a read is ahead": (
        lambda history: read_also(history, str(find(history, 50).hash), 100.0),
        BEGAN,
    ),
    "a read is torn": (
        lambda history: read_also(history, "version-torn", -101.0),
        "a version that never was",
    ),
    "reads step back": (step_back, "comes after"),
    "a refusal is stale": (
        lambda history: refuse(history, "value-0-start", 600.0),
        "when that had been replaced",
    ),
    "a refusal names what never was": (
        lambda history: refuse(history, "value-never", 100.0),
        "which it never had",
    ),
    "an edit is made after its server has died": (
        make_after_death,
        "there is no version that it has led to",
    ),
    "the history forgets an edit": (forget_edit, "is not in the history"),
    "the history has what was refused": (
        lambda history: replace(
            history, rows=[*history.rows, HistoryRow(1000, "refused", "", "x")]
        ),
        "which was refused or never asked for",
    ),
    "an event is missing": (
        lambda history: change_events(history, lambda events: events[:5] + events[6:]),
        "told event 7 after event 5",
    ),
    "an event is missing and the numbers hide it": (hide_missing_event, "did not tell of edit"),
    "the last event of a living server is missing": (miss_last_event, "did not tell of edit"),
    "events are exchanged": (exchange_events, "after one that comes later"),
    "an event names what is not in the chain": (
        lambda history: change_events(
            history, lambda events: [*events[:-1], replace(events[-1], hash="version-none")]
        ),
        "which is not in the chain so",
    ),
    "two servers send one event": (send_event_twice, "was told by"),
    "a request fails": (
        lambda history: replace(history, answers={(500, "internal_error"): 1}),
        "were answered with 500",
    ),
}


@pytest.mark.parametrize("seed", range(5 if is_nightly() else 1))
@pytest.mark.parametrize("name", FORGERIES)
def test_an_impossible_history_is_found(name: str, seed: int) -> None:
    forge, sentence = FORGERIES[name]
    found = find_violations(forge(build_history(seed)))
    assert any(sentence in violation for violation in found), found
