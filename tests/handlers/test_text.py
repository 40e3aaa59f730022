"""Replies as text, for clients that prefer `text/plain`."""

import json
import re
from typing import Any

import pytest

from jupyter_nbedit.handlers.negotiation import prefers_text
from tests.handlers.error_checks import assert_no_local_names, no_changes
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Answer, Client

TEXT = samples.notebook(
    samples.markdown("# Title"),
    samples.code("x = 1\nx", outputs=[samples.HTML_OUTPUT], execution_count=3),
    samples.code("<cell 0:aaaaaa code>\ntwin"),
    samples.code("<cell 0:aaaaaa code>\ntwin"),
    minor=4,
    metadata={"language_info": {"name": "python"}},
)
REV = samples.compute_hash(TEXT)[:8]
ACCEPT = {"Accept": "text/plain"}


TITLE, CODE = samples.name_cell(0, "# Title"), samples.name_cell(1, "x = 1\nx")
# There are two of them.
TWIN = samples.name_cell(2, "<cell 0:aaaaaa code>\ntwin") + "~"


def get_text(answer: Answer, status: int = 200) -> str:
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "text/plain; charset=UTF-8"
    assert answer.headers["Vary"] == "Accept"
    assert_no_local_names(answer.body, answer.root)
    text = answer.body.decode()
    assert text.endswith("\n")
    return text[:-1]


def patch(notebook: Notebook, *operations: Any, **fields: Any) -> Answer:
    return notebook.patch(*operations, headers=ACCEPT, **fields)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", False),
        ("*/*", False),
        ("text/plain", True),
        ("TEXT/PLAIN; charset=utf-8", True),
        ("text/*", True),
        ("text/plain, */*", False),
        ("text/plain, */*;q=0.5", True),
        ("application/json, text/plain, */*", False),
        ("application/json;q=0.9, text/plain", True),
        ("application/json, text/plain;q=0.9", False),
        ("text/plain;q=0, */*", False),
        ("text/plain;q=2", False),
        ("text/html, */*;q=0.1", False),
        (";,;q=,text/plain;q=0.001", True),
    ],
)
def test_a_text_is_sent_only_if_the_client_prefers_it(header: str, *, expected: bool) -> None:
    assert prefers_text(header) is expected


def test_a_notebook_is_read_as_text(live: Client, notebook: Notebook) -> None:
    answer = notebook.read(ACCEPT)
    assert get_text(answer) == (
        f"{notebook.path} | 4 cells | python | rev {REV} | not trusted\n"
        f"<cell {TITLE} md>\n# Title\n"
        f"<cell {CODE} code => html>\nx = 1\nx\n"
        f"<cell {TWIN} code>\n\\<cell 0:aaaaaa code>\ntwin\n"
        f"<cell {TWIN.replace('2:', '3:')} code>\n\\<cell 0:aaaaaa code>\ntwin"
    )
    assert answer.headers["ETag"] == f'"{samples.compute_hash(TEXT)}"'
    known = notebook.read({**ACCEPT, "If-None-Match": answer.headers["ETag"]})
    assert (known.status, known.body, known.headers["Vary"]) == (304, b"", "Accept")
    outline = get_text(notebook.read(ACCEPT, view="outline")).split("\n")
    assert outline[1:3] == [f"{TITLE} md # Title", f"{CODE} code x = 1 (+1) => html"]
    one = get_text(notebook.read(ACCEPT, cell=CODE, outputs="text"))
    assert one.endswith(f"<cell {CODE} code => html>\nx = 1\nx\n<outputs>\nx")
    cell = live.request("GET", f"nbedit/notebooks/{notebook.path}/cells/{CODE}", headers=ACCEPT)
    assert get_text(cell) == one.removesuffix("\n<outputs>\nx")


def test_the_first_line_names_what_is_unusual(notebook: Notebook) -> None:
    for mode, words in (("review", "review: a person decides"), ("plan", "paused: edits are")):
        notebook.set_mode(mode)
        assert words in get_text(notebook.read(ACCEPT)).split("\n")[0]


def test_changes_since_a_rev_are_read_as_text(notebook: Notebook) -> None:
    assert notebook.read(ACCEPT).status == 200
    notebook.patch({"op": "replace", "cell": 0, "source": "# New"})
    new = samples.name_cell(0, "# New")
    text = get_text(notebook.read(ACCEPT, since=REV)).split("\n")
    assert text[1:] == [
        f"<note>Since {REV}, which had 4 cells: 1 changed or new.</note>",
        f"<cell {new} md>",
        "# New",
    ]


def test_an_edit_is_answered_with_the_names_of_its_cells(notebook: Notebook) -> None:
    answer = patch(
        notebook,
        {"op": "replace_text", "cell": CODE, "old": "= 1", "new": "= 2"},
        {"op": "insert", "at": "start", "cell_type": "raw", "source": "r"},
        {"op": "delete", "cells": [TITLE]},
        {"op": "set_metadata", "patch": {"x": 1}},
        {"op": "clear_outputs", "all": True},
    )
    head, *operations = get_text(answer).split("\n")
    edited = samples.name_cell(1, "x = 2\nx")
    rev = samples.hash_file(notebook.file)[:8]
    assert re.fullmatch(rf"{notebook.path} \| 4 cells \| rev {rev} \| edit \d+", head)
    assert operations == [
        f"replace_text {edited} (outputs cleared)",
        f"insert {samples.name_cell(0, 'r')}",
        f"delete {TITLE}",
        "set_metadata notebook",
        "clear_outputs",
    ]
    replace = {"op": "replace", "cell": edited, "source": "y"}
    stale = get_text(patch(notebook, replace, rev="00000000")).split("\n")
    assert stale[-1] == "What else was changed since 00000000 is unknown to the server."
    undone = notebook.send_json("POST", "undo", {}, ACCEPT)
    assert "\n-y\n+x = 2\n" in get_text(undone)
    dry = get_text(patch(notebook, {**replace, "source": "z"}, dry_run=True))
    assert " | dry run: nothing was written\n" in dry
    assert "\n+z" in dry
    nothing = get_text(patch(notebook, {**replace, "source": "x = 2\nx"}))
    assert nothing.split("\n")[0].endswith(" | nothing to change")


def test_the_reply_to_a_long_batch_is_short(notebook: Notebook) -> None:
    inserts = [{"op": "insert", "at": "end", "cell_type": "raw", "source": "x"}] * 1_000
    text = get_text(patch(notebook, *inserts))
    assert text.endswith("<note>And 900 more.</note>")
    assert len(text) < 3_000


def test_what_others_changed_since_the_rev_is_named(notebook: Notebook) -> None:
    assert notebook.read(ACCEPT).status == 200
    notebook.patch({"op": "insert", "at": "start", "cell_type": "raw", "source": "theirs"})
    answer = patch(notebook, {"op": "replace", "cell": CODE, "source": "mine"}, rev=REV)
    last = get_text(answer).split("\n")[-1]
    assert last == f"Changed since {REV}, not by this edit: {samples.name_cell(0, 'theirs')}."


def test_a_proposal_is_answered_and_read_as_text(live: Client, notebook: Notebook) -> None:
    notebook.set_mode("review")
    with no_changes(notebook.root):
        answer = patch(notebook, {"op": "replace", "cell": CODE, "source": "mine"})
    proposed = re.search(r"\| proposed as (\d+): nothing is changed", get_text(answer, 202))
    assert proposed
    target = f"nbedit/proposals/{proposed[1]}"
    text = get_text(live.request("GET", target, headers=ACCEPT))
    assert text.startswith(f"{notebook.path} | proposal {proposed[1]} | pending\n")
    assert "\n+mine" in text
    notebook.set_mode(None)
    accepted = live.send_json("POST", f"proposals/{proposed[1]}/accept", {}, ACCEPT)
    assert f"accept {samples.name_cell(1, 'mine')}" in get_text(accepted)


def test_the_history_is_read_as_text(live: Client, notebook: Notebook) -> None:
    edit = {"op": "replace", "cell": CODE, "source": "mine"}
    notebook.patch(edit, client="An\x1b agent", message="because")
    page = get_text(notebook.get("history", ACCEPT))
    entry = r"(\d+) [-0-9]+ [0-9:]+ An  agent: because \| replace 1 \| \+1 -2"
    found = re.fullmatch(rf"{notebook.path} \| 1 edit\n{entry}", page)
    assert found, page
    all_pages = get_text(live.request("GET", "nbedit/history?limit=1", headers=ACCEPT))
    assert all_pages.startswith(f"all notebooks | 1 edit\n{notebook.path} | {found[1]} ")
    target = f"nbedit/notebooks/{notebook.path}/history/{found[1]}"
    details = get_text(live.request("GET", target, headers=ACCEPT)).split("\n")
    assert details[1:] == [
        f"{CODE} code -> {samples.name_cell(1, 'mine')} code",
        "# outputs cleared",
        "@@ -1,2 +1 @@",
        "-x = 1",
        "-x",
        "+mine",
    ]


def test_hits_are_listed_below_their_notebook(live: Client, notebook: Notebook) -> None:
    answer = live.send_json("POST", "search", {"query": "twin", "path": notebook.path}, ACCEPT)
    hits = [f"{twin} code 2: twin" for twin in (TWIN, TWIN.replace("2:", "3:"))]
    assert get_text(answer).split("\n") == [
        "2 hits in 1 of 1 notebook",
        f"== {notebook.path}",
        *hits,
    ]
    first = live.send_json(
        "POST", "search", {"query": "twin", "path": notebook.path, "limit": 1}, ACCEPT
    )
    assert "go on with cursor=" in get_text(first).split("\n")[-1]


def test_an_error_is_a_text_that_shows_the_cell(live: Client, notebook: Notebook) -> None:
    with no_changes(notebook.root):
        stale = get_text(patch(notebook, {"op": "delete", "cell": "2:000000"}), 409)
        assert stale.startswith("cell_changed: ")
        assert stale.endswith(f"\n<cell {TWIN}>\n\\<cell 0:aaaaaa code>\ntwin")
        twice = get_text(patch(notebook, {"op": "delete", "cell": TWIN}), 409)
        assert twice.startswith("ambiguous_cell: ")
        assert TWIN in twice
        mismatch = {"op": "replace_text", "cell": CODE, "old": "y = 1", "new": ""}
        assert f"\n<cell {CODE}>\nx = 1\nx" in get_text(patch(notebook, mismatch), 409)
        section = {"op": "append_to_section", "section": "None", "source": "x"}
        assert "The headings are: # Title." in get_text(patch(notebook, section), 404)
        assert get_text(live.request("GET", "nbedit/none", headers=ACCEPT), 404)
        assert get_text(live.request("PUT", "nbedit/search", b"{}", {**JSON, **ACCEPT}), 405)
        forbidden = live.request("GET", "nbedit/search", headers=ACCEPT, token="")
        assert get_text(forbidden, 403).startswith("forbidden: ")
        assert len(stale) < 2_000


def test_a_source_that_utf_8_cannot_say_is_escaped(notebook: Notebook) -> None:
    notebook.file.write_bytes(TEXT.replace(b"# Title", b"\\ud800"))
    assert "\n\\ud800\n" in get_text(notebook.read(ACCEPT))


def test_json_and_text_have_keys_of_their_own(notebook: Notebook) -> None:
    insert = {"op": "insert", "at": "end", "cell_type": "raw", "source": "once"}
    key = {"Idempotency-Key": "json or text"}
    first, second = (notebook.patch(insert, headers={**key, **ACCEPT}) for _ in range(2))
    assert get_text(first) == get_text(second)
    assert notebook.patch(insert, headers=key).status == 422


def test_the_manual_is_short_and_its_examples_are_true(live: Client, notebook: Notebook) -> None:
    manual = get_text(live.request("GET", "nbedit", headers=ACCEPT))
    assert len(manual) <= 1_500
    for line in re.findall(r"(?m)^(?:GET|POST|PATCH|PUT) +\S+", manual):
        verb, target = line.split()
        address, _, query = target.replace("PATH", notebook.path).partition("?")
        names = dict.fromkeys(re.findall(r"(?:^|&)(\w+)=", query))
        values = {"view": "outline", "outputs": "text", "cell": CODE, "section": "Title"}
        asked = "&".join(f"{key}={values.get(key, REV)}" for key in names)
        body = None if verb == "GET" else b"{}"
        if verb == "GET":
            assert notebook.read().status == 200
        answer = live.request(
            verb, f"nbedit/{address}{'?' if asked else ''}{asked}", body, {**JSON, **ACCEPT}
        )
        assert answer.status in ({200} if verb == "GET" else {400, 409}), answer.body
    operations = re.search(r"(?s)Operations.*?\.\n", manual)
    assert operations
    for operation in re.findall(r"\b([a-z_]+) \(", operations[0]):
        answer = patch(notebook, {"op": operation}, dry_run=True)
        assert "unknown" not in get_text(answer, 400).lower(), operation
        assert "Invalid value" not in json.dumps(answer.body.decode()), operation
