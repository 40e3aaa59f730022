"""Notebooks that the contents manager keeps as texts somewhere: in a bucket, on a drive."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound
from jupyter_nbedit.notebook.splices import Splice, join
from jupyter_nbedit.storage import Changed, Content, Written
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.managed import Managed, tell
from jupyter_nbedit.storage.paths import check_suffix

_EXISTS = (
    "There is something at this path already, and it is never overwritten. Choose another path, or "
    "edit the notebook with PATCH."
)


class ContentsStorage:
    """Notebooks as files of text, which the manager gives and takes byte for byte.

    Parameters
    ----------
    manager
        The contents manager, which runs the hooks itself.
    locks
        Shared with the manager's own saves.
    """

    kind: ClassVar[str] = "contents"
    preserves_bytes: ClassVar[bool] = True

    def __init__(self, manager: Any, locks: PathLocks) -> None:
        self._manager = manager
        self._locks = locks

    def hold(self, path: str) -> AbstractAsyncContextManager[None]:
        """Keep this server's other writers away, the manager's own saves among them."""
        return self._file(path).held()

    async def check(self, path: str) -> None:
        """Refuse what cannot be read, as far as that shows without reading it."""
        file = self._file(path)
        await file.check_visible()
        await file.check()

    async def read(self, path: str) -> Content:
        """Read a notebook's text."""
        file = self._file(path)
        await file.check_visible()
        return await file.read()

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> Written:
        """Save the spliced text, if the manager still gives what was read."""
        return await self._file(path).save(join(base.text, splices), base)

    async def check_vacant(self, path: str) -> None:
        """See whether there is nothing of that name, in a folder that there is."""
        await check_vacant(self._file(path))

    async def create(self, path: str, text: bytes) -> Written:
        """Save a notebook where there was nothing."""
        file = self._file(path)
        await check_vacant(file)
        try:
            return await file.save(text, None)
        except Changed:
            raise NotebookExists(_EXISTS) from None

    async def announce(self, path: str, written: Written) -> list[str]:
        """Emit the ``save`` event if the manager's save has not; it has run the hooks."""
        tell(self._manager, path, written)
        return []

    def _file(self, path: str) -> Managed:
        check_suffix(path)
        return Managed(self._manager, self._locks, path, NotebookNotFound)


async def check_vacant(file: Managed) -> None:
    """Refuse to create a notebook where there is something.

    Raises
    ------
    NotebookExists, NotebookNotFound
    """
    await file.check_visible()
    if not await file.is_vacant():
        raise NotebookExists(_EXISTS)
