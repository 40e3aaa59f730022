"""Notebooks that are open in a room of real-time collaboration."""
