"""Unauthenticated requests: without the token, from other sites, to other host names."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_server.base.handlers import APIHandler

from jupyter_nbedit.handlers import default_handlers
from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.requests import Visitor
from tests.handlers.routes import ROWS, write_files
from tests.handlers.tool_failures import parse_failure
from tests.support.http import Answer, Client
from tests.support.sampling import choose


def test_no_handler_weakens_the_checks_of_jupyter_server() -> None:
    checks = "check_host check_origin check_referer check_xsrf_cookie get_login_url"
    methods = "current_user get_current_user options set_default_headers"
    for _, handler in default_handlers:
        for name in f"{checks} {methods}".split():
            assert getattr(handler, name) is getattr(APIHandler, name)


@pytest.fixture
def notebook(live: Client) -> Iterator[None]:
    write_files(live.root)
    with no_changes(live.root):
        yield


def send_request(
    live: Client, key: tuple[str, str], headers: dict[str, str], **options: Any
) -> Answer:
    target, body, content = ROWS[key].build_request(live.root)
    return live.request(key[1], target, body, {**content, **headers}, **options)


def assert_refused(answer: Answer, key: tuple[str, str], status: int, reason: str) -> None:
    if "/tools/" in key[0]:
        assert answer.status == status, answer.body
        parse_failure(key[0].removeprefix("/nbedit/tools/"), answer)
    elif key[1] == "HEAD":
        # Its answers have no body.
        assert (answer.status, answer.body) == (status, b"")
    else:
        get_error(answer, status, reason)
    for secret in (b"alpha", b"x = 1", b"a.ipynb", b"as is"):
        assert secret not in answer.body


MCP = (r"/nbedit/mcp/?", "POST")
NO_TOKENS = ("", "wrong", " ", "null")
FOREIGN_NAMES = ("evil.example", "127.0.0.1.evil.example", "evil.example:80")


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("key", ROWS)
@pytest.mark.threat("S15")
def test_without_the_token_or_with_a_foreign_host_name_every_request_is_refused(
    live: Client, key: tuple[str, str]
) -> None:
    for token in choose(f"{key}", NO_TOKENS, 1):
        assert_refused(send_request(live, key, {}, token=token), key, 403, "forbidden")
    for host in choose(f"{key}", FOREIGN_NAMES, 1):
        assert_refused(send_request(live, key, {"Host": host}), key, 403, "forbidden")


@pytest.fixture(scope="module")
def visitor(live: Client) -> Visitor:
    return Visitor(live)


def test_a_page_of_the_same_origin_may_read_and_edit(live: Client, visitor: Visitor) -> None:
    for origin in ({}, {"Origin": visitor.own_origin}):
        for key, row in ROWS.items():
            write_files(live.root)
            headers = {**visitor.cookie, **origin, "X-XSRFToken": visitor.xsrf}
            answer = send_request(live, key, headers, token="")
            assert answer.status == row.status, (key, answer.body)


FOREIGN = {
    "no sign of its page": {},
    "a wrong XSRF token": {"X-XSRFToken": "2|00000000|00000000000000000000000000000000|0"},
    "another origin": {"Origin": "http://evil.example"},
    "an origin that begins like ours": {"Origin": "http://127.0.0.1.evil.example"},
    "no origin by name": {"Origin": "null"},
    "another page": {"Referer": "http://evil.example/page"},
    "a request that was not to be read": {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Site": "none"},
}


#: What a page of another site can send only by its reader's browser, whatever it would do.
UNSAFE = [key for key in ROWS if key[1] not in {"GET", "HEAD"}]


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("key", UNSAFE)
def test_a_page_of_another_site_changes_nothing_with_a_browsers_cookies(
    live: Client, visitor: Visitor, key: tuple[str, str]
) -> None:
    for headers in choose(f"{key}", FOREIGN.values(), 2):
        answer = send_request(live, key, {**visitor.cookie, **headers}, token="")
        assert answer.status in {403, 404}, answer.body
        assert_refused(answer, key, answer.status, answer.json.get("reason", ""))


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("key", [key for key in ROWS if key not in UNSAFE])
def test_a_page_of_another_site_reads_nothing_with_a_browsers_cookies(
    live: Client, visitor: Visitor, key: tuple[str, str]
) -> None:
    for kind, headers in choose(f"{key}", FOREIGN.items(), 3):
        answer = send_request(live, key, {**visitor.cookie, **headers}, token="")
        # As in all of Jupyter: a GET without an Origin is answered, and browsers let only pages of
        # this origin read the answer.
        assert not [name for name in answer.headers if name.startswith("Access-Control")]
        if "Origin" in headers:
            assert answer.status == 404, kind
            assert b"alpha" not in answer.body


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("key", ROWS)
def test_another_origin_changes_nothing_even_with_the_xsrf_token(
    live: Client, visitor: Visitor, key: tuple[str, str]
) -> None:
    headers = {**visitor.cookie, "X-XSRFToken": visitor.xsrf, "Origin": "http://evil.example"}
    answer = send_request(live, key, headers, token="")
    # Jupyter Server answers 404, and MCP demands 403.
    status, reason = (403, "forbidden") if key == MCP else (404, "invalid_request")
    assert_refused(answer, key, status, reason)


@pytest.mark.usefixtures("notebook")
@pytest.mark.parametrize("key", [key for key in UNSAFE if ROWS[key].body is not None])
@pytest.mark.threat("S14")
def test_a_form_of_another_site_is_not_accepted_as_json(
    live: Client, visitor: Visitor, key: tuple[str, str]
) -> None:
    own = {**visitor.cookie, "X-XSRFToken": visitor.xsrf, "Origin": visitor.own_origin}
    for content_type in ("text/plain", "application/x-www-form-urlencoded"):
        answer = send_request(live, key, {**own, "Content-Type": content_type}, token="")
        assert answer.status == 415, answer.body


def test_jupyter_server_finds_no_unauthenticated_route_of_the_extension(
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
def test_an_address_without_a_route_is_answered_with_404_in_json(
    live: Client, verb: str, target: str
) -> None:
    get_error(live.request(verb, target, b"" if verb != "GET" else None), 404, "invalid_request")


def test_replies_cannot_be_rendered_as_pages(live: Client) -> None:
    headers = live.request("GET", "nbedit").headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
