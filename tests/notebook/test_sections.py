"""Sections in texts that the model of sections does not cover."""

import re
from typing import Any

import pytest

from jupyter_nbedit.errors import (
    AmbiguousSection,
    CellProtected,
    InvalidOperation,
    SectionNotFound,
    TextMismatch,
)
from jupyter_nbedit.notebook import sections
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import AppendToSection, RemoveEntry, ReplaceSection
from jupyter_nbedit.notebook.splices import apply_splices
from tests.notebook.oracle import edit
from tests.support import samples

TEXT = "intro\n\n# A\n\n- one\n- two\n\n## B ##\nwords\n# *C* `d`\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("A", "# A\n\n- one\n- two\n\n## B ##\nwords\n"),
        ("# A", "# A\n\n- one\n- two\n\n## B ##\nwords\n"),
        (" # A # ", "# A\n\n- one\n- two\n\n## B ##\nwords\n"),
        ("B", "## B ##\nwords\n"),
        ("*C* `d`", "# *C* `d`\n"),
        ("C d", "# *C* `d`\n"),
        ("# C d", "# *C* `d`\n"),
    ],
)
def test_a_section_is_addressed_by_its_heading(name: str, expected: str) -> None:
    assert sections.read(TEXT, name) == expected


@pytest.mark.parametrize("name", ["a", "## A", "A B", "#A", "wor", " "])
def test_an_unknown_heading_is_refused_with_the_outline(name: str) -> None:
    with pytest.raises(SectionNotFound) as raised:
        sections.read(TEXT, name)

    assert raised.value.details == {
        "section": name,
        "outline": [
            {"level": 1, "text": "A", "line": 3},
            {"level": 2, "text": "B", "line": 8},
            {"level": 1, "text": "C d", "line": 10},
        ],
        "total_headings": 3,
    }


def test_an_ambiguous_heading_is_refused_unless_the_level_selects_one() -> None:
    text = "# A\n1\n## A\n2\n"

    with pytest.raises(AmbiguousSection) as raised:
        sections.apply_to_text(text, AppendToSection(section="A", source="x"))

    assert [one["level"] for one in raised.value.details["candidates"]] == [1, 2]
    assert sections.read(text, "## A") == "## A\n2\n"


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("# A\n- a\n  b\n\n\n# B", "* x\n* y", "# A\n- a\n  b\n* x\n* y\n\n\n# B"),
        ("# A\r\n\r\na\r\n\r\n# B", "x\ny", "# A\r\n\r\na\r\n\r\nx\r\ny\r\n\r\n# B"),
        ("# A\n", "", "# A\n"),
    ],
)
def test_content_is_added_at_the_end_of_a_section(text: str, content: str, expected: str) -> None:
    assert sections.apply_to_text(text, AppendToSection(section="A", source=content)) == expected


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("A\n=\r\nold", "x\ny", "A\n=\r\nx\ny"),
        ('# A\n<div class="alert">\n# old\n</div>\n\n# B', "x", "# A\nx\n\n# B"),
        ("# A\nold\n<pre><b>old</b>\n# old\n</pre>\n# B", "x", "# A\nx\n\n# B"),
    ],
)
def test_the_whole_section_except_its_heading_is_replaced(
    text: str, content: str, expected: str
) -> None:
    assert sections.apply_to_text(text, ReplaceSection(section="A", source=content)) == expected


@pytest.mark.parametrize(
    ("text", "match", "expected"),
    [
        ("# A\n- one\n- two\n", "ONE", "# A\n- two\n"),
        ("# A\n- a\n  more\n  - in\n- b\n", "a  MORE", "# A\n- b\n"),
        ("# A\n- a\n  - in\n- b in\n", "in", "# A\n- a\n"),
        ("# A\r\n- a\r\n- b\r\n", "a", "# A\r\n- b\r\n"),
    ],
)
def test_list_items_that_contain_the_text_are_removed(text: str, match: str, expected: str) -> None:
    assert sections.apply_to_text(text, RemoveEntry(section="A", match=match)) == expected


def test_a_text_in_no_list_item_is_refused() -> None:
    with pytest.raises(TextMismatch) as raised:
        sections.apply_to_text(TEXT, RemoveEntry(section="B", match="one"))

    assert raised.value.details["count"] == 0


@pytest.mark.parametrize(
    "earlier",
    [
        {"op": "delete", "cell": "a"},
        {"op": "replace", "cell": "a", "cell_type": "raw"},
        {"op": "replace", "cell": "a", "source": "# Z"},
    ],
)
def test_a_heading_removed_by_an_earlier_operation_is_refused(earlier: dict[str, Any]) -> None:
    document = Document.parse(samples.notebook(samples.markdown("# A\n# B", "a")))

    with pytest.raises(InvalidOperation) as raised:
        edit(document, earlier, {"op": "append_to_section", "section": "A", "source": "x"})

    assert raised.value.details == {"cell": "a", "operation": 1}
    assert re.fullmatch("An earlier .* two requests.", str(raised.value))


def test_only_markdown_can_be_inserted_within_a_cell() -> None:
    document = Document.parse(samples.notebook(samples.markdown("# A\n# B", "a")))
    fields = {"section": "A", "source": "x", "cell_type": "code"}

    for name in ("append_to_section", "replace_section"):
        with pytest.raises(InvalidOperation):
            edit(document, {"op": name, **fields})


@pytest.mark.parametrize("earlier", [[], [{"op": "delete", "cell": "b"}]])
def test_a_section_that_ends_within_a_later_cell_is_replaced_up_to_its_end(
    earlier: list[dict[str, Any]],
) -> None:
    cells = (samples.markdown("# A\nold", "a"), samples.code("1", "b"))
    document = Document.parse(samples.notebook(*cells, samples.markdown("old\n# B\nrest", "c")))
    operation = {"op": "replace_section", "section": "A", "source": "new", "cell_type": "markdown"}

    after = samples.load_cells(
        apply_splices(document.text, edit(document, *earlier, operation).splices)
    )

    assert ["".join(cell["source"]) for cell in after] == ["# A", "new", "# B\nrest"]


def test_a_section_in_a_protected_cell_is_refused_unless_nothing_changes() -> None:
    cell = samples.markdown("# A\nold", "a") | {"metadata": {"editable": False}}
    document = Document.parse(samples.notebook(cell))
    operation = {"op": "replace_section", "section": "A", "cell_type": "markdown"}

    with pytest.raises(CellProtected):
        edit(document, {**operation, "source": "new"})

    assert not edit(document, {**operation, "source": "old"}).splices
