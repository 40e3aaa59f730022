"""Edits undone in random order: the notebook has its cells in the original order, or it is refused.

A history is a notebook and a few edits of it, which are undone one by one in random order; some are
redone in between and undone later. Files, storage, edit service and history are real. A refused
undo is tried again later, as a person does who undoes another edit first.
"""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import NbEditError, UndoConflict
from jupyter_nbedit.services.requests import WriteRequest
from tests.support import samples
from tests.support.sampling import is_nightly
from tests.support.served_folder import ServedFolder, operations, serve_folder

HISTORIES = 3_000 if is_nightly() else 30
# In how many histories an undo may be refused for good, by what ids the cells have. To this come
# three for chance, which weighs more the fewer there are. Without ids, most cells look alike, and
# one that cannot be placed for certain is refused.
MAX_REFUSED = {"unique": 0.06, "repeated": 0.2, "none": 0.8}


def cells(text: bytes) -> list[str]:
    """Return the names of the cells, in order."""
    return [
        json.dumps({**cell, "source": "".join(cell["source"])}, sort_keys=True)
        for cell in samples.load_cells(text)
    ]


class UndoHistory:
    """The edits of one notebook, chosen by a number."""

    def __init__(self, served: ServedFolder, number: int, *, ids: str, is_saved: bool) -> None:
        self.served = served
        self.random = random.Random(number)  # noqa: S311 -- predictable on purpose
        self.path = served.root / f"h{number}-{ids}-{is_saved}.ipynb"
        self.ids = ids
        self.has_ids = ids != "none"
        self.is_saved = is_saved
        self.new = 0

    def write(self) -> bytes:
        """Write the notebook; without ids, many cells look alike but for their metadata."""
        pick = self.random.choice
        made = [
            samples.raw(
                f"{at}" if self.has_ids else pick(["", "", "a", f"{at}"]),
                self.choose_id(at),
                metadata={"n": at},
            )
            for at in range(self.random.randint(2, 9))
        ]
        text = samples.notebook(*made, minor=5 if self.has_ids else 4)
        self.path.write_bytes(text)
        return text

    def choose_id(self, number: int) -> str | None:
        if self.ids == "repeated":
            return self.random.choice(["i", "i", f"i{number}"])
        return f"i{number}" if self.has_ids else None

    def choose_operation(self, count: int) -> dict[str, Any]:
        pick, at = self.random.choice, self.random.randrange
        self.new += 1
        source = f"new {self.new}\nmore" if self.has_ids else pick(["", "a", "new\nmore"])
        found: dict[str, Any] = {"op": "insert", "index": at(count + 1)}
        if count:
            cell = at(count)
            chosen = self.random.sample(range(count), min(count, pick([1, 1, 2, 3])))
            found = pick(
                [
                    {"op": "insert", "index": at(count + 1)},
                    {"op": "delete", "cells": chosen},
                    {"op": "delete", "cell": cell},
                    {"op": "move", "cells": chosen, "index": at(count + 1)},
                    {"op": "move", "cell": cell, pick(["before", "after"]): at(count)},
                    {"op": "replace", "cell": cell, "source": source},
                    {"op": "split", "cell": cell, "at_line": 2},
                    {"op": "merge", "cells": [cell, cell + 1]},
                ]
            )
        return found | ({"cell_type": "raw", "source": source} if found["op"] == "insert" else {})

    async def edit(self) -> int | None:
        """Make an edit; return its number, or None if it was refused or changed nothing."""
        count = len(samples.load_cells(self.path.read_bytes()))
        batch = [self.choose_operation(count) for _ in range(self.random.choice([1, 1, 2]))]
        try:
            reply = await self.served.services.editor.edit(
                WriteRequest(self.path.name), operations(*batch)
            )
        except NbEditError:
            return None
        return reply.edit_id

    async def ask(self, edit_id: int, *, redo: bool = False) -> str:
        """Undo an edit, or make it again; return whether that was done, idle or refused."""
        if self.is_saved and self.random.random() < 0.5:
            # As a tab does, which changes the bytes and nothing else.
            text = json.dumps(json.loads(self.path.read_bytes()), indent=self.random.choice([0, 2]))
            self.path.write_text(text)
        try:
            reply = await self.served.services.editor.undo(
                WriteRequest(self.path.name), edit_id, redo=redo
            )
        except UndoConflict:
            return "refused"
        # An edit without any effect now stays in the history, and may have one again later.
        return "idle" if reply.edit_id is None else "done"

    async def undo_all(self) -> str:
        """Make edits and undo them in random order; return the outcomes."""
        before = self.write()
        edits = [edit for _ in range(self.random.randint(2, 5)) if (edit := await self.edit())]
        undone: list[int] = []
        answers: list[tuple[int, str]] = []
        redone = 0
        while edits:
            answers = [(edit, await self.ask(edit)) for edit in self.random.sample(edits, 1)]
            if answers[0][1] != "done":
                answers = [(edit, await self.ask(edit)) for edit in edits]
            undone += [edit for edit, answer in answers if answer == "done"]
            edits = [edit for edit in edits if edit not in undone]
            if "done" not in [answer for _, answer in answers]:
                break
            if redone < 2 and self.random.random() < 0.3:
                again = self.random.choice(undone)
                redone += 1
                if await self.ask(again, redo=True) == "done":
                    undone.remove(again)
                    edits.append(again)
        if "refused" in [answer for edit, answer in answers if edit in edits]:
            return "refused"
        after = self.path.read_bytes()
        if cells(after) == cells(before):
            return "original"
        return "other order" if Counter(cells(after)) == Counter(cells(before)) else "other cells"


async def count_outcomes(*, ids: str, is_saved: bool) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    failed: dict[str, list[int]] = {}
    async with serve_folder() as served:
        for number in range(HISTORIES):
            history = UndoHistory(served, number, ids=ids, is_saved=is_saved)
            outcome = await history.undo_all()
            outcomes[outcome] += 1
            failed.setdefault(outcome, []).append(number)
    failed.pop("original", None)
    print(dict(outcomes), failed)
    return outcomes


@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("ids", MAX_REFUSED)
async def test_undo_in_any_order_restores_the_order_of_cells_or_is_refused(
    *, ids: str, is_saved: bool
) -> None:
    outcomes = await count_outcomes(ids=ids, is_saved=is_saved)

    assert outcomes.keys() <= {"original", "refused"}
    assert outcomes["refused"] <= MAX_REFUSED[ids] * HISTORIES + 3


async def test_cell_between_two_with_one_id_is_not_put_elsewhere() -> None:
    async with serve_folder() as served:
        path = served.root / "a.ipynb"
        names = [("a", "x"), ("b", "b"), ("c", "x"), ("d", "d")]
        path.write_bytes(samples.notebook(*(samples.raw(*name) for name in names)))
        first = await edit(served, {"op": "delete", "cell": 1})
        second = await edit(served, {"op": "delete", "cell": 2})
        third = await edit(served, {"op": "delete", "cells": [0, 1]})

        with pytest.raises(UndoConflict):
            await undo(served, first)
        assert list_sources(path) == []
        for edit_id in (third, second, first):
            await undo(served, edit_id)

        assert list_sources(path) == ["a", "b", "c", "d"]


async def test_cell_that_an_undo_leaves_at_its_place_has_its_former_neighbours() -> None:
    async with serve_folder() as served:
        path = served.root / "a.ipynb"
        path.write_bytes(samples.notebook(*(samples.raw(name, name) for name in "abcd")))
        move = {"op": "move", "cell": "c", "index": 0}
        insert = {"op": "insert", "index": 4, "cell_type": "raw", "source": "new"}
        first = await edit(served, move, insert)
        second = await edit(served, {"op": "move", "cells": ["a", "b"], "index": 5})

        await undo(served, first)
        assert list_sources(path) == ["c", "d", "a", "b"]
        await undo(served, second)

        assert list_sources(path) == ["a", "b", "c", "d"]


async def test_redone_edit_is_undone_after_edits_before_it_were_undone() -> None:
    async with serve_folder() as served:
        path = served.root / "a.ipynb"
        path.write_bytes(samples.notebook(*(samples.raw(name, name) for name in "abc")))
        first = await edit(served, {"op": "delete", "cell": "a"})
        insert = {"op": "insert", "index": 1, "cell_type": "raw", "source": "new"}
        second = await edit(served, insert, {"op": "move", "cell": "b", "index": 0})
        third = await edit(served, {"op": "delete", "cell": "b"})

        await undo(served, third)
        await undo(served, second)
        await undo(served, third, redo=True)
        await undo(served, third)
        await undo(served, third, redo=True)
        await undo(served, first)
        await undo(served, third)

        assert list_sources(path) == ["a", "b", "c"]


async def test_cell_that_an_undo_changes_and_leaves_at_its_place_has_its_former_neighbours() -> (
    None
):
    async with serve_folder() as served:
        path = served.root / "a.ipynb"
        path.write_bytes(samples.notebook(*(samples.raw(name, name) for name in "abcde")))
        move = {"op": "move", "cells": ["d", "e"], "index": 2}
        first = await edit(served, move, {"op": "replace", "cell": "d", "source": "new"})
        second = await edit(served, {"op": "delete", "cell": "c"})

        await undo(served, first)
        await undo(served, second)

        assert list_sources(path) == ["a", "b", "c", "d", "e"]


async def edit(served: ServedFolder, *batch: dict[str, Any]) -> int:
    """Edit the notebook and return the number of the edit."""
    reply = await served.services.editor.edit(WriteRequest("a.ipynb"), operations(*batch))
    assert reply.edit_id is not None
    return reply.edit_id


async def undo(served: ServedFolder, edit_id: int, *, redo: bool = False) -> None:
    await served.services.editor.undo(WriteRequest("a.ipynb"), edit_id, redo=redo)


def list_sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in samples.load_cells(path.read_bytes())]
