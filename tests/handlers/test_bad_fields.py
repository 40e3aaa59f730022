"""Every field of every request, with every kind of value that it may not have.

The fields are found in the structs. Which values are legal, the published schema says; the server
must agree with it: what is legal there is never refused for its form, what is not is refused with a
sentence, and not a byte of any file changes.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args
from urllib.parse import quote

import jsonschema  # type: ignore[import-untyped] # its types are a package of their own
import msgspec
import pytest

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.cells import DeleteQuery, InsertBody, ReplaceBody
from jupyter_nbedit.handlers.notebooks import CreateBody, EditBody
from jupyter_nbedit.handlers.openapi import document
from jupyter_nbedit.handlers.reading import ReadQuery
from jupyter_nbedit.notebook.operations import Expect, Operation, TextEdit
from jupyter_nbedit.queries import SearchRequest
from tests.handlers.refused import details, untouched
from tests.support import samples
from tests.support.http import JSON, Answer, Client
from tests.support.sizes import is_nightly, seeded_random

DOCUMENT = document(default_handlers, base_url="/")
PATH = "a.ipynb"
TEXT = samples.notebook(
    samples.code("x = 1\nx", "alpha", execution_count=3, outputs=[samples.HTML_OUTPUT]),
    samples.markdown("# Title\n\n- one\n- two", "beta"),
    samples.raw("as is", "gamma"),
)
HASH = hashlib.sha256(TEXT).hexdigest()
ALPHA = "x = 1\nx"
HUGE = 1_000_000

Place = tuple[str | int, ...]

GUARD: dict[str, Any] = {"source": ALPHA}
INSERT: dict[str, Any] = {"source": "x", "cell_type": "code", "id": "new", "metadata": {}}
EDITS = [{"old": "1", "new": "2", "all": False}]

#: For every operation requests that are right, in which each of its fields stands at least once.
OPERATIONS: Mapping[str, Sequence[dict[str, Any]]] = {
    "replace": [
        {"cell": "alpha", "source": "y", "cell_type": "raw", "outputs": "clear", "expect": GUARD},
        {
            "cell": "alpha",
            "source": "y",
            "expect": {"source_hash": hashlib.sha256(ALPHA.encode()).hexdigest()},
        },
    ],
    "replace_text": [
        {"cell": "alpha", "old": "1", "new": "2", "all": True, "outputs": "keep", "expect": GUARD},
        {"cell": "alpha", "edits": EDITS},
    ],
    "insert": [
        {**INSERT, "at": "end"},
        {**INSERT, "index": 1},
        {**INSERT, "after": "alpha"},
        {**INSERT, "before": "alpha"},
    ],
    "delete": [{"cell": "alpha", "expect": GUARD}, {"cells": ["alpha", 2]}],
    "move": [
        {"cell": "alpha", "at": "end", "expect": GUARD},
        {"cells": ["gamma", 1], "index": 0},
        {"cell": "alpha", "after": "gamma"},
        {"cell": "gamma", "before": "alpha"},
    ],
    "split": [{"cell": "alpha", "at_line": 2, "expect": GUARD}],
    "merge": [{"cells": ["new", "newer"]}],
    "clear_outputs": [{"cell": "alpha", "expect": GUARD}, {"cells": ["alpha"]}, {"all": True}],
    "set_metadata": [{"cell": "alpha", "patch": {"tags": ["t"]}, "expect": GUARD}],
    "append_to_section": [{"section": "Title", "source": "- y", "cell_type": "markdown"}],
    "replace_section": [{"section": "Title", "source": "- y", "cell_type": "markdown"}],
    "remove_entry": [{"section": "Title", "match": "one"}],
}
#: What an operation needs before it, in the same batch.
BEFORE: Mapping[str, Sequence[dict[str, Any]]] = {
    "merge": [
        {"op": "insert", "source": "1", "cell_type": "code", "id": "new", "at": "end"},
        {"op": "insert", "source": "2", "cell_type": "code", "id": "newer", "after": "new"},
    ],
}
NOTE = {"dry_run": False, "client": "a test", "message": "why"}


class Form(msgspec.Struct, frozen=True):
    """A right request: where it goes, and the body it has."""

    name: str
    verb: str
    target: str
    schema: str
    body: dict[str, Any]
    at: Place = ()


def forms() -> Iterator[Form]:
    notebook = f"nbedit/notebooks/{PATH}"
    for op, bodies in OPERATIONS.items():
        for number, fields in enumerate(bodies):
            batch = [*BEFORE.get(op, ()), {"op": op, **fields}]
            yield Form(
                f"{op} {number}",
                "PATCH",
                notebook,
                "EditBody",
                {"operations": batch},
                ("operations", len(batch) - 1),
            )
    edit = {"operations": [{"op": "delete", "cell": 0}], "hash": HASH, **NOTE}
    yield Form("edit", "PATCH", notebook, "EditBody", edit)
    create = {"cells": [INSERT], "language": "python", "kernelspec": "python3", **NOTE}
    yield Form("create", "PUT", "nbedit/notebooks/new.ipynb", "CreateBody", create)
    for position in ({"at": "end"}, {"index": 0}, {"after": "alpha"}, {"before": 1}):
        insert = {**INSERT, **position, **NOTE, "hash": HASH}
        (name,) = position
        yield Form(f"insert {name}", "POST", f"{notebook}/cells", "InsertBody", insert)
    replace = {**OPERATIONS["replace"][0], "metadata": {}, **NOTE, "hash": HASH}
    del replace["cell"]
    yield Form("change", "PATCH", f"{notebook}/cells/alpha", "ReplaceBody", replace)
    search = {
        "query": "x",
        "ignore_case": True,
        "path": "",
        "recursive": True,
        "glob": "*.ipynb",
        "scope": ["sources"],
        "cell_type": "code",
        "limit": 5,
        "max_files": 5,
    }
    yield Form("search", "POST", "nbedit/search", "SearchRequest", search)
    yield Form("search regex", "POST", "nbedit/search", "SearchRequest", {"regex": "x.*"})
    yield Form("search on", "POST", "nbedit/search", "SearchRequest", {"query": "x", "cursor": "?"})


FORMS = {form.name: form for form in forms()}


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Find the fields in a body; metadata and what it is to become are free and have none."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*at, name)
            if name not in {"metadata", "patch"}:
                yield from places(inner, (*at, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*at, index)
            yield from places(inner, (*at, index))


def at_place(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def fields() -> Iterator[tuple[str, Place]]:
    """List each field of each operation and of each body once, in the first form that has it."""
    seen = set()
    for name, form in FORMS.items():
        for place in ((), *places(at_place(form.body, form.at))):
            # What an item of a list is does not depend on which one it is.
            names = tuple("[]" if isinstance(step, int) else step for step in place)
            is_new = (form.schema, name.split()[0] if form.at else "", names) not in seen
            if is_new and (place or form.at):
                seen.add((form.schema, name.split()[0] if form.at else "", names))
                yield name, (*form.at, *place)


FIELDS = list(fields())
IDS = [f"{name} {'.'.join(map(str, place))}" for name, place in FIELDS]

#: Every type of JSON, and what is strange in its type.
VALUES: Mapping[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -1,
    "fraction": 0.5,
    "2 to the 53": 2**53,
    "30 digits": 10**30,
    "a list": [],
    "a list of null": [None],
    "a list of texts": ["alpha"],
    "an object": {},
    "an object of something": {"alpha": 1},
    "an object of trust": {"alpha": [{"trusted": True}]},
    "empty": "",
    "a space": " ",
    "some text": "strange",
    "huge": "x" * HUGE,
    "NUL": "\0",
    "NUL in a text": "a\0b",
    "control characters": "\x01\x07\x1b[31m\x7f\x85",
    "a lone surrogate": "\ud800",
    "a lone surrogate in a text": "a\udfffb",
}
LONE = {"a lone surrogate", "a lone surrogate in a text"}


def validator(schema: str) -> jsonschema.Draft202012Validator:
    reference = {"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]}
    return jsonschema.Draft202012Validator(reference)


def changed(body: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(body)
    at_place(made, place[:-1])[place[-1]] = value
    return made


def without(body: dict[str, Any], place: Place) -> dict[str, Any]:
    made = copy.deepcopy(body)
    del at_place(made, place[:-1])[place[-1]]
    return made


@pytest.fixture(autouse=True)
def _notebook(live: Client) -> Iterator[None]:
    for path in live.root.iterdir():
        if path.is_file():
            path.unlink()
    yield
    (live.root / PATH).unlink(missing_ok=True)


def lay_out(live: Client) -> None:
    (live.root / "new.ipynb").unlink(missing_ok=True)
    path = live.root / PATH
    if not path.exists() or path.read_bytes() != TEXT:
        path.write_bytes(TEXT)


def send(live: Client, form: Form, body: Any) -> Answer:
    return live.request(form.verb, form.target, json.dumps(body).encode(), JSON)


def assert_form_refused(live: Client, form: Form, body: Any) -> None:
    with untouched(live.root):
        answer = send(live, form, body)
        assert answer.status == 400, (body, answer.body)
        details(answer, 400, answer.json["reason"])
        assert answer.json["reason"] in {"invalid_request", "invalid_operation"}


def assert_agreed(live: Client, form: Form, body: Any, *, legal: bool) -> None:
    """Send a body, and see that the server thinks of it as the schema does."""
    lay_out(live)
    if not legal:
        assert_form_refused(live, form, body)
        return
    before = (live.root / PATH).read_bytes()
    answer = send(live, form, body)
    if answer.status < 400:
        json.loads((live.root / PATH).read_bytes())
        return
    # It is of the right form, and yet does not fit this notebook.
    facts = details(answer, answer.status, answer.json["reason"])
    if "regex" not in body and "cursor" not in body:
        # What is refused for its form says no more than which operation it is.
        assert answer.status != 400 or set(facts) - {"operation"}, (body, answer.json)
    documented = DOCUMENT["paths"][_TEMPLATES[form.schema]][form.verb.lower()]["responses"]
    assert str(answer.status) in documented
    assert (live.root / PATH).read_bytes() == before
    assert not (live.root / "new.ipynb").exists()


_TEMPLATES = {
    "EditBody": "/nbedit/notebooks/{path}",
    "CreateBody": "/nbedit/notebooks/{path}",
    "InsertBody": "/nbedit/notebooks/{path}/cells",
    "ReplaceBody": "/nbedit/notebooks/{path}/cells/{cell}",
    "SearchRequest": "/nbedit/search",
}


@pytest.mark.parametrize("name", FORMS)
def test_the_requests_that_are_to_be_spoilt_are_right(live: Client, name: str) -> None:
    form = FORMS[name]
    lay_out(live)
    assert validator(form.schema).is_valid(form.body)
    answer = send(live, form, form.body)
    # A cursor cannot be made up, only its type be right.
    assert answer.status in ({400} if "cursor" in form.body else {200, 201}), answer.body


@pytest.mark.parametrize(("name", "place"), FIELDS, ids=IDS)
def test_a_value_or_none_is_taken_or_refused_as_the_schema_says(
    live: Client, name: str, place: Place
) -> None:
    form = FORMS[name]
    valid = validator(form.schema).is_valid
    kinds = list(VALUES)
    if not is_nightly():
        kinds = seeded_random(f"{name} {place}").sample(kinds, len(kinds) // 3)
    for kind in kinds:
        value = VALUES[kind]
        body = changed(form.body, place, value)
        # A schema has no word for a text that UTF-8 cannot say; JSON can, as an escape.
        assert_agreed(live, form, body, legal=kind not in LONE and valid(body))
    body = without(form.body, place)
    assert_agreed(live, form, body, legal=valid(body))


@pytest.mark.parametrize("name", FORMS)
def test_an_unknown_field_is_refused_in_every_object(live: Client, name: str) -> None:
    form = FORMS[name]
    lay_out(live)
    for place in ((), *(place for place in places(form.body))):
        inner = at_place(form.body, place)
        if isinstance(inner, dict) and place[-1:] not in {("metadata",), ("patch",)}:
            for unknown in ("force", "", "op2", "\0", "__proto__", "Cell"):
                assert_form_refused(live, form, changed_at(form.body, place, unknown))


def changed_at(body: dict[str, Any], place: Place, name: str) -> dict[str, Any]:
    made = copy.deepcopy(body)
    at_place(made, place)[name] = 1
    return made


def test_no_field_of_any_struct_is_left_out() -> None:
    operations = {str(kind.__struct_config__.tag): kind for kind in get_args(Operation)}
    assert set(OPERATIONS) == set(operations)
    for op, kind in operations.items():
        assert {name for body in OPERATIONS[op] for name in body} == set(kind.__struct_fields__)
    bodies: tuple[type[msgspec.Struct], ...] = (
        EditBody,
        CreateBody,
        InsertBody,
        ReplaceBody,
        SearchRequest,
    )
    for body in bodies:
        of_it = [form.body for form in FORMS.values() if form.schema == body.__name__]
        assert {name for given in of_it for name in given} == set(body.__struct_fields__)
    assert set(EDITS[0]) == set(TextEdit.__struct_fields__)
    guards = [body["expect"] for body in OPERATIONS["replace"]]
    assert {name for guard in guards for name in guard} == set(Expect.__struct_fields__)


#: Values of a query that are no values of a type.
NO_NUMBERS = ("", " ", "x", "-1", "0.5", "+1", "0x1", "\0", "\x1b", "9" * 30, "9" * 5000, "null")
NO_CHOICES = ("", " ", "x", "\0", "\x1b", "null", "SOURCE", "x" * 5000)
NO_FLAGS = ("", " ", "x", "yes", "\0", "\x1b", "null", "2")


def query_fields() -> Iterator[tuple[str, str]]:
    for verb, form in (("GET", ReadQuery), ("DELETE", DeleteQuery)):
        for field in msgspec.structs.fields(form):
            yield verb, field.encode_name


@pytest.mark.parametrize(("verb", "name"), list(query_fields()))
def test_a_value_in_a_query_is_taken_or_refused_by_its_type(
    live: Client, verb: str, name: str
) -> None:
    where = "/nbedit/notebooks/{path}" + ("/cells/{cell}" if verb == "DELETE" else "")
    parameters = DOCUMENT["paths"][where][verb.lower()]["parameters"]
    (schema,) = (p["schema"] for p in parameters if p["name"] == name and p["in"] == "query")
    target = f"nbedit/notebooks/{PATH}" + ("/cells/alpha" if verb == "DELETE" else "")
    bad: Sequence[str] = ()
    if schema.get("type") == "integer":
        bad = (*NO_NUMBERS, *(["0"] if schema["minimum"] else []))
    elif schema.get("type") == "boolean":
        bad = NO_FLAGS
    elif "enum" in schema:
        bad = NO_CHOICES
    elif "maxLength" in schema:
        bad = ("x" * (schema["maxLength"] + 1),)
    lay_out(live)
    with untouched(live.root):
        for value in bad:
            answer = live.request(verb, f"{target}?{name}={quote(value)}")
            details(answer, 400, "invalid_request")
        # Not UTF-8, a surrogate, and a name that is almost this one.
        for query in (f"{name}=%FF", f"{name}=%ED%A0%80", f"{name}x=1", f"{name}=1&{name}x="):
            details(live.request(verb, f"{target}?{query}"), 400, "invalid_request")
        if schema.get("type") != "array":
            details(live.request(verb, f"{target}?{name}=1&{name}=1"), 400, "invalid_request")
