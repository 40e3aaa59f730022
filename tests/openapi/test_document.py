"""The OpenAPI document: complete, well-formed, and true wherever the server is mounted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_server.base.handlers import APIHandler
from tornado.web import RequestHandler

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.about import NothingHandler
from jupyter_nbedit.handlers.contract import contract_of
from jupyter_nbedit.handlers.openapi import document
from tests.support.http import Client, Local

DOCUMENT = document(default_handlers, base_url="/")


def all_operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, verbs in DOCUMENT["paths"].items():
        for verb, operation in verbs.items():
            yield f"{verb.upper()} {path}", operation


def references(value: Any) -> Iterator[str]:
    """Find all references in a JSON value."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_every_verb_of_every_route_has_a_contract() -> None:
    for pattern, handler in default_handlers:
        for verb in RequestHandler.SUPPORTED_METHODS:
            method = getattr(handler, verb.lower())
            own = method not in {
                RequestHandler._unimplemented_method,
                getattr(APIHandler, verb.lower()),
            }
            if own and handler is not NothingHandler:
                assert contract_of(method) is not None, (pattern, verb)


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
            # What is a WebSocket's says so to a plain request.
            assert found.status == (200 if "200" in verbs["get"]["responses"] else 400)


def test_every_reference_leads_somewhere() -> None:
    for reference in references(DOCUMENT):
        place: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]


def test_every_operation_has_an_id_of_its_own_and_says_what_it_does() -> None:
    ids = [operation["operationId"] for _, operation in all_operations()]
    assert len(set(ids)) == len(ids)
    for name, operation in all_operations():
        assert operation["summary"], name
        assert operation["description"], name
        for parameter in operation["parameters"]:
            assert parameter.get("description"), (name, parameter["name"])


def test_every_status_of_every_operation_has_an_example() -> None:
    missing = [
        f"{name}: {status}"
        for name, operation in all_operations()
        for status, response in operation["responses"].items()
        for content in response.get("content", {}).values()
        if not content["examples"]
    ]
    assert missing == []


def test_every_reason_that_an_operation_may_give_has_an_example() -> None:
    for name, operation in all_operations():
        for status, response in operation["responses"].items():
            content = response.get("content", {}).get("application/json", {})
            for form in content.get("schema", {}).get("allOf", []):
                for reason in form.get("properties", {}).get("reason", {}).get("enum", []):
                    shown = [
                        DOCUMENT["components"]["examples"][example]["value"]["reason"]
                        for example in content["examples"]
                    ]
                    assert reason in shown, (name, status, reason)
