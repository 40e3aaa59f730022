"""Find out whether a text such as ``cell-3`` was the id of a deleted cell; it is then no index."""

from collections.abc import Iterable

from jupyter_nbedit.notebook.cell_names import is_numbered_id
from jupyter_nbedit.notebook.document import CellAddress, Document
from jupyter_nbedit.services.history.store import EditStore


async def check_numbered_ids(
    history: EditStore, path: str, document: Document, addresses: Iterable[CellAddress]
) -> None:
    """Raise `CellNotFound` if an address is the id of a cell that the notebook no longer has.

    The history is only read if an address is of the form ``cell-N`` and no cell has it as its id.
    """
    unknown = [
        address
        for address in addresses
        if isinstance(address, str) and is_numbered_id(address) and address not in document.ids
    ]
    if not unknown:
        return
    former = await history.list_numbered_ids(path)
    for address in unknown:
        if address in former:
            raise document.build_numbered_id_error(address)
