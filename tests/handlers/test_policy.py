"""Who may do what: every action, asked for by programs and by a person, in every mode.

`docs/use.md` prints the table.
"""

import itertools
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.api import PythonAPI
from jupyter_nbedit.errors import PlanMode
from tests.handlers.conftest import Servers
from tests.handlers.error_checks import get_error
from tests.handlers.requests import ODD, replace, wait_for_events
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, SECONDS, Answer, Client, Local
from tests.support.page import PAGE_ID, open_page
from tests.support.policy import CHANGES_BY_PROGRAM, MODES, PERSON, PROGRAM, is_written
from tests.support.sampling import choose
from tests.support.servers import ServerProcess, start_server
from tests.support.waiting import wait_until

TEXT = ODD
pytestmark = pytest.mark.usefixtures("server_mode_reset")
REST = {"a program": PROGRAM, "a person": PERSON}
#: Tools and the endpoint of MCP can do no more than this.
TOOLS = ("edit", "create", "undo", "redo")
CLIENT = "Claude"
SESSION = "X-NbEdit-Session"
CODE = {"cell_type": "code"}
CALLERS = [("tools", CLIENT), ("tools", "JupyterLab"), ("MCP", CLIENT), ("MCP", "JupyterLab")]


@dataclass
class Case:
    """A notebook with two edits by an agent, and what is known of it."""

    live: Client
    path: str
    first: int
    key: str
    proposal: int = 0
    undone: int = 0

    @property
    def new_path(self) -> str:
        return f"new-{self.path}"


def prepare(notebook: Notebook, action: str, mode: str) -> Case:
    """Make the edits, and what the action needs; then set the mode."""
    first = notebook.edit(replace("alpha", "x = 2"), client=CLIENT)
    notebook.edit(replace("beta", "two"), client=CLIENT)
    key = notebook.list_unseen()[0]["key"]
    case = Case(notebook.server, notebook.path, first, key)
    if action in {"accept", "reject", "reopen"}:
        notebook.set_mode("review")
        case.proposal = notebook.propose(replace("gamma", "proposed"), client=CLIENT)
        if action == "reopen":
            assert notebook.reject(case.proposal).status == 200
    if action == "redo":
        case.undone = notebook.undo(client=CLIENT).json["edit_id"]
    own, server = MODES[mode]
    notebook.set_mode(own)
    notebook.server.set_mode(server)
    if action == "create" and own is not None:
        # A mode outlasts the file.
        (notebook.root / case.new_path).write_bytes(TEXT)
        notebook.server.set_mode(own, case.new_path)
        (notebook.root / case.new_path).unlink()
    return case


def ask(case: Case, action: str, headers: dict[str, str]) -> Answer:
    """Ask for an action over REST."""
    path, live = f"notebooks/{case.path}", case.live
    cells = [{"cell_type": "code", "source": "new"}]
    requests: dict[str, tuple[str, str, Any]] = {
        "edit": ("PATCH", path, {"operations": [replace("gamma", "edited")], "client": CLIENT}),
        "create": ("PUT", f"notebooks/{case.new_path}", {"cells": cells}),
        "undo": ("POST", f"{path}/undo", {"edit_id": case.first}),
        "undo cells": ("POST", f"{path}/undo", {"cells": [case.key]}),
        "redo": ("POST", f"{path}/redo", {"edit_id": case.undone}),
        "restore": ("POST", f"{path}/restore", {"edit_id": case.first}),
        "accept": ("POST", f"proposals/{case.proposal}/accept", {}),
        "reject": ("POST", f"proposals/{case.proposal}/reject", {}),
        "reopen": ("POST", f"proposals/{case.proposal}/reopen", {}),
        "keep": ("POST", f"{path}/keep", {"cells": [case.key]}),
        "set mode": ("PUT", "mode", {"mode": "review", "path": case.path}),
        "delete history": ("DELETE", f"{path}/history", None),
    }
    verb, target, body = requests[action]
    if body is None:
        return live.request(verb, f"nbedit/{target}", headers=headers)
    return live.send_json(verb, target, body, headers)


def read_all(case: Case) -> list[bytes | None]:
    files = [case.live.root / name for name in (case.path, case.new_path)]
    return [file.read_bytes() if file.exists() else None for file in files]


STATUSES = {200: "done", 201: "done", 202: "proposed", 403: "refused"}


@pytest.mark.parametrize(
    ("who", "action", "mode"), choose("policy of REST", itertools.product(REST, PROGRAM, MODES), 48)
)
def test_rest_follows_the_table(
    live: Client, notebook: Notebook, who: str, action: str, mode: str
) -> None:
    case = prepare(notebook, action, mode)
    before = read_all(case)
    with ExitStack() as stack:
        headers = stack.enter_context(open_page(live)) if who == "a person" else {}
        answer = ask(case, action, headers)
    expected = REST[who][action][list(MODES).index(mode)]
    assert STATUSES[answer.status] == expected, answer.body
    assert (read_all(case) != before) == is_written(action, expected)


def call_tool(case: Case, action: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of the tool for an action."""
    operations = [{"op": "insert", "at": "end", "source": "edited", "cell_type": "code"}]
    numbers = {"edit_id": case.undone if action == "redo" else case.first}
    history = {"action": action, "path": case.path, **numbers}
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "edit": ("notebook_edit", {"path": case.path, "operations": operations}),
        "create": ("notebook_create", {"path": case.new_path, "cells": [{"source": "new"}]}),
    }
    return calls.get(action, ("notebook_history", history))


# To call oneself JupyterLab, or to send the id of a page, makes no tool a person.
@pytest.mark.parametrize(
    ("caller", "action", "mode"),
    choose("policy of tools", itertools.product(CALLERS, TOOLS, MODES), 24),
)
def test_tools_follow_the_table(
    live: Client, notebook: Notebook, caller: tuple[str, str], action: str, mode: str
) -> None:
    way, client = caller
    case = prepare(notebook, action, mode)
    before = read_all(case)
    name, arguments = call_tool(case, action)
    with open_page(live) as page:
        headers = {"X-NbEdit-Client": client, **page}
        if way == "tools":
            answer = live.send_json("POST", f"tools/agent/{name}", arguments, headers)
            found = STATUSES[answer.status]
        else:
            call = {"name": name, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            result = live.send_json("POST", "mcp", message, headers).json["result"]
            (content,) = result["content"]
            is_proposed = "proposed as" in content["text"]
            found = "proposed" if is_proposed else "done"
            if result.get("isError"):
                assert content["text"].startswith("plan_mode: ")
                found = "refused"
    expected = CHANGES_BY_PROGRAM[list(MODES).index(mode)]
    assert found == expected
    assert (read_all(case) != before) == (expected == "done")


def test_no_tool_decides_for_a_person(live: Client) -> None:
    words = ("accept", "reject", "reopen", "keep", "mode", "stop")
    for tool in live.get_json("tools")["tools"]:
        assert not any(word in tool["name"].lower() for word in words), tool["name"]
        actions = tool["input_schema"]["properties"].get("action", {}).get("enum", [])
        assert not set(words) & set(actions)


async def edit_with_api(api: PythonAPI, first: int, key: str) -> Any:
    assert first
    assert key
    return await api.edit("a.ipynb", [replace("gamma", "edited")], user="ada")


API: dict[str, Callable[[PythonAPI, int, str], Awaitable[Any]]] = {
    "edit": edit_with_api,
    "undo": lambda api, first, _: api.undo("a.ipynb", first, user="ada"),
    "undo cells": lambda api, _, key: api.undo_cells("a.ipynb", [key], user="ada"),
    "restore": lambda api, first, _: api.restore("a.ipynb", first, user="ada"),
    "keep": lambda api, _, key: api.keep("a.ipynb", [key], user="ada"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", API)
async def test_the_python_api_follows_the_table(
    local: Local, local_file: Path, jp_serverapp: Any, action: str, mode: str
) -> None:
    api = jp_serverapp.web_app.settings["jupyter_nbedit"]
    first = await api.edit("a.ipynb", [replace("alpha", "x = 2")], user="ada", client=CLIENT)
    await api.edit("a.ipynb", [replace("beta", "two")], user="ada", client=CLIENT)
    key = (await api.get_unseen("a.ipynb", user="ada")).cells[0].key
    own, server = MODES[mode]
    for body in ({"mode": own, "path": "a.ipynb"}, {"mode": server}):
        assert (await local.send_json("PUT", "mode", body)).status == 200
    before = samples.hash_file(local_file)
    try:
        reply = await API[action](api, first.edit_id, key)
        found = "proposed" if isinstance(getattr(reply, "proposal_id", None), int) else "done"
    except PlanMode:
        found = "refused"
    assert found == PROGRAM[action][list(MODES).index(mode)]
    assert (samples.hash_file(local_file) != before) == (found == "done" and action != "keep")


def test_a_person_is_known_by_an_open_page_only(live: Client, notebook: Notebook) -> None:
    number = notebook.edit(replace("alpha", "x = 2"), client=CLIENT)
    changed = notebook.text
    notebook.set_mode("plan")
    # Everybody can say to be JupyterLab.
    get_error(notebook.undo(edit_id=number, client="JupyterLab"), 403, "plan_mode")
    with open_page(live) as page, open_page(live) as other:
        assert page != other
        assert len(page[PAGE_ID]) * 4 == 128
        for header in ({PAGE_ID: "0" * 32}, {PAGE_ID: ""}, {PAGE_ID: page[PAGE_ID][:-1]}):
            found = notebook.undo(edit_id=number, headers=header)
            get_error(found, 409, "page_unknown")
            assert notebook.text == changed
        assert notebook.undo(edit_id=number, headers=page).status == 200
        assert notebook.redo(headers=other, whose="all").status == 200
    # In every mode, the id of a closed page is not taken for a program.
    notebook.set_mode("edit")

    def ask() -> bool:
        return notebook.undo(edit_id=number, headers=page, dry_run=True).status == 409

    wait_until(ask)
    get_error(notebook.undo(edit_id=number, headers=page), 409, "page_unknown")
    assert notebook.text == changed


@pytest.mark.threat("S16")
def test_the_id_of_a_page_is_in_no_reply_or_log(tmp_path: Path) -> None:
    server = start_server(tmp_path, "--ServerApp.log_level=DEBUG")
    try:
        check_secret(server)
    finally:
        server.stop()


def check_secret(server: ServerProcess) -> None:
    live = server.client
    (live.root / "a.ipynb").write_bytes(TEXT)
    Notebook(live, "a.ipynb").edit(replace("alpha", "x = 2"), client=CLIENT)
    with open_page(live) as page:
        secret = page[PAGE_ID].encode()
        answers = [
            Notebook(live, "a.ipynb").undo(headers=page, whose="all"),
            Notebook(live, "a.ipynb").undo(headers={**page, "If-Match": "nonsense"}),
            live.request("GET", "nbedit/notebooks/a.ipynb/history", headers=page),
            live.request("GET", "nbedit", headers=page),
            live.request("GET", "nbedit/notebooks/missing.ipynb", headers=page),
        ]
        assert answers[0].status == 200
    Notebook(live, "a.ipynb").undo(headers=page)
    for answer in answers:
        assert secret not in answer.body
        assert secret.decode() not in str(answer.headers)
    assert secret not in server.log.read_bytes()


def test_a_client_does_not_accept_its_own_proposal_if_the_server_forbids_it(
    servers: Servers, request: pytest.FixtureRequest
) -> None:
    live, path = servers("no own decisions"), f"{request.node.name}.ipynb"
    (live.root / path).write_bytes(TEXT)
    live.set_mode("review", path)
    session = {"X-NbEdit-Session": "one"}
    number = Notebook(live, path).propose(replace("alpha", "x = 2"), client=CLIENT, headers=session)
    refused = live.accept(number, client=CLIENT, headers=session)
    get_error(refused, 403, "forbidden")
    assert "own_decisions" in refused.json["message"]
    assert live.accept(number, client=CLIENT, headers=session, dry_run=True).status == 403
    assert (live.root / path).read_bytes() == TEXT
    # Another session of the client, another client and a person may.
    get_error(live.accept(number, client=CLIENT), 403, "forbidden")
    others: list[tuple[str, dict[str, str]]] = [
        (CLIENT, {"X-NbEdit-Session": "two"}),
        ("script", session),
    ]
    for client, headers in others:
        assert live.accept(number, client=client, headers=headers, dry_run=True).status == 200
    with open_page(live) as page:
        assert live.accept(number, client=CLIENT, headers={**session, **page}).status == 200
    assert Notebook(live, path).list_sources()[0] == "x = 2"


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"allow_origin": "https://lab.example"}}], indirect=True
)
async def test_a_page_of_an_allowed_site_may_send_its_id(local: Local, local_file: Path) -> None:
    parts = ("nbedit", "notebooks", local_file.name, "undo")
    asked = {"Origin": "https://lab.example", "Access-Control-Request-Method": "POST"}
    answer = await local.request("OPTIONS", *parts, headers=asked)
    granted = answer.headers["Access-Control-Allow-Headers"].split(", ")
    assert {PAGE_ID.lower(), "content-type", "x-xsrftoken", "authorization"} <= set(granted)
    assert answer.headers["Access-Control-Allow-Origin"] == "https://lab.example"


def test_an_accepted_undo_is_an_undo_of_its_author(live: Client, notebook: Notebook) -> None:
    numbers = [
        notebook.edit(replace("alpha", f"x = {n}"), client=CLIENT, headers={SESSION: "one"})
        for n in (2, 3)
    ]
    notebook.set_mode("review")
    for number, source in zip(reversed(numbers), ("x = 2", "x = 1\nx"), strict=True):
        proposed = notebook.undo(client=CLIENT, headers={SESSION: "one"})
        assert proposed.json["undone"][0]["edit_id"] == number
        with open_page(live) as page:
            assert notebook.accept(proposed.json["proposal_id"], headers=page).status == 200
        assert notebook.list_sources()[0] == source
    newest = notebook.list_history()
    assert [(each["kind"], each["undoes"]) for each in newest[:2]] == [
        ("undo", numbers[0]),
        ("undo", numbers[1]),
    ]
    # The session that accepted it, and other sessions of the client, have not undone anything.
    get_error(notebook.redo(client="JupyterLab"), 409, "nothing_to_undo")
    found = notebook.redo(client=CLIENT, headers={SESSION: "two"})
    get_error(found, 409, "nothing_to_undo")
    assert "in another session" in found.json["message"]
    redo = notebook.redo(client=CLIENT, headers={SESSION: "one"})
    with open_page(live) as page:
        assert notebook.accept(redo.json["proposal_id"], headers=page).status == 200
    assert notebook.list_sources()[0] == "x = 2"
    newest = notebook.list_history()
    assert newest[0]["kind"] == "redo"
    assert [each["undone_by"] is None for each in newest if each["edit_id"] in numbers] == [
        False,
        True,
    ]


def test_a_part_of_a_proposed_undo_is_an_edit(notebook: Notebook) -> None:
    operations = [replace("alpha", "x = 2"), replace("beta", "two")]
    number = notebook.edit(*operations, client=CLIENT)
    notebook.set_mode("review")
    proposal = notebook.undo(client=CLIENT).json["proposal_id"]
    assert notebook.accept(proposal, parts=[0]).status == 200
    newest, first = notebook.list_history()
    assert (newest["kind"], newest["undoes"]) == ("edit", None)
    assert (first["edit_id"], first["undone_by"]) == (number, None)


def test_a_retry_of_a_program_is_no_request_of_a_person(live: Client, notebook: Notebook) -> None:
    number = notebook.edit(replace("alpha", "x = 2"), client=CLIENT)
    notebook.set_mode("review")
    key = {"Idempotency-Key": f"{notebook.path} {number}"}
    assert notebook.undo(edit_id=number, headers=key).status == 202
    with open_page(live) as page:
        found = notebook.undo(edit_id=number, headers={**key, **page})
    get_error(found, 422, "idempotency_mismatch")


def has_another_size(file: Path, size: int) -> bool:
    return file.stat().st_size != size


def test_no_edit_is_written_after_a_pause_was_answered(live: Client, notebook: Notebook) -> None:
    file = notebook.file
    file.write_bytes(samples.notebook(samples.code("x = 1\n" * 1_000_000, "alpha")))
    with ThreadPoolExecutor(4) as pool:
        for subject in (notebook.path, None) * 3:
            edits = [
                pool.submit(
                    live.patch,
                    notebook.path,
                    {"op": "insert", "at": "end", "source": f"{n}", **CODE},
                )
                for n in range(4)
            ]
            # One of them is being written.
            wait_until(partial(has_another_size, file, file.stat().st_size))
            live.set_mode("plan", subject)
            paused = file.read_bytes()
            answers = [each.result() for each in edits]
            assert {each.status for each in answers} <= {200, 403}
            assert file.read_bytes() == paused
            live.set_mode(None, subject)


@pytest.mark.parametrize("is_old_path_in_use", [False, True])
def test_a_rule_holds_at_once_when_its_notebook_is_renamed(
    live: Client, notebook: Notebook, *, is_old_path_in_use: bool
) -> None:
    for number in range(8):
        old, new = notebook.root / f"old-{number}-{notebook.path}", f"new-{number}-{notebook.path}"
        old.write_bytes(TEXT)
        Notebook(live, old.name).edit(replace("alpha", "x = 2"), client=CLIENT)
        live.set_mode("plan", old.name)
        # The helper of other tests waits until the server has followed.
        body = json.dumps({"path": new}).encode()
        assert live.request("PATCH", f"api/contents/{old.name}", body, JSON).status == 200
        if is_old_path_in_use:
            old.write_bytes(TEXT)
        get_error(live.patch(new, replace("alpha", "x = 3")), 403, "plan_mode")
        wait_for_events(live)
        get_error(live.patch(new, replace("alpha", "x = 3")), 403, "plan_mode")
        assert live.get_json(f"mode?path={new}")["own"] == "plan"


def test_decisions_are_logged_when_they_were_carried_out(tmp_path: Path) -> None:
    server = start_server(tmp_path)
    try:
        live = server.client
        (live.root / "a.ipynb").write_bytes(TEXT)
        live.set_mode("review", "a.ipynb")
        number = Notebook(live, "a.ipynb").propose(replace("alpha", "x = 2"), client=CLIENT)
        live.reject(99999, client="nobody")
        live.accept(number, client="nobody", dry_run=True)
        assert live.accept(number, client="Evil").status == 200
        with open_page(live) as page:
            live.send_json("POST", "notebooks/a.ipynb/keep", {}, page)
        live.send_json("POST", "notebooks/gone.ipynb/keep", {}, {"X-NbEdit-Client": "nobody"})
    finally:
        server.stop()
    log = server.log.read_text()
    assert f"accept {number}: by a program, user 'anonymous', client 'Evil'" in log
    assert "keep 'a.ipynb': by a person in a page, user 'anonymous', client None" in log
    assert "nobody" not in log


def test_the_id_of_a_page_that_closes_while_the_body_comes_is_unknown(
    live: Client, notebook: Notebook
) -> None:
    number = notebook.edit(replace("alpha", "x = 2"), client=CLIENT)
    changed = notebook.text
    notebook.set_mode("review")
    body = json.dumps({"edit_id": number}).encode()
    connection = HTTPConnection("127.0.0.1", live.port, timeout=SECONDS)
    with closing(connection):
        with open_page(live) as page:
            connection.putrequest("POST", f"{live.base_url}nbedit/notebooks/{notebook.path}/undo")
            headers = {**JSON, **page, "Authorization": f"token {live.token}"}
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                connection.putheader(name, value)
            connection.endheaders(body[:3])
            # The server has the headers: it answers what comes after them on another connection.
            assert notebook.undo(edit_id=number, headers=page, dry_run=True).status == 200

        def is_closed() -> bool:
            return notebook.undo(edit_id=number, headers=page, dry_run=True).status == 409

        wait_until(is_closed)
        connection.send(body[3:])
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["reason"]) == (409, "page_unknown")
    assert notebook.text == changed
