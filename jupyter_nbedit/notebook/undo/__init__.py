"""Undo records: what is stored of an edit, and how an edit or a part of it is undone.

`record` is what is stored, `revert` undoes it, `net_change` sums up several edits of a cell.
"""
