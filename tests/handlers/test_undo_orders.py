"""Cells that are undone one by one, in any order, end in the order that was kept.

So do parts of a proposal that are accepted one by one. One server or two of one user, with one
data folder, answer the requests.
"""

import itertools
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support import samples
from tests.support.deltas import apply_delta
from tests.support.driver import Notebook
from tests.support.http import Answer, Client
from tests.support.sampling import get_seed, is_nightly
from tests.support.servers import run_server

#: Of each number of servers.
HISTORIES = 2_500 if is_nightly() else 25
MAX_EDITS = 6
#: How many changes a refusal may leave in a hundred histories.
MAX_REFUSED = 2
SOURCES = ["a = 1", "b = 2\nc = 3", "", "# H\ntext", "x\ny\nz", "print('é')", "a = 1\n"]

Cells = list[dict[str, Any]]
Batch = list[dict[str, Any]]


@pytest.fixture(scope="module", params=[1, 2], ids=["one server", "two servers"])
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Yield servers of one user that serve one folder."""
    top = tmp_path_factory.mktemp("orders").resolve()
    environment = {
        "JUPYTER_DATA_DIR": str(top / "data"),
        "JUPYTER_RUNTIME_DIR": str(top / "runtime"),
    }
    for name in ("notebooks", "data"):
        (top / name).mkdir()
    with ExitStack() as stack:
        clients: list[Client] = []
        for number in range(request.param):
            folder = top / f"server{number}"
            folder.mkdir()
            (folder / "notebooks").symlink_to(top / "notebooks")
            clients.append(stack.enter_context(run_server(folder, environment=environment)))
        yield clients


def post(server: Client, target: str, **body: Any) -> Answer:
    return server.send_json("POST", f"{target}", body)


def read(file: Path, *, with_ids: bool = True) -> tuple[Cells, Any]:
    """Return the cells and the metadata of a notebook, however their texts are written."""
    notebook = json.loads(file.read_bytes())
    return normalize(notebook["cells"], with_ids=with_ids), notebook["metadata"]


def normalize(cells: Sequence[Mapping[str, Any]], *, with_ids: bool = True) -> Cells:
    found: Cells = []
    for cell in cells:
        same = {**cell, "source": "".join(cell["source"])}
        # The Contents API adds it.
        same["metadata"] = {k: v for k, v in cell["metadata"].items() if k != "trusted"}
        if cell.get("outputs"):
            same["outputs"] = [{**each, "text": "".join(each["text"])} for each in cell["outputs"]]
        if not with_ids:
            same.pop("id", None)
        found.append(same)
    return found


def make_cells(text: str, *, has_ids: bool = True) -> Cells:
    """Return a cell for each letter, which is its source and, in lower case, its id."""
    return [samples.raw(letter, letter.lower() if has_ids else None) for letter in text]


#: The kept cells, and edits of them.
CASES: dict[str, tuple[Cells, list[Batch]]] = {
    "several cells deleted by one edit": (
        make_cells("ABCD"),
        [[{"op": "delete", "cells": [1, 2]}]],
    ),
    "several cells without ids deleted by one edit": (
        make_cells("ABCD", has_ids=False),
        [[{"op": "delete", "cells": [1, 2]}]],
    ),
    "equal cells without ids deleted": (
        [*make_cells("A", has_ids=False), samples.markdown("A"), *make_cells("CA", has_ids=False)],
        [[{"op": "delete", "cells": [1, 2]}]],
    ),
    "a cell moved, another deleted": (
        make_cells("ABCD"),
        [[{"op": "move", "cell": 1, "at": "end"}], [{"op": "delete", "cell": 1}]],
    ),
    "a cell without id moved and changed, another deleted": (
        make_cells("ABCD", has_ids=False),
        [
            [{"op": "move", "cell": 1, "at": "end"}],
            [{"op": "replace", "cell": 3, "source": "Q"}],
            [{"op": "delete", "cell": 1}],
        ],
    ),
    "cells exchanged and deleted by one edit": (
        make_cells("AB"),
        [
            [{"op": "move", "cell": "b", "at": "start"}, {"op": "delete", "cells": [0]}],
            [{"op": "delete", "cells": [0]}],
        ],
    ),
    "cells exchanged, then deleted": (
        make_cells("AB"),
        [
            [{"op": "move", "cell": "b", "at": "start"}],
            [{"op": "delete", "cells": [1]}],
            [{"op": "delete", "cells": [0]}],
        ],
    ),
    "two cells deleted by two edits": (
        make_cells("ABX"),
        [[{"op": "delete", "cells": ["a"]}], [{"op": "delete", "cells": ["b"]}]],
    ),
    "two cells with one id deleted by two edits": (
        [samples.raw("A", "c"), samples.raw("B", "b"), samples.raw("C", "c")],
        [[{"op": "delete", "cells": [0]}], [{"op": "delete", "cells": [1]}]],
    ),
    "two cells with one id deleted by one edit": (
        [samples.raw("A", "c"), samples.raw("B", "b"), samples.raw("C", "c")],
        [[{"op": "delete", "cells": [0, 2]}]],
    ),
    "cells with one id moved and deleted": (
        [samples.raw("A", "c"), *make_cells("B"), samples.raw("C", "c"), *make_cells("DE")],
        [
            [
                {"op": "move", "cell": 0, "before": 2},
                {"op": "move", "cell": 0, "after": 1},
                {"op": "delete", "cells": [0, 3, 2]},
            ],
            [{"op": "delete", "cell": 0}],
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_cells_that_are_undone_one_by_one_have_the_kept_order(
    notebook: Notebook, case: str
) -> None:
    kept, batches = CASES[case]
    for order in itertools.permutations(range(4)):
        notebook.write(*kept)
        assert notebook.read().status == 200
        assert notebook.keep().status == 200
        for batch in batches:
            assert notebook.patch(*batch, client="Claude").status == 200
        undone: list[str] = []
        for choice in itertools.cycle(order):
            cells = notebook.list_unseen()
            if not cells:
                break
            cell = cells[min(choice, len(cells) - 1)]
            answer = notebook.undo(cells=[cell["key"]])
            assert answer.status == 200, answer.body
            undone.append(cell["key"])

        assert read(notebook.file)[0] == normalize(kept), undone


def test_undo_of_a_deleted_cell_leaves_another_with_its_id_in_the_list(notebook: Notebook) -> None:
    cells = [samples.raw("A", "c"), samples.raw("B", "b"), samples.raw("C", "c")]
    notebook.write(*cells)
    assert notebook.patch({"op": "delete", "cell": 0}, client="Claude").status == 200
    assert notebook.patch({"op": "delete", "cell": 1}, client="Claude").status == 200
    first, second = notebook.list_unseen()

    notebook.undo(cells=[first["key"]])

    assert [(cell["key"], cell["before"]) for cell in notebook.list_unseen()] == [
        (second["key"], second["before"])
    ]


@dataclass
class History:
    """A notebook and some edits of it, chosen by a number."""

    servers: Sequence[Client]
    seed: str
    counts: Counter[str]
    #: What was done, for the message of a failure.
    log: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 -- predictable on purpose
        self.path = f"{self.seed.replace(' ', '-')}.ipynb"
        self.file = self.servers[0].root / self.path
        self.has_ids = self.random.random() < 0.7
        self.kept: tuple[Cells, Any] = ([], {})

    @property
    def client(self) -> Client:
        """One of the servers."""
        return self.random.choice(self.servers)

    def post(self, target: str, **body: Any) -> Answer:
        """Send a request; a refusal changes nothing."""
        before = self.file.read_bytes()
        answer = post(self.client, target, **body)
        self.log.append((target, body, answer.status))
        assert answer.status in {200, 400, 404, 409}, (answer.status, answer.body, self.log)
        assert answer.status == 200 or self.file.read_bytes() == before, self.log
        return answer

    def make_cell(self, number: int) -> dict[str, Any]:
        source = self.random.choice(SOURCES)
        # Some ids are repeated.
        cell_id = self.random.choice(["c0", f"c{number}"]) if self.has_ids else None
        metadata = {"tags": ["t"]} if self.random.random() < 0.2 else {}
        if self.random.random() < 0.4:
            output = {"output_type": "stream", "name": "stdout", "text": [f"{number}\n"]}
            return samples.code(
                source, cell_id, outputs=[output], execution_count=1, metadata=metadata
            )
        make = self.random.choice([samples.raw, samples.markdown])
        return make(source, cell_id, metadata=metadata)

    def choose_operation(self, count: int) -> dict[str, Any]:
        pick, at = self.random.choice, self.random.randrange
        source = f"{pick(SOURCES)} #{at(4)}"
        insert = {"op": "insert", "cell_type": pick(["code", "raw"]), "source": source}
        ends: list[dict[str, Any]] = [{"at": "start"}, {"at": "end"}]
        if not count:
            return {**insert, **pick(ends)}
        cell, chosen = at(count), self.random.sample(range(count), self.random.randint(1, count))
        position = pick([*ends, {"after": at(count)}, {"before": at(count)}])
        found: dict[str, Any] = pick(
            [
                {**insert, **position},
                {**insert, **position},
                {"op": "delete", "cell": cell},
                {"op": "delete", "cells": chosen},
                {"op": "move", "cell": cell, **position},
                {"op": "move", "cells": chosen, **pick(ends)},
                {"op": "replace", "cell": cell, "source": source},
                {"op": "replace", "cell": cell, "source": source, "outputs": "keep"},
                {"op": "replace", "cell": cell, "cell_type": pick(["code", "markdown", "raw"])},
                {"op": "split", "cell": cell, "at_line": 2},
                {"op": "merge", "cells": [cell, min(cell + 1, count - 1)]},
                {"op": "clear_outputs", "cell": cell},
                {"op": "set_metadata", "cell": cell, "patch": {"tags": pick([["p"], None])}},
                {"op": "set_metadata", "patch": {"k": pick([1, 2, None])}},
            ]
        )
        return found

    def choose_batch(self) -> Batch:
        count = len(samples.load_cells(self.file.read_bytes()))
        return [self.choose_operation(count) for _ in range(self.random.choice([1, 1, 2, 3, 5]))]

    def begin(self) -> None:
        """Write the notebook, and let the user keep it."""
        cells = [self.make_cell(number) for number in range(self.random.randint(1, 7))]
        self.file.write_bytes(samples.notebook(*cells, minor=5 if self.has_ids else 4))
        self.log.append(cells)
        assert self.client.read(self.path).status == 200
        assert self.post(f"notebooks/{self.path}/keep").status == 200
        self.kept = read(self.file)

    def make_edits(self) -> list[tuple[int, bytes, bytes]]:
        """Edit the notebook; return the numbers of the edits, with the bytes before and after."""
        edits: list[tuple[int, bytes, bytes]] = []
        for _ in range(self.random.randint(1, MAX_EDITS)):
            batch, before = self.choose_batch(), self.file.read_bytes()
            answer = self.client.patch(self.path, *batch, client="Claude")
            self.log.append(batch)
            assert answer.status in {200, 400, 409}, answer.body
            after = self.file.read_bytes()
            if answer.status != 200:
                assert after == before
                self.log.pop()
            elif answer.json["edit_id"] is not None:
                edits.append((answer.json["edit_id"], before, after))
        return edits

    def run(self) -> None:
        """Make the history, and go one of the ways back, or accept a proposal in parts."""
        self.begin()
        known_hash = samples.hash_file(self.file)
        base = self.read_contents()
        edits = self.make_edits()
        if edits:
            self.check_delta(known_hash, base)
            way = self.random.choice(
                [self.undo_cells, self.undo_cells, self.restore, self.undo_edits, self.accept]
            )
            self.counts[f"{way.__name__} {'done' if way(edits) else 'refused'}"] += 1

    def read_contents(self) -> dict[str, Any]:
        """Return the notebook as a tab reads it."""
        content: dict[str, Any] = self.client.request("GET", f"api/contents/{self.path}").json[
            "content"
        ]
        return content

    def check_delta(self, known_hash: str, base: dict[str, Any]) -> None:
        """Check that a tab which knows the first version gets what a full read has."""
        answer = self.client.read(self.path, view="nbformat", since=known_hash)
        # A server knows the versions that it has read itself.
        assert answer.status in {200, 410}, answer.body
        if answer.status == 200:
            # The Contents API gives other ids in place of repeated ones.
            found, full = (
                normalize(content["cells"], with_ids=False)
                for content in (apply_delta(base, answer.json), self.read_contents())
            )
            assert found == full, self.log
            self.counts["delta"] += 1

    def undo_cells(self, edits: list[tuple[int, bytes, bytes]]) -> bool:
        """Undo cells in random order, mostly one by one; return whether that was possible.

        In between, some of these undos and some of the edits are undone as a whole, if possible.
        """
        most, left_count = self.random.choice([1, 1, 1, 9]), self.random.choice([0, 0, 2])
        edit_ids = [edit_id for edit_id, _, _ in edits]
        while cells := Notebook(self.client, self.path).list_unseen():
            chosen = self.random.sample(cells, min(len(cells), self.random.randint(1, most)))
            keys = [cell["key"] for cell in chosen]
            answer = self.post(f"notebooks/{self.path}/undo", cells=keys)
            if answer.status != 200:
                return False
            left = {cell["key"] for cell in Notebook(self.client, self.path).list_unseen()}
            assert left <= {cell["key"] for cell in cells} - {*keys}, self.log
            if left_count and left and answer.json["edit_id"] is not None:
                left_count -= 1
                edit_id = self.random.choice([answer.json["edit_id"], *edit_ids])
                self.post(f"notebooks/{self.path}/undo", edit_id=edit_id)
        assert read(self.file) == self.kept, self.log
        return True

    def restore(self, edits: list[tuple[int, bytes, bytes]]) -> bool:
        """Restore states after random edits."""
        for _ in range(3):
            edit_id, _before, after = self.random.choice(edits)
            before = self.file.read_bytes()
            answer = self.post(f"notebooks/{self.path}/restore", edit_id=edit_id)
            if answer.status != 200:
                return False
            found = self.file.read_bytes()
            assert found == after, (edit_id, self.log)
            if answer.json["edit_id"] is not None:
                edits.append((answer.json["edit_id"], before, found))
        return True

    def undo_edits(self, edits: list[tuple[int, bytes, bytes]]) -> bool:
        """Undo all edits, the newest first, and redo them."""
        for _, before, _ in reversed(edits):
            assert self.post(f"notebooks/{self.path}/undo", client="Claude").status == 200, self.log
            assert self.file.read_bytes() == before, self.log
        for _, _, after in edits:
            assert self.post(f"notebooks/{self.path}/redo", client="Claude").status == 200, self.log
            assert json.loads(self.file.read_bytes()) == json.loads(after), self.log
        return True

    def accept(self, _: list[tuple[int, bytes, bytes]]) -> bool:
        """Accept the parts of a proposal in random order; some are rejected and reopened first."""
        batch, proposer = self.choose_batch(), self.client
        copy = self.file.with_name(f"copy-{self.path}")
        copy.write_bytes(self.file.read_bytes())
        if proposer.patch(copy.name, *batch).status != 200:
            return True
        self.log.append(batch)
        proposer.set_mode("review", self.path)
        answer = proposer.patch(self.path, *batch, client="Claude")
        if answer.status != 202:
            assert read(self.file, with_ids=False) == read(copy, with_ids=False), self.log
            return True
        target = f"proposals/{answer.json['proposal_id']}"
        while True:
            parts = self.client.get_json(target)["parts"]
            numbers = {
                status: [part["part"] for part in parts if part["status"] == status]
                for status in ("pending", "rejected")
            }
            if not any(numbers.values()):
                break
            verb, status = self.random.choices(
                [("accept", "pending"), ("reject", "pending"), ("reopen", "rejected")], [6, 1, 3]
            )[0]
            if numbers[status]:
                chosen = self.random.sample(
                    numbers[status], self.random.choice([1, len(numbers[status])])
                )
                if self.post(f"{target}/{verb}", parts=chosen).status != 200:
                    return False
        assert read(self.file, with_ids=False) == read(copy, with_ids=False), self.log
        return True


def test_every_way_back_from_random_edits_ends_in_a_state_that_was_there(
    servers: Sequence[Client],
) -> None:
    counts: Counter[str] = Counter()
    for number in range(HISTORIES):
        seed = f"{len(servers)} {get_seed()} {number}"
        try:
            History(servers, seed, counts).run()
        except BaseException:
            print(f"history {seed!r} of NBEDIT_SEED={get_seed()}")
            raise
    print(dict(counts))

    ways = {"undo_cells", "restore", "undo_edits", "accept"}
    assert {f"{way} done" for way in ways} <= counts.keys()
    refused = sum(count for outcome, count in counts.items() if outcome.endswith("refused"))
    assert refused <= MAX_REFUSED * HISTORIES / 100
