"""Sources as texts show them, with a backslash before lines like ours, can be sent back."""

from typing import Any

import pytest

from tests.handlers.agent_tools import call
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client


def read_source(notebook: Notebook, index: int = 0) -> str:
    return str(samples.load_cells(notebook.text)[index]["source"])


@pytest.mark.parametrize("with_cell", [True, False])
@pytest.mark.parametrize(
    "case",
    [
        ("<note>a", "\\<note>a", "NEW"),
        ("x\n<note>a\ny", "x\n\\<note>a", "NEW\ny"),
        ("x\n<note>a\ny", "\\<note>a\ny", "x\nNEW"),
        ("x\r\n<cell 0>\r\ny", "\\<cell 0>", "x\r\nNEW\r\ny"),
        ("x\r<cell 0>", "\\<cell 0>", "x\rNEW"),
        ("\\<outputs>", "\\\\<outputs>", "NEW"),
        ("</note>\n<note>", "\\</note>\n\\<note>", "NEW"),
        # What occurs as it was sent is meant so.
        ("\\<note>a\n<note>a", "\\<note>a", "NEW\n<note>a"),
        ("x \\<note>a", "\\<note>a", "x NEW"),
        # It is shown so only at the start of a line.
        ("<note>a <note>a", "\\<note>a", "NEW <note>a"),
        ("<celly>", "\\<celly>", None),
        ("x = '<note>'", "\\<note>", None),
        ("<note>\n<note>\n<note>", "\\<note>\n\\<note>", None),
        ("<note>\n<note>", "\\<note>", None),
    ],
)
def test_text_is_replaced_as_it_is_shown(
    live: Client, notebook: Notebook, case: tuple[str, str, str | None], *, with_cell: bool
) -> None:
    source, old, result = case
    notebook.write(samples.raw(source), samples.raw("other"))
    cell = {"cell": "0"} if with_cell else {}
    operation = {"op": "replace_text", "old": old, "new": "NEW", **cell}
    done, text = call(live, "notebook_edit", {"path": notebook.path, "operations": [operation]})
    assert done == (result is not None), text
    assert read_source(notebook) == (source if result is None else result)


def test_all_texts_are_replaced_as_they_are_shown(live: Client, notebook: Notebook) -> None:
    notebook.write(samples.raw("<note>\n<note>\nx <note>"), samples.raw("<note>"))
    operation = {"op": "replace_text", "old": "\\<note>\n", "new": "", "all": True}
    done, text = call(live, "notebook_edit", {"path": notebook.path, "operations": [operation]})
    assert done, text
    assert read_source(notebook) == "x <note>"


@pytest.mark.parametrize(
    ("operation", "stored", "line"),
    [
        ({"op": "replace", "source": "a\n\\<note>x\nb"}, "a\n\\<note>x\nb", 2),
        ({"op": "replace_text", "old": "y", "new": "\\<note>x"}, "<note>x\n\\<note>x", 2),
        (
            {"op": "replace_text", "old": "\\<note>x", "new": "\\<note>z"},
            "\\<note>z\ny",
            1,
        ),
        ({"op": "replace", "source": "<note>x\nz"}, "<note>x\nz", None),
        ({"op": "replace", "source": "\\<cell>\n<note>x"}, "\\<cell>\n<note>x", None),
        ({"op": "replace", "source": "\\\\<note>x"}, "\\\\<note>x", None),
    ],
)
def test_a_line_with_the_backslash_of_a_text_is_stored_with_a_warning(
    live: Client, notebook: Notebook, operation: dict[str, Any], stored: str, line: int | None
) -> None:
    notebook.write(samples.raw("<note>x\ny"))
    read = call(live, "notebook_read", {"path": notebook.path})[1]
    name = read.split("\n")[1].split(" ")[1]
    edit = {"path": notebook.path, "operations": [{**operation, "cell": name}]}
    for dry_run in (True, False):
        done, text = call(live, "notebook_edit", {**edit, "dry_run": dry_run})
        assert done, text
        warnings = [each for each in text.split("\n") if each.startswith("Warning: ")]
        assert len(warnings) == (line is not None)
        assert not warnings or warnings[0].startswith(f"Warning: Line {line} of 0:")
    assert read_source(notebook) == stored


def test_an_expected_source_may_be_as_it_is_shown(notebook: Notebook) -> None:
    notebook.write(samples.raw("<note>\nx"))
    operation = {"op": "replace", "cell": 0, "source": "y"}
    for source, status in (("\\\\<note>\nx", 409), ("\\<note>\nx", 200)):
        answer = notebook.patch({**operation, "expect": {"source": source}})
        assert answer.status == status, answer.body


def test_a_diff_is_not_shown_again_after_its_dry_run(live: Client, notebook: Notebook) -> None:
    notebook.write(samples.raw("a a a"))

    def edit(old: str, new: str, *, dry_run: bool = False) -> str:
        operation = {"op": "replace_text", "old": old, "new": new, "all": True}
        arguments = {"path": notebook.path, "operations": [operation], "dry_run": dry_run}
        return call(live, "notebook_edit", arguments)[1]

    assert "\n+b b b" in edit("a", "b", dry_run=True)
    done = edit("a", "b")
    assert "+b b b" not in done
    assert "<note>The diff is that of your dry run.</note>" in done
    # It is shown if there was no dry run, or one of another change.
    assert "\n+c c c" in edit("b", "c")
    edit("c", "d", dry_run=True)
    undone = call(live, "notebook_history", {"path": notebook.path, "action": "undo"})[1]
    assert "\n+b b b" in undone


def test_the_head_of_a_proposal_is_about_the_notebook_as_it_is(
    live: Client, notebook: Notebook
) -> None:
    notebook.write(samples.raw("x"))
    notebook.set_mode("review")
    head = call(live, "notebook_read", {"path": notebook.path})[1].split(" | ")
    insert = {"op": "insert", "at": "end", "source": "y"}
    text = call(live, "notebook_edit", {"path": notebook.path, "operations": [insert, insert]})[1]
    _, cells, rev, proposed = text.split("\n")[0].split(" | ")
    assert cells == "1 cell"
    assert rev in head
    assert proposed.startswith("proposed as ")
    assert proposed.endswith("names below are those that the cells would have")
