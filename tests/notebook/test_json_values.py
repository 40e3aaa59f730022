"""How many values a JSON text has, counted without decoding it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook import json_values
from jupyter_nbedit.notebook.json_values import count_json_values

TEXTS = st.text('ab"\\[]{},: \n\u20ac', max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)
SLICES = [1, 2, 3, 7, 1 << 16]


def count_decoded(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + sum(map(count_decoded, inner)) if isinstance(value, dict | list) else 1


@given(value=VALUES, indent=st.none() | st.just(1), is_ascii=st.booleans())
def test_all_values_are_counted(value: Any, indent: int | None, *, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode()
    for size in SLICES:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_values, "_SLICE_BYTES", size)
            assert count_json_values(text, 10**9) == count_decoded(value), size


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (b"", 0),
        (b" \n", 0),
        (b"1", 1),
        (b'"' + b",[{" * 100_000 + b'"', 1),
        (b'"' + b'\\"' * 100_000 + b'"', 1),
        (b'"' + b"\\" * 200_000 + b'"', 1),
        (b"9" * 200_000, 1),
        (b"[" + b"[]," * 99_999 + b"{}]", 100_001),
        (b'[[""], {"a": [ ]}]', 5),
    ],
)
def test_what_stands_in_strings_and_between_values_does_not_count(text: bytes, count: int) -> None:
    assert count_json_values(text, 10**9) == count


@pytest.mark.parametrize("text", [b"[" * 500_000, b"{" * 500_000, b'"",' * 500_000, b"," * 500_000])
def test_counting_stops_beyond_the_limit(text: bytes) -> None:
    assert 1_000 < count_json_values(text, 1_000) < 100_000
