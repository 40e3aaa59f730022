"""The read side: load a notebook, show it, and remember who has read which version."""
