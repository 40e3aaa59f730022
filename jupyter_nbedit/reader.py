"""Show notebooks to whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_nbedit import trust
from jupyter_nbedit.loading import away, settled
from jupyter_nbedit.messages import Kernelspec, ReadReply, Selection
from jupyter_nbedit.notebook.view import cell_views
from jupyter_nbedit.readings import Readings
from jupyter_nbedit.storage import Storage

if TYPE_CHECKING:
    from nbformat.sign import NotebookNotary


@dataclass
class NotebookReader:
    """Reads notebooks.

    Parameters
    ----------
    storage
        Gives the storage for a request; looked up each time, because servers swap their managers.
    notary
        Gives the notary that knows which notebooks are trusted.
    readings
        Knows who has read what.
    """

    storage: Callable[[], Storage]
    notary: Callable[[], NotebookNotary]
    readings: Readings

    async def read(
        self, path: str, selection: Selection, *, known: Callable[[str], bool]
    ) -> ReadReply | str:
        """Read a notebook.

        Parameters
        ----------
        path
            Its API path.
        selection
            Which cells, and how much of them.
        known
            Tells whether the reader has the version with a hash already; then only the hash is
            returned.

        Raises
        ------
        NbEditError
            Of the storage or the notebook, or `CellNotFound` and `AmbiguousCell` of the selection.
        """
        storage = self.storage()
        read = await settled(storage, path)
        self.readings.note(selection.session, path, read.hash)
        if known(read.hash):
            return read.hash
        document = read.document
        if selection.cells:
            chosen = sorted({document.locate(document.address(cell)) for cell in selection.cells})
        else:
            chosen = list(range(len(document)))
        page = [index for index in chosen if index >= selection.start][: selection.limit]
        rest = [index for index in chosen if page and index > page[-1]]
        views = await away(
            len(document.text), cell_views, [document.cell(i) for i in page], selection.view
        )
        return ReadReply(
            path=path,
            hash=read.hash,
            last_modified=read.content.last_modified,
            nbformat=4,
            nbformat_minor=document.nbformat_minor,
            language=document.language,
            kernelspec=_kernelspec(document.metadata.get("kernelspec")),
            trusted=await trust.is_trusted(self.notary(), document.text),
            live=False,
            total_cells=len(document),
            cells=views,
            next=rest[0] if rest else None,
        )


def _kernelspec(value: Any) -> Kernelspec | None:
    if not isinstance(value, dict):
        return None
    name, display_name = value.get("name"), value.get("display_name")
    return Kernelspec(
        name if isinstance(name, str) else None,
        display_name if isinstance(display_name, str) else None,
    )
