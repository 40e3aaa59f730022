"""The white space and commas of arrays and objects, learned by example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jupyter_nbedit.notebook.spans import Member, Span
from jupyter_nbedit.notebook.text import Buffer


@dataclass(frozen=True)
class ContainerStyle:
    """The white space and commas of an array or an object that has something in it."""

    open: bytes
    separator: bytes
    close: bytes

    @property
    def indent(self) -> bytes | None:
        """The indentation of what stands inside, or None if it does not begin a line."""
        _, newline, indent = self.open.rpartition(b"\n")
        return indent if newline else None

    def wrap(self, items: Iterable[bytes], brackets: bytes) -> bytes:
        """Write items within a pair of brackets, given as two bytes."""
        inside = self.separator.join(items)
        if not inside:
            return brackets
        return brackets[:1] + self.open + inside + self.close + brackets[1:]


def get_member_spans(members: Iterable[Member]) -> list[Span]:
    """Return the spans of members, from a name's start to its value's end."""
    return [Span(member.name_span.start, member.value.stop) for member in members]


def detect_style(
    text: Buffer, span: Span, items: Sequence[Span], around: ContainerStyle | None = None
) -> ContainerStyle | None:
    """Learn from an array or object; None if it is empty.

    What separates its items, one that has a single item cannot tell. If it is on one line, it is
    taken for like what is around it.
    """
    if not items:
        return None
    opening = text[span.start + 1 : items[0].start]
    if len(items) > 1:
        separator = text[items[0].stop : items[1].start]
    elif b"\n" in opening:
        separator = b"," + opening
    else:
        separator = b", " if around is None or b"\n" in around.separator else around.separator
    return ContainerStyle(opening, separator, close=text[items[-1].stop : span.stop - 1])


def compute_indent_step(inner: bytes | None, outer: bytes | None) -> bytes:
    """Return one step of indentation, computed from two levels."""
    if inner is None:
        return b" "
    if outer is not None and inner.startswith(outer):
        return inner[len(outer) :]
    return inner
