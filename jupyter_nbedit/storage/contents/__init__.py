"""Notebooks that a contents manager stores."""
