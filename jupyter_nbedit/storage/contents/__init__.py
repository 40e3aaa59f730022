"""Notebooks that a contents manager stores.

`contents_storage` works with any manager that returns text, `notebook_storage` with pairs and
hooks. `manager_kinds` is all that is known of single managers. `manager_locks` keeps the manager's
own saves out while an edit is written.
"""
