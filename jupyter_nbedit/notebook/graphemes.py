"""Where a text can be cut so that no character that a person sees is cut in two."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"


_NON_JOINER = "\u200c"


_HALF_WIDTH_VOICING = "\uff9e\uff9f"


def find_grapheme_boundary(text: str, limit: int) -> int:
    """Return the largest number of code points up to a limit that splits no visible character."""
    if limit >= len(text):
        return len(text)
    stop = max(limit, 0)
    while stop > 0 and not _is_boundary(text, stop):
        stop -= 1
    return stop


def _is_boundary(text: str, position: int) -> bool:
    previous, following = text[position - 1], text[position]
    if following < "\x80":
        return not (previous == "\r" and following == "\n") and previous != _JOINER
    return not (
        previous == _JOINER
        or _is_extending(following)
        or (_is_surrogate(previous) and _is_surrogate(following))
        or (_is_jamo(previous) and _is_jamo(following))
        or (_is_flag(following) and _count_preceding_flags(text, position) % 2 == 1)
    )


def _is_extending(character: str) -> bool:
    """Return whether a character belongs to the one before: marks, joiners, skin tones, tags."""
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character in {_JOINER, _NON_JOINER}
        or character in _HALF_WIDTH_VOICING
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _is_jamo(character: str) -> bool:
    """Return whether a character is Korean; neighbours may form one syllable."""
    return (
        "\u1100" <= character <= "\u11ff"
        or "\ua960" <= character <= "\ua97f"
        or "\uac00" <= character <= "\ud7ff"
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _count_preceding_flags(text: str, position: int) -> int:
    """Return the number of flag letters before a position; two of them form a flag."""
    start = position
    while start > 0 and _is_flag(text[start - 1]):
        start -= 1
    return position - start
