"""Random batches that are accepted part by part in random order, as a proposal can be."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from jupyter_nbedit.errors import NbEditError, UndoConflict
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.precedence import Past
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.splices import join
from jupyter_nbedit.notebook.taking_back import take_back
from tests.notebook.oracle import edit
from tests.notebook.undo import meaning
from tests.support import samples
from tests.support.sizes import is_nightly, seeded_random

BATCHES = 6_000 if is_nightly() else 300
SOURCES = ["", "", "a", "a\nb", "b", "c\n\nd"]


def choose_operation(chance: random.Random, count: int, has_ids: bool) -> dict[str, Any]:  # noqa: FBT001 -- said at the only call
    pick, at = chance.choice, chance.randrange
    cell = at(count)
    chosen = chance.sample(range(count), min(count, pick([1, 2, 3])))
    # Many cells go to few places.
    place = {"index": pick([0, count // 2, count])}
    new = {"cell_type": pick(["raw", "markdown"]), "source": pick(SOURCES), **place}
    if has_ids:
        new["id"] = f"new{at(10_000)}"
    return pick(
        [
            {"op": "insert", **new},
            {"op": "insert", **new},
            {"op": "delete", "cells": chosen},
            {"op": "move", "cells": chosen, **place},
            {"op": "move", "cell": cell, pick(["before", "after"]): at(count)},
            {"op": "replace", "cell": cell, "source": pick(SOURCES)},
            {"op": "split", "cell": cell, "at_line": 2},
            {"op": "merge", "cells": [cell, cell + 1]},
            {"op": "set_metadata", "cell": cell, "patch": {"k": at(3)}},
        ]
    )


def accept_in_parts(number: int) -> str:
    """Accept a batch in parts; return whether it was kept, refused, or is no batch."""
    chance = seeded_random(f"batch {number}")
    has_ids = bool(number % 2)
    cells = [
        samples.raw(chance.choice(SOURCES), f"i{at}" if has_ids else None, metadata={"n": at})
        for at in range(chance.randint(1, 8))
    ]
    before = Document.parse(samples.notebook(*cells, minor=5 if has_ids else 4))
    batch = [choose_operation(chance, len(cells), has_ids) for _ in range(chance.randint(1, 4))]
    try:
        applied = edit(before, *batch)
    except NbEditError:
        return "no batch"
    offer = Record.decode(applied.offer().encode())
    numbers = list(range(len(offer.parts)))
    chance.shuffle(numbers)
    document = before
    for step, part in enumerate(numbers):
        try:
            past = Past(accepted=set(numbers[:step]))
            accepted = take_back(
                document, offer, op="accept", exact=step == 0, only=[part], past=past
            )
        except UndoConflict:
            assert not has_ids, batch
            return "refused"
        document = Document.parse(join(document.text, accepted.splices))
    whole = join(before.text, applied.splices)
    assert meaning(document.text[:]) == meaning(whole), (number, batch, numbers)
    return "kept"


def test_a_batch_accepted_part_by_part_in_any_order_ends_as_if_accepted_at_once() -> None:
    outcomes = Counter(accept_in_parts(number) for number in range(BATCHES))

    print(dict(outcomes))
    assert outcomes["kept"] > BATCHES / 3
    # Only cells without ids that look alike are not told apart.
    assert outcomes["refused"] < 0.1 * outcomes["kept"]
