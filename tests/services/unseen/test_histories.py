"""Random histories of what two users have not seen, against a model that knows all versions.

A history is a notebook and some steps: edits of agents, edits of a user in JupyterLab, what other
programs write over them, undo, redo and restore of edits, and what each user keeps and undoes.
Files, storage, edit service and database are real. The model compares the versions of the notebook
themselves; of an undo record it only knows which cells the edit has written or moved.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from jupyter_nbedit.errors import ChangeNotFound, EditNotFound, NbEditError, UndoConflict
from jupyter_nbedit.notebook.line_merge import merge_lines
from jupyter_nbedit.notebook.undo.record import CellState, UndoRecord
from jupyter_nbedit.services.requests import Author, WriteRequest
from jupyter_nbedit.services.unseen.models import UnseenCell, UnseenReply
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from tests.support import samples
from tests.support.sampling import get_seed, is_nightly
from tests.support.served_folder import ServedFolder, operations, serve_folder

HISTORIES = 5_000 if is_nightly() else 50
MAX_STEPS = 9
USERS = ("ann", "bob")
#: The notebook's own metadata, among the ids of cells.
METADATA = ""
#: Stands for the content of a cell that was changed since.
CONFLICT = object()
#: Members of the metadata of a cell that a run or a display of the cell writes.
VOLATILE = ("execution", "trusted")


@dataclass(frozen=True)
class Version:
    """A version of the notebook: the values of its cells, and of its metadata, by id."""

    text: bytes
    values: Mapping[str, Any]
    order: list[str]

    @classmethod
    def parse(cls, text: bytes) -> Version:
        notebook = json.loads(text)
        cells = [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"]]
        order = [cell.get("id", f"{index}") for index, cell in enumerate(cells)]
        values = dict(zip(order, cells, strict=True))
        return cls(text, {**values, METADATA: {"metadata": notebook["metadata"]}}, order)

    @property
    def hash(self) -> str:
        return samples.compute_hash(self.text)

    def read_content(self, cell_id: str) -> Any:
        """Return what makes a cell the one that an edit left, whatever runs have made of it."""
        if cell_id not in self.values:
            return None
        return strip_volatile(self.values[cell_id])


def strip_volatile(value: Any) -> Any:
    """Return the content of a cell, without what a run of it changes."""
    if value is None:
        return None
    metadata = {k: value["metadata"][k] for k in value["metadata"].keys() - set(VOLATILE)}
    return {"metadata": metadata, **{k: value.get(k) for k in ("cell_type", "source")}}


def revert_members(before: Any, after: Any, now: Any) -> Any:
    """Return the content of a cell without a change, member by member, or `CONFLICT`."""
    flat_before, flat_after, flat_now = (
        {"source": each.get("source"), "cell_type": each.get("cell_type"), **each["metadata"]}
        for each in (before, after, now)
    )
    for name in flat_before | flat_after:
        values: list[Any] = [each.get(name) for each in (flat_before, flat_after, flat_now)]
        old, new, current = values
        if old == new:
            continue
        if new == current:
            flat_now[name] = old
            continue
        merged = merge_lines(new, current, old) if name == "source" and current != old else None
        if merged is None:
            return CONFLICT
        flat_now[name] = merged
    reverted = {name: flat_now.pop(name) for name in ("source", "cell_type")}
    return {**reverted, "metadata": {k: v for k, v in flat_now.items() if v is not None}}


@dataclass(frozen=True)
class Change:
    """An edit of the history, with the versions before and after it."""

    edit_id: int
    user: str
    #: Whether the user made it in JupyterLab.
    is_own: bool
    is_outside: bool
    undoes: int | None
    before: Version
    after: Version
    #: The ids of the cells in the parts of its record, and those of the moved ones.
    parts: list[str]
    moved: frozenset[str]

    def touches(self, cell_id: str) -> bool:
        values = (self.before.values.get(cell_id), self.after.values.get(cell_id))
        # An undo may have written the same values in another way.
        return values[0] != values[1] or cell_id in self.parts

    def changes_position(self, cell_id: str) -> bool:
        is_there = [cell_id in version.values for version in (self.before, self.after)]
        return (is_there == [True, True] and cell_id in self.moved) or is_there.count(True) == 1

    def read_before(self, cell_id: str, content: Any) -> Any:
        """Return a cell before the change, with the content that it has without the change now."""
        before: Any = self.before.values.get(cell_id)
        is_same = before is None or self.before.read_content(cell_id) == content
        return before if is_same else {**before, **content}

    def revert(self, cell_id: str, now: Any) -> Any:
        """Return the content of a cell without the change, or `CONFLICT`, by member."""
        before, after = (each.read_content(cell_id) for each in (self.before, self.after))
        if now == after:
            return before
        if None in (before, after, now):
            return CONFLICT
        if before == after and before["source"] != now["source"] and cell_id not in self.moved:
            # Only outputs were changed, which are not those of another source.
            return CONFLICT
        return revert_members(before, after, now)

    @property
    def moves_cells(self) -> bool:
        return bool(self.moved) or set(self.before.order) != set(self.after.order)


@dataclass(frozen=True)
class Expected:
    """What a user has not seen of one cell: its value before, and the edits."""

    before: Any
    sources: list[int]


class UnseenHistory:
    """The history of one notebook, chosen by a number."""

    def __init__(self, served: ServedFolder, seed: str, counts: Counter[str]) -> None:
        self.served = served
        self.counts = counts
        self.random = random.Random(seed)  # noqa: S311 -- predictable on purpose
        self.path = served.root / f"u{samples.compute_hash(seed)[:12]}.ipynb"
        self.has_ids = self.random.random() < 0.8
        #: Whether a tab shows it, so that what other programs write is in the history.
        self.is_open = self.random.random() < 0.4
        self.new = self.newest_edit = 0
        self.versions: dict[str, Version] = {}
        self.last_version = Version(b"", {}, [])
        self.changes: list[Change] = []
        self.last_seen = dict.fromkeys(USERS, 0)
        #: The changes of cells that users have kept or undone, as edits and cells.
        self.seen: dict[str, set[tuple[int, str]]] = {user: set() for user in USERS}
        #: By the edits that have undone cells: the user who did it, and what they have undone.
        self.cell_undos: dict[int, tuple[str, set[tuple[int, str]]]] = {}

    # The notebook -----------------------------------------------------------------------------

    @property
    def version(self) -> Version:
        """The notebook as it is now, which is remembered."""
        text = self.path.read_bytes()
        if text != self.last_version.text:
            self.last_version = Version.parse(text)
            self.versions[self.last_version.hash] = self.last_version
        return self.last_version

    def write_notebook(self) -> None:
        count = self.random.randint(1, 7)
        made = []
        for at in range(count):
            cell_id = f"c{at}" if self.has_ids else None
            source = f"line {at}\nmore" if self.has_ids else self.random.choice("ab")
            if self.random.random() < 0.5:
                output = {"output_type": "stream", "name": "stdout", "text": [f"{at}\n"]}
                made.append(samples.code(source, cell_id, outputs=[output], execution_count=at))
            else:
                made.append(samples.markdown(source, cell_id))
        text = samples.notebook(*made, minor=5 if self.has_ids else 4)
        if self.random.random() < 0.3:
            text = text.replace(b"\n", b"\r\n")
        self.path.write_bytes(text)
        self.versions[self.version.hash] = self.version

    def write_source(self) -> str:
        if not self.has_ids:
            return self.random.choice("abc")
        return self.random.choice(["same", f"new {self.new}\nmore", f"line {self.new}", "a\nb\nc"])

    def choose_operation(self, count: int) -> dict[str, Any]:
        pick, at = self.random.choice, self.random.randrange
        self.new += 1
        inserted = {
            "op": "insert",
            "cell_type": pick(["code", "markdown"]),
            "source": self.write_source(),
            "index": at(count + 1),
            **({"id": f"n{self.new}"} if self.has_ids else {}),
        }
        metadata = {"op": "set_metadata", "patch": {pick("kl"): pick([None, 1, 2])}}
        if not count:
            return pick([inserted, metadata])
        cell = at(count)
        chosen = self.random.sample(range(count), min(count, pick([1, 1, 2, 3])))
        choices: list[dict[str, Any]] = [
            inserted,
            inserted,
            metadata,
            {**metadata, "cell": cell},
            {"op": "delete", "cells": chosen},
            {"op": "delete", "cell": cell},
            {"op": "move", "cells": chosen, "index": at(count + 1)},
            {"op": "move", "cell": cell, "at": pick(["start", "end"])},
            {"op": "replace", "cell": cell, "source": self.write_source()},
            {"op": "replace", "cell": cell, "source": self.write_source(), "outputs": "keep"},
            {"op": "replace", "cell": cell, "cell_type": pick(["code", "markdown"])},
            {"op": "split", "cell": cell, "at_line": 2},
            {"op": "merge", "cells": [cell, cell + 1]},
            {"op": "clear_outputs", "cell": cell},
            {"op": "clear_outputs", "all": True},
        ]
        return pick(choices)

    # Steps ------------------------------------------------------------------------------------

    def request(self, user: str, client: str | None) -> WriteRequest:
        is_person = client == "JupyterLab"
        return WriteRequest(self.path.name, Author(user, client, account=user, is_person=is_person))

    async def edit(self, client: str | None) -> None:
        user = self.random.choice(USERS)
        count = len(self.version.order)
        batch = [self.choose_operation(count) for _ in range(self.random.choice([1, 1, 2, 3]))]
        await self.served.services.editor.edit(self.request(user, client), operations(*batch))

    async def edit_as_agent(self) -> None:
        await self.edit(self.random.choice(["Claude", None]))

    async def edit_as_user(self) -> None:
        await self.edit("JupyterLab")

    async def save(self) -> None:
        """Write the notebook as JupyterLab or another program does."""
        notebook = json.loads(self.version.text)
        cells, pick = notebook["cells"], self.random.choice
        kind = pick(["change", "run", "insert", "delete", "format", "turn"])
        if kind == "change" and cells:
            pick(cells)["source"] = f"saved {self.new}"
        elif kind == "run":
            for cell in cells:
                if cell["cell_type"] == "code":
                    cell["metadata"]["execution"] = {"at": self.new}
                    cell["execution_count"] = 7
        elif kind == "insert":
            cell_id = f"s{len(self.versions)}" if self.has_ids else None
            cell = samples.markdown(f"saved {self.new}", cell_id)
            cells.insert(self.random.randrange(len(cells) + 1), cell)
        elif kind == "delete" and cells:
            cells.remove(pick(cells))
        elif kind == "turn":
            cells.reverse()
        if pick([True, True, False]):
            # A version that was not looked at cannot be compared.
            await self.look()
        self.path.write_text(
            json.dumps(notebook, indent=pick([1, 2]), sort_keys=pick([True, False]))
        )
        await self.look()

    async def look(self) -> None:
        """Look at the file, as the server does for a notebook that a tab shows."""
        if not self.is_open:
            return
        examiner = self.served.services.outside_changes
        examiner.notebooks.set_open({self.path.name: {self.path.name}})
        (notebook,) = examiner.notebooks
        notebook.os_path = str(self.path)
        notebook.update_identity(read_file_identity(notebook.os_path))
        await examiner.examine(notebook)

    async def undo_edit(self) -> None:
        if self.changes:
            user, client = self.random.choice(USERS), self.random.choice(["JupyterLab", None])
            edit_id = self.random.choice([None, None, self.random.choice(self.changes).edit_id])
            await self.served.services.editor.undo(
                self.request(user, client),
                edit_id,
                redo=self.random.random() < 0.4,
                whose=self.random.choice(["own", "all"]),
            )

    async def restore(self) -> None:
        if not self.changes:
            return
        chosen = self.random.choice(self.changes)
        user, client = self.random.choice(USERS), self.random.choice(["JupyterLab", None])
        is_exact = self.is_exact_since(chosen.edit_id)
        await self.served.services.editor.restore(self.request(user, client), chosen.edit_id)
        if is_exact:
            assert self.version.text == chosen.after.text

    async def keep(self) -> None:
        user = self.random.choice(USERS)
        reply = await self.read(user)
        some_edit = self.random.choice([0, *(change.edit_id for change in self.changes)])
        until = self.random.choice([None, None, reply.until, some_edit])
        service, path = self.served.services.unseen, self.path.name
        last_edit = reply.until if until is None else min(until, reply.until)
        if self.random.random() < 0.3 or not reply.cells:
            found = await service.keep(path, user, None, until)
            self.last_seen[user] = max(self.last_seen[user], last_edit)
            if last_edit == reply.until:
                assert found.cells == []
            assert await service.keep(path, user, None, until) == found
            self.counts["keep of all"] += 1
        else:
            cells = self.choose_cells(reply)
            found = await service.keep(path, user, [cell.key for cell in cells], until)
            self.mark(user, cells, last_edit)
            await self.note_revealed(user)
            if last_edit == reply.until:
                keys = {cell.key for cell in cells}
                assert keys.isdisjoint(cell.key for cell in found.cells)
                with pytest.raises(ChangeNotFound):
                    await service.keep(path, user, [cells[0].key], until)
                if self.has_ids:
                    check_rest(found, reply, keys)

    async def undo_cells(self) -> None:
        user = self.random.choice(USERS)
        reply = await self.read(user)
        if reply.cells:
            await self.undo_chosen(user, reply, self.choose_cells(reply))

    async def undo_chosen(self, user: str, reply: UnseenReply, cells: list[UnseenCell]) -> None:
        """Undo changes of cells, after which these are as the user has last seen them."""
        before, expected = self.version, self.predict(user)
        keys = {cell.key for cell in cells}
        written = await self.served.services.unseen.undo(
            self.request(user, self.random.choice(["JupyterLab", None])),
            [cell.key for cell in cells],
            self.random.choice([None, reply.until]),
        )
        self.mark(user, cells, reply.until)
        if written.edit_id is not None:
            undone = {(edit, cell.cell_id or METADATA) for cell in cells for edit in cell.edit_ids}
            self.cell_undos[written.edit_id] = (user, undone)
        await self.note_changes()
        if len(cells) == len(reply.cells):
            self.last_seen[user] = written.edit_id or reply.until
        elif written.edit_id is not None:
            self.seen[user] |= {(written.edit_id, cell_id) for cell_id in self.list_all_ids()}
            await self.note_revealed(user)
        after = await self.served.services.unseen.get(self.path.name, user)
        assert len(after.cells) <= len(reply.cells) - len(cells)
        assert keys.isdisjoint(cell.key for cell in after.cells)
        if not self.has_ids:
            return
        chosen = {cell.cell_id or METADATA for cell in cells}
        for cell_id in self.list_all_ids():
            wanted = before.values.get(cell_id)
            if cell_id in chosen:
                wanted = expected[cell_id].before
            assert self.strip(self.version.values.get(cell_id)) == self.strip(wanted)
        check_rest(after, reply, keys)
        assert list_old_order(after, self.version) == list_old_order(reply, before)

    async def undo_all(self, user: str) -> None:
        """Undo all that a user has not seen, after which the notebook is as it was last seen."""
        reply = await self.read(user)
        if not reply.cells:
            return
        order = list_old_order(reply, self.version) if self.has_ids else []
        seen_version = self.find_seen_version(user)
        has_outside_change = any(change.is_outside for change in self.changes)
        if self.random.random() < 0.5:
            await self.undo_chosen(user, reply, list(reply.cells))
            reply = await self.read(user)
        while reply.cells:
            await self.undo_chosen(user, reply, [self.random.choice(reply.cells)])
            reply = await self.read(user)
        if self.has_ids:
            assert self.version.order == order
        if seen_version is not None:
            assert self.version.values == seen_version.values
            if not has_outside_change:
                # Another program may have written all cells anew, which is no change of them.
                assert self.version.text == seen_version.text
                self.counts["bytes are back"] += 1
        assert (await self.read(user)).cells == []

    def choose_cells(self, reply: UnseenReply) -> list[UnseenCell]:
        return self.random.sample(reply.cells, self.random.randint(1, len(reply.cells)))

    # The model --------------------------------------------------------------------------------

    async def note_changes(self) -> None:
        """Add the edits that are new in the history to the model."""
        history, path = self.served.services.history, self.path.name
        self.versions[self.version.hash] = self.version
        entries, _ = await history.list_newer(path, self.newest_edit, limit=9, max_bytes=1 << 20)
        for entry in reversed(entries):
            self.newest_edit = entry.edit_id
            if not entry.record:
                # It is one by another program, and the version before it was not copied in time.
                continue
            parts = UndoRecord.decode(entry.record).parts
            self.changes.append(
                Change(
                    entry.edit_id,
                    entry.account,
                    entry.is_from_page,
                    entry.kind == "outside",
                    entry.undoes,
                    self.versions[entry.hash_before or ""],
                    self.versions[entry.hash],
                    [part.cell_id or METADATA for part in parts],
                    frozenset(part.cell_id or "?" for part in parts if part.is_moved),
                )
            )
            self.counts[entry.kind] += 1

    def mark(self, user: str, cells: list[UnseenCell], last_edit: int) -> None:
        for cell in cells:
            name = cell.cell_id or METADATA
            self.seen[user] |= {(edit, name) for edit in cell.edit_ids if edit <= last_edit}

    async def note_revealed(self, user: str) -> None:
        """Add what was marked as seen because it would be shown now, and was not before."""
        seen = await self.served.services.unseen.seen.read(self.path.name, user)
        expected = self.predict(user)
        for change in self.changes:
            for number in seen.parts.get(change.edit_id, ()):
                name = change.parts[number]
                if name in expected and expected[name].before == self.version.values.get(name):
                    self.seen[user].add((change.edit_id, name))

    def list_all_ids(self) -> list[str]:
        versions = [self.version, *(change.before for change in self.changes)]
        return list({name: None for version in versions for name in version.values})

    def list_unseen(self, user: str) -> list[Change]:
        return [c for c in reversed(self.changes) if c.edit_id > self.last_seen[user]]

    @property
    def is_exact(self) -> bool:
        """Whether all changes of the notebook are in the history."""
        return not self.changes or self.is_exact_since(self.changes[0].edit_id)

    def strip(self, value: Any) -> Any:
        """Return what is certain of a cell: a run that is not in the history changes the rest."""
        return value if self.is_exact else strip_volatile(value)

    def is_exact_since(self, edit_id: int) -> bool:
        """Whether nothing has changed the notebook since an edit but later edits."""
        later = [change for change in self.changes if change.edit_id > edit_id]
        texts = [change.before.text for change in later] + [self.version.text]
        ends = [change.after.text for change in self.changes if change.edit_id >= edit_id]
        return texts == ends

    def list_kept(self, user: str, changes: list[Change]) -> set[tuple[int, str]]:
        """Return what a user has seen of edits, without what the user has undone."""
        kept = set(self.seen[user])
        for parts in self.list_cell_undos(user, changes).values():
            kept -= parts
        return kept

    def list_cell_undos(self, user: str, changes: list[Change]) -> dict[int, set[tuple[int, str]]]:
        """Return what a user has undone by cells, by the undo, if all edits are among some."""
        numbers = {change.edit_id for change in changes}
        return {
            undo: parts
            for undo, (author, parts) in self.cell_undos.items()
            if author == user and {undo, *(edit_id for edit_id, _ in parts)} <= numbers
        }

    def find_undos(self, user: str, changes: list[Change]) -> dict[int, int]:
        """Return the undos of edits, by the edits, if both count as nothing."""
        by_number = {change.edit_id: change for change in changes}
        undos: dict[int, int] = {}
        partly_seen = {edit_id for edit_id, _ in self.list_kept(user, changes)}
        for change in changes:
            undone = by_number.get(change.undoes or 0)
            if undone is None or change.edit_id in undos or undone.edit_id in partly_seen:
                continue
            is_own = {c.edit_id: c.is_own and c.user == user for c in (change, undone)}
            if is_own[change.edit_id] or not is_own[undone.edit_id]:
                undos.setdefault(undone.edit_id, change.edit_id)
        return undos

    def predict(self, user: str) -> dict[str, Expected]:  # noqa: C901 -- the cases of the rule
        """Return what the user has not seen of each cell, also if nothing is left of it."""
        changes = self.list_unseen(user)
        undos = self.find_undos(user, changes)
        kept = self.list_kept(user, changes)
        own = {change.edit_id for change in changes if change.is_own and change.user == user}
        cell_undos = {
            undo: parts
            for undo, parts in self.list_cell_undos(user, changes).items()
            if undo not in undos
        }
        undone = {part for parts in cell_undos.values() for part in parts}
        expected: dict[str, Expected] = {}
        for cell_id in self.list_all_ids():
            before, sources = self.version.values.get(cell_id), list[int]()
            content = self.version.read_content(cell_id)
            counts: dict[int, int] = {}
            for change in changes:
                if not change.touches(cell_id):
                    continue
                reverted = change.revert(cell_id, content)
                if reverted is CONFLICT:
                    # A person has changed the same members since.
                    if change.changes_position(cell_id):
                        break
                    continue
                content = reverted
                if undos.get(change.undoes or 0) == change.edit_id:
                    counts[change.undoes or 0] = len(sources)
                    continue
                if change.edit_id in undos and change.edit_id in counts:
                    if len(sources) == counts[change.edit_id]:
                        continue
                elif change.edit_id in cell_undos or (change.edit_id, cell_id) in undone:
                    continue
                elif change.edit_id in own or (change.edit_id, cell_id) in kept:
                    break
                else:
                    sources.append(change.edit_id)
                before = change.read_before(cell_id, content)
            if sources:
                expected[cell_id] = Expected(before, sources[::-1])
        return expected

    def find_seen_version(self, user: str) -> Version | None:
        """Return the last version that a user has seen, if nothing was seen since."""
        changes = self.list_unseen(user)
        if not changes or not self.is_exact_since(changes[-1].edit_id):
            return None
        partly_seen = {edit_id for edit_id, _ in self.seen[user]}
        if any((c.is_own and c.user == user) or c.edit_id in partly_seen for c in changes):
            return None
        for undone, undo in self.find_undos(user, changes).items():
            if any(undone < c.edit_id < undo and c.moves_cells for c in changes):
                # A restored cell is beside other cells than before, which counts as nothing.
                return None
        return changes[-1].before

    # What must hold ---------------------------------------------------------------------------

    async def read(self, user: str) -> UnseenReply:
        """Return what a user has not seen, which is what the model expects."""
        reply = await self.served.services.unseen.get(self.path.name, user)
        assert reply.hash == self.version.hash
        assert not reply.truncated
        assert len({cell.key for cell in reply.cells}) == len(reply.cells)
        numbers = {edit_id for cell in reply.cells for edit_id in cell.edit_ids}
        assert [edit.edit_id for edit in reply.edits] == sorted(numbers)
        if self.has_ids:
            self.check_cells(reply, user)
        is_mine = [change.is_own and change.user == user for change in self.list_unseen(user)]
        if not reply.cells and not all(is_mine):
            self.last_seen[user] = reply.until
        return reply

    def check_cells(self, reply: UnseenReply, user: str) -> None:
        now, expected = self.version, self.predict(user)
        found = {cell.cell_id or METADATA: cell for cell in reply.cells}
        assert len(found) == len(reply.cells)
        for cell_id, each in expected.items():
            is_same = self.strip(each.before) == self.strip(now.values.get(cell_id))
            assert is_same or cell_id in found, cell_id
        for cell_id, cell in found.items():
            each, value = expected[cell_id], now.values.get(cell_id)
            assert list(cell.edit_ids) == each.sources
            self.check_state(cell.before, each.before)
            self.check_state(cell.after, value)
            if cell_id != METADATA:
                assert cell.index == (now.order.index(cell_id) if cell_id in now.order else None)
                assert (cell.index_before is None) == (each.before is None)
            if each.before == value and self.is_exact:
                assert cell.moved
            changes = [change for change in self.changes if change.edit_id in each.sources]
            is_moved = any(change.moves_cells for change in changes)
            assert is_moved or not cell.moved or not self.is_exact
            has_gap = cell_id != METADATA and (cell.moved or cell.after is None)
            assert (cell.gap is not None) == has_gap
        old_order = list_old_order(reply, now)
        befores = {cell_id: each.before for cell_id, each in expected.items()}
        assert {*old_order, METADATA} == {
            cell_id for cell_id, value in {**now.values, **befores}.items() if value is not None
        }
        seen_version = self.find_seen_version(user)
        if seen_version is not None:
            assert old_order == seen_version.order

    def check_state(self, state: CellState | None, value: Any) -> None:
        """Check a state of a cell in a reply."""
        assert (state is None) == (value is None)
        if state is not None:
            found = msgspec.structs.asdict(state)
            wanted = {name: value.get(name) for name in found}
            assert self.strip(found) == self.strip(wanted)

    async def run(self) -> None:
        """Make the steps, and compare what each user has not seen with the model after each."""
        self.write_notebook()
        await self.look()
        steps = {
            self.edit_as_agent: 8,
            self.edit_as_user: 2,
            self.save: 1,
            self.undo_edit: 2,
            self.restore: 1,
            self.keep: 3,
            self.undo_cells: 2,
        }
        for _ in range(self.random.randint(2, MAX_STEPS)):
            (step,) = self.random.choices(list(steps), list(steps.values()))
            refusals: tuple[type[NbEditError], ...] = (NbEditError,)
            if step in (self.keep, self.undo_cells):
                refusals = ()
            elif step == self.restore:
                refusals = (EditNotFound, UndoConflict)
            with suppress(*refusals):
                await step()
                self.counts[step.__name__] += 1
            await self.note_changes()
            for user in self.random.sample(USERS, 2):
                await self.read(user)
        for user in self.random.sample(USERS, 2):
            await self.undo_all(user)
            await self.note_changes()


def list_old_order(reply: UnseenReply, now: Version) -> list[str]:
    """Return the order of the cells before the changes, from what the reply says of them."""
    order = {
        cell.index_before: cell.cell_id or ""
        for cell in reply.cells
        if cell.index_before is not None and (cell.moved or cell.index is None)
    }
    rest = [
        name
        for name in now.order
        if name
        not in [cell.cell_id for cell in reply.cells if cell.moved or cell.index_before is None]
    ]
    for index in sorted(order):
        rest.insert(index, order[index])
    return rest


def check_rest(found: UnseenReply, before: UnseenReply, keys: Collection[str]) -> None:
    """Check that the changes are those from before, without those with some keys.

    A cell may be no longer moved, as cells are moved among each other.
    """
    found_cells = {cell.key: cell for cell in found.cells}
    rest = {cell.key: cell for cell in before.cells if cell.key not in keys}
    assert found_cells.keys() <= rest.keys()
    for key, cell in rest.items():
        if key in found_cells:
            same = found_cells[key]
            assert (same.cell_id, same.before, same.after) == (
                cell.cell_id,
                cell.before,
                cell.after,
            )
            assert same.edit_ids == cell.edit_ids
        else:
            assert cell.moved
            assert cell.before == cell.after


async def test_what_users_have_not_seen_is_what_the_versions_say() -> None:
    counts: Counter[str] = Counter()
    seed = get_seed()
    async with serve_folder() as served:
        for number in range(HISTORIES):
            history = UnseenHistory(served, f"{seed} {number}", counts)
            try:
                await history.run()
            except BaseException:
                print(f"history {number} of NBEDIT_SEED={seed}")
                raise
    print(dict(counts.most_common()))
    steps = {"edit", "outside", "undo", "keep", "undo_cells", "restore"}
    assert counts.keys() >= steps
