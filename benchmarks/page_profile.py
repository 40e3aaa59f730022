"""What the JavaScript of a page spent its time on, from a profile of the DevTools protocol."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

#: In the addresses of our scripts.
OURS = "/lab/extensions/jupyter-nbedit/"
#: Names that the profiler gives to the time without JavaScript.
IDLE = "(idle)"


@dataclass(frozen=True)
class Frame:
    """A function by its name and its script; native functions have no script."""

    name: str
    script: str
    line: int
    column: int

    @property
    def is_ours(self) -> bool:
        return OURS in self.script

    def __str__(self) -> str:
        if not self.script:
            return self.name
        where = "ours" if self.is_ours else self.script.rsplit("/", 1)[-1].split("?")[0]
        return f"{self.name or '(anonymous)'} [{where}:{self.line}:{self.column}]"


@dataclass
class PageProfile:
    """Milliseconds by function: in it alone, and in it with all that it calls.

    `our_tasks` are the milliseconds that our own functions, with the native ones they call, ran in
    each stretch of work without a pause.
    """

    own: defaultdict[Frame, float] = field(default_factory=lambda: defaultdict(float))
    total: defaultdict[Frame, float] = field(default_factory=lambda: defaultdict(float))
    tasks: list[float] = field(default_factory=list)
    our_tasks: list[float] = field(default_factory=list)

    @staticmethod
    def from_cdp(profile: dict[str, Any]) -> PageProfile:
        stacks = _build_stacks(profile["nodes"])
        found = PageProfile()
        busy = ours = 0.0
        for node, microseconds in zip(profile["samples"], _durations(profile), strict=True):
            took = microseconds / 1000
            stack = stacks[node]
            if stack[0].name == IDLE:
                found._end_task(busy, ours)
                busy = ours = 0.0
                continue
            busy += took
            found.own[stack[0]] += took
            for frame in set(stack):
                found.total[frame] += took
            scripted = next((frame for frame in stack if frame.script), None)
            if scripted is not None and scripted.is_ours:
                ours += took
        found._end_task(busy, ours)
        return found

    def _end_task(self, busy: float, ours: float) -> None:
        if busy > 0:
            self.tasks.append(busy)
            self.our_tasks.append(ours)


def format_profile(profiles: Sequence[PageProfile], top: int = 25) -> str:
    """Return the functions that took longest, in milliseconds of one edit."""
    lines = []
    for what, only_ours in (("own", False), ("total", False), ("total", True)):
        times: defaultdict[Frame, float] = defaultdict(float)
        for profile in profiles:
            for frame, took in getattr(profile, what).items():
                times[frame] += took / len(profiles)
        chosen = [
            (took, frame)
            for frame, took in times.items()
            if (frame.is_ours or not only_ours) and frame.name not in ("(root)", "(program)")
        ]
        chosen.sort(key=lambda pair: pair[0], reverse=True)
        lines.append(f"\n{what} ms{' of our functions' if only_ours else ''}:")
        lines += [f"  {took:8.1f}  {frame}" for took, frame in chosen[:top] if took >= 0.5]
    return "\n".join(lines)


def _build_stacks(nodes: list[dict[str, Any]]) -> dict[int, list[Frame]]:
    """Return the frames of each node, the innermost first."""
    parents = {child: node["id"] for node in nodes for child in node.get("children", ())}
    frames = {
        node["id"]: Frame(
            node["callFrame"]["functionName"],
            node["callFrame"]["url"],
            node["callFrame"]["lineNumber"],
            node["callFrame"]["columnNumber"],
        )
        for node in nodes
    }

    def climb(node: int | None) -> Iterator[Frame]:
        while node is not None:
            yield frames[node]
            node = parents.get(node)

    return {node: list(climb(node)) for node in frames}


def _durations(profile: dict[str, Any]) -> list[int]:
    """Return how long each sample stands: until the next one."""
    deltas: list[int] = profile["timeDeltas"]
    return [max(0, delta) for delta in deltas[1:]] + [0]
