"""Show names and lines in texts for models and terminals, and read such names and lines again.

A name whose characters all print is shown as it is. Any other name is shown in quotes, as a JSON
string. A line of a notebook that looks like a line of ours gets a backslash.
"""

import json
import re
import sys
import unicodedata
from collections.abc import Iterable
from itertools import pairwise

_QUOTE = '"'
_MAX_PATH_LENGTH = 4_096
# Python takes these characters for printable, but they show nothing, or belong to the character
# before: letters and marks with Unicode's Default_Ignorable_Code_Point, and blank Braille.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_MARKUP = re.compile(r"(?m)(^|\r)(\\*</?(?:cell|outputs|note)\b)")
_ESCAPED_MARKUP = re.compile(r"(?m)(^|\r)\\(\\*</?(?:cell|outputs|note)\b)")
_JOINERS = frozenset("\u200c\u200d")


def quote_name(name: str, limit: int = sys.maxsize, *, separator: str = " | ") -> str:
    """Return a name as a text shows it: one line, from which the name can be told exactly.

    It is in quotes if a character does not print, if white space is at an end, or if it could be
    taken for a quoted name, for a line of ours or, by the separator, for several names. A name
    longer than the limit is cut.
    """
    is_plain = (
        name.isprintable()
        and not _INVISIBLE.search(name)
        and name.strip() == name != ""
        and not name.startswith(_QUOTE)
        and separator not in name
        and not _MARKUP.match(name)
    )
    shown = name if is_plain else f"{_QUOTE}{''.join(map(_escape, name[: limit + 1]))}{_QUOTE}"
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def quote_path(path: str) -> str:
    """Return the path of a notebook as a text shows it; see `quote_name`."""
    return quote_name(path, _MAX_PATH_LENGTH)


def count_noun(number: int, noun: str) -> str:
    """Return a number of things, such as ``1 cell`` or ``2 cells``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _escape(char: str) -> str:
    is_plain = char.isprintable() and not _INVISIBLE.match(char) and char not in '"\\'
    return char if is_plain else json.dumps(char)[1:-1]


def list_names(names: Iterable[str], limit: int = sys.maxsize) -> str:
    """Return names as a list with commas, each of limited length."""
    return ", ".join(quote_name(name, limit, separator=", ") for name in names)


def unquote_name(text: str) -> str | None:
    """Return the name that a quoted name means; None if the text is no quoted name."""
    if len(text) < len(_QUOTE * 2) or not text.startswith(_QUOTE) or not text.endswith(_QUOTE):
        return None
    try:
        name = json.loads(text)
    except ValueError:
        return None
    return name if isinstance(name, str) else None


def read_name(text: str) -> str:
    """Return the name that a text means: a quoted name without its quotes, else the text."""
    name = unquote_name(text)
    return text if name is None else name


def make_line(text: str, limit: int) -> str:
    """Return a text as one line of limited length, to be read and not to be sent back.

    Spaces and tabs stay, and so do the joiners of letters and emoji; what else does not print,
    such as a control for the direction of text, becomes a space.
    """
    shown = text[: 4 * limit]
    if not shown.isprintable():
        shown = "".join(char if _is_harmless(char) else " " for char in shown)
    shown = shown.strip()
    if len(text) <= limit:
        return shown
    return f"{shown[: limit - 1]}…"


def _is_harmless(char: str) -> bool:
    is_space = char == "\t" or unicodedata.category(char) == "Zs"
    return char.isprintable() or is_space or char in _JOINERS


def escape_line(line: str, *, is_exact: bool = False) -> str:
    """Return a line of a diff, in which what does not print is escaped as in JSON.

    Tabs stay, and so do the joiners and selectors that shape the letter or emoji before them. If
    `is_exact`, these, marks, backslashes and spaces at the end are escaped, too: lines that differ
    then look different.
    """
    if not is_exact and line.isascii() and line.replace("\t", "").isprintable():
        return line
    shown = [
        char if _is_shown_in_diff(char, before, is_exact=is_exact) else json.dumps(char)[1:-1]
        for before, char in pairwise(f" {line}")
    ]
    end = len(line.rstrip(" ")) if is_exact else len(line)
    return "".join(shown[:end]) + "\\u0020" * (len(line) - end)


def _is_shown_in_diff(char: str, before: str, *, is_exact: bool) -> bool:
    if is_exact and (char in "\t\\" or _may_look_like_others(char)):
        return False
    if _shapes_letter(char):
        return not (is_exact or before.isascii()) and before.isprintable()
    return char.isprintable() or char == "\t"


def _may_look_like_others(char: str) -> bool:
    """Return whether a character is, or is a part of, what Unicode can also write differently."""
    is_part = unicodedata.category(char).startswith("M") or "\u1100" <= char <= "\u11ff"
    return is_part or unicodedata.normalize("NFC", char) != char


def _shapes_letter(char: str) -> bool:
    return char in _JOINERS or _INVISIBLE.match(char) is not None


def normalize_look(line: str) -> str:
    """Return the same text for all lines of a diff that look the same unless they are exact."""
    text = escape_line(line)
    if not text.isascii():
        text = "".join(
            char for char in unicodedata.normalize("NFC", text) if not _shapes_letter(char)
        )
    return " ".join(text.split())


def match_markup(line: str) -> str | None:
    """Return the beginning of a line that is shown with one more backslash; None for others."""
    match = _MARKUP.match(line)
    return None if match is None else match[2]


def escape_markup(text: str) -> str:
    """Return a text of a notebook in which no line looks like one of ours."""
    return _MARKUP.sub(r"\1\\\2", text) if "<" in text else text


def is_escaped(text: str) -> bool:
    """Return whether a text begins with a backslash that `escape_markup` may have added."""
    return _ESCAPED_MARKUP.match(text) is not None


def unescape_markup(text: str) -> str:
    """Return the original of a text that `escape_markup` has returned."""
    return _ESCAPED_MARKUP.sub(r"\1\2", text) if "\\" in text else text
