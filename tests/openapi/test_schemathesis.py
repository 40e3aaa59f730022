"""What Schemathesis finds between the document and the server: nothing.

Requests are generated from the document, right and wrong ones, and sent to a real server. Every
case begins with the same notebooks, so that it can be sent again alone.
"""

import collections
import importlib.util
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

if importlib.util.find_spec("schemathesis") is None and sys.version_info < (3, 11):
    pytest.skip("Schemathesis needs Python 3.11", allow_module_level=True)

import schemathesis
from hypothesis import assume
from schemathesis.core.parameters import ParameterLocation

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.openapi import build_document
from tests.handlers.error_checks import OF_TYPES, assert_no_local_names
from tests.support import samples
from tests.support.http import Client
from tests.support.sampling import is_nightly

Case = schemathesis.Case[Any]

#: How many are generated for each operation, and the least number of all that are sent. At night
#: those at the bounds come on top.
EXAMPLES, CASES = (625, 20_000) if is_nightly() else (3, 60)
DOCUMENT = json.loads(json.dumps(build_document(default_handlers, base_url="/")))
OPERATIONS = sum(len(verbs) for verbs in DOCUMENT["paths"].values())

NOTEBOOKS = ("a.ipynb", "folder/b c.ipynb", "ü.ipynb")
NAMES = (*NOTEBOOKS, "notes.md")
NOTES = b"# Title\n\n- x is 1\n- y is 2\n"
#: What most cases are to meet, by what names it: in a path, or in a body.
TARGETS: Mapping[str, Sequence[str]] = {
    "path": NOTEBOOKS,
    "file": NAMES,
    **dict.fromkeys(("cell", "cell_id", "after", "before"), ("alpha", "beta", "gamma", "cell-1")),
    "section": ("Title", "# Title"),
    **dict.fromkeys(("query", "old", "old_string", "match", "entry_match"), ("x", "is")),
}
AIMED = 0.9
INTEGER = re.compile(r"\s*[+-]?\d")
#: In characters; Tornado takes 64 KiB of headers.
MAX_QUERY_LENGTH = 32_768

# What a right request may meet in a notebook it was not made for. 400 is looked into below.
MAY_MEET = ["2xx", "304", "400", "403", "404", "409", "410", "412", "422", "428"]
REFUSED = ["400", "403", "404", "405", "409", "410", "412", "415", "422", "428"]

SCHEMA = schemathesis.openapi.from_dict(
    DOCUMENT,
    config=schemathesis.Config.from_dict(
        {
            "generation": {"mode": "all", "max-examples": EXAMPLES},
            "phases": {"coverage": {"enabled": is_nightly()}},
            "checks": {
                "positive_data_acceptance": {"expected-statuses": MAY_MEET},
                "negative_data_rejection": {"expected-statuses": REFUSED},
            },
        }
    ),
)


@pytest.fixture(scope="module")
def sent_counts() -> Iterator[collections.Counter[str]]:
    """Count what is sent; if all operations were tested, check that it was enough."""
    counted: collections.Counter[str] = collections.Counter()
    yield counted
    print(f"\nSchemathesis: {sum(counted.values())} cases of {len(counted)} operations")
    if len(counted) == OPERATIONS:
        assert sum(counted.values()) >= CASES


@SCHEMA.parametrize()
def test_the_server_does_what_the_document_says(
    case: Case, live: Client, sent_counts: collections.Counter[str]
) -> None:
    # A list of nothing is wrong for most parameters, but is not sent at all, and so is right.
    assume(all(value not in ([], {}, None) for value in (case.query or {}).values()))
    # Tornado closes the connection for a longer first line of a request, without an answer.
    assume(len(quote(repr(case.query))) < MAX_QUERY_LENGTH)
    assume(not has_lenient_values(case))
    lay_out(live.root)
    aim(case, live.root)
    sent_counts[case.operation.label] += 1
    try:
        response = case.call_and_validate(
            base_url=f"http://127.0.0.1:{live.port}",
            headers={"Authorization": f"token {live.token}"},
        )
    finally:
        if case.operation.label == "PUT /nbedit/mode":
            live.reset_modes(*NOTEBOOKS)
    # Paths that the request named may come back.
    assert_no_local_names(response.content.replace(str(live.root).encode(), b""), live.root)
    if case.meta and case.meta.generation.mode.is_positive and response.status_code == 400:
        # A right request may be wrong for this notebook, but never in its types.
        assert not OF_TYPES.search(response.text), (case.body, response.text)


def has_lenient_values(case: Case) -> bool:
    """Return whether a wrong body of a tool has values that tools take nevertheless.

    They take null for an optional field and a text for an integer, because models send them.
    """
    if "/nbedit/tools/" not in case.operation.label or right_in(case, ParameterLocation.BODY):
        return False
    values = list(case.body.values()) if isinstance(case.body, dict) else []
    texts = [value for value in values if isinstance(value, str)]
    return None in values or any(map(INTEGER.match, texts))


def lay_out(root: Path) -> None:
    """Put every file back as it was, and take away what is new."""
    kept = {root / "notes.md": NOTES} | {root / name: samples.three_cells() for name in NOTEBOOKS}
    for path in root.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()
    for path, content in kept.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def aim(case: Case, root: Path) -> None:
    """Let most cases meet what is there."""
    seed = repr((case.path_parameters, case.query, case.body))
    chance = random.Random(seed)  # noqa: S311 -- the same case is to be aimed alike
    targets = {
        **TARGETS,
        **dict.fromkeys(("notebook_path", "file_path"), tuple(f"{root}/{f}" for f in NAMES)),
    }
    if case.path_parameters and right_in(case, ParameterLocation.PATH):
        case.path_parameters = replace_names(case.path_parameters, targets, chance)
    if right_in(case, ParameterLocation.BODY):
        # JSON Schema counts 1.0 among the integers. That we do not, the document says in words.
        case.body = json.loads(json.dumps(case.body), parse_float=whole)
        case.body = replace_names(case.body, targets, chance)


def whole(number: str) -> float:
    """Read a number, without a decimal point if it can be."""
    value = float(number)
    return int(value) if value.is_integer() else value


def right_in(case: Case, location: ParameterLocation) -> bool:
    """Return whether a part of the case is valid by the document."""
    found = case.meta.components.get(location) if case.meta else None
    return found is not None and found.mode.is_positive


def replace_names(value: Any, targets: Mapping[str, Sequence[str]], chance: random.Random) -> Any:
    """Put what is there in the place of most texts that name something."""
    if isinstance(value, list):
        return [replace_names(item, targets, chance) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: chance.choice(targets[name])
        if isinstance(item, str) and name in targets and chance.random() < AIMED
        else replace_names(item, targets, chance)
        for name, item in value.items()
    }
