"""Views of files of all kinds, and edits of text files by tools."""

import base64
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_nbedit.agents.tools.files import extract_pdf_text
from jupyter_nbedit.errors import InvalidRequest
from tests.agents.tools import sample_files
from tests.handlers.tool_failures import parse_failure
from tests.handlers.tool_inputs import call
from tests.support.http import Answer, Client

READ, EDIT = "claude_code/Read", "claude_code/Edit"

Read = Callable[..., Answer]


@pytest.fixture
def read(live: Client) -> Read:
    def read(content: bytes, **window: int) -> Answer:
        (live.root / "a").write_bytes(content)
        return call(live, READ, {"file_path": "~a", **window})

    return read


@pytest.mark.parametrize(
    ("content", "window", "expected"),
    [
        ("a", {}, "     1\ta"),
        ("a\n", {}, "     1\ta"),
        ("a\r\nb\r\n", {}, "     1\ta\n     2\tb"),
        ("\n\n", {}, "     1\t\n     2\t"),
        ("\ra\r\r\n", {}, "     1\t\ra\r"),
        ("\ufeffa\n", {}, "     1\ta"),
        ("a\rb\x0cc\u2028d\n", {}, "     1\ta\rb\x0cc\u2028d"),
        ("", {}, "The file is empty."),
        ("\ufeff", {}, "The file is empty."),
        ("<svg/>", {}, "     1\t<svg/>"),
        (
            "a\nb\nc\n",
            {"limit": 2},
            "     1\ta\n     2\tb\n\n(Lines 3 to 3 are not shown; read on with `offset` 3.)",
        ),
        ("x\n" * 1_000_001, {"offset": 1_000_000}, "1000000\tx\n1000001\tx"),
        ("x" * 2000, {}, "     1\t" + "x" * 2000),
        (
            "x" * 2005,
            {},
            "     1\t" + "x" * 2000 + "… (5 more characters are not shown)",
        ),
    ],
)
def test_lines_are_shown_with_the_line_numbers_of_the_file(
    read: Read, content: str, window: dict[str, int], expected: str
) -> None:
    (block,) = read(content.encode(), **window).json["content"]
    assert block == {"type": "text", "text": expected}


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (sample_files.PNG, "image/png"),
        (sample_files.GIF, "image/gif"),
        (sample_files.JPEG, "image/jpeg"),
        (sample_files.WEBP, "image/webp"),
    ],
)
def test_an_image_is_detected_by_its_bytes_and_returned_unchanged(
    read: Read, data: bytes, mime: str
) -> None:
    (block,) = read(data).json["content"]
    assert (block["mimeType"], base64.b64decode(block["data"])) == (mime, data)


def test_the_pages_of_a_pdf_are_shown_with_their_numbers(read: Read) -> None:
    (block,) = read(sample_files.pdf("One", "Two")).json["content"]
    assert block["text"] == (
        "     1\t--- page 1 of 2 ---\n     2\tOne\n     3\t--- page 2 of 2 ---\n     4\tTwo"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"\xff\xfea\0",
        "é".encode("latin-1"),
        b"\xed\xa0\x80",
        b"%PDF-1.4\n",
        b"%PDF-1.4\n%%EOF",
        sample_files.pdf("One")[:-60],
        b"%PDF-" + b"\0" * 1000,
    ],
)
def test_binary_files_and_a_broken_pdf_are_refused(read: Read, data: bytes) -> None:
    answer = read(data)
    assert answer.status == 400
    parse_failure(READ, answer)


def test_a_line_after_the_last_one_is_refused(read: Read) -> None:
    assert read(b"a\nb", offset=2).status == 200
    assert read(b"a\nb", offset=3).status == 400


def test_without_its_library_a_pdf_is_refused_with_the_install_command() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pypdf", None)
        with pytest.raises(InvalidRequest) as error:
            extract_pdf_text(sample_files.pdf("One"))
    assert "pip install 'jupyter_nbedit[pdf]'" in error.value.message


def edit(live: Client, content: bytes, old: str, new: str, **more: Any) -> Answer:
    """Edit a text that was read."""
    (live.root / "a").write_bytes(content)
    arguments = {"file_path": "~a", "old_string": old, "new_string": new, **more}
    assert call(live, READ, {"file_path": "~a"}).status == 200
    return call(live, EDIT, arguments)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a\r\nb\r\n", "a\nb", "1\n2\n3", "1\r\n2\r\n3\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "1\r\n2", "1\r\n2\r\n"),
        ("a\nb\n", "a\r\nb", "1\r\n2", "1\n2\n"),
        ("a\r\nb", "b", "1\n2", "a\r\n1\r\n2"),
        ("a\nb\r\nc", "b", "1\n2", "a\n1\r\n2\r\nc"),
        ("a\r\nb\nc", "b", "1\n2", "a\r\n1\n2\nc"),
        ("a", "a", "1\n2", "1\n2"),
        ("a\r\n", "\n", "", "a"),
        ("a\rb\r\n", "\rb", "c", "ac\r\n"),
        ("\ufeffa\n", "a", "b", "\ufeffb\n"),
        ("a.b", ".", "\\1", "a\\1b"),
        ("end", "d", "d\n", "end\n"),
        ("\U0001f469\x01", "\x01", "é", "\U0001f469é"),
        ("ab\r\n" * 500_000, ("ab\n" * 500_000)[2:], "x", "abx"),
    ],
)
def test_line_ends_in_an_edit_match_those_of_the_file(
    live: Client, text: str, old: str, new: str, expected: str
) -> None:
    assert edit(live, text.encode(), old, new).status == 200
    assert (live.root / "a").read_bytes() == expected.encode()


OLD = st.text(st.sampled_from("ab\n"), min_size=1, max_size=4)
NEW = st.text(st.sampled_from("abc\n"), max_size=4)


@given(st.text(st.sampled_from("ab\n"), max_size=20), OLD, NEW, st.sampled_from(["\n", "\r\n"]))
def test_a_text_with_one_kind_of_line_end_is_edited_like_in_python(
    live: Client, text: str, old: str, new: str, line_end: str
) -> None:
    assume(old != new)
    content = text.replace("\n", line_end)
    answer = edit(live, content.encode(), old, new, replace_all=True)
    if old not in text:
        assert answer.status == 409
        return
    assert answer.status == 200
    found = (live.root / "a").read_bytes().decode()
    # A text without a line end has none to keep.
    expected = text.replace(old, new)
    assert found == (expected.replace("\n", line_end) if "\n" in text else expected)


@given(
    st.text(st.sampled_from("ab\n\r"), max_size=20),
    st.text(st.sampled_from("ab\n\r"), max_size=20),
    st.sampled_from(["\n", "\r\n"]),
)
def test_removing_text_preserves_all_other_bytes(
    live: Client, before: str, after: str, line_end: str
) -> None:
    answer = edit(live, f"{before}X{line_end}Y{after}".encode(), "X\nY", "")
    assert answer.status == 200
    assert (live.root / "a").read_bytes() == f"{before}{after}".encode()


@pytest.mark.parametrize(
    ("text", "old", "lines"),
    [
        ("aaa", "aa", "2 times, first in line 1"),
        ("x\r\nx\r\nx\r\n", "x\nx", "2 times, first in lines 1, 2"),
        ("b\na a a\n", "a a", "2 times, first in line 2"),
        ("\n\n\n\n", "\n\n", "3 times, first in lines 1, 2, 3"),
        ("y" * 5_000, "y", "at least 1000 times, first in line 1"),
    ],
)
def test_a_text_whose_occurrences_overlap_is_not_unique(
    live: Client, text: str, old: str, lines: str
) -> None:
    answer = edit(live, text.encode(), old, "new")
    assert answer.status == 409
    (block,) = answer.json["content"]
    assert f"occurs in the file {lines}." in block["text"]
    assert (live.root / "a").read_bytes() == text.encode()
    assert edit(live, text.encode(), old, "new", replace_all=True).status == 200
