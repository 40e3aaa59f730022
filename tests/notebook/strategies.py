"""Hypothesis strategies for notebooks: all layouts and oddities that are readable."""

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Token:
    """A JSON token to be written as it is."""

    text: str


@dataclass(frozen=True)
class FileLayout:
    """The formatting of a file; ``indent`` is None for a single line."""

    indent: str | None
    newline: str
    comma: str
    colon: str
    ascii: bool
    slashes: bool

    def string(self, value: str) -> str:
        text = json.dumps(value, ensure_ascii=self.ascii)
        return text.replace("/", "\\/") if self.slashes else text

    def write(self, value: Any, depth: int = 0) -> str:
        if isinstance(value, Token):
            return value.text
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, Members):
            items = [
                f"{self.string(name)}{self.colon}{self.write(item, depth + 1)}"
                for name, item in value.pairs
            ]
            return self._wrap("{}", items, depth)
        if isinstance(value, list):
            return self._wrap("[]", [self.write(item, depth + 1) for item in value], depth)
        return json.dumps(value)

    def _wrap(self, brackets: str, items: list[str], depth: int) -> str:
        if not items:
            return brackets
        if self.indent is None:
            return brackets[0] + self.comma.join(items) + brackets[1]
        inner = self.newline + self.indent * (depth + 1)
        outer = self.newline + self.indent * depth
        return brackets[0] + inner + f",{inner}".join(items) + outer + brackets[1]


@dataclass(frozen=True)
class Members:
    """An object as its pairs, in order; a name may stand twice."""

    pairs: list[tuple[str, Any]]


layouts = st.builds(
    FileLayout,
    indent=st.one_of(
        st.none(), st.integers(0, 8).map(lambda n: " " * n), st.sampled_from(["\t", "\t\t", " \t"])
    ),
    newline=st.sampled_from(["\n", "\r\n"]),
    comma=st.sampled_from([",", ", ", " , "]),
    colon=st.sampled_from([": ", ":", " : ", ":\t"]),
    ascii=st.booleans(),
    slashes=st.booleans(),
)

texts = st.text(
    st.one_of(
        st.sampled_from('\n\r\t\\"/[]{},: \x00\x1f\x7f\x85\u2028\u2029\ufeff\U0001f600é'),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=30,
)

oddities = st.sampled_from(
    [
        Token("NaN"),
        Token("Infinity"),
        Token("-Infinity"),
        Token("9" * 5000),
        Token("1e400"),
        Token("-0"),
        Token("1E+2"),
        Token("[" * 150 + "]" * 150),
        Token('"\\ud800"'),
        Token('"\\udc00\\ud800"'),
        Token('"\\u0041\\/"'),
        Token("{}"),
        Token("[ ]"),
        Token('{ "cells" : [ {} ] , "x":[1,\t2]}'),
    ]
)

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), texts, oddities),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(st.tuples(texts, inner), max_size=3).map(Members),
    ),
    max_leaves=6,
)


def sources() -> st.SearchStrategy[Any]:
    """A source as one string, as lines, and as pieces that are no lines."""
    return st.one_of(
        texts,
        texts.map(lambda text: text.splitlines(keepends=True)),
        st.lists(texts, max_size=4),
        st.sampled_from([[Token('"\\ud83d"'), "x"], Token("[ ]")]),
    )


@st.composite
def cells(draw: st.DrawFn, *, ids: bool) -> Members:
    kind = draw(st.sampled_from(["code", "markdown", "raw"]))
    metadata = draw(st.lists(st.tuples(texts, values), max_size=2))
    metadata = [pair for pair in metadata if pair[0] not in {"editable", "deletable"}]
    protected = draw(st.sampled_from([[]] * 8 + [["editable"], ["deletable"]]))
    metadata += [(flag, False) for flag in protected]
    pairs: list[tuple[str, Any]] = [
        ("cell_type", kind),
        ("metadata", Members(metadata)),
        ("source", draw(sources())),
    ]
    if kind == "code":
        outputs = draw(
            st.lists(st.tuples(texts, values).map(lambda pair: Members([pair])), max_size=2)
        )
        pairs += [("execution_count", draw(st.sampled_from([None, 7]))), ("outputs", outputs)]
    if ids:
        # Few ids, so that some stand twice.
        pairs.append(("id", draw(st.sampled_from(["a", "b", "cell-0", "x-1", "y_2", "z"]))))
    unknown = draw(st.lists(st.tuples(texts, values), max_size=2))
    names = {name for name, _ in pairs} | {"attachments", "id"}
    pairs += [pair for pair in unknown if pair[0] not in names]
    # nbformat requires them, and no reader needs them.
    demanded = ("metadata", "source", "outputs", "execution_count")
    missing = draw(st.sampled_from([*[""] * 8, *demanded]))
    pairs = [pair for pair in pairs if pair[0] != missing]
    return Members(draw(st.permutations(pairs)))


@st.composite
def notebooks(draw: st.DrawFn) -> bytes:
    """A notebook's bytes."""
    layout = draw(layouts)
    minor = draw(st.integers(0, 5))
    ids = draw(st.booleans()) if minor == 5 else False
    pairs: list[tuple[str, Any]] = [
        ("cells", draw(st.lists(cells(ids=ids), max_size=6))),
        ("metadata", Members(draw(st.lists(st.tuples(texts, values), max_size=2)))),
        ("nbformat", 4),
        ("nbformat_minor", minor),
    ]
    unknown = draw(st.lists(st.tuples(texts, values), max_size=2))
    pairs += [pair for pair in unknown if pair[0] not in {name for name, _ in pairs}]
    if draw(st.integers(0, 8)) == 0:
        pairs = [pair for pair in pairs if pair[0] != "metadata"]
    text = layout.write(Members(draw(st.permutations(pairs))))
    if draw(st.integers(0, 8)) == 0:
        for name in ("cells", "source", "metadata", "cell_type", "id"):
            text = text.replace(f'"{name}"', f'"\\u{ord(name[0]):04x}{name[1:]}"')
    before = draw(st.sampled_from(["", " ", "\n"]))
    after = draw(st.sampled_from(["", "\n", "\r\n", " \n\n"]))
    return draw(st.sampled_from([b"", BOM])) + (before + text + after).encode()
