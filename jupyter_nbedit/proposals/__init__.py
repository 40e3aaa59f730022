"""Edits that wait for the decision of a person."""
