"""Check whether the observations of many clients are possible: each edit once, in one order.

`violations` lists what could not be, in sentences:

(a) the versions are one chain: no two edits were made on the same version;
(b) an edit that was answered before another was sent comes before it in the chain;
(c) who reads sees nothing older than what was answered before, nothing that is not asked for yet;
(d) an edit whose answer nobody got is in the chain at most once, and fills a gap where one is;
(e) the file is the end of the chain;
(f) each edit has found the cells as it said, and the file has what the last edits have left;
(g) events come in the chain's order, without a gap, each of an edit of the chain, and for each.

An edit that was acknowledged and is not in the chain shows by (a), (e) and (f). All of that takes
no more than sorting takes: edits name their versions, so there is nothing to be searched for.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from tests.races.cell_values import CellHistories
from tests.races.chain import Chain, build_chain
from tests.races.history import Edit, Feed, HistoryRow, ObservedHistory, Read

# The errors that a client of a busy notebook must be ready for.
_EXPECTED_ANSWERS = {(200, ""), (409, "cell_changed"), (503, "busy")}


def find_violations(history: ObservedHistory) -> list[str]:
    """List the impossible observations of a history."""
    return list(_iter_violations(history))


def _iter_violations(history: ObservedHistory) -> Iterator[str]:
    for (status, reason), count in history.answers.items():
        if (status, reason) not in _EXPECTED_ANSWERS:
            yield f"{count} requests were answered with {status} {reason}"
    yield from _check_rows(history)
    edits = _complete_edits(history)
    known = [edit for edit in edits if edit.hash is not None]
    chain, wrong = build_chain(history.start, known, history.final)
    yield from wrong
    if wrong:
        # Nothing of what follows means anything without one order.
        return
    lineages = CellHistories(
        history.start_cells, chain, [edit for edit in edits if edit.hash is None]
    )
    yield from lineages.find_violations(history.final_cells)
    if history.is_locked:
        yield from _check_numbers(chain)
    yield from _check_times(history, chain)
    yield from lineages.check_refusals(history.refusals)
    for feed in history.feeds:
        yield from _check_feed(feed, chain)
    yield from _check_duplicates(history)


def _check_rows(history: ObservedHistory) -> Iterator[str]:
    """Compare the history with requests and replies."""
    edits = {edit.name: edit for edit in history.edits}
    if len(edits) < len(history.edits):
        yield "the history itself names two edits alike"
    rows: dict[str, HistoryRow] = {}
    for entry in history.rows:
        if entry.name not in edits:
            yield f"the history has edit {entry.edit_id}, which was refused or never asked for"
        elif entry.name in rows:
            first = rows[entry.name].edit_id
            yield f"{entry.name} was made twice, as edits {first} and {entry.edit_id}"
        rows[entry.name] = entry
    for edit in history.edits:
        if not edit.is_acknowledged:
            continue
        found = rows.get(edit.name)
        acknowledged_row = (edit.edit_id, edit.parent, edit.hash)
        if found is None:
            yield f"{edit.name} was acknowledged as edit {edit.edit_id} and is not in the history"
        elif (found.edit_id, found.parent, found.hash) != acknowledged_row:
            yield f"{edit.name} was acknowledged as another edit than the history has"


def _complete_edits(history: ObservedHistory) -> list[Edit]:
    """Complete edits without a reply from the history."""
    rows = {entry.name: entry for entry in history.rows}

    def complete(edit: Edit) -> Edit:
        entry = None if edit.is_acknowledged else rows.get(edit.name)
        if entry is None:
            return edit
        return replace(edit, parent=entry.parent, hash=entry.hash, edit_id=entry.edit_id)

    return [complete(edit) for edit in history.edits]


def _check_numbers(chain: Chain) -> Iterator[str]:
    number = 0
    for edit in chain.edits:
        if edit.edit_id is not None:
            if edit.edit_id <= number:
                yield f"{edit.name} is edit {edit.edit_id}, and comes after edit {number}"
            number = edit.edit_id


def _check_times(history: ObservedHistory, chain: Chain) -> Iterator[str]:
    """Go along the chain, each version's readers after its edit, and look for who was too early."""
    seen: list[list[Read]] = [[] for _ in range(len(chain.edits) + 1)]
    for read in history.reads:
        position = chain.positions.get(read.hash)
        if position is not None:
            seen[position].append(read)
        elif not chain.has_gap_during(read.called_at, read.returned_at):
            yield f"a read was shown {read.hash[:12]}, a version that never was"
    latest = -math.inf
    for position, readers in enumerate(seen):
        if position:
            edit = chain.edits[position - 1]
            if edit.returned_at < latest:
                yield f"{edit.name} comes after an edit or a read that began when it was answered"
            latest = max(latest, edit.called_at)
        for read in readers:
            if read.returned_at < latest:
                yield f"a read of {read.hash[:12]} comes after what began when it was answered"
        latest = max([latest, *(read.called_at for read in readers)])


def _check_feed(feed: Feed, chain: Chain) -> Iterator[str]:
    last = 0
    positions = set()
    for before, event in zip([None, *feed.events], feed.events, strict=False):
        if before is not None and event.seq != before.seq + 1:
            yield f"{feed.server} told event {event.seq} after event {before.seq}"
        position = chain.positions.get(event.hash, 0)
        edit = chain.edits[position - 1] if position else None
        if edit is None or (edit.edit_id, edit.parent) != (event.edit_id, event.parent):
            yield f"{feed.server} told of edit {event.edit_id}, which is not in the chain so"
            continue
        if position <= last:
            yield f"{feed.server} told of edit {event.edit_id} after one that comes later"
        last = position
        positions.add(position)
    for position, edit in enumerate(chain.edits, 1):
        if edit.server != feed.server or edit.called_at < feed.since or position in positions:
            continue
        if position < last or not feed.is_truncated:
            yield f"{feed.server} did not tell of edit {edit.edit_id}, which it acknowledged"


def _check_duplicates(history: ObservedHistory) -> Iterator[str]:
    servers: dict[str, str] = {}
    for feed in history.feeds:
        for event in feed.events:
            if event.hash in servers:
                yield f"edit {event.edit_id} was told by {servers[event.hash]} and {feed.server}"
            servers[event.hash] = feed.server
