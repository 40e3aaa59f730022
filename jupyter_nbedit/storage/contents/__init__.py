"""Notebooks that a contents manager keeps."""
