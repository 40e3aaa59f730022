"""Shorten texts: frames of progress bars become one line, long texts lose the middle.

Of a source, an error shows the part that matters.
"""

import re
import sys
from typing import Any

# The room for the note about what is left out.
_NOTE_CHARACTERS = 100
_MIN_CHARACTERS = 2
_WORD = re.compile(r"\w+")
# The part of an excerpt before the position that matters.
_SHARE_BEFORE = 3


def count_lines(text: str) -> int:
    """Return the number of lines, as for `at_line` and for hits of a search."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def apply_control_characters(text: str) -> str:
    """Return a text as a terminal shows it in the end.

    What follows a carriage return overwrites its line, and a backspace removes a character.
    """
    if "\r" not in text and "\b" not in text:
        return text
    return "\n".join(_apply_carriage_returns(line.removesuffix("\r")) for line in text.split("\n"))


def _apply_carriage_returns(line: str) -> str:
    if "\r" not in line and "\b" not in line:
        return line
    # From the last frame back, so that each character is looked at once.
    shown, length = list[str](), 0
    for frame in reversed(line.split("\r")):
        visible = _apply_backspaces(frame)
        if len(visible) > length:
            shown.append(visible[length:])
            length = len(visible)
    return "".join(shown).rstrip(" ")


def _apply_backspaces(frame: str) -> str:
    if "\b" not in frame:
        return frame
    characters: list[str] = []
    for char in frame:
        if char != "\b":
            characters.append(char)
        elif characters:
            characters.pop()
    return "".join(characters)


def cut_middle(
    text: str,
    characters: int,
    lines: int = sys.maxsize,
    *,
    is_end_important: bool = False,
    hint: str = ": send a larger max_chars",
) -> str:
    """Return a text that has at most so many characters and lines: its beginning and its end.

    A note in the middle, which is part of both limits, says what is left out. The end gets half of
    the room, or three quarters if it is important; the hint ends the sentence. ``text`` has the
    escapes of `escape_markup`, and so has the result.
    """
    if len(text) <= characters and text.count("\n") < lines:
        return text
    room = max(_MIN_CHARACTERS, characters - _NOTE_CHARACTERS)
    room_lines = max(_MIN_CHARACTERS, lines - 1)
    share = 4 if is_end_important else 2
    start = _cut_end(text[: room // share], max(1, room_lines // share))
    stop = max(len(start), len(text) - (room - room // share))
    end = _cut_start(text, stop, max(1, room_lines - room_lines // share))
    omitted = len(text) - len(start) - len(end.removeprefix("…"))
    note = f"<note>{omitted} characters are not shown here{hint}.</note>"
    return "\n".join([start.removesuffix("\n"), note, end])


def _cut_end(text: str, lines: int) -> str:
    """Return at most so many lines from the beginning; whole lines if at least a half is kept."""
    shown = "\n".join(text.split("\n")[:lines])
    whole = shown[: shown.rfind("\n") + 1]
    return whole if len(shown) == len(text) and 2 * len(whole) >= len(shown) else shown


def _cut_start(text: str, start: int, lines: int) -> str:
    """Return at most so many lines from an offset to the end, whole ones if that keeps a half."""
    shown = text[start:]
    last = shown.split("\n")
    if len(last) > lines:
        return "\n".join(last[-lines:])
    line_end = shown.find("\n")
    if 0 <= line_end < len(shown) // 2:
        return shown[line_end + 1 :]
    is_whole = text[start - 1 : start] == "\n"
    # The rest of a line must not look like a line of ours.
    return shown if is_whole else f"…{shown}"


def build_excerpt(source: str, limit: int, position: int = 0) -> dict[str, Any]:
    """Return at most so many characters of a source around a position, as details of an error.

    ``source`` is the excerpt, ``first_line`` the number of its first line, counted from 1, and
    ``total_lines`` the number of lines of the whole source. Lines are whole if they fit.
    """
    start, stop = 0, len(source)
    if len(source) > limit:
        start = max(0, min(position - limit // _SHARE_BEFORE, len(source) - limit))
        stop = start + limit
        line_start = source.rfind("\n", 0, start) + 1
        if line_start != start:
            next_line = source.find("\n", start, position) + 1
            start = next_line or start
        stop = max(source.rfind("\n", position, stop), position) if stop < len(source) else stop
        if stop <= start:
            stop = start + limit
    return {
        "source": source[start:stop],
        "first_line": source.count("\n", 0, start) + 1,
        "total_lines": source.count("\n") + 1,
    }


def find_nearest_line(source: str, text: str) -> int:
    """Return the offset of the line that has the most words of a text; 0 if none has any."""
    words = set(_WORD.findall(text))
    best, best_offset, offset = 0, 0, 0
    for line in source.split("\n"):
        common = len(words.intersection(_WORD.findall(line)))
        if common > best:
            best, best_offset = common, offset
        offset += len(line) + 1
    return best_offset
