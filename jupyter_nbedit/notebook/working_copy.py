"""The notebook while a batch is applied to it: its cells, their places, and how to name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import UNSET, UnsetType

from jupyter_nbedit.errors import CellChanged, CellProtected, InvalidOperation
from jupyter_nbedit.notebook.cell_order import CellOrder, Slot
from jupyter_nbedit.notebook.document import CellAddress, Document, compute_source_hash
from jupyter_nbedit.notebook.edited_cell import EditedCell, has_outputs
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.line_ends import is_same_source
from jupyter_nbedit.notebook.operations import Expect, Position
from jupyter_nbedit.notebook.sections import Outline


@dataclass
class WorkingCopy:
    """A document, and what the operations of a batch have done to it so far.

    Parameters
    ----------
    document
        The notebook as it was: ids, indexes, sections and guards mean it.
    fresh_id
        Gives a random cell id; called again if a cell has it already.
    """

    document: Document
    fresh_id: Callable[[], str]
    cells: dict[int, EditedCell] = field(default_factory=dict)
    _inserted: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.style = Style(self.document)
        self.arrangement = CellOrder(self.document)
        #: The notebook's metadata, as they are to be written.
        self.metadata = self.document.written_metadata

    @cached_property
    def outline(self) -> Outline:
        """The headings of the notebook as it was."""
        return Outline(self.document)

    def get_cell(self, address: CellAddress, expect: Expect | UnsetType = UNSET) -> EditedCell:
        """Return the cell that an operation names, once its guard holds.

        Raises
        ------
        CellNotFound, AmbiguousCell
            As `Document.locate` does.
        InvalidOperation
            If the batch has taken the cell out.
        CellChanged
            If the guard does not hold.
        """
        draft = self.get_cell_by_token(self._get_token(address))
        if draft.removed_by is not None:
            message = (
                f"Operation {draft.removed_by} of the same batch takes the cell {address!r} out."
            )
            raise InvalidOperation(message, cell=address)
        if expect is not UNSET:
            _check_expected(draft.cell.source if draft.cell else draft.source, expect, address)
        return draft

    def get_cells(self, addresses: list[CellAddress]) -> list[EditedCell]:
        """Return the cells that an operation names, each of them once.

        Raises
        ------
        NbEditError
            As `draft` does.
        InvalidOperation
            If a cell is named twice.
        """
        drafts = [self.get_cell(address) for address in addresses]
        seen: set[int] = set()
        for draft, address in zip(drafts, addresses, strict=True):
            if draft.token in seen:
                message = f"`cells` names the cell {address!r} twice; name it once."
                raise InvalidOperation(message, cell=address)
            seen.add(draft.token)
        return drafts

    def get_cell_by_token(self, token: int) -> EditedCell:
        """Return the cell with a token, taken out or not."""
        if token not in self.cells:
            cell = self.document.get_cell(token)
            self.cells[token] = EditedCell(
                token, cell, cell.index, cell.id, cell.cell_type, cell.source
            )
        return self.cells[token]

    def list_cells_with_outputs(self) -> list[EditedCell]:
        """Return all code cells that have outputs or a count and are there still."""
        drafts = list(map(self.get_cell_by_token, self._with_outputs))
        # What is cleared or taken out stays so; a cell may become code again.
        self._with_outputs = [
            draft.token
            for draft in drafts
            if draft.removed_by is None and draft.cell_type != "code"
        ]
        return [draft for draft in drafts if draft.has_outputs]

    @cached_property
    def _with_outputs(self) -> list[int]:
        return [
            index
            for index, (_, cell_type) in enumerate(self.document.heads)
            if cell_type == "code" and has_outputs(self.document.get_cell(index))
        ]

    def find_slot(self, operation: Position) -> Slot:
        """Find the place that an operation says.

        Raises
        ------
        CellNotFound, AmbiguousCell
            As `Document.locate` does.
        InvalidOperation
            If it is beyond the end.
        """
        document, arrangement = self.document, self.arrangement
        if operation.at is not UNSET:
            return arrangement.get_slot_in_gap(0 if operation.at == "start" else len(document))
        if operation.index is not UNSET:
            if operation.index > len(document):
                message = (
                    f"The index {operation.index} is beyond the end: expected 0 to "
                    f"{len(document)}, where the last means behind all cells."
                )
                raise InvalidOperation(message, index=operation.index, total_cells=len(document))
            return arrangement.get_slot_in_gap(operation.index)
        after = operation.after is not UNSET
        address = operation.after if operation.after is not UNSET else operation.before
        return arrangement.get_slot_at_cell(self._get_token(address), after=after)  # type: ignore[arg-type] # check_form

    def insert(
        self,
        place: Slot,
        *,
        cell_id: str | None,
        cell_type: str,
        source: str,
        members: dict[str, bytes | None],
    ) -> EditedCell:
        """Put a new cell into a place; ``members`` are the others it has, written."""
        near = self.arrangement.get_gap_index(place)
        token = self.arrangement.insert(place)
        draft = EditedCell(token, None, near, cell_id, cell_type, source, members)
        self.cells[token] = draft
        if cell_id is not None:
            self._inserted[cell_id] = token
        return draft

    def remove(self, draft: EditedCell, number: int) -> None:
        """Take a cell out, on behalf of an operation.

        Raises
        ------
        CellProtected
            If its metadata says that it is not to be deleted.
        """
        if draft.metadata.get("deletable") is False:
            raise _build_protected_error(self.get_address(draft), "deletable", "deleted")
        draft.removed_by = number
        self.arrangement.delete(draft.token)

    def check_editable(self, draft: EditedCell) -> None:
        """Refuse to change a cell whose metadata says that it is not to be.

        Raises
        ------
        CellProtected
            If so.
        """
        if draft.metadata.get("editable") is False:
            raise _build_protected_error(self.get_address(draft), "editable", "changed")

    def get_address(self, draft: EditedCell) -> CellAddress:
        """Return an address of a cell, for people."""
        if draft.id is not None:
            return draft.id
        return draft.cell.index if draft.cell else draft.anchor_index

    def create_id(self, wanted: str | UnsetType = UNSET) -> str | None:
        """Return a new cell's id, or None where the file's format has none.

        Raises
        ------
        InvalidOperation
            If the id that is wanted is taken, or the format has none.
        """
        if wanted is UNSET:
            if not self.document.has_ids:
                return None
            while self._is_id_taken(cell_id := self.fresh_id()):
                pass
            return cell_id
        if not self.document.has_ids:
            message = (
                f"The notebook's format, 4.{self.document.nbformat_minor}, has no cell ids "
                "(4.5 and later have them). Leave `id` out and address the new cell by its index."
            )
            raise InvalidOperation(message, id=wanted)
        if self._is_id_taken(wanted):
            message = f"A cell has the id {wanted!r} already. Choose another, or leave it out."
            raise InvalidOperation(message, id=wanted)
        return wanted

    def _is_id_taken(self, cell_id: str) -> bool:
        return cell_id in self.document.ids or cell_id in self._inserted

    def _get_token(self, address: CellAddress) -> int:
        if isinstance(address, str) and address in self._inserted:
            return self._inserted[address]
        return self.document.locate(address)


def _build_protected_error(address: CellAddress, flag: str, verb: str) -> CellProtected:
    message = (
        f"The cell {address!r} is not to be {verb}: its metadata has `{flag}: false`. Somebody set "
        "this on purpose; ask them."
    )
    return CellProtected(message, cell=address)


def _check_expected(source: str, expect: Expect, address: CellAddress) -> None:
    current = compute_source_hash(source)
    if expect.source is UNSET:
        is_expected = expect.source_hash == current
    else:
        is_expected = is_same_source(expect.source, source)
    if not is_expected:
        message = (
            f"The cell {address!r} no longer says what the operation expects. Look at its current "
            "source in the details and decide anew."
        )
        raise CellChanged(message, cell=address, source=source, source_hash=current)
