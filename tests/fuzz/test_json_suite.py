"""JSONTestSuite in six positions, over HTTP: what is JSON stays as it is, what is not is refused.

Its files say of themselves what they are: ``y_`` is JSON, ``n_`` is not, and of ``i_`` RFC 8259
lets implementations decide, as `DECIDED` does.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.handlers.refused import assert_says_nothing_of_this_machine, details, untouched
from tests.notebook import model
from tests.support import corpora, samples
from tests.support.http import Client
from tests.support.sizes import is_nightly

NIGHTLY = is_nightly()
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
TAKEN = {"n_number_NaN.json", "n_number_infinity.json", "n_number_minus_infinity.json"}

#: JSON that a request may not hold: a name that stands twice, of which each reader takes another.
NOT_IN_REQUESTS = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}

_ANYWHERE, _KEPT, _NOWHERE = (True, True), (True, False), (False, False)
#: Whether it is taken where a file has it already, and where a request would bring it.
DECIDED: Mapping[str, tuple[bool, bool]] = {
    # Numbers that a double can come near to.
    "i_number_double_huge_neg_exp.json": _ANYWHERE,
    "i_number_real_underflow.json": _ANYWHERE,
    "i_number_too_big_neg_int.json": _ANYWHERE,
    "i_number_too_big_pos_int.json": _ANYWHERE,
    "i_number_very_big_negative_int.json": _ANYWHERE,
    # Numbers that would become Infinity, which no JSON can say.
    "i_number_huge_exp.json": _KEPT,
    "i_number_neg_int_huge_exp.json": _KEPT,
    "i_number_pos_double_huge_exp.json": _KEPT,
    "i_number_real_neg_overflow.json": _KEPT,
    "i_number_real_pos_overflow.json": _KEPT,
    # Escapes of half a character, which no UTF-8 can say.
    "i_object_key_lone_2nd_surrogate.json": _KEPT,
    "i_string_1st_surrogate_but_2nd_missing.json": _KEPT,
    "i_string_1st_valid_surrogate_2nd_invalid.json": _KEPT,
    "i_string_incomplete_surrogate_and_escape_valid.json": _KEPT,
    "i_string_incomplete_surrogate_pair.json": _KEPT,
    "i_string_incomplete_surrogates_escape_valid.json": _KEPT,
    "i_string_invalid_lonely_surrogate.json": _KEPT,
    "i_string_invalid_surrogate.json": _KEPT,
    "i_string_inverted_surrogates_U+1D11E.json": _KEPT,
    "i_string_lone_second_surrogate.json": _KEPT,
    # Deeper than metadata may be that Jupyter is to read.
    "i_structure_500_nested_arrays.json": _KEPT,
    # No UTF-8, or a byte order mark where none may be.
    "i_string_UTF-16LE_with_BOM.json": _NOWHERE,
    "i_string_UTF-8_invalid_sequence.json": _NOWHERE,
    "i_string_UTF8_surrogate_U+D800.json": _NOWHERE,
    "i_string_invalid_utf-8.json": _NOWHERE,
    "i_string_iso_latin_1.json": _NOWHERE,
    "i_string_lone_utf8_continuation_byte.json": _NOWHERE,
    "i_string_not_in_unicode_range.json": _NOWHERE,
    "i_string_overlong_sequence_2_bytes.json": _NOWHERE,
    "i_string_overlong_sequence_6_bytes.json": _NOWHERE,
    "i_string_overlong_sequence_6_bytes_null.json": _NOWHERE,
    "i_string_truncated-utf-8.json": _NOWHERE,
    "i_string_utf16BE_no_BOM.json": _NOWHERE,
    "i_string_utf16LE_no_BOM.json": _NOWHERE,
    "i_structure_UTF-8_BOM_empty_object.json": _NOWHERE,
}


def suite() -> list[Path]:
    """The files; by night those of the other suites, too."""
    found = sorted((corpora.corpus("JSONTestSuite") / "test_parsing").glob("*.json"))
    assert len(found) == 318
    if NIGHTLY:
        found += sorted((corpora.corpus("JSONTestSuite") / "test_transform").glob("*.json"))
        found += sorted((corpora.corpus("nativejson") / "data").rglob("*.json"))
    return found


def is_json(path: Path, *, asked: bool) -> bool:
    """Whether a file's text is to be taken: in a notebook or, if asked, in a request."""
    name = path.name
    if name in DECIDED:
        return DECIDED[name][asked]
    if name in TAKEN:
        return not asked
    if name in NOT_IN_REQUESTS and asked:
        return False
    if path.parent.name == "test_parsing":
        return name.startswith("y_")
    try:
        (strictly if asked else json.loads)(path.read_bytes().decode())
    except ValueError:
        return False
    return True


def strictly(text: str) -> None:
    """Raise a ValueError unless all programs read a text alike."""
    value = json.loads(text, object_pairs_hook=_single)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _single(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        message = "a name stands twice"
        raise ValueError(message)
    return found


def put(live: Client, text: bytes) -> Path:
    """Write the notebook, long ago, so that nobody takes it for half written."""
    path = live.root / NAME
    path.write_bytes(text)
    yesterday = time.time() - 86400
    os.utime(path, (yesterday, yesterday))
    return path


@pytest.mark.parametrize("position", IN_A_NOTEBOOK)
def test_in_a_notebook_json_is_kept_byte_for_byte_and_all_else_is_refused(
    live: Client, position: str
) -> None:
    seen: Counter[tuple[str, int]] = Counter()
    for case in suite():
        text = IN_A_NOTEBOOK[position](case.read_bytes())
        path = put(live, text)
        answer = live.patch(NAME, EDIT)
        seen[case.name[:1], answer.status] += 1
        if is_json(case, asked=False):
            assert answer.status == 200, (case.name, answer.body)
            assert path.read_bytes() == text.replace(b'"as it was"', b'"changed"'), case.name
        else:
            details(answer, 422, "invalid_notebook")
            assert path.read_bytes() == text, case.name
    print(dict(seen))


def test_as_the_whole_file_nothing_of_the_suite_is_a_notebook(live: Client) -> None:
    for case in suite():
        put(live, case.read_bytes())
        with untouched(live.root):
            details(live.patch(NAME, EDIT), 422, "invalid_notebook")
            details(live.read(NAME), 422, "invalid_notebook")


def test_in_a_request_json_means_what_it_says_and_all_else_is_refused(live: Client) -> None:
    before = samples.three_cells()
    seen: Counter[tuple[str, int]] = Counter()
    for case in suite():
        value = case.read_bytes()
        path = put(live, before)
        operation = b'{"op": "set_metadata", "patch": {"new": ' + value + b"}}"
        answer = live.send(NAME, b'{"operations": [' + operation + b"]}")
        seen[case.name[:1], answer.status] += 1
        if is_json(case, asked=True):
            assert answer.status == 200, (case.name, answer.body)
            patch = {"new": json.loads(value)}
            expected = model.merge_patch(json.loads(before)["metadata"], patch)
            assert json.loads(path.read_bytes())["metadata"] == expected, case.name
        else:
            assert answer.status == 400, (case.name, answer.status, answer.body)
            assert_says_nothing_of_this_machine(answer.body)
            assert path.read_bytes() == before, case.name
    print(dict(seen))
