"""The edit history: all edits of notebooks, with what is needed to undo them.

`models` says what an entry has, `store` is the SQL, `service` answers requests. How long entries
are kept: the setting `history_max_days`; `store` deletes them.

A field of an entry: `NewEntry` and `HistoryEdit` in `models`, with a default for older entries. It
needs no migration. `edits/publish.py` and `outside/recorder.py` set it. Only what SQL must search
for is a column: then also `store` and `db/schema.py`.
"""
