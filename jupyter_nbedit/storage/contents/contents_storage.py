"""Notebooks that the contents manager stores as text anywhere: in a bucket, on a drive."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.contents.manager_calls import ContentsFile, SaveResult
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import check_suffix

_EXISTS = (
    "There is something at this path already, and it is never overwritten. Choose another path, or "
    "edit the notebook with PATCH."
)


class ContentsStorage:
    """Notebooks as text files that the manager, which runs the hooks, stores byte for byte."""

    kind: ClassVar[str] = "contents"
    preserves_bytes: ClassVar[bool] = True

    def __init__(self, manager: Any, locks: PathLocks) -> None:
        self._manager = manager
        self._locks = locks

    def lock(self, path: str) -> AbstractAsyncContextManager[object]:
        """Lock a notebook against this server's other writers and the manager's own saves."""
        return self._get_file(path).lock()

    async def check(self, path: str) -> None:
        """Raise if a notebook cannot be read, as far as that is known without reading it."""
        file = self._get_file(path)
        await file.check_visible()
        await file.check()

    async def read(self, path: str) -> Content:
        """Read a notebook's text."""
        file = self._get_file(path)
        await file.check_visible()
        return await file.read()

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Save the spliced text, if the manager still returns what was read."""
        return await self._get_file(path).save(apply_splices(base.text, splices), base)

    async def ensure_absent(self, path: str) -> None:
        """Raise if the path exists, or its directory does not."""
        file = self._get_file(path)
        await file.check_visible()
        if not await file.is_absent():
            raise NotebookExists(_EXISTS)

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Save a new notebook."""
        await self.ensure_absent(path)
        try:
            return await self._get_file(path).save(text, None)
        except StaleContent:
            raise NotebookExists(_EXISTS) from None

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:
        """Emit the ``save`` event unless the manager's save has; the manager has run the hooks."""
        if isinstance(result, SaveResult) and not result.has_event:
            self._manager.emit(data={"action": "save", "path": path})
        return []

    def _get_file(self, path: str) -> ContentsFile:
        check_suffix(path)
        return ContentsFile(self._manager, self._locks, path, NotebookNotFound)
