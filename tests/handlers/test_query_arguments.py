"""Query arguments that no route knows: those that helpers of JupyterLab add, and all others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest
from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.utils import url_path_join
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.handlers.requests import NbEditHandler
from tests.handlers.refused import details, untouched
from tests.handlers.routes import NAME, ROWS, Row
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local

#: As `ServerConnection.makeRequest` of JupyterLab adds it, and as jQuery does.
TIMES = ["1700000000000", "_=1700000000000", "1700000000000=", "1&_=2&_=3"]
INSERT = {"operations": [{"op": "insert", "cell_type": "code", "source": "x", "at": "end"}]}


@pytest.fixture
def fresh(live: Client) -> Iterator[Client]:
    (live.root / NAME).write_bytes(samples.three_cells())
    (live.root / "a.txt").write_text("as is\n")
    yield live
    for path in live.root.iterdir():
        path.unlink()


def request(live: Client, row: Row, verb: str, query: str) -> Answer:
    target, body, headers = row.sent(live.root)
    (live.root / NAME).write_bytes(samples.three_cells())
    (live.root / "a.md").unlink(missing_ok=True)
    assert call(live, "claude_code/Read", file_path=str(live.root / NAME)).status == 200
    return live.request(verb, f"{target}?{query}" if query else target, body, headers)


def call(live: Client, tool: str, **given: str) -> Answer:
    return live.request("POST", f"nbedit/tools/{tool}", json.dumps(given).encode(), JSON)


@pytest.mark.parametrize(("route", "verb"), ROWS)
def test_the_time_that_helpers_add_to_the_query_is_ignored_on_every_route(
    fresh: Client, route: str, verb: str
) -> None:
    row = ROWS[route, verb]
    expected = request(fresh, row, verb, "")
    for time in TIMES:
        answer = request(fresh, row, verb, time)
        assert answer.status == expected.status, answer.body


def test_a_time_in_the_query_goes_with_the_arguments_of_the_route(fresh: Client) -> None:
    target = f"nbedit/notebooks/{NAME}?view=outline&1700000000000&cell=beta&cell=alpha"

    answer = fresh.request("GET", target)

    assert [cell["id"] for cell in answer.json["cells"]] == ["alpha", "beta"]
    assert "source" not in answer.json["cells"][0]


def test_a_retry_is_the_same_request_whatever_time_its_query_has(fresh: Client) -> None:
    body = json.dumps(INSERT).encode()
    headers = {**JSON, "Idempotency-Key": "a retry at another time"}
    target = f"nbedit/notebooks/{NAME}"

    first = fresh.request("PATCH", f"{target}?1700000000000", body, headers)
    with untouched(fresh.root):
        again = fresh.request("PATCH", f"{target}?1700000000001&_=2", body, headers)
    other = fresh.request("PATCH", f"{target}?wait_tabs=1", body, headers)

    assert (again.status, again.body) == (first.status, first.body)
    assert first.status == 200
    details(other, 422, "idempotency_mismatch")


class Form(msgspec.Struct, forbid_unknown_fields=True):
    """A query of one text and of lists."""

    text: Annotated[str, Meta(description="Not a list, whatever this says.")] = ""
    items: Annotated[list[str], Meta(description="Several.")] = []
    perhaps: Annotated[list[int], Meta(max_length=9)] | UnsetType = UNSET


class FormHandler(NbEditHandler):
    @allow_unauthenticated
    def get(self) -> None:
        self.answer(self.query(Form))


async def test_an_argument_may_stand_several_times_if_its_type_is_a_list(
    local: Local, jp_serverapp: Any
) -> None:
    settings = {"name": "jupyter_nbedit"}
    address = url_path_join(jp_serverapp.base_url, "/nbedit-test/form")
    jp_serverapp.web_app.add_handlers(".*", [(address, FormHandler, settings)])

    async def get(query: list[tuple[str, str]]) -> Answer:
        response = await local.fetch("nbedit-test", "form", params=query, raise_error=False)
        return Answer(response.code, response.headers, response.body)

    lists = [("items", "a"), ("items", "b"), ("perhaps", "1"), ("perhaps", "2")]
    answer = await get([("text", "x"), *lists])
    assert answer.json == {"text": "x", "items": ["a", "b"], "perhaps": [1, 2]}
    answer = await get([("text", "x"), ("text", "y")])
    details(answer, 400, "invalid_request")
