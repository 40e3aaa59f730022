"""Who may do what: the only module that knows the rule; `docs/use.md` prints it as a table."""

from typing import Literal

from jupyter_nbedit.errors import Forbidden, PlanMode
from jupyter_nbedit.services.modes import Mode
from jupyter_nbedit.services.requests import Author

#: A change of a notebook, or of another file by tools.
Change = Literal["edit", "create", "restore", "undo", "redo", "edit_text_file"]
#: A decision about changes, modes or the history; it is never proposed.
Decision = Literal["accept", "reject", "reopen", "keep", "set_mode", "delete_history"]
Action = Change | Decision
#: What becomes of an action that is asked for.
Outcome = Literal["write", "propose", "refuse"]

# What a person in an open page does at once: the request itself is the decision.
_CHANGES_BY_PERSON = frozenset(("restore", "undo", "redo"))
_DECISIONS = frozenset(("accept", "reject", "reopen", "keep", "set_mode", "delete_history"))


def decide(
    action: Action,
    author: Author,
    mode: Mode = "edit",
    server_mode: Mode = "edit",
    *,
    refused_proposer: Author | None = None,
) -> Outcome:
    """Return what becomes of an action that ``author`` asks for.

    ``mode`` is the effective mode of the notebook. ``server_mode`` is the mode of the server, which
    a person in a page cannot bypass. Only changes and ``accept`` depend on them. A program that is
    ``refused_proposer`` may not accept.
    """
    if action == "edit_text_file":
        # Only notebooks have modes and proposals of their own.
        return "refuse" if server_mode == "plan" else "write"
    is_server_paused = mode == server_mode == "plan"
    is_person = author.is_person and author.way == "rest"
    if action == "accept":
        is_own = refused_proposer is not None and _may_be_same(refused_proposer, author)
        is_refused = is_server_paused or (is_own and not is_person)
        return "refuse" if is_refused or author.way == "tools" else "write"
    if action in _DECISIONS:
        return "refuse" if author.way == "tools" else "write"
    if mode == "edit":
        return "write"
    if is_person and action in _CHANGES_BY_PERSON:
        return "refuse" if is_server_paused else "write"
    return "propose" if mode == "review" else "refuse"


def _may_be_same(proposer: Author, author: Author) -> bool:
    """Return whether two requests can come from the same client, as the clients state it.

    A request that states no session may come from any session of the client.
    """
    sessions = {proposer.session_name, author.session_name} - {""}
    is_same = (proposer.account, proposer.client) == (author.account, author.client)
    return is_same and len(sessions) <= 1


def build_refusal(
    action: Action, author: Author, mode: Mode = "edit", server_mode: Mode = "edit"
) -> Forbidden:
    """Return the error for an action that `decide` refuses."""
    if action in _DECISIONS and author.way == "tools":
        return Forbidden("Tools cannot decide for a person. Ask the user to do this in JupyterLab.")
    if action == "accept" and mode != "plan":
        return Forbidden(
            "The client that has proposed a change may not accept it on this server "
            "(NbEditApp.own_decisions). Ask the user to decide in JupyterLab."
        )
    is_of_server = mode == server_mode
    if author.way == "tools":
        # They have no dry runs.
        subject = "This server is" if is_of_server else "A person has put this notebook"
        message = (
            f"{subject} in plan mode, so changes are paused. Nothing was changed; describe the "
            "change to the user, and make it when the user allows changes again."
        )
    elif is_of_server:
        message = (
            "This server is in plan mode: changes of notebooks are paused. Send `dry_run: true` to "
            "see what the edit would do."
        )
    else:
        message = (
            "A person has paused edits of this notebook (plan mode). Ask that person to allow "
            "edits again, or send `dry_run: true` to see what the edit would do."
        )
    return PlanMode(message)
