"""Where a text can be cut so that no character that a person sees is cut in two."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"


_NON_JOINER = "\u200c"


_HALF_WIDTH_VOICING = "\uff9e\uff9f"


def find_grapheme_boundary(text: str, limit: int) -> int:
    """Return the largest number of code points up to a limit that cuts no character."""
    if limit >= len(text):
        return len(text)
    stop = max(limit, 0)
    while stop > 0 and not _may_cut(text, stop):
        stop -= 1
    return stop


def _may_cut(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if after < "\x80":
        return not (before == "\r" and after == "\n") and before != _JOINER
    return not (
        before == _JOINER
        or _is_extending(after)
        or (_is_surrogate(before) and _is_surrogate(after))
        or (_is_jamo(before) and _is_jamo(after))
        or (_is_flag(after) and _count_flags_before(text, at) % 2 == 1)
    )


def _is_extending(character: str) -> bool:
    """Return whether it belongs to the one before: marks, joiners, skin tones, tags."""
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
    """Return whether it is a Korean syllable or a part of one: neighbours may be one syllable."""
    return (
        "\u1100" <= character <= "\u11ff"
        or "\ua960" <= character <= "\ua97f"
        or "\uac00" <= character <= "\ud7ff"
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _count_flags_before(text: str, at: int) -> int:
    """Count the letters of flags that end at a place; two of them make a flag."""
    start = at
    while start > 0 and _is_flag(text[start - 1]):
        start -= 1
    return at - start
