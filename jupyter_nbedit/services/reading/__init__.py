"""The read side: load notebooks, return views of them, remember which session has read what.

`loading` gets a notebook from its storage, `service` makes the views. What a tab fetches after a
change: `delta`, from `versions`.
"""
