"""The table of who may do what, for the tests of each way to the server."""

#: The modes of the columns: that of the notebook, and that of the server.
MODES: dict[str, tuple[str | None, str | None]] = {
    "edit": ("edit", None),
    "review": ("review", None),
    "plan of the notebook": ("plan", None),
    "plan of the server": (None, "plan"),
}
CHANGES_BY_PROGRAM = ("done", "proposed", "refused", "refused")
CHANGES_BY_PERSON = ("done", "done", "done", "refused")
DECISIONS = ("done", "done", "done", "done")
ACCEPT = ("done", "done", "done", "refused")
#: What becomes of an action of a program, by mode. Tools can do the changes only.
PROGRAM = {
    "edit": CHANGES_BY_PROGRAM,
    "create": CHANGES_BY_PROGRAM,
    "undo": CHANGES_BY_PROGRAM,
    "undo cells": CHANGES_BY_PROGRAM,
    "redo": CHANGES_BY_PROGRAM,
    "restore": CHANGES_BY_PROGRAM,
    "accept": ACCEPT,
    "reject": DECISIONS,
    "reopen": DECISIONS,
    "keep": DECISIONS,
    "set mode": DECISIONS,
    "delete history": DECISIONS,
}
PERSON = {
    **PROGRAM,
    **dict.fromkeys(("undo", "undo cells", "redo", "restore"), CHANGES_BY_PERSON),
}


def is_written(action: str, outcome: str) -> bool:
    """Return whether an action with this outcome changes a file."""
    return outcome == "done" and PROGRAM[action] in {CHANGES_BY_PROGRAM, ACCEPT}
