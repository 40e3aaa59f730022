"""What is kept of an edit: small, complete, and readable again."""

from __future__ import annotations

import math

import pytest

from jupyter_nbedit.notebook.record import (
    Anchor,
    Part,
    Piece,
    Place,
    Record,
    Reverse,
    Run,
    Side,
    fingerprint,
)

ODD = {"lone": "\ud800", "huge": 10**4000, "nan": math.inf, "deep": [{"a": [None, 1.5]}]}


def a_record() -> Record:
    part = Part(
        cell_id="\udc00 é",
        index_before=3,
        before=Side(cell_type="code", source="x\ud83d", metadata=ODD),
        after=None,
        former=[Piece(None, (0, 3)), Piece("outputs", None)],
        place=0,
    )
    place = Place([Anchor("a", None)], [Anchor(None, "k")], 2)
    back = [Reverse(1, 5, [Run(0, 3, there=False), Run(7, 9, there=True)])]
    return Record(parts=[part], places=[place], back=back, total_cells=9, blob=b"\x00\xff{}")


def test_a_record_is_read_as_it_was_written_whatever_the_notebook_holds() -> None:
    assert Record.decode(a_record().encode()) == a_record()


@pytest.mark.parametrize("text", [b"", b"\x02", b"\x01", b"\x01abc", a_record().encode()[:-9]])
def test_what_is_no_record_is_refused_as_such(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"record of (an|the) edit"):
        Record.decode(text)


def test_a_part_seen_from_the_other_side_and_back_is_itself() -> None:
    [part] = a_record().parts
    turned = part.turned()
    assert (turned.index, turned.after, turned.before) == (3, part.before, None)
    assert turned.turned() == part


def test_a_cell_is_the_same_after_it_was_run_or_saved_by_a_browser() -> None:
    left = fingerprint("code", "x", {"tags": ["a"], "n": 1.0, "execution": {"t": 1}}, None)
    assert left == fingerprint("code", "x", {"n": 1, "tags": ["a"], "trusted": True}, {})
    assert left != fingerprint("code", "x", {"n": True, "tags": ["a"]}, {})
    assert left != fingerprint("raw", "x", {"n": 1, "tags": ["a"]}, {})
