"""What a reader is shown of files of all kinds."""

from __future__ import annotations

import base64
import subprocess
import sys

import pytest

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.tools import pdf
from jupyter_nbedit.tools.content import ImageBlock, TextBlock
from jupyter_nbedit.tools.encoding import data_of, text_of
from jupyter_nbedit.tools.showing import of_file
from tests.tools import files


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (files.PNG, "image/png"),
        (files.GIF, "image/gif"),
        (files.JPEG, "image/jpeg"),
        (files.WEBP, "image/webp"),
    ],
)
def test_an_image_is_known_by_its_bytes_and_shown_as_it_is(data: bytes, mime: str) -> None:
    (block,) = of_file(data, 1, 10)
    assert isinstance(block, ImageBlock)
    assert (block.mime_type, base64.b64decode(block.data)) == (mime, data)


def test_a_picture_that_is_a_text_is_shown_as_text() -> None:
    assert of_file(b"<svg/>", 1, 10) == [TextBlock("     1\t<svg/>")]


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfea\0", "é".encode("latin-1"), b"\xed\xa0\x80"])
def test_what_is_no_text_is_refused_with_its_size(data: bytes) -> None:
    with pytest.raises(InvalidRequest, match=f"{len(data)} bytes"):
        text_of(data)


def test_a_text_and_its_bytes_are_the_same_thing() -> None:
    for text in ("", "é\r\n", "\ufeffa", "\U0001f469\x01"):
        assert text_of(data_of(text)) == text


def test_the_pages_of_a_pdf_are_shown_with_their_numbers() -> None:
    (block,) = of_file(files.pdf("One", "Two"), 1, 2000)
    assert isinstance(block, TextBlock)
    assert block.text == (
        "     1\t--- page 1 of 2 ---\n     2\tOne\n     3\t--- page 2 of 2 ---\n     4\tTwo"
    )


@pytest.mark.parametrize(
    "data", [b"%PDF-1.4\n", b"%PDF-1.4\n%%EOF", files.pdf("One")[:-60], b"%PDF-" + b"\0" * 1000]
)
def test_a_broken_pdf_is_refused_in_plain_words(data: bytes) -> None:
    with pytest.raises(InvalidRequest, match="cannot be read as text"):
        pdf.text_of(data)


def test_without_its_library_a_pdf_is_refused_with_the_way_to_get_it() -> None:
    script = (
        "import sys; sys.modules['pypdf'] = None\n"
        "from jupyter_nbedit.errors import InvalidRequest\n"
        "from jupyter_nbedit.tools import pdf\n"
        "try: pdf.text_of(b'%PDF-')\n"
        "except InvalidRequest as refused: print(refused.message)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert "pip install 'jupyter_nbedit[pdf]'" in done.stdout
