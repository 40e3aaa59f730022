"""Find lines in a notebook."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.search import (
    Hit,
    Query,
    Scope,
    SearchPosition,
    compile_literal,
    compile_regex,
    search_notebook,
)
from tests.support import samples

ALL: tuple[Scope, ...] = ("sources", "outputs", "tags")
STREAM = {"output_type": "stream", "name": "stdout", "text": "one\n\x1b[31mtwo\x1b[0m two\n"}
RESULT = {
    "output_type": "execute_result",
    "execution_count": 1,
    "metadata": {},
    "data": {"text/plain": "two", "text/html": "two", "image/png": "dHdv"},
}
ERROR = {"output_type": "error", "ename": "Two", "evalue": "two", "traceback": ["Two: two", "two"]}
BARE_ERROR = {**ERROR, "traceback": []}


def hits(
    pattern: Any,
    *cells: dict[str, Any],
    scopes: tuple[Scope, ...] = ALL,
    cell_type: str | None = None,
    after: SearchPosition | None = None,
) -> list[Hit]:
    document = Document.parse(samples.notebook(*cells))
    query = Query(pattern, frozenset(scopes), cell_type)
    return [hit for _, hit in search_notebook("a.ipynb", document, query, after) if hit is not None]


def two(**more: Any) -> Any:
    return compile_literal("two", ignore_case=False, **more)


def find_lines(pattern: Any, source: str) -> list[tuple[int, int, int, str]]:
    found = hits(pattern, samples.raw(source, "a"))
    return [(hit.line, hit.column, hit.length, hit.text) for hit in found]


def test_a_match_has_its_position_and_its_line() -> None:
    cell = samples.code("é one\n  two, two", "beta")
    (hit,) = hits(two(), samples.markdown("x", "alpha"), cell)
    assert hit == Hit(
        path="a.ipynb",
        cell_id="beta",
        index=1,
        name=f"1:{compute_source_hash(cell['source'])[:6]}",
        cell_type="code",
        where="source",
        line=2,
        column=3,
        length=3,
        text="  two, two",
    )
    (hit,) = hits(two(), samples.raw("two"))
    assert (hit.cell_id, hit.index, hit.cell_type) == (None, 0, "raw")


def test_outputs_are_searched_as_text() -> None:
    cell = samples.code("", "a", outputs=[STREAM, RESULT, ERROR, BARE_ERROR])
    matches = hits(compile_literal("two two", ignore_case=False), cell)
    assert [(hit.output, hit.line, hit.column) for hit in matches] == [(0, 2, 1)]
    matches = hits(compile_literal("Two: ", ignore_case=False), cell)
    assert [(hit.output, hit.line, hit.text) for hit in matches] == [
        (2, 1, "Two: two"),
        (3, 1, "Two: two"),
    ]


@pytest.mark.parametrize(
    ("expression", "source", "found"),
    [
        ("^b", "ab\nb\ncb", [(2, 1, 1, "b")]),
        ("b$", "ab\nba\r\nb\r\n", [(1, 2, 1, "ab"), (3, 1, 1, "b")]),
        ("^$", "a\n\nb", [(2, 1, 0, "")]),
        ("^$", "a\n", []),
        ("^$", "\n", [(1, 1, 0, "")]),
        ("^$", "", []),
        ("a\\s+b", "a\nb\na  b", [(3, 1, 4, "a  b")]),
        ("a[^x]*b", "a\nb", []),
        ("(?s)a.*b", "a\nb", []),
        ("a\\nb", "a\nb", []),
        ("x*", "a\nb", [(1, 1, 0, "a"), (2, 1, 0, "b")]),
        ("é+", "aéé\n\U0001f600é", [(1, 2, 2, "aéé"), (2, 2, 1, "\U0001f600é")]),
        ("b|c", "a\nb\nc", [(2, 1, 1, "b"), (3, 1, 1, "c")]),
        ("(a)(?P<name>b)", "ab", [(1, 1, 2, "ab")]),
        ("\\pL{2}", "1é2éa", [(1, 4, 2, "1é2éa")]),
        ("\\bdef\\b", "def f\nundefined", [(1, 1, 3, "def f")]),
    ],
)
def test_a_regular_expression_is_matched_line_by_line(
    expression: str, source: str, found: list[tuple[int, int, int, str]]
) -> None:
    assert find_lines(compile_regex(expression, ignore_case=False), source) == found


def test_a_literal_query_is_not_a_regular_expression() -> None:
    for text in ("a.b", "[x", "(", "\\", "^", "a|b", "$", "é\u0301", '"', "\0", "\t"):
        assert find_lines(compile_literal(text, ignore_case=False), f"-\n-{text}-") == [
            (2, 2, len(text), f"-{text}-")
        ]
    assert find_lines(compile_literal("a.b", ignore_case=False), "axb") == []


def test_case_is_ignored_in_every_alphabet_on_request() -> None:
    for pattern in (
        compile_literal("StraßE é", ignore_case=True),
        compile_regex("straß[e] É", ignore_case=True),
    ):
        assert len(find_lines(pattern, "STRAßE É\nstraße é\nstrasse e")) == 2
    assert len(find_lines(compile_regex("É", ignore_case=False), "é\nÉ")) == 1


@pytest.mark.parametrize(
    "expression",
    [
        *("(", "a**", "(a)\\1", "(?=x)", "(?:x{1000}){1000}", "[b-a]"),
        # These would take long.
        *("(.{30}){30}", "(\\pL{20}){20}", "(((a?){9}){99}){1}\\pL{9}"),
        "a\ud800",
    ],
)
def test_an_invalid_or_too_large_expression_is_refused(expression: str) -> None:
    with pytest.raises(InvalidRequest):
        compile_regex(expression, ignore_case=False)


@pytest.mark.parametrize("expression", ["\\pL+", "[^\\x00-\\x7f]{1,9}", ".{1,100}x", "\\w{1,50}"])
def test_an_expression_of_usual_size_is_accepted(expression: str) -> None:
    compile_regex(expression, ignore_case=True)


@pytest.mark.parametrize("text", ["a\nb", "a\ud800"])
def test_a_query_that_no_line_can_contain_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        compile_literal(text, ignore_case=False)


def test_lone_surrogates_match_nothing_and_cause_no_error() -> None:
    text = samples.notebook(samples.raw("@\ntwo @ two", "a"))
    document = Document.parse(text.replace(b"@", b"\\ud800"))
    query = Query(two(), frozenset(ALL))
    (hit,) = (hit for _, hit in search_notebook("a.ipynb", document, query, None) if hit)
    assert (hit.line, hit.column, hit.text) == (2, 1, "two \ud800 two")


def test_a_long_line_is_shortened_around_the_match() -> None:
    line = "é" * 1000 + "two" + "x" * 1000
    (hit,) = hits(two(), samples.raw(line))
    assert (hit.column, hit.length, len(hit.text)) == (1001, 3, 300)
    assert isinstance(hit.text_column, int)
    assert line[hit.text_column - 1 :].startswith(hit.text)
    assert hit.text.index("two") == hit.column - hit.text_column
    (hit,) = hits(two(), samples.raw("two" + "x" * 1000))
    assert hit.text == "two" + "x" * 297


PARTS = st.lists(st.sampled_from(["two", "x", "\n", "\r\n", "", "é", " ", "\r"]), max_size=30)
# Texts are searched in slices that end between lines, so some reach over where one may end.
SLICE_BYTES = 1 << 16
SOURCES = st.builds(
    lambda missing, parts: (
        "y\n" * ((SLICE_BYTES - missing) // 2 if missing else 0) + "".join(parts)
    ),
    st.one_of(st.just(0), st.integers(1, 60)),
    PARTS,
)


def scan_lines(source: str, query: str) -> list[tuple[int, int]]:
    if not source:
        return []
    lines = source.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [(n, line.index(query) + 1) for n, line in enumerate(lines, 1) if query in line]


@given(sources=st.lists(SOURCES, max_size=3), query=st.sampled_from(["two", "x", "é"]))
def test_matches_equal_those_of_a_plain_scan(sources: list[str], query: str) -> None:
    found = hits(compile_literal(query, ignore_case=False), *map(samples.raw, sources))
    assert [(hit.index, hit.line, hit.column) for hit in found] == [
        (index, *place)
        for index, source in enumerate(sources)
        for place in scan_lines(source, query)
    ]


@given(sources=st.lists(SOURCES, max_size=3))
def test_a_search_from_any_position_finds_the_rest_once(sources: list[str]) -> None:
    cells = [samples.code(s, metadata={"tags": ["two"]}, outputs=[STREAM]) for s in sources]
    document = Document.parse(samples.notebook(*cells))
    query = Query(two(), frozenset(ALL))
    steps = list(search_notebook("a.ipynb", document, query, None))
    places = [place for place, _ in steps]
    assert places == sorted(places)
    for number, place in enumerate(places):
        rest = [hit for _, hit in search_notebook("a.ipynb", document, query, place) if hit]
        assert rest == [hit for _, hit in steps[number + 1 :] if hit]
