"""Trust in random histories of notebooks: kept by every edit, gained by none.

A history is a notebook and a few steps: edits of every kind, refused and dry ones, what outsiders
write over it, what its user trusts and saves in Jupyter, copies, moves, and undone edits.
Files, storage, editor and notary with its database are real. Two oracles watch that know nothing of
signatures:

- every output has a mark of its own, and is shown as trusted only if its user has trusted, or made,
  the output of that mark;
- an edit leaves trust as it found it, except where it leads to what was trusted before.
"""

import asyncio
import json
import multiprocessing
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import nbformat.reader

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from tests.support import samples
from tests.support.sampling import get_seed, is_nightly
from tests.support.served_folder import ServedFolder, operations, serve_folder

HISTORIES = 20_000 if is_nightly() else 100
MAX_STEPS = 4
PROCESSES = 2
MARK = re.compile(rb"mark-\d+")
TRUSTED: list[dict[str, Any]] = [
    {"trusted": True},
    {"a": {"trusted": True}},
    {"a": [[{"b": {"trusted": True}}]]},
    {"jupyter": {"trusted": False}},
]


class TrustHistory:
    """One notebook's life, from a number."""

    def __init__(self, served: ServedFolder, number: int, counts: Counter[str]) -> None:
        self.served = served
        self.random = random.Random(number)  # noqa: S311 -- predictable on purpose
        self.counts = counts
        self.marks = 0
        self.number = number
        # No other has had its name, by which the history goes.
        self.path = served.root / f"a{number}.ipynb"
        #: The marks of outputs that the user has trusted or made.
        self.accepted: set[bytes] = set()
        self.trusted = False
        #: All versions of the notebook, and the trusted outputs among them.
        self.versions: list[bytes] = []
        self.signed: set[str] = set()
        #: Whether the notebook was trusted before each edit.
        self.were_trusted: dict[int | None, bool] = {}
        #: Whether a tab has it open, so that the server notices what outsiders do.
        self.is_open = self.random.random() < 0.7

    def output(self) -> dict[str, Any]:
        self.marks += 1
        mark = f"mark-{self.number}{self.marks:03}"
        html = f"<script>window.__pwned = '{mark}'</script>"
        return {"output_type": "display_data", "data": {"text/html": html}, "metadata": {}}

    def notebook(self) -> bytes:
        cells = [
            samples.code("x = 1\nx", "c0", outputs=[self.output()], execution_count=1),
            samples.markdown(f"# A {self.number}\n\n- one\n- two", "c1"),
            samples.code("y", "c2", outputs=[self.output()] * self.random.randrange(2)),
            samples.code("z", "c3"),
        ]
        # The notary remembers what others have trusted: no two histories may come to the same.
        return samples.notebook(*cells, metadata={"history": self.number})

    @property
    def text(self) -> bytes:
        return self.path.read_bytes()

    @text.setter
    def text(self, text: bytes) -> None:
        self.path.write_bytes(text)

    # What happens -------------------------------------------------------------------------------

    def operation(self) -> dict[str, Any]:
        cells = samples.load_cells(self.text)
        at = self.random.randrange(len(cells)) if cells else 0
        pick = self.random.choice
        source = f"# A\n- new {self.random.randrange(100)}"
        return pick(
            [
                {"op": "replace", "cell": at, "source": source, "outputs": pick(["clear", "keep"])},
                {"op": "replace", "cell": at, "cell_type": pick(["code", "markdown", "raw"])},
                {"op": "replace_text", "cell": at, "old": "x", "new": "xx", "all": True},
                {"op": "replace_text", "cell": at, "old": "one", "new": "1", "outputs": "keep"},
                {
                    "op": "insert",
                    "cell_type": pick(["code", "markdown"]),
                    "source": source,
                    "index": at,
                },
                {
                    "op": "insert",
                    "cell_type": "code",
                    "source": json.dumps(self.output()),
                    "at": "end",
                },
                {"op": "delete", "cell": at},
                {"op": "move", "cell": at, "at": pick(["start", "end"])},
                {"op": "split", "cell": at, "at_line": 2},
                {"op": "merge", "cells": [at, at + 1]},
                {"op": "clear_outputs", "cell": at},
                {"op": "clear_outputs", "all": True},
                {"op": "set_metadata", "patch": {"signature": "x", "outputs": [self.output()]}},
                {"op": "set_metadata", "cell": at, "patch": {"outputs": [self.output()]}},
                {"op": "append_to_section", "section": "A", "source": "- three"},
                {"op": "replace_section", "section": "A", "source": source},
                {"op": "remove_entry", "section": "A", "match": "one"},
            ]
        )

    async def apply_edit(self, *batch: dict[str, Any], **more: Any) -> bool:
        """Edit; whatever comes of it, the notebook is trusted as much as before."""
        before, trusted = self.text, self.trusted
        request = WriteRequest(self.path.name, **more)
        try:
            reply = await self.served.services.editor.edit(request, operations(*batch))
        except NbEditError:
            assert self.text == before
            return False
        # Others may have made a cell a code cell without outputs.
        assert all("which nbformat requires" in warning for warning in reply.warnings)
        await self.note_outside_change()
        after = self.text
        if "dry_run" in more:
            assert after == before
        self.were_trusted[reply.edit_id] = trusted
        self.trusted, is_shown_trusted = self.served.judge(after)
        # An edit may lead to what was trusted before, and cannot lose trust.
        assert self.trusted == (trusted or is_shown_trusted in self.signed)
        return True

    async def edit(self) -> None:
        batch = [self.operation() for _ in range(self.random.choice([1, 1, 2, 3]))]
        is_edited = await self.apply_edit(*batch)
        self.counts["edits" if is_edited else "refused edits"] += 1

    async def dry_run(self) -> None:
        await self.apply_edit(self.operation(), dry_run=True)

    async def edit_refused(self) -> None:
        kinds: list[dict[str, Any]] = [
            {"op": "delete", "cell": "nobody"},
            {"op": "set_metadata", "patch": self.random.choice(TRUSTED)},
            {"op": "set_metadata", "cell": 0, "patch": self.random.choice(TRUSTED)},
            {
                "op": "insert",
                "at": "end",
                "cell_type": "code",
                "source": "",
                "metadata": self.random.choice(TRUSTED),
            },
        ]
        assert not await self.apply_edit(self.operation(), self.random.choice(kinds))

    async def edit_stale_version(self) -> None:
        assert not await self.apply_edit(self.operation(), hash="0" * 64)

    async def ask(self, edit_id: int | None = None, *, redo: bool = False) -> bool:
        """Request an undo; return whether it was made."""
        try:
            await self.served.services.editor.undo(WriteRequest(self.path.name), edit_id, redo=redo)
        except NbEditError:
            return False
        return True

    async def apply_undo(self, edit_id: int | None = None, *, redo: bool = False) -> bool:
        """Undo an edit; the notebook stays as trusted as it was."""
        before, trusted = self.text, self.trusted
        if not await self.ask(edit_id, redo=redo) or self.text == before:
            # It is refused, or an outsider has restored what was there before.
            assert self.text == before
            return False
        (newest,) = await self.served.services.history.list_page(self.path.name, limit=1)
        await self.note_outside_change()
        assert newest.undoes is not None
        self.were_trusted[newest.edit_id] = trusted
        self.trusted, is_shown_trusted = self.served.judge(self.text)
        was_trusted = self.were_trusted[newest.undoes]
        assert self.trusted == (is_shown_trusted in self.signed or (trusted and was_trusted))
        self.counts["redone" if newest.kind == "redo" else "undone"] += 1
        undone = await self.served.services.history.get_entry(self.path.name, newest.undoes)
        self.counts[f"undone {undone.kind}"] += 1
        return True

    async def undo(self) -> None:
        path = self.path.name
        if self.random.random() < 0.5 and await self.apply_undo(redo=True):
            return
        edits = [
            edit.edit_id for edit in await self.served.services.history.list_page(path, limit=5)
        ]
        for edit in [None, self.random.choice([*edits, None])]:
            if await self.apply_undo(edit):
                await self.check()
                return
        # After a write by another program it is one more edit.
        if await self.apply_edit(self.operation()):
            await self.check()
            await self.apply_undo()

    async def outsider_restores(self) -> None:
        self.text = self.random.choice(self.versions)

    async def outsider_smuggles(self) -> None:
        found = json.loads(self.text)
        for cell in found["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"] = [*cell["outputs"], self.output()]
                cell["metadata"]["trusted"] = True
        found["metadata"]["trusted"] = True
        self.text = json.dumps(found, indent=1).encode()

    async def outsider_lays_out(self) -> None:
        self.text = json.dumps(json.loads(self.text), indent=self.random.choice([0, 2])).encode()

    async def user_trusts(self) -> None:
        await self.served.manager.trust_notebook(self.path.name)
        self.accepted |= set(outputs(self.text))

    async def user_saves(self) -> None:
        """Save as JupyterLab does, with one more output of the user."""
        model = await self.served.manager.get(self.path.name)
        cells = [cell for cell in model["content"]["cells"] if cell["cell_type"] == "code"]
        if cells:
            cell = self.random.choice(cells)
            made = self.output()
            # Running a cell replaces its outputs, and makes them trusted.
            cell["outputs"], cell["metadata"]["trusted"] = [nbformat.from_dict(made)], True
            self.accepted |= set(MARK.findall(json.dumps(made).encode()))
        await self.served.manager.save(
            {"type": "notebook", "format": "json", "content": model["content"]}, self.path.name
        )

    async def duplicate(self) -> None:
        copied = await self.served.manager.copy(self.path.name)
        (self.served.root / copied["path"]).replace(self.path)

    async def move(self) -> None:
        other = ("b" if self.path.name.startswith("a") else "a") + self.path.name[1:]
        await self.served.manager.rename_file(self.path.name, other)
        self.path = self.served.root / other

    # What the server notices of it --------------------------------------------------------------

    async def look(self) -> None:
        """Look at the file, as the server does for a notebook that is open in a tab."""
        examiner = self.served.services.outside_changes
        examiner.notebooks.set_open({self.path.name: {self.path.name}})
        (notebook,) = examiner.notebooks
        notebook.os_path = str(self.path)
        notebook.update_identity(read_file_identity(notebook.os_path))
        if notebook.must_be_examined:
            await examiner.examine(notebook)
        await self.note_outside_change()

    async def note_outside_change(self) -> None:
        """Remember whether the version before an outside change was trusted, if there was one."""
        edits = await self.served.services.history.list_page(self.path.name, limit=2)
        for edit in edits:
            if edit.kind == "outside" and edit.edit_id not in self.were_trusted:
                self.were_trusted[edit.edit_id] = edit.hash_before in self.trusted_hashes()
                self.counts["outside changes"] += 1

    def trusted_hashes(self) -> set[str]:
        """Return the hashes of the versions that are trusted now."""
        return {samples.compute_hash(text) for text in self.versions if self.served.judge(text)[0]}

    # What must hold -----------------------------------------------------------------------------

    async def check(self) -> None:
        text = self.text
        self.trusted, is_shown_trusted = self.served.judge(text)
        if self.random.random() < 0.1:
            assert self.trusted == (await self.served.services.read(self.path.name)).trusted
        self.versions.append(text)
        if self.trusted:
            self.signed.add(is_shown_trusted)
            assert set(outputs(text)) <= self.accepted
        self.counts["trusted" if self.trusted else "untrusted"] += 1

    async def run(self) -> None:
        self.text = self.notebook()
        await self.check()
        assert not self.trusted
        if self.random.random() < 0.5:
            await self.user_trusts()
            await self.check()
        for _ in range(self.random.randrange(2, MAX_STEPS + 1)):
            if self.is_open and self.random.random() < 0.9:
                await self.look()
            step = self.random.choices(list(STEPS), list(STEPS.values()))[0]
            self.counts[step.__name__] += 1
            await step(self)
            await self.check()
        self.path.unlink()
        self.served.services.outside_changes.notebooks.set_open({})


STEPS: dict[Callable[[TrustHistory], Awaitable[None]], int] = {
    TrustHistory.edit: 10,
    TrustHistory.undo: 4,
    TrustHistory.dry_run: 1,
    TrustHistory.edit_refused: 1,
    TrustHistory.edit_stale_version: 1,
    TrustHistory.outsider_restores: 2,
    TrustHistory.outsider_smuggles: 2,
    TrustHistory.outsider_lays_out: 1,
    TrustHistory.user_trusts: 2,
    TrustHistory.user_saves: 1,
    TrustHistory.duplicate: 1,
    TrustHistory.move: 1,
}


def outputs(text: bytes) -> list[bytes]:
    """List the marks that a page would run."""
    cells = samples.load_cells(text)
    return MARK.findall(json.dumps([cell.get("outputs", []) for cell in cells]).encode())


def run_histories(numbers: range) -> Counter[str]:
    """Live histories, each from its number; in a process of its own."""
    counts: Counter[str] = Counter()

    async def live_all() -> None:
        async with serve_folder() as served:
            for number in numbers:
                history = TrustHistory(served, number, counts)
                try:
                    await history.run()
                except BaseException as error:
                    versions = [version.decode() for version in history.versions]
                    message = f"history {number}: {versions}"
                    raise AssertionError(message) from error

    asyncio.run(live_all())
    return counts


def test_no_history_gains_trust_and_no_edit_loses_it() -> None:
    first = get_seed()
    if is_nightly():
        size = HISTORIES // PROCESSES
        ranges = [range(start, start + size) for start in range(first, first + HISTORIES, size)]
        with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
            counts = sum(pool.map(run_histories, ranges), Counter[str]())
    else:
        counts = run_histories(range(first, first + HISTORIES))
    print(f"{HISTORIES} histories: {dict(counts)}")
    assert counts["trusted"] > HISTORIES
    assert counts["untrusted"] > HISTORIES
    assert counts["undone"] > HISTORIES / 10
    assert counts["outside changes"] > HISTORIES / 10
    # It is rare, and by day there are few.
    assert counts["redone"] >= HISTORIES / 100 or not is_nightly()
    assert all(counts[step.__name__] > HISTORIES / 20 for step in STEPS)


async def test_undo_does_not_trust_what_the_edit_had_removed() -> None:
    async with serve_folder() as served:
        history = TrustHistory(served, 1, Counter())
        history.text = history.notebook()
        await history.check()
        evil = outputs(history.text)
        assert await history.apply_edit({"op": "clear_outputs", "all": True})
        await history.check()
        # Nothing is left that could do harm, and the user trusts what is left.
        await history.user_trusts()
        await history.check()
        assert await history.apply_edit({"op": "replace", "cell": "c1", "source": "# B"})
        assert history.trusted
        edits = await served.services.history.list_page(history.path.name, limit=2)
        assert await history.apply_undo(edits[-1].edit_id)
        assert outputs(history.text) == evil
        assert not history.trusted


async def test_undo_of_the_older_of_two_edits_keeps_trust() -> None:
    async with serve_folder() as served:
        history = TrustHistory(served, 1, Counter())
        history.text = history.notebook()
        await history.user_trusts()
        await history.check()
        for cell in ("c1", "c3"):
            assert await history.apply_edit({"op": "replace", "cell": cell, "source": "new"})
        first = min(number for number in history.were_trusted if number is not None)
        # The result is a new version.
        assert await history.apply_undo(first)
        assert history.trusted
