import pytest

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import MalformedJSON, Span
from tests.notebook.lazy.fake_buffer import FakeBuffer

DEEP = 100_000


def test_duplicate_members_are_all_listed() -> None:
    text = b'{"a": 1, "b": "a", "a": 1, "\\u0061": {"a": 1}}'

    _, members = json_spans.parse_object(text)

    assert [member.name for member in members] == ["a", "b", "a", "a"]
    assert [json_spans.decode(text, member.value) for member in members] == [1, "a", 1, {"a": 1}]


def test_a_value_that_is_a_prefix_of_its_duplicate_is_complete() -> None:
    text = b'{"a": 100, "b": -1.5e3, "b": -1.5, "a": 1}'

    _, members = json_spans.parse_object(text)

    values = [text[slice(*member.value)] for member in members]
    assert values == [b"100", b"-1.5e3", b"-1.5", b"1"]


def test_a_member_next_to_a_longer_duplicate_is_found() -> None:
    # The last `a` is as long as all before it: a length alone would skip it.
    text = b'{"a": 1, "b": 2, "a": "xxxxxxxx"}'

    _, members = json_spans.parse_object(text)

    assert [member.name for member in members] == ["a", "b", "a"]
    # Behind a jump of such a length inside the last value, what follows looks like the end.
    _, members = json_spans.parse_object(b'{"a":1,"x":1,"a":[{"x":1},1234]}')
    assert [member.name for member in members] == ["a", "x", "a"]


@pytest.mark.parametrize(
    "text", [b"[]", b"[" * DEEP, b'{"a":' * DEEP, b'{"a": ' + b"[" * DEEP + b"]" * DEEP + b"}"]
)
def test_a_non_object_and_deep_nesting_are_refused_without_a_crash(text: bytes) -> None:
    with pytest.raises(MalformedJSON):
        json_spans.parse_object(text)


@pytest.mark.parametrize(
    "bad", [b"\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"]
)
def test_a_string_of_invalid_utf8_is_refused_at_any_position(bad: bytes) -> None:
    for text in (
        b'{"a": "' + bad + b'"}',
        b'{"' + bad + b'": 1}',
        b'{"a": "' + b"x" * (1 << 20) + bad + b'"}',
    ):
        with pytest.raises(MalformedJSON):
            json_spans.parse_object(text)


def test_a_character_across_chunks_of_the_utf8_check_is_valid() -> None:
    for shift in range(4):
        text = b'{"a": "' + b"x" * ((1 << 20) - 8 + shift) + "\U0001f600".encode() + b'"}'
        json_spans.parse_object(text)


def test_an_integer_of_5000_digits_is_a_valid_value() -> None:
    text = b'{"a": [NaN, ' + b"9" * 5000 + b"]}"

    _, [member] = json_spans.parse_object(text)

    assert json_spans.list_elements(text, member.value)[1] == Span(12, 5012)
    assert json_spans.decode(text, Span(12, 5012)) == "9" * 5000


def test_an_integer_is_a_number_as_long_as_python_reads_it() -> None:
    for digits, kind in ((4300, int), (4301, str)):
        for odd in (b"1", b"NaN"):
            text = b'{"a": [' + odd + b", " + b"9" * digits + b"]}"
            _, ((_, _, value),) = json_spans.parse_object(text)
            assert isinstance(json_spans.decode(text, value)[1], kind)


def test_a_truncated_character_at_the_end_is_refused_at_any_length() -> None:
    for size in (1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 2 << 20):
        with pytest.raises(MalformedJSON):
            json_spans.parse_object(b" " * (size - 1) + b"\xc3")


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 200])
def test_a_container_of_only_white_space_is_empty(size: int) -> None:
    for buffer_type in (bytes, FakeBuffer):
        for brackets in (b"[]", b"{}"):
            blank = b" \t\r\n"[size % 4 :][:1] * size
            text = b"x" + brackets[:1] + blank + brackets[1:] + b"y"
            assert json_spans.is_empty(buffer_type(text), Span(1, len(text) - 1))
            full = b"x" + brackets[:1] + blank + b"0" + blank + brackets[1:] + b"y"
            assert not json_spans.is_empty(buffer_type(full), Span(1, len(full) - 1))


@pytest.mark.parametrize("text", [b'[NaN, [[], "]"', b'[NaN, "a'])
def test_a_value_that_is_no_array_has_no_elements(text: bytes) -> None:
    with pytest.raises(MalformedJSON):
        json_spans.list_elements(text, Span(0, len(text)))
