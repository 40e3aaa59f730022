"""Notebooks as text, with what is unusual about them now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jupyter_nbedit.errors import ModesUnreadable
from jupyter_nbedit.services.modes import ModeManager
from jupyter_nbedit.services.reading.models import NotebookText, ReadOptions
from jupyter_nbedit.services.reading.service import ReadService
from jupyter_nbedit.services.tabs import TabRegistry
from jupyter_nbedit.text.notebook import NotebookState, render_notebook


@dataclass(frozen=True)
class TextService:
    """Reads notebooks as text."""

    reader: ReadService
    modes: ModeManager
    tabs: TabRegistry
    #: False if there is no server, so that no tab follows.
    has_server: bool = True

    async def read(
        self,
        path: str,
        options: ReadOptions,
        *,
        session: str = "",
        is_known: Callable[[str], bool],
    ) -> tuple[str, str | None]:
        """Return the hash of a notebook and its text, None if the reader knows that version.

        Raise the errors of `ReadService.read`.
        """
        notebook = await self.reader.read_text(path, options, session=session, is_known=is_known)
        if isinstance(notebook, str):
            return notebook, None
        return notebook.hash, render_notebook(notebook, await self._find_state(notebook))

    async def _find_state(self, notebook: NotebookText) -> NotebookState:
        try:
            mode: str | None = await self.modes.get_effective(notebook.path)
        except ModesUnreadable:
            mode = None
        tabs = await self.tabs.wait_for_reports(notebook.path, None, notebook.hash, seconds=0)
        return NotebookState(mode, tabs, self.has_server)
