"""JupyterLab opens, folds, scrolls, runs and saves: changes of agents stay unseen and undoable.

By night with each real notebook of the corpus, by day with some.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.services.edits.accept import AcceptService
from jupyter_nbedit.services.requests import Author, WriteRequest
from tests.support import corpora, jupyterlab, samples
from tests.support.sampling import choose, seeded_random
from tests.support.served_folder import operations
from tests.support.services import EditingServices, ServiceBuilder

JSON = dict[str, Any]
AGENT = Author("agent", "Claude", account="agent")
PERSON = Author("ann", "jupyterlab", account="ann", is_person=True)
OPERATIONS = ["source", "source with outputs", "tags", "type", "delete", "insert"]


def build_operation(kind: str, document: Document, chance: random.Random) -> JSON | None:
    """Return an operation on a cell that can be told from the others."""
    sources = [document.get_cell(index).source for index in range(len(document))]
    indexes = [index for index, source in enumerate(sources) if sources.count(source) == 1]
    # JupyterLab gives new ids to cells with the same id.
    if document.has_ids and any(len(indexes) > 1 for indexes in document.ids.values()):
        return None
    if not indexes:
        return None
    index = chance.choice(indexes)
    cell = document.get_cell(index)
    source = f"{cell.source}\nedited = True"
    return {
        "source": {"op": "replace", "cell": index, "source": source},
        "source with outputs": {
            "op": "replace",
            "cell": index,
            "source": f"edited = True\n{cell.source}",
            "outputs": "keep",
        },
        "tags": {"op": "set_metadata", "cell": index, "patch": {"tags": ["edited"]}},
        "type": {
            "op": "replace",
            "cell": index,
            "cell_type": "raw" if cell.cell_type != "raw" else "markdown",
        },
        "delete": {"op": "delete", "cell": index},
        "insert": {"op": "insert", "before": index, "cell_type": "code", "source": "edited = True"},
    }[kind]


def describe(text: bytes) -> list[tuple[Any, ...]]:
    """Return what an undo must return: type, source, tags and used attachments of each cell."""
    cells = json.loads(text)["cells"]
    return [
        (
            cell["cell_type"],
            "".join(cell.get("source", "")),
            cell["metadata"].get("tags"),
            {
                name: value
                for name, value in cell.get("attachments", {}).items()
                if name in "".join(cell.get("source", ""))
            },
        )
        for cell in cells
    ]


class UsedNotebook:
    """A notebook that an agent edits and a person uses."""

    def __init__(self, builder: ServiceBuilder, services: EditingServices, text: bytes) -> None:
        self.builder, self.services = builder, services
        self.path = f"{len(builder.storage.notebooks)}.ipynb"
        builder.storage.notebooks[self.path] = text

    @property
    def text(self) -> bytes:
        return self.builder.storage.notebooks[self.path]

    async def edit(self, operation: JSON) -> int | None:
        """Edit it; return the number of the proposal, if there is one."""
        request = WriteRequest(self.path, AGENT)
        reply = await self.services.editor.edit(request, operations(operation))
        return reply.proposal_id or None

    async def edit_randomly(
        self, kind: str, chance: random.Random
    ) -> tuple[JSON, int | None] | None:
        """Edit it by an operation of a kind; return it, and the number of the proposal.

        Return None if this notebook cannot be edited so.
        """
        try:
            operation = build_operation(kind, Document.parse(self.text), chance)
            return None if operation is None else (operation, await self.edit(operation))
        except NbEditError:
            return None

    def use(self, chance: random.Random) -> list[str]:
        actions = chance.sample(jupyterlab.ACTIONS, chance.randint(1, len(jupyterlab.ACTIONS)))
        self.builder.storage.notebooks[self.path] = jupyterlab.use(self.text, chance, actions)
        return [action.__name__ for action in actions]


def list_cases(kind: str) -> list[tuple[Path, bytes]]:
    paths = choose(f"jupyterlab saves {kind}", corpora.notebooks(), 12)
    return [(path, path.read_bytes()) for path in paths]


@pytest.mark.parametrize("kind", OPERATIONS)
async def test_a_change_stays_unseen_and_is_undone_however_jupyterlab_is_used(
    tmp_path: Path, kind: str
) -> None:
    builder = ServiceBuilder(tmp_path)
    services = builder.build_editing()
    count = 0
    for path, text in list_cases(kind):
        chance = seeded_random(f"{kind} {path.name}")
        notebook = UsedNotebook(builder, services, text)
        edited = await notebook.edit_randomly(kind, chance)
        if edited is None:
            continue
        operation, _ = edited
        label = f"{path}: {operation}, {notebook.use(chance)}"
        unseen = await services.unseen.get(notebook.path, PERSON.account)
        assert len(unseen.cells) == 1, label
        keys = [cell.key for cell in unseen.cells]
        by_part = chance.random() < 0.5
        request = WriteRequest(notebook.path, PERSON)
        try:
            if by_part:
                await services.unseen.undo(request, keys, None)
            else:
                await services.editor.undo(request, whose="all")
        except NbEditError as error:
            pytest.fail(f"{label}: {error.message}")
        assert describe(notebook.text) == describe(text), label
        count += 1
    await builder.close()
    # Few notebooks cannot be edited so.
    assert count > len(list_cases(kind)) * 3 / 4


@pytest.mark.parametrize("kind", OPERATIONS)
async def test_a_proposal_stays_acceptable_however_jupyterlab_is_used(
    tmp_path: Path, kind: str
) -> None:
    builder = ServiceBuilder(tmp_path)
    services = builder.build_editing(mode="review")
    proposals = services.editor.proposals
    accepting = AcceptService(services.editor, proposals)
    count = 0
    for path, text in list_cases(kind):
        chance = seeded_random(f"{kind} {path.name}")
        notebook = UsedNotebook(builder, services, text)
        edited = await notebook.edit_randomly(kind, chance)
        if edited is None:
            continue
        operation, proposal_id = edited
        assert proposal_id is not None
        label = f"{path}: {operation}, {notebook.use(chance)}"
        proposal = await proposals.compare(await proposals.get(proposal_id))
        assert [part.state for part in proposal.parts] == ["as_proposed"], label
        await accepting.accept(proposal_id, None, PERSON)
        document = Document.parse(text)
        plan = apply_operations(document, operations(operation), fresh_id=lambda: "new")
        expected = document.apply_splices(plan.splices).text[:]
        assert describe(notebook.text) == describe(expected), label
        count += 1
    await builder.close()
    # Few notebooks cannot be edited so.
    assert count > len(list_cases(kind)) * 3 / 4


@pytest.mark.parametrize(
    ("change", "is_seen"),
    [
        ({"source": "x = 3"}, True),
        ({"source": "x = 2", "cell_type": "raw"}, False),
        ({"source": "x = 2", "metadata": {"tags": ["new"]}}, False),
    ],
)
async def test_a_change_is_seen_once_a_person_has_changed_the_same_member(
    tmp_path: Path, change: JSON, *, is_seen: bool
) -> None:
    builder = ServiceBuilder(tmp_path)
    services = builder.build_editing()
    notebook = UsedNotebook(builder, services, samples.notebook(samples.code("x = 1", "a")))
    await notebook.edit({"op": "replace", "cell": "a", "source": "x = 2"})
    content = json.loads(notebook.text)
    content["cells"][0].update(change)
    builder.storage.notebooks[notebook.path] = jupyterlab.save(content)
    unseen = await services.unseen.get(notebook.path, PERSON.account)
    assert bool(unseen.cells) != is_seen
    await builder.close()


async def test_a_person_has_seen_the_changes_of_the_members_that_were_changed_since(
    tmp_path: Path,
) -> None:
    builder = ServiceBuilder(tmp_path)
    services = builder.build_editing()
    text = samples.notebook(samples.code("x = 1", "a"), samples.code("y = 1", "b"))
    notebook = UsedNotebook(builder, services, text)
    await notebook.edit({"op": "set_metadata", "cell": "a", "patch": {"tags": ["agent"]}})
    await notebook.edit({"op": "replace", "cell": "a", "source": "x = 2"})
    await notebook.edit({"op": "replace", "cell": "b", "source": "y = 2"})
    await notebook.edit({"op": "set_metadata", "patch": {"k": 1}})
    await notebook.edit({"op": "set_metadata", "patch": {"l": 1}})
    content = json.loads(notebook.text)
    content["cells"][0]["source"] = ["x = 3"]
    content["metadata"]["l"] = 2
    builder.storage.notebooks[notebook.path] = jupyterlab.save(content)
    unseen = await services.unseen.get(notebook.path, PERSON.account)
    assert [(cell.cell_id, cell.edit_ids) for cell in unseen.cells] == [
        ("a", [1]),
        ("b", [3]),
        (None, [4]),
    ]
    request = WriteRequest(notebook.path, PERSON)
    await services.unseen.undo(request, [unseen.cells[0].key], None)
    assert describe(notebook.text) == [
        ("code", "x = 3", None, {}),
        ("code", "y = 2", None, {}),
    ]
    unseen = await services.unseen.get(notebook.path, PERSON.account)
    assert [(cell.cell_id, cell.edit_ids) for cell in unseen.cells] == [("b", [3]), (None, [4])]
    await services.unseen.undo(request, [unseen.cells[1].key], None)
    assert json.loads(notebook.text)["metadata"].get("k") is None
    assert json.loads(notebook.text)["metadata"]["l"] == 2
    await builder.close()
