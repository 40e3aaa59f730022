"""Fields with values of every kind: the server accepts nothing that the schema does not allow.

The right requests are those of the table of operations and a few of other routes. What is refused
changes no byte of any file. At night Schemathesis sends what it makes of the schemas, too.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema  # type: ignore[import-untyped] # its types are a package of their own
import pytest

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.openapi import build_document
from tests.handlers.error_checks import OF_TYPES, get_error, no_changes
from tests.handlers.operation_table import CELLS, ROWS, SECTION_ROWS, SECTIONS, op
from tests.support import samples
from tests.support.http import JSON, Answer, Client
from tests.support.sampling import choose

DOCUMENT = build_document(default_handlers, base_url="/")
NOTEBOOK = "nbedit/notebooks/a.ipynb"
TEXT = samples.notebook(*CELLS)

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Form:
    """A right request, and the notebook that it is right for."""

    verb: str
    target: str
    schema: str
    body: dict[str, Any]
    text: bytes = TEXT

    def is_legal(self, body: Any) -> bool:
        """Return whether the published schema allows a body."""
        reference = {"$ref": f"#/components/schemas/{self.schema}"}
        schema = {**reference, "components": DOCUMENT["components"]}
        is_valid: bool = jsonschema.Draft202012Validator(schema).is_valid(body)
        return is_valid


def build_edit(text: bytes, *operations: dict[str, Any], **fields: Any) -> Form:
    return Form("PATCH", NOTEBOOK, "EditBody", {"operations": operations, **fields}, text)


_CELL = {"source": "x", "cell_type": "code", "id": "new", "metadata": {}}
_NOTE = {"dry_run": False, "client": "a test", "message": "why"}
_VERSIONED = {**_NOTE, "hash": samples.compute_hash(TEXT.decode())}
_GUARD = {"source": "as is"}
FORMS: dict[str, Form] = {
    **{
        name: build_edit(samples.notebook(*cells), *operations)
        for cells, rows in ((CELLS, ROWS), (SECTIONS, SECTION_ROWS))
        for name, (operations, _) in rows.items()
    },
    "edit": build_edit(TEXT, op("delete", cells=["raw", 1]), **_VERSIONED),
    "insert before": build_edit(TEXT, op("insert", **_CELL, before="raw")),
    "guard": build_edit(TEXT, op("replace", cell="raw", source="", expect=_GUARD)),
    "guard by hash": build_edit(
        TEXT, op("delete", cell="raw", expect={"source_hash": samples.compute_hash("as is")})
    ),
    "create": Form(
        "PUT",
        "nbedit/notebooks/new.ipynb",
        "CreateBody",
        {"cells": [_CELL], "language": "python", "kernelspec": "python3", **_NOTE},
    ),
    **{
        f"insert {name}": Form(
            "POST", f"{NOTEBOOK}/cells", "InsertBody", {**_CELL, name: place, **_VERSIONED}
        )
        for name, place in {"at": "end", "index": 0, "after": "raw", "before": 1}.items()
    },
    "change": Form(
        "PATCH",
        f"{NOTEBOOK}/cells/raw",
        "ReplaceBody",
        {"source": "y", "cell_type": "code", "metadata": {}, "expect": _GUARD, **_VERSIONED},
    ),
    "search": Form(
        "POST",
        "nbedit/search",
        "SearchRequest",
        {"query": "x", "ignore_case": True, "path": "", "recursive": True, "glob": "*.ipynb"}
        | {"scope": ["sources"], "cell_type": "code", "limit": 5, "max_files": 5},
    ),
}
#: Every type of JSON, and what is strange in its type.
VALUES: Mapping[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "fraction": 0.5,
    "30 digits": 10**30,
    "a list": [],
    "a list of null": [None],
    "a list of texts": ["raw"],
    "an object": {},
    "an object of trust": {"raw": [{"trusted": True}]},
    "empty": "",
    "some text": "strange",
    "huge": "x" * 1_000_000,
    "NUL and control characters": "\0\x01\x07\x1b[31m\x7f\x85",
    "a lone surrogate": "a\udfffb",
}


def find_places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Yield the places of the fields in a body; metadata are free and have none."""
    members: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for name, inner in members:
        yield (*at, name)
        if isinstance(inner, dict | list | tuple) and name not in {"metadata", "patch"}:
            yield from find_places(inner, (*at, name))


def find_new_places() -> dict[str, list[Place]]:
    """Return each field of each operation and of each body once, by the first form that has it."""
    seen, found = set(), dict[str, list[Place]]()
    for name, form in FORMS.items():
        for place in find_places(form.body):
            # What an item of a list is does not depend on which one it is, but for operations.
            operation = find_object(form.body, place[:2]) if place[0] == "operations" else {}
            kind = operation.get("op") if isinstance(operation, dict) else None
            names = tuple("[]" if isinstance(step, int) else step for step in place)
            if (form.schema, kind, names) not in seen:
                seen.add((form.schema, kind, names))
                found.setdefault(name, []).append(place)
    return found


def find_object(body: Any, place: Sequence[str | int]) -> Any:
    for step in place:
        body = body[step]
    return body


PLACES = find_new_places()


def lay_out(live: Client, form: Form) -> None:
    (live.root / "new.ipynb").unlink(missing_ok=True)
    path = live.root / "a.ipynb"
    if not path.exists() or path.read_bytes() != form.text:
        path.write_bytes(form.text)


def send(live: Client, form: Form, body: Any) -> Answer:
    return live.request(form.verb, form.target, json.dumps(body).encode(), JSON)


def assert_agreed(live: Client, form: Form, body: Any, *, is_legal: bool) -> None:
    """Send a body, and check that the server thinks of it as the schema does."""
    lay_out(live, form)
    state = {path: path.read_bytes() for path in live.root.iterdir()}
    answer = send(live, form, body)
    if answer.status < 400:
        assert is_legal, (body, answer.body)
        return
    assert {path: path.read_bytes() for path in live.root.iterdir()} == state
    get_error(answer, answer.status, answer.json["reason"])
    if not is_legal:
        assert answer.status == 400, (body, answer.body)
        assert answer.json["reason"] in {"invalid_request", "invalid_operation"}
    else:
        # It may not fit this notebook, or break a rule that the document has in words only.
        assert not OF_TYPES.search(answer.json["message"]), (body, answer.json)


@pytest.mark.parametrize("name", FORMS)
def test_the_requests_are_valid_before_a_field_is_changed(live: Client, name: str) -> None:
    form = FORMS[name]
    lay_out(live, form)
    assert form.is_legal(json.loads(json.dumps(form.body)))
    assert send(live, form, form.body).status in {200, 201}


@pytest.mark.parametrize("name", PLACES)
def test_a_changed_or_removed_field_of_a_wrong_type_is_refused_and_no_other(
    live: Client, name: str
) -> None:
    form = FORMS[name]
    for place in PLACES[name]:
        for kind in choose(f"{name} {place}", VALUES, 5):
            body = json.loads(json.dumps(form.body))
            find_object(body, place[:-1])[place[-1]] = VALUES[kind]
            # A schema cannot exclude a text that is invalid in UTF-8; JSON escapes can write it.
            is_legal = kind != "a lone surrogate" and form.is_legal(body)
            assert_agreed(live, form, body, is_legal=is_legal)
        body = json.loads(json.dumps(form.body))
        del find_object(body, place[:-1])[place[-1]]
        assert_agreed(live, form, body, is_legal=form.is_legal(body))


@pytest.mark.parametrize("name", PLACES)
def test_an_unknown_field_is_refused_in_every_object(live: Client, name: str) -> None:
    form = FORMS[name]
    lay_out(live, form)
    objects = {place[:-1] for place in PLACES[name] if isinstance(place[-1], str)}
    with no_changes(live.root):
        for place in objects:
            for unknown in choose(f"{name} {place}", ("force", "", "\0", "__proto__", "Cell"), 2):
                body = copy.deepcopy(form.body)
                find_object(body, place)[unknown] = 1
                answer = send(live, form, body)
                get_error(answer, 400, answer.json["reason"])
