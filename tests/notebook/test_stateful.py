"""Random histories of a notebook: operations, undo, other writers; against the model.

A failure prints the steps that lead to it.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, get_args

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.splices import apply_splices, invert_splices
from tests.notebook import model
from tests.notebook.oracle import check_batch, edit
from tests.notebook.strategies import FileLayout, Members, Token, layouts, notebooks
from tests.support.sampling import is_nightly

STEPS = 100_000 if is_nightly() else 300
STEPS_OF_A_LIFE = 50

# What the model of sections understands of Markdown.
LINES = ["# A", "## B", "# C", "### D", "- one", "- Two", "- two and one", "  deep", "text", ""]
PLAIN = re.compile(r"#{1,6} \w+|- \w[\w ]*|  \w+|\w[\w ]*|")
NAMES = ["A", "B", "## B", "C", "# A", "D", "missing"]
WORDS = ["one", "two", "text", "deep", "uno", "e"]
TYPES = ["code", "markdown", "markdown", "raw"]
PATCHES: list[dict[str, Any]] = [
    {"tags": ["a"]},
    {"tags": None},
    {"k": {"x": {"y": 1}}},
    {"k": {"x": None, "z": [None, 1.5]}},
    {"editable": False},
    {"editable": None},
    {"editable": True, "k": 2},
    {"deletable": None, "tags": []},
    {"deletable": False},
    {"deletable": None},
    {},
]


class RandomOperations:
    """The choices of one step, all made from one number, which is much faster to draw."""

    def __init__(self, seed: int, total: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 -- predictable on purpose
        self.total = total
        self.ids: list[str] = []

    def source(self) -> str:
        lines = [self.random.choice(LINES) for _ in range(self.random.randrange(7))]
        return "\n".join(lines) + self.random.choice(["", "\n"])

    def notebook(self, layout: FileLayout) -> bytes:
        """Write a notebook as many are: some cells, with outputs, and ids of their own."""
        ids, cells = self.random.random() < 0.7, []
        for at in range(self.random.randrange(2, 9)):
            cell_type = self.random.choice(TYPES)
            pairs = [("cell_type", cell_type), ("metadata", Members([])), ("source", self.source())]
            if cell_type == "code":
                output = Members([("output_type", "stream"), ("text", ["1\n"])])
                pairs += [("execution_count", at), ("outputs", [output])]
            cells.append(Members([*pairs, ("id", f"c{at}")] if ids else pairs))
        top = [("cells", cells), ("metadata", Members([])), ("nbformat", 4)]
        return layout.write(Members([*top, ("nbformat_minor", 5 if ids else 4)])).encode()

    def cell(self) -> str | int:
        at = self.random.randrange(self.total + (self.random.random() < 0.03)) if self.total else 0
        named = self.ids and self.random.random() < 0.3
        if named:
            return self.random.choice(self.ids)
        return at if self.random.random() < 0.7 else f"cell-{at}"

    def draw_address(self) -> dict[str, Any]:
        if self.random.random() < 0.5:
            return {"cell": self.cell()}
        return {"cells": [self.cell() for _ in range(self.random.randrange(1, 4))]}

    def place(self) -> dict[str, Any]:
        choices: list[dict[str, Any]] = [
            {"at": self.random.choice(["start", "end"])},
            {"index": self.random.randrange(self.total + 1)},
            {self.random.choice(["after", "before"]): self.cell()},
        ]
        return self.random.choice(choices)

    def operation(self, kind: str) -> dict[str, Any]:
        return {"op": kind, **getattr(self, kind)()}

    def replace(self) -> dict[str, Any]:
        fields = {"source": self.source(), "cell_type": self.random.choice(TYPES)}
        members = self.random.choice([["source"], ["source"], ["cell_type"], list(fields)])
        outputs = self.random.choice(["clear", "keep"])
        return {"cell": self.cell(), "outputs": outputs, **{name: fields[name] for name in members}}

    def replace_text(self) -> dict[str, Any]:
        def one() -> dict[str, Any]:
            old, new = self.random.choice(WORDS), self.random.choice(WORDS)
            return {"old": old, "new": new, "all": self.random.random() < 0.6}

        edits = {"edits": [one() for _ in range(self.random.randrange(1, 3))]}
        return {"cell": self.cell(), **self.random.choice([one(), edits])}

    def insert(self) -> dict[str, Any]:
        cell_type, fields = self.random.choice(TYPES), {}
        if self.random.random() < 0.5:
            fields["id"] = f"new-{self.random.randrange(1000)}"
            self.ids.append(fields["id"])
        return {"source": self.source(), "cell_type": cell_type, **fields, **self.place()}

    def delete(self) -> dict[str, Any]:
        return self.draw_address()

    def move(self) -> dict[str, Any]:
        return {**self.draw_address(), **self.place()}

    def split(self) -> dict[str, Any]:
        return {"cell": self.cell(), "at_line": self.random.choice([2, 2, 3])}

    def merge(self) -> dict[str, Any]:
        at = self.random.randrange(max(1, self.total - 1))
        return {"cells": [at, at + 1]}

    def clear_outputs(self) -> dict[str, Any]:
        return self.random.choice([{"all": True}, self.draw_address()])

    def set_metadata(self) -> dict[str, Any]:
        named = {"cell": self.cell()} if self.random.random() < 0.7 else {}
        return {"patch": self.random.choice(PATCHES), **named}

    def append_to_section(self) -> dict[str, Any]:
        kind = self.random.choice([{}, {}, {"cell_type": "code"}])
        return {"section": self.random.choice(NAMES), "source": self.source(), **kind}

    def replace_section(self) -> dict[str, Any]:
        return self.append_to_section()

    def remove_entry(self) -> dict[str, Any]:
        match = self.random.choice(["ONE", "two", "deep", "and"])
        return {"section": self.random.choice(NAMES), "match": match}


OPERATIONS = sorted(operation.__struct_config__.tag for operation in get_args(Operation))
CELL_OPERATIONS = [name for name in OPERATIONS if not name.endswith(("_section", "_entry"))]
SECTION_OPERATIONS = [name for name in OPERATIONS if name not in CELL_OPERATIONS]


def is_plain(document: Document) -> bool:
    """Whether the model can read the notebook's sections."""
    return all(
        PLAIN.fullmatch(line)
        for at, (_, cell_type) in enumerate(document.headers)
        if cell_type == "markdown"
        for line in document.get_cell(at).source.split("\n")
    )


def rewrite(text: bytes, layout: FileLayout, change: Callable[[list[Any]], None]) -> bytes:
    """Rewrite the file as another program: another layout, and a change of its cells."""
    notebook = json.loads(
        text.decode("utf-8-sig"),
        object_pairs_hook=Members,
        parse_int=Token,
        parse_float=Token,
        parse_constant=Token,
    )
    change(dict(notebook.pairs)["cells"])
    try:
        return layout.write(notebook).encode()
    except UnicodeEncodeError:
        return replace(layout, ascii=True).write(notebook).encode()


class NotebookMachine(RuleBasedStateMachine):
    """One notebook, from whatever it is at first."""

    done: ClassVar[Counter[str]] = Counter()

    @initialize(
        text=notebooks(),
        layout=layouts,
        seed=st.integers(0, 2**32),
        usual=st.sampled_from([1, 1, 0]),
    )
    def begin(self, text: bytes, layout: FileLayout, seed: int, usual: int) -> None:
        self.text = RandomOperations(seed, 0).notebook(layout) if usual else text
        self.undo: list[tuple[bytes, bytes, list[Any]]] = []

    def apply(self, operations: list[dict[str, Any]]) -> None:
        document = Document.parse(self.text)
        after = check_batch("stateful", document, operations)
        self.done["refused" if after is None else "edits"] += 1
        self.done.update(operation["op"] for operation in operations if after is not None)
        if after is not None and after != self.text:
            splices = edit(document, *operations).splices
            self.undo.append((self.text, after, invert_splices(self.text, splices)))
            self.text = after

    @rule(
        seed=st.integers(0, 2**32),
        kinds=st.lists(st.sampled_from(CELL_OPERATIONS), min_size=1, max_size=3),
    )
    def edit_cells(self, seed: int, kinds: list[str]) -> None:
        self.done["steps"] += 1
        drawn = RandomOperations(seed, len(Document.parse(self.text)))
        self.apply([drawn.operation(kind) for kind in kinds])

    @rule(seed=st.integers(0, 2**32), kind=st.sampled_from(CELL_OPERATIONS))
    def edit_one_cell(self, seed: int, kind: str) -> None:
        self.done["steps"] += 1
        self.apply([RandomOperations(seed, len(Document.parse(self.text))).operation(kind)])

    @rule(
        seed=st.integers(0, 2**32),
        kinds=st.lists(st.sampled_from(SECTION_OPERATIONS), min_size=1, max_size=2),
    )
    def edit_sections(self, seed: int, kinds: list[str]) -> None:
        self.done["steps"] += 1
        document = Document.parse(self.text)
        drawn = RandomOperations(seed, len(document))
        if is_plain(document):
            self.apply([drawn.operation(kind) for kind in kinds])
        else:
            odd = [at for at, (_, kind) in enumerate(document.headers) if kind == "markdown"]
            replaced = [{"op": "replace", "cell": at, "source": drawn.source()} for at in odd]
            self.apply(replaced)

    @rule(times=st.integers(1, 3))
    def take_back(self, times: int) -> None:
        self.done["steps"] += 1
        for _ in range(min(times, len(self.undo))):
            before, after, splices = self.undo.pop()
            assert self.text == after
            self.text = apply_splices(self.text, splices)
            assert self.text == before
            self.done["undone"] += 1

    @rule(layout=layouts, seed=st.integers(0, 2**32))
    def rewrite_file(self, layout: FileLayout, seed: int) -> None:
        self.done["steps"] += 1
        drawn = RandomOperations(seed, 0)

        def change(cells: list[Any]) -> None:
            kind = drawn.random.choice(["none", "more", "fewer", "turned"])
            if kind == "more":
                cell = [
                    ("cell_type", "markdown"),
                    ("metadata", Members([])),
                    ("source", drawn.source()),
                ]
                cells.insert(drawn.random.randrange(len(cells) + 1), Members(cell))
            elif kind == "fewer" and cells:
                cells.pop(drawn.random.randrange(len(cells)))
            elif kind == "turned":
                cells.reverse()

        before = model.decode_notebook(self.text)
        self.text = rewrite(self.text, layout, change)
        assert model.decode_notebook(self.text).keys() == before.keys()
        # What was undone on the old bytes cannot be undone on the new ones.
        self.undo.clear()
        self.done["outside"] += 1

    @rule()
    def read_again(self) -> None:
        self.done["steps"] += 1
        document = Document.parse(self.text)
        cells = model.decode_notebook(self.text)["cells"]
        assert len(document) == len(cells)
        for at, cell in enumerate(cells):
            found = document.get_cell(at)
            assert (found.id, found.cell_type) == (cell.get("id"), cell["cell_type"])
            assert found.source == model.get_source(cell)
            assert found.source_hash == compute_source_hash(model.get_source(cell))
        self.done["read"] += 1


def test_a_random_history_of_a_notebook_matches_the_model() -> None:
    NotebookMachine.done.clear()
    run_state_machine_as_test(
        NotebookMachine,
        settings=settings(
            # Hypothesis ends some lives early.
            max_examples=STEPS // STEPS_OF_A_LIFE * 2,
            stateful_step_count=STEPS_OF_A_LIFE,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )
    print(dict(NotebookMachine.done.most_common()))
    # Few steps would prove little.
    assert NotebookMachine.done["steps"] >= STEPS / 2
    assert NotebookMachine.done["edits"] > STEPS / 20
    if is_nightly():
        assert set(NotebookMachine.done) >= {*OPERATIONS, "undone", "outside", "read"}
