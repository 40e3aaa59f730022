"""The OpenAPI document: complete, well-formed, and true wherever the server is mounted."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from jupyter_server.base.handlers import APIHandler
from tornado.web import RequestHandler

from jupyter_nbedit.errors import FileNotFound
from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.about import NotFoundHandler
from jupyter_nbedit.handlers.errors import INTERNAL_ERROR, ErrorBody, build_error_body
from jupyter_nbedit.handlers.openapi import build_document
from tests.openapi.examples import Example, load_examples
from tests.openapi.page import PAGE, build_anchor, build_page, find_reasons
from tests.openapi.playing import ARRANGEMENTS, Stage
from tests.support.http import Client, Local

DOCUMENT = build_document(default_handlers, base_url="/")
# Sorted, so that few workers of the tests need both servers.
PLAYED = sorted(
    (exchange for exchange in load_examples() if not exchange.constructed),
    key=lambda exchange: exchange.given or "",
)


def find_references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from find_references(inner)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with closing(Stage(tmp_path_factory.mktemp("stage"))) as servers:
        yield servers


@pytest.mark.parametrize("exchange", PLAYED, ids=[exchange.name for exchange in PLAYED])
def test_an_example_is_answered_as_shown(stage: Stage, exchange: Example) -> None:
    assert stage.play(exchange) == (exchange.status, exchange.answer)


def test_examples_that_no_server_gives_have_the_form_of_a_refusal() -> None:
    constructed = {
        exchange.reason: exchange for exchange in load_examples() if exchange.constructed
    }
    assert set(constructed) == {INTERNAL_ERROR, FileNotFound.reason}
    for reason, failure in ((INTERNAL_ERROR, None), (FileNotFound.reason, FileNotFound())):
        exchange = constructed[reason]
        assert ErrorBody(**exchange.answer) == build_error_body(failure, exchange.status)


def test_examples_have_unique_names_and_every_arrangement_is_used() -> None:
    names = [exchange.name for exchange in load_examples()]
    assert len(set(names)) == len(names)
    assert {exchange.given for exchange in load_examples()} - {None} == set(ARRANGEMENTS)


def test_every_verb_of_every_route_has_a_contract() -> None:
    for pattern, handler in default_handlers:
        for verb in RequestHandler.SUPPORTED_METHODS:
            method = getattr(handler, verb.lower())
            inherited = {RequestHandler._unimplemented_method, getattr(APIHandler, verb.lower())}
            if method not in inherited and handler is not NotFoundHandler:
                assert hasattr(method, "spec"), (pattern, verb)


def test_the_server_serves_the_document_of_its_routes(live: Client) -> None:
    answer = live.request("GET", "nbedit/openapi.json")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json == json.loads(json.dumps(DOCUMENT))
    assert answer.json["openapi"].startswith("3.1.")


@pytest.mark.parametrize("jp_base_url", ["/hub/user/asa/"])
async def test_the_document_names_the_base_url_it_is_served_under(
    local: Local, jp_base_url: str
) -> None:
    answer = await local.request("GET", "nbedit", "openapi.json")
    (server,) = answer.json["servers"]
    assert server["url"] == jp_base_url.rstrip("/")
    for path, verbs in answer.json["paths"].items():
        if "{" not in path and "get" in verbs:
            found = await local.request("GET", *path.strip("/").split("/"))
            # A WebSocket refuses a plain request.
            assert found.status == (200 if "200" in verbs["get"]["responses"] else 400)


def test_every_reference_leads_somewhere() -> None:
    for reference in find_references(DOCUMENT):
        place: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]


def test_every_operation_has_a_unique_id_and_descriptions() -> None:
    operations = [one for verbs in DOCUMENT["paths"].values() for one in verbs.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        for described in (operation, *operation["parameters"]):
            assert described["description"], (operation["operationId"], described)
        assert operation["summary"]


def test_every_status_and_reason_of_every_operation_has_an_example() -> None:
    shown = {(example.request, example.status) for example in load_examples()}
    reasons = {(example.status, example.reason) for example in load_examples()}
    for path, verbs in DOCUMENT["paths"].items():
        for verb, operation in verbs.items():
            for status, response in operation["responses"].items():
                if int(status) < 400:
                    no_body = "content" not in response
                    assert no_body or (f"{verb.upper()} {path}", int(status)) in shown
                for reason in find_reasons(response):
                    assert (int(status), reason) in reasons


def test_the_page_is_made_from_the_document_and_every_link_leads_somewhere() -> None:
    text = PAGE.read_text()
    assert text == build_page(DOCUMENT), "python tests/openapi writes it anew"
    headings = {build_anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    for path, verbs in DOCUMENT["paths"].items():
        for verb in verbs:
            assert f"\n`{verb.upper()} {path}`\n" in text
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= headings
    assert {build_anchor(name) for name in DOCUMENT["components"]["schemas"]} <= headings
