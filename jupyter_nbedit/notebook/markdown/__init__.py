"""Markdown: its blocks, its inline markup, and texts that are edited section by section.

`blocks` finds headings and lists, `section_text` edits what is below a heading.
"""
