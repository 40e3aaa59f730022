"""Notebooks that are open in a collaborative room."""
