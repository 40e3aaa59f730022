"""The changes that are made, and that one which nobody notices is found."""

from __future__ import annotations

from tests.mutation.mutants import mutants

TEXT = '''
"""A module."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import os
LIMIT: int = 1 << 3

class Thing:
    """A thing."""
    @property
    def name(self) -> str | None:
        message = f"not {self}"
        if not self or self.size < LIMIT:
            raise ValueError(message)
        return self.text[1:]

def run(things):
    """Run."""
    for thing in things:
        thing.run()
        if thing.done:
            continue
        thing.count += 1
'''


def test_everything_is_changed_that_does_something() -> None:
    found = {mutant.name.removeprefix("a.py ") for mutant in mutants("a.py", TEXT, "a.py")}
    assert found == {
        "LIMIT: 1 << 3 -> None",
        "LIMIT: 1 << 3 -> 1 >> 3",
        "LIMIT: 1 -> 2",
        "LIMIT: 3 -> 4",
        "Thing.name: not self or self.size < LIMIT -> not self and self.size < LIMIT",
        "Thing.name: not self -> self",
        "Thing.name: self.size < LIMIT -> self.size <= LIMIT",
        "Thing.name: raise ValueError(message) -> pass",
        "Thing.name: self.text[1:] -> None",
        "Thing.name: 1 -> 2",
        "run: thing.run() -> pass",
        "run: thing.done -> not thing.done",
        "run: continue -> break",
        "run: thing.count += 1 -> pass",
        "run: thing.count += 1 -> thing.count -= 1",
        "run: 1 -> 2",
    }


def test_a_mutant_s_code_does_what_it_says_and_the_next_one_s_is_whole_again() -> None:
    text = "def f(a, b):\n    return a < b\n"
    answers = []
    for mutant in mutants("a.py", text, "a.py"):
        space: dict[str, object] = {}
        exec(mutant.code, space)  # noqa: S102 -- our own
        f = space["f"]
        assert callable(f)
        answers.append((mutant.now, f(1, 1), f(1, 2)))
    assert answers == [("None", None, None), ("a <= b", True, True)]
