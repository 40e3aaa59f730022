"""The edit history: all edits of notebooks, with what is needed to undo them."""
