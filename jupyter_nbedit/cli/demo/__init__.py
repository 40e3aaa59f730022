"""The demo: a temporary server, sample notebooks, and an agent that edits them."""

from __future__ import annotations


class DemoError(Exception):
    """The demo cannot continue; the message says what to do."""
