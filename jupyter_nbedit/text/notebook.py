"""A notebook as text: a line about the notebook, then its cells."""

from dataclasses import dataclass

from msgspec import UNSET

from jupyter_nbedit.notebook.document import REV_LENGTH
from jupyter_nbedit.notebook.shown_text import list_names, make_line, quote_name
from jupyter_nbedit.services.reading.models import ChangesSince, NotebookText
from jupyter_nbedit.services.tabs import TabCounts

_MAX_PATH_LENGTH = 4_096
_MAX_WORD_LENGTH = 60
_SHOWN_IDS = 20
#: The fact that no server takes part, so that no tab follows and no page shows a proposal.
NO_SERVER = "no server"


@dataclass(frozen=True)
class NotebookState:
    """What is unusual about a notebook besides its content: the mode, and its open tabs.

    ``mode`` is None if it is unknown; then no edit is made. Without a server no tab is known.
    """

    mode: str | None
    tabs: TabCounts
    has_server: bool = True


def render_notebook(notebook: NotebookText, state: NotebookState) -> str:
    """Return a notebook as text."""
    facts = [
        quote_name(notebook.path, _MAX_PATH_LENGTH),
        _count(notebook.total_cells, "cell"),
        make_line(notebook.language or "no language", _MAX_WORD_LENGTH),
        f"rev {notebook.hash[:REV_LENGTH]}",
        *_describe_tabs(state.tabs),
    ]
    if not state.has_server:
        facts.append(NO_SERVER)
    if notebook.is_room:
        facts.append("in a collaboration room")
    if not notebook.is_trusted:
        facts.append("not trusted")
    if state.mode is None:
        facts.append("mode unreadable: edits are refused")
    elif state.mode == "review":
        facts.append("review: a person decides about each edit")
    elif state.mode == "plan":
        facts.append("paused: edits are refused")
    parts = [" | ".join(facts)]
    if notebook.since is not UNSET:
        parts.append(_describe_changes(notebook.since))
    if notebook.body:
        parts.append(notebook.body)
    return "\n".join(parts)


def _describe_tabs(tabs: TabCounts) -> list[str]:
    facts = [f"open in {_count(tabs.open, 'tab')}"] if tabs.open else []
    if unsaved := tabs.merged + tabs.waiting:
        facts.append(f"unsaved changes in {_count(unsaved, 'tab')}")
    return facts


def _describe_changes(since: ChangesSince) -> str:
    facts = [f"{since.changed} changed or new"]
    if since.gone:
        more = "" if len(since.gone) <= _SHOWN_IDS else f" and {len(since.gone) - _SHOWN_IDS} more"
        ids = list_names(since.gone[:_SHOWN_IDS], _MAX_WORD_LENGTH)
        facts.append(f"removed: {ids}{more}")
    if since.reordered:
        facts.append("others in another order")
    return (
        f"<note>Since {since.hash[:REV_LENGTH]}, which had {_count(since.total_cells, 'cell')}: "
        f"{'; '.join(facts)}.</note>"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
