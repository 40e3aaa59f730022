"""Random sequences: no program changes a paused or reviewed notebook without a decision.

An escape is a changed file without an accept, a change of mode or the page id of a person.
"""

import random
from typing import Any

import pytest

from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Answer, Client
from tests.support.page import PAGE_ID, open_page
from tests.support.sampling import get_seed, is_nightly

NAME = "a.ipynb"
NAMES = ["agent", None, "JupyterLab", " JupyterLab", "jupyterlab"]
SEQUENCES = 2_000 if is_nightly() else 25
TEXT = samples.notebook(
    *(samples.code(f"x = {n}", f"c{n}") for n in range(4)), samples.markdown("# H\n- x", "h")
)


#: Edits of a single cell over REST.
CELL_EDITS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("PATCH", "cells/0", {"source": "bad"}),
    ("POST", "cells", {"source": "bad", "cell_type": "code", "at": "end"}),
    ("DELETE", "cells/0", None),
]
#: Calls of tools of the older toolsets; the path of the notebook stands for None.
OLD_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("nexo/NotebookEdit", {"notebook_path": None, "cell_id": "c0", "new_source": "bad"}),
    ("mycode/NotebookEdit", {"notebook_path": None, "cell_id": "c0", "new_source": "bad"}),
    ("claude_code/NotebookEdit", {"notebook_path": None, "cell_id": "c0", "new_source": "bad"}),
    (
        "sections/notebook_edit",
        {"file": None, "section": "# H", "action": "append_to_section", "content": "b"},
    ),
    (
        "omp/notebook",
        {"action": "edit", "notebook_path": None, "cell_index": 0, "content": "bad"},
    ),
]


def edit_cell(
    live: Client, request: tuple[str, str, dict[str, Any] | None], headers: dict[str, str]
) -> Answer:
    verb, target, body = request
    target = f"notebooks/{NAME}/{target}"
    if body is None:
        return live.request(verb, f"nbedit/{target}", headers=headers)
    return live.send_json(verb, target, body, headers)


def call_old_tool(
    live: Client, call: tuple[str, dict[str, Any]], headers: dict[str, str]
) -> Answer:
    """Call a tool after a read, which some of them require."""
    name, arguments = call
    file = str(live.root / NAME)
    live.send_json("POST", "tools/claude_code/Read", {"file_path": file}, headers)
    given = {key: file if value is None else value for key, value in arguments.items()}
    return live.send_json("POST", f"tools/{name}", given, headers)


class Sequence:
    """Edits by an agent, decisions by a person, and then everything that the agent can try."""

    def __init__(self, live: Client, chance: random.Random) -> None:
        self.live, self.random = live, chance
        self.file = live.root / NAME
        self.file.write_bytes(TEXT)
        self.log: list[Any] = []

    def run(self) -> None:
        self.live.set_mode(None, NAME)
        for number in range(self.random.randint(1, 4)):
            self.note("edit", self.live.patch(NAME, self.choose_operation(number), client="agent"))
        with open_page(self.live) as page:
            for _ in range(self.random.randint(1, 3)):
                self.note("person", self.act(page, "JupyterLab"))
            mode = self.random.choice(["review", "plan"])
            self.live.set_mode(mode, NAME)
        before = self.file.read_bytes()
        for _ in range(self.random.randint(2, 8)):
            answer = self.try_something(self.choose_header())
            self.note(mode, answer)
            assert answer.status < 500, self.log
            assert self.file.read_bytes() == before, self.log
        # The server takes so many only, and would refuse the next ones for that.
        for proposal in self.live.get_json(f"proposals?path={NAME}&limit=200")["proposals"]:
            assert self.live.reject(proposal["proposal_id"]).status == 200

    def note(self, what: str, answer: Answer) -> None:
        self.log.append((what, answer.status, answer.body[:200]))

    def choose_header(self) -> dict[str, str]:
        """Return no id of a page, or one that the agent has made up."""
        made_up = {PAGE_ID: f"{self.random.getrandbits(128):032x}"}
        return self.random.choice([{}, {}, made_up])

    def choose_operation(self, number: int) -> dict[str, Any]:
        count = len(Notebook(self.live, NAME).list_sources())
        insert = {"op": "insert", "at": "end", "cell_type": "code", "source": f"new {number}"}
        if count == 0:
            return insert
        index = self.random.randrange(count)
        choices: list[dict[str, Any]] = [
            {"op": "replace", "cell": index, "source": f"bad {number}"},
            insert,
        ]
        if count > 1:
            choices += [
                {"op": "delete", "cell": index},
                {"op": "merge", "cells": [0, 1]},
                {"op": "move", "cell": index, "at": "start"},
            ]
        return self.random.choice(choices)

    def act(self, headers: dict[str, str], client: str | None) -> Answer:
        """Undo, redo or restore in one of all ways."""
        edits = self.live.get_json(f"notebooks/{NAME}/history?limit=200")["edits"]
        number = self.random.choice([edit["edit_id"] for edit in edits] or [1])
        cells = self.live.get_json(f"notebooks/{NAME}/unseen")["cells"]
        verb, body = self.random.choice(
            [
                ("undo", {}),
                ("undo", {"whose": "all"}),
                ("undo", {"edit_id": number}),
                ("redo", {}),
                ("redo", {"whose": "all"}),
                ("redo", {"edit_id": number}),
                ("restore", {"edit_id": number}),
                *[("undo", {"cells": [cell["key"]]}) for cell in cells],
            ]
        )
        named = {} if client is None else {"client": client}
        return Notebook(self.live, NAME).post(verb, **body, **named, headers=headers)

    def try_something(self, header: dict[str, str]) -> Answer:
        client = self.random.choice(NAMES)
        kind = self.random.choice(["act", "act", "edit", "cell", "old tool", "tool", "mcp"])
        named = {} if client is None else {"X-NbEdit-Client": client}
        if kind == "act":
            return self.act(header, client)
        if kind == "cell":
            return edit_cell(self.live, self.random.choice(CELL_EDITS), header | named)
        if kind == "old tool":
            return call_old_tool(self.live, self.random.choice(OLD_TOOLS), header | named)
        if kind == "edit":
            body = {"operations": [self.choose_operation(9)], "client": client or "x"}
            return self.live.send_json("PATCH", f"notebooks/{NAME}", body, header)
        operations = [{"op": "insert", "at": "end", "cell_type": "code", "source": "new"}]
        action = self.random.choice(["undo", "redo"])
        tool, arguments = self.random.choice(
            [
                ("notebook_edit", {"path": NAME, "operations": operations}),
                ("notebook_history", {"path": NAME, "action": action}),
            ]
        )
        headers = {**header, **named}
        if kind != "mcp":
            return self.live.send_json("POST", f"tools/agent/{tool}", arguments, headers)
        call = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        return self.live.send_json("POST", "mcp", message, headers)


@pytest.mark.parametrize("request_", CELL_EDITS, ids=str)
def test_each_edit_of_a_cell_would_change_the_file(
    live: Client, request_: tuple[str, str, dict[str, Any] | None]
) -> None:
    (live.root / NAME).write_bytes(TEXT)
    live.set_mode(None, NAME)
    assert edit_cell(live, request_, {}).status in {200, 201}
    assert (live.root / NAME).read_bytes() != TEXT


@pytest.mark.parametrize("call", OLD_TOOLS, ids=lambda call: call[0])
def test_each_call_of_a_tool_would_change_the_file(
    live: Client, call: tuple[str, dict[str, Any]]
) -> None:
    (live.root / NAME).write_bytes(TEXT)
    live.set_mode(None, NAME)
    answer = call_old_tool(live, call, {})
    assert (live.root / NAME).read_bytes() != TEXT, answer.body


def test_no_program_escapes_review_or_pause(live: Client) -> None:
    chance = random.Random(get_seed())  # noqa: S311 -- no secret
    for _ in range(SEQUENCES):
        Sequence(live, chance).run()
