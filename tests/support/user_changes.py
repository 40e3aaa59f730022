"""What a user does to the cells of an open notebook, at random."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class TrackedCell:
    """A cell that can be followed wherever the user moves it."""

    number: int
    source: str


def change_as_user(cells: list[TrackedCell], chance: random.Random, number: int) -> None:
    """Insert, move, duplicate, type into or delete a cell; a new one gets the number."""
    action = chance.choice(("insert", "move", "duplicate", "type", "delete"))
    target = chance.randrange(len(cells))
    position = chance.randint(0, len(cells))
    if action == "insert":
        cells.insert(position, TrackedCell(number, chance.choice("abcdefgh")))
    elif action == "move":
        cells.insert(min(position, len(cells) - 1), cells.pop(target))
    elif action == "duplicate":
        cells.insert(target + 1, TrackedCell(number, cells[target].source))
    elif action == "type":
        cells[target] = TrackedCell(cells[target].number, chance.choice("abcdefgh"))
    elif len(cells) > 1:
        del cells[target]
