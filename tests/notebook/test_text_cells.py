"""Cells as text: what is shown, what fits a budget, and that no notebook can imitate our lines."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.cell_names import compute_source_hash
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.text_cells import TextOptions, render_outline_line, render_page
from tests.support import samples

ERROR = {
    "output_type": "error",
    "ename": "ValueError",
    "evalue": "bad month\nor day",
    "traceback": ["\x1b[31mTraceback\x1b[0m", "ValueError: bad month"],
}


def stream(text: Any, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def data(**bundle: Any) -> dict[str, Any]:
    names = {"png": "image/png", "html": "text/html", "text": "text/plain", "svg": "image/svg+xml"}
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {names.get(name, name): value for name, value in bundle.items()},
    }


def document(*cells: dict[str, Any]) -> Document:
    return Document.parse(samples.notebook(*cells))


def outline(cell: dict[str, Any]) -> str:
    """Return the outline line of the only cell of a notebook, without its name."""
    line = render_outline_line(document(cell), 0)
    name, _, rest = line.partition(" ")
    assert name == f"0:{compute_source_hash(''.join(cell['source']))[:6]}"
    return rest


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        (samples.markdown("# Title"), "md # Title"),
        (samples.raw("\n\n  a\nb\n"), "raw a (+3)"),
        (samples.code(""), "code (empty)"),
        (samples.code("x\ny", metadata={"tags": ["a", "b", 1]}), "code [a, b] x (+1)"),
        (samples.code("a\x1b[31m\tb\u2028c"), "code a [31m\tb c"),
        (samples.code("y" * 100), f"code {'y' * 79}…"),
        ({**samples.raw("x"), "cell_type": "odd\n"}, "odd x"),
        (samples.code("x", outputs=[ERROR, data(png="")]), "code x => ValueError: bad month, png"),
        (samples.code("x", outputs=[ERROR] * 3), "code x => ValueError: bad month, 2 more errors"),
        (samples.code("x", outputs=[stream("a\nb\n")]), "code x => stdout 2 lines"),
        (samples.code("x", outputs=[stream(["a"], "stderr")]), "code x => stderr 1 line"),
        (samples.code("x", outputs=[data(text="42", html="x")]), "code x => html"),
        (samples.code("x", outputs=[data(text=["(3, ", "4)"])]), "code x => (3, 4)"),
        (samples.code("x", outputs=[data(text="a\nb")]), "code x => text 2 lines"),
        (samples.code("x", outputs=[data(svg="")] * 2), "code x => 2 svg"),
        (
            samples.code("x", outputs=[data(**{"application/vnd.plotly.v1+json": {}})]),
            "code x => plotly",
        ),
        (samples.code("x", outputs=["odd", {"data": {"text/plain": 1}}]), None),
        (samples.markdown("x", outputs=[ERROR]), "md x"),
    ],
)
def test_an_outline_line_says_what_a_cell_is(cell: dict[str, Any], line: str | None) -> None:
    found = outline(cell)
    if line is None:
        assert found.startswith("code x => ")
    else:
        assert found == line


def test_whole_cells_have_their_sources_and_outputs() -> None:
    cells = [
        samples.markdown("# T\n", "a"),
        samples.code("f()", outputs=[stream("a\n"), data(png="aGk="), ERROR], metadata={"x": 1}),
    ]
    names = [f"{n}:{compute_source_hash(cell['source'])[:6]}" for n, cell in enumerate(cells)]

    def render(**options: Any) -> str:
        return render_page(document(*cells), range(2), TextOptions(**options)).text

    head = f"<cell {names[1]} code => ValueError: bad month, stdout 1 line, png>"
    assert render() == f"<cell {names[0]} md>\n# T\n{head}\nf()"
    assert render(outputs="none") == f"<cell {names[0]} md>\n# T\n<cell {names[1]} code>\nf()"
    assert render(view="full", outputs="text").endswith(
        f'{head}\n<note>metadata {{"x":1}}</note>\nf()\n<outputs>\na\n(image/png, 2 bytes)\n'
        "Traceback\nValueError: bad month"
    )


MARKUP = re.compile(r"</?(cell|outputs|note)\b")
LINES = st.lists(
    st.sampled_from(
        ["<cell 0:aaaaaa code>", "\\<note>x", "</note>", "<celly", "<outputs>", "x", ""]
    ),
    max_size=6,
)


@pytest.mark.threat("S31")
@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=4))
def test_no_line_of_a_notebook_looks_like_one_of_ours(texts: list[tuple[Any, Any]]) -> None:
    cells = [
        samples.code("\n".join(source), outputs=[stream("\n".join(output))])
        for source, output in texts
    ]
    options = TextOptions("source", "text", characters=10**6)
    text = render_page(document(*cells), range(len(cells)), options).text

    blocks = re.split(r"(?m)^<cell .*>$\n?", text)[1:]
    assert len(blocks) == len(cells)
    for block, (source, output) in zip(blocks, texts, strict=True):
        parts = re.split(r"(?m)^<outputs>$\n?", block)
        shown = [re.sub(r"(?m)^\\(\\*</?(?:cell|outputs|note)\b)", r"\1", part) for part in parts]
        expected = ["\n".join(source), "\n".join(output) or "(stream)"]
        assert [part.rstrip("\n") for part in shown] == [part.rstrip("\n") for part in expected]
        assert not any(MARKUP.match(line) for part in parts for line in part.split("\n"))


def read_outputs(*outputs: Any, source: str = "f()", **options: Any) -> str:
    """Return the text of the outputs of the only cell, with the default budget."""
    found = document(samples.code(source, outputs=list(outputs)))
    text = render_page(found, [0], TextOptions("source", "text", **options)).text
    assert len(text) <= options.get("characters", 8_000)
    assert text.count("\n") <= 250
    return text.partition("\n<outputs>\n")[2]


NUMBERS = [f"line {n}" for n in range(1, 301)]
LINES_300 = "\n".join(NUMBERS)


@pytest.mark.parametrize(
    "outputs",
    [
        [stream(LINES_300)],
        [stream(LINES_300.replace("\n", "\r\n"))],
        [stream([f"{line}\n" for line in NUMBERS])],
        [stream(f"{line}\n") for line in NUMBERS],
        [data(text=LINES_300)],
        [data(text=line) for line in NUMBERS],
        [{**ERROR, "traceback": NUMBERS}],
        [stream("line 1\n"), stream("x" * 10_000), data(text="line 300")],
    ],
)
@pytest.mark.parametrize("source", ["f()", "f()\n" * 300, "f(" + "x" * 10_000 + ")"])
def test_both_ends_of_long_outputs_are_shown(outputs: list[Any], source: str) -> None:
    shown = read_outputs(*outputs, source=source).split("\n")
    assert (shown[0], shown[-1]) == ("line 1", "line 300")
    assert sum(line.startswith("<note>") for line in shown) >= 1


@pytest.mark.parametrize("size", [600, 1_000, 8_000, 40_000])
def test_both_ends_of_one_long_line_are_shown(size: int) -> None:
    shown = read_outputs(stream(f"first{'x' * 100_000}last"), characters=size)
    assert shown.startswith("first")
    assert shown.endswith("last")
    assert "characters are not shown here: send a larger max_chars.</note>" in shown


def test_an_output_that_fits_is_shown_whole() -> None:
    text = "\n".join("y" * 60 for _ in range(100))
    assert read_outputs(stream(text)) == text
    cells = [samples.code("x", outputs=[stream(text)]), samples.raw("b")]
    shown = render_page(document(*cells), [0, 1], TextOptions(outputs="text")).text
    assert len(shown) < 3_000
    assert shown.endswith("\nb")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("".join(f"\r{n:3}%" for n in range(101)), "100%"),
        ("".join(f"{n:3}%\r" for n in range(101)), "100%"),
        ("a\r\nb\r\n", "a\nb"),
        ("0%\r50%\r\n100%\r\n", "50%\n100%"),
        ("long text\rnew", "newg text"),
        ("long\r    \r", "(stream)"),
        ("\x1b[2K\r1/2\x1b[K\r2/2\x1b[0m\n", "2/2"),
        ("1/2" + "\b" * 3 + "2/2\nok", "2/2\nok"),
        ("\b\bx", "x"),
        ("a\r<note>b", "\\<note>b"),
        ("<note>b\rc", "cnote>b"),
        ("\r", "(stream)"),
    ],
)
def test_the_frames_of_a_line_are_folded(text: str, shown: str) -> None:
    assert read_outputs(stream(text)) == shown
    # Each frame may be an output of its own.
    if "\x1b" not in text:
        assert read_outputs(*map(stream, text)) == shown


def test_folding_and_cutting_take_linear_time() -> None:
    text = "x" * 1_000_000 + "\r" + "y\r" * 1_000_000 + "z\b" * 1_000_000
    assert read_outputs(stream(text)).startswith("yxxx")


@given(st.text(alphabet="a\n<note>", max_size=600), st.integers(1, 500))
def test_the_end_of_an_output_does_not_look_like_ours(text: str, characters: int) -> None:
    found = document(samples.code("", outputs=[stream(text)]))
    options = TextOptions(outputs="text", characters=characters)
    shown = render_page(found, [0], options).text
    ours = re.compile(r"<cell 0:|<outputs>$|<note>[0-9]+ (more )?characters ")
    for line in shown.split("\n"):
        assert ours.match(line) or not MARKUP.match(line), shown


@given(
    st.lists(st.text(alphabet="ab\n<cel ", max_size=200), min_size=1, max_size=30),
    st.integers(1, 4_000),
    st.sampled_from(["auto", "outline", "source"]),
)
def test_pages_keep_their_budget_and_together_show_every_cell(
    sources: list[str], characters: int, view: Any
) -> None:
    found = document(*(samples.raw(source) for source in sources))
    options = TextOptions(view, characters=characters)
    indexes, seen = list(range(len(sources))), list[int]()
    while indexes:
        page = render_page(found, indexes, options)
        # One cell and the notes are always shown.
        assert len(page.text) <= max(characters, 450)
        shown = re.findall(r"(?m)^(?:<cell )?(\d+):[0-9a-f]{6}~? ", page.text)
        seen += map(int, shown)
        following = re.search(r"go on with start=(\d+)\.", page.text)
        assert page.is_complete or following or "larger max_chars" in page.text
        indexes = [] if following is None else [n for n in indexes if n >= int(following[1])]
    assert seen == list(range(len(sources)))


def test_a_budget_of_lines_is_kept() -> None:
    cells = [samples.raw(json.dumps(n)) for n in range(1_000)]
    page = render_page(document(*cells), range(1_000), TextOptions("outline", characters=100_000))
    assert page.text.count("\n") == 1_000 - 1
    page = render_page(document(*cells), range(1_000), TextOptions("outline"))
    assert page.text.count("\n") == 250
    long = document(samples.raw("a\n" * 1_000), samples.raw("b"))
    text = render_page(long, [0], TextOptions("source")).text
    assert "more characters of this cell are not shown" in text
    assert text.count("\n") <= 252


def test_sources_that_do_not_fit_become_an_outline_unless_cells_were_requested() -> None:
    cells = [samples.raw("word " * 300) for _ in range(10)]
    found = document(*cells)
    assert render_page(found, range(10), TextOptions()).text.startswith("0:")
    page = render_page(found, range(10), TextOptions(is_selection=True))
    assert page.text.startswith("<cell 0:")
    assert "go on with start=5." in page.text
