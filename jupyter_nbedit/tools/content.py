"""Blocks of content, as tools hand them to models."""

from __future__ import annotations

import msgspec


class TextBlock(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A text."""

    text: str


class ImageBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image; ``data`` is base64."""

    data: str
    mime_type: str = msgspec.field(name="mimeType")


Block = TextBlock | ImageBlock
