"""What is counted: run by `test_linear_time.py`, in processes of their own with the plugin.

Each case is done for some size and for twice that size. A quadratic part of it would make four
times as many steps of twice the size; up to 2.3 times leaves room for logarithms. By day the sizes
are small; the nightly run takes larger ones, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook import markdown, sections
from jupyter_nbedit.notebook.alignment import differences
from jupyter_nbedit.notebook.diff import MetadataChange, unified
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.hunks import hunks, outlives
from jupyter_nbedit.notebook.pairing import paired
from jupyter_nbedit.tools.substitution import substituted
from tests.linear import counting
from tests.linear.documents import DOCUMENTS
from tests.notebook.oracle import edit
from tests.support import samples
from tests.support.http import JSON, Local
from tests.support.sizes import is_nightly

NIGHTLY = is_nightly()
MOST = 2.3
SIZES = {"small": 200, "usual": 2_000, "large": 100_000}


def steps(work: Callable[[], object]) -> int:
    before = counting.taken
    work()
    return counting.taken - before


def assert_linear(work: Callable[[int], object], size: int) -> None:
    once, twice = steps(partial(work, size)), steps(partial(work, 2 * size))
    assert once > 100, "nothing was counted"
    assert twice <= MOST * once, f"{once} steps, and {twice} of twice the size"


def refused(work: Callable[..., object], *args: object) -> None:
    """Do what may be refused: that must not take long either."""
    try:
        work(*args)
    except NbEditError as refusal:
        assert refusal.message  # noqa: PT017 -- whether it is refused does not matter here


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_texts_are_read_and_changed_in_linear_time(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To count the steps of regular expressions, too, takes long for long texts.
    monkeypatch.setattr(counting, "matches_again", size < SIZES["large"])
    texts = {size: DOCUMENTS[name](size) for size in (size, 2 * size)}

    def change(size: int) -> None:
        text = f"{texts[size]}\n\n# ok\n\n- x\n"
        for heading in markdown.headings(text):
            assert heading.text is not None
        markdown.list_items(text)
        refused(sections.read, text, "ok")
        refused(sections.append, text, "ok", text)
        refused(sections.replace, text, "ok", text)
        refused(sections.remove_entry, f"# ok\n\n{texts[size]}", "ok", "a")

    assert_linear(change, size)


@pytest.mark.parametrize("text", [b'{"a": "' + b"\\n" * 2000, b'{"a": NaN, "b": [' + b"[]," * 2000])
def test_texts_that_are_no_json_are_refused_in_linear_time(text: bytes) -> None:
    assert_linear(lambda size: refused(Document.parse, text[:size]), len(text) // 2)


def batch(cells: list[dict[str, Any]], operations: list[dict[str, Any]]) -> Callable[[], object]:
    document = Document.parse(samples.notebook(*cells))
    return lambda: edit(document, *operations)


@pytest.mark.parametrize(
    ("operation", "most"),
    [
        (lambda n: {"op": "append_to_section", "section": f"a{n}", "source": "- x\n\n## y"}, None),
        (lambda n: {"op": "append_to_section", "section": "a0", "source": f"- x{n}"}, None),
        (lambda n: {"op": "replace_section", "section": f"a{n}", "source": "# x"}, None),
        (lambda n: {"op": "remove_entry", "section": f"a{n}", "match": "item"}, None),
        # What each of them seeks is sought in the whole section, so their number stays.
        (lambda n: {"op": "remove_entry", "section": "all", "match": f"item {n} "}, 10),
    ],
)
def test_edits_of_the_sections_of_a_cell_are_one_pass(
    operation: Callable[[int], dict[str, Any]], most: int | None
) -> None:
    def work(size: int) -> int:
        source = "".join(f"## a{n}\n\n- item {n} \n" for n in range(size))
        cell = samples.markdown(f"# all\n{source}# end\n", "a")
        return steps(batch([cell], [operation(n) for n in range(most or size // 4)]))

    once, twice = work(60), work(120)

    assert twice <= MOST * once, (once, twice)


@pytest.mark.parametrize("count", [1, 50] if NIGHTLY else [1])
def test_edits_remove_entries_in_linear_time(count: int) -> None:
    def remove(size: int) -> None:
        text = "# A\n" + "- a\n\n" * size
        assert sections.remove_entry(text, "A", "a")[0].strip() == "# A"

    assert_linear(remove, 10 * count + 200)


@pytest.mark.parametrize(
    "texts",
    [
        lambda n: ("a\n" * n, "b\n" + "a\n" * (n // 2) + "c\n"),
        lambda n: ("a\nb\n" * n, "b\nb\na\n" * n),
        lambda n: ("a b " * n, "b a c " * n),
        lambda n: ("".join(f"{i}\n" for i in range(n)), "".join(f"{n - i}\n" for i in range(n))),
        lambda n: (
            "".join(f"{i} a a b\n" for i in range(n)),
            "".join(f"{i} b a\n" for i in range(n)),
        ),
        lambda n: ("a" * n, "b" * n),
    ],
)
def test_comparisons_take_linear_time(texts: Callable[[int], tuple[str, str]]) -> None:
    def compare(size: int) -> None:
        before, after = texts(size)
        hunks(before, after)
        outlives(before, after, before + after)
        differences(before.splitlines(), after.splitlines())
        unified("a", [MetadataChange({"a": before.split()}, {"a": after.split()})])

    assert_linear(compare, 3000 if NIGHTLY else 200)


def test_comparisons_of_cells_without_ids_take_linear_time() -> None:
    def pair(size: int) -> None:
        old = [samples.code(f"x = {'a b ' * size}{n}") for n in range(10)]
        new = [samples.code(f"y = {'b a ' * size}{n}") for n in range(10)]
        paired(
            Document.parse(samples.notebook(*old, minor=4)),
            Document.parse(samples.notebook(*new, minor=4)),
        )

    assert_linear(pair, 200 if NIGHTLY else 50)


@pytest.mark.parametrize("text", ["a", "ab", "a\r\n", "\r"])
def test_edits_replace_a_text_everywhere_in_linear_time(text: str) -> None:
    def replace(size: int) -> None:
        substituted("a" + text * size, "a", "b\nc", every=True)

    assert_linear(replace, 1000)


HTTP: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    *(
        ("PATCH", ("nbedit", "notebooks", "a.ipynb"), {"operations": [operation]})
        for operation in (
            {"op": "append_to_section", "section": "ok", "source": "x"},
            {"op": "replace_section", "section": "# ok", "source": "x"},
            {"op": "remove_entry", "section": "ok", "match": "x"},
            {"op": "replace_text", "cell": 0, "old": "a", "new": "bc", "all": True},
        )
    ),
    *(
        ("POST", ("nbedit", "tools", "sections", "notebook_edit"), {"file": name, **given})
        for name in ("a.ipynb", "a.md")
        for given in (
            {"action": "read", "section": "ok"},
            {"action": "append_to_section", "section": "ok", "content": "x"},
            {"action": "replace_section", "section": "ok", "content": "x"},
            {"action": "remove_entry", "section": "ok", "entry_match": "x"},
        )
    ),
    ("GET", ("nbedit", "notebooks", "a.ipynb"), {"section": "ok"}),
    ("GET", ("nbedit", "notebooks", "a.ipynb"), {"section": "no such section"}),
]


@pytest.mark.parametrize(("verb", "parts", "given"), HTTP if NIGHTLY else HTTP[:4] + HTTP[-1:])
async def test_routes_on_sections_take_linear_time(
    verb: str, parts: tuple[str, ...], given: dict[str, Any], local: Local
) -> None:
    counts = []
    for size in (250, 500) if NIGHTLY else (60, 120):
        texts = [f"{build(size)}\n" for build in DOCUMENTS.values()]
        cells = [samples.markdown(text, f"c{n}") for n, text in enumerate(texts)]
        cells.append(samples.markdown("# ok\n\n- x\n", "ok"))
        (local.root / "a.ipynb").write_bytes(samples.notebook(*cells))
        (local.root / "a.md").write_text("# ok\n\n- x\n\n" + "\n\n".join(texts), newline="")
        before = counting.taken
        if verb == "GET":
            answer = await local.request(verb, *parts, params=given)
        else:
            answer = await local.request(
                verb, *parts, body=json.dumps(given).encode(), headers=JSON
            )
        assert answer.status in {200, 404}, answer.body
        counts.append(counting.taken - before)
    assert counts[0] > 1000, "nothing was counted"
    assert counts[1] <= MOST * counts[0], counts
