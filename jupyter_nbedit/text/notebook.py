"""A notebook as text: a line about the notebook and what is unusual about it, then its cells."""

from collections.abc import Callable

from msgspec import UNSET

from jupyter_nbedit.errors import ModesUnreadable
from jupyter_nbedit.notebook.document import REV_LENGTH
from jupyter_nbedit.notebook.shown_text import count_noun, list_names, make_line, quote_path
from jupyter_nbedit.services.all_services import Services
from jupyter_nbedit.services.reading.models import ChangesSince, NotebookText, ReadOptions
from jupyter_nbedit.services.tabs import TabCounts

_MAX_WORD_LENGTH = 60
_SHOWN_IDS = 20
#: The fact that no server takes part; therefore no tab shows an edit, and no page a proposal.
NO_SERVER = "no server"


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
    try:
        mode: str | None = await services.modes.get_effective(path)
    except ModesUnreadable:
        mode = None
    tabs = await services.tabs.wait_for_reports(path, None, notebook.hash, seconds=0)
    return notebook.hash, _render(notebook, mode, tabs, has_server=services.tabs.has_server)


def _render(notebook: NotebookText, mode: str | None, tabs: TabCounts, *, has_server: bool) -> str:
    """Return a notebook as text; ``mode`` is None if it is unknown."""
    facts = [
        quote_path(notebook.path),
        count_noun(notebook.total_cells, "cell"),
        make_line(notebook.language or "no language", _MAX_WORD_LENGTH),
        f"rev {notebook.hash[:REV_LENGTH]}",
        *_describe_tabs(tabs),
    ]
    if not has_server:
        facts.append(NO_SERVER)
    if notebook.is_room:
        facts.append("in a collaboration room")
    if not notebook.is_trusted:
        facts.append("not trusted")
    if mode is None:
        facts.append("mode unreadable: edits are refused")
    elif mode == "review":
        facts.append("review: a person decides about each edit")
    elif mode == "plan":
        facts.append("paused: edits are refused")
    parts = [" | ".join(facts)]
    if notebook.since is not UNSET:
        parts.append(_describe_changes(notebook.since))
    if notebook.body:
        parts.append(notebook.body)
    return "\n".join(parts)


def _describe_tabs(tabs: TabCounts) -> list[str]:
    facts = [f"open in {count_noun(tabs.open, 'tab')}"] if tabs.open else []
    if unsaved := tabs.merged + tabs.waiting:
        facts.append(f"unsaved changes in {count_noun(unsaved, 'tab')}")
    return facts


def _describe_changes(since: ChangesSince) -> str:
    facts = [f"{since.changed} changed or new"]
    if since.gone:
        more = "" if len(since.gone) <= _SHOWN_IDS else f" and {len(since.gone) - _SHOWN_IDS} more"
        ids = list_names(since.gone[:_SHOWN_IDS], _MAX_WORD_LENGTH)
        facts.append(f"removed: {ids}{more}")
    if since.reordered:
        facts.append("others in another order")
    cells = count_noun(since.total_cells, "cell")
    return f"<note>Since {since.hash[:REV_LENGTH]}, which had {cells}: {'; '.join(facts)}.</note>"
