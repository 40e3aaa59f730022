"""A version that a tab has, with the delta since it, is what the Contents API returns."""

import asyncio
import json
import random
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from tornado.web import HTTPError

from jupyter_nbedit.errors import NbEditError, VersionUnknown
from jupyter_nbedit.notebook.operations import (
    ClearOutputs,
    Delete,
    Insert,
    Move,
    Operation,
    Replace,
    SetMetadata,
)
from jupyter_nbedit.services.tabs import TabReport
from tests.support.deltas import apply_delta
from tests.support.sampling import get_seed, is_nightly
from tests.support.services import ServiceBuilder

Item = TypeVar("Item")
PAIRS = 20_000 if is_nightly() else 250
STEPS = 9
NAME = "a.ipynb"


class Writer:
    """Writes notebooks that nbformat can read, with all oddities of the format."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 -- not a secret

    def pick(self, *items: Item) -> Item:
        return self.random.choice(items)

    def make_lines(self) -> Any:
        lines = self.random.choices(
            ["x = 1\n", "\n", "é😀\n", "pass\n", "\ud800\n"], (9, 9, 9, 9, 1), k=2
        )
        return self.pick("", "".join(lines), lines, [])

    def make_output(self) -> dict[str, Any]:
        data = {
            "text/plain": self.make_lines(),
            "application/json": self.pick([1, "a"], ["a", "b"], {"a": [None]}),
            "image/png": self.pick("aGk=", ["aG", "k="]),
        }
        return self.pick(
            {"output_type": "stream", "name": "stdout", "text": self.make_lines()},
            {"output_type": "display_data", "data": data, "metadata": {}},
            {"output_type": "error", "ename": "E", "evalue": "", "traceback": ["a", "b"]},
        )

    def make_cell(self, minor: int) -> dict[str, Any]:
        metadata = self.pick({}, {}, {"tags": ["a"]}, {"trusted": True}, {"collapsed": False})
        cell = {"cell_type": self.pick("code", "code", "markdown", "raw"), "metadata": metadata}
        if self.random.random() < 0.02:
            cell["metadata"] = {"number": self.pick(float("nan"), float("inf"), 1e400, 10**30)}
        cell["source"] = self.make_lines()
        if cell["cell_type"] == "code":
            outputs = [self.make_output() for _ in range(self.pick(0, 0, 1, 2))]
            cell |= {"execution_count": self.pick(None, 1), "outputs": outputs}
        elif self.random.random() < 0.2:
            cell["attachments"] = {"a.png": {"image/png": self.pick("aGk=", ["aG", "k="])}}
        if minor >= 5 and self.random.random() < 0.9:
            # A few names, so that some are taken twice.
            cell["id"] = self.pick(*"abcdefghijklmnop")
        return cell

    def make_notebook(self) -> dict[str, Any]:
        minor = self.pick(4, 5, 5)
        cells = [self.make_cell(minor) for _ in range(self.random.randrange(7))]
        if cells and self.random.random() < 0.3:
            cells.append(cells[0])
        return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": minor}

    def change_outside(self, notebook: dict[str, Any]) -> None:
        """Change a notebook as any other program may."""
        cells = notebook["cells"]
        match self.random.randrange(8):
            case 0:
                notebook["metadata"] = self.pick({}, {"title": "a"}, {"orig_nbformat": 3, "b": 1})
            case 1:
                notebook["nbformat_minor"] = self.pick(4, 5)
            case 2:
                self.random.shuffle(cells)
            case 3 if cells:
                cells.insert(self.random.randrange(len(cells)), cells[0])
            case 4 | 5 if cells:
                del cells[self.random.randrange(len(cells))]
            case _:
                cell = self.make_cell(notebook["nbformat_minor"])
                cells.insert(self.random.randrange(len(cells) + 1), cell)

    def make_operation(self) -> Operation:
        """Make an operation of our own, which may be impossible."""
        cell, index = self.random.randrange(6), self.random.randrange(6)
        operations: list[Operation] = [
            Replace(cell=cell, source=self.pick("a", "b\nc"), outputs=self.pick("keep", "clear")),
            Insert(index=index, cell_type=self.pick("code", "markdown"), source="new"),
            Delete(cell=cell),
            Move(cell=cell, index=index),
            SetMetadata(cell=cell, patch={"name": self.pick("a", None)}),
            ClearOutputs(cell=cell),
        ]
        return self.random.choice(operations)


class Tab:
    """An open tab, which has read whole notebooks through the Contents API.

    ``versions`` are those that it has had, and ``own`` the hashes of those since the last change by
    another program.
    """

    def __init__(self, folder: Path, seed: int, outcomes: Counter[str]) -> None:
        self.builder = ServiceBuilder(folder)
        self.writer = Writer(seed)
        self.manager = self.builder.build_manager()
        storages = self.builder.build_storages(self.manager)
        self.services = self.builder.build_editing(storages, notary=self.manager.notary)
        self.page = self.services.tabs.connect()
        self.services.tabs.set_open(self.page, {NAME: 1})
        self.file = self.builder.root / NAME
        self.versions: dict[str, dict[str, Any]] = {}
        self.own: list[str] = []
        self.outcomes = outcomes

    async def follow(self) -> None:
        """Make a few versions, and compare each with the deltas since all before it."""
        text = json.dumps(self.writer.make_notebook(), indent=self.writer.pick(None, 1))
        self.file.write_text(text)
        for _ in range(STEPS):
            notebook_hash = await self.services.reader.read_hash(NAME)
            # What the Contents API cannot read, a tab cannot have.
            with suppress(HTTPError, UnicodeEncodeError):
                version = await self.read_whole()
                for since, base in self.versions.items():
                    await self.compare(since, base, notebook_hash, version)
                self.versions[notebook_hash] = version
            self.own.append(notebook_hash)
            if self.writer.random.random() < 0.5:
                with suppress(NbEditError):
                    await self.services.edit(NAME, self.writer.make_operation())
            else:
                await self.report(notebook_hash)
                await self.change_outside()
                self.own.clear()
        await self.services.close()
        await self.builder.close()

    async def read_whole(self) -> dict[str, Any]:
        """Read the notebook through the Contents API, without ids generated at each read."""
        content = json.loads(json.dumps((await self.manager.get(NAME))["content"]))
        stored, names = json.loads(self.file.read_bytes()), set[str]()
        code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
        trusted = {cell["metadata"].pop("trusted") for cell in code}
        for cell, before in zip(content["cells"], stored["cells"], strict=True):
            name = before.get("id")
            if content["nbformat_minor"] >= 5 and (name is None or name in names):
                del cell["id"]
            names.add(name)
        del content["nbformat"]
        return {**content, "trusted": trusted}

    async def compare(
        self, since: str, base: dict[str, Any], notebook_hash: str, version: dict[str, Any]
    ) -> None:
        """Compare a version with an earlier one and the delta since that."""
        try:
            reply = await self.services.reader.read_delta(NAME, since)
        except VersionUnknown:
            # A tab of our own edits is always served, unless the Contents API cannot read the file.
            assert since not in self.own
            self.outcomes["unknown"] += 1
            return
        delta = json.loads(msgspec.json.encode(reply))
        assert (delta["since"], delta["hash"]) == (since, notebook_hash)
        assert version["trusted"] <= {delta["trusted"]}
        # Not a number equals nothing, but its text does.
        applied = apply_delta(base, delta)
        expected = {name: version[name] for name in applied}
        assert json.dumps(applied, sort_keys=True) == json.dumps(expected, sort_keys=True)
        has_copies = any("copy" in part for part in delta["cells"])
        self.outcomes["copied" if has_copies else "sent"] += 1

    async def report(self, notebook_hash: str) -> None:
        """Report what the tab shows, and wait until the server remembers it."""
        assert self.services.tabs.report(self.page, TabReport(NAME, "shown", notebook_hash))
        self.services.reader.remember_shown_version(NAME, notebook_hash)
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})

    async def change_outside(self) -> None:
        """Change the file as another program does, or as its user who trusts it."""
        if self.writer.random.random() < 0.2:
            with suppress(HTTPError, UnicodeEncodeError):
                await self.manager.trust_notebook(NAME)
            return
        notebook = json.loads(self.file.read_bytes())
        self.writer.change_outside(notebook)
        self.file.write_text(json.dumps(notebook, indent=self.writer.pick(1, 1, 1, None)))


async def test_base_and_delta_are_what_the_contents_api_returns() -> None:
    outcomes: Counter[str] = Counter()
    seeds = random.Random(get_seed())  # noqa: S311 -- not a secret
    while outcomes.total() < PAIRS:
        seed = seeds.getrandbits(32)
        with tempfile.TemporaryDirectory() as folder:
            try:
                await Tab(Path(folder), seed, outcomes).follow()
            except AssertionError as error:
                message = f"seed {seed}: {error}"
                raise AssertionError(message) from error
    assert outcomes["unknown"] < outcomes.total() / 4, outcomes
    assert outcomes["copied"] > outcomes.total() / 4, outcomes


@pytest.mark.parametrize("place", ["cell", "notebook"])
async def test_number_that_jupyter_cannot_read_is_not_sent(tmp_path: Path, place: str) -> None:
    tab = Tab(tmp_path, 0, Counter())
    cell = {"cell_type": "raw", "metadata": {}, "source": ""}
    notebook: dict[str, Any] = {"cells": [cell], "metadata": {}}
    notebook |= {"nbformat": 4, "nbformat_minor": 4}
    tab.file.write_text(json.dumps(notebook))
    await tab.report(notebook_hash := await tab.services.reader.read_hash(NAME))
    (cell if place == "cell" else notebook)["metadata"] = {"number": "long"}
    # CPython reads integers of up to 4,300 digits.
    tab.file.write_text(json.dumps(notebook).replace('"long"', "1" * 5_000))
    with pytest.raises(HTTPError, match="Unreadable"):
        await tab.manager.get(NAME)
    with pytest.raises(VersionUnknown):
        await tab.services.reader.read_delta(NAME, notebook_hash)
    await tab.services.close()
    await tab.builder.close()
