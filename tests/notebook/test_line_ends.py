"""Line ends in the texts of a request, and those of the cells that they come into."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import CellChanged, TextMismatch
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from tests.notebook.oracle import edit
from tests.support import samples

CRLF = "a = 1\r\nb = 2\r\nc = 3"
MIXED = "a\nb\r\nc\nd\r\n"
TEXTS = st.text(st.sampled_from("ab\r\n"), max_size=12)


def document(*sources: str) -> Document:
    cells = (samples.markdown(source, f"x{number}") for number, source in enumerate(sources))
    return Document.parse(samples.notebook(*cells))


def sources(before: Document, *operations: dict[str, Any]) -> list[str]:
    text = join(before.text, edit(before, *operations).splices)
    return [cell["source"] for cell in samples.cells_of(text)]


def replace(source: str, current: str) -> str:
    (found,) = sources(document(current), {"op": "replace", "cell": "x0", "source": source})
    return found


def replace_text(current: str, old: str, new: str, **more: Any) -> str:
    operation = {"op": "replace_text", "cell": "x0", "old": old, "new": new, **more}
    (found,) = sources(document(current), operation)
    return found


@pytest.mark.parametrize("sent", ["a\r\nb\r\n", "a\rb\r", "a\nb\n", "a\r\nb\r"])
@pytest.mark.parametrize("current", ["", "old", "old\nlines"])
def test_a_source_that_is_sent_with_carriage_returns_gets_line_feeds(
    sent: str, current: str
) -> None:
    assert replace(sent, current) == "a\nb\n"


@pytest.mark.parametrize("sent", ["a\r\nb\r\n", "a\rb\r", "a\nb\n", MIXED])
def test_a_cell_with_crlf_takes_a_source_as_it_is_sent(sent: str) -> None:
    assert replace(sent, CRLF) == sent


@given(TEXTS)
def test_a_source_that_is_sent_back_as_it_was_read_changes_nothing(source: str) -> None:
    operation = {"op": "replace", "cell": "x0", "source": source}

    assert not edit(document(source), operation).splices


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "insert", "cell_type": "code", "at": "end"},
        {"op": "insert", "cell_type": "markdown", "after": "x0"},
        {"op": "append_to_section", "section": "A"},
        {"op": "replace_section", "section": "A", "cell_type": "raw"},
    ],
)
def test_a_new_cell_has_line_feeds_even_beside_cells_with_crlf(operation: dict[str, Any]) -> None:
    found = sources(document("# A\r\ntext"), {**operation, "source": "1\r\n2\r3\n4"})

    assert found[-1] == "1\n2\n3\n4"


@pytest.mark.parametrize("op", ["append_to_section", "replace_section"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_section_within_a_cell_keeps_the_line_ends_of_the_cell(op: str, newline: str) -> None:
    before = document("# A\n\n# B\n".replace("\n", newline))

    (found,) = sources(before, {"op": op, "section": "A", "source": "1\r\n2\r3\n4"})

    assert found == "# A\n\n1\n2\n3\n4\n\n# B\n".replace("\n", newline)


@pytest.mark.parametrize("sent", ["\n", "\r\n"])
def test_old_text_with_either_line_end_is_found_in_a_cell_with_line_feeds(sent: str) -> None:
    found = replace_text("a\nb\nc", f"a{sent}b", f"1{sent}2{sent}")

    assert found == "1\n2\n\nc"


@pytest.mark.parametrize("sent", ["\n", "\r\n"])
def test_old_text_with_either_line_end_is_found_in_a_cell_with_crlf(sent: str) -> None:
    found = replace_text("a\r\nb\r\nc", f"a{sent}b", f"1{sent}2{sent}")

    assert found == "1\r\n2\r\n\r\nc"


def test_a_line_feed_is_never_cut_out_of_a_crlf() -> None:
    assert replace_text("a\r\nb\r\nc", "\nb", "\n\nb") == "a\r\n\r\nb\r\nc"
    assert replace_text("a\r\nb\r\nc", "\n", "", all=True) == "abc"


def test_new_text_takes_the_line_end_of_its_place_in_a_mixed_cell() -> None:
    assert replace_text(MIXED, "c", "1\n2") == "a\nb\r\n1\n2\nd\r\n"
    assert replace_text(MIXED, "d", "1\n2") == "a\nb\r\nc\n1\r\n2\r\n"
    assert replace_text("a\r\nb", "b", "1\n2") == "a\r\n1\r\n2"


def test_a_carriage_return_alone_can_be_replaced() -> None:
    assert replace_text("10%\r20%", "\r", "\n") == "10%\n20%"
    assert replace_text("10%\n20%", "%\r2", "%, 2") == "10%, 20%"


def test_new_text_alone_never_brings_a_carriage_return_into_a_cell() -> None:
    assert replace_text("a\nb", "b", "1\r\n2\r3") == "a\n1\n2\n3"


def test_a_text_that_is_not_there_once_is_refused_with_its_lines_in_a_cell_with_crlf() -> None:
    with pytest.raises(TextMismatch) as refused:
        replace_text("a\r\nb\r\na\r\n", "a\n", "c")

    assert (refused.value.details["count"], refused.value.details["lines"]) == (2, [1, 3])


@given(
    current=TEXTS.filter(lambda text: "\r" not in text),
    old=TEXTS.filter(bool),
    new=TEXTS,
    newline=st.sampled_from(["\r\n", "\n"]),
    everywhere=st.booleans(),
)
def test_a_text_edit_means_the_same_whichever_line_end_cell_and_request_have(
    current: str, old: str, new: str, newline: str, *, everywhere: bool
) -> None:
    old, new = old.replace("\r", "\n"), new.replace("\r", "\n")
    results = []
    for cell in (current, current.replace("\n", "\r\n")):
        sent = {"old": old.replace("\n", newline), "new": new.replace("\n", newline)}
        try:
            results.append(replace_text(cell, sent["old"], sent["new"], all=everywhere))
        except TextMismatch as refusal:
            results.append(str(refusal))
    assert results[0] == results[1].replace("\r\n", "\n")
    if "\n" in current:
        assert "\n" not in results[1].replace("\r\n", "")


@pytest.mark.parametrize("current", ["a\nb", "a\r\nb"])
def test_a_guard_by_source_holds_if_the_cell_has_just_that_or_differs_in_line_feeds(
    current: str,
) -> None:
    operation = {"op": "delete", "cell": "x0", "expect": {"source": current}}
    assert sources(document(current), operation) == []
    operation["expect"] = {"source": "a\r\nb"}
    assert sources(document(current), operation) == []
    operation["expect"] = {"source": "a\nc"}
    with pytest.raises(CellChanged):
        sources(document(current), operation)
    if current == "a\r\nb":
        operation["expect"] = {"source": "a\nb"}
        with pytest.raises(CellChanged):
            sources(document(current), operation)
