"""The script of the demo: what the agent does in each step, and what a person can try then."""

from dataclasses import dataclass
from typing import Any, Literal

NOTEBOOK = "demo.ipynb"
CLIENT = "Demo agent"

Operations = list[dict[str, Any]]


@dataclass(frozen=True)
class Step:
    """A step of the demo. A person may do what the hint says, something else, or nothing."""

    #: What the agent does, and what a person can try; the notebook has both texts, too.
    title: str
    hint: str
    #: How long the agent waits after each of its requests.
    seconds: float
    #: The requests of the agent: the message, and the operations of one batch.
    requests: tuple[tuple[str, Operations], ...] = ()
    mode: Literal["edit", "review"] = "edit"


STEPS = (
    Step(
        "The agent edits cells.",
        "Click a green mark to see the change. Press Y to keep it or N to undo it.",
        13,
        (
            (
                "Correct Nairobi, and sort the wet cities",
                [
                    {"op": "replace_text", "cell": "rain", "old": "965", "new": "1024"},
                    {
                        "op": "replace",
                        "cell": "wet",
                        "source": "sorted(city for city, mm in rain.items() if mm > 1000)",
                    },
                    {"op": "replace", "cell": "summary", "source": "Three cities are wet."},
                ],
            ),
        ),
    ),
    Step(
        "It deletes a cell and moves another.",
        "Click Restore where the cell was.",
        10,
        (
            (
                "Drop the check, and show the chart first",
                [
                    {"op": "delete", "cell": "check"},
                    {"op": "move", "cell": "chart", "before": "question"},
                ],
            ),
        ),
    ),
    Step(
        "It edits while you type.",
        "Click into the last cell and go on typing. Then click Keep all.",
        4,
        (
            (
                "Say where the numbers are from",
                [
                    {
                        "op": "insert",
                        "before": "question",
                        "id": "source",
                        "cell_type": "markdown",
                        "source": "The numbers are means of 30 years.",
                    }
                ],
            ),
            (
                "Label the chart",
                [
                    {
                        "op": "replace_text",
                        "cell": "chart",
                        "old": "(mm // 100))",
                        "new": "(mm // 100), mm)",
                        "outputs": "keep",
                    }
                ],
            ),
            (
                "Say what is wet",
                [
                    {
                        "op": "replace",
                        "cell": "question",
                        "source": "## Which cities get more than 1000 mm?",
                    }
                ],
            ),
        ),
    ),
    Step(
        "It proposes changes, and you decide.",
        "Click Keep all if there are changes left. Press Alt-F5, then Y, Y and N: "
        "accept two, reject one.",
        14,
        (
            (
                "Find the wettest city",
                [
                    {
                        "op": "replace_text",
                        "cell": "rain",
                        "old": "rain = {",
                        "new": "# Millimetres in a year\nrain = {",
                    },
                    {
                        "op": "insert",
                        "after": "wet",
                        "id": "wettest",
                        "cell_type": "code",
                        "source": "max(rain, key=rain.get)",
                    },
                    {
                        "op": "replace",
                        "cell": "summary",
                        "source": "It never stops raining in Mumbai.",
                    },
                ],
            ),
        ),
        mode="review",
    ),
    Step(
        "Everything is in the history.",
        "Choose View > Show Edit History, and undo an edit there.",
        5,
    ),
)
