"""A batch of operations applied to a document: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import UNSET, UnsetType

from jupyter_nbedit.errors import (
    CellChanged,
    CellProtected,
    InvalidOperation,
    NbEditError,
)
from jupyter_nbedit.notebook import rewrite
from jupyter_nbedit.notebook.arrange import Arrangement, Place
from jupyter_nbedit.notebook.diff import Change
from jupyter_nbedit.notebook.document import Cell, CellAddress, Document, source_hash
from jupyter_nbedit.notebook.operations import (
    Delete,
    Expect,
    Insert,
    Move,
    Operation,
    Position,
    Replace,
    check_form,
    name_of,
)
from jupyter_nbedit.notebook.splices import Splice, join
from jupyter_nbedit.notebook.style import Style


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation did.

    ``index`` is where the cell stands after the batch; of a deleted cell, where it stood before.
    """

    op: str
    cell_id: str | None
    index: int
    cell_type: str
    source_hash: str
    outputs_cleared: bool | UnsetType = UNSET
    source: str | UnsetType = UNSET


@dataclass(frozen=True)
class Applied:
    """What a batch does to a document.

    Parameters
    ----------
    splices
        On the document's bytes; none if nothing changes.
    results
        One for each operation.
    changes
        What a reader of a diff is shown.
    total_cells
        How many cells there are afterwards.
    """

    splices: list[Splice]
    results: list[Result]
    changes: list[Change]
    total_cells: int


def apply(
    document: Document, operations: Sequence[Operation], *, fresh_id: Callable[[], str]
) -> Applied:
    """Work out what a batch of operations does.

    Parameters
    ----------
    document
        The notebook. Ids, indexes and guards mean it, as it is before the batch.
    operations
        The batch. An operation may name a cell that an earlier one inserted with an id.
    fresh_id
        Gives a random cell id; called again if a cell has it already.

    Raises
    ------
    NbEditError
        The first refusal; ``details["operation"]`` is the index of the operation it is about.
    """
    batch = _Batch(document)
    for number, operation in enumerate(operations):
        try:
            check_form(operation)
            batch.add(number, operation, fresh_id)
        except NbEditError as refusal:
            refusal.details.setdefault("operation", number)
            raise
    return batch.applied()


@dataclass
class _Draft:
    """A cell as the batch leaves it."""

    token: int
    cell: Cell | None
    id: str | None
    cell_type: str
    source: str
    metadata: object = None
    clear: bool = False
    moved: bool = False
    deleted_by: int | None = None

    @property
    def outputs_cleared(self) -> bool:
        kept = self.cell is None or not (self.clear or self.cell_type != "code")
        return not kept and self.cell is not None and rewrite.has_outputs(self.cell)


@dataclass
class _Batch:
    document: Document
    drafts: dict[int, _Draft] = field(default_factory=dict)
    inserted: dict[str, int] = field(default_factory=dict)
    done: list[tuple[Operation, _Draft]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.style = Style(self.document)
        self.arrangement = Arrangement(self.document)

    def add(self, number: int, operation: Operation, fresh_id: Callable[[], str]) -> None:
        match operation:
            case Replace():
                draft = self._replace(operation)
            case Insert():
                draft = self._insert(operation, fresh_id)
            case Delete():
                draft = self._draft(operation.cell, operation.expect)
                if draft.cell is not None and draft.cell.metadata.get("deletable") is False:
                    raise _protected(operation.cell, "deletable", "deleted")
                draft.deleted_by = number
                self.arrangement.delete(draft.token)
            case Move():
                draft = self._draft(operation.cell, operation.expect)
                draft.moved = True
                self.arrangement.move(draft.token, self._place(operation))
        self.done.append((operation, draft))

    def _replace(self, operation: Replace) -> _Draft:
        draft = self._draft(operation.cell, operation.expect)
        if draft.cell is not None and draft.cell.metadata.get("editable") is False:
            raise _protected(operation.cell, "editable", "changed")
        if operation.source is not UNSET:
            draft.source = operation.source
        if operation.cell_type is not UNSET:
            draft.cell_type = operation.cell_type
        draft.clear = draft.clear or operation.outputs == "clear"
        return draft

    def _insert(self, operation: Insert, fresh_id: Callable[[], str]) -> _Draft:
        cell_id = self._new_id(operation, fresh_id)
        token = self.arrangement.insert(self._place(operation))
        draft = _Draft(
            token=token,
            cell=None,
            id=cell_id,
            cell_type=operation.cell_type,
            source=operation.source,
            metadata={} if operation.metadata is UNSET else operation.metadata,
        )
        self.drafts[token] = draft
        if cell_id is not None:
            self.inserted[cell_id] = token
        return draft

    def _new_id(self, operation: Insert, fresh_id: Callable[[], str]) -> str | None:
        if operation.id is UNSET:
            if not self.document.has_ids:
                return None
            while self._taken(cell_id := fresh_id()):
                pass
            return cell_id
        if not self.document.has_ids:
            message = (
                f"The notebook's format, 4.{self.document.nbformat_minor}, has no cell ids "
                "(4.5 and later have them). Leave `id` out and address the new cell by its index."
            )
            raise InvalidOperation(message, id=operation.id)
        if self._taken(operation.id):
            message = (
                f"A cell has the id {operation.id!r} already. Choose another, or leave it out."
            )
            raise InvalidOperation(message, id=operation.id)
        return operation.id

    def _taken(self, cell_id: str) -> bool:
        return cell_id in self.document.ids or cell_id in self.inserted

    def _place(self, operation: Position) -> Place:
        document, arrangement = self.document, self.arrangement
        if operation.at is not UNSET:
            return arrangement.gap(0 if operation.at == "start" else len(document))
        if operation.index is not UNSET:
            if operation.index > len(document):
                message = (
                    f"The index {operation.index} is beyond the end: expected 0 to "
                    f"{len(document)}, where the last means behind all cells."
                )
                raise InvalidOperation(message, index=operation.index, total_cells=len(document))
            return arrangement.gap(operation.index)
        after = operation.after is not UNSET
        address = operation.after if operation.after is not UNSET else operation.before
        return arrangement.beside(self._token(address), after=after)  # type: ignore[arg-type] # check_form

    def _token(self, address: CellAddress) -> int:
        if isinstance(address, str) and address in self.inserted:
            return self.inserted[address]
        return self.document.locate(address)

    def _draft(self, address: CellAddress, expect: Expect | UnsetType) -> _Draft:
        """Give the cell an operation is about, once its guard holds."""
        token = self._token(address)
        draft = self.drafts.get(token)
        if draft is None:
            cell = self.document.cell(token)
            draft = _Draft(token, cell, cell.id, cell.cell_type, cell.source)
            self.drafts[token] = draft
        if draft.deleted_by is not None:
            message = (
                f"Operation {draft.deleted_by} of the same batch deletes the cell {address!r}."
            )
            raise InvalidOperation(message, cell=address)
        if expect is not UNSET:
            _check_expected(draft.cell.source if draft.cell else draft.source, expect, address)
        return draft

    def applied(self) -> Applied:
        splices = self.arrangement.splices(self.style, self._written)
        for draft in self.drafts.values():
            if draft.cell is not None and not draft.moved and draft.deleted_by is None:
                splices += self._inner(draft)
        return Applied(
            splices=sorted(splices),
            results=[self._result(*done) for done in self.done],
            changes=[self._change(draft) for draft in self.drafts.values()],
            total_cells=len(self.arrangement),
        )

    def _inner(self, draft: _Draft) -> list[Splice]:
        if draft.cell is None:
            return []
        return rewrite.changed_cell(
            draft.cell,
            self.style,
            source=draft.source,
            cell_type=draft.cell_type,
            clear=draft.clear,
        )

    def _written(self, token: int) -> bytes:
        draft = self.drafts[token]
        if draft.cell is None:
            index = min(self.arrangement.index(token), len(self.document))
            return rewrite.new_cell(
                self.style.of_new_cell(index, draft.cell_type),
                cell_type=draft.cell_type,
                cell_id=draft.id,
                source=draft.source,
                metadata=draft.metadata,
            )
        start, stop = draft.cell.span
        inner = [Splice(s.start - start, s.stop - start, s.text) for s in self._inner(draft)]
        return join(draft.cell.text[start:stop], inner)

    def _result(self, operation: Operation, draft: _Draft) -> Result:
        deleted = isinstance(operation, Delete)
        before = draft.cell.index if draft.cell else 0
        return Result(
            op=name_of(operation),
            cell_id=draft.id,
            index=before if draft.deleted_by is not None else self.arrangement.index(draft.token),
            cell_type=draft.cell_type,
            source_hash=source_hash(draft.source),
            outputs_cleared=draft.outputs_cleared if isinstance(operation, Replace) else UNSET,
            source=draft.source if deleted else UNSET,
        )

    def _change(self, draft: _Draft) -> Change:
        gone = draft.deleted_by is not None
        return Change(
            cell_id=draft.id,
            index_before=draft.cell.index if draft.cell else None,
            index_after=None if gone else self.arrangement.index(draft.token),
            cell_type_before=draft.cell.cell_type if draft.cell else None,
            cell_type_after=None if gone else draft.cell_type,
            before=draft.cell.source if draft.cell else "",
            after="" if gone else draft.source,
            moved=draft.moved,
            outputs_cleared=not gone and draft.outputs_cleared,
        )


def _protected(address: CellAddress, flag: str, verb: str) -> CellProtected:
    message = (
        f"The cell {address!r} is not to be {verb}: its metadata has `{flag}: false`. Somebody set "
        "this on purpose; ask them."
    )
    return CellProtected(message, cell=address)


def _check_expected(source: str, expect: Expect, address: CellAddress) -> None:
    current = source_hash(source)
    expected = expect.source_hash if expect.source is UNSET else source_hash(expect.source)
    if current != expected:
        message = (
            f"The cell {address!r} no longer says what the operation expects. Look at its current "
            "source in the details and decide anew."
        )
        raise CellChanged(message, cell=address, source=source, source_hash=current)
