"""Who may do what: every route and every verb, found in the application's own table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from jupyter_server.auth import Authorizer
from jupyter_server.base.handlers import APIHandler
from tornado.web import RequestHandler

from jupyter_nbedit.handlers import default_handlers
from tests import samples
from tests.handlers.client import JSON, Answer, Client, Local
from tests.handlers.refused import details, untouched, with_operation

REPLACE = with_operation(op="replace", cell="alpha", source="changed")
INSERT = b'{"cell_type": "code", "source": "x", "at": "end", "dry_run": true}'
CELLS = r"/nbedit/notebooks/(?P<path>.*\.ipynb)/cells"
CELL = r"/nbedit/notebooks/(?P<path>.*\.ipynb)/cells/(?P<cell>[^/]+)(?<!\.ipynb)"

CALL = b'{"notebook_path": "a.ipynb", "cell_id": 0, "new_source": "changed"}'


@dataclass(frozen=True)
class Row:
    """One verb of one route: an address of it, what is sent there, and the right it takes."""

    target: str
    action: str
    body: bytes | None = None


#: A route or verb that is not here fails the first test.
ROWS = {
    (r"/nbedit/?", "GET"): Row("nbedit", "read"),
    (r"/nbedit/openapi\.json", "GET"): Row("nbedit/openapi.json", "read"),
    (r"/nbedit/notebooks/(?P<path>.*)", "GET"): Row("nbedit/notebooks/a.ipynb", "read"),
    (r"/nbedit/notebooks/(?P<path>.*)", "PATCH"): Row("nbedit/notebooks/a.ipynb", "write", REPLACE),
    (r"/nbedit/notebooks/(?P<path>.*)", "PUT"): Row(
        "nbedit/notebooks/new.ipynb", "write", b'{"dry_run": true}'
    ),
    (r"/nbedit/search", "POST"): Row("nbedit/search", "read", b'{"query": "x"}'),
    (CELLS, "POST"): Row("nbedit/notebooks/a.ipynb/cells", "write", INSERT),
    (CELL, "GET"): Row("nbedit/notebooks/a.ipynb/cells/alpha", "read"),
    (CELL, "PATCH"): Row("nbedit/notebooks/a.ipynb/cells/alpha", "write", b'{"source": "changed"}'),
    (r"/nbedit/tools", "GET"): Row("nbedit/tools", "read"),
    (r"/nbedit/tools/(?P<address>.*)", "POST"): Row(
        "nbedit/tools/mycode/NotebookEdit", "write", CALL
    ),
    (CELL, "DELETE"): Row("nbedit/notebooks/a.ipynb/cells/gamma", "write"),
}


def verbs(handler: type[RequestHandler]) -> Iterator[str]:
    """List the verbs of a handler, but for OPTIONS, which only tells a browser what it may ask."""
    for verb in RequestHandler.SUPPORTED_METHODS:
        method = getattr(handler, verb.lower())
        if verb != "OPTIONS" and method is not RequestHandler._unimplemented_method:
            yield verb


def test_every_verb_of_every_route_has_a_row() -> None:
    routes = {(pattern, verb) for pattern, handler in default_handlers for verb in verbs(handler)}
    assert routes == set(ROWS)
    for (pattern, _), row in ROWS.items():
        assert re.fullmatch(pattern, f"/{row.target}")


def test_every_verb_of_every_route_is_guarded_in_its_own_class() -> None:
    # A decorated method that classes share asks for the right of whichever was called first.
    for _, handler in default_handlers:
        assert handler.auth_resource == "nbedit"
        for verb in verbs(handler):
            assert verb.lower() in vars(handler)


def test_nothing_of_ours_weakens_what_jupyter_server_checks() -> None:
    checks = "check_host check_origin check_referer check_xsrf_cookie get_login_url"
    given = "current_user get_current_user options set_default_headers"
    for _, handler in default_handlers:
        for name in f"{checks} {given}".split():
            assert getattr(handler, name) is getattr(APIHandler, name)


@pytest.fixture
def notebook(live: Client) -> Iterator[None]:
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    with untouched(live.root):
        yield


def sent(live: Client, key: tuple[str, str], headers: dict[str, str], **options: Any) -> Answer:
    row = ROWS[key]
    content = {} if row.body is None else JSON
    return live.request(key[1], row.target, row.body, {**content, **headers}, **options)


def assert_refused(answer: Answer, status: int, reason: str) -> None:
    if "success" in answer.json:
        # A tool refuses in its dialect's form.
        assert (answer.status, answer.json["success"]) == (status, False)
        assert answer.json["error"]
    else:
        details(answer, status, reason)


def assert_tells_nothing(answer: Answer) -> None:
    assert b"alpha" not in answer.body
    assert b"x = 1" not in answer.body


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("token", ["", "wrong", " ", "null"])
@pytest.mark.parametrize("key", ROWS)
def test_without_the_token_nothing_is_shown_or_done(
    live: Client, key: tuple[str, str], token: str
) -> None:
    answer = sent(live, key, {}, token=token)
    assert_refused(answer, 403, "forbidden")
    assert_tells_nothing(answer)


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80"])
@pytest.mark.parametrize("key", ROWS)
def test_a_name_that_is_not_this_machines_is_refused_even_with_the_token(
    live: Client, key: tuple[str, str], host: str
) -> None:
    answer = sent(live, key, {"Host": host})
    assert_refused(answer, 403, "forbidden")
    assert_tells_nothing(answer)


class Visitor:
    """A browser: has the server's cookies and knows no token."""

    def __init__(self, live: Client) -> None:
        given = live.request("GET", "api/status").headers.get_list("Set-Cookie")
        page = live.request("GET", "login", token="").headers.get_list("Set-Cookie")
        cookies = dict(cookie.split(";")[0].split("=", 1) for cookie in (*given, *page))
        self.xsrf = cookies["_xsrf"]
        self.cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        self.own_origin = f"http://127.0.0.1:{live.port}"


@pytest.fixture(scope="module")
def visitor(live: Client) -> Visitor:
    return Visitor(live)


def test_a_browsers_own_page_may_read_and_edit(live: Client, visitor: Visitor) -> None:
    for origin in ({}, {"Origin": visitor.own_origin}):
        (live.root / "a.ipynb").write_bytes(samples.three_cells())
        for key in ROWS:
            headers = {**visitor.cookie, **origin, "X-XSRFToken": visitor.xsrf}
            answer = sent(live, key, headers, token="")
            assert answer.status == 200, answer.body


FOREIGN = {
    "no sign of its page": {},
    "a wrong XSRF token": {"X-XSRFToken": "2|00000000|00000000000000000000000000000000|0"},
    "another origin": {"Origin": "http://evil.example"},
    "an origin that begins like ours": {"Origin": "http://127.0.0.1.evil.example"},
    "no origin by name": {"Origin": "null"},
    "another page": {"Referer": "http://evil.example/page"},
    "a request that was not to be read": {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Site": "none"},
}


WRITES = [key for key, row in ROWS.items() if row.action == "write"]


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("key", WRITES)
def test_another_sites_page_can_do_nothing_with_a_browsers_cookies(
    live: Client, visitor: Visitor, key: tuple[str, str], kind: str
) -> None:
    answer = sent(live, key, {**visitor.cookie, **FOREIGN[kind]}, token="")
    assert answer.status in {403, 404}, answer.body
    assert_refused(answer, answer.status, answer.json.get("reason", ""))
    assert_tells_nothing(answer)


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("key", [key for key in ROWS if key not in WRITES])
def test_another_sites_page_can_read_nothing_with_a_browsers_cookies(
    live: Client, visitor: Visitor, key: tuple[str, str]
) -> None:
    for kind, headers in FOREIGN.items():
        answer = sent(live, key, {**visitor.cookie, **headers}, token="")
        # As in all of Jupyter: a GET without an Origin is answered, and browsers let only pages of
        # this origin read the answer.
        assert not [name for name in answer.headers if name.startswith("Access-Control")]
        if "Origin" in headers:
            assert answer.status == 404, kind
            assert_tells_nothing(answer)


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("key", ROWS)
def test_another_origin_can_do_nothing_even_with_the_xsrf_token(
    live: Client, visitor: Visitor, key: tuple[str, str]
) -> None:
    headers = {**visitor.cookie, "X-XSRFToken": visitor.xsrf, "Origin": "http://evil.example"}
    answer = sent(live, key, headers, token="")
    assert answer.status == 404, answer.body
    assert_tells_nothing(answer)


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("key", [key for key in WRITES if ROWS[key].body is not None])
def test_a_form_of_another_site_cannot_pass_for_json(
    live: Client, visitor: Visitor, key: tuple[str, str]
) -> None:
    own = {**visitor.cookie, "X-XSRFToken": visitor.xsrf, "Origin": visitor.own_origin}
    for content_type in ("text/plain", "application/x-www-form-urlencoded"):
        answer = sent(live, key, {**own, "Content-Type": content_type}, token="")
        assert_refused(answer, 415, "unsupported_media_type")


class Doorman(Authorizer):
    """Denies one right."""

    denied: ClassVar[tuple[str, str]]

    def is_authorized(self, _handler: Any, _user: Any, action: str, resource: str) -> bool:
        return (action, resource) != self.denied


class SlowDoorman(Doorman):
    """Has to look it up first."""

    async def is_authorized(  # type: ignore[override] # both are allowed
        self, handler: Any, user: Any, action: str, resource: str
    ) -> bool:
        return super().is_authorized(handler, user, action, resource)


@pytest.fixture(params=[Doorman, SlowDoorman])
def doorman(request: pytest.FixtureRequest, jp_server_config: Any) -> type[Doorman]:
    kind: type[Doorman] = request.param
    jp_server_config["ServerApp"]["authorizer_class"] = kind
    return kind


@pytest.mark.parametrize("resource", ["nbedit", "contents"])
@pytest.mark.parametrize("action", ["read", "write"])
async def test_who_lacks_a_right_is_refused_what_takes_it_and_nothing_else(
    doorman: type[Doorman], local: Local, action: str, resource: str
) -> None:
    doorman.denied = (action, resource)
    path = local.root / "a.ipynb"
    for (_, verb), row in ROWS.items():
        path.write_bytes(samples.three_cells())
        parts = row.target.split("/")
        if row.action != action:
            answer = await local.request(verb, *parts, body=row.body, headers=JSON)
            assert answer.status == 200, answer.body
            continue
        with untouched(local.root):
            answer = await local.request(verb, *parts, body=row.body, headers=JSON)
            assert_refused(answer, 403, "forbidden")
            assert_tells_nothing(answer)


def test_the_server_finds_no_route_of_ours_open_to_everybody(
    jp_configurable_serverapp: Any,
) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        app = jp_configurable_serverapp()
    assert app.extension_manager.extensions["jupyter_nbedit"].enabled
    assert not [warning for warning in found if "nbedit" in str(warning.message)]
    assert not app.allow_unauthenticated_access


@pytest.mark.parametrize("target", ["nbedit/nothing", "nbedit/notebooks", "nbedit/api/nbedit"])
@pytest.mark.parametrize("verb", ["GET", "POST", "PATCH"])
def test_an_address_without_a_route_is_told_so_in_our_form(
    live: Client, verb: str, target: str
) -> None:
    details(live.request(verb, target, b"" if verb != "GET" else None), 404, "invalid_request")


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("target", ["nbedit", "nbedit/", "nbedit/notebooks/a.ipynb"])
def test_a_verb_that_a_route_does_not_have_is_told_so_in_our_form(
    live: Client, target: str
) -> None:
    known = {verb for (pattern, verb) in ROWS if re.fullmatch(pattern, f"/{target}")}
    for verb in {"GET", "POST", "PUT", "PATCH", "DELETE"} - known:
        details(live.request(verb, target, b"{}", JSON), 405, "invalid_request")


def test_answers_are_not_to_be_shown_as_pages(live: Client) -> None:
    headers = live.request("GET", "nbedit").headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
