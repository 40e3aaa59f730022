"""Undo records: what is stored of an edit, and how an edit or a part of it is undone."""
