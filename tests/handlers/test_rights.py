"""Permissions: each kind of user, each verb, each route.

The routes and verbs are the application's own; what each of them takes is said in `routes.py`. What
a kind of user may do is a rule on actions and resources, as an authorizer has it, so that for every
cell of the table the answer follows from the two.
"""

from typing import Any, ClassVar

import pytest
from jupyter_server.auth import Authorizer

from jupyter_nbedit.handlers import default_handlers
from tests.handlers.error_checks import assert_no_local_names, no_changes
from tests.handlers.routes import (
    MISSING,
    NAME,
    OPERATIONS,
    ROWS,
    list_verbs,
    matches_route,
    write_files,
)
from tests.support.http import Answer, Client, Local
from tests.support.sampling import is_nightly

#: What each kind of user may do to what: the words of an authorizer, and what it makes of resources
#: that it does not know. Authorizers that were written before there was `nbedit` know `contents` at
#: best, and some say no and some yes to all others.
USERS: dict[str, dict[str, str]] = {
    "a writer": {"nbedit": "read write", "contents": "read write"},
    "a reader": {"nbedit": "read", "contents": "read"},
    "one who may write only": {"nbedit": "write", "contents": "write"},
    "one who may run kernels": {"nbedit": "execute", "contents": "execute", "else": "execute"},
    "one who may nothing": {},
    "all of nbedit, nothing of contents": {
        "nbedit": "read write",
        "contents": "",
        "else": "read write",
    },
    "all of contents, nothing of nbedit": {"contents": "read write"},
    "all of nbedit, contents to read": {"nbedit": "read write", "contents": "read"},
    "all of contents, nbedit to read": {"nbedit": "read", "contents": "read write"},
    "contents to read, the rest denied": {"contents": "read"},
    "contents to read, the rest free": {"contents": "read", "else": "read write execute"},
}


#: Whose rights tell by day if one of the two is not asked for, or for the wrong action.
BY_DAY = [
    "a writer",
    "a reader",
    "one who may write only",
    "all of nbedit, nothing of contents",
    "all of contents, nothing of nbedit",
]


def is_allowed(user: str, action: str, resource: str) -> bool:
    allowed = USERS[user]
    return action in allowed.get(resource, allowed.get("else", "")).split()


class SpyAuthorizer(Authorizer):
    """Knows one user, whose turn it is."""

    user: ClassVar[str]
    asked: ClassVar[list[tuple[str, str]]]

    def is_authorized(self, _handler: Any, _user: Any, action: str, resource: str) -> bool:
        self.asked.append((action, resource))
        return is_allowed(self.user, action, resource)


class SlowAuthorizer(SpyAuthorizer):
    """Has to look it up first."""

    async def is_authorized(  # type: ignore[override] # both are allowed
        self, handler: Any, user: Any, action: str, resource: str
    ) -> bool:
        return super().is_authorized(handler, user, action, resource)


class FailingAuthorizer(Authorizer):
    """Fails, as one whose directory of users is away."""

    def is_authorized(self, *_: Any) -> bool:
        message = "the directory of users is away: /etc/secret"
        raise OSError(message)


@pytest.fixture(params=[SpyAuthorizer, SlowAuthorizer] if is_nightly() else [SlowAuthorizer])
def gate(request: pytest.FixtureRequest, jp_server_config: Any) -> type[SpyAuthorizer]:
    kind: type[SpyAuthorizer] = request.param
    kind.asked = []
    jp_server_config["ServerApp"]["authorizer_class"] = kind
    return kind


def test_every_route_and_verb_has_a_row_and_a_body_if_needed() -> None:
    described = {(operation.pattern, operation.verb) for operation in OPERATIONS.values()}
    mounted = {(route, verb) for route, handler in default_handlers for verb in list_verbs(handler)}
    assert described == mounted, "put a @Contract above each verb"
    for key, operation in OPERATIONS.items():
        if operation.spec.body is not None:
            assert ROWS[key].body is not None, f"add {key} to SENT in tests/handlers/routes.py"


def test_every_verb_is_authorized_in_the_class_of_its_route() -> None:
    # A decorated method that classes share asks for the right of whichever was called first.
    for _, handler in default_handlers:
        assert handler.auth_resource == "nbedit"
        for verb in list_verbs(handler):
            assert verb.lower() in vars(handler)


async def send_request(local: Local, key: tuple[str, str], name: str = NAME) -> Answer:
    target, body, headers = ROWS[key].build_request(local.root, name)
    return await local.request(key[1], *target.split("/"), body=body, headers=headers)


def assert_refused(answer: Answer) -> None:
    assert answer.status == 403, answer.body
    assert_no_local_names(answer.body, answer.root)
    for secret in (b"alpha", b"x = 1", b"Title", NAME.encode(), MISSING.encode()):
        assert secret not in answer.body


@pytest.mark.threat("S18")
@pytest.mark.threat("S19")
async def test_each_user_may_do_exactly_what_both_permissions_allow(
    gate: type[SpyAuthorizer], local: Local
) -> None:
    cells = 0
    users = list(USERS) if is_nightly() else BY_DAY
    for user in users:
        gate.user = user
        for key, row in ROWS.items():
            write_files(local.root)
            cells += 1
            if is_allowed(user, row.action, "nbedit") and is_allowed(user, row.action, "contents"):
                answer = await send_request(local, key)
                assert answer.status == row.status, (user, key, answer.body)
                continue
            with no_changes(local.root):
                answer = await send_request(local, key)
                assert_refused(answer)
                # Whether a notebook is there is not for them to learn.
                assert (await send_request(local, key, MISSING)).body == answer.body
    print(f"{cells} cells of the table, {gate.__name__}")
    assert cells == len(users) * len(ROWS)
    requested_rights = {
        (action, resource) for action, resource in gate.asked if resource == "nbedit"
    }
    assert requested_rights == {("read", "nbedit"), ("write", "nbedit")}
    assert {("read", "contents"), ("write", "contents")} <= set(gate.asked)


async def test_the_mode_tells_whether_the_user_may_change_notebooks(
    gate: type[SpyAuthorizer], local: Local
) -> None:
    writable = {}
    for user in USERS:
        if is_allowed(user, "read", "nbedit") and is_allowed(user, "read", "contents"):
            gate.user = user
            gate.asked.clear()
            answer = await local.request("GET", "nbedit", "mode")
            assert answer.status == 200
            writable[user] = answer.json["writable"]
            # Each question may be a request to another server.
            assert len(gate.asked) == len(set(gate.asked))
    assert writable == {
        "a writer": True,
        "a reader": False,
        "all of nbedit, contents to read": False,
        "all of contents, nbedit to read": False,
        "contents to read, the rest free": False,
    }


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"authorizer_class": FailingAuthorizer}}], indirect=True
)
async def test_a_failing_authorizer_refuses_every_request(
    local: Local, caplog: pytest.LogCaptureFixture
) -> None:
    write_files(local.root)
    with no_changes(local.root):
        for key in ROWS:
            answer = await send_request(local, key)
            assert answer.status == 500
            assert b"secret" not in answer.body
            assert_no_local_names(answer.body, answer.root)
    assert "the directory of users is away" in caplog.text


def test_an_unsupported_verb_does_and_shows_nothing(live: Client) -> None:
    write_files(live.root)
    count = 0
    with no_changes(live.root):
        for key, row in ROWS.items():
            known = {verb for route, verb in ROWS if matches_route(route, row)}
            for verb in {"HEAD", "GET", "POST", "PUT", "PATCH", "DELETE"} - known:
                # Each has a body: that of an unsupported verb is not read.
                for token, status in (("", {403}), (None, {405})):
                    answer = live.request(verb, row.target, b"{}", token=token)
                    assert answer.status in status, (verb, key, answer.body)
                    assert b"alpha" not in answer.body
                    count += 1
    assert count >= 2 * len(ROWS)


def test_options_requests_have_no_body_and_allow_no_other_origin(live: Client) -> None:
    write_files(live.root)
    foreign = {"Origin": "http://evil.example"}
    with no_changes(live.root):
        for row in ROWS.values():
            responses = set()
            for name in (NAME, MISSING):
                target, _, _ = row.build_request(live.root, name)
                answer = live.request("OPTIONS", target, headers=foreign, token="")
                assert answer.body == b""
                # A browser lets no page of another origin ask further.
                assert "Access-Control-Allow-Origin" not in answer.headers
                responses.add((answer.status, frozenset(answer.headers)))
            assert len(responses) == 1
