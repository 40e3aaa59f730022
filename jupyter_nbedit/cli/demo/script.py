"""The script of the demo: the requests of the agent, step by step.

The later steps undo the earlier ones, so that the files end byte for byte as they began, and the
script can be played again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

RICH = "rainfall.ipynb"
CRLF = "windows.ipynb"
WITHOUT_IDS = "archive.ipynb"

LIMIT = "wet = 100  # a month with more than this is wet, in mm"
HIGHER_LIMIT = "wet = 200  # a month with more than this is wet, in mm"
GREETING = 'greeting = "hello"\nprint(greeting)'


@dataclass(frozen=True)
class Step:
    """One request of the agent: a batch of operations on one notebook."""

    message: str
    path: str
    operations: list[dict[str, Any]]
    #: The ``reason`` of the expected error; None if the edit is to be made.
    expected_reason: str | None = None


STEPS = (
    Step(
        "Raise the limit in one cell, if the cell still says what I have read.",
        RICH,
        [{"op": "replace", "cell": "limit", "source": HIGHER_LIMIT, "expect": {"source": LIMIT}}],
    ),
    Step(
        "Add a note below the table.",
        RICH,
        [
            {
                "op": "insert",
                "after": "table",
                "cell_type": "markdown",
                "id": "agents-note",
                "source": "The limit is **200 mm** now: run the cells to see who is left.",
            }
        ],
    ),
    Step(
        "Move the note to the end and the plot to the top, in one batch: all or nothing.",
        RICH,
        [
            {"op": "move", "cell": "agents-note", "at": "end"},
            {"op": "move", "cell": "plot-title", "after": "title"},
            {"op": "move", "cell": "plot", "after": "plot-title"},
        ],
    ),
    Step(
        "Forget that I have changed the limit, and change it again: this is an error.",
        RICH,
        [{"op": "replace", "cell": "limit", "source": "wet = 50", "expect": {"source": LIMIT}}],
        expected_reason="cell_changed",
    ),
    Step(
        "Put everything back where it was.",
        RICH,
        [
            {"op": "delete", "cell": "agents-note"},
            {"op": "move", "cell": "plot-title", "before": "closing"},
            {"op": "move", "cell": "plot", "after": "plot-title"},
            {"op": "replace", "cell": "limit", "source": LIMIT},
        ],
    ),
    Step(
        "Edit a file whose indent is two spaces and whose lines end in CR LF.",
        CRLF,
        [
            {
                "op": "replace",
                "cell": "greeting",
                "source": 'greeting = "good morning"\nprint(greeting)',
            }
        ],
    ),
    Step("And back.", CRLF, [{"op": "replace", "cell": "greeting", "source": GREETING}]),
    Step(
        "Insert into a notebook from before cells had ids; it gets none.",
        WITHOUT_IDS,
        [{"op": "insert", "after": "cell-1", "cell_type": "code", "source": "max(primes)"}],
    ),
    Step(
        "Delete that cell: without an id it goes by its number, from 0.",
        WITHOUT_IDS,
        [{"op": "delete", "cell": "cell-2"}],
    ),
)
