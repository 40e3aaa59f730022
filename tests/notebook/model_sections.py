"""A plain model of sections, for Markdown of a few kinds of lines only; part of the model.

A heading is a line of ``#`` and words, a list item one that begins with ``- ``, what is indented by
two goes on with an item, and nothing else is special. Texts are lists of lines.
"""

import re
from dataclasses import dataclass

HEADING = re.compile(r"(#{1,6}) (\w+)")
# Ends a heading that a batch has inserted: it begins no section in the same batch, and ends none.
INSERTED = "\ue000"


@dataclass(frozen=True)
class Section:
    """The heading's cell and line, and behind which cell the section ends, or within it."""

    cell: int
    line: str
    level: int
    stop: int
    within: bool


def find(sources: list[str], name: str) -> list[Section]:
    """All sections of that name in a notebook's Markdown cells."""
    heads = [
        (cell, at, found)
        for cell, source in enumerate(sources)
        for at, line in enumerate(source.split("\n"))
        if (found := HEADING.fullmatch(line))
    ]
    chosen = []
    for place, (cell, _, head) in enumerate(heads):
        if name not in {head[2], head[0]}:
            continue
        ends = [h for h in heads[place + 1 :] if len(h[2][1]) <= len(head[1])]
        stop, at = ends[0][:2] if ends else (len(sources), 0)
        before = "".join(sources[stop].split("\n")[:at]) if ends else ""
        within = stop == cell or bool(before.strip())
        chosen.append(Section(cell, head[0], len(head[1]), stop + within, within))
    return chosen


def build_insertion(content: str) -> str:
    """Mark the headings of inserted content."""
    lines = content.split("\n")
    return "\n".join(line + INSERTED if HEADING.fullmatch(line) else line for line in lines)


def find_end(lines: list[str], level: int, start: int) -> int:
    """The number of the first line that ends a section of a level."""
    for at in range(start, len(lines)):
        found = HEADING.fullmatch(lines[at])
        if found and len(found[1]) <= level:
            return at
    return len(lines)


def list_items(lines: list[str]) -> list[int | None]:
    """For each line the number of the first line of the list item it is in."""
    owners: list[int | None] = []
    owner: int | None = None
    blank = True
    for at, line in enumerate(lines):
        if line.startswith("- "):
            owner = at
        elif line and (
            HEADING.fullmatch(line.rstrip(INSERTED)) or (blank and not line.startswith("  "))
        ):
            owner = None
        owners.append(owner if line else None)
        blank = not line
    # Blank lines within an item belong to it.
    for at in range(len(lines) - 2, -1, -1):
        later = owners[at + 1]
        if owners[at] is None and not lines[at] and later is not None and later <= at:
            owners[at] = later
    return owners


def append(before: list[str], part: list[str], after: list[str], content: str) -> str:
    """Append content after the last line that is not blank."""
    lines = before + part
    new = content.strip("\n").split("\n") if content.strip() else []
    if not new:
        return "\n".join(lines + after)
    blanks = []
    while lines and not lines[-1]:
        blanks.append(lines.pop())
    # The heading, which is the last line before, begins the section.
    scope = lines[max(0, len(before) - 1) :]
    listed = bool(scope) and list_items(scope)[-1] is not None and new[0].startswith("- ")
    gap = [""] if lines and not listed else []
    if after and not blanks:
        blanks = [""]
    return "\n".join([*lines, *gap, *new, *blanks, *after])


def replace(before: list[str], part: list[str], after: list[str], content: str) -> str:
    """Put content in the place of a part; the blank lines around it stay."""
    new = content.strip("\n").split("\n") if content.strip() else []
    lead: list[str] = []
    trail: list[str] = []
    while part and not part[-1]:
        trail.append(part[-1])
        part = part[:-1]
    if part:
        while not part[len(lead)]:
            lead.append("")
    elif new:
        lead = [""]
    if not new:
        return "\n".join([*before, *trail, *after])
    if after and not trail:
        trail = [""]
    return "\n".join([*before, *lead, *new, *trail, *after])


def remove(before: list[str], part: list[str], after: list[str], match: str) -> str | None:
    """Take out the list items that contain a text; None if there are none."""
    owners = list_items(part)
    texts: dict[int, str] = {}
    for line, owner in zip(part, owners, strict=True):
        if owner is not None:
            words = " ".join(line.removeprefix("- ").split())
            texts[owner] = f"{texts.get(owner, '')} {words}".strip()
    chosen = [owner for owner, text in texts.items() if match.lower() in text.lower()]
    if not chosen:
        return None
    removed_lines = {at for at, owner in enumerate(owners) if owner in chosen}
    for owner in chosen:
        above, below = owner - 1, max(at for at, one in enumerate(owners) if one == owner) + 1
        while above in removed_lines:
            above -= 1
        if above >= 0 and not part[above]:
            # The last of all lines is only what is behind the last line break.
            while below < len(part) - (not after) and not part[below]:
                removed_lines.add(below)
                below += 1
    rest = [*before, *(line for at, line in enumerate(part) if at not in removed_lines)]
    if not after and len(part) - 1 in removed_lines:
        while rest and not rest[-1]:
            rest.pop()
    return "\n".join([*rest, *after])
