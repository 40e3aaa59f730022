"""The read side: return views of notebooks, remember which session has read what.

`service` makes the views. What a tab fetches after a change: `delta`, from `versions`.
"""
