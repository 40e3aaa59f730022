"""Names that texts show: each of them can be sent back, whatever its characters are."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.handlers.agent_tools import call
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client

# One of each category that does not print, and of the marks and letters that show nothing.
INVISIBLE = {
    "no-break space": "\u00a0",
    "narrow no-break space": "\u202f",
    "ideographic space": "\u3000",
    "joiner": "\u200d",
    "non-joiner": "\u200c",
    "tab": "\t",
    "line feed": "\n",
    "escape": "\x1b",
    "delete": "\x7f",
    "next line": "\x85",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "mark": "\u200f",
    "soft hyphen": "\u00ad",
    "byte order mark": "\ufeff",
    "tag": "\U000e0041",
    "variation selector": "\ufe0f",
    "filler": "\u3164",
    "private": "\ue000",
    "unassigned": "\U0003fffe",
}
NAMES = {
    **{name: f"a{char}b" for name, char in INVISIBLE.items()},
    "family": "\U0001f469\u200d\U0001f469\u200d\U0001f466",
    "spaces around": " a ",
    "quote": '"a',
    "quoted": '"a"',
    "backslash": "\\u00a0",
    "bar": "a | b",
    "comma": "a, b",
    "imitation": "<note>a",
}
# A Windows file system refuses some of them.
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="not allowed in the name of a file")


def read_shown(text: str) -> str:
    """Return the name that a text shows, which a quoted name does not have literally."""
    return str(json.loads(text)) if text.startswith('"') else text


def list_hidden(text: str) -> list[str]:
    return [char for char in text if not char.isprintable() and char != "\n"]


@pytest.fixture
def folder(live: Client, request: pytest.FixtureRequest) -> Iterator[Path]:
    folder = live.root / request.node.originalname
    folder.mkdir(exist_ok=True)
    yield folder
    for file in sorted(folder.rglob("*"), reverse=True):
        if file.is_dir():
            file.rmdir()
        else:
            file.unlink()
    folder.rmdir()


@POSIX
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_path_that_is_listed_can_be_used(live: Client, folder: Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / f"{name}.ipynb").write_bytes(samples.three_cells())
    done, listed = call(live, "notebook_search", {"folder": folder.name})
    assert done
    assert not list_hidden(listed)
    (shown,) = listed.split("\n")[1:]
    path = f"{folder.name}/{name}/{name}.ipynb"
    assert read_shown(shown) == path
    # As it is shown, and as a program decodes it.
    for each in (shown, path):
        done, text = call(live, "notebook_read", {"path": each})
        assert done, text
        assert text.startswith(f"{shown} | 3 cells")
        insert = {"op": "insert", "at": "end", "source": "x"}
        done, text = call(live, "notebook_edit", {"path": each, "operations": [insert]})
        assert done, text
        assert text.startswith(f"{shown} | ")
        done, text = call(live, "notebook_history", {"path": each, "action": "undo"})
        assert done, text
    done, text = call(live, "notebook_history", {"path": shown, "action": "list"})
    assert text.startswith(f"{shown} | 4 edits")
    done, text = call(live, "notebook_search", {"folder": shown, "text": "beta"})
    assert done, text
    answer = live.send_json("POST", "tools/claude_code/Read", {"file_path": str(live.root / path)})
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_heading_that_is_shown_can_be_used(live: Client, notebook: Notebook, name: str) -> None:
    if "\n" in name or name.strip() != name:
        pytest.skip("no such heading")
    heading = name.replace("<", "")
    notebook.write(samples.markdown(f"# {heading}"), samples.markdown("# x"))
    done, text = call(live, "notebook_read", {"path": notebook.path, "section": "no such"})
    assert not done
    assert not list_hidden(text)
    (headings,) = (line for line in text.split("\n") if line.startswith("The headings are: "))
    shown = headings.removeprefix("The headings are: ").removesuffix("; # x.")
    outline = call(live, "notebook_read", {"path": notebook.path, "view": "outline"})[1].split(
        "\n"
    )[1]
    for each in (shown, outline.partition(" md ")[2]):
        done, text = call(live, "notebook_read", {"path": notebook.path, "section": each})
        assert done, (each, text)


def test_a_long_heading_can_be_used_as_an_outline_shows_it(
    live: Client, notebook: Notebook
) -> None:
    start = "word " * 30
    notebook.write(*(samples.markdown(f"# {start}{n}") for n in range(2)), samples.raw("x"))
    outline = call(live, "notebook_read", {"path": notebook.path, "view": "outline"})[1].split("\n")
    shown = outline[1].partition(" md ")[2]
    assert shown.endswith("…")
    done, text = call(live, "notebook_read", {"path": notebook.path, "section": shown})
    assert (done, text.partition(":")[0]) == (False, "ambiguous_section")
    notebook.write(samples.markdown(f"# {start}0"), samples.raw("x"))
    assert call(live, "notebook_read", {"path": notebook.path, "section": shown})[0]
    # So short a beginning might be that of another heading.
    assert not call(live, "notebook_read", {"path": notebook.path, "section": "# word…"})[0]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_ids_and_tags_that_are_shown_can_be_used(
    live: Client, notebook: Notebook, name: str
) -> None:
    # A tag has no comma.
    first_tag = name.replace(",", "")
    cell = samples.code("x", name, metadata={"tags": [first_tag, "b"]})
    notebook.write(cell, samples.raw("y", "z"))
    done, text = call(live, "notebook_read", {"path": notebook.path, "cells": ["no such"]})
    assert not done
    assert not list_hidden(text)
    (ids,) = (line for line in text.split("\n") if line.startswith("There are: "))
    shown = ids.removeprefix("There are: ").removesuffix(", z.")
    done, text = call(live, "notebook_read", {"path": notebook.path, "cells": [shown]})
    assert done, text
    address, _, tags = text.split("\n")[1].removeprefix("<cell ").removesuffix("]>").split(" ", 2)
    tag = tags.removeprefix("[").removesuffix(", b")
    set_tags = {"op": "set_tags", "cell": address, "tags": [tag, "c", '"new"']}
    done, text = call(live, "notebook_edit", {"path": notebook.path, "operations": [set_tags]})
    assert done, text
    cells = samples.load_cells(notebook.text)
    assert cells[0]["metadata"]["tags"] == [first_tag, "c", '"new"']
    # The tools of Claude Code and the REST API address cells by their ids.
    operation = {"op": "replace", "cell": shown, "source": "w"}
    assert notebook.patch(operation).status == 200
    edit = {"notebook_path": str(notebook.file), "cell_id": shown, "new_source": "v"}
    file = {"file_path": str(notebook.file)}
    assert live.send_json("POST", "tools/claude_code/Read", file).status == 200
    answer = live.send_json("POST", "tools/claude_code/NotebookEdit", edit)
    assert "isError" not in answer.json, answer.body
