"""Line ends of texts in a request, and of the cells that receive them."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_nbedit.errors import CellChanged, TextMismatch
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import apply_splices
from tests.notebook.oracle import check_batch, edit
from tests.support import samples

CRLF = "a = 1\r\nb = 2\r\nc = 3"
MIXED = "a\nb\r\nc\nd\r\n"
TEXTS = st.text(st.sampled_from("ab\r\n"), max_size=12)
JSON = dict[str, Any]


def document(source: str) -> Document:
    return Document.parse(samples.notebook(samples.markdown(source, "x0")))


def sources(current: str, operation: JSON) -> list[str]:
    before = document(current)
    text = apply_splices(before.text, edit(before, operation).splices)
    return [cell["source"] for cell in samples.load_cells(text)]


def replace_text(old: str, new: str, **more: Any) -> JSON:
    return {"op": "replace_text", "cell": 0, "old": old, "new": new, **more}


replacements = st.builds(
    replace_text, TEXTS.filter(bool), TEXTS, all=st.booleans(), outputs=st.just("keep")
)
operations = st.one_of(
    replacements,
    st.builds(lambda source: {"op": "replace", "cell": 0, "source": source}, TEXTS),
    st.builds(
        lambda source: {"op": "insert", "at": "end", "cell_type": "raw", "source": source}, TEXTS
    ),
)


@given(TEXTS, operations)
@example("old\nlines", {"op": "replace", "cell": 0, "source": "a\r\nb\r"})
@example(CRLF, {"op": "replace", "cell": 0, "source": MIXED})
@example("a\rb", {"op": "replace", "cell": 0, "source": "a\rb"})
@example("a\nb\nc", replace_text("a\r\nb", "1\r\n2\r\n"))
@example("a\r\nb\r\nc", replace_text("a\nb", "1\n2\n"))
@example("a\r\nb\r\nc", replace_text("\nb", "\n\nb"))
@example("a\r\nb\r\nc", replace_text("\n", "", all=True))
@example(MIXED, replace_text("c", "1\n2"))
@example(MIXED, replace_text("d", "1\n2"))
@example("a\nb\r\nc", replace_text("c", "1\n2"))
@example("10%\r20%", replace_text("\r", "\n"))
@example("10%\n20%", replace_text("%\r2", "%, 2"))
@example("a\nb", replace_text("b", "1\r\n2\r3"))
def test_texts_get_the_line_ends_of_the_cell_as_in_the_model(current: str, operation: JSON) -> None:
    check_batch("line ends", document(current), [operation])


@pytest.mark.parametrize(
    ("current", "operation", "expected"),
    [
        ("a\r\nb", replace_text("b", "1\n2"), "a\r\n1\r\n2"),
        (MIXED, replace_text("c", "1\n2"), "a\nb\r\n1\n2\nd\r\n"),
        ("old", {"op": "replace", "cell": 0, "source": "a\r\nb\r"}, "a\nb\n"),
        (CRLF, {"op": "replace", "cell": 0, "source": MIXED}, MIXED),
    ],
)
def test_only_a_cell_with_crlf_gets_crlf(current: str, operation: JSON, expected: str) -> None:
    assert sources(current, operation) == [expected]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "insert", "cell_type": "markdown", "after": "x0"},
        {"op": "append_to_section", "section": "A"},
        {"op": "replace_section", "section": "A", "cell_type": "raw"},
    ],
)
def test_a_new_cell_has_line_feeds_even_next_to_cells_with_crlf(operation: JSON) -> None:
    found = sources("# A\r\ntext", {**operation, "source": "1\r\n2\r3\n4"})

    assert found[-1] == "1\n2\n3\n4"


@pytest.mark.parametrize("op", ["append_to_section", "replace_section"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_section_within_a_cell_keeps_the_line_ends_of_the_cell(op: str, newline: str) -> None:
    current = "# A\n\n# B\n".replace("\n", newline)

    [found] = sources(current, {"op": op, "section": "A", "source": "1\r\n2\r3\n4"})

    assert found == "# A\n\n1\n2\n3\n4\n\n# B\n".replace("\n", newline)


def test_a_missing_or_ambiguous_text_is_refused_with_its_lines_in_a_crlf_cell() -> None:
    with pytest.raises(TextMismatch) as error:
        sources("a\r\nb\r\na\r\n", replace_text("a\n", "c"))

    assert (error.value.details["count"], error.value.details["lines"]) == (2, [1, 3])


@pytest.mark.parametrize(
    ("current", "expected", "is_same"),
    [
        ("a\nb", "a\nb", True),
        ("a\nb", "a\r\nb", True),
        ("a\nb", "a\nc", False),
        ("a\r\nb", "a\r\nb", True),
        ("a\r\nb", "a\nb", False),
    ],
)
def test_expect_ignores_line_ends_unless_the_cell_has_crlf(
    current: str,
    expected: str,
    is_same: bool,  # noqa: FBT001
) -> None:
    operation = {"op": "delete", "cell": "x0", "expect": {"source": expected}}
    if is_same:
        assert sources(current, operation) == []
    else:
        with pytest.raises(CellChanged):
            sources(current, operation)
