"""The read side: load notebooks, return views of them, remember which session has read what."""
