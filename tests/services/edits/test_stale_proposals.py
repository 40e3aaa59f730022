"""Random proposals for notebooks that others change: what a proposal says is what accept does.

Whatever others have written is read from the bytes of the notebook. The sources have what sources
may have: carriage returns, lone surrogates, characters beyond 16 bits, and no line at all.
"""

import json
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from jupyter_nbedit.errors import CellChanged, Forbidden, NbEditError, NothingToUndo, ProposalClosed
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo.revert import ChosenSource, Resolution
from jupyter_nbedit.services.edits.accept import AcceptService
from jupyter_nbedit.services.proposals.models import Proposal, ProposedPart
from jupyter_nbedit.services.proposals.service import ProposalService
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import Author, WriteRequest
from tests.notebook.undo.oracle import list_cell_bytes
from tests.support import samples
from tests.support.sampling import get_seed, is_nightly
from tests.support.served_folder import operations
from tests.support.services import EditingServices, ServiceBuilder

PROPOSALS = 5_000 if is_nightly() else 50
LINES = ["", "a", "b", "x = '\U0001f600'", "\r", "carriage\rreturn", "\ud800", "é\u2028", "\\/"]
MERGE = Resolution()
NO_MERGE = Resolution(merges_lines=False)
USER = Author("ann", "JupyterLab", account="ann")


class StaleProposal:
    """A proposal for one notebook, and what becomes of the notebook, chosen by a number."""

    def __init__(self, builder: ServiceBuilder, services: EditingServices, seed: str) -> None:
        self.random = random.Random(seed)  # noqa: S311 -- predictable on purpose
        self.notebooks = builder.storage.notebooks
        self.services = services
        self.proposals: ProposalService = services.editor.proposals
        self.accepting = AcceptService(services.editor, self.proposals)
        self.path = f"{seed.replace(' ', '-')}.ipynb"
        self.has_ids = self.random.random() < 0.7

    @property
    def text(self) -> bytes:
        return self.notebooks[self.path]

    @text.setter
    def text(self, text: bytes) -> None:
        self.notebooks[self.path] = text

    def write_source(self) -> str:
        lines = [self.random.choice(LINES) for _ in range(self.random.randrange(6))]
        return "\n".join(lines)

    def change_source(self, source: str) -> str:
        lines = source.split("\n")
        at = self.random.randrange(len(lines))
        lines[at : at + self.random.randrange(2)] = [f"new {self.random.randrange(3)}"]
        return "\n".join(lines)

    def write_notebook(self) -> bytes:
        cells = []
        for number in range(self.random.randint(1, 5)):
            build = self.random.choice([samples.code, samples.markdown, samples.raw])
            cells.append(build(self.write_source(), f"c{number}" if self.has_ids else None))
        notebook: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4}
        notebook["nbformat_minor"] = 5 if self.has_ids else 4
        text = json.dumps(notebook, indent=self.random.choice([None, 1, 2])).encode()
        return text.replace(b"\n", b"\r\n") if self.random.random() < 0.3 else text

    def choose_operation(self, document: Document) -> dict[str, Any]:
        pick, count = self.random.choice, len(document)
        source = self.write_source()
        insert = {"op": "insert", "index": self.random.randrange(count + 1), "source": source}
        insert["cell_type"] = pick(["code", "raw"])
        if not count:
            return insert
        cell = self.random.randrange(count)
        changed = self.change_source(document.get_cell(cell).source)
        choices: list[dict[str, Any]] = [
            insert,
            *[{"op": "replace", "cell": cell, "source": changed}] * 5,
            {"op": "replace", "cell": cell, "source": source},
            {"op": "replace", "cell": cell, "cell_type": pick(["code", "raw"]), "source": changed},
            {"op": "delete", "cell": cell},
            {"op": "move", "cell": cell, "at": pick(["start", "end"])},
            {"op": "set_metadata", "cell": cell, "patch": {pick("kl"): pick([1, 2])}},
            {"op": "set_metadata", "patch": {pick("kl"): pick([1, 2])}},
        ]
        return pick(choices)

    def choose_batch(self) -> list[dict[str, Any]]:
        document = Document.parse(self.text)
        return [self.choose_operation(document) for _ in range(self.random.randint(1, 3))]

    async def propose(self) -> int | None:
        request = WriteRequest(self.path, Author("agent", "Claude"))
        try:
            reply = await self.services.editor.edit(request, operations(*self.choose_batch()))
        except NbEditError:
            return None
        return reply.proposal_id or None

    def change(self) -> None:
        """Change the notebook as other programs do."""
        for _ in range(self.random.randrange(4)):
            document = Document.parse(self.text)
            try:
                batch = operations(self.choose_operation(document))
                plan = apply_operations(document, batch, fresh_id=lambda: uuid4().hex)
            except NbEditError:
                continue
            self.text = document.apply_splices(plan.splices).text[:]
        if self.random.random() < 0.3:
            self.text = json.dumps(json.loads(self.text), indent=1).encode()

    async def read(self, proposal_id: int) -> Proposal:
        return await self.proposals.compare(await self.proposals.get(proposal_id))

    async def accept(
        self, proposal: Proposal, part: int, resolution: Resolution, *, dry_run: bool = False
    ) -> EditReply:
        return await self.accepting.accept(
            proposal.proposal_id, [part], USER, resolution=resolution, dry_run=dry_run
        )

    def choose_source(self, part: ProposedPart, source: str | None) -> Resolution:
        assert isinstance(part.current_hash, str)
        return Resolution({part.part: ChosenSource(part.current_hash, source)})

    async def check_part(self, proposal: Proposal, part: ProposedPart) -> str:
        """Check that accept does what a part says of itself; return what that is."""
        refused = [NO_MERGE, MERGE]
        accepted: list[tuple[Resolution, str | None]] = []
        after = None if part.after is None else part.after.source
        if part.state == "as_proposed":
            refused, accepted = [], [(NO_MERGE, after), (MERGE, after)]
        elif part.state == "changed" and isinstance(part.current_hash, str):
            assert part.current is not msgspec.UNSET
            assert part.current_hash == compute_source_hash(part.current.source or "")
            assert self.has_cell(part, part.current.source)
            chosen = None if part.after is None else self.write_source()
            accepted = [(self.choose_source(part, chosen), chosen)]
            stale = ChosenSource(compute_source_hash("of another cell"), chosen)
            refused.append(Resolution({part.part: stale}))
            if isinstance(part.merged, str):
                refused.remove(MERGE)
                accepted.append((MERGE, part.merged))
        before = self.text
        for resolution in refused:
            with pytest.raises(CellChanged):
                await self.accept(proposal, part.part, resolution)
        assert self.text == before
        assert await self.read(proposal.proposal_id) == proposal
        for resolution, _ in accepted:
            await self.accept(proposal, part.part, resolution, dry_run=True)
        assert self.text == before
        if accepted:
            await self.check_accept(proposal, part, *self.random.choice(accepted))
        merges = "with a merge" if part.merged else "without a merge"
        return f"{part.state} {merges}" if part.state == "changed" else f"{part.state}"

    async def check_accept(
        self, proposal: Proposal, part: ProposedPart, resolution: Resolution, source: str | None
    ) -> None:
        """Accept a part, which writes a source to its cell and nothing to the others."""
        before = self.text
        planned = await self.accept(proposal, part.part, resolution, dry_run=True)
        reply = await self.accept(proposal, part.part, resolution)
        assert reply.hash == planned.hash == samples.compute_hash(self.text)
        cells = Counter(list_cell_bytes(self.text))
        others = Counter(list_cell_bytes(before))
        assert (cells - others).total() <= 1
        assert (others - cells).total() <= 1
        statuses = [each.status for each in (await self.read(proposal.proposal_id)).parts]
        assert statuses[part.part] == "accepted"
        is_about_cell = part.index is not None or part.index_before is not None
        if part.before and part.after and part.before.source == part.after.source == source:
            # Whatever the source is now, it stays.
            return
        assert not is_about_cell or part.after is None or self.has_cell(part, source)

    def has_cell(self, part: ProposedPart, source: str | None) -> bool:
        """Return whether the notebook has the cell of a part with a source, as JSON says it."""
        return any(
            "".join(cell["source"]) == source
            for cell in json.loads(self.text)["cells"]
            if cell.get("id") == part.cell_id
        )

    async def check(self) -> str:
        """Propose, change the notebook, and check one part; return what it said of itself."""
        self.text = self.write_notebook()
        proposal_id = await self.propose()
        if proposal_id is None:
            return "refused"
        self.change()
        proposal = await self.read(proposal_id)
        await self.proposals.reject(proposal_id, None, USER, "no")
        assert await self.read(proposal_id) != proposal
        await self.proposals.reopen(proposal_id, None, USER)
        assert await self.read(proposal_id) == proposal
        outcome = await self.check_part(proposal, self.random.choice(proposal.parts))
        with suppress(ProposalClosed):
            # There can only be so many pending ones.
            await self.proposals.reject(proposal_id, None, USER)
        return outcome


async def test_accept_does_what_a_proposal_says_of_its_parts(tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    builder = ServiceBuilder(tmp_path)
    services = builder.build_editing(mode="review")
    seed = get_seed()
    for number in range(PROPOSALS):
        try:
            outcomes[await StaleProposal(builder, services, f"{seed} {number}").check()] += 1
        except BaseException:
            print(f"proposal {number} of NBEDIT_SEED={seed}")
            raise
    await builder.close()
    print(dict(outcomes))
    assert outcomes.keys() >= {"as_proposed", "changed with a merge", "changed without a merge"}


async def test_an_accepted_edit_is_its_proposers_own_to_undo_and_seen_by_who_accepted_it(
    services: ServiceBuilder,
) -> None:
    editing = services.build_editing(mode="review")
    services.storage.notebooks["a.ipynb"] = samples.three_cells()

    def build_author(account: str) -> Author:
        return Author(account, "Claude", session=f"{account}\none", account=account)

    request = WriteRequest("a.ipynb", build_author("bob"))
    change = operations({"op": "replace", "cell": "alpha", "source": "x = 2"})
    proposal_id = (await editing.editor.edit(request, change)).proposal_id
    assert isinstance(proposal_id, int)
    # Also if the accounts have clients and sessions of the same names.
    accepting = AcceptService(editing.editor, editing.editor.proposals, own_decisions=False)
    with pytest.raises(Forbidden):
        await accepting.accept(proposal_id, None, build_author("bob"))
    accepted = await accepting.accept(proposal_id, None, build_author("alice"))
    with pytest.raises(NothingToUndo, match="'Claude' of user 'bob'"):
        await editing.editor.undo(WriteRequest("a.ipynb", build_author("alice")))
    undo = await editing.editor.undo(WriteRequest("a.ipynb", build_author("bob")))
    assert isinstance(undo.undone, list)
    assert [edit.edit_id for edit in undo.undone] == [accepted.edit_id]
    unseen = {user: (await editing.unseen.get("a.ipynb", user)).cells for user in ("alice", "bob")}
    assert (len(unseen["alice"]), len(unseen["bob"])) == (0, 1)


async def test_a_redo_restores_the_decision_of_who_has_accepted(services: ServiceBuilder) -> None:
    editing = services.build_editing(mode="review")
    services.storage.notebooks["a.ipynb"] = samples.three_cells()
    request = WriteRequest("a.ipynb", Author("agent", "Claude", account="agent"))
    change = operations({"op": "replace", "cell": "alpha", "source": "x = 2"})
    proposal_id = (await editing.editor.edit(request, change)).proposal_id
    assert isinstance(proposal_id, int)
    proposals = editing.editor.proposals
    accepted = await AcceptService(editing.editor, proposals).accept(proposal_id, None, USER)
    program = WriteRequest("a.ipynb", Author("robot", "script", account="robot"))
    await editing.editor.modes.change_server("edit", "ann")
    for is_redo, expected in (False, ("pending", None)), (True, ("accepted", USER.user)):
        await editing.editor.undo(program, accepted.edit_id, redo=is_redo)
        proposal = await proposals.get(proposal_id)
        assert (proposal.status, proposal.decided_by) == expected


async def test_an_undone_accept_for_which_there_is_no_room_stays_accepted(
    services: ServiceBuilder,
) -> None:
    editing = services.build_editing(mode="review")
    editing.editor.proposals = services.build_proposals(None, editing.database, max_pending=1)
    services.storage.notebooks["a.ipynb"] = samples.three_cells()
    request = WriteRequest("a.ipynb", Author("agent", "Claude", account="agent"))

    async def propose(source: str) -> int:
        change = operations({"op": "replace", "cell": "alpha", "source": source})
        proposal_id = (await editing.editor.edit(request, change)).proposal_id
        assert isinstance(proposal_id, int)
        return proposal_id

    proposals = editing.editor.proposals
    first = await propose("x = 2")
    accepted = await AcceptService(editing.editor, proposals).accept(first, None, USER)
    await propose("x = 3")
    await editing.editor.modes.change_server("edit", "ann")
    undone = await editing.editor.undo(request, accepted.edit_id)
    (warning,) = undone.warnings
    assert f"proposal {first} is not pending again. There are too many" in warning
    assert undone.edit_id is not None
    assert (await proposals.get(first)).status == "accepted"
