"""A scratch server, sample notebooks, and an agent that edits them for all to see."""

from __future__ import annotations


class DemoError(Exception):
    """The demo cannot go on; the message says what to do."""
