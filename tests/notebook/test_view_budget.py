"""Reading within a budget: never above it, whole characters, all omissions reported."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.views import ViewOptions, render_cells, render_within_budget
from tests.support import samples

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
TEXTS = st.lists(st.sampled_from(["a", "\n", "é", "e\u0301", FAMILY, " "]), max_size=12).map(
    "".join
)
SHOWS = st.builds(
    ViewOptions,
    st.sampled_from(["outline", "source", "full"]),
    st.sampled_from([None, "none", "summary", "text", "full"]),
)


@st.composite
def outputs(draw: st.DrawFn) -> dict[str, Any]:
    text = draw(TEXTS)
    stream = {"output_type": "stream", "name": "stdout", "text": text}
    image = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "AAAA"}}
    both = {**image, "data": {"text/plain": text, "image/png": "AAAA"}}
    error = {"output_type": "error", "ename": "E", "evalue": text, "traceback": [text, text]}
    chosen: dict[str, Any] = draw(st.sampled_from([stream, image, both, error]))
    return chosen


@st.composite
def cells(draw: st.DrawFn) -> list[Cell]:
    found = []
    for _ in range(draw(st.integers(0, 5))):
        metadata = draw(st.sampled_from([{}, {"tags": ["a"]}, {"k": "é" * 20}]))
        if draw(st.booleans()):
            made = draw(st.lists(outputs(), max_size=3))
            found.append(samples.code(draw(TEXTS), outputs=made, metadata=metadata))
        else:
            attached: dict[str, Any] = draw(
                st.sampled_from([{}, {"attachments": {"a": {"image/png": "AAAA"}}}])
            )
            found.append(samples.markdown(draw(TEXTS), metadata=metadata, **attached))
    document = Document.parse(samples.notebook(*found))
    return [document.get_cell(index) for index in range(len(document))]


def to_json(views: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(msgspec.json.encode(views))
    return found


def dump(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def list_texts(output: dict[str, Any]) -> list[str]:
    """List the texts of an output as `outputs=text` has it."""
    names = ("text", "ename", "evalue", "traceback")
    found = [output[name] for name in names if name in output]
    plain = output.get("data", {}).get("text/plain")
    return found if plain is None else [*found, plain]


def count_characters(cell: dict[str, Any], *, full: bool) -> int:
    """Count the characters of a cell that a budget pays for."""
    line = cell.get("source", cell.get("summary", ""))
    count = max(1, len(line))
    count += sum(dump(cell[name]) for name in ("metadata", "attachments") if name in cell)
    if isinstance(cell.get("outputs"), list):
        for output in cell["outputs"]:
            texts = [] if full else list_texts(output)
            # Escapes within a text are the reply's, not the text's.
            count += dump(output) - sum(dump(text) - 2 - len(text) for text in texts)
    return count


def amount(outputs: list[dict[str, Any]], *, full: bool) -> int:
    return sum(dump(output) if full else sum(map(len, list_texts(output))) for output in outputs)


@given(cells(), SHOWS, st.integers(1, 400))
def test_no_budget_is_exceeded_and_omitted_amounts_add_up(
    cells: list[Cell], show: ViewOptions, budget: int
) -> None:
    everything = to_json(render_cells(cells, show))
    found = to_json(render_within_budget(cells, show, budget))
    full = show.outputs_detail == "full"
    assert bool(found) == bool(cells)
    assert sum(count_characters(cell, full=full) for cell in found) <= max(budget, 0)
    for cell, complete in zip(found, everything, strict=False):
        omitted = cell.pop("omitted", {})
        assert all(count > 0 for count in omitted.values())
        if show.view != "outline":
            source = complete["source"]
            shown = cell.get("source", "")
            assert source.startswith(shown)
            assert len(shown) + omitted.get("source", 0) == len(source)
            assert ("source" in cell) != ("summary" in cell)
        for name in ("metadata", "attachments"):
            if name in complete:
                assert cell.get(name, complete[name]) == complete[name]
                left_out = 0 if name in cell else dump(complete[name])
                assert omitted.get(name, 0) == left_out
        outputs, all_outputs = cell.get("outputs"), complete.get("outputs")
        if isinstance(all_outputs, list) and isinstance(outputs, list):
            assert len(outputs) + omitted.get("output_count", 0) == len(all_outputs)
            left_out = amount(all_outputs, full=full) - amount(outputs, full=full)
            assert omitted.get("outputs", 0) == left_out
            for some, of_all in zip(outputs, all_outputs, strict=False):
                for text, of_text in zip(list_texts(some), list_texts(of_all), strict=True):
                    if not full:
                        assert of_text.startswith(text)
        else:
            assert outputs == all_outputs
        for name in ("id", "index", "cell_type", "source_hash", "lines", "tags"):
            assert cell[name] == complete[name]


@given(cells(), SHOWS)
def test_a_sufficient_budget_omits_nothing(cells: list[Cell], show: ViewOptions) -> None:
    everything = render_cells(cells, show)
    enough = sum(
        count_characters(cell, full=show.outputs_detail == "full") for cell in to_json(everything)
    )
    lines = render_cells(cells, ViewOptions("outline", "none"))
    enough = max(enough, sum(max(1, len(str(line.summary))) for line in lines), 1)
    assert render_within_budget(cells, show, enough) == everything


def sources(*texts: str, budget: int, view: Any = "source", **more: Any) -> list[dict[str, Any]]:
    document = Document.parse(samples.notebook(*(samples.code(text, **more) for text in texts)))
    cells = [document.get_cell(index) for index in range(len(document))]
    views = to_json(render_within_budget(cells, ViewOptions(view), budget))
    names = ("summary", "source", "outputs", "metadata", "omitted")
    return [{name: cell[name] for name in names if name in cell} for cell in views]


def test_the_outline_comes_first_then_sources_then_the_rest() -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * 30}
    texts = ("first\n" + "a" * 20, "second\n" + "b" * 20)
    none = {"output_count": 1, "outputs": 30, "metadata": 2}

    def read(budget: int) -> list[dict[str, Any]]:
        return sources(*texts, budget=budget, view="full", outputs=[stream])

    def line(text: str) -> dict[str, Any]:
        omitted = {"source": len(text), **none}
        return {"summary": text.partition("\n")[0], "outputs": [], "omitted": omitted}

    assert read(11) == [line(texts[0]), line(texts[1])]
    first, second = read(20)
    assert first["source"] == texts[0][:14]
    assert second == line(texts[1])
    first, second = read(53)
    assert [first["source"], second["source"]] == list(texts)
    assert [cell["omitted"] for cell in (first, second)] == [none, none]
    frame = dump({**stream, "text": ""})
    first, second = read(53 + len("{}") + frame + 15)
    assert first["outputs"][0]["text"] == "x" * 15
    assert first["omitted"] == {"outputs": 15}
    assert second["omitted"] == none


def test_a_page_ends_before_the_first_line_that_does_not_fit() -> None:
    assert [cell["source"] for cell in sources("a", "b", "c", budget=2)] == ["a", "b"]
    assert [cell["source"] for cell in sources("", "", "", budget=2)] == ["", ""]
    pages = sources("a" * 5, "b" * 5, "c", budget=9)
    assert pages == [{**pages[0], "source": "a" * 5}]


@pytest.mark.parametrize("budget", [1, 2, 9])
def test_the_first_cell_is_always_shown_even_if_only_in_part(budget: int) -> None:
    (cell,) = sources("é" * 10, "b", budget=budget)
    assert cell["source"] == "é" * budget
    assert cell["omitted"] == {"source": 10 - budget}
    (cell,) = sources("é" * 10, "b", budget=budget, view="outline")
    assert cell["summary"] == "é" * budget
