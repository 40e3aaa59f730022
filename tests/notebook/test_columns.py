"""Where cells stand that nobody has looked for yet."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from concurrent.futures import ThreadPoolExecutor

import pytest

from jupyter_nbedit.notebook.columns import Spans
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.spans import Span
from jupyter_nbedit.notebook.windows import look_through
from tests.notebook.oracle import edit
from tests.notebook.parked import Parked
from tests.notebook.test_windows import code, written

TEXT = written([code(n, source=["x\n"] * (n % 7)) for n in range(60)])
KNOWN = list(Document.parse(TEXT).cell_spans)


def unseen() -> Spans:
    """Spans of which hardly any was found yet."""
    seen = look_through(Parked(TEXT), 0, 900)
    assert seen is not None
    return seen.cell_spans


def test_cells_that_nobody_has_looked_for_are_where_they_are() -> None:
    chance = random.Random(5)  # noqa: S311 -- reproducible, not secret
    for _ in range(200):
        spans, known = unseen(), list(KNOWN)
        for _ in range(chance.randrange(1, 6)):
            first, last = sorted(chance.choices(range(len(known) + 1), k=2))
            way = chance.randrange(5)
            if way == 0 and known:
                at = chance.randrange(-len(known), len(known))
                assert spans[at] == known[at]
            elif way == 1:
                spans, known = spans[first:last], known[first:last]
            elif way == 2:
                by = chance.choice([0, 50])
                moved = Spans(text=Parked(b" " * by + TEXT))
                moved.extend(spans[:first], by)
                moved.extend(spans[last:], by)
                assert moved == [Span(a + by, b + by) for a, b in known[:first] + known[last:]]
            elif way == 3:
                offset = chance.randrange(len(TEXT))
                stops, starts = [one.stop for one in known], [one.start for one in known]
                assert spans.end_before(offset) == bisect_left(stops, offset)
                assert spans.begin_until(offset) == bisect_right(starts, offset)
            else:
                spans = spans.on(Parked(TEXT) if chance.randrange(2) else TEXT)
        assert len(spans) == len(known)
        assert spans == known
        assert spans == Spans.of(known)


def test_two_are_compared_wherever_something_is_still_to_be_found() -> None:
    assert unseen() == Spans.of(KNOWN)
    assert Spans.of(KNOWN) == unseen()
    assert unseen() == unseen().on(TEXT)
    assert unseen()[1:] != unseen()[:-1]


def test_at_the_edges_of_what_was_not_looked_for_they_are_counted_alike() -> None:
    for cell in KNOWN:
        for offset in (cell.start - 1, cell.start, cell.stop, cell.stop + 1):
            assert unseen().end_before(offset) == sum(one.stop < offset for one in KNOWN)
            assert unseen().begin_until(offset) == sum(one.start <= offset for one in KNOWN)


def test_what_is_found_in_one_text_is_known_in_another_of_the_same_bytes() -> None:
    spans = unseen()
    elsewhere = spans.on(b"")
    list(spans)
    assert elsewhere == KNOWN


def test_another_text_is_never_taken_for_the_one_that_was_counted() -> None:
    for other in (b"", b" " * len(TEXT), TEXT.replace(b"{", b" ").replace(b"}", b" ")):
        with pytest.raises(ValueError, match=r"counted|structure|fits"):
            list(unseen().on(other))


def test_threads_that_look_for_the_same_cells_find_the_same() -> None:
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            spans = unseen()
            found = pool.map(lambda _, spans=spans: [spans[n] for n in range(60)], range(8))
            assert all(each == KNOWN for each in found)


def test_an_edit_of_one_cell_looks_for_few_of_the_others() -> None:
    text = Parked(written([code(n, source=["y = 1\n"] * 9) for n in range(10_000)]))
    document = Document.parse(text)
    text.read = 0
    applied = edit(document, {"op": "replace", "cell": "c5000", "source": "z"})
    after = document.after(applied.splices)
    assert text.read < len(text) / 8
    assert after == Document.parse(after.text[:]).on(after.text)
