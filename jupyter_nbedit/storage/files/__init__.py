"""Notebooks that are files on a local disk."""
