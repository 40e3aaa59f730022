"""Unknown query arguments: the timestamp that JupyterLab adds, and all others."""

import json
from collections.abc import Iterator

import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.routes import NAME, ROWS, RouteRow, write_files
from tests.handlers.tool_inputs import call
from tests.support.http import JSON, Answer, Client
from tests.support.sampling import choose

#: As `ServerConnection.makeRequest` of JupyterLab adds it, and as jQuery does.
TIMES = ["1700000000000", "_=1700000000000", "1700000000000=", "1&_=2&_=3"]
INSERT = {"operations": [{"op": "insert", "cell_type": "code", "source": "x", "at": "end"}]}


@pytest.fixture
def fresh_notebook(live: Client) -> Iterator[Client]:
    write_files(live.root)
    yield live
    for path in live.root.iterdir():
        path.unlink()


def request(live: Client, row: RouteRow, verb: str, query: str) -> Answer:
    target, body, headers = row.build_request(live.root)
    write_files(live.root)
    assert call(live, "claude_code/Read", {"file_path": f"~{NAME}"}).status == 200
    return live.request(verb, f"{target}?{query}" if query else target, body, headers)


@pytest.mark.parametrize(("route", "verb"), ROWS)
def test_a_timestamp_query_argument_is_ignored_on_every_route(
    fresh_notebook: Client, route: str, verb: str
) -> None:
    row = ROWS[route, verb]
    expected = request(fresh_notebook, row, verb, "")
    for time in choose(f"{verb} {route}", TIMES, 1):
        answer = request(fresh_notebook, row, verb, time)
        assert answer.status == expected.status, answer.body


def test_a_timestamp_argument_works_with_arguments_of_the_route(
    fresh_notebook: Client,
) -> None:
    target = f"nbedit/notebooks/{NAME}?view=outline&1700000000000&cell=beta&cell=alpha"

    answer = fresh_notebook.request("GET", target)

    assert [cell["id"] for cell in answer.json["cells"]] == ["alpha", "beta"]
    assert "source" not in answer.json["cells"][0]


def test_a_retry_with_another_timestamp_is_the_same_request(fresh_notebook: Client) -> None:
    body = json.dumps(INSERT).encode()
    headers = {**JSON, "Idempotency-Key": "a retry at another time"}
    target = f"nbedit/notebooks/{NAME}"

    first = fresh_notebook.request("PATCH", f"{target}?1700000000000", body, headers)
    with no_changes(fresh_notebook.root):
        again = fresh_notebook.request("PATCH", f"{target}?1700000000001&_=2", body, headers)
    other = fresh_notebook.request("PATCH", f"{target}?wait_tabs=1", body, headers)

    assert (again.status, again.body) == (first.status, first.body)
    assert first.status == 200
    get_error(other, 422, "idempotency_mismatch")
