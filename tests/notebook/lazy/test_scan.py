"""A windowed scan finds the same cells as a full one, or reports that it cannot."""

import hashlib
import json
from bisect import bisect_left, bisect_right
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.lazy.buffer import (
    CHUNK_BYTES,
    LazyBytes,
    compute_sha256,
    iterate_chunks,
)
from jupyter_nbedit.notebook.lazy.cell_spans import CellSpans
from jupyter_nbedit.notebook.lazy.scan import scan_cells
from jupyter_nbedit.notebook.splices import Splice, apply_splices, splice_buffer
from tests.fuzz import scanners
from tests.notebook.lazy.fake_buffer import FakeBuffer
from tests.notebook.oracle import edit
from tests.notebook.strategies import BOM, notebooks
from tests.support import corpora
from tests.support.sampling import is_nightly, seeded_random


def build_notebook(cells: list[Any], **layout: Any) -> bytes:
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, **{"indent": 1, **layout}).encode() + b"\n"


def code(number: int, **members: Any) -> dict[str, Any]:
    own = {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": [f"x = {number}\n"]}
    return {**own, "execution_count": None, "outputs": [], **members}


CELLS = [code(n) for n in range(40)]
STEP = 1 if is_nightly() else 16


def assert_agrees(text: bytes, window: int) -> bool:
    """Check that windows find the cells of a full scan; return whether they suffice."""
    start = len(BOM) if text.startswith(BOM) else 0
    seen = scan_cells(FakeBuffer(text), start, window)
    if seen is None:
        return False
    whole = Document.parse(text)
    assert (seen.span, seen.members, seen.cell_spans) == (
        whole.span,
        whole.members,
        whole.cell_spans,
    )
    heads = [(one if isinstance(one, str) else None, cell_type) for one, cell_type in seen.headers]
    assert heads == whole.headers
    return True


@given(notebooks(), st.sampled_from([64, 200, 1000, 10_000]))
def test_a_windowed_scan_finds_the_same_cells_or_reports_that_it_cannot(
    text: bytes, window: int
) -> None:
    try:
        Document.parse(text)
    except InvalidNotebook:
        with pytest.raises(InvalidNotebook):
            Document.parse(FakeBuffer(text))
        return
    assert_agrees(text, window)


def test_nearly_all_real_notebooks_are_scanned_in_windows() -> None:
    seen, whole = 0, 0
    for path in corpora.notebooks()[::STEP]:
        text = path.read_bytes()
        scanners.compare_json(text)
        if scanners.compare_scanners(text) is None:
            continue
        for window in (300, 5_000, 100_000):
            if len(text) > window:
                seen, whole = (
                    (seen + 1, whole) if assert_agrees(text, window) else (seen, whole + 1)
                )
    assert seen > 500 // STEP
    assert whole <= seen / 100


@pytest.mark.parametrize(
    "text",
    [
        build_notebook(CELLS),
        build_notebook(CELLS, indent=4),
        build_notebook(CELLS, indent="\t"),
        build_notebook(CELLS).replace(b"\n", b"\r\n"),
        BOM + build_notebook(CELLS),
        b" \n" + build_notebook(CELLS),
        build_notebook(
            [code(n, source="ünïcödé \U0001f600") for n in range(40)], ensure_ascii=False
        ),
        build_notebook([code(0, source='"cells": [{'), *CELLS[1:]]),
        b'{"other": {"cells": [{}], "x": "\\"cells\\": [{"}, ' + build_notebook(CELLS)[1:].lstrip(),
        build_notebook([*CELLS[:20], code(20, source=["y\n"] * 2000), *CELLS[21:]]),
        build_notebook([code(0, source=["y\n"] * 2000), *CELLS[1:]]),
        # Large cells are walked through by their members, whatever these are.
        build_notebook([code(n, source=["y\n"] * 5000) for n in range(9)]),
        build_notebook([code(n, source=["y\n"] * 5000, attachments={}) for n in range(9)]),
        build_notebook([code(n, source=["y\n"] * 5000, other=n) for n in range(9)]),
        build_notebook([code(n, source=["y\n"] * 5000) for n in range(9)]).replace(
            b'"id":', b'"id": "first", "id":'
        ),
        build_notebook([code(n, source=["y\n"] * 5000) for n in range(9)]).replace(
            b'"id"', b'"i\\u0064"'
        ),
        build_notebook(
            [{"cell_type": "raw", "source": "y" * 20_000, "metadata": {}} for n in range(9)]
        ),
        build_notebook([*CELLS, code(40, source=["y\n"] * 2000)]),
        # On one line, whatever ends like a cell may be a part of one.
        build_notebook([code(n, outputs=[{}] * 400) for n in range(40)], indent=None),
    ],
)
def test_a_windowed_scan_works_with_any_layout(text: bytes) -> None:
    assert assert_agrees(text, 700)


@pytest.mark.parametrize(
    "text",
    [
        # nbformat takes what JSON does not.
        build_notebook([*CELLS[:20], code(20, metadata={"x": float("nan")}), *CELLS[21:]]),
        build_notebook([*CELLS[:20], code(20, source="\ud800"), *CELLS[21:]]),
        build_notebook([*CELLS[:20], 1, *CELLS[21:]]),
        build_notebook([]),
        b'{"other": {"x": "' + b"y" * 2000 + b'"}, ' + build_notebook(CELLS)[1:].lstrip(),
        build_notebook(CELLS).replace(b'"cells"', b'"c\\u0065lls"'),
        b"[]",
        b"",
    ],
)
def test_cells_that_windows_cannot_find_are_found_by_a_full_scan(text: bytes) -> None:
    assert not assert_agrees(text, 700)
    assert _find_cells(FakeBuffer(text)) == _find_cells(text)


def test_invalid_utf8_is_found_in_any_window() -> None:
    text = bytearray(build_notebook(CELLS))
    for at in map(text.index, (b"c5", b"c20", b"c39", b"x = 5", b"x = 20", b"x = 39")):
        spoilt = bytes(text[:at]) + b"\xff" + bytes(text[at + 1 :])
        assert not assert_agrees(spoilt, 700)
        assert _find_cells(FakeBuffer(spoilt)) == _find_cells(spoilt) == {}


def test_two_cells_arrays_are_refused_even_if_a_window_shows_only_one() -> None:
    text = build_notebook(CELLS).replace(
        b'"metadata": {},\n "nbformat"', b'"cells": [],\n "nbformat"'
    )
    assert _find_cells(FakeBuffer(text)) == _find_cells(text) == {"member": "cells"}


def _find_cells(text: bytes | FakeBuffer) -> object:
    try:
        document = Document.parse(text)
    except InvalidNotebook as error:
        return error.details
    return list(document.cell_spans), list(document.headers), document.members


def test_a_scan_reads_at_most_a_window_or_a_large_cell_twice_at_a_time() -> None:
    text = FakeBuffer(build_notebook([code(n, source=["y = 1\n"] * 300) for n in range(3000)]))
    assert len(text) > 8 * CHUNK_BYTES
    document = Document.parse(text)
    assert document.text is text
    edit(document, {"op": "replace", "cell": "c1500", "source": "z"})
    assert text.largest_read <= CHUNK_BYTES + 100


@pytest.fixture(scope="module")
def ten_thousand() -> bytes:
    return build_notebook([code(n, source=["y = 1\n"] * 9) for n in range(10_000)])


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "cell": "c5000", "source": "z"},
        {"op": "insert", "at": "start", "cell_type": "raw", "source": "z"},
        {"op": "insert", "before": "c1", "cell_type": "raw", "source": "z"},
        {"op": "insert", "at": "end", "cell_type": "raw", "source": "z"},
        {"op": "delete", "cells": [0, 5000, 9999]},
    ],
    ids=str,
)
def test_an_edit_of_one_cell_resolves_few_other_cells(
    operation: dict[str, Any], ten_thousand: bytes
) -> None:
    text = FakeBuffer(ten_thousand)
    document = Document.parse(text)
    text.total_read = 0
    applied = edit(document, operation)
    after = document.apply_splices(applied.splices)
    assert text.total_read < len(text) / 6
    assert after == Document.parse(after.text[:]).bind(after.text)


def test_a_splice_view_reads_like_the_spliced_text() -> None:
    chance = seeded_random("spliced texts")
    for _ in range(300):
        base = chance.randbytes(chance.randrange(60))
        cuts = sorted(chance.choices(range(len(base) + 1), k=2 * chance.randrange(4)))
        splices = [
            Splice(start, stop, chance.randbytes(chance.randrange(9)))
            for start, stop in zip(cuts[::2], cuts[1::2], strict=True)
        ]
        whole = apply_splices(base, splices)
        text = splice_buffer(FakeBuffer(base), splices)
        assert isinstance(text, LazyBytes)
        assert len(text) == len(whole)
        assert b"".join(iterate_chunks(text)) == whole
        assert list(iterate_chunks(whole, len(whole))) == []
        assert compute_sha256(text) == compute_sha256(whole) == hashlib.sha256(whole).hexdigest()
        for _ in range(20):
            start = chance.randrange(len(whole) + 1)
            stop = chance.randrange(start, len(whole) + 1)
            assert text[start:stop] == whole[start:stop]
            room = bytearray(stop - start)
            text.read_into(start, memoryview(room))
            assert room == whole[start:stop]
            if start < len(whole):
                assert text[start] == whole[start]
                assert text[start - len(whole)] == whole[start]


def test_false_ends_of_cells_do_not_cause_an_endless_search() -> None:
    looks = "},{" * 2000
    many = build_notebook(
        [code(0), code(1), code(2, source=[looks]), *CELLS], indent=None, separators=(",", ":")
    )
    few = build_notebook(
        [code(0), code(1), code(2, source=["},{"]), *CELLS], indent=None, separators=(",", ":")
    )
    assert assert_agrees(few, 400)
    assert not assert_agrees(many, 400)
    assert assert_agrees(many, 10_000)


def test_windows_are_small_again_after_a_cell_larger_than_a_window() -> None:
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/plain": "x" * 90}}
    large = {**code(0), "outputs": [output] * 40}
    text = FakeBuffer(build_notebook([large, *CELLS * 20], indent=None, separators=(",", ":")))
    assert len(text) > 60_000
    assert scan_cells(text, 0, 1000) is not None
    assert text.largest_read <= 16_000


def test_cells_may_have_irregular_spacing() -> None:
    parts = [json.dumps(cell).encode() for cell in CELLS]
    text = b'{"nbformat":4,"cells":[' + b",".join(parts[:3])
    for number, part in enumerate(parts[3:]):
        text += (b" ,", b",\n ", b",")[number % 3] + part
    for window in (300, 500, 1000):
        assert assert_agrees(text + b" ]}", window)


def test_windows_are_smaller_if_cells_are_small() -> None:
    assert assert_agrees(build_notebook([code(n, source="y" * 600) for n in range(600)]), 250_000)


def test_a_notebook_without_cells_has_no_cell_to_find() -> None:
    strings = b'"' + b'\\"cells\\": [{, ' * 100 + b'"'
    for text in (
        b'{"x":{"cells":[{"a":1}]},"nbformat":4}' + b" " * 500,
        b'{"x":[' + b",".join([b'{"cells":[{}]}'] * 100) + b'],"cells":[{"cell_type":"raw"}]}',
        b'{"x":' + strings + b',"cells":[]}' + b" " * 500,
    ):
        assert scan_cells(FakeBuffer(text), 0, 400) is None


# Unresolved cells ---------------------------------------------------------------------------------

TEXT = build_notebook([code(n, source=["x\n"] * (n % 7)) for n in range(60)])
KNOWN = list(Document.parse(TEXT).cell_spans)


def build_resolved(spans: list[Span]) -> CellSpans:
    return CellSpans([span.start for span in spans], [span.stop for span in spans])


def build_unresolved() -> CellSpans:
    """Return spans, most of which are unresolved."""
    seen = scan_cells(FakeBuffer(TEXT), 0, 900)
    assert seen is not None
    return seen.cell_spans


def test_unresolved_cells_are_found_at_their_position() -> None:
    chance = seeded_random("unseen cells")
    edges = [edge + by for span in KNOWN for edge in span for by in (-1, 0, 1)]
    for _ in range(300):
        spans, known = build_unresolved(), list(KNOWN)
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
                moved = CellSpans(text=FakeBuffer(b" " * by + TEXT))
                moved.extend(spans[:first], by)
                moved.extend(spans[last:], by)
                assert moved == [Span(a + by, b + by) for a, b in known[:first] + known[last:]]
            elif way == 3:
                offset = chance.choice(edges)
                stops, starts = [one.stop for one in known], [one.start for one in known]
                assert spans.count_ending_before(offset) == bisect_left(stops, offset)
                assert spans.count_starting_at_or_before(offset) == bisect_right(starts, offset)
            else:
                spans = spans.bind(FakeBuffer(TEXT) if chance.randrange(2) else TEXT)
        assert len(spans) == len(known)
        assert spans == (known if chance.randrange(2) else build_resolved(known))


def test_an_empty_slice_of_cells_resolves_none() -> None:
    text = FakeBuffer(TEXT)
    spans = build_unresolved().bind(text)
    text.total_read = 0
    assert not spans[:0]
    assert not spans[30:30]
    assert text.total_read == 0


def test_resolved_cells_are_reused_for_another_buffer_of_the_same_bytes() -> None:
    spans = build_unresolved()
    elsewhere = spans.bind(b"")
    assert build_resolved(KNOWN) == spans
    assert elsewhere == KNOWN
    assert build_unresolved()[1:] != build_unresolved()[:-1]


def test_resolved_cells_are_not_reused_for_a_different_text() -> None:
    for other in (b"", b" " * len(TEXT), TEXT.replace(b"{", b" ").replace(b"}", b" ")):
        with pytest.raises(ValueError):  # noqa: PT011 -- which one, is not known beforehand
            list(build_unresolved().bind(other))
    with pytest.raises(
        ValueError, match=r"^Expected \d+ cells where they were counted, found 0\.$"
    ):
        list(build_unresolved().bind(b" " * len(TEXT)))


def test_threads_that_resolve_the_same_cells_get_the_same_result() -> None:
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            spans = build_unresolved()
            found = pool.map(lambda _, spans=spans: [spans[n] for n in range(60)], range(8))
            assert all(each == KNOWN for each in found)
