"""An edit worked out: what it does, and all that is said of it whether it is written or not."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from msgspec import UNSET

from jupyter_nbedit.loading import Loaded
from jupyter_nbedit.messages import Asked, EditReply
from jupyter_nbedit.notebook.batch import Applied, Result, apply
from jupyter_nbedit.notebook.diff import Change, MetadataChange, unified
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edits import Edit, State, Step
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.splices import Splice, pieces
from jupyter_nbedit.notebook.text import Text
from jupyter_nbedit.storage import Storage, Written

# What one operation costs to work out, in bytes of a notebook to read.
_OPERATION_WEIGHT = 2_000


@dataclass(frozen=True)
class Job:
    """How a change of a notebook is worked out.

    Parameters
    ----------
    run
        Works it out, which may take time; refuses it by raising an `NbEditError`.
    weight
        How much work that is, in bytes of a notebook that are as much.
    kind
        What the ledger calls it: ``edit``, ``create``, ``undo`` or ``redo``.
    undoes
        The number of the edit that it takes back.
    may_sign
        Whether nothing comes into the notebook that was not in a trusted one.
    """

    run: Callable[[], Applied]
    weight: int
    kind: Literal["edit", "create", "undo", "redo"] = "edit"
    undoes: int | None = None
    may_sign: bool = True


def batch(read: Loaded, operations: Sequence[Operation]) -> Job:
    """Prepare to apply a batch of operations."""
    sources = sum(len(getattr(operation, "source", None) or "") for operation in operations)

    def run() -> Applied:
        return apply(read.document, operations, fresh_id=lambda: uuid.uuid4().hex[:8])

    return Job(run, len(read.content.raw) + sources + len(operations) * _OPERATION_WEIGHT)


def as_given(text: bytes) -> Callable[[Loaded], Job]:
    """Prepare to create a notebook that is given as a whole.

    Raises
    ------
    InvalidNotebook
        If it is none.
    """

    def prepare(base: Loaded) -> Job:
        return Job(lambda: _exchanged(base.document, Document.parse(text)), len(text))

    return prepare


def _exchanged(base: Document, given: Document) -> Applied:
    """Put a notebook in the place of one without cells."""
    cells = [given.cell(index) for index in range(len(given))]
    inserted = [
        Change(
            cell_id=cell.id,
            index_before=None,
            index_after=cell.index,
            cell_type_before=None,
            cell_type_after=cell.cell_type,
            before="",
            after=cell.source,
            moved=False,
            outputs_cleared=False,
        )
        for cell in cells
    ]
    splices = [Splice(0, len(base.text), given.text[:])]

    def edit() -> Edit:
        steps = [Step(cell.id, None, State.of(cell), cell.index) for cell in cells]
        return Edit(base, splices, steps, given.written_metadata, len(given))

    return Applied(
        splices=splices,
        results=[
            Result(
                op="insert",
                cell_id=cell.id,
                index=cell.index,
                cell_type=cell.cell_type,
                source_hash=cell.source_hash,
            )
            for cell in cells
        ],
        changes=[MetadataChange(base.metadata, given.metadata), *inserted],
        total_cells=len(given),
        edit=edit,
    )


def digest_of(text: Text, splices: Sequence[Splice]) -> str:
    """Give the sha256 of a spliced text."""
    digest = hashlib.sha256()
    for piece in pieces(text, splices):
        digest.update(piece)
    return digest.hexdigest()


@dataclass(frozen=True)
class Outcome:
    """A change worked out.

    Parameters
    ----------
    asked
        What was asked.
    read
        The notebook it was worked out for.
    job
        How it was worked out.
    applied
        What it does.
    diff
        The same, for people.
    language
        The language of the code cells after it.
    """

    asked: Asked
    read: Loaded
    job: Job
    applied: Applied
    diff: str
    language: str | None

    @classmethod
    def of(cls, asked: Asked, read: Loaded, job: Job) -> Outcome:
        """Work a change out.

        Raises
        ------
        NbEditError
            If it is refused.
        """
        applied = job.run()
        after = read.document
        if any(isinstance(change, MetadataChange) for change in applied.changes):
            after = after.after(applied.splices)
        return cls(asked, read, job, applied, unified(asked.path, applied.changes), after.language)

    @cached_property
    def after(self) -> Document:
        """The notebook after it."""
        return self.read.document.after(self.applied.splices)

    def entries(self) -> Iterator[dict[str, Any]]:
        """Give what an event tells of the operations: one entry for each cell."""
        for result in self.applied.results:
            yield from result.entries()

    def reply(self, storage: Storage, written: Written) -> EditReply:
        """Say what was done, or what would be; nobody has given it a number yet."""
        total = self.applied.total_cells
        return EditReply(
            path=self.asked.path,
            edit_id=None,
            hash_before=self.read.hash or None,
            hash=written.hash,
            last_modified=written.last_modified,
            applied_via=storage.kind,
            bytes_preserved=storage.preserves_bytes,
            persisted=written.persisted and not self.asked.dry_run,
            dry_run=self.asked.dry_run,
            total_cells=total,
            cells_delta=total - len(self.read.document),
            language=self.language,
            operations=self.applied.results,
            diff=self.diff,
            warnings=written.warnings,
            guard=UNSET if written.guard is None else written.guard,
        )
