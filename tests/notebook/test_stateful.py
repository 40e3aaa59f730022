"""Random histories of a notebook: operations, undo, other writers; against the model.

A failure prints the steps that lead to it.
"""

import re
from collections import Counter
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import apply_splices, invert_splices
from tests.notebook import model
from tests.notebook.oracle import check_batch, edit
from tests.notebook.random_operations import (
    CELL_OPERATIONS,
    OPERATIONS,
    SECTION_OPERATIONS,
    RandomOperations,
    rewrite,
)
from tests.notebook.strategies import FileLayout, Members, layouts, notebooks
from tests.support.sampling import is_nightly

STEPS = 100_000 if is_nightly() else 300
STEPS_OF_A_LIFE = 50

PLAIN = re.compile(r"#{1,6} \w+|- \w[\w ]*|  \w+|\w[\w ]*|")


def is_plain(document: Document) -> bool:
    """Whether the model can read the notebook's sections."""
    return all(
        PLAIN.fullmatch(line)
        for at, (_, cell_type) in enumerate(document.headers)
        if cell_type == "markdown"
        for line in document.get_cell(at).source.split("\n")
    )


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
