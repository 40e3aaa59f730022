"""The edit history: all edits of notebooks, with what is needed to undo them.

`models` says what an entry has, `store` is the SQL, `service` answers requests. How long entries
are kept: `store`.
"""
