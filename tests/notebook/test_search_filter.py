"""What the bytes of a notebook say of matches: whatever is filtered out has none."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.search import (
    Hit,
    Query,
    Scope,
    compile_literal,
    compile_regex,
    search_notebook,
)
from jupyter_nbedit.notebook.search_filter import build_filter, find_required_text
from tests.support import samples

ALL: frozenset[Scope] = frozenset(("sources", "outputs", "tags"))
# Kelvin and the long s are the letters k and s if case is ignored.
ALPHABET = st.sampled_from([*"abkKsn\\/\"\t'[:,] .é", "\u212a", "\u017f", "\u2028", "\x7f", "\n"])
TEXTS = st.text(ALPHABET, max_size=12)


def search(document: Document, query: Query) -> list[Hit]:
    return [hit for _, hit in search_notebook("a", document, query, None) if hit is not None]


def write(source: Any, spaces: str, *, escapes: str) -> bytes:
    """Return a notebook with one cell; ``escapes`` says which characters are written as escapes."""
    data = samples.notebook({**samples.code("@", "a"), "source": "@"}).decode()
    text = json.dumps(source, ensure_ascii=escapes == "unicode").replace(", ", f",{spaces}")
    if escapes == "all":
        text = re.sub(r"(?<!\\)[abks/]", lambda found: f"\\u{ord(found[0]):04X}", text)
    return data.replace('"@"', text).encode()


@st.composite
def notebooks(draw: st.DrawFn) -> bytes:
    text = draw(TEXTS)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=3)) | {0, len(text)})
    parts = [text[start:stop] for start, stop in pairwise(cuts)]
    source = draw(st.sampled_from([text, text.splitlines(keepends=True), parts]))
    spaces = draw(st.sampled_from(["", " ", "\n   "]))
    return write(source, spaces, escapes=draw(st.sampled_from(["none", "unicode", "all"])))


@given(notebooks(), TEXTS.filter(lambda text: "\n" not in text), st.booleans())
def test_a_text_is_found_with_the_filter_where_it_is_found_without(
    data: bytes, text: str, ignore_case: Any
) -> None:
    pattern = compile_literal(text, ignore_case=ignore_case)
    document = Document.parse(data)
    query = Query(pattern, ALL, None, build_filter(text, ignore_case=ignore_case))
    without = search(document, Query(pattern, ALL))
    assert search(document, query) == without
    assert query.may_match(data) or not without


EXPRESSIONS = st.lists(
    st.sampled_from(
        [
            *'abkKs/"é',
            r"\.",
            r"\\",
            r"\d",
            r"\x61",
            r"\141",
            r"\pL",
            r"\Qa.b\E",
            "[ab]",
            "[^/]",
            "(ab)",
            "(?i)k",
            "a*",
            "b?",
            "s+",
            "k{0,2}",
            "^",
            "$",
            ".",
            "|",
            "a{",
            "x]",
            "b}",
        ]
    ),
    max_size=5,
).map("".join)


@given(notebooks(), EXPRESSIONS, st.booleans())
def test_an_expression_is_found_with_the_filter_where_it_is_found_without(
    data: bytes, expression: str, ignore_case: Any
) -> None:
    try:
        pattern = compile_regex(expression, ignore_case=ignore_case)
    except InvalidRequest:
        return
    required = find_required_text(expression)
    query = Query(pattern, ALL, None, build_filter(required, ignore_case=ignore_case))
    document = Document.parse(data)
    without = search(document, Query(pattern, ALL))
    assert search(document, query) == without
    assert query.may_match(data) or not without


@pytest.mark.parametrize(
    ("expression", "required"),
    [
        (r"^\s*def train_\w+\(self", "def train_"),
        (r"import numpy\.random", "import numpy.random"),
        (r"colou?r\s+map", "colo"),
        ("a|b", ""),
        ("(?i)train", ""),
        (r"\x61bc", ""),
        ("plot[a-z]train", "plot"),
    ],
)
def test_the_longest_text_before_a_group_or_class_is_required(
    expression: str, required: str
) -> None:
    assert find_required_text(expression) == required


FILTERED = {
    "another text": (b'"other text"', "needle"),
    "lines with line feeds": (b'["nee\\n", "dle"]', "needle"),
    "an escape that is not ASCII": (b'"caf\\u00e9 and \\u2019"', "needle"),
}
NOT_FILTERED = {
    "the text": (b'"a needle"', "needle"),
    "an escaped letter": (b'"need\\u006Ce"', "needle"),
    "an escaped slash": (b'"a\\/b"', "a/b"),
    "quotes and backslashes": (b'"a\\"b\\\\c"', 'a"b\\c'),
    "a line in two strings": (b'["nee", "dle"]', "needle"),
    "a backslash and n at the end of a string": (b'["a\\\\n", "b"]', "nb"),
    "a tab": (b'"a\\tb"', "a\tb"),
}


@pytest.mark.parametrize(
    ("source", "text", "may_match"),
    [(*case, False) for case in FILTERED.values()]
    + [(*case, True) for case in NOT_FILTERED.values()],
    ids=[*FILTERED, *NOT_FILTERED],
)
def test_a_notebook_is_filtered_out_if_its_bytes_have_no_form_of_the_text(
    source: bytes, text: str, may_match: Any
) -> None:
    data = samples.notebook({**samples.code("@", "a"), "source": "@"}).replace(b'"@"', source)
    pattern = compile_literal(text, ignore_case=False)
    query = Query(pattern, frozenset(["sources"]), None, build_filter(text, ignore_case=False))
    assert query.may_match(data) is may_match
    assert bool(search(Document.parse(data), query)) is may_match


def test_outputs_are_searched_unless_the_bytes_have_none() -> None:
    cell = samples.code(
        "a", "a", outputs=[{"output_type": "stream", "text": "\x1b[1mnee\x1b[0mdle"}]
    )
    pattern = compile_literal("needle", ignore_case=False)
    text_filter = build_filter("needle", ignore_case=False)
    document = Document.parse(samples.notebook(cell))
    assert search(document, Query(pattern, frozenset(["outputs"]), None, text_filter))
    assert not search(document, Query(pattern, frozenset(["sources"]), None, text_filter))


def test_a_text_with_a_control_character_has_no_filter() -> None:
    assert build_filter("a\x01", ignore_case=False) is None
    assert build_filter("", ignore_case=False) is None
