"""Markdown: its blocks, its inline markup, and texts that are edited section by section."""
