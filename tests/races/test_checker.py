"""The checker of histories itself: what can be passes, and each forgery is found for what it is."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.races.checker import violations
from tests.races.history import NEVER, Edit, Event, Feed, History, Kept, Read, Refusal, Step
from tests.support.ratios import least_ratio
from tests.support.sizes import is_nightly

EDITS = 64_000 if is_nightly() else 8_000


def made(seed: int = 0, *, edits: int = 60, cells: int = 8, killed: int = 3) -> History:
    """Make a history that can be, with edits and reads that overlap and some without an answer.

    At each time 10 * n the n-th edit is made; it was called before and is answered after that.
    """
    chance = random.Random(seed)  # noqa: S311 -- no secret
    start_cells = [(f"cell-{n}", f"value-{n}-start") for n in range(cells)]
    values = dict(start_cells)
    lost = set(chance.sample(range(2, edits - 2), killed))
    versions = ["version-start"]
    asked: list[Edit] = []
    ledger, reads, refusals = [], [], []
    events: dict[str, list[Event]] = {"a/1": [], "b/1": []}
    for n in range(1, edits + 1):
        time_made = 10.0 * n
        called, returned = time_made - chance.uniform(1, 40), time_made + chance.uniform(1, 40)
        steps = _steps(chance, n, values)
        version = f"version-{n}"
        edit = Edit(f"edit-{n}", steps, called, returned, versions[-1], version, n, "a/1")
        if n in lost:
            # Half of them have got as far as the ledger.
            edit = Edit(f"edit-{n}", steps, called, time_made + 5)
        elif chance.random() < 0.5:
            edit = replace(edit, server="b/1")
        if n not in lost or n % 2:
            ledger.append(Kept(n, edit.name, versions[-1], version))
        if edit.server is not None:
            told = events[edit.server]
            told.append(Event(len(told) + 1, n, versions[-1], version))
        asked.append(edit)
        versions.append(version)
        reads.append(Read(version, time_made + chance.uniform(-20, 4), time_made + 5))
        cell = chance.choice(sorted(values))
        refusals.append(Refusal(cell, values[cell], time_made + 1, time_made + 2))
    chance.shuffle(asked)
    return History(
        start=versions[0],
        final=versions[-1],
        start_cells=start_cells,
        final_cells=list(values.items()),
        edits=asked,
        reads=reads,
        refusals=refusals,
        ledger=ledger,
        feeds=[Feed(server, 0.0, told) for server, told in events.items()],
        answers={(200, ""): edits - killed, (503, "busy"): 2, (409, "cell_changed"): 7},
    )


def _steps(chance: random.Random, n: int, values: dict[str, str]) -> tuple[Step, ...]:
    """Choose what an edit does, and do it."""
    own, new = chance.choice(sorted(values)), f"value-{n}"
    removed = [cell for cell in values if cell.startswith("new-") and cell != own]
    if chance.random() < 0.2:
        values[f"new-{n}"] = new
        return (Step(f"new-{n}", None, new),)
    steps = [Step(own, values[own], new)]
    values[own] = new
    if removed and chance.random() < 0.5:
        steps.append(Step(removed[0], values.pop(removed[0]), None))
    return tuple(steps)


@pytest.mark.parametrize("seed", range(50))
def test_a_history_that_can_be_passes(seed: int) -> None:
    assert violations(made(seed)) == []


def test_what_was_asked_and_never_made_may_be_asked() -> None:
    history = made()
    never = Edit("never", (Step("cell-0", "value-0-start", "never"),), 300.0, 310.0)
    assert violations(replace(history, edits=[*history.edits, never])) == []


def test_what_a_killed_server_said_last_may_not_have_come() -> None:
    history = made()
    first, *others = history.feeds
    cut = replace(first, events=first.events[:-2], was_cut=True)
    assert violations(replace(history, feeds=[cut, *others])) == []


def changed(history: History, number: int, **members: Any) -> History:
    """Change the edit that was the n-th to be made, and the ledger along with it."""
    edits = [
        replace(edit, **members) if edit.name == f"edit-{number}" else edit
        for edit in history.edits
    ]
    kept = {name: members[name] for name in ("edit_id", "parent", "hash") if name in members}
    ledger = [
        replace(entry, **kept) if entry.name == f"edit-{number}" else entry
        for entry in history.ledger
    ]
    return replace(history, edits=edits, ledger=ledger)


def acknowledged(history: History, number: int) -> Edit:
    """Give the first edit from the n-th on that has an answer and replaces a cell's source."""
    edits = {edit.name: edit for edit in history.edits if edit.is_acknowledged}
    numbers = range(number, number + 30)
    found = (edits[f"edit-{n}"] for n in numbers if f"edit-{n}" in edits)
    return next(edit for edit in found if edit.steps[0].before is not None)


def _number(edit: Edit) -> int:
    assert edit.edit_id is not None
    return edit.edit_id


def lost_update(history: History) -> History:
    """Two servers read the same version, and the second overwrites what the first has made."""
    edit = acknowledged(history, 30)
    before = f"version-{_number(edit) - 2}"
    return changed(history, _number(edit), parent=before)


def lost_edit(history: History) -> History:
    """The last edit was acknowledged, and the file does not have it."""
    return replace(history, final=f"version-{len(history.edits) - 1}")


def overwritten(history: History) -> History:
    """The file's end is a version that nobody has asked for."""
    return replace(history, final="version-of-somebody")


def made_twice(history: History) -> History:
    """A retry was taken for a new request."""
    edit = acknowledged(history, 30)
    again = Kept(1000, edit.name, history.final, "version-again")
    return replace(history, ledger=[*history.ledger, again], final="version-again")


def cell_doubled(history: History) -> History:
    """A cell that was inserted once is in the file twice."""
    cells = dict(history.final_cells)
    inserted = ("elsewhere", next(reversed(cells.values())))
    return replace(history, final_cells=[*history.final_cells, inserted])


def cell_lost(history: History) -> History:
    """A cell that nobody has removed is gone from the file."""
    return replace(history, final_cells=history.final_cells[1:])


def guard_ignored(history: History) -> History:
    """An edit was made though its cell no longer had the value that it was for."""
    edit = acknowledged(history, 30)
    first, *others = edit.steps
    steps = (replace(first, before="value-of-somebody"), *others)
    return changed(history, _number(edit), steps=steps)


def old_value_left(history: History) -> History:
    """The file has a value that an acknowledged edit has replaced."""
    cells = dict(history.final_cells)
    edit = next(
        edit
        for edit in history.edits
        if edit.is_acknowledged
        and edit.steps[0].before
        and cells.get(str(edit.steps[0].cell)) == edit.steps[0].after
    )
    step = edit.steps[0]
    cells[str(step.cell)] = str(step.before)
    return replace(history, final_cells=list(cells.items()))


def too_early(history: History) -> History:
    """An edit is in the chain before one that was answered when it was not sent yet."""
    edit = acknowledged(history, 30)
    return changed(history, _number(edit), called=500.0, returned=501.0)


def numbers_exchanged(history: History) -> History:
    """The ledger counts two edits the other way round than the file has them."""
    one, other = acknowledged(history, 20), acknowledged(history, 40)
    exchanged = changed(history, _number(one), edit_id=other.edit_id)
    return changed(exchanged, _number(other), edit_id=one.edit_id)


def stale_read(history: History) -> History:
    """A reader is shown what has been replaced long before it asked."""
    return replace(history, reads=[*history.reads, Read("version-5", 400.0, 401.0)])


def read_ahead(history: History) -> History:
    """A reader is shown what nobody has asked for yet."""
    version = str(acknowledged(history, 50).hash)
    return replace(history, reads=[*history.reads, Read(version, 100.0, 101.0)])


def torn_read(history: History) -> History:
    """A reader is shown what never was."""
    return replace(history, reads=[Read("version-torn", -101.0, -100.0)])


def reads_step_back(history: History) -> History:
    """One reader sees a version, and the next one the version before."""
    edit = acknowledged(history, 30)
    at = 10.0 * _number(edit)
    open_ended = changed(history, _number(edit), called=at - 60, returned=at + 100)
    seen = [Read(f"version-{_number(edit)}", at, at + 1), Read(str(edit.parent), at + 2, at + 3)]
    return replace(open_ended, reads=seen)


def refused_for_what_was(history: History) -> History:
    """A refusal tells a value that was replaced long before."""
    refusal = Refusal("cell-0", "value-0-start", 600.0, 601.0)
    return replace(history, refusals=[refusal])


def refused_for_nothing(history: History) -> History:
    """A refusal tells a value that the cell never had."""
    return replace(history, refusals=[Refusal("cell-0", "value-never", 100.0, 101.0)])


def unanswered_made_after_death(history: History) -> History:
    """An edit without an answer is found in the file, and was sent after all else was answered."""
    value = dict(history.final_cells)["cell-0"]
    late = Edit("late", (Step("cell-0", value, "late"),), 5000.0, 5001.0)
    cells = {**dict(history.final_cells), "cell-0": "late"}
    edits = [*history.edits, late]
    # Its version would have to be before the last edit's: the file is that.
    return replace(history, edits=edits, final_cells=list(cells.items()))


def ledger_forgets(history: History) -> History:
    """An acknowledged edit is not in the ledger."""
    edit = acknowledged(history, 30)
    ledger = [entry for entry in history.ledger if entry.name != edit.name]
    return replace(history, ledger=ledger)


def ledger_invents(history: History) -> History:
    """A refused edit is in the ledger."""
    invented = Kept(1000, "refused", "version-of-nobody", "version-nowhere")
    return replace(history, ledger=[*history.ledger, invented])


def _told(history: History, change: Callable[[list[Event]], Sequence[Event]]) -> History:
    first, *others = history.feeds
    return replace(
        history, feeds=[replace(first, events=change(list(first.events)), was_cut=True), *others]
    )


def event_missing(history: History) -> History:
    """An edit in the middle was not told."""
    return _told(history, lambda events: events[:5] + events[6:])


def event_missing_unnoticed(history: History) -> History:
    """An edit in the middle was not told, and the numbers hide it."""

    def change(events: list[Event]) -> list[Event]:
        kept = events[:5] + events[6:]
        return [replace(event, seq=seq) for seq, event in enumerate(kept, 1)]

    return _told(history, change)


def last_event_missing(history: History) -> History:
    """A server that was not killed did not tell of its last edit."""
    first, *others = history.feeds
    return replace(history, feeds=[replace(first, events=first.events[:-1]), *others])


def events_exchanged(history: History) -> History:
    """Two events came in the wrong order."""

    def change(events: list[Event]) -> list[Event]:
        one, other = events[5], events[6]
        return [
            *events[:5],
            replace(other, seq=one.seq),
            replace(one, seq=other.seq),
            *events[7:],
        ]

    return _told(history, change)


def event_of_nothing(history: History) -> History:
    """An event tells of a version that is not in the chain."""
    return _told(history, lambda events: [*events[:-1], replace(events[-1], hash="version-none")])


def event_told_twice(history: History) -> History:
    """Both servers tell of one edit."""
    first, second, *others = history.feeds
    told = replace(second, events=[*second.events, first.events[-1]])
    return replace(history, feeds=[first, told, *others])


def server_failed(history: History) -> History:
    """A request was answered with a failure."""
    return replace(history, answers={**history.answers, (500, "internal_error"): 1})


FORGERIES = {
    lost_update: "were both made on",
    lost_edit: "comes from nothing that was asked for",
    overwritten: "comes from nothing that was asked for",
    made_twice: "was made twice",
    cell_doubled: "twice or from nowhere",
    cell_lost: "which nobody has removed",
    guard_ignored: "found value-of",
    old_value_left: "the last reader found",
    too_early: "comes after an edit or a read that began when it was answered",
    numbers_exchanged: "comes after edit",
    stale_read: "comes after what began when it was answered",
    read_ahead: "comes after what began when it was answered",
    torn_read: "a version that never was",
    reads_step_back: "comes after",
    refused_for_what_was: "when that had been replaced",
    refused_for_nothing: "which it never had",
    unanswered_made_after_death: "there is no version that it has led to",
    ledger_forgets: "is not in the ledger",
    ledger_invents: "which was refused or never asked for",
    event_missing: "told event 7 after event 5",
    event_missing_unnoticed: "did not tell of edit",
    last_event_missing: "did not tell of edit",
    events_exchanged: "after one that comes later",
    event_of_nothing: "which is not in the chain so",
    event_told_twice: "was told by",
    server_failed: "were answered with 500",
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("forged", "sentence"), FORGERIES.items(), ids=[forged.__name__ for forged in FORGERIES]
)
def test_what_cannot_be_is_found(
    forged: Callable[[History], History], sentence: str, seed: int
) -> None:
    found = violations(forged(made(seed)))
    assert any(sentence in violation for violation in found), found


def test_four_times_as_many_edits_take_about_four_times_as_long_to_check() -> None:
    few = made(edits=EDITS // 4, cells=80, killed=100)
    many = made(edits=EDITS, cells=80, killed=100)

    def check(history: History) -> None:
        assert violations(history) == []

    # Were it the square, it would be sixteen times.
    ratio = least_ratio(partial(check, many), partial(check, few), clock=time.process_time, pairs=2)
    assert ratio < 8, ratio


def test_an_edit_without_an_answer_ends_when_it_says() -> None:
    assert Edit("open", (), 0.0).returned == NEVER
