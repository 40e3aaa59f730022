"""Every error that a request can cause: status, reason, details, and its message."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import msgspec
import pytest
from tornado.web import HTTPError

from jupyter_nbedit.errors import FileNotFound, NbEditError
from jupyter_nbedit.handlers.errors import STATUS, build_error_body, get_status
from tests.handlers.bad_requests import CASES, Case, Send
from tests.handlers.conftest import Servers
from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.golden import Messages
from tests.handlers.tool_table import ROWS
from tests.support.http import JSON, Answer, Client

_YESTERDAY = 86_400


def list_case_names() -> set[str]:
    """Return the names of all cases whose texts are in the file."""
    return set(CASES) | {row.name for row in ROWS if row.status >= 400}


def lay_out(root: Path, notebook: bytes) -> None:
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (root / "a.txt").write_text("as is\n")
    write(root, notebook)


def write(root: Path, notebook: bytes) -> None:
    """Write a notebook whose time is too old for an unfinished save."""
    (root / "a.ipynb").write_bytes(notebook)
    os.utime(root / "a.ipynb", (_YESTERDAY, _YESTERDAY))


def send(client: Client, request: Send, numbers: list[int], token: str | None = None) -> Answer:
    target, body = request.target, request.serialize_body()
    for place, number in enumerate(numbers):
        target = target.replace(f"{{{place}}}", str(number))
        body = body and body.replace(b'"{%d}"' % place, b"%d" % number)
    return client.request(request.verb, target, body, request.headers, token=token)


def send_setup_requests(client: Client, case: Case) -> list[int]:
    """Send the requests before a case; return the numbers of its edits and proposals."""
    numbers: list[int] = []
    for step in case.first:
        if isinstance(step, bytes):
            write(client.root, step)
            continue
        answer = send(client, step, numbers)
        assert answer.status < 300, answer.body
        number = answer.json.get("edit_id") or answer.json.get("proposal_id")
        numbers += [number] if number else []
    return numbers


@contextmanager
def prepare_case(client: Client, case: Case) -> Iterator[list[int]]:
    """Prepare a server for a case; reset its state afterwards."""

    lay_out(client.root, case.notebook)
    if case.mode != "edit":
        # Another test may have left one to the notebook itself.
        client.reset_modes("a.ipynb")
        body = {"mode": case.mode}
        assert client.send_json("PUT", "mode", body).status == 200
    try:
        with case.fault(client, "a.ipynb") if case.fault else nullcontext():
            yield send_setup_requests(client, case)
    finally:
        if case.mode != "edit" or case.first:
            client.reset_modes("a.ipynb")
            for proposal in client.request("GET", "nbedit/proposals").json["proposals"]:
                target = f"nbedit/proposals/{proposal['proposal_id']}/reject"
                client.request("POST", target, b"{}", JSON)
        for name in ("a.ipynb", "new.ipynb"):
            client.request("DELETE", f"nbedit/notebooks/{name}/history")


@pytest.mark.threat("S4")
@pytest.mark.threat("S8")
@pytest.mark.threat("S11")
@pytest.mark.threat("S12")
@pytest.mark.threat("S21")
@pytest.mark.threat("S27")
@pytest.mark.threat("S29")
@pytest.mark.parametrize("name", CASES)
def test_an_error_has_the_expected_status_reason_details_and_message(
    servers: Servers, messages: Messages, name: str
) -> None:
    reason, case = CASES[name]
    client = servers(case.server)
    # An aborted attempt, as on a full disk, changes the time of the folder.
    watched = client.root / "a.ipynb" if reason == "no_space" else client.root
    with prepare_case(client, case) as numbers, no_changes(watched):
        answer = send(client, case.request, numbers, case.token)
        found = get_error(answer, answer.status, reason)
        for request in case.same:
            assert send(client, request, numbers).body == answer.body
    assert {name: found[name] for name in case.details} == case.details
    # What is no batch does not know its number in one.
    assert "operation" not in found or b'"operations"' in (case.request.serialize_body() or b"")
    message = answer.json["message"]
    for place, number in enumerate(numbers):
        message = re.sub(rf"\b([Ee]dit|proposal) {number}\b", rf"\1 <{place}>", message)
    messages.check(name, answer.status, reason, message)


def test_the_golden_file_has_exactly_the_messages_of_the_cases(messages: Messages) -> None:
    messages.check_names(list_case_names())


def list_error_classes(of: type[NbEditError] = NbEditError) -> Iterator[type[NbEditError]]:
    for kind in of.__subclasses__():
        yield kind
        yield from list_error_classes(kind)


def test_every_reason_has_a_case_and_one_status(messages: Messages) -> None:
    assert set(list_error_classes()) == set(STATUS), (
        "add the status to jupyter_nbedit/handlers/errors.py"
    )
    # Only tools look for files; they have no reasons in their own forms.
    expected = {
        (kind.reason, int(STATUS[kind])) for kind in set(list_error_classes()) - {FileNotFound}
    }
    no_route, no_verb = ("invalid_request", 404), ("invalid_request", 405)
    assert messages.list_reasons() == expected | {no_route, no_verb}, (
        "add a case to bad_requests.py"
    )


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 418, 500, 503, 599])
def test_an_error_of_another_component_has_the_common_form_without_its_text(
    status: int,
) -> None:
    for failure in (HTTPError(status, "in /home/me"), OSError(2, "no", "/home/me"), None):
        body = msgspec.to_builtins(build_error_body(failure, status))
        assert list(body) == ["message", "reason", "details"]
        assert body["message"]
        assert body["reason"]
        assert "/home/me" not in str(body)
        assert get_status(failure, status) == status
