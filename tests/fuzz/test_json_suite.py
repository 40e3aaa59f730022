"""JSONTestSuite in six positions: valid JSON is preserved, invalid JSON is refused.

Python's ``json`` says what a file of the suite is: with the constants that it adds where a notebook
has the text already, strictly where a request brings it.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.handlers.error_checks import assert_no_local_names, get_error, no_changes
from tests.notebook import model
from tests.support import corpora, samples
from tests.support.http import Client
from tests.support.sampling import is_nightly, seeded_random

NAME = "suite.ipynb"
EDIT = {"op": "replace", "cell": "beta", "source": "changed"}

_OUTPUT = {"output_type": "display_data", "data": {"application/json": "HERE"}, "metadata": {}}
_AROUND = samples.notebook(
    samples.code("x", "alpha", metadata={"in cell": "HERE 2"}, outputs=[_OUTPUT]),
    samples.markdown("as it was", "beta"),
    samples.markdown("x", "gamma", attachments={"a.json": {"application/json": "HERE 3"}}),
    metadata={"in notebook": "HERE 4"},
)


def _position(mark: bytes) -> Callable[[bytes], bytes]:
    before, after = _AROUND.split(b'"%s"' % mark)
    return lambda value: before + value + after


IN_A_NOTEBOOK: Mapping[str, Callable[[bytes], bytes]] = {
    "output": _position(b"HERE"),
    "cell metadata": _position(b"HERE 2"),
    "attachment": _position(b"HERE 3"),
    "notebook metadata": _position(b"HERE 4"),
}

#: What Python's json takes, and Jupyter with it, though it is no JSON.
NO_JSON_BUT_TAKEN = {
    "n_number_NaN.json",
    "n_number_infinity.json",
    "n_number_minus_infinity.json",
}
#: Deeper than metadata of a request may be.
DEEP = "i_structure_500_nested_arrays.json"


def all_files() -> list[Path]:
    return sorted((corpora.corpus("JSONTestSuite") / "test_parsing").glob("*.json"))


def choose_files(name: str) -> list[Path]:
    """Return a tenth of the suite; at night all of it, and those of the other suites."""
    if not is_nightly():
        return seeded_random(name).sample(all_files(), 32)
    others = (corpora.corpus("JSONTestSuite") / "test_transform").glob("*.json")
    return [*all_files(), *others, *(corpora.corpus("nativejson") / "data").rglob("*.json")]


def is_json(path: Path) -> bool:
    """Return whether a notebook may hold a file's text."""
    try:
        json.loads(path.read_bytes().decode())
    except (ValueError, RecursionError):
        return False
    return True


def is_strict_json(path: Path) -> bool:
    """Return whether all programs read a text alike, so that a request may bring it."""
    try:
        value = json.loads(path.read_bytes().decode(), object_pairs_hook=_refuse_double_names)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return path.name != DEEP


def _refuse_double_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        message = "a name stands twice"
        raise ValueError(message)
    return members


def write_old(live: Client, text: bytes) -> Path:
    """Write the notebook with an old time stamp: a new file may be taken for half written."""
    path = live.root / NAME
    path.write_bytes(text)
    yesterday = time.time() - 86400
    os.utime(path, (yesterday, yesterday))
    return path


def test_pythons_json_agrees_with_the_file_names_of_the_suite() -> None:
    files = all_files()
    assert len(files) == 318
    for path in files:
        if not path.name.startswith("i_"):
            is_taken = path.name.startswith("y_") or path.name in NO_JSON_BUT_TAKEN
            assert is_json(path) == is_taken, path.name


@pytest.mark.parametrize("position", IN_A_NOTEBOOK)
def test_valid_json_in_a_notebook_is_preserved_and_invalid_json_is_refused(
    live: Client, position: str
) -> None:
    for case in choose_files(position):
        text = IN_A_NOTEBOOK[position](case.read_bytes())
        path = write_old(live, text)
        answer = live.patch(NAME, EDIT)
        if is_json(case):
            assert answer.status == 200, (case.name, answer.body)
            assert path.read_bytes() == text.replace(b'"as it was"', b'"changed"'), case.name
        else:
            get_error(answer, 422, "invalid_notebook")
            assert path.read_bytes() == text, case.name


def test_no_file_of_the_suite_is_a_notebook(live: Client) -> None:
    for case in choose_files("whole file"):
        write_old(live, case.read_bytes())
        with no_changes(live.root):
            get_error(live.patch(NAME, EDIT), 422, "invalid_notebook")
            get_error(live.read(NAME), 422, "invalid_notebook")


def test_valid_json_in_a_request_is_accepted_and_invalid_json_is_refused(live: Client) -> None:
    before = samples.three_cells()
    for case in choose_files("request"):
        value = case.read_bytes()
        path = write_old(live, before)
        operation = b'{"op": "set_metadata", "patch": {"new": ' + value + b"}}"
        answer = live.send(NAME, b'{"operations": [' + operation + b"]}")
        if is_strict_json(case):
            assert answer.status == 200, (case.name, answer.body)
            patch = {"new": json.loads(value)}
            expected = model.merge_patch(json.loads(before)["metadata"], patch)
            assert json.loads(path.read_bytes())["metadata"] == expected, case.name
        else:
            assert answer.status == 400, (case.name, answer.status, answer.body)
            assert_no_local_names(answer.body, answer.root)
            assert path.read_bytes() == before, case.name
