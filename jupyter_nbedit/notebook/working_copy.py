"""A notebook while a batch is applied: its cells, their positions and their addresses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import UNSET, UnsetType

from jupyter_nbedit.errors import CellChanged, InvalidOperation
from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.cell_order import CellOrder, InsertionPoint
from jupyter_nbedit.notebook.document import CellAddress, Document
from jupyter_nbedit.notebook.edited_cell import EditedCell, list_filled_members
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.operations import Expect, Position
from jupyter_nbedit.notebook.sections import Outline
from jupyter_nbedit.notebook.source_edit import TextBudget, is_same_source


@dataclass
class WorkingCopy:
    """A document and the edits of a batch so far."""

    #: The notebook before the batch: ids, indexes, sections and `expect` refer to it.
    document: Document
    #: Returns a random cell id; called again if a cell already has it.
    fresh_id: Callable[[], str]
    #: Whether the request knows that this is the current version; see `Document.locate`.
    is_current: bool = False
    cells: dict[int, EditedCell] = field(default_factory=dict)
    _inserted_tokens: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.style = Style(self.document)
        self.cell_order = CellOrder(self.document)
        self.text_budget = TextBudget()
        #: The new encoded metadata of the notebook.
        self.metadata = self.document.written_metadata

    @cached_property
    def outline(self) -> Outline:
        """The headings of the notebook before the batch."""
        return Outline(self.document)

    def get_cell(self, address: CellAddress, expect: Expect | UnsetType = UNSET) -> EditedCell:
        """Return the cell that an operation addresses, after checking `expect`.

        Raises
        ------
        CellNotFound, AmbiguousCell, CellChanged
            As `Document.locate` does.
        InvalidOperation
            If the batch has removed the cell, or goes over long cells too often.
        CellChanged
            If the cell is not as expected, too.
        """
        cell = self.get_cell_by_token(self._get_token(address))
        if cell.removed_by is not None:
            message = (
                f"Operation {cell.removed_by} of this batch already removes the cell {address!r}."
            )
            raise InvalidOperation(message, cell=address)
        if expect is not UNSET:
            source = cell.cell.source if cell.cell else cell.source
            self.text_budget.spend(len(source))
            _check_expected(source, expect, address)
        return cell

    def get_cells(self, addresses: list[CellAddress]) -> list[EditedCell]:
        """Return the cells that an operation addresses; each may be named only once.

        Raises
        ------
        NbEditError
            As `get_cell` does.
        InvalidOperation
            If a cell is named twice.
        """
        cells = [self.get_cell(address) for address in addresses]
        seen_tokens: set[int] = set()
        for cell, address in zip(cells, addresses, strict=True):
            if cell.token in seen_tokens:
                message = f"`cells` contains the cell {address!r} twice; send it once."
                raise InvalidOperation(message, cell=address)
            seen_tokens.add(cell.token)
        return cells

    def get_cell_by_token(self, token: int) -> EditedCell:
        """Return the cell with a token, also if it was removed."""
        if token not in self.cells:
            cell = self.document.get_cell(token)
            self.cells[token] = EditedCell(
                token, cell, cell.index, cell.id, cell.cell_type, cell.source
            )
        return self.cells[token]

    def list_cells_with_outputs(self) -> list[EditedCell]:
        """Return all remaining code cells that have outputs or an execution count."""
        cells = list(map(self.get_cell_by_token, self._tokens_with_outputs))
        # Cleared and removed cells keep this state; a cell of another type may become code again.
        self._tokens_with_outputs = [
            cell.token for cell in cells if cell.removed_by is None and cell.cell_type != "code"
        ]
        return [cell for cell in cells if cell.has_outputs]

    @cached_property
    def _tokens_with_outputs(self) -> list[int]:
        return [
            index
            for index, (_, cell_type) in enumerate(self.document.headers)
            if cell_type == "code" and list_filled_members(self.document.get_cell(index))
        ]

    def find_insertion_point(self, operation: Position) -> InsertionPoint:
        """Return the position that an operation specifies.

        Raises
        ------
        CellNotFound, AmbiguousCell, CellChanged
            As `Document.locate` does.
        InvalidOperation
            If it is beyond the end.
        """
        document, cell_order = self.document, self.cell_order
        if operation.at is not UNSET:
            return cell_order.get_point_in_gap(0 if operation.at == "start" else len(document))
        if operation.index is not UNSET:
            if operation.index > len(document):
                message = (
                    f"The index {operation.index} is out of range: expected 0 to "
                    f"{len(document)}, where the last is the position after all cells."
                )
                raise InvalidOperation(message, index=operation.index, total_cells=len(document))
            return cell_order.get_point_in_gap(operation.index)
        is_after = operation.after is not UNSET
        address = operation.after if operation.after is not UNSET else operation.before
        return cell_order.get_point_at_cell(self._get_token(address), is_after=is_after)  # type: ignore[arg-type] # check_form

    def insert(
        self,
        point: InsertionPoint,
        *,
        cell_id: str | None,
        cell_type: str,
        source: str,
        members: dict[str, bytes | None],
    ) -> EditedCell:
        """Insert a new cell at a position; ``members`` are further encoded members."""
        token = self.cell_order.insert(point)
        cell = EditedCell(token, None, point.gap, cell_id, cell_type, source, members)
        self.cells[token] = cell
        if cell_id is not None:
            self._inserted_tokens[cell_id] = token
        return cell

    def remove(self, cell: EditedCell, number: int) -> None:
        """Remove a cell on behalf of an operation.

        Raise `CellProtected` if its metadata contains ``deletable: false``.
        """
        cell.check_permission("deletable", "deleted")
        cell.removed_by = number
        self.cell_order.remove(cell.token)

    def create_id(self, requested_id: str | UnsetType = UNSET) -> str | None:
        """Return the id of a new cell, or None if the file's format has no ids.

        Raises
        ------
        InvalidOperation
            If a cell already has the requested id, or the format has no ids.
        """
        if requested_id is UNSET:
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
            raise InvalidOperation(message, id=requested_id)
        if self._is_id_taken(requested_id):
            message = (
                f"A cell has the id {requested_id!r} already. Choose another, or leave it out."
            )
            raise InvalidOperation(message, id=requested_id)
        return requested_id

    def _is_id_taken(self, cell_id: str) -> bool:
        return cell_id in self.document.ids or cell_id in self._inserted_tokens

    def _get_token(self, address: CellAddress) -> int:
        if isinstance(address, str) and address in self._inserted_tokens:
            return self._inserted_tokens[address]
        return self.document.locate(address, is_current=self.is_current)


def _check_expected(source: str, expect: Expect, address: CellAddress) -> None:
    current = compute_source_hash(source)
    if expect.source is UNSET:
        is_expected = expect.source_hash == current
    else:
        is_expected = is_same_source(expect.source, source)
    if not is_expected:
        message = (
            f"The cell {address!r} does not have the source that the operation expects. "
            "This error has its current source; check whether the change is still right, and "
            "send it again."
        )
        raise CellChanged(message, cell=address, source=source, source_hash=current)
