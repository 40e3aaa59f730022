r"""Find out, from the bytes of a notebook or of a cell, that its texts contain no match.

A text that each match contains is looked for in the bytes, which are JSON. Reading the texts takes
many times as long. The bytes have no match if none of these is in them:

=========================================  ======================================================
what                                       why
=========================================  ======================================================
the text, in JSON                          ``"`` and ``\`` have a backslash before them, ``/`` may
an escape ``\uXXXX`` of an ASCII           it may be a character of the text
character
any ``\uXXXX``, if the text is not ASCII   the same; ``k`` also means the sign of kelvin
or case is ignored
two strings of a list, the first without   a line may be in both
a line feed at its end
=========================================  ======================================================
"""

from typing import Any

import re2

_FORMS = {'"': r'\\"', "\\": r"\\\\", "/": r"\\?/", "\t": r"\\t"}
_ASCII_ESCAPE = r"\\u00[2-7]"
_ANY_ESCAPE = r"\\u"
# A string that does not end in an escaped line feed (after two backslashes "n" is a letter), and
# another string in the same list. The name of a member would be followed by a colon.
_SPLIT_LINE = r'(?:[^n]|[^\\]n|\\\\n)",\s*"(?:[^"\\]|\\.)*"\s*[,\]]'

# Escapes of one letter. Others have a number or a name behind the letter.
_CLASS_ESCAPES = frozenset("dDwWsSbBAznrfva")
_QUANTIFIERS = frozenset("*?{")
_MAX_LENGTH = 100


def build_filter(text: str, *, ignore_case: bool) -> Any:
    """Return a pattern that is in all bytes whose texts contain a text; None if there is none."""
    text = text[:_MAX_LENGTH]
    if not text or any(char < " " and char not in _FORMS for char in text):
        return None
    is_exact = text.isascii() and not ignore_case
    forms = "".join(_FORMS.get(char) or re2.escape(char) for char in text)
    escape = _ASCII_ESCAPE if is_exact else _ANY_ESCAPE
    options = re2.Options()
    options.dot_nl = True
    options.never_capture = True
    flags = "(?i:" if ignore_case else "(?:"
    return re2.compile(f"{flags}{forms})|{escape}|{_SPLIT_LINE}", options)


def find_required_text(expression: str) -> str:
    """Return the longest text before the first group or class that each match contains.

    Return an empty text if there is none, or if the expression has alternatives.
    """
    if "|" in expression:
        return ""
    texts = [""]
    chars = iter(expression)
    for char in chars:
        if char == "\\":
            escaped = next(chars, "")
            if escaped in _CLASS_ESCAPES:
                texts.append("")
            elif escaped.isalnum() or not escaped.isascii():
                break
            else:
                texts[-1] += escaped
        elif char in _QUANTIFIERS:
            # The last character is optional, or `{` begins the numbers of its repetitions.
            texts[-1] = texts[-1][:-1]
            texts.append("")
            if char == "{":
                break
        elif char in "+.^$":
            texts.append("")
        elif char in "([)":
            break
        else:
            texts[-1] += char
    return max(texts, key=len)
