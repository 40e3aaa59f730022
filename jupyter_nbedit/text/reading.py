"""Read a notebook as text, with what is unusual about it now."""

from collections.abc import Callable

from jupyter_nbedit.errors import ModesUnreadable
from jupyter_nbedit.services.all_services import Services
from jupyter_nbedit.services.reading.models import NotebookText, ReadOptions
from jupyter_nbedit.text.notebook import NotebookState, render_notebook


async def read_as_text(
    services: Services,
    path: str,
    options: ReadOptions,
    *,
    session: str = "",
    is_known: Callable[[str], bool] = lambda _: False,
) -> tuple[str, str | None]:
    """Return the hash of a notebook and its text, None if the reader knows that version.

    Raise the errors of `ReadService.read`.
    """
    notebook = await services.reader.read_text(path, options, session=session, is_known=is_known)
    if isinstance(notebook, str):
        return notebook, None
    return notebook.hash, render_notebook(notebook, await _find_state(services, notebook))


async def _find_state(services: Services, notebook: NotebookText) -> NotebookState:
    try:
        mode: str | None = await services.modes.get_effective(notebook.path)
    except ModesUnreadable:
        mode = None
    tabs = await services.tabs.wait_for_reports(notebook.path, None, notebook.hash, seconds=0)
    return NotebookState(mode, tabs, services.tabs.has_server)
