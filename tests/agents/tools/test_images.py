"""Images and long outputs in the tool `Read`: only what a model can take is sent."""

import base64
import struct
import zlib
from typing import Any

import pytest

from tests.agents.tools.sample_files import GIF, JPEG, PNG, WEBP
from tests.handlers.tool_inputs import call
from tests.support import samples
from tests.support.http import Client

READ = "claude_code/Read"
MAX_TEXT = 210_000


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def build_png(width: int, height: int, *, pixels: bytes = b"") -> bytes:
    """Return a PNG, of which only the structure is right."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checksum

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return PNG[:8] + header + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def read(live: Client, *outputs: Any, more: int = 0) -> list[dict[str, Any]]:
    """Return the blocks of a notebook with the outputs, and with more equal cells."""
    cells = [samples.code(f"x{n}", f"c{n}", outputs=list(outputs)) for n in range(more + 1)]
    (live.root / "images.ipynb").write_bytes(samples.notebook(*cells))
    answer = call(live, READ, {"file_path": "~images.ipynb"})
    assert answer.status == 200, answer.body
    blocks: list[dict[str, Any]] = answer.json["content"]
    assert sum(len(block.get("text", "")) for block in blocks) <= MAX_TEXT
    for block in blocks:
        if block["type"] == "image":
            base64.b64decode(block["data"], validate=True)
    return blocks


def show(data: Any, mime: str = "image/png") -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": {mime: data}}


IMAGES = {"png": PNG, "gif": GIF, "jpeg": JPEG, "webp": WEBP}


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("stated", IMAGES)
def test_an_image_has_the_type_that_its_bytes_have(live: Client, kind: str, stated: str) -> None:
    image = {"type": "image", "data": encode(IMAGES[kind]), "mimeType": f"image/{kind}"}
    for text in (
        encode(IMAGES[kind]),
        f"data:image/{stated};base64,{encode(IMAGES[kind])}",
        encode(IMAGES[kind]).rstrip("="),
        [f"{encode(IMAGES[kind])[:8]}\n", f"{encode(IMAGES[kind])[8:]}\n"],
    ):
        _, shown, _ = read(live, show(text, f"image/{stated}"))
        assert shown == image


BAD = {
    "empty": "",
    "white space": " \n",
    "no base64": "not base64!",
    "text": encode(b"hello"),
    "empty data URL": "data:image/png;base64,",
    "SVG": encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
    "HTML": "<img src='x'>",
    "BMP": encode(b"BM" + bytes(60)),
    "no pixels": encode(build_png(0, 1)),
    "too many pixels": encode(build_png(8_001, 1)),
    "damaged": encode(PNG[:50] + b"\0" + PNG[51:]),
    **{f"start of {kind}": encode(data[:12]) for kind, data in IMAGES.items()},
    **{f"cut {kind}": encode(data[:-6]) for kind, data in IMAGES.items()},
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_no_whole_image_is_described(live: Client, text: str) -> None:
    for mime in ("image/png", "image/jpeg"):
        (block,) = read(live, show(text, mime))
        assert block["type"] == "text"
        assert f"({mime}, " in block["text"]
        assert "cannot be shown: " in block["text"]


@pytest.mark.parametrize("kind", IMAGES)
def test_a_damaged_file_is_described(live: Client, kind: str) -> None:
    (live.root / f"cut.{kind}").write_bytes(IMAGES[kind][:-6])
    (block,) = call(live, READ, {"file_path": f"~cut.{kind}"}).json["content"]
    assert block["text"].startswith("The image cannot be shown: ")


def test_an_image_that_is_too_large_is_described(live: Client) -> None:
    (live.root / "large.png").write_bytes(build_png(10, 10, pixels=bytes(4_000_000)))
    (block,) = call(live, READ, {"file_path": "~large.png"}).json["content"]
    assert block["text"].startswith("The image cannot be shown: ")


def test_the_number_of_images_is_limited(live: Client) -> None:
    one = show(encode(PNG))
    blocks = read(live, *[one] * 30)
    assert sum(block["type"] == "image" for block in blocks) == 20
    # APIs of models refuse blocks without text.
    assert all(block["text"] for block in blocks if block["type"] == "text")
    assert "(10 more texts and images of its outputs are not shown.)" in blocks[-1]["text"]
    blocks = read(live, *[one] * 8, more=4)
    assert sum(block["type"] == "image" for block in blocks) == 16
    assert "read on with `offset` 3" in blocks[-1]["text"]


@pytest.mark.parametrize("kind", ["stream", "traceback", "plain", "evalue"])
def test_a_long_output_has_both_ends(live: Client, kind: str) -> None:
    text = "first\n" + "x" * 649_163 + "\nlast"
    output = {
        "stream": {"output_type": "stream", "name": "stdout", "text": text},
        "traceback": {"output_type": "error", "ename": "E", "evalue": "", "traceback": [text]},
        "plain": show(text, "text/plain"),
        "evalue": {"output_type": "error", "ename": "first\nE", "evalue": text},
    }[kind]
    (block,) = read(live, output)
    assert len(block["text"]) < 12_000
    assert "\nfirst" in block["text"]
    assert "last\n</outputs>" in block["text"]
    assert "characters are not shown here.</note>" in block["text"]
    read(live, *[output] * 50, more=5)


def test_frames_are_folded(live: Client) -> None:
    text = "".join(f"\r{n}%" for n in range(101))
    (block,) = read(live, {"output_type": "stream", "name": "stderr", "text": text})
    assert '<outputs of="c0">\n100%\n</outputs>' in block["text"]


def test_a_long_source_and_a_long_text_are_limited(live: Client) -> None:
    cells = [samples.raw("y" * 300_000, f"c{n}") for n in range(3)]
    (live.root / "images.ipynb").write_bytes(samples.notebook(*cells))
    (block,) = call(live, READ, {"file_path": "~images.ipynb"}).json["content"]
    assert len(block["text"]) < MAX_TEXT
    assert "more characters of its source are not shown.)" in block["text"]
    (live.root / "long.txt").write_text(("z" * 1_999 + "\n") * 1_000)
    (block,) = call(live, READ, {"file_path": "~long.txt"}).json["content"]
    assert len(block["text"]) < MAX_TEXT
    assert "(Lines 100 to 1000 are not shown; read on with `offset` 100.)" in block["text"]
