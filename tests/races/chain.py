"""The order of edits, computed from the versions that they name."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tests.races.history import NEVER, Edit


@dataclass(frozen=True)
class Chain:
    """Edits in the order in which they were made."""

    #: The first version.
    start: str
    edits: Sequence[Edit]
    #: Positions at which the version is not the one that the edit before has left: something that
    #: nobody has recorded was made there. Position n is before the n-th edit, counted from 0; the
    #: one after all of them stands for the file itself.
    gaps: Sequence[int]
    #: How many known edits have led to a version.
    positions: dict[str, int]

    def list_latest_calls(self) -> list[float]:
        """Return for each position when the latest edit before it was sent."""
        return list(accumulate((edit.called_at for edit in self.edits), max, initial=-1.0))

    def list_first_replies(self) -> list[float]:
        """Return for each position when the first edit after it was answered."""
        returned = (edit.returned_at for edit in reversed(self.edits))
        return list(accumulate(returned, min, initial=NEVER))[::-1]

    def has_gap_during(self, called: float, returned: float) -> bool:
        """Return whether a version seen at that time can be an unrecorded one."""
        begun, answered = self.list_latest_calls(), self.list_first_replies()
        return any(begun[gap] <= returned and called <= answered[gap] for gap in self.gaps)


def build_chain(start: str, edits: Sequence[Edit], final: str) -> tuple[Chain, list[str]]:
    """Order edits from the first to the last version; list those that fit into no order."""
    wrong = []
    children: dict[str | None, Edit] = {}
    made: dict[str | None, Edit] = {}
    for edit in edits:
        if edit.parent in children:
            other = children[edit.parent].name
            wrong.append(f"{other} and {edit.name} were both made on {str(edit.parent)[:8]}")
        if edit.hash in made or edit.hash == start:
            wrong.append(f"{edit.name} has led to {str(edit.hash)[:8]}, as another edit before")
        children[edit.parent] = made[edit.hash] = edit
    runs = [_follow(children, head) for head in {start, *children} if head not in made]
    # Between two runs with an unknown edit, their numbers give the order.
    runs.sort(
        key=lambda run: (run[0].parent != start, _get_first_number(run)) if run else (False, -1)
    )
    ordered: list[Edit] = []
    gaps = []
    for run in runs:
        if run and run[0].parent != start:
            gaps.append(len(ordered))
        ordered.extend(run)
    if len(ordered) < len(children):
        wrong.append("some edits were made on what only they have led to")
    if final != (ordered[-1].hash if ordered else start):
        gaps.append(len(ordered))
    positions = {start: 0, **{str(edit.hash): at for at, edit in enumerate(ordered, 1)}}
    return Chain(start, ordered, gaps, positions), wrong


def _follow(children: dict[str | None, Edit], head: str | None) -> list[Edit]:
    run: list[Edit] = []
    while head in children and len(run) < len(children):
        run.append(children[head])
        head = run[-1].hash
    return run


def _get_first_number(run: Sequence[Edit]) -> float:
    return min((edit.edit_id for edit in run if edit.edit_id is not None), default=NEVER)
