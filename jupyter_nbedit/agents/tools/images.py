"""Images that a model can take: what their bytes say they are, and whether they are whole.

A damaged image, or one with a wrong type, makes a provider refuse the whole conversation. The
checks follow the structure of the formats and decode nothing, in time linear in the size.
"""

import base64
import binascii
import re
import zlib

import msgspec

#: The most characters of an image as base64; Anthropic's API takes 5 MB.
MAX_IMAGE_CHARACTERS = 5_000_000
# Anthropic's API takes at most so many pixels in each direction.
_MAX_PIXELS = 8_000
_DATA_URL = re.compile(r"\s*data:[^,]{0,200},", re.IGNORECASE)
_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_GIFS = (b"GIF87a", b"GIF89a")
_RIFF, _WEBP = b"RIFF", b"WEBP"
# Markers of JPEG without a length.
_BARE_MARKERS = frozenset((0x01, *range(0xD0, 0xD9)))
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SCAN = 0xDA
_MARKER = 0xFF
_WEBP_HEADER = 10
_VP8L_SIGNATURE = b"\x2f"


class ImageBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image; ``data`` is base64."""

    data: str
    mime_type: str = msgspec.field(name="mimeType")


def detect_type(data: bytes) -> str | None:
    """Return the type of an image that a model can take, by its first bytes; None for others."""
    if data.startswith(_PNG):
        return "image/png"
    if data.startswith(_JPEG):
        return "image/jpeg"
    if data.startswith(_GIFS):
        return "image/gif"
    return "image/webp" if (data[:4], data[8:12]) == (_RIFF, _WEBP) else None


def decode_image(text: str) -> ImageBlock | str:
    """Return the image that base64 or a data URL contains, or what is wrong with it."""
    digits = "".join(_DATA_URL.sub("", text, count=1).split())
    if not digits:
        return "it is empty"
    try:
        data = base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except (binascii.Error, ValueError):
        return "its data is not base64"
    return check_image(data)


def check_image(data: bytes) -> ImageBlock | str:
    """Return the image of some bytes, or what is wrong with it."""
    mime_type = detect_type(data)
    if mime_type is None:
        return "its data is no PNG, JPEG, GIF or WebP"
    if (len(data) + 2) // 3 * 4 > MAX_IMAGE_CHARACTERS:
        return f"it is larger than {MAX_IMAGE_CHARACTERS * 3 // 4} bytes"
    size = _READERS[mime_type](data)
    if size is None or 0 in size:
        return "it is damaged"
    if max(size) > _MAX_PIXELS:
        return f"it has {size[0]} x {size[1]} pixels, more than {_MAX_PIXELS} in a direction"
    return ImageBlock(data=base64.b64encode(data).decode("ascii"), mime_type=mime_type)


def _read_png(data: bytes) -> tuple[int, int] | None:
    size: tuple[int, int] | None = None
    has_pixels, start = False, len(_PNG)
    while start + 12 <= len(data):
        length = int.from_bytes(data[start : start + 4], "big")
        kind, stop = data[start + 4 : start + 8], start + 8 + length
        checksum = int.from_bytes(data[stop : stop + 4], "big")
        is_whole = stop + 4 <= len(data)
        if not is_whole or zlib.crc32(memoryview(data)[start + 4 : stop]) != checksum:
            return None
        if size is None:
            if (kind, length) != (b"IHDR", 13):
                return None
            header = data[start + 8 : stop]
            size = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
        has_pixels = has_pixels or kind == b"IDAT"
        if kind == b"IEND":
            return size if has_pixels else None
        start = stop + 4
    return None


def _read_jpeg(data: bytes) -> tuple[int, int] | None:
    size: tuple[int, int] | None = None
    start = 2
    while start + 4 <= len(data) and data[start] == _MARKER:
        marker = data[start + 1]
        if marker == _MARKER or marker in _BARE_MARKERS:
            start += 1 if marker == _MARKER else 2
            continue
        length = int.from_bytes(data[start + 2 : start + 4], "big")
        if marker in _JPEG_FRAMES:
            frame = data[start + 5 : start + 9]
            size = int.from_bytes(frame[2:], "big"), int.from_bytes(frame[:2], "big")
        if marker == _JPEG_SCAN:
            return size if data.find(b"\xff\xd9", start) > start else None
        start += 2 + max(2, length)
    return None


def _read_gif(data: bytes) -> tuple[int, int] | None:
    if not data.rstrip(b"\0").endswith(b";") or b"," not in data[13:]:
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _read_webp(data: bytes) -> tuple[int, int] | None:
    length, kind, body = int.from_bytes(data[4:8], "little"), data[12:16], data[20:30]
    if length + 8 > len(data) or len(body) < _WEBP_HEADER:
        return None
    if kind == b"VP8X":
        return (1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little"))
    if kind == b"VP8L" and body[:1] == _VP8L_SIGNATURE:
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return (
            int.from_bytes(body[6:8], "little") & 0x3FFF,
            int.from_bytes(body[8:10], "little") & 0x3FFF,
        )
    return None


_READERS = {
    "image/png": _read_png,
    "image/jpeg": _read_jpeg,
    "image/gif": _read_gif,
    "image/webp": _read_webp,
}
