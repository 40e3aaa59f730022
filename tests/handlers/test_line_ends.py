"""No request stores carriage returns, unless the cell has CR LF already."""

from pathlib import Path
from typing import Any

import pytest

from tests.handlers.requests import replace
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client

SENT, STORED = "a = 1\r\nb = 2\rc = 3", "a = 1\nb = 2\nc = 3"


def write(live: Client, name: str, *sources: str) -> Path:
    path = live.root / f"{name}.ipynb"
    path.write_bytes(
        samples.notebook(*(samples.code(one, f"x{n}") for n, one in enumerate(sources)))
    )
    return path


def call(live: Client, tool: str, **arguments: Any) -> Any:
    answer = live.send_json("POST", f"tools/{tool}", arguments)
    assert answer.status == 200, answer.body
    return answer.json


def build_operation(**members: Any) -> dict[str, Any]:
    return {"operations": [{"cell": "x0", **members}]}


@pytest.mark.parametrize(
    ("verb", "target", "body", "status"),
    [
        ("PATCH", "", build_operation(op="replace", source=SENT), 200),
        ("PATCH", "", build_operation(op="replace_text", old="x", new=SENT), 200),
        ("PATCH", "", build_operation(op="replace_text", edits=[{"old": "x", "new": SENT}]), 200),
        ("PATCH", "/cells/x0", {"source": SENT}, 200),
        ("POST", "/cells", {"source": SENT, "cell_type": "code", "at": "start"}, 201),
        ("PUT", "", {"cells": [{"source": SENT, "cell_type": "code"}]}, 201),
    ],
)
def test_every_route_stores_line_feeds(
    live: Client, verb: str, target: str, body: dict[str, Any], status: int
) -> None:
    path = write(live, "routes", "x")
    if verb == "PUT":
        path.unlink()

    answer = live.send_json(verb, f"notebooks/{path.name}{target}", body)

    assert answer.status == status, answer.body
    assert Notebook(live, path.name).list_sources()[0] == STORED
    cell = live.read(path.name).json["cells"][0]
    assert answer.json["operations"][0]["source_hash"] == cell["source_hash"]


BY_ID = {"cell_id": "x0", "new_source": SENT, "cell_type": "code"}
BY_INDEX = {"cell_index": 0, "content": SENT}
TOOLS: list[tuple[str, dict[str, Any], int]] = [
    *(
        (f"{dialect}/NotebookEdit", {**BY_ID, "edit_mode": mode}, at)
        for dialect in ("nexo", "mycode", "claude_code")
        for mode, at in (("replace", 0), ("insert", 1))
    ),
    *(("omp/notebook", {**BY_INDEX, "action": action}, 0) for action in ("edit", "insert")),
]


@pytest.mark.parametrize(("tool", "arguments", "at"), TOOLS)
def test_every_tool_stores_line_feeds_and_reports_the_stored_text(
    live: Client, tool: str, arguments: dict[str, Any], at: int
) -> None:
    path = write(live, "tools", "x")
    call(live, "claude_code/Read", file_path=str(path))

    answer = call(live, tool, notebook_path=str(path), **arguments)

    assert Notebook(live, path.name).list_sources()[at] == STORED
    assert answer.get("details", {}).get("cellSource", STORED) == STORED


def test_a_cell_with_crlf_keeps_its_line_ends(live: Client) -> None:
    path = write(live, "with_crlf", "x\r\ny")
    arguments = {"action": "edit", "notebook_path": path.name, "cell_index": 0, "content": "1\r\n2"}

    answer = call(live, "omp/notebook", **arguments)

    assert answer["details"]["cellSource"] == "1\r\n2"
    assert Notebook(live, path.name).list_sources() == ["1\r\n2"]


@pytest.mark.parametrize("action", ["append_to_section", "replace_section"])
def test_the_section_tool_stores_line_feeds(live: Client, action: str) -> None:
    path = live.root / "by_section.ipynb"
    path.write_bytes(samples.notebook(samples.markdown("# A\n", "a"), samples.code("x", "b")))
    arguments = {"file": path.name, "action": action, "section": "A", "content": SENT}

    call(live, "sections/notebook_edit", **arguments)

    assert "\r" not in "".join(Notebook(live, path.name).list_sources())
    assert STORED in "".join(Notebook(live, path.name).list_sources())


def test_a_proposal_is_stored_with_line_feeds(live: Client) -> None:
    path = write(live, "line_ends_in_review", "x")
    live.set_mode("review", path.name)

    assert live.accept(Notebook(live, path.name).propose(replace("x0", SENT))).status == 200

    assert Notebook(live, path.name).list_sources() == [STORED]


def test_a_notebook_written_by_a_tool_keeps_its_bytes(live: Client) -> None:
    path = live.root / "whole.ipynb"
    text = samples.notebook(samples.code(SENT, "x")).decode().replace("\n", "\r\n")

    call(live, "claude_code/Write", file_path=str(path), content=text)

    assert path.read_bytes() == text.encode()


def test_what_does_not_print_is_shown_in_every_diff_and_counted(live: Client) -> None:
    path = write(live, "invisible", "a\fb\nc\u2028d")

    reply = live.patch(path.name, replace(0, "ab\nc\u2028d"), replace(0, "ab\ncd")).json

    assert reply["diff"].split("\n")[3:-1] == ["-a\\fb", "-c\\u2028d", "+ab", "+cd"]
    [edit] = live.send_json("GET", f"notebooks/{path.name}/history").json["edits"]
    assert (edit["lines_added"], edit["lines_removed"]) == (2, 2)
    target = f"notebooks/{path.name}/history/{edit['edit_id']}"
    text = live.send_json("GET", target, headers={"Accept": "text/plain"})
    assert text.body.decode().split("\n")[-5:-1] == ["-a\\fb", "-c\\u2028d", "+ab", "+cd"]


def test_a_line_feed_at_the_end_is_a_change_of_a_line(live: Client) -> None:
    path = write(live, "last", "a")
    reply = live.patch(path.name, replace(0, "a\n")).json
    assert reply["diff"].split("\n")[2:-1] == ["@@ -1 +1,2 @@", " a", "+"]
